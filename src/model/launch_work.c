/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the nodes of launches do: copies and memsets of rows, functions, values, events. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/model/event.h"
#include "src/model/exec.h"
#include "src/util/util.h"

/* Where row y of slice z of a copy begins there. */
static uintptr_t row_of(const struct sp_model_side *side, size_t y, size_t z)
{
    size_t slice = side->pitch * side->height;

    return side->base + (side->z + z) * slice + (side->y + y) * side->pitch + side->x_bytes;
}

/* ---- what is used -------------------------------------------------------------------- */

/* From the first byte to the last. */
static struct sp_model_extent extent_of_copy(const struct sp_cu_memcpy3d *copy, bool is_source)
{
    struct sp_model_side side = sp_model_side_of(copy, is_source);
    uintptr_t first = row_of(&side, 0, 0);

    return (struct sp_model_extent){
        .address = first,
        .size = row_of(&side, copy->height - 1, copy->depth - 1) - first + copy->width_bytes,
    };
}

static struct sp_model_extent extent_of_set(const struct sp_cu_memset_params *set)
{
    return (struct sp_model_extent){
        .address = (uintptr_t)set->target,
        .size = (set->height - 1) * set->pitch + set->width * set->element_size,
    };
}

struct sp_model_extent sp_model_step_extent(const struct sp_model_work *work, bool is_source)
{
    if (work->type == SP_CU_NODE_MEMCPY)
        return extent_of_copy(&work->copy.copy, is_source);
    if (work->type == SP_CU_NODE_MEMSET && !is_source)
        return extent_of_set(&work->set.params);
    if (work->type == SP_CU_NODE_BATCH_MEM_OP && !is_source)
        return (struct sp_model_extent){(uintptr_t)work->value.address, sizeof(uint32_t)};
    return (struct sp_model_extent){.size = 0};
}

/* ---- executing ----------------------------------------------------------------------- */

static sp_cu_result run_copy(void *arg)
{
    const struct sp_cu_memcpy3d *copy = arg;
    struct sp_model_side source = sp_model_side_of(copy, true),
                         target = sp_model_side_of(copy, false);

    for (size_t z = 0; z < copy->depth; z++) {
        for (size_t y = 0; y < copy->height; y++)
            memmove((void *)row_of(&target, y, z), (const void *)row_of(&source, y, z),
                    copy->width_bytes);
    }
    return SP_CU_SUCCESS;
}

static void fill_row(char *row, const struct sp_cu_memset_params *set)
{
    uint16_t half = (uint16_t)set->value;

    if (set->element_size == 1)
        memset(row, (int)set->value, set->width);
    for (size_t i = 0; set->element_size == 2 && i < set->width; i++)
        memcpy(row + 2 * i, &half, 2);
    for (size_t i = 0; set->element_size == 4 && i < set->width; i++)
        memcpy(row + 4 * i, &set->value, 4);
}

static sp_cu_result run_set(void *arg)
{
    const struct sp_cu_memset_params *set = arg;

    for (size_t i = 0; i < set->height; i++)
        fill_row((char *)(uintptr_t)set->target + i * set->pitch, set);
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
        return sp_model_submit_value(stream, (uintptr_t)work->value.address, work->value.value,
                                     work->value.flags, work->value.is_write);
    default:
        return SP_CU_SUCCESS;
    }
}
