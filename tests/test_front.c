/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The threads' caches: what goes in comes out again, in this thread or another, within bounds,
 * and never in another pool. Threads record what they see; the main thread asserts. */
#include "config.h"

#include "tests/support.h"

#include <limits.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/pool/pool.h"
#include "src/util/poison.h"
#include "tests/script.h"

#define N_BLOCKS 200

static struct {
    struct sp_script script;
    struct starpool_pool *pool;
    void *blocks[N_BLOCKS];
    pthread_barrier_t barrier;

    /* What a thread has recorded. */
    enum starpool_status status;
    void *ptr;
    size_t cached;
    const struct sp_thread *thread;
    pthread_key_t key;
    unsigned n_rounds;
} fixture;

static int setup(void **state)
{
    (void)state;
    memset(&fixture, 0, sizeof(fixture));
    sp_script_init(&fixture.script);
    fixture.pool = sp_script_pool(&fixture.script, 0);
    pthread_barrier_init(&fixture.barrier, NULL, 2);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    starpool_pool_destroy(fixture.pool);
    sp_script_fini(&fixture.script);
    pthread_barrier_destroy(&fixture.barrier);
    return 0;
}

static void *alloc(size_t size)
{
    void *ptr = NULL;

    assert_ok(starpool_alloc(fixture.pool, size, STARPOOL_STREAM_HOST, &ptr));
    return ptr;
}

static void give(void *ptr)
{
    assert_ok(starpool_free(ptr, STARPOOL_STREAM_HOST));
}

static struct starpool_stats stats(void)
{
    struct starpool_stats stats = {.struct_size = sizeof(stats)};

    assert_ok(starpool_pool_stats(fixture.pool, &stats));
    return stats;
}

static void fill(size_t n, size_t size)
{
    for (size_t i = 0; i < n; i++)
        fixture.blocks[i] = alloc(size);
}

static void give_all(size_t n)
{
    for (size_t i = 0; i < n; i++)
        give(fixture.blocks[i]);
}

/* The calling thread's cache of the pool. */
static struct sp_front *own_front(void)
{
    return sp_owner->fronts[fixture.pool->slot];
}

static pthread_t start(void *(*run)(void *), void *argument)
{
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, run, argument), 0);
    return thread;
}

static void finish(pthread_t thread)
{
    assert_int_equal(pthread_join(thread, NULL), 0);
}

/* ---- between threads ----------------------------------------------------------------- */

static void *free_and_alloc(void *argument)
{
    fixture.status = starpool_free(argument, STARPOOL_STREAM_HOST);
    if (fixture.status == STARPOOL_OK)
        fixture.status = starpool_alloc(fixture.pool, 1000, STARPOOL_STREAM_HOST, &fixture.ptr);
    return NULL;
}

static void block_that_another_thread_freed_is_served_again(void **state)
{
    void *ptr = alloc(1000);

    (void)state;
    finish(start(free_and_alloc, ptr));
    assert_ok(fixture.status);
    assert_ptr_equal(fixture.ptr, ptr); /* there, in the cache of who freed it */
    give(ptr);
    assert_ptr_equal(alloc(1000), ptr);
    give(ptr);
    assert_int_equal(stats().n_allocs, 3);
    assert_int_equal(stats().n_live, 0);
}

static void *free_all(void *argument)
{
    size_t n = *(size_t *)argument;

    fixture.thread = NULL;
    for (size_t i = 0; i < n; i++)
        starpool_free(fixture.blocks[i], STARPOOL_STREAM_HOST);
    fixture.cached = own_front() == NULL ? 0 : sp_front_cached(own_front());
    fixture.thread = sp_owner;
    return NULL;
}

static void cache_of_a_thread_that_ends_goes_to_the_heap(void **state)
{
    size_t n = 10;

    (void)state;
    fill(n, 1000);
    finish(start(free_all, &n));
    assert_int_equal(fixture.cached, 10 * 1024);
    assert_int_equal(stats().cached_bytes, 0);
    assert_int_equal(stats().used_bytes, 0);
    assert_int_equal(fixture.pool->store.used_bytes, 0);
    assert_int_equal(stats().n_frees, 10);
}

static void threads_that_come_and_go_share_one_record(void **state)
{
    const struct sp_thread *first;
    size_t n = 1;

    (void)state;
    fill(1, 1000);
    finish(start(free_all, &n));
    first = fixture.thread;
    assert_ptr_not_equal(first, sp_owner);
    for (int i = 0; i < 20; i++) {
        fill(1, 1000);
        finish(start(free_all, &n));
        assert_ptr_equal(fixture.thread, first);
    }
    assert_int_equal(stats().n_frees, 21);
}

/* Frees all blocks, then waits until the main thread has seen enough. */
static void *free_and_idle(void *argument)
{
    (void)free_all(argument);
    pthread_barrier_wait(&fixture.barrier);
    pthread_barrier_wait(&fixture.barrier);
    return NULL;
}

static void pool_at_its_maximum_serves_what_an_idle_thread_caches(void **state)
{
    struct starpool_stats before, after;
    enum starpool_status status;
    size_t n = 4;
    pthread_t idle;
    void *ptr = NULL;

    (void)state;
    assert_ok(starpool_pool_set_attribute(fixture.pool, STARPOOL_ATTR_MAXIMUM, SP_MIB));
    fill(n, 256 * SP_KIB);
    idle = start(free_and_idle, &n);
    pthread_barrier_wait(&fixture.barrier);
    before = stats();
    /* Of another class, and all there is. */
    status = starpool_alloc(fixture.pool, SP_MIB, STARPOOL_STREAM_HOST, &ptr);
    after = stats();
    pthread_barrier_wait(&fixture.barrier);
    finish(idle);
    assert_ok(status);
    assert_int_equal(before.cached_bytes, SP_MIB);
    assert_int_equal(after.cached_bytes, 0);
    assert_int_equal(after.n_refused, 0);
    assert_int_equal(after.reserved_high_bytes, SP_MIB);
    give(ptr);
}

static void trim_finds_what_an_idle_thread_caches(void **state)
{
    struct starpool_stats after;
    size_t n = 50;
    pthread_t idle;

    (void)state;
    fill(n, 10000);
    idle = start(free_and_idle, &n);
    pthread_barrier_wait(&fixture.barrier);
    starpool_pool_trim(fixture.pool, 0);
    after = stats();
    pthread_barrier_wait(&fixture.barrier);
    finish(idle);
    assert_int_equal(after.reserved_bytes, 0);
    assert_int_equal(stats().used_bytes, 0);
}

/* ---- bounds -------------------------------------------------------------------------- */

static void cache_keeps_a_bounded_number_of_blocks(void **state)
{
    (void)state;
    fill(N_BLOCKS, 256);
    give_all(N_BLOCKS);
    assert_in_range(sp_magazine_n(&own_front()->magazines[sp_size_class(256)]), 1,
                    SP_MAGAZINE_SIZE);
    assert_true(sp_front_cached(own_front()) <= SP_MAGAZINE_SIZE * 256);
    assert_int_equal(stats().used_bytes, 0);
}

/* Two classes in turn: what comes back is not what was last missed, so the bound stays. */
static void cache_keeps_a_bounded_number_of_bytes(void **state)
{
    (void)state;
    atomic_store(&fixture.pool->front_bound, SP_FRONT_BOUND_LOW);
    fill(12, 40 * SP_KIB);
    give(alloc(100 * SP_KIB));
    for (size_t i = 0; i < 12; i++) {
        give(fixture.blocks[i]);
        assert_true(sp_front_cached(own_front()) <= SP_FRONT_BOUND_LOW);
    }
    assert_int_equal(stats().used_bytes, 0);
}

/* A window of blocks of one class that is missed and given back in turn. */
static void cache_that_would_serve_if_it_were_larger_becomes_larger(void **state)
{
    void *first;

    (void)state;
    atomic_store(&fixture.pool->front_bound, SP_FRONT_BOUND_LOW);
    for (int i = 0; i < 8; i++) {
        first = alloc(2 * SP_MIB);
        give(first);
    }
    assert_int_equal(atomic_load(&fixture.pool->front_bound), 2 * SP_MIB);
    assert_int_equal(sp_front_cached(own_front()), 2 * SP_MIB);
    assert_ptr_equal(alloc(2 * SP_MIB), first);
    give(first);
}

static void block_of_the_class_that_is_too_small_is_not_handed_out(void **state)
{
    struct starpool_block_info info = {.struct_size = sizeof(info)};
    void *ptr;

    (void)state;
    assert_int_equal(sp_size_class(4096), sp_size_class(4096 + 256));
    give(alloc(4096));
    ptr = alloc(4096 + 256);
    assert_ok(starpool_block_info(ptr, &info));
    assert_int_equal(info.size, 4096 + 256);
    give(ptr);
    /* The other way round the larger one serves. */
    assert_ptr_equal(alloc(4096), ptr);
    give(ptr);
}

static void drain_that_serves_makes_the_caches_smaller(void **state)
{
    size_t before = atomic_load(&fixture.pool->front_bound);

    (void)state;
    fill(4, 256 * SP_KIB);
    give_all(4);
    give(alloc(SP_MIB));
    assert_int_equal(atomic_load(&fixture.pool->front_bound), before / 2);
}

/* ---- the depot ----------------------------------------------------------------------- */

static void *alloc_one(void *argument)
{
    fixture.status =
        starpool_alloc(fixture.pool, *(size_t *)argument, STARPOOL_STREAM_HOST, &fixture.ptr);
    fixture.cached = sp_front_cached(own_front());
    pthread_barrier_wait(&fixture.barrier);
    pthread_barrier_wait(&fixture.barrier);
    return NULL;
}

static void magazines_change_hands_whole(void **state)
{
    size_t size = 512, n = SP_MAGAZINE_SIZE + 1, in_depot;
    struct starpool_stats after;
    uint32_t left;
    pthread_t other;

    (void)state;
    fill(n, size);
    give_all(n);
    left = sp_magazine_n(&own_front()->magazines[sp_size_class(size)]);
    assert_int_equal(left, SP_MAGAZINE_SIZE + 1 - SP_MAGAZINE_BATCH);
    assert_int_equal(fixture.pool->depot.cached_bytes, SP_MAGAZINE_BATCH * size);
    other = start(alloc_one, &size);
    pthread_barrier_wait(&fixture.barrier);
    in_depot = fixture.pool->depot.cached_bytes;
    after = stats();
    pthread_barrier_wait(&fixture.barrier);
    finish(other);
    assert_ok(fixture.status);
    /* One is in use, the rest of the magazine in the other thread's cache. */
    assert_int_equal(fixture.cached, (SP_MAGAZINE_BATCH - 1) * size);
    assert_int_equal(in_depot, 0);
    assert_int_equal(after.used_bytes, size);
    assert_int_equal(after.cached_bytes, (n - 1) * size);
    give(fixture.ptr);
    assert_int_equal(stats().used_bytes, 0);
}

static void drain_empties_the_depot_too(void **state)
{
    (void)state;
    fill(N_BLOCKS, 512);
    give_all(N_BLOCKS);
    assert_true(fixture.pool->depot.cached_bytes > 0);
    assert_ok(starpool_pool_trim(fixture.pool, 0));
    assert_int_equal(fixture.pool->depot.cached_bytes, 0);
    assert_int_equal(stats().reserved_bytes, 0);
}

/* ---- slots --------------------------------------------------------------------------- */

#define N_POOLS (SP_FRONT_SLOTS + 8)

static void more_pools_than_slots_serve_and_keep_apart(void **state)
{
    static struct sp_script scripts[N_POOLS];
    struct starpool_pool *pools[N_POOLS], *found;
    size_t n_without = 0;
    void *ptrs[N_POOLS];

    (void)state;
    for (size_t round = 0; round < 2; round++) {
        for (size_t i = 0; i < N_POOLS; i++) {
            sp_script_init(&scripts[i]);
            pools[i] = sp_script_pool(&scripts[i], 0);
            n_without += pools[i]->slot == SP_FRONT_SLOTS;
        }
        for (size_t i = 0; i < 2 * N_POOLS; i++) {
            struct starpool_pool *pool = pools[i % N_POOLS];

            assert_ok(starpool_alloc(pool, 1000, STARPOOL_STREAM_HOST, &ptrs[i % N_POOLS]));
            assert_ok(starpool_pool_of(ptrs[i % N_POOLS], &found));
            assert_ptr_equal(found, pool);
            if (i >= N_POOLS / 2)
                give(ptrs[i % N_POOLS]);
            else
                fixture.blocks[i] = ptrs[i];
        }
        give_all(N_POOLS / 2);
        for (size_t i = 0; i < N_POOLS; i++) {
            starpool_pool_destroy(pools[i]);
            assert_int_equal(sp_script_bytes(&scripts[i]), 0);
            sp_script_fini(&scripts[i]);
        }
    }
    /* The fixture's pool has a slot, too. */
    assert_true(n_without >= 2 * (N_POOLS - SP_FRONT_SLOTS + 1));
}

static void slot_that_is_used_again_never_mixes_pools(void **state)
{
    struct sp_script script;
    struct starpool_pool *old = fixture.pool, *found;
    unsigned slot = old->slot;
    void *live = alloc(1000), *ptr;

    (void)state;
    give(alloc(1000));
    sp_script_init(&script);
    fixture.pool = NULL;
    starpool_pool_destroy(old);
    fixture.pool = sp_script_pool(&script, 0);
    assert_int_not_equal(fixture.pool->slot, slot); /* not while a block of the old one lives */
    give(live);
    assert_int_equal(sp_script_bytes(&fixture.script), 0);
    starpool_pool_destroy(fixture.pool);
    fixture.pool = sp_script_pool(&script, 0);
    assert_int_equal(fixture.pool->slot, slot);
    ptr = alloc(1000);
    assert_ok(starpool_pool_of(ptr, &found));
    assert_ptr_equal(found, fixture.pool);
    assert_in_range((uintptr_t)ptr, script.arena, script.arena + SP_SCRIPT_ARENA - 1);
    give(ptr);
    starpool_pool_destroy(fixture.pool);
    fixture.pool = NULL;
    sp_script_fini(&script);
}

static void *idle_across_destroy(void *argument)
{
    void *ptr;

    (void)argument;
    fixture.status = starpool_alloc(fixture.pool, 1000, STARPOOL_STREAM_HOST, &ptr);
    starpool_free(ptr, STARPOOL_STREAM_HOST);
    pthread_barrier_wait(&fixture.barrier); /* the pool is destroyed here, another is made */
    pthread_barrier_wait(&fixture.barrier);
    if (fixture.status == STARPOOL_OK)
        fixture.status = starpool_alloc(fixture.pool, 1000, STARPOOL_STREAM_HOST, &fixture.ptr);
    return NULL;
}

static void idle_cache_of_a_destroyed_pool_serves_nothing_afterwards(void **state)
{
    struct sp_script script;
    struct starpool_pool *found;
    unsigned slot = fixture.pool->slot;
    size_t left;
    pthread_t idle = start(idle_across_destroy, NULL);

    (void)state;
    pthread_barrier_wait(&fixture.barrier);
    starpool_pool_destroy(fixture.pool);
    left = sp_script_bytes(&fixture.script);
    sp_script_init(&script);
    fixture.pool = sp_script_pool(&script, 0);
    pthread_barrier_wait(&fixture.barrier);
    finish(idle);
    assert_int_equal(left, 0);
    assert_int_equal(fixture.pool->slot, slot);
    assert_ok(fixture.status);
    assert_ok(starpool_pool_of(fixture.ptr, &found));
    assert_ptr_equal(found, fixture.pool);
    give(fixture.ptr);
    starpool_pool_destroy(fixture.pool);
    fixture.pool = NULL;
    sp_script_fini(&script);
}

/* ---- the end of a thread ------------------------------------------------------------- */

/* So often destructors run; the thread sanitizer is gone before the last time (gcc 12). */
#define N_LATE (SP_HAS_SANITIZER ? 2 : PTHREAD_DESTRUCTOR_ITERATIONS)

/* Frees a block each time it runs, and asks to run again. */
static void free_late(void *argument)
{
    size_t n = fixture.n_rounds++;

    (void)argument;
    starpool_free(fixture.blocks[n], STARPOOL_STREAM_HOST);
    if (n + 1 < N_LATE)
        (void)pthread_setspecific(fixture.key, &fixture);
}

static void *end_late(void *argument)
{
    (void)free_all(argument);
    (void)pthread_setspecific(fixture.key, &fixture);
    return NULL;
}

/* The key is younger than the caches' own, so that its destructor comes after theirs. */
static void block_freed_by_a_late_destructor_is_not_lost(void **state)
{
    size_t n = 0;

    (void)state;
    fill(N_LATE, 1000);
    assert_int_equal(pthread_key_create(&fixture.key, free_late), 0);
    finish(start(end_late, &n));
    assert_int_equal(pthread_key_delete(fixture.key), 0);
    assert_int_equal(fixture.n_rounds, N_LATE);
    assert_int_equal(stats().n_frees, N_LATE);
    assert_int_equal(stats().used_bytes, 0);
    assert_ok(starpool_pool_trim(fixture.pool, 0));
    assert_int_equal(stats().reserved_bytes, 0);
}

static void *alloc_and_free(void *argument)
{
    fixture.status = starpool_alloc(fixture.pool, 1, STARPOOL_STREAM_HOST, &fixture.ptr);
    if (fixture.status == STARPOOL_OK)
        fixture.status = starpool_free(fixture.ptr, STARPOOL_STREAM_HOST);
    return argument;
}

static void thread_that_only_frees_caches_in_what_another_thread_left(void **state)
{
    size_t n = 2;

    (void)state;
    fill(n, 1000);
    finish(start(alloc_and_free, NULL));
    assert_ok(fixture.status);
    finish(start(free_all, &n));
    assert_int_equal(fixture.cached, 2 * 1024);
    assert_int_equal(stats().used_bytes, 0);
}

/* In a child: frees all blocks where any system call but write and exit is the end. */
static void free_without_system_calls(size_t n)
{
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0)
        _exit(77);
    for (size_t i = 0; i < n; i++) {
        if (starpool_free(fixture.blocks[i], STARPOOL_STREAM_HOST) != STARPOOL_OK)
            syscall(SYS_exit, 1);
    }
    syscall(SYS_exit, 0);
}

/* Small and large blocks, more than the caches hold: through cache, depot, heap and spans. */
static void free_makes_no_system_call(void **state)
{
    int status = -1;
    pid_t child;

    (void)state;
    if (SP_HAS_SANITIZER || sp_poison_is_on)
        skip(); /* sanitizers and valgrind make calls of their own */
    for (size_t i = 0; i < N_BLOCKS; i++)
        fixture.blocks[i] = alloc(i < N_BLOCKS / 2 ? 16 * SP_KIB : 300 * SP_KIB);
    child = fork();
    if (child == 0)
        free_without_system_calls(N_BLOCKS);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip();
    assert_true(WIFEXITED(status)); /* a forbidden call ends it by SIGKILL */
    assert_int_equal(WEXITSTATUS(status), 0);
    give_all(N_BLOCKS);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(block_that_another_thread_freed_is_served_again),
        CASE(cache_of_a_thread_that_ends_goes_to_the_heap),
        CASE(threads_that_come_and_go_share_one_record),
        CASE(pool_at_its_maximum_serves_what_an_idle_thread_caches),
        CASE(trim_finds_what_an_idle_thread_caches),
        CASE(cache_keeps_a_bounded_number_of_blocks),
        CASE(cache_keeps_a_bounded_number_of_bytes),
        CASE(cache_that_would_serve_if_it_were_larger_becomes_larger),
        CASE(block_of_the_class_that_is_too_small_is_not_handed_out),
        CASE(drain_that_serves_makes_the_caches_smaller),
        CASE(magazines_change_hands_whole),
        CASE(drain_empties_the_depot_too),
        CASE(more_pools_than_slots_serve_and_keep_apart),
        CASE(slot_that_is_used_again_never_mixes_pools),
        CASE(idle_cache_of_a_destroyed_pool_serves_nothing_afterwards),
        CASE(block_freed_by_a_late_destructor_is_not_lost),
        CASE(thread_that_only_frees_caches_in_what_another_thread_left),
        CASE(free_makes_no_system_call),
    };

    return cmocka_run_group_tests_name("front", tests, NULL, NULL);
}
