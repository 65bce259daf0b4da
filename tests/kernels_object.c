/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A shared object that STARPOOL_MODEL_KERNELS names, for tests/test_model_kernel.c: it
 * registers test_loaded(int *cell), which writes 7. */
#include <stddef.h>

#include <starpool/kernel.h>

static void write_7(const struct starpool_kernel_launch *launch)
{
    **(int *const *)launch->args[0] = 7;
}

__attribute__((constructor)) static void register_kernels(void)
{
    static const size_t sizes[] = {sizeof(int *)};

    if (starpool_model_add_kernel("test_loaded", sizes, 1, write_7) != STARPOOL_OK)
        __builtin_abort();
}
