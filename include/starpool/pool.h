/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Pools: what they are like, making and destroying them, trimming. */
#ifndef STARPOOL_POOL_H
#define STARPOOL_POOL_H

#include <starpool/attribute.h>
#include <starpool/base.h>
#include <starpool/block.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What a pool does when its place has no room. */
enum starpool_placement {
    STARPOOL_STRICT, /**< refuse, with a status that says what is full */
    STARPOOL_SPILL,  /**< take memory of another node, and count it */
};

/** Which pages a pool's memory is made of. */
enum starpool_huge {
    STARPOOL_HUGE_NEVER,       /**< ordinary pages only */
    STARPOOL_HUGE_TRANSPARENT, /**< ask for transparent huge pages */
    STARPOOL_HUGE_EXPLICIT,    /**< reserved huge pages while the node has free ones, else
                                    transparent ones, counted */
};

/** Who serves a pool. */
enum starpool_backend {
    STARPOOL_BACKEND_AUTO,   /**< the driver for managed memory and for devices that have pools,
                                  large pieces for other devices, else starpool */
    STARPOOL_BACKEND_DRIVER, /**< the driver's own pool */
    STARPOOL_BACKEND_SLAB, /**< starpool's engine over large pieces of a device's memory, which
                                is plain memory to peers, IPC and MPI; nothing of it is
                                touched, locked or poisoned */
    STARPOOL_BACKEND_CPU,  /**< host memory, whatever the location is called; needs no driver */
};

/** How a pool can be shared between processes; several may be joined by `|`. */
enum starpool_handle_type {
    STARPOOL_HANDLE_NONE = 0,   /**< not shared */
    STARPOOL_HANDLE_FD = 1,     /**< a file descriptor, within one machine */
    STARPOOL_HANDLE_FABRIC = 8, /**< 64 bytes, also between machines of one fabric */
};

/** Where memory comes from that is allocated while a stream is captured; see
 * starpool/capture.h. */
enum starpool_capture_memory {
    STARPOOL_CAPTURE_NODES, /**< allocation and free nodes of the driver, in a pool that it
                                 serves; elsewhere as the next */
    STARPOOL_CAPTURE_ARENA, /**< blocks of the pool, which the graph has as long as it lives: it
                                 holds no memory nodes */
};

/** What becomes of a block that was allocated outside of a capture and is freed in one. */
enum starpool_captured_free {
    STARPOOL_FREE_WITH_GRAPH,     /**< it is free when the graph, its executables and their
                                       launches are gone: captured work may use it */
    STARPOOL_FREE_REFUSE,         /**< the free is refused, as the driver does */
    STARPOOL_FREE_AT_CAPTURE_END, /**< it is free when the capture has ended; the caller vouches
                                       that no captured work uses it, and leaves the stream be
                                       until a call of starpool has come after that, of the same
                                       thread if the stream is STARPOOL_STREAM_PER_THREAD */
};

/**
 * Called when a pool cannot serve a request, after everything else has been tried.
 *
 * The callback may free blocks, of this pool or another, and must not destroy the pool. No
 * lock of starpool is held.
 *
 * @param pool     the pool that is short
 * @param size     [bytes] what was asked for, rounded as starpool_alloc() says
 * @param attempt  0 at the first call for this request, then 1, 2, ...
 * @param arg      as given in the configuration
 * @return         true to try again, false to let the request fail
 */
typedef bool (*starpool_oom_fn)(struct starpool_pool *pool, size_t size, unsigned attempt,
                                void *arg);

/** No limit, and no release: see starpool_pool_config. */
#define STARPOOL_UNLIMITED UINT64_MAX

/**
 * What a pool should be like. Fill it with starpool_pool_config_init(), then change what
 * matters.
 */
struct starpool_pool_config {
    size_t struct_size;                /**< [bytes] sizeof(struct starpool_pool_config) */
    struct starpool_location location; /**< where the memory is */
    enum starpool_memory memory;       /**< STARPOOL_PINNED; managed needs a driver */
    uint64_t initial; /**< [bytes] reserved and touched at once; 0: when first asked */
    uint64_t maximum; /**< [bytes] most that may be reserved; 0: the system's limits */
    uint64_t release_threshold; /**< [bytes] reserved memory kept when blocks are freed; at the
                                     next growth, trim or synchronize what is free beyond goes;
                                     STARPOOL_UNLIMITED (default) keeps everything */
    enum starpool_placement placement; /**< STARPOOL_STRICT by default */
    enum starpool_huge huge;           /**< STARPOOL_HUGE_TRANSPARENT by default */
    bool is_locked;                    /**< lock the pages in memory (mlock); off by default */
    bool has_exact_peak; /**< bypass the threads' caches, so that the high-water mark of used
                              bytes is exact; off by default. Otherwise it may be high by what
                              caches hold, at most 64 MiB a thread and in the depot */
    const char *name;    /**< for messages and reports; copied; NULL: made from the location */
    starpool_oom_fn on_oom; /**< NULL: none */
    void *on_oom_arg;
    enum starpool_backend backend; /**< STARPOOL_BACKEND_AUTO by default */
    unsigned handle_types;         /**< bits of enum starpool_handle_type; 0: not shared */
    bool follows_events;        /**< a stream may have what another freed, if it waits for the
                                     free; on by default */
    bool is_opportunistic;      /**< or if the free has executed; on by default */
    bool allows_internal_waits; /**< or if a wait for the free is added, which is done before
                                     the pool grows; on by default */
    enum starpool_capture_memory capture;      /**< STARPOOL_CAPTURE_NODES by default */
    enum starpool_captured_free captured_free; /**< STARPOOL_FREE_WITH_GRAPH by default */
    bool has_shadow;    /**< count what the driver's pool of a device must hold; the default is
                             the option SHADOW, which is on. Other pools have none */
    bool is_registered; /**< register the memory of a pool of the host with the driver, piece by
                             piece, so that devices copy at full speed; off by default. What the
                             driver does not register a strict pool refuses; one that spills
                             serves it, and counts it */
};

/**
 * Set every member of a configuration to its default: a strict HOST pool.
 *
 * @param config  [out] written whole
 *
 * Threads: any, at once.
 */
STARPOOL_API void starpool_pool_config_init(struct starpool_pool_config *config);

/**
 * Make a pool.
 *
 * A location {STARPOOL_HOST_NUMA, STARPOOL_ID_NEAREST} means the node nearest to the calling
 * thread. A pool of kind STARPOOL_HOST uses the nodes of ordinary memory only: never the
 * memory of a GPU, an empty placeholder or a slower tier. With STARPOOL_BACKEND_CPU a pool of
 * kind STARPOOL_DEVICE is made of the host's memory and needs no driver.
 *
 * A pool of a device that the driver serves is one of its own, which every device may use that
 * can be a peer. One of large pieces (STARPOOL_BACKEND_SLAB) makes no context before it first
 * needs memory; what is about pages of the host (`placement`, `huge`, `is_locked`) it does not
 * look at.
 *
 * @param config    what the pool should be like; not kept
 * @param pool_out  written only on STARPOOL_OK
 *
 * @retval STARPOOL_OK       `*pool_out` is set
 * @retval STARPOOL_EINVAL   an argument is NULL, or a member of `config` has no such value, or
 *                           `initial` or, for a device, `release_threshold` is above `maximum`,
 *                           or memory that is not starpool's on the host is to be registered
 * @retval STARPOOL_EDEVICE  there is no such device or NUMA node, or it is not allowed to this
 *                           process
 * @retval STARPOOL_ENOTINIT it needs a driver, and there is none
 * @retval STARPOOL_ENOTSUP  the driver or this version has no such pool
 * @retval STARPOOL_EDRIVER  anything else of the driver, as starpool_driver_error() has it
 * @retval STARPOOL_ENOMEM, STARPOOL_ENODE, STARPOOL_ECGROUP, STARPOOL_EMEMLOCK
 *                           `initial` bytes are not to be had
 *
 * Threads: any, at once. Locks: REGISTRY; GROWTH when `initial` is not 0.
 * Source:  CUDA Driver API, cuMemPoolCreate.
 */
STARPOOL_API STARPOOL_CHECK enum starpool_status
starpool_pool_create(const struct starpool_pool_config *config,
                     struct starpool_pool **pool_out);

/**
 * Give up a pool.
 *
 * Returns at once. Blocks that are still live, or freed in a stream that has not come there,
 * keep their memory, and may be freed as before; the pool's memory is released when the last of
 * them is. Until then the pool serves no further allocation. Destroying the current pool of a
 * location makes the default one current again. NULL and a default pool are left alone, the
 * latter with a message.
 *
 * @param pool  the handle is invalid afterwards
 *
 * Threads: any; not while another thread uses the handle. Locks: REGISTRY, GROWTH, POOL.
 * Source:  CUDA Driver API, cuMemPoolDestroy.
 */
STARPOOL_API void starpool_pool_destroy(struct starpool_pool *pool);

/**
 * The default pool of a location; made when first asked for.
 *
 * @param location  DEVICE, HOST, HOST_NUMA, where STARPOOL_ID_NEAREST is accepted, or for
 *                  managed memory also NONE
 * @param memory    STARPOOL_PINNED or STARPOOL_MANAGED
 * @param pool_out  written only on STARPOOL_OK; never to be destroyed
 *
 * @retval STARPOOL_OK       `*pool_out` is set
 * @retval STARPOOL_EINVAL   `pool_out` is NULL, no such kind or type, or a negative device
 * @retval STARPOOL_EDEVICE  there is no such device or NUMA node
 * @retval STARPOOL_ENOTINIT it needs a driver, and there is none
 * @retval STARPOOL_ENOTSUP  the driver has no such pool
 * @retval STARPOOL_ENOMEM   no memory for the pool's own data
 * @retval STARPOOL_EDRIVER  anything else of the driver
 *
 * Threads: any, at once. Locks: REGISTRY. Source: CUDA Driver API, cuMemGetDefaultMemPool.
 */
STARPOOL_API STARPOOL_CHECK enum starpool_status
starpool_pool_default(struct starpool_location location, enum starpool_memory memory,
                      struct starpool_pool **pool_out);

/**
 * The current pool of a location: the default one unless another was set.
 *
 * Parameters, statuses and threads as starpool_pool_default().
 * Source:  CUDA Driver API, cuMemGetMemPool.
 */
STARPOOL_API STARPOOL_CHECK enum starpool_status
starpool_pool_current(struct starpool_location location, enum starpool_memory memory,
                      struct starpool_pool **pool_out);

/**
 * Make a pool the current one of its location.
 *
 * @param location  must be the pool's own
 * @param memory    must be the pool's own
 * @param pool      the pool
 *
 * @retval STARPOOL_OK      done
 * @retval STARPOOL_EINVAL  `pool` is NULL, or `location` or `memory` is not the pool's
 * @retval STARPOOL_EDRIVER the driver refuses
 *
 * Threads: any, at once. Locks: REGISTRY. Source: CUDA Driver API, cuMemSetMemPool.
 */
STARPOOL_API STARPOOL_CHECK enum starpool_status
starpool_pool_set_current(struct starpool_location location, enum starpool_memory memory,
                          struct starpool_pool *pool);

/**
 * Give free memory back to the system.
 *
 * Drains the threads' caches and takes notice of frees in streams that have executed, then
 * releases whole segments without a live block, until no more than `keep` bytes are reserved or
 * nothing can be released.
 *
 * @param pool  the pool
 * @param keep  [bytes] at least this much stays reserved, if so much is
 *
 * @retval STARPOOL_OK      done, also if nothing could be released
 * @retval STARPOOL_EINVAL  `pool` is NULL
 * @retval STARPOOL_EDRIVER the driver refuses to trim its pool
 *
 * Threads: any, at once. Locks: GROWTH, POOL. Source: CUDA Driver API, cuMemPoolTrimTo.
 */
STARPOOL_API enum starpool_status starpool_pool_trim(struct starpool_pool *pool, uint64_t keep);

/**
 * Give free memory of the driver's pool back to the system, and nothing that is starpool's.
 *
 * @param pool  a pool that the driver serves
 * @param keep  [bytes] at least this much stays reserved, if so much is
 *
 * @retval STARPOOL_OK       done, also if nothing could be released
 * @retval STARPOOL_EINVAL   `pool` is NULL
 * @retval STARPOOL_ENOTSUP  the pool is not the driver's
 * @retval STARPOOL_EDRIVER  anything else; starpool_driver_error() has the CUresult
 *
 * Threads: any, at once. Source: CUDA Driver API, cuMemPoolTrimTo.
 */
STARPOOL_API STARPOOL_CHECK enum starpool_status
starpool_pool_trim_driver(struct starpool_pool *pool, uint64_t keep);

/**
 * Read back the configuration of a pool, as it is now.
 *
 * @param pool        the pool
 * @param config_out  [in/out] `struct_size` must be set; the rest is written only on
 *                    STARPOOL_OK; `name` stays valid as long as the pool
 *
 * @retval STARPOOL_OK      `*config_out` is set
 * @retval STARPOOL_EINVAL  a pointer is NULL, or `struct_size` is too small
 *
 * Threads: any, at once. Locks: POOL.
 */
STARPOOL_API STARPOOL_CHECK enum starpool_status
starpool_pool_get_config(struct starpool_pool *pool, struct starpool_pool_config *config_out);

#ifdef __cplusplus
}
#endif

#endif /* STARPOOL_POOL_H */
