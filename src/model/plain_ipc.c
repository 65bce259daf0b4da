/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The older sharing between processes, of cuMemAlloc() memory: it moves into a file in memory
 * when it is shared for the first time, and keeps its address. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "numa/topo.h"
#include "src/model/private.h"
#include "src/model/protect.h"
#include "src/model/shared.h"
#include "src/util/util.h"

#define LAZY_ENABLE_PEER_ACCESS 1 /* CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS */

/* ---- giving -------------------------------------------------------------------------- */

/* Put the file under the address, with what was there. */
static bool replace(const struct sp_model_memory *memory, const struct sp_shared *shared)
{
    void *copy = mmap(NULL, memory->size, PROT_READ | PROT_WRITE, MAP_SHARED, shared->file,
                      (off_t)SP_SHARED_DATA);

    if (copy == MAP_FAILED)
        return false;
    memcpy(copy, sp_model_alias(memory->base), memory->size);
    munmap(copy, memory->size);
    return sp_model_remap((void *)memory->base, memory->size, shared->file, SP_SHARED_DATA);
}

/* While no operation runs, and with the lock, so that none begins. */
static sp_cu_result move(struct sp_model_memory *memory)
{
    struct sp_shared shared;

    if (sp_shared_create(SP_SHARED_MEMORY, memory->size, &shared) != STARPOOL_OK)
        return SP_CU_OUT_OF_MEMORY;
    if (!replace(memory, &shared)) {
        sp_shared_close(&shared);
        return SP_CU_OUT_OF_MEMORY;
    }
    munmap(shared.page, sizeof(*shared.page));
    memory->file = shared.file;
    return SP_CU_SUCCESS;
}

/* The memory of kind DEVICE around an address; NULL if there is none. */
static struct sp_model_memory *find_device(uintptr_t address)
{
    struct sp_model_memory *memory = sp_model_memory_find(address);

    return memory == NULL || memory->kind != SP_MEMORY_DEVICE ? NULL : memory;
}

static sp_cu_result export_memory(struct sp_model_memory *memory, void *handle_out)
{
    struct sp_shared shared;
    struct sp_shared_part part = {.size = memory->size, .word = memory->asked};

    if (sp_shared_open_file(SP_SHARED_MEMORY, memory->file, &shared) != STARPOOL_OK)
        return SP_CU_OUT_OF_MEMORY;
    /* The handle names the descriptor that stays open. */
    close(shared.file);
    shared.file = memory->file;
    sp_shared_export(&shared, &part, handle_out);
    munmap(shared.page, sizeof(*shared.page));
    return SP_CU_SUCCESS;
}

sp_cu_result sp_model_cuIpcGetMemHandle(struct sp_cu_ipc_mem_handle *handle_out, sp_cu_ptr ptr)
{
    struct sp_model_memory *memory;
    sp_cu_result result = SP_CU_SUCCESS;

    SP_MODEL_ENTER(cuIpcGetMemHandle);
    if (handle_out == NULL || find_device(ptr) == NULL)
        return sp_model_leave(SP_CU_INVALID_VALUE);
    while (sp_model_run_is_busy())
        sp_model_wait_progress(1000000);
    memory = find_device(ptr); /* The lock was given. */
    if (memory == NULL)
        return sp_model_leave(SP_CU_INVALID_VALUE);
    if (memory->file < 0)
        result = move(memory);
    if (result == SP_CU_SUCCESS)
        result = export_memory(memory, handle_out->reserved);
    return sp_model_leave(result);
}

/* ---- taking -------------------------------------------------------------------------- */

static struct sp_model_memory *new_record(struct sp_model_context *context,
                                          const struct sp_shared *shared,
                                          const struct sp_shared_part *part)
{
    struct sp_model_memory *memory = calloc(1, sizeof(*memory));

    if (memory == NULL)
        return NULL;
    *memory = (struct sp_model_memory){.kind = SP_MEMORY_OPENED,
                                       .device = context->device,
                                       .context = context,
                                       .size = part->size,
                                       .asked = part->word,
                                       .file = shared->file};
    memory->base = (uintptr_t)sp_model_map(context->device, SP_NODE_HOST, part->size,
                                           shared->file, SP_SHARED_DATA + part->offset);
    if (memory->base == 0 || !sp_model_memory_add(memory)) {
        if (memory->base != 0)
            sp_model_unmap((void *)memory->base, memory->size, memory->device, SP_NODE_HOST);
        free(memory);
        return NULL;
    }
    return memory;
}

static sp_cu_result open_handle(struct sp_model_context *context, const void *handle,
                                uintptr_t *base_out)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct sp_model_memory *memory;
    struct sp_shared_part part;
    struct sp_shared shared;
    enum starpool_status status = sp_shared_open(SP_SHARED_MEMORY, handle, &part, &shared);

    if (status != STARPOOL_OK)
        return status == STARPOOL_ENOMEM ? SP_CU_OUT_OF_MEMORY : SP_CU_INVALID_VALUE;
    if (part.size == 0 || part.size % page != 0 || part.offset % page != 0 ||
        part.word > part.size) {
        sp_shared_close(&shared);
        return SP_CU_INVALID_VALUE;
    }
    memory = new_record(context, &shared, &part);
    if (memory == NULL) {
        sp_shared_close(&shared);
        return SP_CU_OUT_OF_MEMORY;
    }
    munmap(shared.page, sizeof(*shared.page));
    *base_out = memory->base;
    return SP_CU_SUCCESS;
}

sp_cu_result sp_model_cuIpcOpenMemHandle(sp_cu_ptr *ptr_out, struct sp_cu_ipc_mem_handle handle,
                                         unsigned flags)
{
    struct sp_model_context *context;
    uintptr_t base = 0;
    sp_cu_result result;

    SP_MODEL_ENTER(cuIpcOpenMemHandle);
    result = sp_model_context_get(&context);
    if (result == SP_CU_SUCCESS && (ptr_out == NULL || flags != LAZY_ENABLE_PEER_ACCESS))
        result = SP_CU_INVALID_VALUE;
    if (result == SP_CU_SUCCESS)
        result = open_handle(context, handle.reserved, &base);
    if (result == SP_CU_SUCCESS)
        *ptr_out = base;
    return sp_model_leave(result);
}

/* What begins at an address; NULL if nothing does, or it is about to go. */
static struct sp_model_memory *find_opened(uintptr_t base)
{
    struct sp_model_memory *memory = sp_model_memory_find(base);

    return memory == NULL || memory->base != base || memory->kind != SP_MEMORY_OPENED ||
                   memory->is_going
               ? NULL
               : memory;
}

sp_cu_result sp_model_cuIpcCloseMemHandle(sp_cu_ptr ptr)
{
    struct sp_model_memory *memory;
    sp_cu_result result;

    SP_MODEL_ENTER(cuIpcCloseMemHandle);
    memory = find_opened(ptr);
    if (memory == NULL)
        return sp_model_leave(SP_CU_INVALID_VALUE);
    result = sp_model_context_finish(memory->context);
    if (result == SP_CU_OUT_OF_MEMORY)
        return sp_model_leave(result);
    memory = find_opened(ptr);
    if (memory != NULL)
        sp_model_plain_close(memory);
    return sp_model_leave(result);
}
