/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Blocks of a pool: allocate, free, ask. */
#ifndef STARPOOL_BLOCK_H
#define STARPOOL_BLOCK_H

#include <starpool/base.h>
#include <starpool/stream.h>

#ifdef __cplusplus
extern "C" {
#endif

struct starpool_pool; /* opaque; made by starpool_pool_create(), see starpool/pool.h */

/**
 * Allocate memory in stream order.
 *
 * Work that `stream` is given after this call may use the block; another stream may once it is
 * ordered after a point of `stream` that was recorded after this call, and the host once
 * `stream` has executed so far (starpool_is_ready()). With STARPOOL_STREAM_HOST the block is
 * ready for the host and for every stream when the call returns. The pages of host memory have
 * been touched already, on the pool's node. What the block contains is unspecified.
 *
 * If `stream` is captured, the block becomes the graph's and no memory of the pool: each launch
 * has it at the address returned, from here to where it is freed in the capture, or until it is
 * freed after a launch. See starpool_pool_config.capture and starpool/capture.h. No capture of
 * another stream is disturbed, on whatever thread.
 *
 * A pool takes what was freed before it grows: see the flags of starpool_pool_config. It waits
 * for the driver only with STARPOOL_STREAM_HOST in a pool of the driver, or where that refuses
 * to make a stream wait (allows_internal_waits).
 *
 * @param pool     where the memory is wanted
 * @param size     [bytes] 1 up to the pool's limit; rounded up to 256 bytes, from 32 KiB on to
 *                 4 KiB; in a pool of the driver as that does
 * @param stream   from starpool_stream_create(), or a CUstream or cudaStream_t; NULL is the
 * legacy default stream, or the thread's own, see starpool/stream.h, which the driver has only
 * with a current context; or STARPOOL_STREAM_HOST
 * @param ptr_out  [address] aligned to 256 bytes, with STARPOOL_STREAM_HOST to 4 KiB from 32
 * KiB on; written only on STARPOOL_OK
 *
 * @retval STARPOOL_OK        `*ptr_out` is set
 * @retval STARPOOL_EINVAL    `pool` or `ptr_out` is NULL, `size` is 0, there is no such stream,
 * or it is one that the driver of the pool does not know
 * @retval STARPOOL_ENOMEM    the pool's limit, the address space or the commit limit
 * @retval STARPOOL_ENODE     the pool is strict and its node is full
 * @retval STARPOOL_ECGROUP   a memory control group of the process is full
 * @retval STARPOOL_EMEMLOCK  the pool is locked and the limit of locked memory is reached
 * @retval STARPOOL_ENOTSUP   `stream` is captured, and the driver does not tell into which
 * graph or has no user objects (before CUDA 12.3)
 * @retval STARPOOL_ECAPTURE_INVALIDATED  `stream` was captured, and the capture is lost
 * @retval STARPOOL_ECAPTURE_IMPLICIT     `stream` is the legacy one, which would have to wait
 * for a stream that is captured
 * @retval STARPOOL_EDRIVER   anything else of the driver; starpool_driver_error() has the
 * CUresult
 *
 * Threads: any, at once. Locks: none if the thread's cache serves it; else POOL, for a stream
 * ORDER, too, and GROWTH when the pool grows.
 * Source:  CUDA Driver API, cuMemAllocFromPoolAsync.
 */
STARPOOL_API STARPOOL_CHECK enum starpool_status
starpool_alloc(struct starpool_pool *pool, size_t size, starpool_stream stream, void **ptr_out);

/**
 * Allocate from the current pool of the stream's place: the device of a stream of the driver,
 * the location that starpool_stream_create() was given, and HOST with STARPOOL_STREAM_HOST.
 *
 * Parameters, threads and the other statuses as starpool_alloc().
 *
 * @retval STARPOOL_EDEVICE  there is no such device or NUMA node
 * @retval STARPOOL_ENOTINIT it needs a driver, and there is none
 * @retval STARPOOL_ENOTSUP  the driver has no such pool
 *
 * Source:  CUDA Driver API, cuMemAllocAsync.
 */
STARPOOL_API STARPOOL_CHECK enum starpool_status
starpool_alloc_current(size_t size, starpool_stream stream, void **ptr_out);

/**
 * Free memory in stream order.
 *
 * Work that `stream` was given before may still use the block, other work only if it is ordered
 * before. With STARPOOL_STREAM_HOST the caller vouches that nothing uses the block any more. A
 * block of the driver whose allocation has not executed is then freed in the stream of that, or
 * if the stream is gone or another thread's own, the call waits for it. The stream need not
 * be the one that the block was allocated on, nor one at all. The block goes back to the
 * pool it came from, also when another thread allocated it. A wrong address (freed before,
 * inside a block, not ours) changes nothing and is logged once with what is known of it.
 *
 * If `stream` is captured, a block that the capture allocated is freed in the graph. Of a block
 * that it did not allocate starpool_pool_config.captured_free says what becomes; by default it
 * is free when the graph, its executables and their launches are gone. What is then expected of
 * work that uses it outside of the graph is that it is over.
 *
 * @param ptr     an address from starpool_alloc()
 * @param stream  as for starpool_alloc()
 *
 * @retval STARPOOL_OK      freed
 * @retval STARPOOL_EINVAL  `ptr` is NULL or no live block, there is no such stream, or a graph
 * has it which does not take this free; the message names the graph
 * @retval STARPOOL_ENOMEM  no memory to remember the stream; the block stays live
 * @retval STARPOOL_ENOTSUP, STARPOOL_ECAPTURE_INVALIDATED, STARPOOL_ECAPTURE_IMPLICIT
 *                          as starpool_alloc() says
 * @retval STARPOOL_ECAPTURE_UNSUPPORTED  it would take waiting for a whole context, where a
 * stream may be captured: the block's allocation has not executed, and its stream is gone or
 * captured
 * @retval STARPOOL_EDRIVER the driver refuses; the block stays live
 *
 * Threads: any, at once; not twice for one block. Locks: none if the thread's cache takes it;
 * else POOL, for a stream ORDER, too. With STARPOOL_STREAM_HOST it makes no system call, but in
 * a pool of the driver.
 * Source:  CUDA Driver API, cuMemFreeAsync.
 */
STARPOOL_API enum starpool_status starpool_free(void *ptr, starpool_stream stream);

/**
 * The pool that a live block came from.
 *
 * @param ptr       the first address of a block
 * @param pool_out  written only on STARPOOL_OK
 *
 * @retval STARPOOL_OK      `*pool_out` is set
 * @retval STARPOOL_EINVAL  `pool_out` is NULL, or `ptr` is no live block
 *
 * Threads: any, at once; the block must stay live meanwhile.
 */
STARPOOL_API STARPOOL_CHECK enum starpool_status
starpool_pool_of(const void *ptr, struct starpool_pool **pool_out);

/** Who has a block. */
enum starpool_block_owner {
    STARPOOL_OWNER_POOL,  /**< the pool: whoever allocated it frees it */
    STARPOOL_OWNER_GRAPH, /**< a captured graph: its memory comes and goes with that */
};

/** What may be done with a block. */
enum starpool_block_state {
    STARPOOL_BLOCK_LIVE,       /**< it may be used and freed */
    STARPOOL_BLOCK_KEPT,       /**< likewise; freed, it will be held for captured graphs */
    STARPOOL_BLOCK_HELD,       /**< it has been freed, and is held for captured graphs */
    STARPOOL_BLOCK_CAPTURED,   /**< each launch of the graph allocates it */
    STARPOOL_BLOCK_GRAPH_FREES /**< and frees it, too */
};

/** What is known of a live block. */
struct starpool_block_info {
    size_t struct_size;         /**< [bytes] set by the caller to sizeof(this struct) */
    struct starpool_pool *pool; /**< the pool it came from; NULL: that is no more */
    const void *base;           /**< [address] where the block begins */
    size_t size;                /**< [bytes] the block's size, rounding included */
    enum starpool_block_owner owner;
    enum starpool_block_state state;
    struct CUgraph_st *graph; /**< as it was called when it was captured; the latest that keeps
                                   it; NULL: none */
    uint64_t capture_id;      /**< of that capture, unique in the process; 0: none */
};

/**
 * Describe the live block that an address lies in.
 *
 * @param ptr       an address in a block, not only its first
 * @param info_out  [in/out] `struct_size` must be set; the rest is written only on STARPOOL_OK
 *
 * @retval STARPOOL_OK      `*info_out` is set
 * @retval STARPOOL_EINVAL  `info_out` is NULL or too small, or `ptr` lies in no live block
 *
 * Threads: any, at once; the block must stay live meanwhile. Locks: POOL.
 */
STARPOOL_API STARPOOL_CHECK enum starpool_status
starpool_block_info(const void *ptr, struct starpool_block_info *info_out);

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define starpool_alloc(pool, size, stream, ptr_out) \
    (starpool_alloc)(pool, size, starpool_stream_default(stream), ptr_out)
#define starpool_alloc_current(size, stream, ptr_out) \
    (starpool_alloc_current)(size, starpool_stream_default(stream), ptr_out)
#define starpool_free(ptr, stream) (starpool_free)(ptr, starpool_stream_default(stream))
#endif

#ifdef __cplusplus
}
#endif

#endif /* STARPOOL_BLOCK_H */
