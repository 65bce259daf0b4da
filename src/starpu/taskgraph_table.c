/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Serving and taking back planned blocks. The plan only says where to look: whether a range is
 * free, its flags say, so that an iteration that goes another way, or threads that meet, can
 * make a request fail but never give one place to two blocks. */
#include "config.h"

#include "src/starpu/taskgraph_table.h"

#include <sched.h>
#include <stdlib.h>

#include "src/util/util.h"

/* Where the place of a request's own number is not free, so many of the same size are tried, to
 * either side. */
#define N_TRIES 16

/* ---- arenas --------------------------------------------------------------------------- */

bool sp_tg_arena_get(struct sp_tg_arena *arena)
{
    if (atomic_fetch_add_explicit(&arena->refs, 1, memory_order_acq_rel) > 0)
        return false;
    /* Whoever gave up the last reference has the memory in hand. */
    while (atomic_load_explicit(&arena->base, memory_order_acquire) != 0)
        sched_yield();
    return true;
}

void sp_tg_arena_set(struct sp_tg_arena *arena, void *base)
{
    atomic_store_explicit(&arena->base, (uintptr_t)base, memory_order_release);
}

void *sp_tg_arena_put(struct sp_tg_arena *arena)
{
    if (atomic_fetch_sub_explicit(&arena->refs, 1, memory_order_acq_rel) > 1)
        return NULL;
    /* Before the pool has it back: an address there may be anybody's then. */
    return (void *)atomic_exchange_explicit(&arena->base, 0, memory_order_acq_rel);
}

/* A block's reference, while there is another. */
static bool add_ref(struct sp_tg_arena *arena)
{
    uint32_t refs = atomic_load_explicit(&arena->refs, memory_order_relaxed);

    while (refs > 0 &&
           !atomic_compare_exchange_weak_explicit(&arena->refs, &refs, refs + 1,
                                                  memory_order_acq_rel, memory_order_relaxed))
        ;
    return refs > 0;
}

bool sp_tg_table_let_go(struct sp_tg_table *table)
{
    return atomic_exchange(&table->is_held, false);
}

/* ---- flags ---------------------------------------------------------------------------- */

/* The bits of a word that belong to cells [cell, end). */
static uint64_t cell_mask(uint32_t word, uint32_t cell, uint32_t end)
{
    uint64_t mask = ~UINT64_C(0);

    if (cell / 64 == word)
        mask &= mask << cell % 64;
    if (end / 64 == word)
        mask &= (UINT64_C(1) << end % 64) - 1;
    return mask;
}

static void clear_cells(struct sp_tg_table *table, uint32_t cell, uint32_t end)
{
    uint32_t word;

    for (word = cell / 64; 64 * (uint64_t)word < end; word++)
        atomic_fetch_and_explicit(&table->busy[word], ~cell_mask(word, cell, end),
                                  memory_order_release);
}

/* Set all flags of a range, or none. */
static bool set_cells(struct sp_tg_table *table, uint32_t cell, uint32_t end)
{
    uint32_t word;

    for (word = cell / 64; 64 * (uint64_t)word < end; word++) {
        uint64_t mask = cell_mask(word, cell, end);
        uint64_t old = atomic_load_explicit(&table->busy[word], memory_order_relaxed);

        if ((old & mask) == 0)
            old = atomic_fetch_or_explicit(&table->busy[word], mask, memory_order_acquire);
        else
            mask = 0;
        if ((old & mask) == 0 && mask != 0)
            continue;
        /* What was set by others stays, here and in the words before. */
        atomic_fetch_and_explicit(&table->busy[word], ~(mask & ~old), memory_order_release);
        clear_cells(table, cell, (uint32_t)sp_max(64 * (size_t)word, cell));
        return false;
    }
    return true;
}

/* ---- taking --------------------------------------------------------------------------- */

static void note_high(struct sp_tg_arena *arena, uint64_t end)
{
    uint64_t high = atomic_load_explicit(&arena->high, memory_order_relaxed);

    while (end > high && !atomic_compare_exchange_weak(&arena->high, &high, end))
        ;
}

/* Take a slot's range; false if some of it is in use, or the arena has just been put. */
static bool take_slot(struct sp_tg_table *table, uint32_t index, void **ptr_out)
{
    const struct sp_tg_slot *slot = &table->slots[index];
    struct sp_tg_arena *arena = &table->arenas[slot->arena];
    uint32_t end = slot->cell + slot->n_cells;

    if (!set_cells(table, slot->cell, end))
        return false;
    if (!add_ref(arena)) {
        clear_cells(table, slot->cell, end);
        return false;
    }
    atomic_store_explicit(&table->starts[slot->start].owner, index + 1, memory_order_release);
    note_high(arena, slot->offset + slot->size);
    *ptr_out =
        (void *)(atomic_load_explicit(&arena->base, memory_order_acquire) + slot->offset);
    return true;
}

/* The slot of a rank near another's, if it is as good. */
static bool take_rank(struct sp_tg_table *table, const struct sp_tg_slot *own, uint32_t rank,
                      void **ptr_out)
{
    uint32_t index = table->by_size[rank];
    const struct sp_tg_slot *slot = &table->slots[index];

    return slot->arena == own->arena && slot->size == own->size &&
           take_slot(table, index, ptr_out);
}

/* A slot's own place or, nearest first, that of another of its size. Larger ones are not
 * looked at: they would be missing where they belong. */
static bool take_near(struct sp_tg_table *table, uint32_t index, void **ptr_out)
{
    const struct sp_tg_slot *own = &table->slots[index];
    uint32_t i;

    if (take_slot(table, index, ptr_out))
        return true;
    for (i = 1; i <= N_TRIES; i++) {
        if ((own->rank >= i && take_rank(table, own, own->rank - i, ptr_out)) ||
            (table->record.n_blocks - own->rank > i &&
             take_rank(table, own, own->rank + i, ptr_out))) {
            atomic_fetch_add_explicit(&table->n_moved, 1, memory_order_relaxed);
            return true;
        }
    }
    return false;
}

/* SP_TG_N_CAUSES: it has been taken. */
static enum sp_tg_cause try_take(struct sp_tg_table *table, const struct sp_tg_request *request,
                                 size_t align, void **ptr_out)
{
    uint32_t index = sp_tg_keys_find(&table->record.keys, request);
    const struct sp_tg_key *key;
    uint32_t number, slot, arena;

    if (index == SP_TG_NONE)
        return SP_TG_UNKNOWN;
    key = &table->record.keys.keys[index];
    number = atomic_fetch_add_explicit(&table->next[index], 1, memory_order_relaxed);
    if (number >= key->count)
        return SP_TG_BEYOND;
    if (align > table->align)
        return SP_TG_UNALIGNED;
    slot = table->record.by_key[key->first + number];
    arena = table->slots[slot].arena;
    if (arena == SP_TG_NONE ||
        atomic_load_explicit(&table->arenas[arena].base, memory_order_acquire) == 0)
        return SP_TG_NO_ARENA;
    return take_near(table, slot, ptr_out) ? SP_TG_N_CAUSES : SP_TG_BUSY;
}

bool sp_tg_table_take(struct sp_tg_table *table, const struct sp_tg_request *request,
                      size_t align, void **ptr_out)
{
    enum sp_tg_cause cause;

    if (!sp_tg_gate_enter(&table->gate))
        return false;
    cause = try_take(table, request, align, ptr_out);
    atomic_fetch_add_explicit(&table->n_requests, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(cause == SP_TG_N_CAUSES ? &table->n_served
                                                      : &table->n_deviations[cause],
                              1, memory_order_relaxed);
    sp_tg_gate_leave(&table->gate);
    return cause == SP_TG_N_CAUSES;
}

/* ---- giving back ---------------------------------------------------------------------- */

static bool give_block(struct sp_tg_table *table, struct sp_tg_start *start)
{
    uint32_t owner = atomic_exchange_explicit(&start->owner, 0, memory_order_acq_rel);
    const struct sp_tg_slot *slot;

    if (owner == 0)
        return false;
    slot = &table->slots[owner - 1];
    clear_cells(table, slot->cell, slot->cell + slot->n_cells);
    return true;
}

enum sp_tg_given sp_tg_table_give(struct sp_tg_table *table, const void *ptr, void **arena_out)
{
    uint32_t i;

    *arena_out = NULL;
    for (i = 0; i < table->n_arenas; i++) {
        struct sp_tg_arena *arena = &table->arenas[i];
        uintptr_t base = atomic_load_explicit(&arena->base, memory_order_acquire);
        uintptr_t offset = (uintptr_t)ptr - base;
        uint32_t start;

        if (base == 0 || offset >= arena->size)
            continue;
        start = sp_tg_table_find_start(table, i, offset);
        if (start == SP_TG_NONE || !give_block(table, &table->starts[start]))
            return SP_TG_WRONG;
        *arena_out = sp_tg_arena_put(arena);
        return SP_TG_GIVEN;
    }
    return SP_TG_ELSEWHERE;
}

/* ---- iterations ----------------------------------------------------------------------- */

void sp_tg_table_begin(struct sp_tg_table *table)
{
    uint32_t i;

    for (i = 0; i < table->record.keys.n; i++)
        atomic_store_explicit(&table->next[i], 0, memory_order_relaxed);
    for (i = 0; i < table->n_arenas; i++)
        atomic_store_explicit(&table->arenas[i].high, 0, memory_order_relaxed);
    atomic_store_explicit(&table->n_requests, 0, memory_order_relaxed);
    atomic_store_explicit(&table->n_served, 0, memory_order_relaxed);
    atomic_store_explicit(&table->n_moved, 0, memory_order_relaxed);
    for (i = 0; i < SP_TG_N_CAUSES; i++)
        atomic_store_explicit(&table->n_deviations[i], 0, memory_order_relaxed);
    atomic_store(&table->is_held, true);
    sp_tg_gate_open(&table->gate);
}

void sp_tg_table_end(struct sp_tg_table *table)
{
    sp_tg_gate_close(&table->gate);
}

enum starpool_status sp_tg_table_init(struct sp_tg_table *table, struct sp_tg_record *record,
                                      const struct sp_tg_layout *layout)
{
    uint32_t n = record->n_blocks;
    uint32_t i;

    *table = (struct sp_tg_table){
        .record = *record,
        .n_arenas = layout->n_arenas,
        .align = layout->align,
        .slots = calloc(sp_max(n, 1), sizeof(*table->slots)),
        .arenas = calloc(sp_max(layout->n_arenas, 1), sizeof(*table->arenas)),
        .next = calloc(sp_max(record->keys.n, 1), sizeof(*table->next)),
    };
    *record = (struct sp_tg_record){0};
    if (table->slots == NULL || table->arenas == NULL || table->next == NULL)
        goto err_fini;
    for (i = 0; i < n; i++) {
        struct sp_tg_slot *slot = &table->slots[i];

        slot->offset = layout->offsets[i];
        slot->size = sp_round_up(table->record.blocks[i].size, layout->align);
        slot->arena = layout->arenas[i];
        if (slot->arena != SP_TG_NONE)
            table->arenas[slot->arena].size =
                sp_max(table->arenas[slot->arena].size, slot->offset + slot->size);
    }
    if (sp_tg_table_cut(table))
        return STARPOOL_OK;
err_fini:
    sp_tg_table_fini(table);
    return STARPOOL_ENOMEM;
}

void sp_tg_table_fini(struct sp_tg_table *table)
{
    sp_tg_record_fini(&table->record);
    free(table->slots);
    free(table->by_size);
    free(table->starts);
    free(table->buckets);
    free(table->arenas);
    free((void *)table->busy);
    free((void *)table->next);
    *table = (struct sp_tg_table){0};
}
