/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the nodes of launches do: kernels, copies and memsets of rows, functions, values,
 * events.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/model/event.h"
#include "src/model/exec.h"
#include "src/model/kernels.h"
#include "src/util/util.h"

/* ---- what is used -------------------------------------------------------------------- */

struct sp_model_extent sp_model_step_extent(const struct sp_model_work *work, bool is_source)
{
    if (work->type == SP_CU_NODE_MEMCPY)
        return sp_model_copy_extent(&work->copy.copy, is_source);
    if (work->type == SP_CU_NODE_MEMSET && !is_source)
        return sp_model_set_extent(&work->set.params);
    if (work->type == SP_CU_NODE_BATCH_MEM_OP && !is_source)
        return (struct sp_model_extent){(uintptr_t)work->value.address,
                                        work->value.is_wide ? 8 : 4};
    return (struct sp_model_extent){.size = 0};
}

/* ---- executing ----------------------------------------------------------------------- */

static sp_cu_result run_copy(void *arg)
{
    sp_model_copy_run(arg);
    return SP_CU_SUCCESS;
}

static sp_cu_result run_set(void *arg)
{
    sp_model_set_run(arg);
    return SP_CU_SUCCESS;
}

static sp_cu_result run_host(void *arg)
{
    const struct sp_cu_host_params *host = arg;

    host->call(host->arg);
    return SP_CU_SUCCESS;
}

/* ---- queueing ------------------------------------------------------------------------ */

/* An operation with a copy of its parameters. */
static sp_cu_result submit(struct sp_model_stream *stream, enum sp_model_op_kind kind,
                           size_t bytes, sp_model_run_fn run, const void *params, size_t size)
{
    void *arg = malloc(size);

    if (arg == NULL)
        return SP_CU_OUT_OF_MEMORY;
    memcpy(arg, params, size);
    return sp_model_submit(stream, kind, bytes, run, arg, NULL);
}

static sp_cu_result submit_copy(struct sp_model_stream *stream,
                                const struct sp_cu_memcpy3d *copy)
{
    return submit(stream, SP_OP_COPY, copy->width_bytes * copy->height * copy->depth, run_copy,
                  copy, sizeof(*copy));
}

static sp_cu_result submit_set(struct sp_model_stream *stream,
                               const struct sp_cu_memset_params *set)
{
    return submit(stream, SP_OP_SET, set->width * set->element_size * set->height, run_set, set,
                  sizeof(*set));
}

/* The event exists: that has been checked for all of the launch. */
static sp_cu_result submit_event(struct sp_model_stream *stream,
                                 const struct sp_model_work *work)
{
    struct sp_model_event *event = sp_model_event_find(work->event);

    return work->type == SP_CU_NODE_EVENT_RECORD ? sp_model_event_record(event, stream)
                                                 : sp_model_event_await(event, stream);
}

sp_cu_result sp_model_work_submit(const struct sp_model_work *work,
                                  struct sp_model_stream *stream)
{
    switch (work->type) {
    case SP_CU_NODE_KERNEL:
        return sp_model_kernel_submit(work->kernel, stream);
    case SP_CU_NODE_MEMCPY:
        return submit_copy(stream, &work->copy.copy);
    case SP_CU_NODE_MEMSET:
        return submit_set(stream, &work->set.params);
    case SP_CU_NODE_HOST:
        return submit(stream, SP_OP_HOST_FUNCTION, 0, run_host, &work->host,
                      sizeof(work->host));
    case SP_CU_NODE_WAIT_EVENT:
    case SP_CU_NODE_EVENT_RECORD:
        return submit_event(stream, work);
    case SP_CU_NODE_BATCH_MEM_OP:
        return sp_model_submit_work_value(stream, work);
    default:
        return SP_CU_SUCCESS;
    }
}
