/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Planning: addresses for all blocks of a graph before it runs. */
#ifndef STARPOOL_PLAN_H
#define STARPOOL_PLAN_H

#include <starpool/base.h>
#include <starpool/graph.h>
#include <starpool/pool.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How a plan is made. Fill it with starpool_plan_config_init(), then change what matters. */
struct starpool_plan_config {
    size_t struct_size; /**< [bytes] sizeof(struct starpool_plan_config) */
    uint64_t capacity;  /**< [bytes] of each location; 0: as the graph says; STARPOOL_UNLIMITED:
                             none */
    uint64_t alignment; /**< [bytes] a power of two: what every size is rounded up to; 1 takes
                             sizes as they are; the default, 0, is each block's own alignment */
    uint64_t time_ns;   /**< [ns] at most so long is searched for something better; 0: the fast
                             mode; 50 ms by default */
    uint64_t seed;      /**< of the search's noise; 0 by default */
    bool adds_edges;    /**< order what the graph leaves unordered where that saves memory; off
                             by default */
};

/** What is known of a plan at one location. */
struct starpool_plan_report {
    size_t struct_size;   /**< [bytes] set by the caller to sizeof(this struct) */
    uint64_t n_blocks;    /**< planned there */
    uint64_t total_bytes; /**< [bytes] the sum of their sizes, rounded */
    uint64_t peak_bytes;  /**< [bytes] the highest end of a block: the footprint */
    uint64_t lower_bound; /**< [bytes] no plan can do with less: the heaviest set of blocks of
                               which none is over before another begins */
    bool is_bound_exact;  /**< it is the heaviest such set; else a smaller one that was found */
    bool is_timed;        /**< planned by intervals of one time line */
    bool fits;            /**< within the capacity; true if there is none */
    bool is_proved;       /**< `fits` is false and a search has shown that nothing fits, or the
                               peak equals the lower bound */
    uint64_t n_search_nodes; /**< looked at */
    uint64_t n_added_edges;
    uint64_t saved_bytes; /**< [bytes] of the peak, by the edges added */
};

/** An edge that a plan needs and the graph does not have. */
struct starpool_plan_edge {
    size_t struct_size;                /**< [bytes] set by the caller to sizeof(this struct) */
    uint32_t from;                     /**< the node that must end first */
    uint32_t to;                       /**< the node that begins after it */
    struct starpool_location location; /**< where it saves memory */
    uint64_t saved_bytes; /**< [bytes] of the peak there, by this edge and those before it */
};

/**
 * Set every member of a configuration to its default.
 *
 * @param config  [out] written whole
 *
 * Threads: any, at once.
 */
STARPOOL_API void starpool_plan_config_init(struct starpool_plan_config *config);

/**
 * Give all blocks of a graph addresses, before it runs.
 *
 * Two blocks of a location share addresses only if the graph's order has one of them over
 * before the other begins, so that whatever runs at the same time is safe. If the order is one
 * line of time, intervals are planned; else the partial order is. Each location is planned for
 * itself, with an equal part of the time. The fast mode is next to linear in nodes, edges and
 * pairs of blocks that are live at once; up to 8 blocks of a location are planned with the
 * lowest peak there is. Nothing is allocated from a pool, and no driver is asked.
 *
 * With `adds_edges` the plan may rest on edges that the graph does not have: whoever runs the
 * graph must add them, see starpool_plan_get_edge(). They can make it run longer. Each lowers a
 * peak, and none closes a cycle.
 *
 * @param graph     the graph; the plan needs it no more when the call has returned
 * @param config    how
 * @param plan_out  written only on STARPOOL_OK; to be destroyed
 *
 * @retval STARPOOL_OK      `*plan_out` is set, also if what is planned does not fit
 * @retval STARPOOL_EINVAL  a pointer is NULL; the configuration is not valid; or the graph is
 * none: a cycle, a block used before its allocation or after its free, sizes that, each with
 * twice its alignment, come to more than 2^62 bytes, times of 2^63 or more
 * @retval STARPOOL_ENOMEM  no memory for the planner's own data
 *
 * Threads: any, at once; the graph must not change meanwhile.
 * Source:  Moffitt, MiniMalloc, ASPLOS 2023 (intervals); Dilworth, A decomposition theorem for
 *          partially ordered sets, 1950 (the lower bound).
 */
STARPOOL_API STARPOOL_CHECK enum starpool_status
starpool_plan(const struct starpool_graph *graph, const struct starpool_plan_config *config,
              struct starpool_plan **plan_out);

/**
 * Destroy a plan.
 *
 * @param plan  invalid afterwards; NULL is left alone
 *
 * Threads: any; not while another thread uses the plan.
 */
STARPOOL_API void starpool_plan_destroy(struct starpool_plan *plan);

/**
 * What is known of a plan at one location.
 *
 * @param plan        from starpool_plan()
 * @param location    the place; if the graph has no blocks there, everything is 0 and fits
 * @param report_out  [in/out] `struct_size` must be set; the rest is written only on
 * STARPOOL_OK
 *
 * @retval STARPOOL_OK      `*report_out` is set
 * @retval STARPOOL_EINVAL  a pointer is NULL, or `struct_size` is too small
 *
 * Threads: any, at once.
 */
STARPOOL_API STARPOOL_CHECK enum starpool_status
starpool_plan_get_report(const struct starpool_plan *plan, struct starpool_location location,
                         struct starpool_plan_report *report_out);

/**
 * How much memory a planned graph needs at one location.
 *
 * @param plan       from starpool_plan()
 * @param location   the place
 * @param bytes_out  [bytes] the highest end of a block there, 0 if there is none; written only
 * on STARPOOL_OK
 *
 * @retval STARPOOL_OK      `*bytes_out` is set
 * @retval STARPOOL_EINVAL  a pointer is NULL
 *
 * Threads: any, at once.
 */
STARPOOL_API STARPOOL_CHECK enum starpool_status
starpool_plan_footprint(const struct starpool_plan *plan, struct starpool_location location,
                        uint64_t *bytes_out);

/**
 * Where a block begins in the memory of its location.
 *
 * @param plan        from starpool_plan()
 * @param block       the block, by its number in the graph
 * @param offset_out  [bytes] a multiple of the block's alignment; written only on STARPOOL_OK
 *
 * @retval STARPOOL_OK      `*offset_out` is set
 * @retval STARPOOL_EINVAL  a pointer is NULL, or there is no such block
 *
 * Threads: any, at once.
 */
STARPOOL_API STARPOOL_CHECK enum starpool_status
starpool_plan_offset(const struct starpool_plan *plan, uint32_t block, uint64_t *offset_out);

/**
 * An edge that the graph must be given before the plan may be used for it.
 *
 * @param plan      from starpool_plan()
 * @param index     0, 1, 2, ...; in the order in which they were added
 * @param edge_out  [in/out] `struct_size` must be set; the rest is written only on STARPOOL_OK
 *
 * @retval STARPOOL_OK      `*edge_out` is set
 * @retval STARPOOL_EINVAL  a pointer is NULL, `struct_size` is too small, or there are no more
 *
 * Threads: any, at once.
 */
STARPOOL_API STARPOOL_CHECK enum starpool_status
starpool_plan_get_edge(const struct starpool_plan *plan, uint32_t index,
                       struct starpool_plan_edge *edge_out);

/**
 * Check a plan against its graph, without anything that made it.
 *
 * That every two blocks that share addresses are ordered, that offsets are aligned and reports
 * say what is so, that the blocks which the lower bound rests on are not ordered and have its
 * sum, and that the added edges close no cycle.
 *
 * @param graph  the graph that was planned
 * @param plan   from starpool_plan()
 * @param error  [error_size] what does not hold, in words, if it is EINVAL; NULL if not wanted
 *
 * @retval STARPOOL_OK      all of it holds
 * @retval STARPOOL_EINVAL  something does not hold, or `graph` or `plan` is NULL
 * @retval STARPOOL_ENOMEM  no memory to check it
 *
 * Threads: any, at once; the graph must not change meanwhile.
 */
STARPOOL_API STARPOOL_CHECK enum starpool_status
starpool_plan_check(const struct starpool_graph *graph, const struct starpool_plan *plan,
                    char *error, size_t error_size);

#ifdef __cplusplus
}
#endif

#endif /* STARPOOL_PLAN_H */
