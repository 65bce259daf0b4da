/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Locks with ranks, and a lock that costs its owner two plain stores. */
#ifndef SP_LOCK_H
#define SP_LOCK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

/* A thread takes locks in rising rank. */
enum sp_rank {
    SP_RANK_CAPTURE = 1,
    SP_RANK_REGISTRY,
    SP_RANK_GROWTH,
    SP_RANK_POOL,
    SP_RANK_ORDER,
    SP_RANK_MODEL,
    SP_RANK_META
};

struct sp_lock {
    pthread_mutex_t mutex;
    enum sp_rank rank;
};

#define SP_LOCK_INITIALIZER(lock_rank)                          \
    {                                                           \
        .mutex = PTHREAD_MUTEX_INITIALIZER, .rank = (lock_rank) \
    }

void sp_lock_init(struct sp_lock *lock, enum sp_rank rank);
void sp_lock_fini(struct sp_lock *lock);
void sp_lock_take(struct sp_lock *lock);
void sp_lock_give(struct sp_lock *lock);

/* The same for one of several locks of a rank, as a fork takes them; not checked. */
void sp_lock_take_all(struct sp_lock *lock);
void sp_lock_give_all(struct sp_lock *lock);

/*
 * A section that one thread, the owner, enters and leaves all the time, and another thread
 * closes now and then. The owner pays two plain stores and a load; the other pays a barrier on
 * every processor (membarrier(2)). Where the system has no membarrier, and under the thread
 * sanitizer, which does not know it, the owner's store is sequentially consistent instead.
 *
 *   inside(owner) => busy == 1        closed && busy == 0 => the owner is not inside
 */
struct sp_bias {
    _Atomic unsigned busy;
    _Atomic unsigned closed;
};

/* True if owners must use the ordered store; set before the first sp_bias_enter(). */
extern bool sp_bias_is_ordered;

/* Decide how owners enter; once a process, before any thread uses a section. */
void sp_bias_setup(void);

/* Owner: enter the section; false (and not inside) if it is closed. `is_ordered` is
 * sp_bias_is_ordered, or false where the caller has made sure of it. */
static inline bool sp_bias_enter_as(struct sp_bias *bias, bool is_ordered)
{
    if (is_ordered) {
        atomic_store_explicit(&bias->busy, 1, memory_order_seq_cst);
    } else {
        atomic_store_explicit(&bias->busy, 1, memory_order_relaxed);
        atomic_signal_fence(memory_order_seq_cst); /* membarrier makes it a real one. */
    }
    if (__builtin_expect(atomic_load_explicit(&bias->closed, memory_order_seq_cst) == 0, 1))
        return true;
    atomic_store_explicit(&bias->busy, 0, memory_order_release);
    return false;
}

static inline bool sp_bias_enter(struct sp_bias *bias)
{
    return sp_bias_enter_as(bias, sp_bias_is_ordered);
}

/* Owner: leave the section. */
static inline void sp_bias_leave(struct sp_bias *bias)
{
    atomic_store_explicit(&bias->busy, 0, memory_order_release);
}

/* Another thread: close a section; sp_bias_wait() then waits until its owner is out. Between
 * the two, once for any number of sections, sp_bias_barrier() is called. Closing is not
 * counted: one thread at a time closes a section (the pool's growth lock sees to that). */
void sp_bias_close(struct sp_bias *bias);
void sp_bias_barrier(void);
void sp_bias_wait(struct sp_bias *bias);
void sp_bias_open(struct sp_bias *bias);

#endif /* SP_LOCK_H */
