/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The attributes of pools and their statistics. Attributes 1 to 3 are an int and the others a
 * 64-bit number: no byte beside them is touched. */
#include "config.h"

#include "src/model/mempool.h"

#include <stdlib.h>
#include <string.h>

#include "src/util/util.h"

/* ---- statistics ---------------------------------------------------------------------- */

/* Bytes of frees that have been called and have not executed; notes of the others go. */
static uint64_t noted_bytes(struct sp_model_pool *pool)
{
    struct sp_model_free_note **link = &pool->free_notes, *note;
    uint64_t bytes = 0;

    while ((note = *link) != NULL) {
        if (!sp_model_point_has_run(note->at)) {
            bytes += note->size;
            link = &note->next;
            continue;
        }
        *link = note->next;
        free(note);
    }
    return bytes;
}

void sp_model_pool_stats(struct sp_model_pool *pool, struct sp_model_pool_stats *stats_out)
{
    struct sp_reuse_stats stats;
    uint64_t used;

    if (pool->is_imported) {
        *stats_out = pool->imported;
        return;
    }
    sp_reuse_stats(pool->reuse, &stats);
    used = stats.used_bytes + noted_bytes(pool);
    *stats_out = (struct sp_model_pool_stats){
        .reserved = stats.reserved_bytes,
        .reserved_high = stats.reserved_high_bytes,
        .used = used,
        .used_high = sp_max(stats.used_high_bytes, sp_max(pool->noted_high, used)),
    };
}

void sp_model_pool_note_free(struct sp_model_pool *pool, struct sp_point at, size_t size)
{
    struct sp_model_free_note *note;

    if (sp_model_switch(SP_SWITCH_used_falls) == 0)
        return;
    note = malloc(sizeof(*note));
    if (note == NULL)
        return; /* Then it falls at the call. */
    *note = (struct sp_model_free_note){.at = at, .size = size, .next = pool->free_notes};
    pool->free_notes = note;
}

void sp_model_pool_note_alloc(struct sp_model_pool *pool)
{
    struct sp_model_pool_stats stats;

    if (pool->free_notes == NULL)
        return;
    sp_model_pool_stats(pool, &stats);
    pool->noted_high = stats.used_high;
}

void sp_model_pool_forget_notes(struct sp_model_pool *pool)
{
    struct sp_model_free_note *note;

    while ((note = pool->free_notes) != NULL) {
        pool->free_notes = note->next;
        free(note);
    }
}

static void reset_used_high(struct sp_model_pool *pool)
{
    pool->imported.used_high = pool->imported.used;
    pool->noted_high = 0;
    sp_reuse_reset_used_high(pool->reuse);
}

static void reset_reserved_high(struct sp_model_pool *pool)
{
    pool->imported.reserved_high = pool->imported.reserved;
    sp_reuse_reset_reserved_high(pool->reuse);
}

/* ---- attributes ---------------------------------------------------------------------- */

/* The member of the policy that an attribute is; NULL if it is none. */
static bool *flag_of(struct sp_model_pool *pool, int attribute)
{
    struct sp_reuse_policy *policy = sp_reuse_policy(pool->reuse);

    switch (attribute) {
    case SP_CU_POOL_REUSE_FOLLOW_EVENT_DEPENDENCIES:
        return &policy->follows_events;
    case SP_CU_POOL_REUSE_ALLOW_OPPORTUNISTIC:
        return &policy->is_opportunistic;
    case SP_CU_POOL_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
        return &policy->allows_internal_wait;
    default:
        return NULL;
    }
}

static bool get_number(struct sp_model_pool *pool, int attribute, uint64_t *number_out)
{
    struct sp_model_pool_stats stats;

    sp_model_pool_stats(pool, &stats);
    switch (attribute) {
    case SP_CU_POOL_RELEASE_THRESHOLD:
        *number_out = pool->threshold;
        return true;
    case SP_CU_POOL_RESERVED_MEM_CURRENT:
        *number_out = stats.reserved;
        return true;
    case SP_CU_POOL_RESERVED_MEM_HIGH:
        *number_out = stats.reserved_high;
        return true;
    case SP_CU_POOL_USED_MEM_CURRENT:
        *number_out = stats.used;
        return true;
    case SP_CU_POOL_USED_MEM_HIGH:
        *number_out = stats.used_high;
        return true;
    default:
        return false;
    }
}

static sp_cu_result get_locked(sp_cu_pool handle, int attribute, void *value_out)
{
    struct sp_model_pool *pool = sp_model_pool_get(handle);
    const bool *flag;
    uint64_t number;
    int word;

    if (pool == NULL || value_out == NULL)
        return SP_CU_INVALID_VALUE;
    flag = flag_of(pool, attribute);
    if (flag != NULL) {
        word = *flag;
        memcpy(value_out, &word, sizeof(word));
        return SP_CU_SUCCESS;
    }
    if (!get_number(pool, attribute, &number))
        return SP_CU_INVALID_VALUE;
    memcpy(value_out, &number, sizeof(number));
    return SP_CU_SUCCESS;
}

sp_cu_result sp_model_cuMemPoolGetAttribute(sp_cu_pool pool, int attribute, void *value_out)
{
    SP_MODEL_ENTER(cuMemPoolGetAttribute);
    return sp_model_leave(get_locked(pool, attribute, value_out));
}

static sp_cu_result set_flag(bool *flag, int word)
{
    if (word != 0 && word != 1 && sp_model_switch(SP_SWITCH_flag_not_bool) != 0)
        return SP_CU_INVALID_VALUE;
    *flag = word != 0;
    return SP_CU_SUCCESS;
}

static sp_cu_result set_number(struct sp_model_pool *pool, int attribute, uint64_t number)
{
    switch (attribute) {
    case SP_CU_POOL_RELEASE_THRESHOLD:
        pool->threshold = number;
        return SP_CU_SUCCESS;
    case SP_CU_POOL_RESERVED_MEM_HIGH:
        if (number != 0)
            return SP_CU_INVALID_VALUE;
        reset_reserved_high(pool);
        return SP_CU_SUCCESS;
    case SP_CU_POOL_USED_MEM_HIGH:
        if (number != 0)
            return SP_CU_INVALID_VALUE;
        reset_used_high(pool);
        return SP_CU_SUCCESS;
    default:
        return SP_CU_INVALID_VALUE;
    }
}

static sp_cu_result set_locked(sp_cu_pool handle, int attribute, const void *value)
{
    struct sp_model_pool *pool = sp_model_pool_get(handle);
    bool *flag;
    uint64_t number;
    int word;

    if (pool == NULL || value == NULL ||
        attribute < SP_CU_POOL_REUSE_FOLLOW_EVENT_DEPENDENCIES ||
        attribute > SP_CU_POOL_USED_MEM_HIGH)
        return SP_CU_INVALID_VALUE;
    flag = flag_of(pool, attribute);
    if (flag != NULL) {
        memcpy(&word, value, sizeof(word));
        return set_flag(flag, word);
    }
    memcpy(&number, value, sizeof(number));
    return set_number(pool, attribute, number);
}

sp_cu_result sp_model_cuMemPoolSetAttribute(sp_cu_pool pool, int attribute, void *value)
{
    SP_MODEL_ENTER(cuMemPoolSetAttribute);
    return sp_model_leave(set_locked(pool, attribute, value));
}
