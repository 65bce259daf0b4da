/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Ways in that come late: the plugin is opened or attached by the program itself. Linked with
 * StarPU, not with starpool: late CASE PLUGIN. */
#include "case.h"

typedef enum starpool_status (*attach_fn)(const struct starpool_starpu_config *config);

static const char *path;
static void *plugin;

/* A function of the plugin's, which is in no global scope. */
static void *from_plugin(const char *name)
{
    void *function = dlsym(plugin, name);

    CHECK(function != NULL);
    return function;
}

static void open_plugin(void)
{
    plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (plugin == NULL)
        fprintf(stderr, "%s\n", dlerror());
    CHECK(plugin != NULL);
}

/* pool_of() looks in the global scope, where a plugin that was opened is not. */
static int is_served(const void *ptr)
{
    enum starpool_status (*find)(const void *, struct starpool_pool **) =
        (enum starpool_status(*)(const void *, struct starpool_pool **))from_plugin(
            "starpool_pool_of");
    struct starpool_pool *pool;

    return find(ptr, &pool) == STARPOOL_OK;
}

static void check_doors(void)
{
    starpu_data_handle_t handle;
    void *ptr;

    CHECK(starpu_malloc(&ptr, 1000) == 0 && is_served(ptr));
    starpu_free(ptr);
    ptr = (void *)starpu_malloc_on_node_flags(STARPU_MAIN_RAM, 1000, 0);
    CHECK(is_served(ptr));
    starpu_free_on_node_flags(STARPU_MAIN_RAM, (uintptr_t)ptr, 1000, 0);
    /* From inside libstarpu. */
    starpu_vector_data_register(&handle, -1, 0, 1000, sizeof(float));
    CHECK(starpu_data_acquire(handle, STARPU_W) == 0);
    CHECK(is_served(starpu_data_get_local_ptr(handle)));
    starpu_data_release(handle);
    starpu_data_unregister(handle);
}

static void opened(void)
{
    void *before;

    CHECK(starpu_malloc(&before, 1000) == 0);
    open_plugin();
    CHECK(!is_served(before));
    start();
    check_doors();
    starpu_free(before);
    starpu_shutdown();
    /* It stays, whatever the program thinks. */
    dlclose(plugin);
    start();
    starpu_shutdown();
}

static void attached(void)
{
    struct starpool_starpu_config config;
    void (*init)(struct starpool_starpu_config *);
    attach_fn attach;

    open_plugin();
    init =
        (void (*)(struct starpool_starpu_config *))from_plugin("starpool_starpu_config_init");
    attach = (attach_fn)from_plugin("starpool_starpu_attach");
    init(&config);
    config.placement = (enum starpool_placement)77;
    CHECK(attach(&config) == STARPOOL_EINVAL);
    init(&config);
    config.placement = STARPOOL_STRICT;
    config.host_limit = 2 * MIB;
    CHECK(attach(&config) == STARPOOL_OK);
    CHECK(attach(NULL) == STARPOOL_OK);
    start();
    check_doors();
    CHECK(starpu_malloc_on_node_flags(STARPU_MAIN_RAM, 64 * MIB, USUAL_FLAGS) == 0);
    starpu_shutdown();
}

static void attached_too_late(void)
{
    start();
    open_plugin();
    CHECK(((attach_fn)from_plugin("starpool_starpu_attach"))(NULL) == STARPOOL_EBUSY);
    starpu_shutdown();
    /* Between two runs of StarPU there is time again. */
    CHECK(((attach_fn)from_plugin("starpool_starpu_attach"))(NULL) == STARPOOL_OK);
    start();
    check_doors();
    starpu_shutdown();
}

static void detached(void)
{
    void *old_block, *new_block, *node_block;

    open_plugin();
    start();
    check_doors();
    CHECK(starpu_malloc(&old_block, 1000) == 0 && is_served(old_block));
    ((void (*)(void))from_plugin("starpool_starpu_detach"))();
    CHECK(starpu_malloc(&new_block, 1000) == 0 && !is_served(new_block));
    node_block = (void *)starpu_malloc_on_node_flags(STARPU_MAIN_RAM, 0, USUAL_FLAGS);
    CHECK(node_block != NULL && !is_served(node_block));
    starpu_free(old_block);
    CHECK(!is_served(old_block));
    /* And back again. */
    CHECK(((attach_fn)from_plugin("starpool_starpu_attach"))(NULL) == STARPOOL_OK);
    check_doors();
    starpu_free(new_block);
    starpu_free_on_node_flags(STARPU_MAIN_RAM, (uintptr_t)node_block, 0, USUAL_FLAGS);
    starpu_shutdown();
}

static const struct test_case cases[] = {
    {"opened", opened},
    {"attached", attached},
    {"attached_too_late", attached_too_late},
    {"detached", detached},
};

int main(int argc, char **argv)
{
    path = argc > 2 ? argv[2] : "";
    return run_case(cases, sizeof(cases) / sizeof(cases[0]), argc > 1 ? argv[1] : NULL);
}
