/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Streams: for pools without a driver, and for order in general.
 *
 * In what is compiled with CUDA_API_PER_THREAD_DEFAULT_STREAM, NULL in place of a stream means
 * STARPOOL_STREAM_PER_THREAD, as it does in CUDA; macros of the functions' names see to that.
 *
 * A stream that is captured is asked for nothing here, because that would end the capture: the
 * answer is STARPOOL_ECAPTURE_UNSUPPORTED, STARPOOL_ECAPTURE_INVALIDATED if the capture is
 * lost, and STARPOOL_ECAPTURE_IMPLICIT about the legacy stream while one is captured that it
 * would wait for. See starpool/capture.h.
 */
#ifndef STARPOOL_STREAM_H
#define STARPOOL_STREAM_H

#include <starpool/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What NULL means in place of a stream, in what is compiled with
 * CUDA_API_PER_THREAD_DEFAULT_STREAM; any other stream is itself. */
static inline starpool_stream starpool_stream_default(starpool_stream stream)
{
    return stream == NULL ? STARPOOL_STREAM_PER_THREAD : stream;
}

/**
 * Make a stream that needs no driver: a sequence of operations that execute when somebody waits
 * for them.
 *
 * @param location    DEVICE, HOST or HOST_NUMA: whose current pool starpool_alloc_current()
 * takes
 * @param stream_out  written only on STARPOOL_OK
 *
 * @retval STARPOOL_OK      `*stream_out` is set
 * @retval STARPOOL_EINVAL  `stream_out` is NULL, or no such kind
 * @retval STARPOOL_ENOMEM  no memory for the stream's own data
 *
 * Threads: any, at once. Locks: ORDER.
 */
STARPOOL_API STARPOOL_CHECK enum starpool_status
starpool_stream_create(struct starpool_location location, starpool_stream *stream_out);

/**
 * Give up a stream. What it was given executes; blocks that were allocated or freed on it stay
 * as they are, and its order does not pass to a later stream, also where that gets the same
 * handle.
 *
 * @param stream  from starpool_stream_create(); NULL is left alone
 *
 * Threads: any; not while another thread uses the handle. Locks: ORDER.
 */
STARPOOL_API void starpool_stream_destroy(starpool_stream stream);

/**
 * Wait until everything submitted to a stream has executed. Frees in it are reclaimed, and
 * pools release what is beyond their thresholds.
 *
 * @param stream  from starpool_stream_create(), or one of the driver, also NULL and CUDA's
 * other special streams; not STARPOOL_STREAM_HOST
 *
 * @retval STARPOOL_OK      done
 * @retval STARPOOL_EINVAL  no such stream
 * @retval STARPOOL_ENOMEM  no memory to keep what has been waited for
 * @retval STARPOOL_EDRIVER the driver's stream reports an error; see starpool_driver_error()
 *
 * Threads: any, at once. Locks: ORDER; POOL of pools with frees in the stream.
 * Source:  CUDA Driver API, cuStreamSynchronize.
 */
STARPOOL_API STARPOOL_CHECK enum starpool_status
starpool_stream_synchronize(starpool_stream stream);

/**
 * Ask whether everything submitted to a stream has executed.
 *
 * @param stream  as for starpool_stream_synchronize()
 *
 * @retval STARPOOL_OK        it has
 * @retval STARPOOL_ENOTREADY it has not
 * @retval STARPOOL_EINVAL    no such stream
 * @retval STARPOOL_ENOMEM    no memory to keep what has executed
 * @retval STARPOOL_EDRIVER   the driver's stream reports an error
 *
 * Threads: any, at once. Locks: ORDER.
 * Source:  CUDA Driver API, cuStreamQuery.
 */
STARPOOL_API STARPOOL_CHECK enum starpool_status starpool_stream_query(starpool_stream stream);

/**
 * A point in a stream that covers everything submitted to it before.
 *
 * @param stream     the stream
 * @param point_out  written only on STARPOOL_OK; never 0, and rising
 *
 * @retval STARPOOL_OK      `*point_out` is set
 * @retval STARPOOL_EINVAL  no such stream, or `point_out` is NULL
 * @retval STARPOOL_ENOMEM  no memory to keep it
 * @retval STARPOOL_EDRIVER the driver refuses
 *
 * Threads: any, at once. Locks: ORDER.
 */
STARPOOL_API STARPOOL_CHECK enum starpool_status starpool_stream_record(starpool_stream stream,
                                                                        uint64_t *point_out);

/**
 * Order a stream after a point of another: what it gets from now on comes after it. A stream of
 * the driver is made to wait by an event; one of our own that it waits for is executed first.
 *
 * @param stream  the stream that waits
 * @param other   the stream that the point is of
 * @param point   from starpool_stream_record() of `other`
 *
 * @retval STARPOOL_OK      done
 * @retval STARPOOL_EINVAL  no such stream, or no such point
 * @retval STARPOOL_ENOMEM  no memory to keep it
 * @retval STARPOOL_EDRIVER the driver refuses the wait
 *
 * Threads: any, at once. Locks: ORDER.
 * Source:  CUDA Driver API, cuStreamWaitEvent.
 */
STARPOOL_API STARPOOL_CHECK enum starpool_status
starpool_stream_wait(starpool_stream stream, starpool_stream other, uint64_t point);

/**
 * Whether the stream that a block was allocated on has executed past the allocation.
 *
 * @param ptr  [address] the block's own address
 * @return     true if the block is live and may be used by the host
 *
 * Threads: any, at once. Locks: POOL, ORDER.
 */
STARPOOL_API bool starpool_is_ready(const void *ptr);

/**
 * Whether a stream that was ordered after a point of the allocating stream may use a block.
 * It asks for order and not for execution.
 *
 * @param ptr       [address] the block's own address
 * @param consumer  the stream that wants to use it
 * @param point     a point of the stream that the block was allocated on; not looked at if
 *                  `consumer` is that stream
 * @return          true if the block is live and the point is at or after its allocation
 *
 * Threads: any, at once. Locks: POOL, ORDER.
 */
STARPOOL_API bool starpool_is_ready_on(const void *ptr, starpool_stream consumer,
                                       uint64_t point);

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define starpool_stream_synchronize(stream) \
    (starpool_stream_synchronize)(starpool_stream_default(stream))
#define starpool_stream_query(stream) (starpool_stream_query)(starpool_stream_default(stream))
#define starpool_stream_record(stream, point_out) \
    (starpool_stream_record)(starpool_stream_default(stream), point_out)
#define starpool_stream_wait(stream, other, point)                                          \
    (starpool_stream_wait)(starpool_stream_default(stream), starpool_stream_default(other), \
                           point)
#define starpool_is_ready_on(ptr, consumer, point) \
    (starpool_is_ready_on)(ptr, starpool_stream_default(consumer), point)
#endif

#ifdef __cplusplus
}
#endif

#endif /* STARPOOL_STREAM_H */
