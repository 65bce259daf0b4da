/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Looks for an order of blocks that gives a low peak: by size, by size and time, by size and
 * number of conflicts, by time, then, as long as it may, by moving a block that reaches the
 * peak to an earlier turn in the best order so far, with a noisy order as a new start now and
 * then. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "graph/place.h"
#include "src/util/util.h"

/* What a block's turn goes by. */
enum rank {
    BY_SIZE,
    BY_AREA,      /* size times length of life */
    BY_CONFLICTS, /* size times conflicts */
    BY_LIFE,
    N_RANKS
};

/* So many changes without a gain, times the number of blocks, and a new start is made. */
#define PATIENCE 4

struct key {
    double value;
    uint32_t i;
};

struct improve {
    const struct sp_place *place;
    const struct sp_conflicts *conflicts;
    struct sp_search *search;
    struct sp_order_room *room;
    struct key *keys;      /* [n] */
    uint32_t *order;       /* [n] the current start's best */
    uint32_t *trial_order; /* [n] */
    uint64_t *trial;       /* [n] offsets */
    uint64_t *current;     /* [n] offsets that `order` gives */
    uint64_t *best;        /* [n] the caller's */
    uint64_t best_peak, current_peak;
    enum sp_fit fit, trial_fit;
};

uint64_t sp_place_end(uint64_t time_ns)
{
    uint64_t now = sp_clock_ns();

    if (time_ns == 0)
        return 0;
    return time_ns > UINT64_MAX - now ? UINT64_MAX : now + time_ns;
}

static uint64_t random_below(struct improve *improve, uint64_t bound)
{
    return sp_random(&improve->search->seed) % bound;
}

/* ---- orders -------------------------------------------------------------------------- */

static double rank_of(const struct improve *improve, uint32_t i, enum rank rank)
{
    double size = (double)improve->place->sizes[i];
    uint64_t lower, upper;

    sp_liveness_span(improve->place->liveness, improve->place->blocks[i], &lower, &upper);
    switch (rank) {
    case BY_AREA:
        return size * (double)(upper - lower);
    case BY_CONFLICTS:
        return size * (double)improve->conflicts->degree[i];
    case BY_LIFE:
        return (double)(upper - lower);
    case BY_SIZE:
    case N_RANKS:
        break;
    }
    return size;
}

static int compare_keys(const void *a, const void *b)
{
    const struct key *x = a, *y = b;

    if (x->value != y->value)
        return x->value > y->value ? -1 : 1;
    return (x->i > y->i) - (x->i < y->i);
}

/* The blocks by rank, each rank times a number from 1 - noise to 1 + noise, in percent. */
static void make_order(struct improve *improve, enum rank rank, unsigned noise)
{
    uint32_t n = improve->place->n;

    for (uint32_t i = 0; i < n; i++) {
        double factor =
            noise == 0
                ? 1
                : 1 + ((double)random_below(improve, 2 * noise + 1) - (double)noise) / 100;

        improve->keys[i] = (struct key){.value = rank_of(improve, i, rank) * factor, .i = i};
    }
    qsort(improve->keys, n, sizeof(*improve->keys), compare_keys);
    for (uint32_t k = 0; k < n; k++)
        improve->trial_order[k] = improve->keys[k].i;
}

/* ---- steps --------------------------------------------------------------------------- */

/* The work is done in any case, and with it at least one order. */
static bool is_over(const struct improve *improve)
{
    const struct sp_search *search = improve->search;

    if (improve->best_peak <= search->bound)
        return true;
    if (improve->room->n_looked == 0 || improve->room->n_looked < search->work)
        return false;
    return search->end_ns == 0 || sp_clock_ns() >= search->end_ns;
}

/* Place in the trial order; if the peak is below `limit`, it becomes the current one. */
static bool try_order(struct improve *improve, uint64_t limit)
{
    uint32_t n = improve->place->n;
    uint64_t peak = sp_place_in_order(improve->place, improve->conflicts, improve->trial_order,
                                      improve->trial_fit, limit, improve->room, improve->trial);

    improve->search->n_nodes += n;
    if (peak == UINT64_MAX)
        return false;
    improve->fit = improve->trial_fit;
    improve->current_peak = peak;
    memcpy(improve->order, improve->trial_order, n * sizeof(*improve->order));
    memcpy(improve->current, improve->trial, n * sizeof(*improve->current));
    if (peak < improve->best_peak) {
        improve->best_peak = peak;
        memcpy(improve->best, improve->current, n * sizeof(*improve->best));
    }
    return true;
}

/* A place in the current order whose block reaches the peak, of several one at random. */
static uint32_t find_top(struct improve *improve)
{
    uint32_t n = improve->place->n, found = 0, n_found = 0;

    for (uint32_t k = 0; k < n; k++) {
        uint32_t i = improve->order[k];

        if (improve->current[i] + improve->place->sizes[i] == improve->current_peak &&
            random_below(improve, ++n_found) == 0)
            found = k;
    }
    return found;
}

/* Move what reaches the peak to an earlier turn. True if the peak has become lower. */
static bool change(struct improve *improve)
{
    uint64_t peak = improve->current_peak;
    uint32_t from = find_top(improve), to, i;

    /* At the first turn a block is at the bottom; then any other block is as good. */
    if (from == 0)
        from = (uint32_t)random_below(improve, improve->place->n);
    i = improve->order[from];
    to = from == 0 ? 0 : (uint32_t)random_below(improve, from);
    memcpy(improve->trial_order, improve->order, improve->place->n * sizeof(*improve->order));
    memmove(&improve->trial_order[to + 1], &improve->trial_order[to],
            (from - to) * sizeof(*improve->order));
    improve->trial_order[to] = i;
    improve->trial_fit = improve->fit;
    return try_order(improve, peak + 1) && improve->current_peak < peak;
}

/* Every order once, and once more with the other fit. */
static void try_ranks(struct improve *improve)
{
    for (enum sp_fit fit = SP_FIT_LOWEST; fit <= SP_FIT_BEST; fit++) {
        for (enum rank rank = BY_SIZE; rank < N_RANKS && !is_over(improve); rank++) {
            make_order(improve, rank, 0);
            improve->trial_fit = fit;
            try_order(improve, improve->current_peak);
        }
    }
}

static void run(struct improve *improve)
{
    uint64_t n_idle = 0;

    improve->current_peak = UINT64_MAX;
    try_ranks(improve);
    while (!is_over(improve)) {
        n_idle = change(improve) ? 0 : n_idle + 1;
        if (n_idle < (uint64_t)PATIENCE * improve->place->n || is_over(improve))
            continue;
        make_order(improve, (enum rank)random_below(improve, N_RANKS), 50);
        improve->trial_fit = (enum sp_fit)random_below(improve, 2);
        try_order(improve, UINT64_MAX);
        n_idle = 0;
    }
}

enum starpool_status sp_place_improve(const struct sp_place *place,
                                      const struct sp_conflicts *conflicts,
                                      struct sp_search *search, uint64_t *offsets)
{
    struct sp_order_room room;
    struct improve improve = {.room = &room,
                              .place = place,
                              .conflicts = conflicts,
                              .search = search,
                              .best = offsets};
    size_t n = (size_t)place->n + 1;
    enum starpool_status status = sp_order_room_init(&room, place->n, conflicts);

    improve.keys = calloc(n, sizeof(*improve.keys));
    improve.order = calloc(n, sizeof(*improve.order));
    improve.trial_order = calloc(n, sizeof(*improve.trial_order));
    improve.trial = calloc(n, sizeof(*improve.trial));
    improve.current = calloc(n, sizeof(*improve.current));
    if (improve.keys == NULL || improve.order == NULL || improve.trial_order == NULL ||
        improve.trial == NULL || improve.current == NULL)
        status = STARPOOL_ENOMEM;
    if (status == STARPOOL_OK) {
        improve.best_peak = sp_place_peak(place, offsets);
        run(&improve);
    }
    sp_order_room_fini(&room);
    free(improve.keys);
    free(improve.order);
    free(improve.trial_order);
    free(improve.trial);
    free(improve.current);
    return status;
}
