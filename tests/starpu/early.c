/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A program that opens the plugin first and libstarpu afterwards, as an interpreter with two
 * modules may. Not linked with StarPU: early local|global PLUGIN LIBSTARPU. */
#include "case.h"

static void *libstarpu;

static void *from_starpu(const char *name)
{
    void *function = dlsym(libstarpu, name);

    CHECK(function != NULL);
    return function;
}

int main(int argc, char **argv)
{
    int is_global = argc > 1 && strcmp(argv[1], "global") == 0;
    enum starpool_status (*find)(const void *, struct starpool_pool **);
    struct starpool_pool *pool;
    void *plugin, *ptr;

    CHECK(argc > 3);
    plugin = dlopen(argv[2], RTLD_NOW | (is_global ? RTLD_GLOBAL : RTLD_LOCAL));
    CHECK(plugin != NULL);
    libstarpu = dlopen(argv[3], RTLD_NOW);
    CHECK(libstarpu != NULL);
    CHECK(((int (*)(struct starpu_conf *))from_starpu("starpu_init"))(NULL) == 0);
    CHECK(((int (*)(void **, size_t))from_starpu("starpu_malloc"))(&ptr, 1000) == 0);
    find = (enum starpool_status(*)(const void *, struct starpool_pool **))dlsym(
        plugin, "starpool_pool_of");
    CHECK((find(ptr, &pool) == STARPOOL_OK) == is_global);
    ((int (*)(void *))from_starpu("starpu_free"))(ptr);
    ((void (*)(void))from_starpu("starpu_shutdown"))();
    return 0;
}
