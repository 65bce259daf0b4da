/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A set of counters a thread, so that counting costs its owner a load and a store and no two
 * threads write one cache line. Sets are never given back: when a thread ends, its set waits
 * for the next thread, which goes on counting in it. There is no lock, so that a forked child
 * can count whatever its parent's threads were doing. */
#include "config.h"

#include "src/starpu/counters.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "src/util/meta.h"

/* Written by the thread that has it; by any thread if it is the common set. */
struct counter_set {
    _Atomic uint64_t values[SP_MAX_STARPU_NODES][SP_N_COUNTERS];
    _Atomic bool is_taken;
    struct counter_set *next; /* constant once the set is in the list */
};

static struct {
    struct counter_set common; /* of threads that have no set */
    struct counter_set *_Atomic first;
    pthread_once_t once;
    pthread_key_t key; /* its destructor gives a thread's set back */
    bool has_key;
} counters = {.once = PTHREAD_ONCE_INIT};

/* initial-exec: the general model may call malloc at a thread's first access. */
static __thread struct counter_set *mine __attribute__((tls_model("initial-exec")));

static void give_set(void *set)
{
    mine = NULL;
    atomic_store_explicit(&((struct counter_set *)set)->is_taken, false, memory_order_release);
}

static void make_key(void)
{
    counters.has_key = pthread_key_create(&counters.key, give_set) == 0;
}

static struct counter_set *new_set(void)
{
    struct counter_set *set = sp_meta_alloc(sizeof(*set));

    if (set == NULL)
        return NULL;
    atomic_store_explicit(&set->is_taken, true, memory_order_relaxed);
    set->next = atomic_load_explicit(&counters.first, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&counters.first, &set->next, set,
                                                  memory_order_release, memory_order_relaxed))
        ;
    return set;
}

static struct counter_set *take_set(void)
{
    struct counter_set *set = atomic_load_explicit(&counters.first, memory_order_acquire);

    pthread_once(&counters.once, make_key);
    if (!counters.has_key)
        return NULL;
    for (; set != NULL; set = set->next) {
        bool is_taken = false;

        if (atomic_compare_exchange_strong(&set->is_taken, &is_taken, true))
            break;
    }
    if (set == NULL)
        set = new_set();
    if (set == NULL)
        return NULL;
    if (pthread_setspecific(counters.key, set) != 0) {
        give_set(set);
        return NULL;
    }
    return set;
}

/* `set` is the calling thread's, or NULL. */
static inline void add(struct counter_set *set, unsigned node, enum sp_counter counter,
                       uint64_t n)
{
    _Atomic uint64_t *value;

    if (node >= SP_MAX_STARPU_NODES)
        node = SP_MAX_STARPU_NODES - 1;
    if (set == NULL) {
        atomic_fetch_add_explicit(&counters.common.values[node][counter], n,
                                  memory_order_relaxed);
        return;
    }
    value = &set->values[node][counter];
    atomic_store_explicit(value, atomic_load_explicit(value, memory_order_relaxed) + n,
                          memory_order_relaxed);
}

void sp_counters_add_quick(unsigned node, enum sp_counter counter, uint64_t n)
{
    add(mine, node, counter, n);
}

void sp_counters_add(unsigned node, enum sp_counter counter, uint64_t n)
{
    if (mine == NULL)
        mine = take_set();
    add(mine, node, counter, n);
}

void sp_counters_add_served(unsigned node, enum sp_counter requests, enum sp_counter bytes,
                            uint64_t size)
{
    struct counter_set *set = mine;

    if (set == NULL)
        set = mine = take_set();
    add(set, node, requests, 1);
    add(set, node, bytes, size);
}

uint64_t sp_counters_sum(unsigned node, enum sp_counter counter)
{
    const struct counter_set *set;
    uint64_t sum;

    sum = atomic_load_explicit(&counters.common.values[node][counter], memory_order_relaxed);
    for (set = atomic_load_explicit(&counters.first, memory_order_acquire); set != NULL;
         set = set->next)
        sum += atomic_load_explicit(&set->values[node][counter], memory_order_relaxed);
    return sum;
}
