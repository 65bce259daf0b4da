/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Started by `starpool info` with the plugin preloaded: starts StarPU, asks which allocator
 * serves each of its memory nodes, and prints one line a fact. It finds out by allocating, so
 * it tells what is and not what ought to be. Linked with StarPU only: starpool comes preloaded,
 * or not. */
#include "config.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <starpool/pool.h>
#include <starpu.h>

/* What info looks for in whatever else StarPU prints. */
#define FACT "@starpool\t"

/* Small enough for any node, large enough to be no special case. [bytes] */
#define TRIAL_SIZE ((size_t)64 << 10)

typedef enum starpool_status (*pool_of_fn)(const void *ptr, struct starpool_pool **pool_out);
typedef enum starpool_status (*get_config_fn)(struct starpool_pool *pool,
                                              struct starpool_pool_config *config_out);

/* starpool's functions, NULL where it is not loaded. */
struct starpool {
    pool_of_fn pool_of;
    get_config_fn get_config;
};

static struct starpool find_starpool(void)
{
    return (struct starpool){
        .pool_of = (pool_of_fn)dlsym(RTLD_DEFAULT, "starpool_pool_of"),
        .get_config = (get_config_fn)dlsym(RTLD_DEFAULT, "starpool_pool_get_config"),
    };
}

/* The name of the pool that `ptr` came from; "" if it is not ours. */
static void pool_name(const struct starpool *starpool, const void *ptr, char *name,
                      size_t name_size)
{
    struct starpool_pool_config config = {.struct_size = sizeof(config)};
    struct starpool_pool *pool;

    *name = '\0';
    if (starpool->pool_of == NULL || starpool->get_config == NULL)
        return;
    if (starpool->pool_of(ptr, &pool) != STARPOOL_OK)
        return;
    if (starpool->get_config(pool, &config) == STARPOOL_OK)
        snprintf(name, name_size, "%s", config.name == NULL ? "unnamed" : config.name);
}

static const char *kind_name(enum starpu_node_kind kind)
{
    switch ((int)kind) {
    case STARPU_CPU_RAM:
        return "RAM";
    case STARPU_CUDA_RAM:
        return "CUDA";
    case STARPU_OPENCL_RAM:
        return "OpenCL";
    case STARPU_DISK_RAM:
        return "disk";
    default:
        return "other";
    }
}

/* Allocate as a task's data would, and as the application would with starpu_malloc(). */
static void print_node(const struct starpool *starpool, unsigned node)
{
    enum starpu_node_kind kind = starpu_node_get_kind(node);
    bool is_host = kind == STARPU_CPU_RAM;
    bool is_tried = is_host || kind == STARPU_CUDA_RAM;
    char name[64] = "";
    char data[64] = "";
    char plain[64] = "";
    uintptr_t block = 0;
    void *ptr = NULL;

    starpu_memory_node_get_name(node, name, sizeof(name));
    if (is_tried)
        block = starpu_malloc_on_node(node, TRIAL_SIZE);
    if (block != 0) {
        pool_name(starpool, (const void *)block, data, sizeof(data));
        starpu_free_on_node(node, block, TRIAL_SIZE);
    }
    if (node == STARPU_MAIN_RAM && starpu_malloc(&ptr, TRIAL_SIZE) == 0) {
        pool_name(starpool, ptr, plain, sizeof(plain));
        starpu_free(ptr);
    }
    printf(FACT "node\t%u\t%s\t%d\t%s\t%s\t%s\n", node, kind_name(kind),
           is_host ? starpu_memory_nodes_numa_devid_to_id(node) : -1, name, data, plain);
}

int main(void)
{
    struct starpool starpool = find_starpool();
    int version[3];
    int status;

    starpu_get_version(&version[0], &version[1], &version[2]);
    printf(FACT "version\t%d.%d.%d\n", version[0], version[1], version[2]);
    /* Builds of StarPU differ in the size of a configuration: none is given. */
    status = starpu_init(NULL);
    if (status != 0) {
        printf(FACT "error\tstarpu_init: %s\n", strerror(-status));
        return 1;
    }
    for (unsigned node = 0; node < starpu_memory_nodes_get_count(); node++)
        print_node(&starpool, node);
    starpu_shutdown();
    printf(FACT "end\n");
    return 0;
}
