/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Words that all of starpool shares: statuses, streams, locations. */
#ifndef STARPOOL_BASE_H
#define STARPOOL_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define STARPOOL_API   __attribute__((visibility("default")))
#define STARPOOL_CHECK __attribute__((warn_unused_result))
#else
#define STARPOOL_API
#define STARPOOL_CHECK
#endif

/**
 * Every status, once: name, value, one sentence.
 *
 * 0 is success, everything else is negative; one value for each cause that a caller can act
 * on.
 */
#define STARPOOL_STATUS_MAP(X)                                                             \
    X(OK, 0, "done")                                                                       \
    X(EINVAL, -1, "an argument is not valid")                                              \
    X(ENOMEM, -2, "the pool's limit, the address space or the commit limit is exhausted")  \
    X(ENODE, -3, "the NUMA node has no room left")                                         \
    X(ECGROUP, -4, "a memory control group of the process has no room left")               \
    X(EMEMLOCK, -5, "locking was asked for and the limit of locked memory is too small")   \
    X(EDEVICE, -6, "there is no such device or NUMA node")                                 \
    X(ENOTINIT, -7, "what is needed has not been started, or has been shut down")          \
    X(ENOTSUP, -8, "this machine, driver or build does not offer it")                      \
    X(ENOTPERM, -9, "the system refuses it to this process")                               \
    X(EBUSY, -10, "it is in use")                                                          \
    X(EIO, -11, "a file could not be read or written")                                     \
    X(ENOTREADY, -12, "it has not finished yet")                                           \
    X(EDRIVER, -13, "the driver reports an error; starpool_driver_error() has its number") \
    X(ECAPTURE_UNSUPPORTED, -14, "not allowed while a stream is captured")                 \
    X(ECAPTURE_INVALIDATED, -15, "the capture of the stream has been invalidated")         \
    X(ECAPTURE_MERGE, -16, "it would merge two captures")                                  \
    X(ECAPTURE_UNMATCHED, -17, "the capture was not begun on this stream")                 \
    X(ECAPTURE_UNJOINED, -18, "a stream of the capture has not been joined back")          \
    X(ECAPTURE_ISOLATION, -19, "it depends on work outside the capture")                   \
    X(ECAPTURE_IMPLICIT, -20, "the legacy stream would depend on a capture")               \
    X(ECAPTURED_EVENT, -21, "the event was recorded in a capture")                         \
    X(ECAPTURE_WRONG_THREAD, -22, "the capture was begun by another thread")

/** What a call of starpool answers; see STARPOOL_STATUS_MAP. */
enum starpool_status {
#define STARPOOL_STATUS_ENUM(name, value, text) STARPOOL_##name = value,
    STARPOOL_STATUS_MAP(STARPOOL_STATUS_ENUM)
#undef STARPOOL_STATUS_ENUM
};

/**
 * The short name of a status, such as "ENOMEM".
 *
 * @param status  any value
 * @return        a constant string; "unknown" for a value that is no status
 *
 * Threads: any, at once.
 */
STARPOOL_API const char *starpool_status_name(enum starpool_status status);

/**
 * One sentence that says what a status means.
 *
 * @param status  any value
 * @return        a constant string without a full stop
 *
 * Threads: any, at once.
 */
STARPOOL_API const char *starpool_status_text(enum starpool_status status);

/**
 * A stream: a CUstream or a cudaStream_t passes without a cast.
 */
typedef struct CUstream_st *starpool_stream;

/** An event: a CUevent or a cudaEvent_t passes without a cast. */
typedef struct CUevent_st *starpool_event;

/**
 * Ordered by the host: a block is ready for every stream when the call returns, and idle when
 * it is freed.
 *
 * The value is no address that a driver hands out: 0, 1 and 2 are CUDA's own special streams.
 */
#define STARPOOL_STREAM_HOST ((starpool_stream)(uintptr_t) ~(uintptr_t)0)

/** CUDA's special streams, as the driver names them; NULL is the legacy one, but in what is
 * compiled with CUDA_API_PER_THREAD_DEFAULT_STREAM, where it is the calling thread's own. */
#define STARPOOL_STREAM_LEGACY     ((starpool_stream)(uintptr_t)1)
#define STARPOOL_STREAM_PER_THREAD ((starpool_stream)(uintptr_t)2)

/**
 * The last error of the driver that a call of starpool met in this thread.
 *
 * @param call_out  the name of the driver's function, "" if there was none; NULL if not wanted
 * @return          the CUresult; 0 if there was none
 *
 * Threads: any, at once.
 */
STARPOOL_API int starpool_driver_error(const char **call_out);

/** What kind of place memory is in. */
enum starpool_kind {
    STARPOOL_NONE,      /**< nowhere in particular */
    STARPOOL_DEVICE,    /**< the memory of a CUDA device */
    STARPOOL_HOST,      /**< the host, whatever NUMA node */
    STARPOOL_HOST_NUMA, /**< one NUMA node of the host */
};

/** In place of a NUMA node's OS index: the node nearest to the calling thread. */
#define STARPOOL_ID_NEAREST (-1)

/**
 * A place for memory: a kind and which one of that kind.
 *
 * `id` is the ordinal of a device or the OS index of a NUMA node (the number in
 * /sys/devices/system/node, not hwloc's logical index); it must be 0 for the other kinds.
 */
struct starpool_location {
    enum starpool_kind kind;
    int id;
};

/** How memory belongs to its place. */
enum starpool_memory {
    STARPOOL_PINNED,  /**< it stays where it is */
    STARPOOL_MANAGED, /**< the driver migrates it */
};

#ifdef __cplusplus
}
#endif

#endif /* STARPOOL_BASE_H */
