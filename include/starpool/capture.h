/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Streams that are captured into CUDA graphs: what is known of them, and what graphs have of
 * pools. */
#ifndef STARPOOL_CAPTURE_H
#define STARPOOL_CAPTURE_H

#include <starpool/base.h>
#include <starpool/stream.h>

#ifdef __cplusplus
extern "C" {
#endif

struct starpool_graph; /* opaque; see starpool/graph.h */

/** A graph of the driver: a CUgraph or a cudaGraph_t passes without a cast. */
typedef struct CUgraph_st *starpool_cuda_graph;

/** Whether a stream is captured. */
enum starpool_capture_state {
    STARPOOL_NOT_CAPTURED,
    STARPOOL_CAPTURED,           /**< what it is given becomes nodes of a graph */
    STARPOOL_CAPTURE_INVALIDATED /**< and the graph is lost: the capture can only be ended */
};

/**
 * Ask whether a stream is captured, and into which graph. This disturbs no capture.
 *
 * @param stream     any stream; one of starpool's own and STARPOOL_STREAM_HOST never are
 * @param state_out  written only on STARPOOL_OK
 * @param graph_out  the graph under construction, which nobody may destroy and which is another
 *                   handle's when the capture is lost; NULL if it is not captured, or the
 * driver does not tell; NULL if not wanted; written only on STARPOOL_OK
 *
 * @retval STARPOOL_OK                 both are set
 * @retval STARPOOL_EINVAL             `state_out` is NULL, or there is no such stream
 * @retval STARPOOL_ECAPTURE_IMPLICIT  it is the legacy stream, and another one is captured that
 *                                     it would have to wait for
 * @retval STARPOOL_EDRIVER            the driver refuses
 *
 * Threads: any, at once. Source: CUDA Driver API, cuStreamGetCaptureInfo.
 */
STARPOOL_API STARPOOL_CHECK enum starpool_status
starpool_capture_status(starpool_stream stream, enum starpool_capture_state *state_out,
                        starpool_cuda_graph *graph_out);

/**
 * Keep a block for the graph that a stream is captured into: whoever frees it later, on a
 * stream or by the host, its memory is not used again before the graph, all its executables and
 * their launches are gone. The free itself answers STARPOOL_OK at once.
 *
 * What captured work reads or writes is not known to starpool. A block that is freed in the
 * capture is kept without this (starpool_pool_config.captured_free); one that is freed after
 * the capture, such as a block of host memory that a captured copy reads, is kept only if this
 * was called. What the capture itself allocated lives as long as the graph anyway.
 *
 * @param stream  a stream that is captured now
 * @param ptr     [address] the block's own address
 *
 * @retval STARPOOL_OK       it is kept; also if it was before
 * @retval STARPOOL_EINVAL   `stream` is not captured, `ptr` is no live block, or it is another
 *                           graph's
 * @retval STARPOOL_ENOMEM   no memory to remember it
 * @retval STARPOOL_ENOTSUP  the driver has no user objects of graphs
 * @retval STARPOOL_ECAPTURE_INVALIDATED, STARPOOL_ECAPTURE_IMPLICIT
 *                           as starpool_capture_status() says
 * @retval STARPOOL_EDRIVER  the driver refuses
 *
 * Threads: any, at once; the block must stay live meanwhile. Locks: POOL.
 * Source:  CUDA Driver API, cuUserObjectCreate, cuGraphRetainUserObject.
 */
STARPOOL_API STARPOOL_CHECK enum starpool_status starpool_graph_keep(starpool_stream stream,
                                                                     void *ptr);

/**
 * A graph of the driver as data: its nodes and edges, the blocks that it allocates and frees,
 * with their sizes, locations and addresses, and the blocks of pools that its copies and
 * memsets use. What kernels use is not known, and child graphs are one node each. Also of a
 * graph that is still being captured.
 *
 * @param graph      a CUgraph
 * @param graph_out  to be given to starpool_graph_destroy(); written only on STARPOOL_OK
 *
 * @retval STARPOOL_OK      `*graph_out` is set
 * @retval STARPOOL_EINVAL  a pointer is NULL, or there is no such graph
 * @retval STARPOOL_ENOMEM  no memory for it
 * @retval STARPOOL_ENOTINIT there is no driver
 * @retval STARPOOL_EDRIVER the driver refuses
 *
 * Threads: any, at once; the graph must not change meanwhile.
 * Source:  CUDA Driver API, cuGraphGetNodes and the queries of nodes.
 */
STARPOOL_API STARPOOL_CHECK enum starpool_status
starpool_graph_from_capture(starpool_cuda_graph graph, struct starpool_graph **graph_out);

/** What a place needs if a graph is launched: see starpool_graph_footprint(). */
struct starpool_footprint {
    struct starpool_location location;
    uint64_t graph_bytes; /**< [bytes] of allocation nodes of the graph, where addresses are
                               shared counted once; the driver rounds this up */
    uint64_t pool_bytes;  /**< [bytes] reserved by all pools there, blocks that graphs have
                               included */
    uint64_t arena_bytes; /**< [bytes] of those, in arenas of graphs */
    uint64_t held_bytes;  /**< [bytes] of those, freed and held for graphs */
    uint64_t total_bytes; /**< [bytes] graph_bytes and pool_bytes */
};

/**
 * Say before a launch what it needs: the graph's own memory and that of all pools, in one total
 * for each location that a block of the graph or a pool is in.
 *
 * Blocks without a known address, as in a graph that was read from a file, count as a plan of
 * them would need (starpool_plan()) with the nodes as they are.
 *
 * @param graph           as starpool_graph_from_capture() made it; NULL: pools only
 * @param footprints_out  [n_footprints] one a location
 * @param n_footprints    [in/out] room in `footprints_out`; set to the number of locations,
 * also where that is too small
 *
 * @retval STARPOOL_OK      both are set
 * @retval STARPOOL_EINVAL  a pointer is NULL, the room is too small, or the graph is not valid
 * @retval STARPOOL_ENOMEM  no memory for the plan
 * @retval STARPOOL_EDRIVER the driver does not say what a pool of it holds
 *
 * Threads: any, at once. Locks: REGISTRY, POOL.
 */
STARPOOL_API STARPOOL_CHECK enum starpool_status
starpool_graph_footprint(const struct starpool_graph *graph,
                         struct starpool_footprint *footprints_out, size_t *n_footprints);

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define starpool_capture_status(stream, state_out, graph_out) \
    (starpool_capture_status)(starpool_stream_default(stream), state_out, graph_out)
#define starpool_graph_keep(stream, ptr) \
    (starpool_graph_keep)(starpool_stream_default(stream), ptr)
#endif

#ifdef __cplusplus
}
#endif

#endif /* STARPOOL_CAPTURE_H */
