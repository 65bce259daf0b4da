/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the nodes of launches do: copies and memsets of rows, functions, values, events. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/model/event.h"
#include "src/model/exec.h"
#include "src/util/util.h"

/* One side of a copy. */
struct side {
    uintptr_t base;
    size_t offset; /* [bytes] of the first byte */
    size_t pitch;  /* [bytes] from a row to the next */
    size_t slice;  /* [bytes] from a slice to the next */
};

static struct side source_of(const struct sp_cu_memcpy3d *copy)
{
    size_t slice = copy->source_pitch * copy->source_height;

    return (struct side){
        .base = copy->source_type == SP_CU_MEMORY_TYPE_HOST ? (uintptr_t)copy->source_host
                                                            : (uintptr_t)copy->source_device,
        .offset =
            copy->source_x_bytes + copy->source_y * copy->source_pitch + copy->source_z * slice,
        .pitch = copy->source_pitch,
        .slice = slice,
    };
}

static struct side target_of(const struct sp_cu_memcpy3d *copy)
{
    size_t slice = copy->target_pitch * copy->target_height;

    return (struct side){
        .base = copy->target_type == SP_CU_MEMORY_TYPE_HOST ? (uintptr_t)copy->target_host
                                                            : (uintptr_t)copy->target_device,
        .offset =
            copy->target_x_bytes + copy->target_y * copy->target_pitch + copy->target_z * slice,
        .pitch = copy->target_pitch,
        .slice = slice,
    };
}

/* ---- what is used --------------------------------------------------------------------------
 */

/* From the first byte to the last. */
static struct sp_model_extent extent_of_copy(const struct sp_cu_memcpy3d *copy, bool is_source)
{
    struct side side = is_source ? source_of(copy) : target_of(copy);

    return (struct sp_model_extent){
        .address = side.base + side.offset,
        .size = (copy->depth - 1) * side.slice + (copy->height - 1) * side.pitch +
                copy->width_bytes,
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

/* ---- executing -----------------------------------------------------------------------------
 */

static sp_cu_result run_copy(void *arg)
{
    const struct sp_cu_memcpy3d *copy = arg;
    struct side source = source_of(copy), target = target_of(copy);

    for (size_t z = 0; z < copy->depth; z++) {
        for (size_t y = 0; y < copy->height; y++)
            memmove((char *)target.base + target.offset + z * target.slice + y * target.pitch,
                    (const char *)source.base + source.offset + z * source.slice +
                        y * source.pitch,
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

/* ---- queueing ------------------------------------------------------------------------------
 */

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
