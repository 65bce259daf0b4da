/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Puts a refusal into words. */
#include "config.h"

#include "src/pool/why.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "src/pool/driver_pool.h"
#include "src/pool/pool.h"

static const char *limit_remedy(const struct starpool_pool *pool)
{
    if (pool->is_default)
        return "raise the pool's maximum";
    return pool->location.kind == STARPOOL_DEVICE
               ? "raise the pool's maximum (STARPOOL_DEVICE_LIMIT for the pools that serve "
                 "StarPU)"
               : "raise the pool's maximum (STARPOOL_HOST_LIMIT for the pools that serve "
                 "StarPU)";
}

static const char *remedy(const struct starpool_pool *pool, enum starpool_status status,
                          bool is_at_limit)
{
    switch (status) {
    case STARPOOL_ENODE:
        if (pool->config.placement == STARPOOL_SPILL)
            return "free memory, or leave less of it alone (STARPOOL_HOST_RESERVE)";
        return "let the pool spill to other nodes (STARPOOL_NUMA_POLICY=spill), or free memory "
               "on the node";
    case STARPOOL_ECGROUP:
        return "raise the memory limit of the control group, use less, or leave less of it "
               "alone "
               "(STARPOOL_HOST_RESERVE)";
    case STARPOOL_EMEMLOCK:
        return "raise the limit of locked memory (ulimit -l), or do not lock "
               "(STARPOOL_LOCK=0)";
    case STARPOOL_ENOMEM:
        if (is_at_limit)
            return limit_remedy(pool);
        return "raise the limits of address space or committed memory (ulimit -v, "
               "vm.overcommit_memory)";
    case STARPOOL_OK:
    case STARPOOL_EINVAL:
    case STARPOOL_EDEVICE:
    case STARPOOL_ENOTINIT:
    case STARPOOL_ENOTSUP:
    case STARPOOL_ENOTPERM:
    case STARPOOL_EBUSY:
    case STARPOOL_EIO:
    case STARPOOL_ENOTREADY:
    case STARPOOL_EDRIVER:
    case STARPOOL_ECAPTURE_UNSUPPORTED:
    case STARPOOL_ECAPTURE_INVALIDATED:
    case STARPOOL_ECAPTURE_MERGE:
    case STARPOOL_ECAPTURE_UNMATCHED:
    case STARPOOL_ECAPTURE_UNJOINED:
    case STARPOOL_ECAPTURE_ISOLATION:
    case STARPOOL_ECAPTURE_IMPLICIT:
    case STARPOOL_ECAPTURED_EVENT:
    case STARPOOL_ECAPTURE_WRONG_THREAD:
        break;
    }
    return starpool_status_text(status);
}

/* With the driver's own counters, unless it does not say them. */
static void read_stats(struct starpool_pool *pool, struct starpool_stats *stats_out,
                       uint64_t *maximum_out)
{
    sp_lock_take(&pool->lock);
    sp_pool_collect(pool, stats_out);
    *maximum_out = pool->maximum;
    sp_lock_give(&pool->lock);
    if (pool->driver != NULL)
        (void)!sp_driver_pool_collect(pool, stats_out);
}

/* What would help, in a text of its own where it is the driver that refuses. */
static const char *help(const struct starpool_pool *pool, enum starpool_status status,
                        bool is_at_limit, char *text, size_t text_size)
{
    const char *call;
    int answer = starpool_driver_error(&call);

    if (pool->config.is_registered && status != STARPOOL_ENOTINIT &&
        strcmp(call, "cuMemHostRegister") == 0) {
        snprintf(text, text_size,
                 "let the pool spill, which serves what is not registered (the driver answered "
                 "%d to %s)",
                 answer, call);
        return text;
    }
    if ((pool->driver == NULL && !pool->is_on_device) || is_at_limit ||
        status != STARPOOL_ENOMEM)
        return remedy(pool, status, is_at_limit);
    snprintf(text, text_size, "free memory of the device (the driver answered %d to %s)",
             answer, call);
    return text;
}

/* What graphs have of the live blocks, if they have anything. */
static const char *of_graphs(const struct starpool_stats *stats, char *text, size_t text_size)
{
    uint64_t bytes = stats->graph_held_bytes + stats->graph_arena_bytes;
    char amount[32];

    if (bytes == 0)
        return "";
    snprintf(text, text_size, " (%s of it captured graphs)",
             sp_bytes_text(amount, sizeof(amount), bytes));
    return text;
}

char *sp_pool_why(struct starpool_pool *pool, size_t size, enum starpool_status status,
                  char *text, size_t text_size)
{
    char asked[32], used[32], cached[32], reserved[32], hole[32], limit[32], answer[128];
    char graphs[64];
    struct starpool_stats stats;
    uint64_t maximum;
    bool is_at_limit;

    read_stats(pool, &stats, &maximum);
    is_at_limit = maximum != 0 && (stats.reserved_bytes >= maximum ||
                                   maximum - stats.reserved_bytes < sp_round_up(size, SP_PAGE));
    snprintf(text, text_size,
             "%s refused %s (%s): %" PRIu64 " live blocks hold %s%s, threads' caches %s, of %s "
             "reserved%s%s; largest hole %s; remedy: %s",
             pool->name, sp_bytes_text(asked, sizeof(asked), size),
             starpool_status_name(status), stats.n_live,
             sp_bytes_text(used, sizeof(used), stats.used_bytes),
             of_graphs(&stats, graphs, sizeof(graphs)),
             sp_bytes_text(cached, sizeof(cached), stats.cached_bytes),
             sp_bytes_text(reserved, sizeof(reserved), stats.reserved_bytes),
             maximum == 0 ? "" : ", limit ",
             maximum == 0 ? "" : sp_bytes_text(limit, sizeof(limit), maximum),
             sp_bytes_text(hole, sizeof(hole), stats.largest_hole_bytes),
             help(pool, status, is_at_limit, answer, sizeof(answer)));
    return text;
}
