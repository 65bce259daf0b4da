/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Values in memory, of 4 or 8 bytes, that streams wait for or write, one by one and in lists.
 */
#include "config.h"

#include <stdlib.h>

#include "src/model/capture.h"
#include "src/model/exec.h"
#include "src/model/private.h"
#include "src/model/protect.h"
#include "src/util/util.h"

/* One value. */
struct wanted {
    uintptr_t address;
    uint64_t value;
    unsigned flags; /* SP_CU_WAIT_VALUE_... */
    bool is_write, is_wide;
};

static uint64_t load(const struct wanted *wanted)
{
    const void *place = sp_model_alias(wanted->address);

    return wanted->is_wide ? __atomic_load_n((const uint64_t *)place, __ATOMIC_ACQUIRE)
                           : __atomic_load_n((const uint32_t *)place, __ATOMIC_ACQUIRE);
}

/* Greater or equal is meant cyclically: the difference is not negative. */
static bool is_reached(void *arg)
{
    const struct wanted *wanted = arg;
    uint64_t all = wanted->is_wide ? UINT64_MAX : UINT32_MAX;
    uint64_t found = load(wanted);

    switch (wanted->flags) {
    case SP_CU_WAIT_VALUE_GEQ:
        return ((found - wanted->value) & all) <= all / 2;
    case SP_CU_WAIT_VALUE_EQ:
        return found == wanted->value;
    case SP_CU_WAIT_VALUE_AND:
        return (found & wanted->value) != 0;
    default:
        return (~(found | wanted->value) & all) != 0;
    }
}

static sp_cu_result run_write(void *arg)
{
    const struct wanted *wanted = arg;
    void *place = sp_model_alias(wanted->address);

    if (wanted->is_wide)
        __atomic_store_n((uint64_t *)place, wanted->value, __ATOMIC_RELEASE);
    else
        __atomic_store_n((uint32_t *)place, (uint32_t)wanted->value, __ATOMIC_RELEASE);
    return SP_CU_SUCCESS;
}

/* ---- queueing ------------------------------------------------------------------------ */

static sp_cu_result submit(struct sp_model_stream *stream, const struct wanted *wanted)
{
    struct sp_model_gate gate = {.poll = wanted->is_write ? NULL : is_reached};
    struct wanted *copy = malloc(sizeof(*copy));

    if (copy == NULL)
        return SP_CU_OUT_OF_MEMORY;
    *copy = *wanted;
    return sp_model_submit_gated(stream, SP_OP_VALUE, &gate,
                                 wanted->is_write ? run_write : NULL, copy, NULL);
}

sp_cu_result sp_model_submit_work_value(struct sp_model_stream *stream,
                                        const struct sp_model_work *work)
{
    struct wanted wanted = {
        .address = (uintptr_t)work->value.address,
        .value = work->value.value,
        .flags = work->value.flags,
        .is_write = work->value.is_write,
        .is_wide = work->value.is_wide,
    };

    return submit(stream, &wanted);
}

static size_t size_of(const struct wanted *wanted)
{
    return wanted->is_wide ? sizeof(uint64_t) : sizeof(uint32_t);
}

/* True if it is not for the stream to execute, and then the answer. */
static bool capture(struct sp_model_stream *stream, const struct wanted *wanted,
                    sp_cu_result *result_out)
{
    struct sp_model_work work = {
        .type = SP_CU_NODE_BATCH_MEM_OP,
        .value = {.address = wanted->address,
                  .value = wanted->value,
                  .flags = wanted->flags,
                  .is_write = wanted->is_write,
                  .is_wide = wanted->is_wide},
    };

    if (stream->member != NULL) {
        *result_out = sp_model_can_use(stream, wanted->address, size_of(wanted));
        if (*result_out != SP_CU_SUCCESS)
            return true;
    }
    return sp_model_capture_work(stream, &work, result_out);
}

static sp_cu_result check(const struct wanted *wanted)
{
    if (wanted->address == 0 || wanted->address % size_of(wanted) != 0)
        return SP_CU_INVALID_VALUE;
    return wanted->flags > (wanted->is_write ? 0U : (unsigned)SP_CU_WAIT_VALUE_NOR)
               ? SP_CU_INVALID_VALUE
               : SP_CU_SUCCESS;
}

/* It has been checked. */
static sp_cu_result queue(struct sp_model_stream *stream, const struct wanted *wanted)
{
    struct sp_point at;
    sp_cu_result result;

    if (capture(stream, wanted, &result))
        return result;
    result = sp_model_prepare(stream, &at);
    if (result == SP_CU_SUCCESS)
        result = sp_model_use_as(stream, at, wanted->address, size_of(wanted), SP_USE_VALUE);
    return result == SP_CU_SUCCESS ? submit(stream, wanted) : result;
}

static sp_cu_result queue_one(sp_cu_stream handle, const struct wanted *wanted)
{
    struct sp_model_stream *stream;
    sp_cu_result result = sp_model_stream_get(handle, &stream);

    if (result == SP_CU_SUCCESS)
        result = check(wanted);
    return result == SP_CU_SUCCESS ? queue(stream, wanted) : result;
}

sp_cu_result sp_model_cuStreamWaitValue32(sp_cu_stream stream, sp_cu_ptr address,
                                          uint32_t value, unsigned flags)
{
    struct wanted wanted = {(uintptr_t)address, value, flags, false, false};

    SP_MODEL_ENTER(cuStreamWaitValue32);
    return sp_model_leave(queue_one(stream, &wanted));
}

sp_cu_result sp_model_cuStreamWriteValue32(sp_cu_stream stream, sp_cu_ptr address,
                                           uint32_t value, unsigned flags)
{
    struct wanted wanted = {(uintptr_t)address, value, flags, true, false};

    SP_MODEL_ENTER(cuStreamWriteValue32);
    return sp_model_leave(queue_one(stream, &wanted));
}

sp_cu_result sp_model_cuStreamWaitValue64(sp_cu_stream stream, sp_cu_ptr address,
                                          uint64_t value, unsigned flags)
{
    struct wanted wanted = {(uintptr_t)address, value, flags, false, true};

    SP_MODEL_ENTER(cuStreamWaitValue64);
    return sp_model_leave(queue_one(stream, &wanted));
}

sp_cu_result sp_model_cuStreamWriteValue64(sp_cu_stream stream, sp_cu_ptr address,
                                           uint64_t value, unsigned flags)
{
    struct wanted wanted = {(uintptr_t)address, value, flags, true, true};

    SP_MODEL_ENTER(cuStreamWriteValue64);
    return sp_model_leave(queue_one(stream, &wanted));
}

/* ---- lists --------------------------------------------------------------------------- */

/* False for what is no value: operations of a stream are in order here without barriers. */
static bool read_op(const union sp_cu_mem_op *op, struct wanted *wanted_out)
{
    bool is_wide = op->operation == SP_CU_MEM_OP_WAIT_VALUE_64 ||
                   op->operation == SP_CU_MEM_OP_WRITE_VALUE_64;

    if (op->operation == SP_CU_MEM_OP_BARRIER ||
        op->operation == SP_CU_MEM_OP_FLUSH_REMOTE_WRITES)
        return false;
    *wanted_out = (struct wanted){
        .address = (uintptr_t)op->value.address,
        .value = is_wide ? op->value.wide : op->value.narrow,
        .flags = op->value.flags,
        .is_write = op->operation == SP_CU_MEM_OP_WRITE_VALUE_32 ||
                    op->operation == SP_CU_MEM_OP_WRITE_VALUE_64,
        .is_wide = is_wide,
    };
    return true;
}

/* No network card writes to the model's devices, and there is nothing of one to flush. */
static sp_cu_result check_op(const union sp_cu_mem_op *op)
{
    struct wanted wanted;

    if (op->operation < SP_CU_MEM_OP_WAIT_VALUE_32 || op->operation > SP_CU_MEM_OP_BARRIER)
        return SP_CU_INVALID_VALUE;
    if (op->operation == SP_CU_MEM_OP_FLUSH_REMOTE_WRITES)
        return SP_CU_NOT_SUPPORTED;
    return read_op(op, &wanted) ? check(&wanted) : SP_CU_SUCCESS;
}

/* Each becomes an operation, or a node, of its own. */
static sp_cu_result queue_list(sp_cu_stream handle, unsigned n, const union sp_cu_mem_op *ops)
{
    struct sp_model_stream *stream;
    struct wanted wanted;
    sp_cu_result result = sp_model_stream_get(handle, &stream);

    if (result == SP_CU_SUCCESS && n > 0 && ops == NULL)
        result = SP_CU_INVALID_VALUE;
    for (unsigned i = 0; result == SP_CU_SUCCESS && i < n; i++)
        result = check_op(&ops[i]);
    for (unsigned i = 0; result == SP_CU_SUCCESS && i < n; i++) {
        if (read_op(&ops[i], &wanted))
            result = queue(stream, &wanted);
    }
    return result;
}

sp_cu_result sp_model_cuStreamBatchMemOp(sp_cu_stream stream, unsigned n_ops,
                                         union sp_cu_mem_op *ops, unsigned flags)
{
    SP_MODEL_ENTER(cuStreamBatchMemOp);
    if (flags != 0 || n_ops > 256)
        return sp_model_leave(SP_CU_INVALID_VALUE);
    return sp_model_leave(queue_list(stream, n_ops, ops));
}
