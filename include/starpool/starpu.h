/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* For programs that use StarPU: turn the plugin on with a call, and ask it things.
 * Unmodified programs do not need this header: see starpool(1), `starpool run`. */
#ifndef STARPOOL_STARPU_H
#define STARPOOL_STARPU_H

#include <starpool/base.h>
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
 * @retval STARPOOL_ENOTSUP  the node is not served by a pool (a device without a driver table)
 * @retval STARPOOL_ENOTINIT StarPU is not running, or the plugin is not attached
 *
 * Threads: any, at once.
 */
STARPOOL_API STARPOOL_CHECK enum starpool_status
starpool_starpu_pool(unsigned node, struct starpool_pool **pool_out);

#ifdef __cplusplus
}
#endif

#endif /* STARPOOL_STARPU_H */
