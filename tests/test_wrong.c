/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Frees of what is no live block: nothing changes, each is counted, and said once. Two frees at
 * one moment are told apart in a process of its own, as that must be asked for at its start. */
#include "config.h"

#include "tests/support.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/pool/pool.h"
#include "src/pool/private.h"
#include "tests/fixture.h"

/* A free that is refused, said once, with these words, and counted `n_counted` times. */
static void assert_wrong(void *ptr, unsigned n_counted, const char *words)
{
    struct starpool_stats before = sp_fixture_stats_of(fixture.pool), after;
    enum starpool_status status;
    const char *text;

    sp_script_stderr_begin();
    status = starpool_free(ptr, STARPOOL_STREAM_HOST);
    text = sp_script_stderr_end();
    assert_status(STARPOOL_EINVAL, status);
    assert_int_equal(sp_script_n_times(text, "\n"), words == NULL ? 0 : 1);
    if (words != NULL)
        assert_int_equal(sp_script_n_times(text, words), 1);
    after = sp_fixture_stats_of(fixture.pool);
    assert_int_equal(after.n_wrong_frees, before.n_wrong_frees + n_counted);
    before.n_wrong_frees = after.n_wrong_frees = 0;
    assert_memory_equal(&before, &after, sizeof(before));
}

static void block_in_a_cache_is_not_freed_again(void **state)
{
    void *a = sp_fixture_alloc(1000), *b, *c;

    (void)state;
    sp_fixture_give(a);
    assert_int_equal(sp_fixture_stats_of(fixture.pool).cached_bytes, 1024);
    assert_wrong(a, 1, "freed before: the block of 1024 bytes lies in a cache of HOST pool");
    /* It stands in the cache once: the next two blocks are two. */
    b = sp_fixture_alloc(1000);
    c = sp_fixture_alloc(1000);
    assert_ptr_equal(b, a);
    assert_ptr_not_equal(c, a);
    sp_fixture_give(b);
    sp_fixture_give(c);
}

static void block_back_in_the_heap_is_not_freed_again(void **state)
{
    void *keeper = sp_fixture_alloc(SP_SMALL_UNIT), *small = sp_fixture_alloc(1000),
         *large = sp_fixture_alloc(64 * SP_KIB);

    (void)state;
    sp_fixture_give(small);
    sp_fixture_give(large);
    assert_ok(starpool_pool_trim(fixture.pool, 0));
    assert_wrong(small, 1, "freed before, or never allocated: no block of HOST pool");
    assert_wrong(large, 1, "freed before, or never allocated: no block of HOST pool");
    sp_fixture_give(keeper);
}

static void address_inside_a_block_is_not_freed(void **state)
{
    char *small = sp_fixture_alloc(1000), *large = sp_fixture_alloc(64 * SP_KIB);

    (void)state;
    assert_wrong(small + 1, 1, ": 1 bytes inside the live block of 1024 bytes");
    assert_wrong(small + 512, 1, ": 512 bytes inside the live block of 1024 bytes");
    assert_wrong(large + 4096, 1, ": 4096 bytes inside the live block of 65536 bytes");
    sp_fixture_give(large);
    assert_wrong(large + 16, 1, ": 16 bytes inside the freed block of 65536 bytes");
    sp_fixture_give(small);
}

static void memory_that_was_never_a_block_is_not_freed(void **state)
{
    char *base = sp_fixture_alloc(64 * SP_KIB);

    (void)state;
    assert_wrong(base + 512 * SP_KIB, 1, "never allocated");
    sp_fixture_give(base);
}

static void address_of_no_pool_is_not_freed(void **state)
{
    char *gone = sp_fixture_alloc(64 * SP_KIB);
    int local = 0;
    void *heap = malloc(64);

    (void)state;
    assert_wrong(&local, 0, "not the address of a block of any pool");
    assert_wrong(heap, 0, "not the address of a block of any pool");
    free(heap);
    sp_fixture_give(gone);
    assert_ok(starpool_pool_trim(fixture.pool, 0));
    assert_wrong(gone, 0, "not the address of a block of any pool");
}

static void null_is_refused_without_a_word(void **state)
{
    (void)state;
    assert_wrong(NULL, 0, NULL);
}

static void free_if_ours_says_whose_it_is(void **state)
{
    char *ptr = sp_fixture_alloc(1000);
    int local = 0;
    enum sp_free_result results[5];
    const char *text;

    (void)state;
    sp_script_stderr_begin();
    results[0] = sp_free_if_ours(&local);
    results[1] = sp_free_if_ours(NULL);
    results[2] = sp_free_if_ours(ptr + 1);
    results[3] = sp_free_if_ours(ptr);
    results[4] = sp_free_if_ours(ptr);
    text = sp_script_stderr_end();
    assert_int_equal(results[0], SP_FREE_FOREIGN);
    assert_int_equal(results[1], SP_FREE_FOREIGN);
    assert_int_equal(results[2], SP_FREE_WRONG);
    assert_int_equal(results[3], SP_FREED);
    assert_int_equal(results[4], SP_FREE_WRONG);
    assert_int_equal(sp_script_n_times(text, "\n"), 2); /* foreign ones are not said */
    assert_int_equal(sp_fixture_stats_of(fixture.pool).n_wrong_frees, 2);
    assert_int_equal(sp_fixture_stats_of(fixture.pool).n_live, 0);
}

/* Last, as no message comes after it. */
static void loop_of_wrong_frees_is_counted_and_falls_silent(void **state)
{
    enum starpool_status status = STARPOOL_EINVAL;
    void *ptr = sp_fixture_alloc(1000);
    const char *text;

    (void)state;
    sp_fixture_give(ptr);
    sp_script_stderr_begin();
    for (int i = 0; i < 100 && status == STARPOOL_EINVAL; i++)
        status = starpool_free(ptr, STARPOOL_STREAM_HOST);
    text = sp_script_stderr_end();
    assert_status(STARPOOL_EINVAL, status);
    assert_in_range(sp_script_n_times(text, "\n"), 1, 20);
    assert_int_equal(sp_fixture_stats_of(fixture.pool).n_wrong_frees, 100);
    assert_int_equal(sp_fixture_stats_of(fixture.pool).cached_bytes, 1024);
}

/* ---- two frees at one moment --------------------------------------------------------- */

#define N_RACES (SP_HAS_SANITIZER ? 10000 : 50000)

static struct {
    atomic_uint n_started; /* blocks that were put up */
    atomic_uint n_done;    /* frees of them */
    void *_Atomic ptr;
    unsigned n_freed[2];
} race;

/* Wait for a number, ready to go on at once for a while. */
static void wait_for(atomic_uint *number, unsigned value)
{
    for (unsigned n = 0; atomic_load(number) != value; n++) {
        if (n % 1024 == 1023)
            sched_yield();
    }
}

static void *free_in_step(void *argument)
{
    unsigned *n_freed = argument;

    for (unsigned i = 1; i <= N_RACES; i++) {
        wait_for(&race.n_started, i);
        *n_freed += sp_free_if_ours(atomic_load(&race.ptr)) == SP_FREED;
        atomic_fetch_add(&race.n_done, 1);
    }
    return NULL;
}

/* In the process of its own: 0 if each block was freed exactly once. */
static int race_main(void)
{
    pthread_t thread;
    void *ptr;

    sp_fixture_setup(NULL);
    pthread_create(&thread, NULL, free_in_step, &race.n_freed[0]);
    for (unsigned i = 1; i <= N_RACES; i++) {
        if (starpool_alloc(fixture.pool, 1000, STARPOOL_STREAM_HOST, &ptr) != STARPOOL_OK)
            return 2;
        atomic_store(&race.ptr, ptr);
        atomic_store(&race.n_started, i);
        /* The other thread sees it a little later, nobody knows how much. */
        for (volatile unsigned n = i % 256; n > 0; n--)
            continue;
        race.n_freed[1] += sp_free_if_ours(ptr) == SP_FREED;
        wait_for(&race.n_done, i);
        if (race.n_freed[0] + race.n_freed[1] != i)
            return 1;
    }
    pthread_join(thread, NULL);
    return 0;
}

static void two_frees_at_one_moment_are_told_apart_with_checks(void **state)
{
    const char *self = sp_script_self();
    pid_t child = fork();
    int status = -1;

    (void)state;
    if (child == 0) {
        setenv("STARPOOL_CHECKS", "1", 1);
        execl(self, "test_wrong", "race", (char *)NULL);
        _exit(99);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, sp_fixture_setup, sp_fixture_teardown)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        CASE(block_in_a_cache_is_not_freed_again),
        CASE(block_back_in_the_heap_is_not_freed_again),
        CASE(address_inside_a_block_is_not_freed),
        CASE(memory_that_was_never_a_block_is_not_freed),
        CASE(address_of_no_pool_is_not_freed),
        CASE(null_is_refused_without_a_word),
        CASE(free_if_ours_says_whose_it_is),
        CASE(two_frees_at_one_moment_are_told_apart_with_checks),
        CASE(loop_of_wrong_frees_is_counted_and_falls_silent),
    };

    if (argc > 1 && strcmp(argv[1], "race") == 0)
        return race_main();
    return cmocka_run_group_tests_name("wrong", tests, NULL, NULL);
}
