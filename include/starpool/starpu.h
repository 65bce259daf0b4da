/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* For programs that use StarPU: turn the plugin on with a call, and ask it things.
 * Unmodified programs do not need this header: see starpool(1), `starpool run`. */
#ifndef STARPOOL_STARPU_H
#define STARPOOL_STARPU_H

#include <starpool/base.h>
#include <starpool/graph.h>
#include <starpool/plan.h>
#include <starpool/pool.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How StarPU's requests should be served; fill with starpool_starpu_config_init(). */
struct starpool_starpu_config {
    size_t struct_size;                /**< [bytes] sizeof(struct starpool_starpu_config) */
    enum starpool_placement placement; /**< as STARPOOL_NUMA_POLICY; spill by default */
    uint64_t host_limit;               /**< [bytes] as STARPOOL_HOST_LIMIT; 0: none */
};

/**
 * Set every member to what the environment says, or else to its default.
 *
 * @param config  [out] written whole
 *
 * Threads: any, at once.
 */
STARPOOL_API void starpool_starpu_config_init(struct starpool_starpu_config *config);

/**
 * Serve StarPU's memory nodes from starpool's pools. To be called before starpu_init().
 *
 * Installs StarPU's malloc hooks and patches the calls to its allocator in every object that is
 * loaded. A second call, or a second copy of the plugin, changes nothing; after
 * starpool_starpu_detach() a call serves StarPU again, also while it runs.
 *
 * @param config  NULL: as starpool_starpu_config_init() fills it; not kept
 *
 * @retval STARPOOL_OK       StarPU is served, by the interposer or the hooks alone
 *                           (`starpool info` and the exit report say which)
 * @retval STARPOOL_EINVAL   a member of `config` has no such value
 * @retval STARPOOL_ENOTSUP  no shared libstarpu is loaded, or it is of another version than the
 *                           plugin was built for
 * @retval STARPOOL_EBUSY    StarPU is already running
 *
 * Threads: one, before starpu_init().
 * Source:  StarPU, starpu_malloc_set_hooks.
 */
STARPOOL_API STARPOOL_CHECK enum starpool_status
starpool_starpu_attach(const struct starpool_starpu_config *config);

/**
 * Serve no further allocation of StarPU's, until starpool_starpu_attach() is called again.
 * Frees of blocks that are out are still taken, and nothing is unhooked or unloaded.
 *
 * Threads: any, at once.
 */
STARPOOL_API void starpool_starpu_detach(void);

/**
 * The pool that serves one of StarPU's memory nodes. It stays as long as the process, and is
 * never to be destroyed: starpool_pool_destroy() refuses it.
 *
 * @param node      StarPU's number of the node, not an OS index
 * @param pool_out  written only on STARPOOL_OK
 *
 * @retval STARPOOL_OK       `*pool_out` is set
 * @retval STARPOOL_EINVAL   `pool_out` is NULL
 * @retval STARPOOL_EDEVICE  StarPU has no such node
 * @retval STARPOOL_ENOTSUP  StarPU serves the node itself; the exit report says why
 * @retval STARPOOL_ENOTINIT StarPU is not running, or the plugin is not attached
 *
 * Threads: any, at once.
 */
STARPOOL_API STARPOOL_CHECK enum starpool_status
starpool_starpu_pool(unsigned node, struct starpool_pool **pool_out);

/**
 * Allocate temporary memory in a codelet: on a CUDA worker from its device in the order of its
 * stream, captured (as THREAD_LOCAL or RELAXED) or not, on a CPU worker from its node, ready at
 * once. The bytes do not count in StarPU's budget.
 *
 * @param size     [bytes] 1 up to what the device has
 * @param ptr_out  [address] aligned to 256 bytes; written only on STARPOOL_OK
 *
 * @retval STARPOOL_OK       `*ptr_out` is set
 * @retval STARPOOL_EINVAL   `size` is 0, `ptr_out` is NULL, or it is not in a task's codelet
 * @retval STARPOOL_ENOTINIT StarPU is not running, or not served, or there is no driver
 * @retval STARPOOL_ENOTSUP  another kind of worker; and others as starpool_alloc() says
 *
 * Threads: any, at once. Source: StarPU, starpu_cuda_get_local_stream.
 */
STARPOOL_API STARPOOL_CHECK enum starpool_status starpool_starpu_alloc(size_t size,
                                                                       void **ptr_out);

/**
 * Free such a block in a codelet, in the order of the worker's stream, captured or not. Another
 * worker that frees it must be ordered after what uses it; elsewhere use starpool_free().
 *
 * @param ptr  an address from starpool_starpu_alloc()
 *
 * @retval STARPOOL_EINVAL  `ptr` is no live block; and others as above and for starpool_free()
 *
 * Threads: any, at once; not twice for one block.
 */
STARPOOL_API enum starpool_status starpool_starpu_free(void *ptr);

/**
 * Begin to capture an iteration: what is asked of StarPU's memory nodes, and the tasks that are
 * submitted, until starpool_starpu_capture_end(). Waits for all tasks first. The pools serve
 * meanwhile as ever, and nothing of it is a capture of CUDA: transfers stay StarPU's own. What
 * is being captured or replayed when StarPU is shut down ends when it is started again.
 *
 * @param name  for reports and files; copied; NULL: "iteration"
 *
 * @retval STARPOOL_OK       it is being captured
 * @retval STARPOOL_EBUSY    an iteration is being captured or replayed
 * @retval STARPOOL_ENOTINIT StarPU is not running, or not served
 * @retval STARPOOL_ENOTPERM called in a task, which cannot wait for all tasks
 * @retval STARPOOL_ENOTSUP  this StarPU lacks what is needed
 *
 * Threads: one for all iterations; other threads may submit tasks and allocate.
 */
STARPOOL_API STARPOOL_CHECK enum starpool_status
starpool_starpu_capture_begin(const char *name);

/**
 * End the capture, after waiting for all tasks, and plan where each block goes when the
 * iteration is replayed. The plan is kept, in place of that of an earlier capture.
 *
 * @param graph_out  the tasks, their order and the blocks, to be planned by starpool_plan() so
 *                   that the plan holds however the tasks are run; written only on STARPOOL_OK;
 *                   to be destroyed; NULL if not wanted
 *
 * @retval STARPOOL_OK       planned; there may be nothing to replay
 * @retval STARPOOL_EINVAL   so much was asked for that not all of it was recorded
 * @retval STARPOOL_ENOTREADY nothing is being captured
 * @retval STARPOOL_ENOTSUP  this process has made as many plans as it may
 * @retval STARPOOL_ENOMEM   no memory
 * @retval STARPOOL_ENOTINIT, STARPOOL_ENOTPERM as above
 *
 * Threads: one for all iterations.
 */
STARPOOL_API STARPOOL_CHECK enum starpool_status
starpool_starpu_capture_end(struct starpool_graph **graph_out);

/**
 * Begin to replay: until starpool_starpu_replay_end(), the n-th request of a size on a node is
 * served from where the plan puts it, in a range that is taken from the node's pool whole. What
 * the plan does not know, or whose place is still in use, the pools serve, and it is counted.
 * Waits for all tasks first.
 *
 * @param plan  of the graph that the last capture gave; NULL: by the lifetimes that were
 *              observed in the capture, and planned again if two replays change alike
 *
 * @retval STARPOOL_OK        it is being replayed
 * @retval STARPOOL_EINVAL    `plan` is of a graph with other blocks, or its addresses are not
 *                            aligned
 * @retval STARPOOL_ENOTREADY nothing was captured, or StarPU was started anew with other nodes
 * @retval STARPOOL_EBUSY     an iteration is being captured or replayed
 * @retval STARPOOL_ENOTSUP, STARPOOL_ENOMEM, STARPOOL_ENOTINIT, STARPOOL_ENOTPERM as above
 *
 * Threads: one for all iterations; any may allocate and free.
 */
STARPOOL_API STARPOOL_CHECK enum starpool_status
starpool_starpu_replay_begin(const struct starpool_plan *plan);

/** How one replayed iteration went. */
struct starpool_starpu_replay_summary {
    size_t struct_size;       /**< [bytes] set by the caller to sizeof(this struct) */
    uint64_t n_requests;      /**< requests for host memory */
    uint64_t n_served;        /**< of these, from the plan; the pools served the others */
    uint64_t predicted_bytes; /**< [bytes] what the plan takes */
    uint64_t high_bytes;      /**< [bytes] the highest end of a block that was served */
};

/**
 * End the replay, after waiting for all tasks. The range goes back to the pool when no block in
 * it is live any more; a block that outlives the iteration keeps its place.
 *
 * @param summary_out  [in/out] `struct_size` must be set; the rest is written only on
 *                     STARPOOL_OK; NULL if not wanted
 *
 * @retval STARPOOL_OK        ended
 * @retval STARPOOL_EINVAL    `struct_size` is wrong
 * @retval STARPOOL_ENOTREADY nothing is being replayed
 * @retval STARPOOL_ENOTINIT, STARPOOL_ENOTPERM as above
 *
 * Threads: one for all iterations.
 */
STARPOOL_API STARPOOL_CHECK enum starpool_status
starpool_starpu_replay_end(struct starpool_starpu_replay_summary *summary_out);

#ifdef __cplusplus
}
#endif

#endif /* STARPOOL_STARPU_H */
