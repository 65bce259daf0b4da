/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A StarPU program on two NUMA nodes, linked with StarPU alone but for the questions it asks.
 * With the plugin, each block that StarPU allocates is a pool's and on the node that StarPU
 * says; with "stock" the same is counted, and nothing is wrong. StarPU's number of a node need
 * not be the system's: STARPU_WORKERS_CPUID turns them around. */
#include "config.h"

#include "guest.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <starpu.h>

/* [bytes] of each handle's vector. */
static const size_t sizes[] = {100, 4096, 100001, 1153434, 2 * MIB, 5 * MIB + 3, 24 * MIB};

#define N_SIZES (sizeof(sizes) / sizeof(sizes[0]))

/* What tasks have seen; the main thread says it. */
static struct {
    atomic_size_t n_pages, n_right, n_blocks, n_pool_blocks, n_in_pool_of_node;
} seen;

/* The node, by the system's number, that a worker's data should be on. */
static int node_of_worker(unsigned worker)
{
    return starpu_memory_nodes_numa_devid_to_id(starpu_worker_get_memory_node(worker));
}

static void look(const void *ptr, size_t size, int node)
{
    struct starpool_block_info info = {.struct_size = sizeof(info)};
    struct starpool_pool_config config = {.struct_size = sizeof(config)};
    struct places places = guest_places(ptr, size);

    seen.n_blocks++;
    seen.n_pages += places.n_pages;
    seen.n_right += places.n_on_node[node];
    if (starpool_block_info(ptr, &info) != STARPOOL_OK)
        return;
    seen.n_pool_blocks++;
    if (starpool_pool_get_config(info.pool, &config) == STARPOOL_OK &&
        config.location.kind == STARPOOL_HOST_NUMA && config.location.id == node)
        seen.n_in_pool_of_node++;
}

static void write_all(void *buffers[], void *argument)
{
    char *values = (char *)STARPU_VECTOR_GET_PTR(buffers[0]);
    size_t size = STARPU_VECTOR_GET_NX(buffers[0]);

    (void)argument;
    /* Before anything here touches it: where the pages are was decided by who allocated it. */
    memset(values, 1, size);
    look(values, size, node_of_worker((unsigned)starpu_worker_get_id()));
}

static void read_all(void *buffers[], void *argument)
{
    const char *values = (const char *)STARPU_VECTOR_GET_PTR(buffers[0]);
    size_t size = STARPU_VECTOR_GET_NX(buffers[0]);

    (void)argument;
    for (size_t i = 0; i < size; i += 4096) {
        if (values[i] != 1)
            abort();
    }
    look(values, size, node_of_worker((unsigned)starpu_worker_get_id()));
}

static struct starpu_codelet writer = {
    .cpu_funcs = {write_all}, .nbuffers = 1, .modes = {STARPU_W}};
static struct starpu_codelet reader = {
    .cpu_funcs = {read_all}, .nbuffers = 1, .modes = {STARPU_R}};

static void submit(struct starpu_codelet *codelet, starpu_data_handle_t handle, unsigned worker)
{
    if (starpu_task_insert(codelet, codelet->modes[0], handle, STARPU_EXECUTE_ON_WORKER,
                           (int)worker, 0) != 0)
        abort();
}

/* Each handle is made on one node and read on the other. */
static void run_tasks(unsigned worker, unsigned other)
{
    for (int round = 0; round < 3; round++) {
        starpu_data_handle_t handles[N_SIZES];

        for (size_t i = 0; i < N_SIZES; i++) {
            starpu_vector_data_register(&handles[i], -1, 0, (uint32_t)sizes[i], 1);
            submit(&writer, handles[i], worker);
            submit(&reader, handles[i], other);
            submit(&reader, handles[i], worker);
        }
        (void)starpu_task_wait_for_all();
        for (size_t i = 0; i < N_SIZES; i++)
            starpu_data_unregister(handles[i]);
    }
}

/* What the program asks of StarPU itself. */
static void allocate_on(unsigned node)
{
    for (size_t i = 0; i < N_SIZES; i++) {
        uintptr_t block = starpu_malloc_on_node(node, sizes[i]);

        if (block == 0)
            abort();
        memset((void *)block, 1, sizes[i]);
        look((void *)block, sizes[i], starpu_memory_nodes_numa_devid_to_id(node));
        starpu_free_on_node(node, block, sizes[i]);
    }
}

static void report(bool is_stock)
{
    size_t n_wrong = seen.n_pages - seen.n_right;

    if (is_stock) {
        guest_note("stock StarPU: %zu of %zu pages are on the node that StarPU says",
                   (size_t)seen.n_right, (size_t)seen.n_pages);
        guest_check(seen.n_pool_blocks == 0, "without the plugin no block is starpool's");
        return;
    }
    guest_check(n_wrong == 0, "each page is on the node that StarPU says: %zu of %zu",
                (size_t)seen.n_right, (size_t)seen.n_pages);
    guest_check(seen.n_pool_blocks == seen.n_blocks, "each block is a pool's: %zu of %zu",
                (size_t)seen.n_pool_blocks, (size_t)seen.n_blocks);
    guest_check(seen.n_in_pool_of_node == seen.n_blocks, "of the pool of that node");
    guest_count(seen.n_pages, n_wrong);
}

int main(int argc, char **argv)
{
    bool is_stock = argc > 1 && strcmp(argv[1], "stock") == 0;
    int first = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 0;
    struct starpu_conf conf;
    unsigned n_nodes;

    (void)starpu_conf_init(&conf);
    conf.sched_policy_name = "eager";
    if (starpu_init(&conf) != 0)
        return 2;
    n_nodes = starpu_memory_nodes_get_numa_count();
    guest_check(n_nodes == 2 && starpu_worker_get_count() == 2 &&
                    starpu_memory_nodes_numa_devid_to_id(0) == first,
                "StarPU has two memory nodes, the first is the system's node %d", first);
    /* First, while no worker has had the memory: this thread is on one of the nodes only. */
    for (unsigned node = 0; node < n_nodes; node++)
        allocate_on(node);
    run_tasks(0, 1);
    run_tasks(1, 0);
    starpu_shutdown();
    report(is_stock);
    return guest_end();
}
