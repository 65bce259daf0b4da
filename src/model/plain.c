/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Memory that is in no stream's order and belongs to a context: of the device, managed, of the
 * host, and the host's own that is registered. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "numa/topo.h"
#include "src/model/capture.h"
#include "src/model/cost.h"
#include "src/model/mempool.h"
#include "src/model/private.h"
#include "src/model/protect.h"
#include "src/util/util.h"

/* In the flags of memory: a free of it is queued. None of the driver's flags. */
#define IS_BEING_FREED (1U << 31)

/* [bytes] As the texture alignment of attributes.def. */
#define PITCH_STEP 512

/* What a free of device memory needs to know when it is executed. The memory may have gone with
 * its context by then, and other memory may be there. */
struct freeing {
    uintptr_t base;
    uint64_t id;
};

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* ---- opening and closing ------------------------------------------------------------- */

/* Memory on the device counts; what it cannot give, pools that keep some may give up. */
static bool take_bytes(int device, size_t size)
{
    if (sp_model_device_take(device, size))
        return true;
    if (sp_model_switch(SP_SWITCH_reclaim_after_sync) != 0)
        return false;
    return sp_model_pools_reclaim(device, size) && sp_model_device_take(device, size);
}

/* Map what a record says, and enter it; the record is taken over. */
static sp_cu_result open_memory(struct sp_model_memory *memory)
{
    bool is_counted = memory->kind == SP_MEMORY_DEVICE;

    memory->size = sp_round_up(memory->asked, page_size());
    if (memory->size == 0 || (is_counted && !take_bytes(memory->device, memory->size))) {
        free(memory);
        return SP_CU_OUT_OF_MEMORY;
    }
    memory->base = (uintptr_t)sp_model_map(memory->device, SP_NODE_HOST, memory->size, -1, 0);
    if (memory->base != 0 && sp_model_memory_add(memory)) {
        if (memory->kind == SP_MEMORY_MANAGED)
            sp_model_protect_share(memory->base, memory->size);
        else
            sp_model_poison_fresh(memory->base, memory->size);
        return SP_CU_SUCCESS;
    }
    if (memory->base != 0)
        sp_model_unmap((void *)memory->base, memory->size, memory->device, SP_NODE_HOST);
    if (is_counted)
        sp_model_device_give(memory->device, memory->size);
    free(memory);
    return SP_CU_OUT_OF_MEMORY;
}

static void release(struct sp_model_memory *memory)
{
    sp_model_memory_remove(memory);
    sp_model_freed_add(memory->base, memory->asked, memory->id, false,
                       (struct sp_point){.slot = SP_SLOT_HOST});
    if (memory->kind != SP_MEMORY_REGISTERED)
        sp_model_unmap((void *)memory->base, memory->size, memory->device, SP_NODE_HOST);
    if (memory->kind == SP_MEMORY_DEVICE)
        sp_model_device_give(memory->device, memory->size);
    if (memory->file >= 0)
        close(memory->file);
    free(memory);
}

/* Only what is done in the order of the memory's own context has been waited for. */
void sp_model_plain_close(struct sp_model_memory *memory)
{
    uint64_t stream_id;

    memory->is_going = true;
    if (sp_model_run_forbid(memory->id, &stream_id))
        sp_model_violation("0x%" PRIxPTR " is given back before its use in stream %" PRIu64
                           " has run",
                           memory->base, stream_id);
    release(memory);
}

static struct sp_model_memory *new_record(enum sp_model_memory_kind kind,
                                          struct sp_model_context *context, size_t size,
                                          unsigned flags)
{
    struct sp_model_memory *memory = calloc(1, sizeof(*memory));
    bool is_on_device = kind == SP_MEMORY_DEVICE || kind == SP_MEMORY_MANAGED;

    if (memory != NULL) {
        memory->kind = kind;
        memory->device = is_on_device ? context->device : -1;
        memory->context = context;
        memory->asked = size;
        memory->flags = flags;
        memory->file = -1;
    }
    return memory;
}

/* Every allocation of this file: the current context gets `size` bytes. */
static sp_cu_result allocate(enum sp_model_memory_kind kind, size_t size, unsigned flags,
                             uintptr_t *base_out)
{
    struct sp_model_context *context;
    struct sp_model_memory *memory;
    sp_cu_result result = sp_model_context_get(&context);

    if (result != SP_CU_SUCCESS)
        return result;
    if (base_out == NULL || size == 0)
        return SP_CU_INVALID_VALUE;
    memory = new_record(kind, context, size, flags);
    if (memory == NULL)
        return SP_CU_OUT_OF_MEMORY;
    result = open_memory(memory);
    if (result != SP_CU_SUCCESS)
        return result;
    *base_out = memory->base;
    sp_model_spend(kind == SP_MEMORY_HOST ? SP_COST_PINNING : SP_COST_DEVICE_ALLOC, size);
    return result;
}

/* The memory of one of these kinds that begins at an address; NULL if there is none, or it is
 * about to go. */
static struct sp_model_memory *find_base(uintptr_t base, unsigned kinds)
{
    struct sp_model_memory *memory = sp_model_memory_find(base);

    if (memory == NULL || memory->base != base || memory->is_going ||
        (kinds >> memory->kind & 1) == 0)
        return NULL;
    return memory;
}

/* ---- on devices ---------------------------------------------------------------------- */

#define KINDS_FREED  (1U << SP_MEMORY_DEVICE | 1U << SP_MEMORY_MANAGED)
#define KINDS_POOLED (1U << SP_MEMORY_CHUNK | 1U << SP_MEMORY_IMPORTED)

sp_cu_result sp_model_cuMemAlloc(sp_cu_ptr *ptr_out, size_t size)
{
    uintptr_t base = 0;
    sp_cu_result result;

    SP_MODEL_ENTER(cuMemAlloc);
    result = allocate(SP_MEMORY_DEVICE, size, 0, ptr_out == NULL ? NULL : &base);
    if (result == SP_CU_SUCCESS)
        *ptr_out = base;
    return sp_model_leave(result);
}

/* Rows begin at multiples of what copies and textures like. */
sp_cu_result sp_model_cuMemAllocPitch(sp_cu_ptr *ptr_out, size_t *pitch_out, size_t width_bytes,
                                      size_t height, unsigned element_bytes)
{
    size_t pitch = sp_round_up(width_bytes, PITCH_STEP), size = 0;
    uintptr_t base = 0;
    sp_cu_result result;

    SP_MODEL_ENTER(cuMemAllocPitch);
    if (pitch_out == NULL || width_bytes == 0 || height == 0 ||
        (element_bytes != 4 && element_bytes != 8 && element_bytes != 16))
        return sp_model_leave(SP_CU_INVALID_VALUE);
    if (pitch == 0 || __builtin_mul_overflow(pitch, height, &size))
        return sp_model_leave(SP_CU_OUT_OF_MEMORY);
    result = allocate(SP_MEMORY_DEVICE, size, 0, ptr_out == NULL ? NULL : &base);
    if (result == SP_CU_SUCCESS) {
        *ptr_out = base;
        *pitch_out = pitch;
    }
    return sp_model_leave(result);
}

sp_cu_result sp_model_cuMemAllocManaged(sp_cu_ptr *ptr_out, size_t size, unsigned flags)
{
    uintptr_t base = 0;
    sp_cu_result result;

    SP_MODEL_ENTER(cuMemAllocManaged);
    if (flags != SP_CU_MEM_ATTACH_GLOBAL && flags != SP_CU_MEM_ATTACH_HOST)
        return sp_model_leave(SP_CU_INVALID_VALUE);
    result = allocate(SP_MEMORY_MANAGED, size, flags, ptr_out == NULL ? NULL : &base);
    if (result == SP_CU_SUCCESS)
        *ptr_out = base;
    return sp_model_leave(result);
}

/* Plain memory: after all that its context was given. */
static sp_cu_result free_plain(uintptr_t base)
{
    struct sp_model_memory *memory = find_base(base, KINDS_FREED);
    sp_cu_result result;

    if (memory == NULL || (memory->flags & IS_BEING_FREED) != 0)
        return SP_CU_INVALID_VALUE;
    result = sp_model_context_finish(memory->context);
    if (result == SP_CU_OUT_OF_MEMORY) /* Work may use it still. */
        return result;
    /* Another thread may have freed it while the lock was given. */
    memory = find_base(base, KINDS_FREED);
    if (memory == NULL)
        return SP_CU_INVALID_VALUE;
    sp_model_plain_close(memory);
    sp_model_spend(SP_COST_DEVICE_FREE, 0);
    return result;
}

sp_cu_result sp_model_cuMemFree(sp_cu_ptr ptr)
{
    const struct sp_model_memory *memory;
    sp_cu_result result;

    SP_MODEL_ENTER(cuMemFree);
    if (ptr == 0)
        return sp_model_leave(SP_CU_SUCCESS);
    if (sp_model_graph_free(NULL, ptr, &result))
        return sp_model_leave(result);
    memory = sp_model_memory_find(ptr);
    if (memory != NULL && (KINDS_POOLED >> memory->kind & 1) != 0)
        return sp_model_leave(sp_model_pool_free_now(ptr));
    return sp_model_leave(free_plain(ptr));
}

/* Executed in a stream. */
static sp_cu_result run_free(void *arg)
{
    const struct freeing *freeing = arg;
    struct sp_model_memory *memory;

    sp_lock_take(sp_model_lock());
    memory = find_base(freeing->base, KINDS_FREED);
    if (memory != NULL && memory->id == freeing->id)
        sp_model_plain_close(memory);
    sp_lock_give(sp_model_lock());
    return SP_CU_SUCCESS;
}

sp_cu_result sp_model_plain_free_async(struct sp_model_stream *stream, uintptr_t address)
{
    struct sp_model_memory *memory = find_base(address, KINDS_FREED);
    struct freeing *freeing;
    sp_cu_result result;

    if (memory == NULL || (memory->flags & IS_BEING_FREED) != 0)
        return SP_CU_INVALID_VALUE;
    freeing = malloc(sizeof(*freeing));
    if (freeing == NULL)
        return SP_CU_OUT_OF_MEMORY;
    *freeing = (struct freeing){.base = address, .id = memory->id};
    result = sp_model_submit(stream, SP_OP_FREE, 0, run_free, freeing, NULL);
    if (result == SP_CU_SUCCESS)
        memory->flags |= IS_BEING_FREED;
    return result;
}

/* Managed memory is attached whole. The model's devices and host see it at all times, so that
 * there is nothing to order. */
static sp_cu_result attach(sp_cu_stream handle, uintptr_t base, size_t length, unsigned flags)
{
    const struct sp_model_memory *memory = find_base(base, 1U << SP_MEMORY_MANAGED);
    struct sp_model_stream *stream;
    sp_cu_result result = sp_model_stream_get(handle, &stream);

    if (result != SP_CU_SUCCESS)
        return result;
    if (memory == NULL || (length != 0 && length != memory->asked) ||
        (flags != SP_CU_MEM_ATTACH_GLOBAL && flags != SP_CU_MEM_ATTACH_HOST &&
         flags != SP_CU_MEM_ATTACH_SINGLE))
        return SP_CU_INVALID_VALUE;
    return sp_model_capture_forbid(stream);
}

sp_cu_result sp_model_cuStreamAttachMemAsync(sp_cu_stream stream, sp_cu_ptr ptr, size_t length,
                                             unsigned flags)
{
    SP_MODEL_ENTER(cuStreamAttachMemAsync);
    return sp_model_leave(attach(stream, ptr, length, flags));
}

sp_cu_result sp_model_cuMemGetAddressRange(sp_cu_ptr *base_out, size_t *size_out, sp_cu_ptr ptr)
{
    const struct sp_model_memory *memory;
    uintptr_t base;
    size_t size;

    SP_MODEL_ENTER(cuMemGetAddressRange);
    memory = sp_model_memory_find(ptr);
    if (memory == NULL)
        return sp_model_leave(SP_CU_NOT_FOUND);
    base = memory->base;
    size = memory->asked;
    if ((KINDS_POOLED >> memory->kind & 1) != 0 && !sp_model_pool_range(ptr, &base, &size))
        return sp_model_leave(SP_CU_NOT_FOUND);
    if (memory->kind == SP_MEMORY_GRAPH && !sp_model_graph_range(ptr, &base, &size))
        return sp_model_leave(SP_CU_NOT_FOUND);
    if (base_out != NULL)
        *base_out = base;
    if (size_out != NULL)
        *size_out = size;
    return sp_model_leave(SP_CU_SUCCESS);
}

/* Only memory of the virtual memory interface has such a handle, which the model has none of.
 */
sp_cu_result sp_model_cuMemRetainAllocationHandle(unsigned long long *handle_out, void *ptr)
{
    SP_MODEL_ENTER(cuMemRetainAllocationHandle);
    (void)handle_out;
    (void)ptr;
    return sp_model_leave(SP_CU_INVALID_VALUE);
}

/* ---- on the host --------------------------------------------------------------------- */

static sp_cu_result allocate_host(void **ptr_out, size_t size, unsigned flags)
{
    uintptr_t base = 0;
    sp_cu_result result;

    if ((flags & ~(unsigned)(SP_CU_HOST_ALLOC_PORTABLE | SP_CU_HOST_ALLOC_DEVICEMAP |
                             SP_CU_HOST_ALLOC_WRITECOMBINED)) != 0)
        return SP_CU_INVALID_VALUE;
    result = allocate(SP_MEMORY_HOST, size, flags, ptr_out == NULL ? NULL : &base);
    if (result == SP_CU_SUCCESS)
        *ptr_out = (void *)base;
    return result;
}

sp_cu_result sp_model_cuMemAllocHost(void **ptr_out, size_t size)
{
    SP_MODEL_ENTER(cuMemAllocHost);
    return sp_model_leave(allocate_host(ptr_out, size, 0));
}

sp_cu_result sp_model_cuMemHostAlloc(void **ptr_out, size_t size, unsigned flags)
{
    SP_MODEL_ENTER(cuMemHostAlloc);
    return sp_model_leave(allocate_host(ptr_out, size, flags));
}

sp_cu_result sp_model_cuMemFreeHost(void *ptr)
{
    struct sp_model_memory *memory;
    sp_cu_result result;

    SP_MODEL_ENTER(cuMemFreeHost);
    if (ptr == NULL)
        return sp_model_leave(SP_CU_SUCCESS);
    memory = find_base((uintptr_t)ptr, 1U << SP_MEMORY_HOST);
    if (memory == NULL)
        return sp_model_leave(SP_CU_INVALID_VALUE);
    result = sp_model_context_finish(memory->context);
    if (result == SP_CU_OUT_OF_MEMORY)
        return sp_model_leave(result);
    memory = find_base((uintptr_t)ptr, 1U << SP_MEMORY_HOST);
    if (memory == NULL)
        return sp_model_leave(SP_CU_INVALID_VALUE);
    sp_model_plain_close(memory);
    return sp_model_leave(result);
}

sp_cu_result sp_model_cuMemHostRegister(void *ptr, size_t size, unsigned flags)
{
    struct sp_model_context *context;
    struct sp_model_memory *memory;
    sp_cu_result result;

    SP_MODEL_ENTER(cuMemHostRegister);
    result = sp_model_context_get(&context);
    if (result != SP_CU_SUCCESS)
        return sp_model_leave(result);
    if (ptr == NULL || size == 0 || size > SIZE_MAX - (uintptr_t)ptr || flags > 15 ||
        sp_model_device_of((uintptr_t)ptr) >= 0)
        return sp_model_leave(SP_CU_INVALID_VALUE);
    if (sp_model_memory_overlaps((uintptr_t)ptr, size))
        return sp_model_leave(SP_CU_HOST_MEMORY_ALREADY_REGISTERED);
    memory = new_record(SP_MEMORY_REGISTERED, context, size, flags);
    if (memory == NULL)
        return sp_model_leave(SP_CU_OUT_OF_MEMORY);
    memory->base = (uintptr_t)ptr;
    memory->size = size;
    if (!sp_model_memory_add(memory)) {
        free(memory);
        return sp_model_leave(SP_CU_OUT_OF_MEMORY);
    }
    sp_model_spend(SP_COST_PINNING, size);
    return sp_model_leave(SP_CU_SUCCESS);
}

sp_cu_result sp_model_cuMemHostUnregister(void *ptr)
{
    struct sp_model_memory *memory;

    SP_MODEL_ENTER(cuMemHostUnregister);
    memory = find_base((uintptr_t)ptr, 1U << SP_MEMORY_REGISTERED);
    if (memory == NULL)
        return sp_model_leave(SP_CU_HOST_MEMORY_NOT_REGISTERED);
    sp_model_plain_close(memory);
    return sp_model_leave(SP_CU_SUCCESS);
}

/* Devices use the host's addresses. */
sp_cu_result sp_model_cuMemHostGetDevicePointer(sp_cu_ptr *ptr_out, void *host, unsigned flags)
{
    const struct sp_model_memory *memory;

    SP_MODEL_ENTER(cuMemHostGetDevicePointer);
    memory = sp_model_memory_find((uintptr_t)host);
    if (ptr_out == NULL || flags != 0 || memory == NULL ||
        (memory->kind != SP_MEMORY_HOST && memory->kind != SP_MEMORY_REGISTERED))
        return sp_model_leave(SP_CU_INVALID_VALUE);
    *ptr_out = (uintptr_t)host;
    return sp_model_leave(SP_CU_SUCCESS);
}

sp_cu_result sp_model_cuMemHostGetFlags(unsigned *flags_out, void *host)
{
    const struct sp_model_memory *memory;

    SP_MODEL_ENTER(cuMemHostGetFlags);
    memory = sp_model_memory_find((uintptr_t)host);
    if (flags_out == NULL || memory == NULL || memory->kind != SP_MEMORY_HOST)
        return sp_model_leave(SP_CU_INVALID_VALUE);
    *flags_out = memory->flags;
    return sp_model_leave(SP_CU_SUCCESS);
}
