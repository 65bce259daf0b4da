/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A pool on the NUMA node nearest to the caller: blocks are taken and given back, and the pool
 * is asked what it did and where its pages are. Build it with
 *
 *   cc pool.c $(pkg-config --cflags --libs starpool)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <starpool.h>

#define N_BLOCKS   8
#define N_ROUNDS   1000
#define BLOCK_SIZE ((size_t)1100 * 1000) /* No power of two: nothing is rounded up to one. */

static void must(enum starpool_status status, const char *what)
{
    if (status == STARPOOL_OK)
        return;
    fprintf(stderr, "%s: %s (%s)\n", what, starpool_status_text(status),
            starpool_status_name(status));
    exit(EXIT_FAILURE);
}

/* What an iteration of a solver does: some temporaries, used and given back. */
static void iterate(struct starpool_pool *pool)
{
    void *blocks[N_BLOCKS];

    for (int i = 0; i < N_BLOCKS; i++) {
        must(starpool_alloc(pool, BLOCK_SIZE, STARPOOL_STREAM_HOST, &blocks[i]), "alloc");
        memset(blocks[i], i, BLOCK_SIZE);
    }
    for (int i = 0; i < N_BLOCKS; i++)
        must(starpool_free(blocks[i], STARPOOL_STREAM_HOST), "free");
}

static void show_stats(struct starpool_pool *pool)
{
    struct starpool_stats stats = {.struct_size = sizeof(stats)};

    must(starpool_pool_stats(pool, &stats), "stats");
    printf("%llu allocations, of which %llu needed no new memory; at most %.1f MB reserved\n",
           (unsigned long long)stats.n_allocs, (unsigned long long)stats.n_resident,
           (double)stats.reserved_high_bytes / 1e6);
}

/* A block's pages have been touched, on the pool's node, before it is handed out. */
static void show_pages(struct starpool_pool *pool)
{
    struct starpool_pages pages;
    void *block;

    must(starpool_alloc(pool, BLOCK_SIZE, STARPOOL_STREAM_HOST, &block), "alloc");
    must(starpool_verify(block, BLOCK_SIZE, &pages), "verify");
    printf("a new block: %llu pages, %llu not touched yet, %llu on a node unknown\n",
           (unsigned long long)pages.n_pages, (unsigned long long)pages.n_absent,
           (unsigned long long)pages.n_unknown);
    for (int node = 0; node < STARPOOL_MAX_NODES; node++) {
        if (pages.n_on_node[node] > 0)
            printf("  %llu on NUMA node %d\n", (unsigned long long)pages.n_on_node[node], node);
    }
    must(starpool_free(block, STARPOOL_STREAM_HOST), "free");
}

int main(void)
{
    struct starpool_pool_config config;
    struct starpool_pool *pool;

    starpool_pool_config_init(&config);
    config.location.kind = STARPOOL_HOST_NUMA;
    config.location.id = STARPOOL_ID_NEAREST;
    config.name = "temporaries";
    must(starpool_pool_create(&config, &pool), "create");

    for (int round = 0; round < N_ROUNDS; round++)
        iterate(pool);
    show_stats(pool);
    show_pages(pool);
    must(starpool_report(stdout, STARPOOL_REPORT_TEXT), "report");

    starpool_pool_destroy(pool);
    return EXIT_SUCCESS;
}
