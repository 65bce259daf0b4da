/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The section that one thread owns and another closes, with and without membarrier(2), and
 * locks whose order is checked. */
#include "config.h"

#include "tests/support.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/util/lock.h"
#include "tests/script.h"

static struct {
    struct sp_bias bias;
    pthread_barrier_t barrier;
    atomic_bool has_left;
    atomic_bool is_over;
    uint64_t n_inside; /* guarded by the section */
    uint64_t n_entered;
} fixture;

static int setup(void **state)
{
    (void)state;
    memset(&fixture, 0, sizeof(fixture));
    pthread_barrier_init(&fixture.barrier, NULL, 2);
    sp_bias_setup();
    return 0;
}

/* The same with the ordered store, as where there is no membarrier. */
static int setup_ordered(void **state)
{
    (void)setup(state);
    sp_bias_is_ordered = true;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    pthread_barrier_destroy(&fixture.barrier);
    return 0;
}

static void close_section(void)
{
    sp_bias_close(&fixture.bias);
    sp_bias_barrier();
    sp_bias_wait(&fixture.bias);
}

/* ---- the section --------------------------------------------------------------------------
 */

static void owner_enters_an_open_section_and_no_closed_one(void **state)
{
    (void)state;
    assert_true(sp_bias_enter(&fixture.bias));
    assert_int_equal(atomic_load(&fixture.bias.busy), 1);
    sp_bias_leave(&fixture.bias);
    assert_int_equal(atomic_load(&fixture.bias.busy), 0);
    close_section();
    assert_false(sp_bias_enter(&fixture.bias));
    assert_int_equal(atomic_load(&fixture.bias.busy), 0); /* a refused owner is not inside */
    sp_bias_open(&fixture.bias);
    assert_true(sp_bias_enter(&fixture.bias));
    sp_bias_leave(&fixture.bias);
}

/* Inside while the main thread closes, and for a good while longer. */
static void *stay_inside(void *argument)
{
    fixture.n_entered = sp_bias_enter(&fixture.bias);
    pthread_barrier_wait(&fixture.barrier);
    for (int i = 0; i < 10000; i++)
        sched_yield();
    atomic_store(&fixture.has_left, true);
    sp_bias_leave(&fixture.bias);
    return argument;
}

static void closing_waits_until_the_owner_is_out(void **state)
{
    pthread_t owner;
    bool had_left;

    (void)state;
    assert_int_equal(pthread_create(&owner, NULL, stay_inside, NULL), 0);
    pthread_barrier_wait(&fixture.barrier);
    close_section();
    had_left = atomic_load(&fixture.has_left);
    pthread_join(owner, NULL);
    assert_int_equal(fixture.n_entered, 1);
    assert_true(had_left);
}

/* Counts without an atomic operation: whoever is inside is alone, or a count gets lost. */
static void *enter_and_count(void *argument)
{
    while (!atomic_load_explicit(&fixture.is_over, memory_order_relaxed)) {
        if (!sp_bias_enter(&fixture.bias)) {
            sched_yield();
            continue;
        }
        fixture.n_inside++;
        fixture.n_entered++;
        sp_bias_leave(&fixture.bias);
    }
    return argument;
}

static void owner_and_closer_are_never_inside_together(void **state)
{
    size_t n_closes = sp_test_scaled(5000);
    pthread_t owner;

    (void)state;
    assert_int_equal(pthread_create(&owner, NULL, enter_and_count, NULL), 0);
    for (size_t i = 0; i < n_closes; i++) {
        close_section();
        fixture.n_inside++;
        sp_bias_open(&fixture.bias);
    }
    atomic_store(&fixture.is_over, true);
    pthread_join(owner, NULL);
    assert_int_equal(fixture.n_inside, fixture.n_entered + n_closes);
}

/* ---- ranks --------------------------------------------------------------------------------
 */

static struct sp_lock low, high, high_too;

static int setup_locks(void **state)
{
    (void)state;
    sp_lock_init(&low, SP_RANK_REGISTRY);
    sp_lock_init(&high, SP_RANK_POOL);
    sp_lock_init(&high_too, SP_RANK_POOL);
    return 0;
}

static int teardown_locks(void **state)
{
    (void)state;
    sp_lock_fini(&low);
    sp_lock_fini(&high);
    sp_lock_fini(&high_too);
    return 0;
}

/* How a child ends that takes two locks in this order. */
static int status_of_taking(struct sp_lock *first, struct sp_lock *second)
{
    int status = -1;
    pid_t child;

    sp_script_stderr_begin();
    child = fork();
    if (child == 0) {
        sp_lock_take(first);
        sp_lock_take(second);
        _exit(0);
    }
    waitpid(child, &status, 0);
    (void)sp_script_stderr_end();
    return status;
}

static void locks_of_rising_rank_are_taken(void **state)
{
    (void)state;
    assert_int_equal(status_of_taking(&low, &high), 0);
    sp_lock_take(&low);
    sp_lock_take(&high);
    sp_lock_give(&high);
    sp_lock_give(&low);
    sp_lock_take(&high); /* nothing is held any more */
    sp_lock_give(&high);
    sp_lock_take(&low);
    sp_lock_give(&low);
}

static void lock_of_a_rank_not_above_those_held_ends_the_process(void **state)
{
    struct sp_lock *const orders[][2] = {{&high, &low}, {&high, &high_too}};

    (void)state;
    if (!SP_CHECKS)
        skip(); /* the order is checked only then */
    for (size_t i = 0; i < SP_ARRAY_SIZE(orders); i++) {
        int status = status_of_taking(orders[i][0], orders[i][1]);

        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), SIGABRT);
    }
}

static void fork_takes_all_locks_of_a_rank(void **state)
{
    (void)state;
    sp_lock_take(&low);
    sp_lock_take_all(&high);
    sp_lock_take_all(&high_too);
    sp_lock_give_all(&high_too);
    sp_lock_give_all(&high);
    sp_lock_give(&low);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(owner_enters_an_open_section_and_no_closed_one, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(closing_waits_until_the_owner_is_out, setup, teardown),
        cmocka_unit_test_setup_teardown(owner_and_closer_are_never_inside_together, setup,
                                        teardown),
        {"owner_and_closer_are_never_inside_together_without_membarrier",
         owner_and_closer_are_never_inside_together, setup_ordered, teardown, NULL},
        cmocka_unit_test_setup_teardown(locks_of_rising_rank_are_taken, setup_locks,
                                        teardown_locks),
        cmocka_unit_test_setup_teardown(lock_of_a_rank_not_above_those_held_ends_the_process,
                                        setup_locks, teardown_locks),
        cmocka_unit_test_setup_teardown(fork_takes_all_locks_of_a_rank, setup_locks,
                                        teardown_locks),
    };

    return cmocka_run_group_tests_name("lock", tests, NULL, NULL);
}
