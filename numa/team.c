/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Threads that touch memory together. They live for one call, block every signal, and take
 * parts of the range from a common counter; the caller works as well. */
#include "config.h"

#include "numa/team.h"

#include <signal.h>

#include "numa/topo_bind.h"
#include "src/util/util.h"

/* A range below this is touched faster than threads start. */
#define PARALLEL_BYTES (32 * SP_MIB)

/* Each thread should have this much to do. */
#define SHARE_BYTES (16 * SP_MIB)

/* What a thread takes at a time: a few transparent huge pages. */
#define PART_BYTES (4 * SP_MIB)

/* Enough for hwloc and a thread sanitizer. */
#define STACK_BYTES SP_MIB

static void work(struct sp_team *team)
{
    for (;;) {
        size_t begin = atomic_fetch_add_explicit(&team->next, PART_BYTES, memory_order_relaxed);
        int error, none = 0;

        if (begin >= team->size ||
            atomic_load_explicit(&team->error, memory_order_relaxed) != 0)
            return;
        error = team->touch(team->base + begin, sp_min(PART_BYTES, team->size - begin),
                            team->may_touch);
        if (error != 0)
            (void)atomic_compare_exchange_strong(&team->error, &none, error);
    }
}

static void *helper_main(void *arg)
{
    struct sp_team *team = arg;
    unsigned round = 0;

    sp_topo_move_thread(team->topo, team->node);
    (void)pthread_mutex_lock(&team->lock);
    for (;;) {
        while (team->round == round && !team->is_over)
            (void)pthread_cond_wait(&team->has_work, &team->lock);
        if (team->is_over)
            break;
        round = team->round;
        (void)pthread_mutex_unlock(&team->lock);
        work(team);
        (void)pthread_mutex_lock(&team->lock);
        if (--team->n_busy == 0)
            (void)pthread_cond_signal(&team->is_done);
    }
    (void)pthread_mutex_unlock(&team->lock);
    return NULL;
}

static void start_helpers(struct sp_team *team, int n_wanted)
{
    sigset_t all, before;
    pthread_attr_t attributes;

    if (pthread_attr_init(&attributes) != 0)
        return;
    (void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
    /* A signal meant for the program must not be handled on a thread that it does not know. */
    (void)sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &before) == 0) {
        while (team->n_helpers < n_wanted &&
               pthread_create(&team->helpers[team->n_helpers], &attributes, helper_main,
                              team) == 0)
            team->n_helpers++;
        (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    (void)pthread_attr_destroy(&attributes);
}

void sp_team_open(struct sp_team *team, const struct sp_topo *topo, int node, size_t size,
                  sp_touch_fn touch, bool may_touch)
{
    size_t n_wanted = 0;

    team->topo = topo;
    team->node = node;
    team->touch = touch;
    team->may_touch = may_touch;
    team->n_helpers = 0;
    team->round = 0;
    team->n_busy = 0;
    team->is_over = false;
    (void)pthread_mutex_init(&team->lock, NULL);
    (void)pthread_cond_init(&team->has_work, NULL);
    (void)pthread_cond_init(&team->is_done, NULL);
    if (size >= PARALLEL_BYTES) {
        size_t n_cpus = sp_topo_cpus_near(topo, node);

        n_wanted = sp_min(sp_min(n_cpus, size / SHARE_BYTES), SP_TEAM_MAX_HELPERS + 1);
    }
    if (n_wanted > 1)
        start_helpers(team, (int)n_wanted - 1);
}

int sp_team_touch(struct sp_team *team, void *base, size_t size)
{
    (void)pthread_mutex_lock(&team->lock);
    team->base = base;
    team->size = size;
    atomic_store(&team->next, 0);
    atomic_store(&team->error, 0);
    team->n_busy = team->n_helpers;
    team->round++;
    (void)pthread_cond_broadcast(&team->has_work);
    (void)pthread_mutex_unlock(&team->lock);

    work(team);

    (void)pthread_mutex_lock(&team->lock);
    while (team->n_busy > 0)
        (void)pthread_cond_wait(&team->is_done, &team->lock);
    (void)pthread_mutex_unlock(&team->lock);
    return atomic_load(&team->error);
}

void sp_team_close(struct sp_team *team)
{
    (void)pthread_mutex_lock(&team->lock);
    team->is_over = true;
    (void)pthread_cond_broadcast(&team->has_work);
    (void)pthread_mutex_unlock(&team->lock);
    for (int i = 0; i < team->n_helpers; i++)
        (void)pthread_join(team->helpers[i], NULL);
    (void)pthread_cond_destroy(&team->is_done);
    (void)pthread_cond_destroy(&team->has_work);
    (void)pthread_mutex_destroy(&team->lock);
}
