/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Private to numa/: threads that touch memory together, for the length of one call. */
#ifndef SP_TEAM_H
#define SP_TEAM_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "numa/topo.h"

/* Helpers beside the calling thread, at most: zeroing saturates a node's memory with few. */
#define SP_TEAM_MAX_HELPERS 7

/* Touch a part of the range; 0 or an errno value. Called by several threads at once. */
typedef int (*sp_touch_fn)(void *base, size_t size, bool may_touch);

/*
 * `lock` guards round, n_busy and is_over; what a round consists of is written before the
 * round begins and not changed while n_busy > 0.
 */
struct sp_team {
    const struct sp_topo *topo;
    int node; /* helpers run near it */
    sp_touch_fn touch;
    bool may_touch; /* passed on to `touch` */
    int n_helpers;
    pthread_t helpers[SP_TEAM_MAX_HELPERS];
    pthread_mutex_t lock;
    pthread_cond_t has_work;
    pthread_cond_t is_done;
    unsigned round; /* counts up */
    int n_busy;     /* helpers still in this round */
    bool is_over;
    char *base;
    size_t size;
    _Atomic size_t next; /* [bytes] what is taken, from `base` */
    atomic_int error;    /* the first one of the round, 0 if none */
};

/* Start the helpers that `size` bytes deserve: none for a small range. Cannot fail: fewer
 * helpers only take longer. */
void sp_team_open(struct sp_team *team, const struct sp_topo *topo, int node, size_t size,
                  sp_touch_fn touch, bool may_touch);

/* Touch a range, the calling thread taking part; 0 or the first errno value. */
int sp_team_touch(struct sp_team *team, void *base, size_t size);

/* End the helpers. */
void sp_team_close(struct sp_team *team);

#endif /* SP_TEAM_H */
