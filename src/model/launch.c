/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Launches. One is a sequence of operations of its stream, a node's after those that it depends
 * on: one of the orders that the graph allows, where a device may execute branches at the same
 * time. Children and the bodies that conditions choose are executed in place. What a launch
 * allocates and frees counts from the call on, as the host's order has it; whatever it may be
 * refused for is looked at before anything is queued.
 */
#include "config.h"

#include <stdlib.h>

#include "src/model/capture.h"
#include "src/model/cost.h"
#include "src/model/event.h"
#include "src/model/exec.h"
#include "src/model/kernels.h"
#include "src/model/protect.h"
#include "src/util/util.h"

/* A launch that is being queued. */
struct launch {
    struct sp_model_exec *exec;
    struct sp_model_stream *stream;
};

/* What the last operation of a launch needs to know. */
struct landing {
    struct sp_model_exec *exec;
};

/* ---- may it be launched? ------------------------------------------------------------- */

static bool frees_itself(const struct sp_model_exec *exec)
{
    return (exec->flags & SP_CU_INSTANTIATE_AUTO_FREE_ON_LAUNCH) != 0;
}

static void mark_places(const struct sp_model_exec *exec, bool is_launching)
{
    for (size_t i = 0; i < exec->n_places; i++)
        exec->places[i].segment->is_launching = is_launching;
}

/* What an earlier launch has left must have been freed, unless this one does it (GNODE-18, 20).
 */
static sp_cu_result check_allocs(const struct sp_model_exec *exec)
{
    for (size_t i = 0; i < exec->n_places; i++) {
        if (exec->places[i].segment->live != NULL && !frees_itself(exec))
            return SP_CU_INVALID_VALUE;
    }
    return SP_CU_SUCCESS;
}

/* Another graph's allocation can be freed while it is live (GNODE-34). */
static sp_cu_result check_free(const struct sp_model_alloc *alloc)
{
    bool is_dead = !alloc->segment->is_launching && alloc->segment->live != alloc;

    return is_dead && sp_model_switch(SP_SWITCH_graph_free_dead) == 0 ? SP_CU_INVALID_VALUE
                                                                      : SP_CU_SUCCESS;
}

static sp_cu_result check_step(struct sp_model_step *step, void *arg)
{
    (void)arg;
    switch (step->work.type) {
    case SP_CU_NODE_KERNEL:
        return sp_model_kernel_check(step->work.kernel);
    case SP_CU_NODE_MEM_FREE:
        return check_free(step->work.alloc);
    case SP_CU_NODE_WAIT_EVENT:
    case SP_CU_NODE_EVENT_RECORD:
        return sp_model_event_find(step->work.event) == NULL ? SP_CU_INVALID_VALUE
                                                             : SP_CU_SUCCESS;
    default:
        return SP_CU_SUCCESS;
    }
}

/* What a node sets, or copies as a device's, was the model's: if it is not now, it has been
 * freed. */
static bool is_freed(const struct sp_model_work *work, bool is_source)
{
    struct sp_model_extent extent = sp_model_step_extent(work, is_source);
    int type = SP_CU_MEMORY_TYPE_UNIFIED;

    if (work->type == SP_CU_NODE_MEMSET)
        type = SP_CU_MEMORY_TYPE_DEVICE;
    else if (work->type == SP_CU_NODE_MEMCPY)
        type = is_source ? work->copy.copy.source_type : work->copy.copy.target_type;
    return type == SP_CU_MEMORY_TYPE_DEVICE && extent.size > 0 &&
           sp_model_memory_is_pageable(extent.address, extent.size);
}

/* Memory is attached. */
static sp_cu_result check_uses(struct sp_model_step *step, void *arg)
{
    const struct launch *launch = arg;
    struct sp_model_extent source = sp_model_step_extent(&step->work, true),
                           target = sp_model_step_extent(&step->work, false);
    sp_cu_result result = SP_CU_SUCCESS;

    if (is_freed(&step->work, true) || is_freed(&step->work, false))
        return SP_CU_INVALID_VALUE;
    if (source.size > 0)
        result = sp_model_can_use(launch->stream, source.address, source.size);
    if (result == SP_CU_SUCCESS && target.size > 0)
        result = sp_model_can_use(launch->stream, target.address, target.size);
    return result;
}

/* ---- its steps ----------------------------------------------------------------------- */

static sp_cu_result submit_alloc(struct sp_model_stream *stream, struct sp_model_alloc *alloc)
{
    struct sp_model_alloc **live = &alloc->segment->live;
    struct sp_point at;
    sp_cu_result result = sp_model_submit(stream, SP_OP_ALLOC, 0, NULL, NULL, &at);

    if (result != SP_CU_SUCCESS)
        return result;
    /* Two that take turns may both be there if a free is not ordered after its allocation
     * (GNODE-10): then the later one has the addresses. */
    if (*live != NULL)
        sp_model_alloc_end(*live, stream, at);
    sp_model_alloc_begin(alloc, at);
    return SP_CU_SUCCESS;
}

static sp_cu_result submit_free(struct sp_model_stream *stream, struct sp_model_alloc *alloc)
{
    bool is_live = alloc->segment->live == alloc;
    struct sp_point at;
    sp_cu_result result = sp_model_submit_free(stream, alloc->block, alloc->allocated_at,
                                               alloc->segment->memory.base,
                                               is_live ? alloc->params.size : 0, &at);

    if (result == SP_CU_SUCCESS && is_live)
        sp_model_alloc_end(alloc, stream, at);
    return result;
}

/* Of the executable's own allocations the order of the graph has been looked at. */
static sp_cu_result use(struct sp_model_stream *stream, struct sp_point at,
                        struct sp_model_extent extent, enum sp_model_use_kind kind)
{
    struct sp_model_segment *segment = sp_model_segment_find(extent.address);

    if (segment == NULL || !segment->is_launching)
        return sp_model_use_as(stream, at, extent.address, extent.size, kind);
    sp_model_segment_use(segment, at);
    sp_model_cost_use(stream, extent.address);
    sp_model_races_use(stream, at, extent.address, extent.size, kind);
    return SP_CU_SUCCESS;
}

/* What a node does to its target. */
static enum sp_model_use_kind kind_of(const struct sp_model_work *work)
{
    if (work->type == SP_CU_NODE_MEMCPY)
        return SP_USE_COPY_WRITE;
    return work->type == SP_CU_NODE_MEMSET ? SP_USE_SET : SP_USE_VALUE;
}

/* What the device does not reach makes the kernel fail when it is executed. */
static sp_cu_result use_of_kernel(struct sp_model_stream *stream, struct sp_point at,
                                  const struct sp_model_kernel *kernel)
{
    struct sp_model_extent extent;
    sp_cu_result result = SP_CU_SUCCESS;

    for (size_t i = 0; result == SP_CU_SUCCESS &&
                       sp_model_kernel_range(kernel, i, &extent.address, &extent.size);
         i++) {
        if (extent.size > 0 &&
            sp_model_can_use(stream, extent.address, extent.size) == SP_CU_SUCCESS)
            result = use(stream, at, extent, SP_USE_KERNEL);
    }
    return result;
}

static sp_cu_result use_all(struct sp_model_stream *stream, const struct sp_model_work *work)
{
    struct sp_model_extent source = sp_model_step_extent(work, true),
                           target = sp_model_step_extent(work, false);
    struct sp_point at;
    sp_cu_result result = sp_model_prepare(stream, &at);

    if (result == SP_CU_SUCCESS && work->type == SP_CU_NODE_KERNEL)
        result = use_of_kernel(stream, at, work->kernel);
    if (result == SP_CU_SUCCESS && source.size > 0)
        result = use(stream, at, source, SP_USE_COPY_READ);
    if (result == SP_CU_SUCCESS && target.size > 0)
        result = use(stream, at, target, kind_of(work));
    return result;
}

static sp_cu_result submit_step(struct sp_model_step *step, void *arg)
{
    const struct launch *launch = arg;
    sp_cu_result result;

    if (step->work.type == SP_CU_NODE_MEM_ALLOC)
        return submit_alloc(launch->stream, step->work.alloc);
    if (step->work.type == SP_CU_NODE_MEM_FREE)
        return submit_free(launch->stream, step->work.alloc);
    result = use_all(launch->stream, &step->work);
    return result == SP_CU_SUCCESS ? sp_model_work_submit(&step->work, launch->stream) : result;
}

/* ---- before and after ---------------------------------------------------------------- */

static sp_cu_result free_left(const struct launch *launch)
{
    sp_cu_result result = SP_CU_SUCCESS;

    for (size_t i = 0; result == SP_CU_SUCCESS && i < launch->exec->n_places; i++) {
        struct sp_model_segment *segment = launch->exec->places[i].segment;

        if (segment->live != NULL)
            result = submit_free(launch->stream, segment->live);
    }
    return result;
}

static void add_wait(struct sp_clock *waits, struct sp_point point,
                     const struct sp_model_stream *stream)
{
    if (point.slot != stream->slot && !sp_model_has_executed(point))
        sp_model_uses_add(waits, point);
}

/* Its last launch, which may be in another stream (GNODE-30), and what still uses or frees the
 * memory that it is given again. */
static sp_cu_result wait_for_earlier(const struct launch *launch)
{
    const struct sp_model_exec *exec = launch->exec;
    struct sp_clock waits = {.n_points = 0};
    sp_cu_result result = SP_CU_SUCCESS;

    sp_model_races_follow(launch->stream, &exec->ended);
    add_wait(&waits, exec->last, launch->stream);
    for (size_t i = 0; i < exec->n_places; i++) {
        const struct sp_clock *pending = &exec->places[i].segment->pending;

        for (uint32_t j = 0; j < pending->n_points; j++)
            add_wait(&waits, pending->points[j], launch->stream);
    }
    if (waits.n_points > 0)
        result = sp_model_stream_wait_points(launch->stream, waits.points, waits.n_points);
    free(waits.points);
    return result;
}

static sp_cu_result run_landing(void *arg)
{
    const struct landing *landing = arg;

    sp_lock_take(sp_model_lock());
    sp_model_exec_landed(landing->exec);
    sp_lock_give(sp_model_lock());
    return SP_CU_SUCCESS;
}

/* Executed after a fault, too. */
static sp_cu_result submit_landing(const struct launch *launch)
{
    struct landing *landing = malloc(sizeof(*landing));
    struct sp_point at;
    sp_cu_result result;

    if (landing == NULL)
        return SP_CU_OUT_OF_MEMORY;
    landing->exec = launch->exec;
    result = sp_model_submit(launch->stream, SP_OP_EVENT, 0, run_landing, landing, &at);
    if (result == SP_CU_SUCCESS) {
        launch->exec->n_in_flight++;
        sp_model_exec_note_launch(launch->exec, at);
        sp_model_races_note_end(launch->stream, &launch->exec->ended);
    }
    return result;
}

/* Only memory of the process itself can be short from here on; then what is queued stays, and
 * its end is where the stream's is. */
static sp_cu_result submit_all(struct launch *launch)
{
    struct sp_model_exec *exec = launch->exec;
    sp_cu_result result = free_left(launch), landed;

    mark_places(exec, true);
    sp_model_races_launch(&exec->steps);
    if (result == SP_CU_SUCCESS)
        result = wait_for_earlier(launch);
    if (result == SP_CU_SUCCESS)
        result = sp_model_steps_execute(&exec->steps, submit_step, launch);
    mark_places(exec, false);
    landed = submit_landing(launch);
    if (landed != SP_CU_SUCCESS)
        sp_model_exec_note_launch(exec, sp_model_stream_last(launch->stream));
    return result == SP_CU_SUCCESS ? landed : result;
}

static sp_cu_result launch_now(struct launch *launch)
{
    struct sp_model_exec *exec = launch->exec;
    sp_cu_result result = check_allocs(exec);

    mark_places(exec, true);
    if (result == SP_CU_SUCCESS)
        result = sp_model_steps_execute(&exec->steps, check_step, launch);
    mark_places(exec, false);
    if (result == SP_CU_SUCCESS)
        result = sp_model_exec_attach(exec, launch->stream);
    if (result == SP_CU_SUCCESS)
        result = sp_model_steps_execute(&exec->steps, check_uses, launch);
    return result == SP_CU_SUCCESS ? submit_all(launch) : result;
}

/* ---- captured ------------------------------------------------------------------------ */

/* A child that does what the executable would. */
static sp_cu_result launch_captured(struct launch *launch)
{
    struct sp_model_work work = {.type = SP_CU_NODE_GRAPH};
    sp_cu_result result = SP_CU_NOT_SUPPORTED;

    if (launch->exec->has_memory || launch->exec->has_condition)
        return result;
    result = sp_model_steps_rebuild(&launch->exec->steps, &work.child);
    if (result == SP_CU_SUCCESS)
        (void)sp_model_capture_work(launch->stream, &work, &result);
    return result;
}

/* ---- entry points -------------------------------------------------------------------- */

static sp_cu_result find(sp_cu_exec handle, sp_cu_stream stream, struct launch *launch_out)
{
    launch_out->exec = sp_model_exec_find(handle);
    if (launch_out->exec == NULL)
        return SP_CU_INVALID_VALUE;
    return sp_model_stream_get(stream, &launch_out->stream);
}

static sp_cu_result launch_locked(sp_cu_exec exec, sp_cu_stream stream)
{
    struct launch launch;
    sp_cu_result result = find(exec, stream, &launch);

    if (result != SP_CU_SUCCESS)
        return result;
    if (launch.stream->member != NULL)
        return launch_captured(&launch);
    result = sp_model_capture_implicit(launch.stream);
    return result == SP_CU_SUCCESS ? launch_now(&launch) : result;
}

sp_cu_result sp_model_cuGraphLaunch(sp_cu_exec exec, sp_cu_stream stream)
{
    SP_MODEL_ENTER(cuGraphLaunch);
    return sp_model_leave(launch_locked(exec, stream));
}

/* Its place in the stream is that of an operation that does nothing, after the executable's
 * launches. */
sp_cu_result sp_model_exec_upload(struct sp_model_exec *exec, struct sp_model_stream *stream)
{
    struct launch launch = {exec, stream};
    sp_cu_result result = sp_model_capture_forbid(stream);

    if (result == SP_CU_SUCCESS)
        result = sp_model_exec_attach(exec, stream);
    if (result == SP_CU_SUCCESS)
        result = wait_for_earlier(&launch);
    return result == SP_CU_SUCCESS ? sp_model_submit(stream, SP_OP_EVENT, 0, NULL, NULL, NULL)
                                   : result;
}

static sp_cu_result upload_locked(sp_cu_exec exec, sp_cu_stream stream)
{
    struct launch launch;
    sp_cu_result result = find(exec, stream, &launch);

    return result == SP_CU_SUCCESS ? sp_model_exec_upload(launch.exec, launch.stream) : result;
}

sp_cu_result sp_model_cuGraphUpload(sp_cu_exec exec, sp_cu_stream stream)
{
    SP_MODEL_ENTER(cuGraphUpload);
    return sp_model_leave(upload_locked(exec, stream));
}
