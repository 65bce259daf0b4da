/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Makes graphs by playing a capture: every stream knows its last node and, of each other
 * stream, up to which operation it has waited for it. */
#include "config.h"

#include "bench/plan_capture.h"

#include <math.h>
#include <stdlib.h>

#include "src/util/util.h"

#define MOST_STREAMS 16
#define MOST_WAITS   64

struct live {
    uint32_t block;
    unsigned stream;
    uint32_t last_use; /* the operation of its stream */
};

struct capture {
    struct starpool_graph *graph;
    uint64_t random;
    unsigned n_streams;
    uint32_t tail[MOST_STREAMS];                  /* the last node, or SP_NO_INDEX */
    uint32_t now[MOST_STREAMS];                   /* operations done */
    uint32_t known[MOST_STREAMS][MOST_STREAMS];   /* [a][b] operations of b that a waited for */
    uint32_t waits_for[MOST_STREAMS][MOST_WAITS]; /* nodes that a's next one comes after */
    unsigned n_waits[MOST_STREAMS];
    struct live *live;
    uint32_t n_live;
    bool is_ok; /* no memory has been missing so far */
};

/* 0 if there is nothing below the bound. */
static uint32_t random_below(struct capture *capture, uint32_t bound)
{
    return bound == 0 ? 0 : (uint32_t)(sp_random(&capture->random) % bound);
}

/* 512 bytes to 16 MiB, log-uniform. */
static uint64_t random_size(struct capture *capture)
{
    double part = (double)(sp_random(&capture->random) >> 11) / (double)(UINT64_C(1) << 53);

    return (uint64_t)(512 * pow(32768, part));
}

static uint32_t add_node(struct capture *capture, unsigned stream,
                         enum starpool_graph_node_kind kind)
{
    uint32_t node = sp_graph_add_node(capture->graph, kind, NULL);

    capture->is_ok &= node != SP_NO_INDEX;
    if (capture->tail[stream] != SP_NO_INDEX)
        capture->is_ok &= sp_graph_add_edge(capture->graph, capture->tail[stream], node);
    for (unsigned i = 0; i < capture->n_waits[stream]; i++)
        capture->is_ok &=
            sp_graph_add_edge(capture->graph, capture->waits_for[stream][i], node);
    capture->n_waits[stream] = 0;
    capture->tail[stream] = node;
    capture->now[stream]++;
    return node;
}

/* What the other stream itself waits for, and has had no node for yet, comes along. */
static void join(struct capture *capture, unsigned stream)
{
    unsigned other = random_below(capture, capture->n_streams);
    uint32_t *waits = capture->waits_for[stream];

    if (other == stream || capture->tail[other] == SP_NO_INDEX ||
        capture->n_waits[stream] + capture->n_waits[other] >= MOST_WAITS)
        return;
    waits[capture->n_waits[stream]++] = capture->tail[other];
    for (unsigned i = 0; i < capture->n_waits[other]; i++)
        waits[capture->n_waits[stream]++] = capture->waits_for[other][i];
    capture->known[stream][other] = capture->now[other];
    for (unsigned s = 0; s < capture->n_streams; s++) {
        if (capture->known[stream][s] < capture->known[other][s])
            capture->known[stream][s] = capture->known[other][s];
    }
}

static void allocate(struct capture *capture, unsigned stream)
{
    struct sp_graph_block block = {
        .size = random_size(capture),
        .alignment = 512,
        .location = {STARPOOL_DEVICE, 0},
        .alloc = add_node(capture, stream, STARPOOL_GRAPH_NODE_ALLOC),
        .free = SP_NO_INDEX,
        .is_output = true,
    };
    uint32_t index = sp_graph_add_block(capture->graph, &block);

    capture->is_ok &= index != SP_NO_INDEX;
    capture->live[capture->n_live++] =
        (struct live){.block = index, .stream = stream, .last_use = capture->now[stream]};
}

static void release(struct capture *capture)
{
    uint32_t which = random_below(capture, capture->n_live);
    struct live live = capture->live[which];
    unsigned stream = live.stream, other = random_below(capture, capture->n_streams);
    struct sp_graph_block *block = &capture->graph->blocks[live.block];

    if (sp_random(&capture->random) % 2 == 0 && capture->known[other][stream] >= live.last_use)
        stream = other;
    block->free = add_node(capture, stream, STARPOOL_GRAPH_NODE_FREE);
    block->is_output = false;
    capture->live[which] = capture->live[--capture->n_live];
}

static void run_kernel(struct capture *capture, unsigned stream)
{
    uint32_t node = add_node(capture, stream, STARPOOL_GRAPH_NODE_KERNEL);
    struct live *live;

    if (capture->n_live == 0)
        return;
    live = &capture->live[random_below(capture, capture->n_live)];
    if (live->stream != stream)
        return;
    live->last_use = capture->now[stream];
    capture->is_ok &= sp_graph_add_use(capture->graph, live->block, node);
}

static struct starpool_graph *finish(struct capture *capture)
{
    free(capture->live);
    if (capture->is_ok)
        return capture->graph;
    sp_graph_destroy(capture->graph);
    return NULL;
}

static bool begin(struct capture *capture, unsigned n_streams, uint32_t most_live,
                  uint64_t seed)
{
    *capture = (struct capture){.random = seed, .n_streams = n_streams};
    capture->graph = sp_graph_create("capture");
    capture->live = calloc((size_t)most_live + 1, sizeof(*capture->live));
    capture->is_ok = capture->graph != NULL && capture->live != NULL && n_streams > 0 &&
                     n_streams <= MOST_STREAMS;
    for (unsigned s = 0; s < MOST_STREAMS; s++)
        capture->tail[s] = SP_NO_INDEX;
    return capture->is_ok;
}

struct starpool_graph *sp_bench_capture(unsigned n_streams, uint32_t n_operations,
                                        uint64_t seed)
{
    struct capture capture;

    if (!begin(&capture, n_streams, n_operations, seed))
        return finish(&capture);
    for (uint32_t i = 0; i < n_operations && capture.is_ok; i++) {
        unsigned stream = random_below(&capture, n_streams);
        uint32_t kind = random_below(&capture, 10);

        if (kind == 0)
            join(&capture, stream);
        else if (kind == 1)
            allocate(&capture, stream);
        else if (kind == 2 && capture.n_live > 0)
            release(&capture);
        else
            run_kernel(&capture, stream);
    }
    return finish(&capture);
}

struct starpool_graph *sp_bench_branches(unsigned n_branches, uint32_t n_blocks, uint64_t seed)
{
    struct capture capture;
    uint32_t root, n = 0;

    if (!begin(&capture, n_branches, n_blocks, seed))
        return finish(&capture);
    root = sp_graph_add_node(capture.graph, STARPOOL_GRAPH_NODE_EMPTY, "fork");
    for (unsigned s = 0; s < n_branches; s++)
        capture.tail[s] = root;
    while (capture.is_ok && (n < n_blocks || capture.n_live > 0)) {
        /* Some tens of blocks are live in each branch, whatever their number in all. */
        if (n < n_blocks && random_below(&capture, 40 * n_branches) >= capture.n_live) {
            allocate(&capture, random_below(&capture, n_branches));
            n++;
        } else {
            release(&capture);
        }
    }
    root = sp_graph_add_node(capture.graph, STARPOOL_GRAPH_NODE_EMPTY, "join");
    for (unsigned s = 0; s < n_branches; s++)
        capture.is_ok &= sp_graph_add_edge(capture.graph, capture.tail[s], root);
    return finish(&capture);
}
