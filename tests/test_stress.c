/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Threads that allocate, hand over, free, trim, ask, make and destroy at random, checked by two
 * oracles that know nothing of pools: a word at both ends of each block, and a set of
 * intervals. Then forks in the middle of it. Threads count what goes wrong; the main thread
 * asserts. */
#include "config.h"

#include "tests/support.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/pool/pool.h"
#include "tests/script.h"

#define N_THREADS 4
#define N_POOLS   3
#define N_HELD    48 /* blocks that a thread has at most */
#define N_SHELF   64 /* blocks on their way from one thread to another */
#define MAX_SIZE  (96 * SP_KIB)

struct held {
    void *ptr;
    size_t size;
    uint64_t word;
};

struct worker {
    pthread_t thread;
    uint64_t random;
    struct held held[N_HELD];
};

/* What a thread may find wrong. */
enum fault { NO_FAULT, WORD_GONE, OVERLAP, FREE_REFUSED, WRONG_POOL, BAD_STATUS };

static struct {
    struct sp_script scripts[N_POOLS];
    struct starpool_pool *pools[N_POOLS];
    struct worker workers[N_THREADS];
    size_t n_rounds;
    atomic_bool is_over;
    _Atomic int fault; /* the first; an enum fault */

    pthread_mutex_t lock; /* guards what follows */
    struct held shelf[N_SHELF];
    struct interval {
        uintptr_t start;
        size_t size;
    } intervals[N_THREADS * N_HELD + N_SHELF]; /* sorted */
    size_t n_intervals;
} stress = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void find_fault(enum fault fault)
{
    int none = NO_FAULT;

    (void)atomic_compare_exchange_strong(&stress.fault, &none, (int)fault);
}

/* ---- the oracles --------------------------------------------------------------------- */

static size_t place_of(uintptr_t start)
{
    size_t low = 0, high = stress.n_intervals;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (stress.intervals[middle].start < start)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void enter_interval(uintptr_t start, size_t size)
{
    size_t at;

    pthread_mutex_lock(&stress.lock);
    at = place_of(start);
    if ((at > 0 && stress.intervals[at - 1].start + stress.intervals[at - 1].size > start) ||
        (at < stress.n_intervals && stress.intervals[at].start < start + size))
        find_fault(OVERLAP);
    memmove(&stress.intervals[at + 1], &stress.intervals[at],
            (stress.n_intervals - at) * sizeof(stress.intervals[0]));
    stress.intervals[at] = (struct interval){start, size};
    stress.n_intervals++;
    pthread_mutex_unlock(&stress.lock);
}

static void leave_interval(uintptr_t start)
{
    size_t at;

    pthread_mutex_lock(&stress.lock);
    at = place_of(start);
    if (at == stress.n_intervals || stress.intervals[at].start != start) {
        find_fault(OVERLAP);
    } else {
        stress.n_intervals--;
        memmove(&stress.intervals[at], &stress.intervals[at + 1],
                (stress.n_intervals - at) * sizeof(stress.intervals[0]));
    }
    pthread_mutex_unlock(&stress.lock);
}

static void write_words(const struct held *block)
{
    char *last = (char *)block->ptr + block->size - sizeof(block->word);

    memcpy(block->ptr, &block->word, sizeof(block->word));
    memcpy(last, &block->word, sizeof(block->word));
}

static void check_words(const struct held *block)
{
    const char *last = (const char *)block->ptr + block->size - sizeof(block->word);

    if (memcmp(block->ptr, &block->word, sizeof(block->word)) != 0 ||
        memcmp(last, &block->word, sizeof(block->word)) != 0)
        find_fault(WORD_GONE);
}

/* ---- what a thread does -------------------------------------------------------------- */

static void alloc_any(struct worker *worker, struct held *block)
{
    struct starpool_pool *pool = stress.pools[sp_test_random_below(&worker->random, N_POOLS)];
    size_t log = 4 + sp_test_random_below(&worker->random, 13);
    struct starpool_pool *found = NULL;
    enum starpool_status status;

    block->size = sp_min(MAX_SIZE, 16 + sp_test_random_below(&worker->random, 2u << log));
    block->word = sp_test_random(&worker->random);
    status = starpool_alloc(pool, block->size, STARPOOL_STREAM_HOST, &block->ptr);
    if (status != STARPOOL_OK) {
        block->ptr = NULL;
        if (status != STARPOOL_ENOMEM)
            find_fault(BAD_STATUS);
        return;
    }
    enter_interval((uintptr_t)block->ptr, block->size);
    write_words(block);
    if (starpool_pool_of(block->ptr, &found) != STARPOOL_OK || found != pool)
        find_fault(WRONG_POOL);
}

static void free_one(struct held *block)
{
    check_words(block);
    leave_interval((uintptr_t)block->ptr);
    if (starpool_free(block->ptr, STARPOOL_STREAM_HOST) != STARPOOL_OK)
        find_fault(FREE_REFUSED);
    block->ptr = NULL;
}

/* Put a block on the shelf and take what lies there, which may be nothing. */
static void hand_over(struct worker *worker, struct held *block)
{
    size_t index = sp_test_random_below(&worker->random, N_SHELF);
    struct held taken;

    pthread_mutex_lock(&stress.lock);
    taken = stress.shelf[index];
    stress.shelf[index] = *block;
    pthread_mutex_unlock(&stress.lock);
    *block = taken;
}

static void ask(struct worker *worker)
{
    struct starpool_pool *pool = stress.pools[sp_test_random_below(&worker->random, N_POOLS)];
    struct starpool_stats stats = {.struct_size = sizeof(stats)};
    uint64_t maximum = 0;

    if (starpool_pool_stats(pool, &stats) != STARPOOL_OK ||
        starpool_pool_get_attribute(pool, STARPOOL_ATTR_MAXIMUM, &maximum) != STARPOOL_OK ||
        stats.reserved_bytes > stats.reserved_high_bytes || stats.reserved_high_bytes > maximum)
        find_fault(BAD_STATUS);
}

/* A pool of this thread's own, destroyed while a block is out. */
static void make_and_destroy(struct worker *worker)
{
    struct sp_script script;
    struct starpool_pool *pool;
    struct held blocks[2] = {{NULL, 500, 1}, {NULL, 40000, 2}};

    (void)worker;
    sp_script_init(&script);
    pool = sp_script_pool(&script, 0);
    for (int i = 0; i < 2; i++) {
        if (starpool_alloc(pool, blocks[i].size, STARPOOL_STREAM_HOST, &blocks[i].ptr) !=
            STARPOOL_OK)
            find_fault(BAD_STATUS);
        write_words(&blocks[i]);
    }
    check_words(&blocks[0]);
    starpool_free(blocks[0].ptr, STARPOOL_STREAM_HOST);
    starpool_pool_destroy(pool);
    check_words(&blocks[1]);
    starpool_free(blocks[1].ptr, STARPOOL_STREAM_HOST);
    if (sp_script_bytes(&script) == 0)
        sp_script_fini(&script);
    else
        find_fault(FREE_REFUSED);
}

static void step(struct worker *worker)
{
    struct held *block = &worker->held[sp_test_random_below(&worker->random, N_HELD)];
    size_t what = sp_test_random_below(&worker->random, 1000);

    if (what < 2)
        (void)starpool_pool_trim(stress.pools[sp_test_random_below(&worker->random, N_POOLS)],
                                 sp_test_random_below(&worker->random, 4 * SP_MIB));
    else if (what < 4)
        make_and_destroy(worker);
    else if (what < 20)
        ask(worker);
    else if (what < 200)
        hand_over(worker, block);
    else if (block->ptr == NULL)
        alloc_any(worker, block);
    else
        free_one(block);
}

static void *run(void *argument)
{
    struct worker *worker = argument;

    for (size_t round = 0; round < stress.n_rounds && !atomic_load(&stress.is_over) &&
                           atomic_load(&stress.fault) == NO_FAULT;
         round++)
        step(worker);
    return NULL;
}

/* ---- the tests ----------------------------------------------------------------------- */

static int setup(void **state)
{
    static const uint64_t maxima[N_POOLS] = {3 * SP_MIB, 2 * SP_MIB + 300 * SP_KIB, 6 * SP_MIB};
    uint64_t seed = sp_test_seed();

    (void)state;
    atomic_store(&stress.fault, NO_FAULT);
    atomic_store(&stress.is_over, false);
    memset(stress.workers, 0, sizeof(stress.workers));
    memset(stress.shelf, 0, sizeof(stress.shelf));
    stress.n_intervals = 0;
    for (size_t i = 0; i < N_POOLS; i++) {
        sp_script_init(&stress.scripts[i]);
        stress.scripts[i].granule = 256 * SP_KIB;
        stress.scripts[i].is_scattered = i == 1;
        stress.pools[i] = sp_script_pool(&stress.scripts[i], maxima[i]);
    }
    for (size_t i = 0; i < N_THREADS; i++)
        stress.workers[i].random = seed + i;
    return 0;
}

static void start_workers(size_t n_rounds)
{
    stress.n_rounds = n_rounds;
    for (size_t i = 0; i < N_THREADS; i++)
        assert_int_equal(
            pthread_create(&stress.workers[i].thread, NULL, run, &stress.workers[i]), 0);
}

static void join_workers(void)
{
    for (size_t i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_join(stress.workers[i].thread, NULL), 0);
}

static void free_what_is_left(void)
{
    for (size_t i = 0; i < N_THREADS; i++) {
        for (size_t j = 0; j < N_HELD; j++) {
            if (stress.workers[i].held[j].ptr != NULL)
                free_one(&stress.workers[i].held[j]);
        }
    }
    for (size_t i = 0; i < N_SHELF; i++) {
        if (stress.shelf[i].ptr != NULL)
            free_one(&stress.shelf[i]);
    }
}

static void assert_whole(struct starpool_pool *pool, const struct sp_script *script)
{
    struct starpool_stats stats = {.struct_size = sizeof(stats)};
    bool is_valid;

    sp_lock_take(&pool->lock);
    is_valid = sp_store_is_valid(&pool->store);
    sp_lock_give(&pool->lock);
    assert_true(is_valid);
    assert_ok(starpool_pool_stats(pool, &stats));
    assert_int_equal(stats.used_bytes, 0);
    assert_int_equal(stats.n_live, 0);
    assert_int_equal(stats.n_allocs, stats.n_frees);
    assert_int_equal(stats.n_wrong_frees, 0);
    assert_int_equal(stats.reserved_bytes, sp_script_bytes(script));
    assert_ok(starpool_pool_trim(pool, 0));
    assert_int_equal(sp_script_bytes(script), 0);
}

static int teardown(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_POOLS; i++) {
        starpool_pool_destroy(stress.pools[i]);
        sp_script_fini(&stress.scripts[i]);
    }
    return 0;
}

static void no_two_live_blocks_overlap_whatever_threads_do(void **state)
{
    (void)state;
    sp_script_stderr_begin(); /* refusals are part of it */
    start_workers(sp_test_scaled(SP_HAS_SANITIZER ? 6000 : 200000));
    join_workers();
    free_what_is_left();
    (void)sp_script_stderr_end();
    assert_int_equal(atomic_load(&stress.fault), NO_FAULT);
    assert_int_equal(stress.n_intervals, 0);
    for (size_t i = 0; i < N_POOLS; i++)
        assert_whole(stress.pools[i], &stress.scripts[i]);
}

/* In the child, where the other threads are no more: 0 if all pools serve. */
static int use_pools_in_child(void)
{
    struct held blocks[40] = {{NULL, 0, 0}};

    for (size_t i = 0; i < SP_ARRAY_SIZE(blocks); i++) {
        struct starpool_pool *pool = stress.pools[i % N_POOLS];

        blocks[i] = (struct held){NULL, 16 + i * 977, i};
        if (starpool_alloc(pool, blocks[i].size, STARPOOL_STREAM_HOST, &blocks[i].ptr) !=
            STARPOOL_OK)
            blocks[i].ptr = NULL; /* others hold all there is */
        else
            write_words(&blocks[i]);
    }
    for (size_t i = 0; i < SP_ARRAY_SIZE(blocks); i++) {
        if (blocks[i].ptr == NULL)
            continue;
        check_words(&blocks[i]);
        if (starpool_free(blocks[i].ptr, STARPOOL_STREAM_HOST) != STARPOOL_OK)
            return 2;
    }
    for (size_t i = 0; i < N_POOLS; i++) {
        if (!sp_store_is_valid(&stress.pools[i]->store))
            return 3;
        (void)starpool_pool_trim(stress.pools[i], 0);
        if (!sp_store_is_valid(&stress.pools[i]->store))
            return 4;
    }
    return atomic_load(&stress.fault) == NO_FAULT ? 0 : 5;
}

/* In the child nothing is cached by threads that are gone: what is used is live. */
static int count_in_child(void)
{
    for (size_t i = 0; i < N_POOLS; i++) {
        struct starpool_stats stats = {.struct_size = sizeof(stats)};

        if (starpool_pool_stats(stress.pools[i], &stats) != STARPOOL_OK ||
            stats.cached_bytes != stress.pools[i]->depot.cached_bytes)
            return 6;
    }
    return use_pools_in_child();
}

static void child_of_a_busy_process_allocates_and_frees(void **state)
{
    size_t n_forks = sp_test_scaled(SP_HAS_SANITIZER ? 4 : 20);
    int statuses[32] = {0};

    (void)state;
    n_forks = sp_min(n_forks, SP_ARRAY_SIZE(statuses));
    sp_script_stderr_begin();
    start_workers(SIZE_MAX);
    for (size_t i = 0; i < n_forks; i++) {
        pid_t child = fork();

        if (child == 0)
            _exit(count_in_child());
        if (waitpid(child, &statuses[i], 0) != child)
            statuses[i] = -1;
    }
    atomic_store(&stress.is_over, true);
    join_workers();
    free_what_is_left();
    (void)sp_script_stderr_end();
    for (size_t i = 0; i < n_forks; i++)
        assert_int_equal(statuses[i], 0);
    assert_int_equal(atomic_load(&stress.fault), NO_FAULT);
    for (size_t i = 0; i < N_POOLS; i++)
        assert_whole(stress.pools[i], &stress.scripts[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(no_two_live_blocks_overlap_whatever_threads_do, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(child_of_a_busy_process_allocates_and_frees, setup,
                                        teardown),
    };

    return cmocka_run_group_tests_name("stress", tests, NULL, NULL);
}
