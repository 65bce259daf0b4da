/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which thread has which caches, and what happens to them when it ends. The fast paths are in
 * front.h and alloc.c. */
#include "config.h"

#include "src/pool/front.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "src/pool/pool.h"
#include "src/util/meta.h"

/* A thread without caches. Threads start here, so that the fast paths need no test. */
static struct sp_thread no_thread;

__thread struct sp_thread *sp_owner __attribute__((tls_model("initial-exec"))) = &no_thread;
__thread struct sp_thread *sp_self __attribute__((tls_model("initial-exec"))) = &no_thread;

static struct {
    pthread_once_t once;
    pthread_key_t key; /* its destructor runs when a thread ends */
    bool has_key;
    bool is_watched;
    _Atomic bool are_shut; /* the caches of all of them */
    pthread_mutex_t mutex;
    struct sp_thread *spare;
    struct sp_front *spare_fronts;
} threads = {.once = PTHREAD_ONCE_INIT, .mutex = PTHREAD_MUTEX_INITIALIZER};

/* ---- threads ------------------------------------------------------------------------- */

/* Enter a cache of the calling thread's own, unless it is empty. It is closed for moments only:
 * while another thread empties it. */
static bool enter_filled(struct sp_front *front)
{
    while (sp_front_cached(front) > 0) {
        if (sp_bias_enter(&front->bias))
            return true;
        sched_yield();
    }
    return false;
}

static void empty_all(struct sp_thread *thread)
{
    for (unsigned slot = 0; slot < SP_FRONT_SLOTS; slot++) {
        struct sp_front *front = thread->fronts[slot];
        struct starpool_pool *pool;

        if (front == NULL || !enter_filled(front))
            continue;
        pool = sp_front_pool(front);
        if (pool != NULL) {
            sp_lock_take(&pool->lock);
            sp_front_empty(front, &pool->store);
            sp_lock_give(&pool->lock);
        }
        sp_bias_leave(&front->bias);
    }
}

static void thread_ends(void *argument)
{
    struct sp_thread *thread = argument;

    empty_all(thread);
    sp_owner = sp_self = &no_thread;
    pthread_mutex_lock(&threads.mutex);
    thread->next = threads.spare;
    threads.spare = thread;
    pthread_mutex_unlock(&threads.mutex);
}

static void make_key(void)
{
    threads.has_key = pthread_key_create(&threads.key, thread_ends) == 0;
}

/* The calling thread's record: its own, a spare one, or a new one. */
static struct sp_thread *thread_get(bool may_make)
{
    struct sp_thread *thread = sp_owner;

    if (thread != &no_thread)
        return thread;
    pthread_once(&threads.once, make_key);
    if (!threads.has_key)
        return NULL;
    pthread_mutex_lock(&threads.mutex);
    thread = threads.spare;
    if (thread != NULL)
        threads.spare = thread->next;
    pthread_mutex_unlock(&threads.mutex);
    if (thread == NULL && may_make)
        thread = sp_meta_alloc(sizeof(*thread));
    if (thread == NULL)
        return NULL;
    if (pthread_setspecific(threads.key, thread) != 0) {
        /* Without the destructor its blocks would be stranded until the next drain. */
        thread_ends(thread);
        return NULL;
    }
    sp_owner = thread;
    sp_self = threads.is_watched ? &no_thread : thread;
    return thread;
}

void sp_front_watch(bool is_watched)
{
    threads.is_watched = is_watched;
    sp_self = is_watched ? &no_thread : sp_owner;
}

void sp_fronts_shut(bool are_shut)
{
    atomic_store(&threads.are_shut, are_shut);
}

bool sp_fronts_are_shut(void)
{
    return atomic_load(&threads.are_shut);
}

/* ---- caches -------------------------------------------------------------------------- */

struct sp_front *sp_front_make(void)
{
    struct sp_front *front;

    pthread_mutex_lock(&threads.mutex);
    front = threads.spare_fronts;
    if (front != NULL)
        threads.spare_fronts = front->next;
    pthread_mutex_unlock(&threads.mutex);
    if (front == NULL)
        front = sp_meta_alloc(sizeof(*front));
    for (unsigned class = 0; front != NULL && class < SP_N_CLASSES; class ++)
        sp_magazine_set_top(&front->magazines[class], front->magazines[class].blocks);
    return front;
}

void sp_front_drop(struct sp_front *front)
{
    if (front == NULL)
        return;
    pthread_mutex_lock(&threads.mutex);
    front->next = threads.spare_fronts;
    threads.spare_fronts = front;
    pthread_mutex_unlock(&threads.mutex);
}

/* With the pool's lock: make `front` a cache of the pool; it is in no pool's list. */
static void join(struct sp_front *front, struct starpool_pool *pool)
{
    if (sp_fronts_are_shut())
        sp_bias_close(&front->bias);
    front->missed_class = SP_NO_CLASS;
    atomic_store_explicit(&front->n_allocs, 0, memory_order_relaxed);
    front->n_moved = 0;
    front->next = atomic_load_explicit(&pool->fronts, memory_order_relaxed);
    atomic_store_explicit(&front->pool, pool, memory_order_relaxed);
    atomic_store_explicit(&pool->fronts, front, memory_order_release);
}

struct sp_front *sp_front_get(struct starpool_pool *pool, bool may_make)
{
    struct sp_thread *thread;
    struct sp_front *front;

    if (pool->slot == SP_FRONT_SLOTS)
        return NULL;
    thread = thread_get(may_make);
    if (thread == NULL)
        return NULL;
    front = thread->fronts[pool->slot];
    if (front != NULL && sp_front_pool(front) == pool)
        return front;
    if (front == NULL) {
        front = may_make ? sp_front_make() : NULL;
        sp_lock_take(&pool->lock);
        if (front == NULL) {
            front = pool->spare_front;
            pool->spare_front = NULL;
        }
    } else {
        sp_lock_take(&pool->lock);
    }
    if (front != NULL) {
        /* The slot's last pool has let go of it, emptied, under its own lock. */
        if (pool->is_destroyed)
            front = NULL;
        else
            join(front, pool);
    }
    sp_lock_give(&pool->lock);
    if (front != NULL)
        thread->fronts[pool->slot] = front;
    return front;
}

void sp_front_empty(struct sp_front *front, struct sp_store *store)
{
    for (unsigned class = 0; class < SP_N_CLASSES; class ++) {
        struct sp_magazine *magazine = &front->magazines[class];
        size_t n = sp_magazine_n(magazine);

        for (size_t i = n; i > 0; i--)
            sp_store_give(store, magazine->blocks[i - 1].range);
        sp_magazine_set_top(magazine, magazine->blocks);
        front->n_moved += n;
    }
    sp_front_set_cached(front, 0);
}

uint64_t sp_front_n_frees(const struct sp_front *front)
{
    uint64_t n = atomic_load_explicit(&front->n_allocs, memory_order_relaxed) + front->n_moved;

    for (unsigned class = 0; class < SP_N_CLASSES; class ++)
        n += sp_magazine_n(&front->magazines[class]);
    return n;
}

/* ---- the depot ----------------------------------------------------------------------- */

void sp_depot_init(struct sp_depot *depot)
{
    for (size_t i = 0; i < SP_DEPOT_ENTRIES; i++) {
        depot->entries[i].next = depot->spare;
        depot->spare = &depot->entries[i];
    }
}

bool sp_front_load(struct sp_front *front, struct sp_depot *depot, unsigned class)
{
    struct sp_magazine *magazine = &front->magazines[class];
    struct sp_depot_entry *entry = depot->full[class];
    size_t n = sp_magazine_n(magazine);
    size_t bytes = 0;

    if (entry == NULL || n > SP_MAGAZINE_SIZE - SP_MAGAZINE_BATCH)
        return false;
    depot->full[class] = entry->next;
    for (uint32_t i = 0; i < entry->n; i++)
        bytes += entry->blocks[i].range->size;
    memcpy(&magazine->blocks[n], entry->blocks, entry->n * sizeof(entry->blocks[0]));
    sp_magazine_set_top(magazine, magazine->blocks + n + entry->n);
    front->n_moved -= entry->n;
    sp_front_set_cached(front, sp_front_cached(front) + bytes);
    depot->cached_bytes -= bytes;
    entry->next = depot->spare;
    depot->spare = entry;
    return true;
}

bool sp_front_unload(struct sp_front *front, struct sp_depot *depot, unsigned class)
{
    struct sp_magazine *magazine = &front->magazines[class];
    struct sp_depot_entry *entry = depot->spare;
    size_t n = sp_magazine_n(magazine);
    size_t bytes = 0;

    if (entry == NULL || n < SP_MAGAZINE_BATCH)
        return false;
    /* The oldest blocks go: the latest are warm in this thread's processor. */
    for (uint32_t i = 0; i < SP_MAGAZINE_BATCH; i++)
        bytes += magazine->blocks[i].range->size;
    if (depot->cached_bytes + bytes > SP_FRONT_BOUND_HIGH)
        return false;
    depot->spare = entry->next;
    memcpy(entry->blocks, magazine->blocks, sizeof(entry->blocks));
    n -= SP_MAGAZINE_BATCH;
    memmove(magazine->blocks, &magazine->blocks[SP_MAGAZINE_BATCH],
            n * sizeof(magazine->blocks[0]));
    sp_magazine_set_top(magazine, magazine->blocks + n);
    front->n_moved += SP_MAGAZINE_BATCH;
    entry->n = SP_MAGAZINE_BATCH;
    entry->next = depot->full[class];
    depot->full[class] = entry;
    sp_front_set_cached(front, sp_front_cached(front) - bytes);
    depot->cached_bytes += bytes;
    return true;
}

void sp_depot_empty(struct sp_depot *depot, struct sp_store *store)
{
    for (unsigned class = 0; class < SP_N_CLASSES; class ++) {
        struct sp_depot_entry *entry;

        while ((entry = depot->full[class]) != NULL) {
            depot->full[class] = entry->next;
            while (entry->n > 0)
                sp_store_give(store, entry->blocks[--entry->n].range);
            entry->next = depot->spare;
            depot->spare = entry;
        }
    }
    depot->cached_bytes = 0;
}

/* ---- forks --------------------------------------------------------------------------- */

void sp_front_freeze(void)
{
    pthread_mutex_lock(&threads.mutex);
}

void sp_front_thaw(void)
{
    pthread_mutex_unlock(&threads.mutex);
}
