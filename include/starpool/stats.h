/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a pool has done, and a report of all of them. */
#ifndef STARPOOL_STATS_H
#define STARPOOL_STATS_H

#include <stdio.h>

#include <starpool/base.h>
#include <starpool/pool.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Counters of one pool since it was made: name and text, once. Bytes end in `_bytes`.
 */
#define STARPOOL_STATS_MAP(X)                                                     \
    X(used_bytes, "in live blocks")                                               \
    X(used_high_bytes, "most in live blocks and threads' caches")                 \
    X(reserved_bytes, "taken from the system")                                    \
    X(reserved_high_bytes, "most taken from the system")                          \
    X(cached_bytes, "in threads' caches, ready")                                  \
    X(largest_hole_bytes, "largest free range")                                   \
    X(ordered_ready_bytes, "in chunks for streams, free for all")                 \
    X(ordered_pending_bytes, "freed in a stream, not seen to be over")            \
    X(locked_bytes, "locked in memory")                                           \
    X(huge_bytes, "on reserved huge pages")                                       \
    X(huge_fallback_bytes, "wanted on reserved huge pages, got transparent ones") \
    X(spilled_bytes, "reserved on another node than the pool's")                  \
    X(spilled_high_bytes, "most reserved on another node")                        \
    X(unbound_bytes, "reserved but not bound: the system refused binding")        \
    X(n_live, "live blocks")                                                      \
    X(n_live_high, "most live blocks, those in threads' caches included")         \
    X(n_allocs, "allocations served")                                             \
    X(n_frees, "blocks freed")                                                    \
    X(n_resident, "allocations served without growth")                            \
    X(n_refused, "allocations refused")                                           \
    X(n_wrong_frees, "frees of a wrong address")                                  \
    X(n_takes_fresh, "served to a stream: nothing had been there")                \
    X(n_takes_stream, "served to a stream: freed in the same stream")             \
    X(n_takes_seen, "served to a stream: the host had seen the free")             \
    X(n_takes_event, "served to a stream: it waits for the free")                 \
    X(n_takes_executed, "served to a stream: the free had executed")              \
    X(n_takes_internal, "served to a stream: a wait was added")                   \
    X(n_segments, "segments held now")                                            \
    X(n_grows, "segments taken")                                                  \
    X(n_releases, "segments given back")                                          \
    X(n_spills, "segments that spilled")                                          \
    X(graph_held_bytes, "freed, and kept for captured graphs that may use them")  \
    X(graph_arena_bytes, "in arenas of captured graphs")                          \
    X(n_captured_allocs, "allocations captured")                                  \
    X(n_captured_frees, "frees captured")                                         \
    X(shadow_used_bytes, "that the driver should have in live blocks")            \
    X(shadow_reserved_bytes, "that it should need, if every free were over")      \
    X(registered_bytes, "registered with the driver")                             \
    X(unregistered_bytes, "wanted registered, which the driver refused")          \
    X(n_lost_blocks, "live blocks that went when their device was reset")         \
    X(n_lost_frees, "frees of such blocks")

/** One value for each row of STARPOOL_STATS_MAP. */
struct starpool_stats {
    size_t struct_size; /**< [bytes] set by the caller to sizeof(this struct) */
#define STARPOOL_STATS_MEMBER(name, text) uint64_t name;
    STARPOOL_STATS_MAP(STARPOOL_STATS_MEMBER)
#undef STARPOOL_STATS_MEMBER
};

/**
 * Read the counters of a pool.
 *
 * Used bytes and the numbers of allocations and frees are sums over threads: exact while no
 * thread allocates or frees. Reserved bytes and their high-water mark are always exact; the
 * high-water mark of used bytes counts what lay in threads' caches (see
 * starpool_pool_config.has_exact_peak).
 *
 * @param pool       the pool
 * @param stats_out  [in/out] `struct_size` must be set; the rest is written only on STARPOOL_OK
 *
 * @retval STARPOOL_OK      `*stats_out` is set
 * @retval STARPOOL_EINVAL  a pointer is NULL, or `struct_size` is too small
 * @retval STARPOOL_EDRIVER the driver does not say what its pool holds
 *
 * Threads: any, at once. Locks: POOL.
 */
STARPOOL_API STARPOOL_CHECK enum starpool_status
starpool_pool_stats(struct starpool_pool *pool, struct starpool_stats *stats_out);

/**
 * Start the high-water marks of a pool again from the current values, all together. Those of a
 * pool of the driver are the driver's: if it refuses the second of them, the first is done.
 *
 * @param pool  the pool
 *
 * @retval STARPOOL_OK      done
 * @retval STARPOOL_EINVAL  `pool` is NULL
 * @retval STARPOOL_EDRIVER the driver refuses
 *
 * Threads: any, at once. Locks: POOL.
 */
STARPOOL_API enum starpool_status starpool_pool_reset_peaks(struct starpool_pool *pool);

/** How a report is written. */
enum starpool_report_format {
    STARPOOL_REPORT_TEXT, /**< for people */
    STARPOOL_REPORT_JSON, /**< one JSON object */
};

/**
 * Write of every pool who serves it (the host, a CPU-only device, slabs of a device, the
 * driver), what it holds and has done, and on which nodes its pages are. What is counted for
 * streams and devices is left out where it is 0, and of pages in the text where a pool places
 * none.
 *
 * @param out     an open stream; not closed
 * @param format  text or JSON
 *
 * @retval STARPOOL_OK      written
 * @retval STARPOOL_EINVAL  `out` is NULL, or no such format
 * @retval STARPOOL_EIO     the stream reports an error
 *
 * Threads: any, at once. Locks: REGISTRY, POOL.
 */
STARPOOL_API STARPOOL_CHECK enum starpool_status
starpool_report(FILE *out, enum starpool_report_format format);

#ifdef __cplusplus
}
#endif

#endif /* STARPOOL_STATS_H */
