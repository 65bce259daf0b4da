/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Locks with ranks. With checks compiled in, a thread that takes a lock of a rank not above
 * those it holds is stopped on the spot: such an order can deadlock, even if it did not now. */
#include "config.h"

#include "src/util/lock.h"

#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "src/util/util.h"

#if defined(__SANITIZE_THREAD__)
#define HAS_MEMBARRIER false
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HAS_MEMBARRIER false
#else
#define HAS_MEMBARRIER true
#endif
#else
#define HAS_MEMBARRIER true
#endif

bool sp_bias_is_ordered = true;

/* Bit r is set while this thread holds a lock of rank r; used with checks only. */
static __thread unsigned held_ranks;

void sp_lock_init(struct sp_lock *lock, enum sp_rank rank)
{
    pthread_mutexattr_t attributes;

    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ADAPTIVE_NP);
    pthread_mutex_init(&lock->mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
    lock->rank = rank;
}

void sp_lock_fini(struct sp_lock *lock)
{
    pthread_mutex_destroy(&lock->mutex);
}

void sp_lock_take(struct sp_lock *lock)
{
    if (SP_CHECKS) {
        SP_ASSERT(held_ranks >> lock->rank == 0);
        held_ranks |= 1U << lock->rank;
    }
    pthread_mutex_lock(&lock->mutex);
}

void sp_lock_give(struct sp_lock *lock)
{
    /* First: once it is given, another thread may free what the lock is part of. */
    if (SP_CHECKS)
        held_ranks &= ~(1U << lock->rank);
    pthread_mutex_unlock(&lock->mutex);
}

void sp_lock_take_all(struct sp_lock *lock)
{
    pthread_mutex_lock(&lock->mutex);
}

void sp_lock_give_all(struct sp_lock *lock)
{
    pthread_mutex_unlock(&lock->mutex);
}

static int membarrier(int command)
{
    return (int)syscall(SYS_membarrier, command, 0, 0);
}

void sp_bias_setup(void)
{
    sp_bias_is_ordered =
        !HAS_MEMBARRIER || membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) != 0;
}

void sp_bias_close(struct sp_bias *bias)
{
    atomic_store_explicit(&bias->closed, 1, memory_order_seq_cst);
}

void sp_bias_barrier(void)
{
    /* A filter of system calls that came later may know only the older command. */
    if (!sp_bias_is_ordered)
        SP_ASSERT(membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0 ||
                  membarrier(MEMBARRIER_CMD_GLOBAL) == 0);
}

void sp_bias_wait(struct sp_bias *bias)
{
    while (atomic_load_explicit(&bias->busy, memory_order_seq_cst) != 0)
        sched_yield();
}

void sp_bias_open(struct sp_bias *bias)
{
    atomic_store_explicit(&bias->closed, 0, memory_order_release);
}
