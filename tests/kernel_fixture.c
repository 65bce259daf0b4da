/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Kernels for the tests of the model. */
#include "config.h"

#include "tests/kernel_fixture.h"

#include <stdlib.h>
#include <string.h>

#include <starpool/kernel.h>

/* ---- stand-ins --------------------------------------------------------------------------- */

static void add(const struct starpool_kernel_launch *launch)
{
    int *cells = *(int *const *)launch->args[0];
    int n = *(const int *)launch->args[1], value = *(const int *)launch->args[2];

    for (int i = 0; i < n; i++)
        cells[i] += value;
}

static void move(const struct starpool_kernel_launch *launch)
{
    int *target = *(int *const *)launch->args[0];
    const int *source = *(const int *const *)launch->args[1];

    memcpy(target, source, (size_t) * (const int *)launch->args[2] * sizeof(*target));
}

static void tell_shape(const struct starpool_kernel_launch *launch)
{
    struct sp_test_shape *out = *(struct sp_test_shape *const *)launch->args[0];

    memcpy(out->grid, launch->grid, sizeof(out->grid));
    memcpy(out->block, launch->block, sizeof(out->block));
    out->shared_bytes = launch->shared_bytes;
}

void sp_test_kernels(void)
{
    static const size_t add_sizes[] = {sizeof(int *), sizeof(int), sizeof(int)};
    static const size_t move_sizes[] = {sizeof(int *), sizeof(const int *), sizeof(int)};
    static const size_t shape_sizes[] = {sizeof(struct sp_test_shape *)};

    assert_ok(starpool_model_add_kernel("test_add", add_sizes, 3, add));
    assert_ok(starpool_model_add_kernel("test_move", move_sizes, 3, move));
    assert_ok(starpool_model_add_kernel("test_shape", shape_sizes, 1, tell_shape));
}

/* ---- launches ---------------------------------------------------------------------------- */

sp_cu_module sp_test_module(void)
{
    sp_cu_module module = NULL;

    assert_done(cuModuleLoadData(&module, "an image"));
    return module;
}

sp_cu_function sp_test_function(sp_cu_module module, const char *name)
{
    sp_cu_function function = NULL;

    assert_done(cuModuleGetFunction(&function, module, name));
    return function;
}

void sp_test_launch_add(sp_cu_function function, sp_cu_ptr cells, int n, int value,
                        sp_cu_stream stream)
{
    void *args[] = {&cells, &n, &value};

    assert_done(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, args, NULL));
}

struct sp_cu_kernel_params sp_test_add_params(struct sp_test_add_args *args,
                                              sp_cu_function function, sp_cu_ptr cells, int n,
                                              int value)
{
    *args = (struct sp_test_add_args){.cells = cells, .n = n, .value = value};
    args->args[0] = &args->cells;
    args->args[1] = &args->n;
    args->args[2] = &args->value;
    return (struct sp_cu_kernel_params){
        .function = function, .grid = {1, 1, 1}, .block = {1, 1, 1}, .args = args->args};
}

/* ---- memory ------------------------------------------------------------------------------ */

sp_cu_ptr sp_test_cells(int n)
{
    sp_cu_ptr cells = 0;

    assert_done(cuMemAlloc(&cells, (size_t)n * sizeof(int)));
    assert_done(cuMemsetD32(cells, 0, (size_t)n));
    assert_done(cuStreamSynchronize(NULL));
    return cells;
}

void sp_test_assert_cells(sp_cu_ptr cells, int n, int value, sp_cu_stream stream)
{
    int *found = malloc((size_t)n * sizeof(int)), n_right = 0;

    assert_non_null(found);
    assert_done(cuMemcpyDtoHAsync(found, cells, (size_t)n * sizeof(int), stream));
    assert_done(cuStreamSynchronize(stream));
    while (n_right < n && found[n_right] == value)
        n_right++;
    if (n_right < n)
        print_error("cell %d is %d, not %d\n", n_right, found[n_right], value);
    free(found);
    assert_int_equal(n_right, n);
}
