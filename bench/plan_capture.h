/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Graphs to plan, made as a capture makes them, or as branches. */
#ifndef SP_BENCH_PLAN_CAPTURE_H
#define SP_BENCH_PLAN_CAPTURE_H

#include <stdint.h>

#include "graph/graph.h"

/**
 * A capture of some streams, in the manner of the generator of PyTorch's pull request 158352.
 *
 * Each operation is on a random stream. One in ten makes it wait for another stream, one in ten
 * allocates (512 bytes to 16 MiB, log-uniform), one in ten frees a random live block, the rest
 * are kernels, each of which uses a live block of its stream. A block is freed on the stream
 * that it was allocated on, or, half of the times, on another that has waited for that stream
 * after the block's last use, if there is one. What is live at the end is an output.
 *
 * @return  a graph, to be destroyed; NULL without memory
 */
struct starpool_graph *sp_bench_capture(unsigned n_streams, uint32_t n_operations,
                                        uint64_t seed);

/**
 * A fork into branches that allocate and free on their own and are joined in the end; in each a
 * random walk of some tens of live blocks.
 *
 * @return  a graph, to be destroyed; NULL without memory
 */
struct starpool_graph *sp_bench_branches(unsigned n_branches, uint32_t n_blocks, uint64_t seed);

#endif /* SP_BENCH_PLAN_CAPTURE_H */
