/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Poison: device memory that has been freed, and the beginning of what is fresh, is filled, so
 * that a program which reads it finds neither its old data nor zeros. A free in a stream fills
 * when it executes: whoever has been given the memory since comes after it. Memory that plain
 * frees give back is not there any more, and needs none. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/model/blocks.h"
#include "src/model/private.h"
#include "src/model/protect.h"
#include "src/util/options.h"
#include "src/util/util.h"

struct filling {
    uintptr_t start;
    size_t size;
};

static bool is_on(uintptr_t start)
{
    return (sp_model_config()->is_protected || sp_option_number(SP_OPTION_CHECKS) >= 2) &&
           sp_model_device_of(start) >= 0;
}

static void fill(uintptr_t start, size_t size)
{
    memset(sp_model_alias(start), SP_MODEL_POISON, size);
}

void sp_model_poison_fresh(uintptr_t start, size_t size)
{
    if (is_on(start))
        fill(start, sp_min(size, SP_MODEL_POISON_FRESH));
}

void sp_model_poison_now(uintptr_t start, size_t size)
{
    if (is_on(start))
        fill(start, size);
}

static sp_cu_result run_filling(void *arg)
{
    const struct filling *filling = arg;

    fill(filling->start, filling->size);
    return SP_CU_SUCCESS;
}

/* Does the order keep the allocation and all uses before what the stream gets next? If not,
 * others may be using the memory when the free executes. */
static bool is_ordered(const struct sp_model_block *block, struct sp_point alloc,
                       const struct sp_model_stream *stream)
{
    const struct sp_order *order = sp_model_order();

    for (uint32_t i = 0; i < block->uses.n_points; i++) {
        if (!sp_order_is_before(order, block->uses.points[i], stream->slot))
            return false;
    }
    return sp_order_is_before(order, alloc, stream->slot);
}

sp_cu_result sp_model_submit_free(struct sp_model_stream *stream,
                                  const struct sp_model_block *block, struct sp_point alloc,
                                  uintptr_t start, size_t size, struct sp_point *at_out)
{
    struct filling *filling;
    struct sp_point at;
    sp_cu_result result;

    if (!is_on(start))
        return sp_model_submit(stream, SP_OP_FREE, 0, NULL, NULL, at_out);
    result = sp_model_prepare(stream, &at);
    if (result != SP_CU_SUCCESS)
        return result;
    if (!is_ordered(block, alloc, stream))
        return sp_model_submit(stream, SP_OP_FREE, 0, NULL, NULL, at_out);
    filling = malloc(sizeof(*filling));
    if (filling == NULL)
        return SP_CU_OUT_OF_MEMORY;
    *filling = (struct filling){start, size};
    return sp_model_submit(stream, SP_OP_FREE, 0, run_filling, filling, at_out);
}
