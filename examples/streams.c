/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Blocks that are ordered by streams: what one stream has freed serves another that comes after
 * the free, though nobody has waited for either. Needs no GPU and no driver. Build it with
 *
 *   cc streams.c $(pkg-config --cflags --libs starpool)
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <starpool.h>

#define BLOCK_SIZE ((size_t)8 << 20)

static void must(enum starpool_status status, const char *what)
{
    if (status == STARPOOL_OK)
        return;
    fprintf(stderr, "%s: %s (%s)\n", what, starpool_status_text(status),
            starpool_status_name(status));
    exit(EXIT_FAILURE);
}

/* A block on `first`, freed there; then one on `second`, which waits for the free or not. */
static void hand_over(struct starpool_pool *pool, starpool_stream first, starpool_stream second,
                      bool waits)
{
    void *given, *taken;
    uint64_t point;

    must(starpool_alloc(pool, BLOCK_SIZE, first, &given), "alloc");
    must(starpool_free(given, first), "free");
    must(starpool_stream_record(first, &point), "record");
    if (waits)
        must(starpool_stream_wait(second, first, point), "wait");
    must(starpool_alloc(pool, BLOCK_SIZE, second, &taken), "alloc");
    printf("the second stream %s: %s memory\n", waits ? "waits for the free" : "does not wait",
           taken == given ? "the same" : "other");
    must(starpool_free(taken, second), "free");
    must(starpool_stream_synchronize(first), "synchronize");
    must(starpool_stream_synchronize(second), "synchronize");
}

int main(void)
{
    const struct starpool_location host = {STARPOOL_HOST, 0};
    struct starpool_stats stats = {.struct_size = sizeof(stats)};
    struct starpool_pool_config config;
    struct starpool_pool *pool;
    starpool_stream first, second;

    starpool_pool_config_init(&config);
    config.name = "example";
    config.allows_internal_waits = false; /* else a wait is added rather than memory */
    must(starpool_pool_create(&config, &pool), "create");
    must(starpool_stream_create(host, &first), "stream");
    must(starpool_stream_create(host, &second), "stream");
    hand_over(pool, first, second, true);
    hand_over(pool, first, second, false);
    must(starpool_pool_stats(pool, &stats), "stats");
    printf("%" PRIu64 " allocations, %" PRIu64 " live, %" PRIu64 " bytes reserved\n",
           stats.n_allocs, stats.n_live, stats.reserved_bytes);
    starpool_stream_destroy(second);
    starpool_stream_destroy(first);
    starpool_pool_destroy(pool);
    return EXIT_SUCCESS;
}
