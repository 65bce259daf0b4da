/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Queueing operations, with what they wait for: points of other streams, and what the legacy
 * stream implies. The virtual clock is reckoned here, so that it does not depend on when
 * threads run. */
#include "config.h"

#include <stdlib.h>

#include "src/model/cost.h"
#include "src/model/private.h"
#include "src/util/util.h"

/* Behind the model's lock. */
static struct {
    uint64_t host_ns; /* virtual: when what the host has waited for ended */
} queue;

bool sp_model_stream_is_blocking(const struct sp_model_stream *stream)
{
    return !stream->is_legacy && (stream->flags & SP_CU_STREAM_NON_BLOCKING) == 0;
}

struct sp_point sp_model_stream_last(const struct sp_model_stream *stream)
{
    return (struct sp_point){stream->slot, sp_model_order()->streams[stream->slot].last_seq};
}

/* ---- the virtual clock --------------------------------------------------------------- */

void sp_model_stream_not_before(struct sp_model_stream *stream, uint64_t ns)
{
    if (stream->clock_ns < ns)
        stream->clock_ns = ns;
}

void sp_model_host_not_before(uint64_t ns)
{
    if (queue.host_ns < ns)
        queue.host_ns = ns;
}

void sp_model_host_spend(uint64_t ns)
{
    queue.host_ns += ns;
}

void sp_model_queue_reset(void)
{
    queue.host_ns = 0;
}

/* ---- queueing ------------------------------------------------------------------------ */

/* Does what `stream` gets next wait for what `other` has, because one is the legacy stream? */
static bool is_implied(const struct sp_model_stream *stream,
                       const struct sp_model_stream *other)
{
    return stream->is_legacy ? sp_model_stream_is_blocking(other)
                             : sp_model_stream_is_blocking(stream) && other->is_legacy;
}

static sp_cu_result join_implied(struct sp_model_stream *stream)
{
    struct sp_order *order = sp_model_order();

    if ((stream->flags & SP_CU_STREAM_NON_BLOCKING) != 0)
        return SP_CU_SUCCESS;
    for (struct sp_model_stream *other = stream->context->streams; other != NULL;
         other = other->next) {
        if (!is_implied(stream, other) || other->n_ops == 0)
            continue;
        sp_model_stream_not_before(stream, other->clock_ns);
        if (sp_order_known(order, stream->slot, other->slot) <
                sp_model_stream_last(other).seq &&
            sp_order_join(order, stream->slot, other->slot) != STARPOOL_OK)
            return SP_CU_OUT_OF_MEMORY;
    }
    return SP_CU_SUCCESS;
}

sp_cu_result sp_model_prepare(struct sp_model_stream *stream, struct sp_point *at_out)
{
    sp_cu_result result = join_implied(stream);

    stream->route = (struct sp_model_route){.devices = 0};
    stream->touches.n = 0;
    if (result == SP_CU_SUCCESS) {
        *at_out = sp_model_stream_last(stream);
        at_out->seq++;
    }
    return result;
}

/* At most so many points does the stream's next operation wait for. */
static size_t count_waits(const struct sp_model_stream *stream,
                          const struct sp_model_gate *gate)
{
    size_t n = gate->n_points;

    for (struct sp_model_stream *other = stream->context->streams; other != NULL;
         other = other->next)
        n += is_implied(stream, other) && other->first != NULL;
    return n;
}

/* The points that an operation waits for: those given, and those implied. */
static void add_waits(struct sp_model_op *op, const struct sp_model_stream *stream,
                      const struct sp_model_gate *gate)
{
    for (size_t i = 0; i < gate->n_points; i++) {
        if (!sp_model_has_executed(gate->points[i]))
            op->waits[op->n_waits++] = gate->points[i];
    }
    for (struct sp_model_stream *other = stream->context->streams; other != NULL;
         other = other->next) {
        if (is_implied(stream, other) && other->first != NULL)
            op->waits[op->n_waits++] = sp_model_stream_last(other);
    }
}

size_t sp_model_count_streams(const struct sp_model_context *context)
{
    size_t n = 0;

    for (struct sp_model_stream *stream = context->streams; stream != NULL;
         stream = stream->next)
        n++;
    return n;
}

/* Does it touch memory of the program's that has been told of? */
static bool is_touching(const struct sp_model_op *op)
{
    return (op->run != NULL || op->poll != NULL) &&
           (op->kind == SP_OP_COPY || op->kind == SP_OP_SET || op->kind == SP_OP_KERNEL ||
            op->kind == SP_OP_VALUE);
}

bool sp_model_touch(struct sp_model_stream *stream, uint64_t memory_id)
{
    struct sp_model_touches *touches = &stream->touches;
    uint64_t *ids;

    if (touches->n == touches->room) {
        ids = realloc(touches->ids, (touches->room + 4) * sizeof(*ids));
        if (ids == NULL)
            return false;
        touches->ids = ids;
        touches->room += 4;
    }
    touches->ids[touches->n++] = memory_id;
    return true;
}

/* What was told for an operation that then was not queued is nobody's. */
static void take_touches(struct sp_model_op *op, struct sp_model_stream *stream)
{
    if (is_touching(op)) {
        op->touches = stream->touches;
        stream->touches = (struct sp_model_touches){.ids = NULL};
    }
    stream->touches.n = 0;
}

static void append(struct sp_model_stream *stream, struct sp_model_op *op, size_t bytes)
{
    sp_model_stream_not_before(stream, queue.host_ns);
    op->duration_ns =
        sp_model_duration_ns(op->kind, stream->context->device, bytes, &stream->route);
    op->queued_ns = sp_model_delay_now();
    stream->route = (struct sp_model_route){.devices = 0};
    stream->clock_ns += op->duration_ns;
    op->end_ns = stream->clock_ns;
    op->number = ++stream->n_ops;
    take_touches(op, stream);
    if (stream->last != NULL)
        stream->last->next = op;
    else
        stream->first = op;
    stream->last = op;
    sp_model_run_notify(stream);
}

static sp_cu_result submit(struct sp_model_stream *stream, enum sp_model_op_kind kind,
                           const struct sp_model_gate *gate, size_t bytes, sp_model_run_fn run,
                           void *arg, struct sp_point *at_out)
{
    size_t n_waits = count_waits(stream, gate);
    struct sp_model_op *op = calloc(1, sizeof(*op) + n_waits * sizeof(op->waits[0]));
    struct sp_point at;

    if (op == NULL || join_implied(stream) != SP_CU_SUCCESS || !sp_model_run_start(stream)) {
        free(op);
        free(arg);
        return SP_CU_OUT_OF_MEMORY;
    }
    op->kind = kind;
    op->run = run;
    op->arg = arg;
    op->poll = gate->poll;
    add_waits(op, stream, gate);
    at = sp_order_submit(sp_model_order(), stream->slot);
    op->seq = at.seq;
    append(stream, op, bytes);
    if (at_out != NULL)
        *at_out = at;
    return SP_CU_SUCCESS;
}

sp_cu_result sp_model_submit(struct sp_model_stream *stream, enum sp_model_op_kind kind,
                             size_t bytes, sp_model_run_fn run, void *arg,
                             struct sp_point *at_out)
{
    return submit(stream, kind, &(struct sp_model_gate){0}, bytes, run, arg, at_out);
}

sp_cu_result sp_model_submit_gated(struct sp_model_stream *stream, enum sp_model_op_kind kind,
                                   const struct sp_model_gate *gate, sp_model_run_fn run,
                                   void *arg, struct sp_point *at_out)
{
    return submit(stream, kind, gate, 0, run, arg, at_out);
}

/* When the operation at a point ends; 0 if it has executed. */
static uint64_t clock_at(struct sp_point point)
{
    for (struct sp_model_context *context = sp_model_contexts(); context != NULL;
         context = context->next) {
        for (struct sp_model_stream *stream = context->streams; stream != NULL;
             stream = stream->next) {
            for (struct sp_model_op *op = stream->first;
                 op != NULL && stream->slot == point.slot; op = op->next) {
                if (op->seq >= point.seq)
                    return op->end_ns;
            }
        }
    }
    return 0;
}

sp_cu_result sp_model_stream_wait_points(struct sp_model_stream *stream,
                                         const struct sp_point *points, size_t n_points)
{
    struct sp_model_gate gate = {.points = points, .n_points = n_points};

    for (size_t i = 0; i < n_points; i++) {
        struct sp_mark mark = {.at = points[i]};

        if (sp_order_wait(sp_model_order(), stream->slot, &mark) != STARPOOL_OK)
            return SP_CU_OUT_OF_MEMORY;
        sp_model_stream_not_before(stream, clock_at(points[i]));
    }
    return sp_model_submit_gated(stream, SP_OP_WAIT, &gate, NULL, NULL, NULL);
}

sp_cu_result sp_model_stream_follow(struct sp_model_stream *stream,
                                    const struct sp_model_stream *other)
{
    struct sp_point last = sp_model_stream_last(other);
    struct sp_model_gate gate = {.points = &last, .n_points = 1};

    if (other->n_ops == 0)
        return SP_CU_SUCCESS;
    if (sp_order_join(sp_model_order(), stream->slot, other->slot) != STARPOOL_OK)
        return SP_CU_OUT_OF_MEMORY;
    sp_model_stream_not_before(stream, other->clock_ns);
    return sp_model_submit_gated(stream, SP_OP_WAIT, &gate, NULL, NULL, NULL);
}
