/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Pools on every node and of every kind of page: each page of each block is where it should be,
 * wherever the thread that asks for it runs. The blocks are not touched here. */
#include "config.h"

#include "guest.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

/* Small ones, odd ones, large ones, and some around a huge page. */
static const size_t sizes[] = {
    1,           100,          256,           4096,         5000,         32768,
    65537,       100000,       1153434,       MIB,          2 * MIB - 1,  2 * MIB,
    2 * MIB + 1, 3 * MIB + 17, 4 * MIB + 256, 7 * MIB + 11, 16 * MIB + 1, 33 * MIB + 4095,
    64 * MIB,
};

#define N_SIZES (sizeof(sizes) / sizeof(sizes[0]))

static const char *const huge_names[] = {"ordinary pages", "transparent huge pages",
                                         "reserved huge pages"};

static int n_nodes;

/* All sizes at once, so that the pool has to grow; twice, so that blocks are used again. */
static void check_pool(int node, int cpu_node, enum starpool_huge huge)
{
    struct starpool_pool_config config = guest_config(node);
    struct starpool_pool *pool;
    void *blocks[N_SIZES] = {NULL};
    size_t n_right = 0, n_got = 0;

    guest_run_on(cpu_node);
    config.huge = huge;
    pool = guest_pool(&config);
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < N_SIZES; i++)
            n_got +=
                starpool_alloc(pool, sizes[i], STARPOOL_STREAM_HOST, &blocks[i]) == STARPOOL_OK;
        for (size_t i = 0; i < N_SIZES; i++)
            n_right += blocks[i] != NULL && guest_is_on(blocks[i], sizes[i], node);
        for (size_t i = 0; i < N_SIZES; i++)
            (void)starpool_free(blocks[i], STARPOOL_STREAM_HOST);
    }
    guest_check(n_got == 2 * N_SIZES && n_right == n_got,
                "pool of %s %d, %s, asked on node %d: %zu of %zu blocks are right",
                node < 0 ? "HOST" : "node", node < 0 ? 0 : node, huge_names[huge], cpu_node,
                n_right, 2 * N_SIZES);
    starpool_pool_destroy(pool);
}

/* ---- threads on both nodes, both pools, frees by the other --------------------------- */

#define N_HELD 64

static struct starpool_pool *pools[MAX_GUEST_NODES];
static void *_Atomic held[MAX_GUEST_NODES][N_HELD];
static atomic_int n_failed;

static void *exchange(void *argument)
{
    int cpu_node = (int)(intptr_t)argument;
    unsigned seed = 1000U + (unsigned)cpu_node;

    guest_run_on(cpu_node);
    for (int i = 0; i < 4000; i++) {
        int node = (int)((unsigned)rand_r(&seed) % (unsigned)n_nodes);
        size_t size = 256 + (size_t)rand_r(&seed) % 300000;
        void *block = NULL;

        if (starpool_alloc(pools[node], size, STARPOOL_STREAM_HOST, &block) != STARPOOL_OK)
            n_failed++;
        block = atomic_exchange(&held[node][(unsigned)rand_r(&seed) % N_HELD], block);
        if (block != NULL)
            (void)starpool_free(block, STARPOOL_STREAM_HOST);
    }
    return NULL;
}

static bool held_are_right(int node)
{
    bool is_right = true;

    for (int i = 0; i < N_HELD; i++) {
        struct starpool_block_info info = {.struct_size = sizeof(info)};
        void *block = held[node][i];

        if (block == NULL)
            continue;
        is_right &= starpool_block_info(block, &info) == STARPOOL_OK &&
                    guest_is_on(block, info.size, node);
        (void)starpool_free(block, STARPOOL_STREAM_HOST);
    }
    return is_right;
}

static void check_threads(void)
{
    pthread_t threads[MAX_GUEST_NODES];

    for (int i = 0; i < n_nodes; i++)
        pools[i] = guest_node_pool(i);
    for (int i = 0; i < n_nodes; i++) {
        if (pthread_create(&threads[i], NULL, exchange, (void *)(intptr_t)i) != 0)
            abort();
    }
    for (int i = 0; i < n_nodes; i++)
        (void)pthread_join(threads[i], NULL);
    for (int i = 0; i < n_nodes; i++) {
        guest_check(held_are_right(i) && n_failed == 0,
                    "threads of all nodes exchange blocks: those of node %d are there", i);
        starpool_pool_destroy(pools[i]);
    }
}

/* ---- the node nearest to the caller -------------------------------------------------- */

static void check_nearest(int node)
{
    struct starpool_pool_config config = guest_config(node);
    struct starpool_pool *pool;
    void *block;

    guest_run_on(node);
    config.location.id = STARPOOL_ID_NEAREST;
    pool = guest_pool(&config);
    guest_check(starpool_alloc(pool, 3 * MIB, STARPOOL_STREAM_HOST, &block) == STARPOOL_OK &&
                    guest_is_on(block, 3 * MIB, node),
                "nearest to a thread on node %d", node);
    starpool_free(block, STARPOOL_STREAM_HOST);
    starpool_pool_destroy(pool);
}

/* ---- what starpool knows of the nodes ------------------------------------------------ */

static void check_topology(void)
{
    const struct starpool_topology *topology;
    uint64_t room = 0;

    if (starpool_topology_get(&topology) != STARPOOL_OK)
        abort();
    n_nodes = topology->n_nodes;
    guest_check(topology->is_real, "the topology is this machine's: %d nodes", n_nodes);
    for (int i = 0; i < n_nodes; i++) {
        const struct starpool_node *node = &topology->nodes[i];
        size_t total = guest_meminfo(i, "MemTotal");
        char cpus[16];

        (void)snprintf(cpus, sizeof(cpus), "%d", i);
        guest_check(node->os_index == i && node->kind == STARPOOL_NODE_DRAM &&
                        node->serves_host && node->total_bytes == total && node->n_cpus == 1 &&
                        strtol(node->cpus, NULL, 10) == i &&
                        topology->distances[i * n_nodes + i] == 10 &&
                        topology->distances[i] == 10U + 10U * (unsigned)i,
                    "node %d is as the kernel says", i);
        if (starpool_numa_room(i, &room) != STARPOOL_OK)
            room = 0;
        guest_check(room > 0 &&
                        room <= guest_meminfo(i, "MemFree") + guest_meminfo(i, "FilePages"),
                    "node %d has room for %zu MiB of %zu", i, (size_t)room / MIB, total / MIB);
    }
}

int main(void)
{
    check_topology();
    for (int node = -1; node < n_nodes; node++) {
        for (int cpu_node = 0; cpu_node < n_nodes; cpu_node++) {
            check_pool(node, cpu_node, STARPOOL_HUGE_NEVER);
            check_pool(node, cpu_node, STARPOOL_HUGE_TRANSPARENT);
        }
    }
    check_threads();
    for (int node = 0; node < n_nodes; node++)
        check_nearest(node);
    return guest_end();
}
