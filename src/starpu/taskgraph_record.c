/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* From a log to blocks. An address that is freed ends the block that was last taken there; one
 * that the log has not seen before belongs to a block older than the iteration. */
#include "config.h"

#include "src/starpu/taskgraph_record.h"

#include <stdlib.h>
#include <string.h>

#include "src/starpu/taskgraph_map.h"
#include "src/util/util.h"

/* ---- keys ----------------------------------------------------------------------------- */

static uint64_t request_hash(const struct sp_tg_request *request)
{
    return sp_tg_mix(request->size ^ ((uint64_t)request->node << 48) ^
                     ((uint64_t)request->door << 60));
}

static bool is_same(const struct sp_tg_request *a, const struct sp_tg_request *b)
{
    return a->size == b->size && a->node == b->node && a->door == b->door;
}

uint32_t sp_tg_keys_find(const struct sp_tg_keys *keys, const struct sp_tg_request *request)
{
    uint32_t mask = keys->n_buckets - 1;
    uint32_t i;

    if (keys->n_buckets == 0)
        return SP_TG_NONE;
    for (i = (uint32_t)request_hash(request) & mask; keys->buckets[i] != 0;
         i = (i + 1) & mask) {
        if (is_same(&keys->keys[keys->buckets[i] - 1].request, request))
            return keys->buckets[i] - 1;
    }
    return SP_TG_NONE;
}

static void put_bucket(struct sp_tg_keys *keys, uint32_t key)
{
    uint32_t mask = keys->n_buckets - 1;
    uint32_t i = (uint32_t)request_hash(&keys->keys[key].request) & mask;

    while (keys->buckets[i] != 0)
        i = (i + 1) & mask;
    keys->buckets[i] = key + 1;
}

static bool grow_keys(struct sp_tg_keys *keys)
{
    uint32_t room = keys->room == 0 ? 64 : 2 * keys->room;
    struct sp_tg_key *larger = realloc(keys->keys, room * sizeof(*larger));
    uint32_t i;

    if (larger == NULL)
        return false;
    keys->keys = larger;
    free(keys->buckets);
    keys->buckets = calloc((size_t)4 * room, sizeof(*keys->buckets));
    keys->n_buckets = keys->buckets == NULL ? 0 : 4 * room;
    if (keys->buckets == NULL)
        return false;
    keys->room = room;
    for (i = 0; i < keys->n; i++)
        put_bucket(keys, i);
    return true;
}

static uint32_t find_or_add(struct sp_tg_keys *keys, const struct sp_tg_request *request)
{
    uint32_t key = sp_tg_keys_find(keys, request);

    if (key != SP_TG_NONE)
        return key;
    if (keys->n == keys->room && !grow_keys(keys))
        return SP_TG_NONE;
    keys->keys[keys->n] = (struct sp_tg_key){.request = *request};
    put_bucket(keys, keys->n);
    return keys->n++;
}

/* ---- blocks --------------------------------------------------------------------------- */

static bool begin_block(struct sp_tg_record *record, const struct sp_tg_entry *entry,
                        uint32_t time)
{
    struct sp_tg_request request = {
        .size = entry->size, .node = entry->node, .door = entry->door};
    uint32_t key = find_or_add(&record->keys, &request);

    if (key == SP_TG_NONE)
        return false;
    record->blocks[record->n_blocks++] = (struct sp_tg_block){
        .size = request.size,
        .key = key,
        .number = record->keys.keys[key].count++,
        .lower = time,
        .upper = record->end,
        .task = entry->task,
        .is_output = true,
    };
    return true;
}

/* Frees of older blocks are part of the order, too: they come as block SP_TG_NONE. */
static void note_order(struct sp_tg_record *record, uint8_t kind, uint32_t index)
{
    uint64_t what = 0;

    if (index != SP_TG_NONE) {
        const struct sp_tg_block *block = &record->blocks[index];

        what = request_hash(&record->keys.keys[block->key].request) + block->number + 1;
    }
    record->order_hash = sp_tg_mix(record->order_hash ^ sp_tg_mix(what + kind));
}

/* A free at `time` of a block, or of one that is older than the log. */
static void end_block(struct sp_tg_record *record, uint32_t block, uint32_t time)
{
    note_order(record, SP_TG_FREE, block);
    if (block == SP_TG_NONE)
        return;
    record->blocks[block].upper = time;
    record->blocks[block].is_output = false;
}

/* `at`: which block lives at an address at the moment of the log that has been reached. */
static bool read_log(struct sp_tg_record *record, const struct sp_tg_log *log,
                     struct sp_tg_map *at)
{
    uint32_t i;

    for (i = 0; i < record->end; i++) {
        const struct sp_tg_entry *entry = sp_tg_log_entry(log, i);
        uint8_t kind = atomic_load_explicit(&entry->kind, memory_order_acquire);
        uint32_t block = SP_TG_NONE;

        if (kind == SP_TG_EMPTY)
            continue;
        if (kind == SP_TG_ALLOC) {
            if (!begin_block(record, entry, i))
                return false;
            block = record->n_blocks - 1;
            note_order(record, kind, block);
        } else {
            end_block(record, sp_tg_map_get(at, entry->address), i);
        }
        if (!sp_tg_map_set(at, entry->address, block))
            return false;
    }
    return true;
}

static bool index_blocks(struct sp_tg_record *record)
{
    uint32_t first = 0;
    uint32_t i;

    record->by_key = malloc(sp_max(record->n_blocks, 1) * sizeof(*record->by_key));
    if (record->by_key == NULL)
        return false;
    for (i = 0; i < record->keys.n; i++) {
        struct sp_tg_key *key = &record->keys.keys[i];

        key->first = first;
        first += key->count;
        record->counts_hash += sp_tg_mix(request_hash(&key->request) ^ sp_tg_mix(key->count));
    }
    for (i = 0; i < record->n_blocks; i++) {
        const struct sp_tg_block *block = &record->blocks[i];

        record->by_key[record->keys.keys[block->key].first + block->number] = i;
    }
    return true;
}

enum starpool_status sp_tg_record_init(struct sp_tg_record *record, const struct sp_tg_log *log)
{
    struct sp_tg_map at = {0};
    bool is_done;

    *record = (struct sp_tg_record){.end = sp_tg_log_n_entries(log)};
    if (atomic_load(&log->n_lost) > 0)
        return STARPOOL_EINVAL;
    record->blocks = calloc(sp_max(atomic_load(&log->n_allocs), 1), sizeof(*record->blocks));
    is_done = record->blocks != NULL && read_log(record, log, &at) && index_blocks(record);
    sp_tg_map_fini(&at);
    if (is_done)
        return STARPOOL_OK;
    sp_tg_record_fini(record);
    return STARPOOL_ENOMEM;
}

void sp_tg_record_fini(struct sp_tg_record *record)
{
    free(record->keys.keys);
    free(record->keys.buckets);
    free(record->blocks);
    free(record->by_key);
    *record = (struct sp_tg_record){0};
}

static void *copy_array(const void *array, size_t size)
{
    void *copy = malloc(sp_max(size, 1));

    if (copy != NULL && size > 0)
        memcpy(copy, array, size);
    return copy;
}

bool sp_tg_record_copy(struct sp_tg_record *copy_out, const struct sp_tg_record *record)
{
    const struct sp_tg_keys *keys = &record->keys;
    struct sp_tg_record copy = *record;

    copy.keys.keys = copy_array(keys->keys, keys->room * sizeof(*keys->keys));
    copy.keys.buckets = copy_array(keys->buckets, keys->n_buckets * sizeof(*keys->buckets));
    copy.blocks = copy_array(record->blocks, record->n_blocks * sizeof(*record->blocks));
    copy.by_key = copy_array(record->by_key, record->n_blocks * sizeof(*record->by_key));
    if (copy.keys.keys == NULL || copy.keys.buckets == NULL || copy.blocks == NULL ||
        copy.by_key == NULL) {
        sp_tg_record_fini(&copy);
        return false;
    }
    *copy_out = copy;
    return true;
}
