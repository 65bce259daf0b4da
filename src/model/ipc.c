/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Pools that other processes can use: the pool's memory is one file in memory, which is handed
 * over as a descriptor or named by the 64 bytes of a fabric handle. What comes from another
 * process is checked here and in shared.c before it is used. */
#include "config.h"

#include <fcntl.h>

#include "src/model/mempool.h"
#include "src/util/util.h"

/* The user's words of the file's first page: what kind of pool it is. */
enum { WORD_LOCATION_TYPE, WORD_LOCATION_ID, WORD_HANDLE_TYPES };

/* Marks a fabric handle, which holds the channel's number beside it. */
#define FABRIC_WORD ((uint64_t)0x46 << 56)

/* ---- the file ------------------------------------------------------------------------ */

static void write_word(struct sp_shared *shared, unsigned word, uint64_t value)
{
    __atomic_store_n(&shared->page->words[word], value, __ATOMIC_RELAXED);
}

static uint64_t read_word(const struct sp_shared *shared, unsigned word)
{
    return __atomic_load_n(&shared->page->words[word], __ATOMIC_RELAXED);
}

bool sp_model_pool_open_file(struct sp_model_pool *pool)
{
    if (sp_shared_create(SP_SHARED_POOL, pool->max_bytes, &pool->shared) != STARPOOL_OK)
        return false;
    write_word(&pool->shared, WORD_LOCATION_TYPE, (uint64_t)pool->props.location.type);
    write_word(&pool->shared, WORD_LOCATION_ID, (uint64_t)pool->props.location.id);
    write_word(&pool->shared, WORD_HANDLE_TYPES, (uint64_t)pool->props.handle_types);
    return true;
}

/* The first offset where nothing is. */
bool sp_model_pool_place_chunk(const struct sp_model_pool *pool, size_t size,
                               uint64_t *offset_out)
{
    const struct sp_model_chunk *chunk = pool->chunks;
    uint64_t offset = 0;

    while (chunk != NULL) {
        const struct sp_model_memory *memory = &chunk->memory;

        chunk = chunk->next;
        if (offset < memory->offset + memory->size && memory->offset < offset + size) {
            offset = memory->offset + memory->size;
            chunk = pool->chunks;
        }
    }
    if (size > pool->shared.size || offset > pool->shared.size - size)
        return false;
    *offset_out = offset;
    return true;
}

/* ---- exporting ----------------------------------------------------------------------- */

static sp_cu_result export_fabric(const struct sp_model_pool *pool, void *handle_out)
{
    struct sp_shared_part part = {.word = FABRIC_WORD};
    int channel = sp_model_imex_channel();

    if (channel < 0)
        return SP_CU_NOT_PERMITTED;
    part.word |= (uint32_t)channel;
    sp_shared_export(&pool->shared, &part, handle_out);
    return SP_CU_SUCCESS;
}

static sp_cu_result export_locked(void *handle_out, sp_cu_pool handle, int handle_type,
                                  unsigned long long flags)
{
    const struct sp_model_pool *pool = sp_model_pool_get(handle);
    int file;

    if (pool == NULL || handle_out == NULL || flags != 0 || pool->is_imported ||
        (pool->props.handle_types & handle_type) == 0)
        return SP_CU_INVALID_VALUE;
    switch (handle_type) {
    case SP_CU_HANDLE_POSIX_FD:
        /* Never 0, which could not be imported: it is passed as a pointer. */
        file = fcntl(pool->shared.file, F_DUPFD_CLOEXEC, 1);
        if (file < 0)
            return SP_CU_OPERATING_SYSTEM;
        *(int *)handle_out = file;
        return SP_CU_SUCCESS;
    case SP_CU_HANDLE_FABRIC:
        return export_fabric(pool, handle_out);
    default:
        return SP_CU_INVALID_VALUE;
    }
}

sp_cu_result sp_model_cuMemPoolExportToShareableHandle(void *handle_out, sp_cu_pool pool,
                                                       int handle_type,
                                                       unsigned long long flags)
{
    SP_MODEL_ENTER(cuMemPoolExportToShareableHandle);
    return sp_model_leave(export_locked(handle_out, pool, handle_type, flags));
}

/* ---- importing ----------------------------------------------------------------------- */

static sp_cu_result result_of(enum starpool_status status)
{
    if (status == STARPOOL_OK)
        return SP_CU_SUCCESS;
    return status == STARPOOL_ENOMEM ? SP_CU_OUT_OF_MEMORY : SP_CU_INVALID_VALUE;
}

static sp_cu_result open_descriptor(const void *handle, struct sp_shared *shared_out)
{
    uintptr_t value = (uintptr_t)handle;

    if (value > INT32_MAX)
        return SP_CU_INVALID_VALUE;
    return result_of(sp_shared_open_file(SP_SHARED_POOL, (int)value, shared_out));
}

/* Whoever has no channel, or another one than the exporter, is not let in. */
static sp_cu_result open_fabric(const void *handle, struct sp_shared *shared_out)
{
    struct sp_shared_part part;
    unsigned char identity[16];
    int channel = sp_model_imex_channel();

    if (channel < 0)
        return SP_CU_NOT_PERMITTED;
    if (!sp_shared_read(SP_SHARED_POOL, handle, &part, identity) ||
        (part.word & ~(uint64_t)UINT32_MAX) != FABRIC_WORD)
        return SP_CU_INVALID_VALUE;
    if ((uint32_t)part.word != (uint32_t)channel)
        return SP_CU_NOT_PERMITTED;
    return result_of(sp_shared_open(SP_SHARED_POOL, handle, &part, shared_out));
}

/* The file is sound; what it says of the pool may be anything. */
static sp_cu_result read_props(const struct sp_shared *shared,
                               struct sp_cu_pool_props *props_out)
{
    uint64_t type = read_word(shared, WORD_LOCATION_TYPE);
    uint64_t id = read_word(shared, WORD_LOCATION_ID);
    uint64_t handle_types = read_word(shared, WORD_HANDLE_TYPES);
    struct sp_cu_location location = {.type = (int)type, .id = (int)id};

    if ((type != SP_CU_LOCATION_DEVICE && type != SP_CU_LOCATION_HOST_NUMA) || id > INT32_MAX ||
        handle_types == 0 ||
        (handle_types & ~(uint64_t)(SP_CU_HANDLE_POSIX_FD | SP_CU_HANDLE_FABRIC)) != 0 ||
        sp_model_location_check(&location, SP_CU_ALLOCATION_PINNED, SP_CU_INVALID_VALUE) !=
            SP_CU_SUCCESS)
        return SP_CU_INVALID_VALUE;
    *props_out = (struct sp_cu_pool_props){
        .alloc_type = SP_CU_ALLOCATION_PINNED,
        .handle_types = (int)handle_types,
        .location = location,
    };
    return SP_CU_SUCCESS;
}

/* Takes the file over. */
static sp_cu_result make_pool(struct sp_shared *shared, sp_cu_pool *pool_out)
{
    struct sp_cu_pool_props props;
    struct sp_model_pool *pool = NULL;
    sp_cu_result result = read_props(shared, &props);

    if (result == SP_CU_SUCCESS) {
        pool = sp_model_pool_new(&props);
        result = pool == NULL ? SP_CU_OUT_OF_MEMORY : SP_CU_SUCCESS;
    }
    if (result != SP_CU_SUCCESS) {
        sp_shared_close(shared);
        return result;
    }
    pool->is_imported = true;
    pool->shared = *shared;
    *pool_out = pool->handle;
    return SP_CU_SUCCESS;
}

static sp_cu_result import_locked(sp_cu_pool *pool_out, const void *handle, int handle_type,
                                  unsigned long long flags)
{
    struct sp_shared shared;
    sp_cu_result result = SP_CU_INVALID_VALUE;

    if (pool_out == NULL || handle == NULL || flags != 0)
        return SP_CU_INVALID_VALUE;
    if (handle_type == SP_CU_HANDLE_POSIX_FD)
        result = open_descriptor(handle, &shared);
    else if (handle_type == SP_CU_HANDLE_FABRIC)
        result = open_fabric(handle, &shared);
    return result == SP_CU_SUCCESS ? make_pool(&shared, pool_out) : result;
}

sp_cu_result sp_model_cuMemPoolImportFromShareableHandle(sp_cu_pool *pool_out, void *handle,
                                                         int handle_type,
                                                         unsigned long long flags)
{
    SP_MODEL_ENTER(cuMemPoolImportFromShareableHandle);
    return sp_model_leave(import_locked(pool_out, handle, handle_type, flags));
}
