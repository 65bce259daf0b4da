/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Cuts each arena into cells at every place where a planned block begins or ends, and makes the
 * tables of the places where blocks begin and of sizes. There are at most two cells a block, so
 * that the flags of a range are few words, however large it is. */
#include "config.h"

#include "src/starpu/taskgraph_table.h"

#include <stdlib.h>

#include "src/util/util.h"

/* ---- cells ---------------------------------------------------------------------------- */

/* The cuts of an arena, each once, in order. */
static uint32_t find_cuts(const struct sp_tg_table *table, uint32_t arena, uint64_t *cuts)
{
    uint32_t n = 0;
    uint32_t n_kept = 0;
    uint32_t i;

    for (i = 0; i < table->record.n_blocks; i++) {
        const struct sp_tg_slot *slot = &table->slots[i];

        if (slot->arena != arena)
            continue;
        cuts[n++] = slot->offset;
        cuts[n++] = slot->offset + slot->size;
    }
    qsort(cuts, n, sizeof(*cuts), sp_compare_u64);
    for (i = 0; i < n; i++) {
        if (n_kept == 0 || cuts[n_kept - 1] != cuts[i])
            cuts[n_kept++] = cuts[i];
    }
    return n_kept;
}

/* Which of the cuts a place is. */
static uint32_t find_cut(const uint64_t *cuts, uint32_t n, uint64_t place)
{
    const uint64_t *cut = bsearch(&place, cuts, n, sizeof(*cuts), sp_compare_u64);

    SP_ASSERT(cut != NULL);
    return (uint32_t)(cut - cuts);
}

static void cut_arena(struct sp_tg_table *table, uint32_t arena, uint64_t *cuts)
{
    uint32_t n = find_cuts(table, arena, cuts);
    uint32_t i;

    for (i = 0; i < table->record.n_blocks; i++) {
        struct sp_tg_slot *slot = &table->slots[i];
        uint32_t first;

        if (slot->arena != arena)
            continue;
        first = find_cut(cuts, n, slot->offset);
        slot->cell = table->n_cells + first;
        slot->n_cells = find_cut(cuts, n, slot->offset + slot->size) - first;
    }
    table->n_cells += n;
}

static bool cut_arenas(struct sp_tg_table *table)
{
    uint64_t *cuts = malloc(2 * sp_max(table->record.n_blocks, 1) * sizeof(*cuts));
    uint32_t i;

    if (cuts == NULL)
        return false;
    for (i = 0; i < table->n_arenas; i++)
        cut_arena(table, i, cuts);
    free(cuts);
    table->busy = calloc(table->n_cells / 64 + 1, sizeof(*table->busy));
    return table->busy != NULL;
}

/* ---- starts --------------------------------------------------------------------------- */

static uint32_t bucket_of(const struct sp_tg_table *table, uint32_t arena, uint64_t offset)
{
    /* Knuth's multiplicative hash. */
    uint64_t hash = ((offset >> 6) + arena) * UINT64_C(0x9e3779b97f4a7c15);

    return (uint32_t)(hash >> 32) & (table->n_buckets - 1);
}

uint32_t sp_tg_table_find_start(const struct sp_tg_table *table, uint32_t arena,
                                uint64_t offset)
{
    uint32_t i;

    for (i = bucket_of(table, arena, offset); table->buckets[i] != 0;
         i = (i + 1) & (table->n_buckets - 1)) {
        const struct sp_tg_start *start = &table->starts[table->buckets[i] - 1];

        if (start->offset == offset && start->arena == arena)
            return table->buckets[i] - 1;
    }
    return SP_TG_NONE;
}

static void add_start(struct sp_tg_table *table, struct sp_tg_slot *slot)
{
    uint32_t start = sp_tg_table_find_start(table, slot->arena, slot->offset);
    uint32_t i = bucket_of(table, slot->arena, slot->offset);

    if (start == SP_TG_NONE) {
        start = table->n_starts++;
        table->starts[start].arena = slot->arena;
        table->starts[start].offset = slot->offset;
        while (table->buckets[i] != 0)
            i = (i + 1) & (table->n_buckets - 1);
        table->buckets[i] = start + 1;
    }
    slot->start = start;
}

/* ---- ranks ---------------------------------------------------------------------------- */

struct ranked {
    uint32_t arena, slot;
    uint64_t size;
};

static int compare_ranked(const void *left, const void *right)
{
    const struct ranked *a = left;
    const struct ranked *b = right;

    if (a->arena != b->arena)
        return a->arena < b->arena ? -1 : 1;
    if (a->size != b->size)
        return a->size < b->size ? -1 : 1;
    return (a->slot > b->slot) - (a->slot < b->slot);
}

static bool rank_slots(struct sp_tg_table *table)
{
    uint32_t n = table->record.n_blocks;
    struct ranked *ranked = malloc(sp_max(n, 1) * sizeof(*ranked));
    uint32_t i;

    table->by_size = malloc(sp_max(n, 1) * sizeof(*table->by_size));
    if (ranked == NULL || table->by_size == NULL) {
        free(ranked);
        return false;
    }
    for (i = 0; i < n; i++)
        ranked[i] = (struct ranked){table->slots[i].arena, i, table->slots[i].size};
    qsort(ranked, n, sizeof(*ranked), compare_ranked);
    for (i = 0; i < n; i++) {
        table->by_size[i] = ranked[i].slot;
        table->slots[ranked[i].slot].rank = i;
    }
    free(ranked);
    return true;
}

bool sp_tg_table_cut(struct sp_tg_table *table)
{
    uint32_t n = table->record.n_blocks;
    uint32_t i;

    table->n_buckets = 64;
    while (table->n_buckets < 2 * (size_t)n)
        table->n_buckets *= 2;
    table->starts = calloc(sp_max(n, 1), sizeof(*table->starts));
    table->buckets = calloc(table->n_buckets, sizeof(*table->buckets));
    if (table->starts == NULL || table->buckets == NULL)
        return false;
    for (i = 0; i < n; i++) {
        if (table->slots[i].arena != SP_TG_NONE)
            add_start(table, &table->slots[i]);
    }
    return cut_arenas(table) && rank_slots(table);
}
