/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Addresses are decided while the graph is captured. Memory may serve again if what was
 * captured before its free comes before what is captured now, by a path in the graph; so
 * branches that run at once never share it. A free adds no node: it only notes where the stream
 * stands. A chunk is a block of the size that was missing, so that nothing is left over when
 * the capture ends. */
#include "config.h"

#include "graph/arena.h"

#include <stdlib.h>

#include "graph/owner.h"

/* Memory that was freed, and after what it may serve again. */
struct sp_arena_hole {
    uintptr_t start;
    size_t size;
    struct sp_arena_chunk *chunk;
    struct sp_place *places; /* [n_places] */
    size_t n_places;
    struct sp_arena_hole *next;
};

struct sp_arena *sp_arena_of(struct sp_owner *owner, void *pool)
{
    struct sp_arena *arena = owner->arenas;

    while (arena != NULL && arena->pool != pool)
        arena = arena->next;
    if (arena != NULL)
        return arena;
    arena = calloc(1, sizeof(*arena));
    if (arena == NULL)
        return NULL;
    arena->pool = pool;
    arena->next = owner->arenas;
    owner->arenas = arena;
    return arena;
}

enum starpool_status sp_arena_add_chunk(struct sp_arena *arena, uintptr_t start, size_t size,
                                        void *what, struct sp_arena_chunk **chunk_out)
{
    struct sp_arena_chunk *chunk = malloc(sizeof(*chunk));

    if (chunk == NULL)
        return STARPOOL_ENOMEM;
    *chunk = (struct sp_arena_chunk){start, size, what, arena->chunks};
    arena->chunks = chunk;
    arena->size += size;
    *chunk_out = chunk;
    return STARPOOL_OK;
}

/* ---- holes ------------------------------------------------------------------------------- */

static bool touches(const struct sp_arena_hole *hole, const struct sp_arena_hole *next)
{
    return next != NULL && next->chunk == hole->chunk &&
           hole->start + hole->size == next->start;
}

static void drop_hole(struct sp_arena_hole **link)
{
    struct sp_arena_hole *hole = *link;

    *link = hole->next;
    free(hole->places);
    free(hole);
}

/* Holes that touch, all within the horizon, from here on; their size. */
static size_t run_from(const struct sp_arena_hole *hole, const struct sp_horizon *horizon)
{
    size_t size = 0;

    while (sp_horizon_covers(horizon, hole->places, hole->n_places)) {
        size += hole->size;
        if (!touches(hole, hole->next))
            break;
        hole = hole->next;
    }
    return size;
}

bool sp_arena_take(struct sp_arena *arena, size_t size, const struct sp_horizon *horizon,
                   uintptr_t *start_out, struct sp_arena_chunk **chunk_out)
{
    struct sp_arena_hole **best = NULL, *hole;
    size_t best_size = SIZE_MAX, missing = size;

    for (struct sp_arena_hole **link = &arena->holes; *link != NULL; link = &(*link)->next) {
        size_t found = run_from(*link, horizon);

        if (found >= size && found < best_size) {
            best = link;
            best_size = found;
        }
    }
    if (best == NULL)
        return false;
    *start_out = (*best)->start;
    *chunk_out = (*best)->chunk;
    while ((hole = *best) != NULL && missing >= hole->size) {
        missing -= hole->size;
        drop_hole(best);
        if (missing == 0)
            return true;
    }
    if (hole != NULL) {
        hole->start += missing;
        hole->size -= missing;
    }
    return true;
}

/* What was freed before and comes before `hole`, too, is one with it. */
static void join_next(struct sp_arena_hole *hole, const struct sp_horizon *horizon)
{
    struct sp_arena_hole *next = hole->next;

    if (!touches(hole, next) || !sp_horizon_covers(horizon, next->places, next->n_places))
        return;
    hole->size += next->size;
    drop_hole(&hole->next);
}

static void join_previous(struct sp_arena_hole **link, const struct sp_horizon *horizon)
{
    struct sp_arena_hole *previous = *link, *hole = previous->next;

    if (!touches(previous, hole) ||
        !sp_horizon_covers(horizon, previous->places, previous->n_places))
        return;
    hole->start = previous->start;
    hole->size += previous->size;
    drop_hole(link);
}

enum starpool_status sp_arena_give(struct sp_arena *arena, struct sp_arena_chunk *chunk,
                                   uintptr_t start, size_t size, struct sp_place *places,
                                   size_t n_places, const struct sp_horizon *horizon)
{
    struct sp_arena_hole **link = &arena->holes, **previous = NULL;
    struct sp_arena_hole *hole = malloc(sizeof(*hole));

    if (hole == NULL)
        return STARPOOL_ENOMEM;
    while (*link != NULL && (*link)->start < start) {
        previous = link;
        link = &(*link)->next;
    }
    *hole = (struct sp_arena_hole){start, size, chunk, places, n_places, *link};
    *link = hole;
    join_next(hole, horizon);
    if (previous != NULL)
        join_previous(previous, horizon);
    return STARPOOL_OK;
}

void sp_arenas_fini(struct sp_owner *owner)
{
    struct sp_arena *arena, *next;
    struct sp_arena_chunk *chunk, *next_chunk;

    for (arena = owner->arenas; arena != NULL; arena = next) {
        next = arena->next;
        while (arena->holes != NULL)
            drop_hole(&arena->holes);
        for (chunk = arena->chunks; chunk != NULL; chunk = next_chunk) {
            next_chunk = chunk->next;
            free(chunk);
        }
        free(arena);
    }
    owner->arenas = NULL;
}
