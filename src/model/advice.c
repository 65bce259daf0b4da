/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where programs want managed memory to be: advice and prefetches. The model's managed memory
 * is everybody's at all times, so that they move nothing; what was said is kept page by page
 * and can be asked for. */
#include "config.h"

#include <stdlib.h>
#include <unistd.h>

#include "src/model/capture.h"
#include "src/model/private.h"
#include "src/util/util.h"

/* What has been said of a range of whole pages of one memory; the latest that speaks of a thing
 * holds. */
struct said {
    uintptr_t start, end;
    uint64_t id; /* of the memory */
    int advice;  /* SP_CU_ADVISE_..., or 0 for a prefetch */
    struct sp_cu_location location;
    struct said *next; /* said later */
};

/* What holds of a page. */
struct state {
    bool is_read_mostly;
    struct sp_cu_location preferred, prefetched; /* type NONE: nowhere */
    uint32_t readers;                            /* bit d: device d; the last one the host */
};

#define HOST_READER SP_MODEL_MAX_DEVICES

/* Behind the model's lock. */
static struct {
    struct said *first;
} advice;

void sp_model_advice_reset(void)
{
    while (advice.first != NULL) {
        struct said *said = advice.first;

        advice.first = said->next;
        free(said);
    }
}

/* ---- ranges -------------------------------------------------------------------------- */

/* The managed memory that a range is in, all of it; NULL if there is none. */
static const struct sp_model_memory *find(uintptr_t address, size_t size)
{
    const struct sp_model_memory *memory = sp_model_memory_find(address);

    return memory != NULL && memory->kind == SP_MEMORY_MANAGED && size > 0 &&
                   size <= memory->base + memory->size - address
               ? memory
               : NULL;
}

static bool is_location_valid(const struct sp_cu_location *location)
{
    switch (location->type) {
    case SP_CU_LOCATION_DEVICE:
        return sp_model_is_device(location->id);
    case SP_CU_LOCATION_HOST:
    case SP_CU_LOCATION_HOST_NUMA_CURRENT:
        return true;
    case SP_CU_LOCATION_HOST_NUMA:
        return location->id >= 0;
    default:
        return false;
    }
}

/* As programs of the time before locations name one. */
static struct sp_cu_location location_of(sp_cu_device device)
{
    return device == SP_CU_DEVICE_CPU
               ? (struct sp_cu_location){.type = SP_CU_LOCATION_HOST}
               : (struct sp_cu_location){.type = SP_CU_LOCATION_DEVICE, .id = device};
}

/* What was said of memory that has gone, and what the new one covers, is forgotten. */
static void forget(const struct said *newer)
{
    struct said **link = &advice.first;

    while (*link != NULL) {
        struct said *said = *link;
        const struct sp_model_memory *memory = sp_model_memory_find(said->start);
        bool is_covered = newer->advice == said->advice && newer->id == said->id &&
                          newer->advice != SP_CU_ADVISE_SET_ACCESSED_BY &&
                          newer->advice != SP_CU_ADVISE_UNSET_ACCESSED_BY &&
                          newer->start <= said->start && said->end <= newer->end;

        if (memory != NULL && memory->id == said->id && !is_covered) {
            link = &said->next;
            continue;
        }
        *link = said->next;
        free(said);
    }
}

static sp_cu_result say(const struct sp_model_memory *memory, uintptr_t address, size_t size,
                        int what, struct sp_cu_location location)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct said *said = calloc(1, sizeof(*said)), **link;

    if (said == NULL)
        return SP_CU_OUT_OF_MEMORY;
    *said = (struct said){
        .start = address - address % page,
        .end = sp_round_up(address + size, page),
        .id = memory->id,
        .advice = what,
        .location = location,
    };
    forget(said);
    for (link = &advice.first; *link != NULL;)
        link = &(*link)->next;
    *link = said;
    return SP_CU_SUCCESS;
}

/* ---- advice -------------------------------------------------------------------------- */

static sp_cu_result advise(uintptr_t address, size_t size, int what,
                           struct sp_cu_location location)
{
    const struct sp_model_memory *memory = find(address, size);
    bool needs_location = what != SP_CU_ADVISE_SET_READ_MOSTLY &&
                          what != SP_CU_ADVISE_UNSET_READ_MOSTLY &&
                          what != SP_CU_ADVISE_UNSET_PREFERRED_LOCATION;

    if (memory == NULL || what < SP_CU_ADVISE_SET_READ_MOSTLY ||
        what > SP_CU_ADVISE_UNSET_ACCESSED_BY)
        return SP_CU_INVALID_VALUE;
    if (needs_location && !is_location_valid(&location))
        return location.type == SP_CU_LOCATION_DEVICE ? SP_CU_INVALID_DEVICE
                                                      : SP_CU_INVALID_VALUE;
    return say(memory, address, size, what, location);
}

sp_cu_result sp_model_cuMemAdvise(sp_cu_ptr ptr, size_t size, int what,
                                  struct sp_cu_location location)
{
    SP_MODEL_ENTER(cuMemAdvise);
    return sp_model_leave(advise((uintptr_t)ptr, size, what, location));
}

sp_cu_result sp_model_cuMemAdvise_v1(sp_cu_ptr ptr, size_t size, int what, sp_cu_device device)
{
    SP_MODEL_ENTER(cuMemAdvise_v1);
    return sp_model_leave(advise((uintptr_t)ptr, size, what, location_of(device)));
}

/* An operation of the stream that does nothing. It cannot be captured. */
static sp_cu_result prefetch(uintptr_t address, size_t size, struct sp_cu_location location,
                             sp_cu_stream handle)
{
    const struct sp_model_memory *memory = find(address, size);
    struct sp_model_stream *stream;
    sp_cu_result result = sp_model_stream_get(handle, &stream);

    if (result != SP_CU_SUCCESS)
        return result;
    if (memory == NULL)
        return SP_CU_INVALID_VALUE;
    if (!is_location_valid(&location))
        return location.type == SP_CU_LOCATION_DEVICE ? SP_CU_INVALID_DEVICE
                                                      : SP_CU_INVALID_VALUE;
    result = sp_model_capture_forbid(stream);
    if (result == SP_CU_SUCCESS)
        result = say(memory, address, size, 0, location);
    return result == SP_CU_SUCCESS ? sp_model_submit(stream, SP_OP_COPY, 0, NULL, NULL, NULL)
                                   : result;
}

sp_cu_result sp_model_cuMemPrefetchAsync(sp_cu_ptr ptr, size_t size,
                                         struct sp_cu_location location, unsigned flags,
                                         sp_cu_stream stream)
{
    SP_MODEL_ENTER(cuMemPrefetchAsync);
    if (flags != 0)
        return sp_model_leave(SP_CU_INVALID_VALUE);
    return sp_model_leave(prefetch((uintptr_t)ptr, size, location, stream));
}

sp_cu_result sp_model_cuMemPrefetchAsync_v1(sp_cu_ptr ptr, size_t size, sp_cu_device device,
                                            sp_cu_stream stream)
{
    SP_MODEL_ENTER(cuMemPrefetchAsync_v1);
    return sp_model_leave(prefetch((uintptr_t)ptr, size, location_of(device), stream));
}

/* ---- asking -------------------------------------------------------------------------- */

static uint32_t reader_of(struct sp_cu_location location)
{
    return 1U << (location.type == SP_CU_LOCATION_DEVICE ? location.id : HOST_READER);
}

static void apply(const struct said *said, struct state *state)
{
    switch (said->advice) {
    case 0:
        state->prefetched = said->location;
        break;
    case SP_CU_ADVISE_SET_READ_MOSTLY:
    case SP_CU_ADVISE_UNSET_READ_MOSTLY:
        state->is_read_mostly = said->advice == SP_CU_ADVISE_SET_READ_MOSTLY;
        break;
    case SP_CU_ADVISE_SET_PREFERRED_LOCATION:
        state->preferred = said->location;
        break;
    case SP_CU_ADVISE_UNSET_PREFERRED_LOCATION:
        state->preferred = (struct sp_cu_location){.type = SP_CU_LOCATION_NONE};
        break;
    case SP_CU_ADVISE_SET_ACCESSED_BY:
        state->readers |= reader_of(said->location);
        break;
    default:
        state->readers &= ~reader_of(said->location);
        break;
    }
}

static struct state state_of(uintptr_t page)
{
    struct state state = {.is_read_mostly = false};

    for (const struct said *said = advice.first; said != NULL; said = said->next) {
        if (said->start <= page && page < said->end)
            apply(said, &state);
    }
    return state;
}

static void keep_common(struct sp_cu_location *location, struct sp_cu_location other)
{
    if (location->type != other.type || location->id != other.id)
        *location = (struct sp_cu_location){.type = SP_CU_LOCATION_NONE};
}

/* What holds of every page of a range of one memory. */
static struct state common_state(const struct sp_model_memory *memory, uintptr_t address,
                                 size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uintptr_t at = address - address % page;
    struct state state, other;
    const struct said stale = {.id = memory->id, .start = memory->base, .end = memory->base};

    forget(&stale);
    state = state_of(at);
    for (at += page; at < address + size; at += page) {
        other = state_of(at);
        state.is_read_mostly = state.is_read_mostly && other.is_read_mostly;
        state.readers &= other.readers;
        keep_common(&state.preferred, other.preferred);
        keep_common(&state.prefetched, other.prefetched);
    }
    return state;
}

static int ordinal_of(struct sp_cu_location location)
{
    if (location.type == SP_CU_LOCATION_NONE)
        return SP_CU_DEVICE_INVALID;
    return location.type == SP_CU_LOCATION_DEVICE ? location.id : SP_CU_DEVICE_CPU;
}

/* The devices in order, the host first; what is left of the array says that there is none. */
static void list_readers(uint32_t readers, int *devices_out, size_t n)
{
    size_t i = 0;

    if ((readers >> HOST_READER & 1) != 0 && i < n)
        devices_out[i++] = SP_CU_DEVICE_CPU;
    for (int device = 0; device < SP_MODEL_MAX_DEVICES && i < n; device++) {
        if ((readers >> device & 1) != 0)
            devices_out[i++] = device;
    }
    while (i < n)
        devices_out[i++] = SP_CU_DEVICE_INVALID;
}

static int tell(const struct state *state, int attribute)
{
    switch (attribute) {
    case SP_CU_RANGE_READ_MOSTLY:
        return state->is_read_mostly;
    case SP_CU_RANGE_PREFERRED_LOCATION:
        return ordinal_of(state->preferred);
    case SP_CU_RANGE_LAST_PREFETCH_LOCATION:
        return ordinal_of(state->prefetched);
    case SP_CU_RANGE_PREFERRED_LOCATION_TYPE:
        return state->preferred.type;
    case SP_CU_RANGE_PREFERRED_LOCATION_ID:
        return state->preferred.id;
    case SP_CU_RANGE_LAST_PREFETCH_LOCATION_TYPE:
        return state->prefetched.type;
    default:
        return state->prefetched.id;
    }
}

/* Readers are as many as there is room for; everything else is one int. */
static bool is_question_valid(const void *value_out, size_t value_size, int attribute)
{
    if (value_out == NULL || attribute < SP_CU_RANGE_READ_MOSTLY ||
        attribute > SP_CU_RANGE_LAST_PREFETCH_LOCATION_ID)
        return false;
    if (attribute == SP_CU_RANGE_ACCESSED_BY)
        return value_size > 0 && value_size % sizeof(int) == 0;
    return value_size == sizeof(int);
}

static sp_cu_result ask(void *const *values_out, const size_t *value_sizes,
                        const int *attributes, size_t n, uintptr_t address, size_t size)
{
    const struct sp_model_memory *memory = find(address, size);
    struct state state;

    if (memory == NULL)
        return SP_CU_INVALID_VALUE;
    for (size_t i = 0; i < n; i++) {
        if (!is_question_valid(values_out[i], value_sizes[i], attributes[i]))
            return SP_CU_INVALID_VALUE;
    }
    state = common_state(memory, address, size);
    for (size_t i = 0; i < n; i++) {
        if (attributes[i] == SP_CU_RANGE_ACCESSED_BY)
            list_readers(state.readers, values_out[i], value_sizes[i] / sizeof(int));
        else
            *(int *)values_out[i] = tell(&state, attributes[i]);
    }
    return SP_CU_SUCCESS;
}

sp_cu_result sp_model_cuMemRangeGetAttribute(void *value_out, size_t value_size, int attribute,
                                             sp_cu_ptr ptr, size_t size)
{
    SP_MODEL_ENTER(cuMemRangeGetAttribute);
    return sp_model_leave(ask(&value_out, &value_size, &attribute, 1, (uintptr_t)ptr, size));
}

sp_cu_result sp_model_cuMemRangeGetAttributes(void **values_out, size_t *value_sizes,
                                              int *attributes, size_t n, sp_cu_ptr ptr,
                                              size_t size)
{
    SP_MODEL_ENTER(cuMemRangeGetAttributes);
    if (values_out == NULL || value_sizes == NULL || attributes == NULL || n == 0)
        return sp_model_leave(SP_CU_INVALID_VALUE);
    return sp_model_leave(ask(values_out, value_sizes, attributes, n, (uintptr_t)ptr, size));
}
