/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Blocks of host memory in the order of streams: which free serves whom, what is counted, what
 * goes back, wrong frees, shortage. */
#include "config.h"

#include "tests/support.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <starpool/block.h>
#include <starpool/stream.h>

#include "src/pool/pool.h"
#include "src/pool/private.h"
#include "tests/stream_fixture.h"

static const struct starpool_location host = {STARPOOL_HOST, 0};

static void set(enum starpool_pool_attribute attribute, uint64_t value)
{
    assert_ok(starpool_pool_set_attribute(fixture.pool, attribute, value));
}

static void allow_nothing(void)
{
    set(STARPOOL_ATTR_FOLLOWS_EVENTS, 0);
    set(STARPOOL_ATTR_OPPORTUNISTIC, 0);
    set(STARPOOL_ATTR_INTERNAL_WAITS, 0);
}

static struct starpool_stats stats(void)
{
    return sp_fixture_stats_of(fixture.pool);
}

/* ---- which free serves whom -------------------------------------------------------------- */

static void stream_has_its_own_frees_at_once(void **state)
{
    void *block = sp_stream_fixture_alloc(streams.a, 5000);

    (void)state;
    allow_nothing();
    memset(block, 0x5a, 5000);
    assert_ok(starpool_free(block, streams.a));
    assert_ptr_equal(sp_stream_fixture_alloc(streams.a, 5000), block);
    assert_int_equal(stats().n_takes_stream, 1);
    sp_fixture_give(block);
}

static void other_stream_has_nothing_of_a_free_that_it_is_not_ordered_after(void **state)
{
    void *block = sp_stream_fixture_alloc(streams.a, 2 * SP_MIB), *other;

    (void)state;
    allow_nothing();
    assert_ok(starpool_free(block, streams.a));
    other = sp_stream_fixture_alloc(streams.b, 2 * SP_MIB);
    assert_ptr_not_equal(other, block);
    assert_int_equal(stats().n_takes_fresh, 2);
    sp_fixture_give(other);
}

static void free_that_the_host_has_seen_serves_everybody(void **state)
{
    void *block = sp_stream_fixture_alloc(streams.a, 2 * SP_MIB);

    (void)state;
    allow_nothing();
    assert_ok(starpool_free(block, streams.a));
    assert_ok(starpool_stream_synchronize(streams.a));
    assert_ptr_equal(sp_stream_fixture_alloc(streams.b, 2 * SP_MIB), block);
    assert_int_equal(stats().n_takes_seen, 1);
    sp_fixture_give(block);
}

static void free_that_has_executed_serves_others_if_that_is_allowed(void **state)
{
    starpool_stream gone;
    void *block;

    (void)state;
    allow_nothing();
    assert_ok(starpool_stream_create(host, &gone));
    block = sp_stream_fixture_alloc(gone, 2 * SP_MIB);
    assert_ok(starpool_free(block, gone));
    starpool_stream_destroy(gone);
    set(STARPOOL_ATTR_OPPORTUNISTIC, 1);
    assert_ptr_equal(sp_stream_fixture_alloc(streams.a, 2 * SP_MIB), block);
    assert_int_equal(stats().n_takes_executed, 1);
    sp_fixture_give(block);
}

static void wait_is_added_before_the_pool_grows_if_that_is_allowed(void **state)
{
    void *block = sp_stream_fixture_alloc(streams.a, 2 * SP_MIB);

    (void)state;
    allow_nothing();
    set(STARPOOL_ATTR_INTERNAL_WAITS, 1);
    assert_ok(starpool_free(block, streams.a));
    assert_ptr_equal(sp_stream_fixture_alloc(streams.b, 2 * SP_MIB), block);
    assert_int_equal(stats().n_takes_internal, 1);
    assert_int_equal(stats().n_grows, 1);
    /* It is a wait like any other: executing b executes what a was given before. */
    assert_ok(starpool_stream_synchronize(streams.b));
    assert_ok(starpool_stream_query(streams.a));
    sp_fixture_give(block);
}

/* INTER-10 */
static void stream_in_the_place_of_another_has_not_its_frees(void **state)
{
    starpool_stream first, second;
    void *block, *other;

    (void)state;
    allow_nothing();
    assert_ok(starpool_stream_create(host, &first));
    block = sp_stream_fixture_alloc(first, 2 * SP_MIB);
    assert_ok(starpool_free(block, first));
    starpool_stream_destroy(first);
    assert_ok(starpool_stream_create(host, &second));
    other = sp_stream_fixture_alloc(second, 2 * SP_MIB);
    assert_int_equal(stats().n_takes_stream, 0);
    sp_fixture_give(other);
    starpool_stream_destroy(second);
}

static void block_freed_by_the_host_serves_everybody(void **state)
{
    void *block = sp_stream_fixture_alloc(streams.a, 2 * SP_MIB);

    (void)state;
    allow_nothing();
    sp_fixture_give(block);
    assert_ptr_equal(sp_stream_fixture_alloc(streams.b, 2 * SP_MIB), block);
    assert_int_equal(stats().n_takes_seen, 1);
    assert_int_equal(sp_free_if_ours(block), SP_FREED);
}

/* ---- blocks of the host, freed in a stream ----------------------------------------------- */

static void block_of_the_host_freed_in_a_stream_waits_for_it(void **state)
{
    void *block = sp_fixture_alloc(2 * SP_MIB);

    (void)state;
    assert_ok(starpool_free(block, streams.a));
    assert_int_equal(stats().used_bytes, 0);
    assert_int_equal(stats().n_live, 0);
    assert_int_equal(stats().ordered_pending_bytes, 2 * SP_MIB);
    assert_ok(starpool_pool_trim(fixture.pool, 0));
    assert_int_equal(stats().reserved_bytes, 2 * SP_MIB);
    assert_ok(starpool_stream_synchronize(streams.a));
    assert_int_equal(stats().ordered_pending_bytes, 0);
    assert_ok(starpool_pool_trim(fixture.pool, 0));
    assert_int_equal(stats().reserved_bytes, 0);
}

static void parked_block_cannot_be_freed_again(void **state)
{
    void *block = sp_fixture_alloc(1000);

    (void)state;
    assert_ok(starpool_free(block, streams.a));
    sp_script_stderr_begin();
    assert_status(STARPOOL_EINVAL, starpool_free(block, streams.a));
    assert_status(STARPOOL_EINVAL, starpool_free(block, STARPOOL_STREAM_HOST));
    (void)sp_script_stderr_end();
    assert_int_equal(stats().n_wrong_frees, 2);
    assert_int_equal(stats().ordered_pending_bytes, 1024);
}

/* ---- wrong frees ------------------------------------------------------------------------- */

static void wrong_free_changes_nothing_and_is_told(void **state)
{
    char *block = sp_stream_fixture_alloc(streams.a, 5000);
    struct starpool_stats before = stats();
    const char *said;

    (void)state;
    sp_script_stderr_begin();
    assert_status(STARPOOL_EINVAL, starpool_free(block + 256, streams.a));
    assert_status(STARPOOL_EINVAL, starpool_free(block + 256, STARPOOL_STREAM_HOST));
    assert_status(STARPOOL_EINVAL, starpool_free(&before, streams.a));
    assert_status(STARPOOL_EINVAL, starpool_free(NULL, streams.a));
    assert_status(STARPOOL_EINVAL, starpool_free(block, NULL));
    said = sp_script_stderr_end();
    assert_int_equal(sp_script_n_times(said, "256 bytes inside the live block of 5120 bytes"),
                     2);
    assert_int_equal(sp_script_n_times(said, "not the address of a block of any pool"), 1);
    assert_int_equal(stats().n_wrong_frees, 2);
    assert_int_equal(stats().used_bytes, before.used_bytes);
    assert_ok(starpool_free(block, streams.a));
    sp_script_stderr_begin();
    assert_status(STARPOOL_EINVAL, starpool_free(block, streams.b));
    said = sp_script_stderr_end();
    assert_int_equal(sp_script_n_times(said, "freed before in a stream"), 1);
}

static void block_is_known_by_any_address_inside(void **state)
{
    struct starpool_block_info info = {.struct_size = sizeof(info)};
    struct starpool_pool *pool = NULL;
    char *block = sp_stream_fixture_alloc(streams.a, 5000);

    (void)state;
    assert_ok(starpool_pool_of(block, &pool));
    assert_ptr_equal(pool, fixture.pool);
    assert_status(STARPOOL_EINVAL, starpool_pool_of(block + 256, &pool));
    assert_ok(starpool_block_info(block + 5000, &info));
    assert_ptr_equal(info.base, block);
    assert_ptr_equal(info.pool, fixture.pool);
    assert_int_equal(info.size, 5120);
    assert_ok(starpool_free(block, streams.a));
    assert_status(STARPOOL_EINVAL, starpool_block_info(block, &info));
}

/* ---- counting, releasing ----------------------------------------------------------------- */

static void used_ready_and_pending_are_exact(void **state)
{
    void *a = sp_stream_fixture_alloc(streams.a, 300 * SP_KIB),
         *b = sp_stream_fixture_alloc(streams.a, 1000);

    (void)state;
    assert_int_equal(stats().used_bytes, 300 * SP_KIB + 1024);
    assert_int_equal(stats().used_high_bytes, 300 * SP_KIB + 1024);
    assert_int_equal(stats().n_live, 2);
    assert_ok(starpool_free(a, streams.a));
    assert_int_equal(stats().used_bytes, 1024);
    assert_int_equal(stats().ordered_pending_bytes, 300 * SP_KIB);
    assert_int_equal(stats().ordered_ready_bytes + 300 * SP_KIB + 1024, 2 * SP_MIB);
    assert_ok(starpool_stream_synchronize(streams.a));
    assert_int_equal(stats().ordered_pending_bytes, 0);
    assert_int_equal(stats().n_live_high, 2);
    assert_ok(starpool_pool_reset_peaks(fixture.pool));
    assert_int_equal(stats().n_live_high, 1);
    assert_int_equal(stats().used_high_bytes, 1024);
    sp_fixture_give(b);
}

/* In blocks, in caches, ready and pending for streams, or free in the store. */
static void assert_all_is_counted_once(void)
{
    struct starpool_stats now = stats();
    const struct sp_store *store = &fixture.pool->store;

    assert_int_equal(now.used_bytes + now.cached_bytes + now.ordered_ready_bytes +
                         now.ordered_pending_bytes + store->large.free_bytes +
                         store->small.free_bytes,
                     now.reserved_bytes);
}

static void everything_reserved_is_counted_once_after_each_step(void **state)
{
    starpool_stream by[] = {streams.a, streams.b, STARPOOL_STREAM_HOST};
    uint64_t random = sp_test_seed();
    void *blocks[32] = {NULL};

    (void)state;
    for (size_t i = 0; i < sp_test_scaled(2000); i++) {
        void **block = &blocks[sp_test_random_below(&random, SP_ARRAY_SIZE(blocks))];
        starpool_stream stream = by[sp_test_random_below(&random, SP_ARRAY_SIZE(by))];
        size_t size = 1 + (sp_test_random(&random) >> (42 + sp_test_random_below(&random, 14)));

        if (sp_test_random_below(&random, 10) == 0) {
            assert_ok(starpool_stream_synchronize(streams.a));
        } else if (sp_test_random_below(&random, 10) == 0) {
            assert_ok(starpool_pool_trim(fixture.pool, sp_test_random(&random) >> 40));
        } else if (*block == NULL) {
            *block = stream == STARPOOL_STREAM_HOST ? sp_fixture_alloc(size)
                                                    : sp_stream_fixture_alloc(stream, size);
        } else {
            assert_ok(starpool_free(*block, stream));
            *block = NULL;
        }
        assert_all_is_counted_once();
    }
    for (size_t i = 0; i < SP_ARRAY_SIZE(blocks); i++) {
        if (blocks[i] != NULL)
            sp_fixture_give(blocks[i]);
    }
}

static void threshold_is_kept_when_a_stream_has_been_waited_for(void **state)
{
    void *a = sp_stream_fixture_alloc(streams.a, 4 * SP_MIB),
         *b = sp_stream_fixture_alloc(streams.a, 4 * SP_MIB);

    (void)state;
    set(STARPOOL_ATTR_RELEASE_THRESHOLD, 4 * SP_MIB);
    assert_ok(starpool_free(a, streams.a));
    assert_ok(starpool_free(b, streams.a));
    assert_int_equal(stats().reserved_bytes, 8 * SP_MIB);
    assert_ok(starpool_stream_synchronize(streams.a));
    assert_int_equal(stats().reserved_bytes, 4 * SP_MIB);
}

static void chunk_that_is_idle_serves_the_host_before_the_pool_grows(void **state)
{
    void *block = sp_stream_fixture_alloc(streams.a, 4 * SP_MIB);

    (void)state;
    set(STARPOOL_ATTR_MAXIMUM, 4 * SP_MIB);
    assert_ok(starpool_free(block, streams.a));
    assert_status(STARPOOL_ENOMEM,
                  starpool_alloc(fixture.pool, 4 * SP_MIB, STARPOOL_STREAM_HOST, &block));
    assert_ok(starpool_stream_synchronize(streams.a));
    block = sp_fixture_alloc(4 * SP_MIB);
    sp_fixture_give(block);
}

static void refused_request_leaves_no_trace(void **state)
{
    void *ptr = &streams;

    (void)state;
    set(STARPOOL_ATTR_MAXIMUM, SP_MIB);
    assert_status(STARPOOL_ENOMEM, starpool_alloc(fixture.pool, SP_MIB + 1, streams.a, &ptr));
    assert_status(STARPOOL_ENOMEM, starpool_alloc(fixture.pool, SIZE_MAX, streams.a, &ptr));
    assert_ptr_equal(ptr, &streams);
    assert_ok(starpool_stream_query(streams.a));
    assert_int_equal(stats().n_refused, 2);
    assert_int_equal(stats().used_bytes, 0);
    assert_int_equal(stats().n_allocs, 0);
}

static void pool_of_less_than_a_chunk_serves_to_its_last_page(void **state)
{
    void *blocks[16];

    (void)state;
    set(STARPOOL_ATTR_MAXIMUM, 64 * SP_KIB);
    for (size_t i = 0; i < SP_ARRAY_SIZE(blocks); i++)
        blocks[i] = sp_stream_fixture_alloc(streams.a, 4 * SP_KIB);
    assert_int_equal(stats().reserved_bytes, 64 * SP_KIB);
    for (size_t i = 0; i < SP_ARRAY_SIZE(blocks); i++)
        assert_ok(starpool_free(blocks[i], streams.a));
}

static void *to_free;

static bool free_the_block(struct starpool_pool *pool, size_t size, unsigned attempt, void *arg)
{
    (void)pool, (void)size;
    if (attempt > 0)
        return false;
    *(enum starpool_status *)arg = starpool_free(to_free, STARPOOL_STREAM_HOST);
    return true;
}

static void callback_may_free_what_a_stream_then_gets(void **state)
{
    enum starpool_status status = STARPOOL_EINVAL;
    void *again;

    (void)state;
    set(STARPOOL_ATTR_MAXIMUM, 2 * SP_MIB);
    to_free = sp_stream_fixture_alloc(streams.a, 2 * SP_MIB);
    fixture.pool->config.on_oom = free_the_block;
    fixture.pool->config.on_oom_arg = &status;
    again = sp_stream_fixture_alloc(streams.b, 2 * SP_MIB);
    assert_ok(status);
    assert_ptr_equal(again, to_free);
    sp_fixture_give(again);
}

static void destroyed_pool_goes_when_its_last_free_has_executed(void **state)
{
    void *first = sp_stream_fixture_alloc(streams.a, 5000), *second = sp_fixture_alloc(5000);

    (void)state;
    starpool_pool_destroy(fixture.pool);
    fixture.pool = NULL;
    assert_ok(starpool_free(first, streams.a));
    assert_ok(starpool_free(second, streams.a));
    assert_true(sp_script_bytes(&fixture.script) > 0);
    assert_ok(starpool_stream_synchronize(streams.a));
    assert_int_equal(sp_script_bytes(&fixture.script), 0);
}

static void block_freed_in_a_stream_that_is_gone_goes_back(void **state)
{
    starpool_stream gone;

    (void)state;
    assert_ok(starpool_stream_create(host, &gone));
    assert_ok(starpool_free(sp_stream_fixture_alloc(gone, 2 * SP_MIB), gone));
    starpool_stream_destroy(gone);
    assert_ok(starpool_pool_trim(fixture.pool, 0));
    assert_int_equal(sp_script_bytes(&fixture.script), 0);
}

static void destroyed_pool_goes_with_the_stream_of_its_last_free(void **state)
{
    starpool_stream gone;

    (void)state;
    assert_ok(starpool_stream_create(host, &gone));
    assert_ok(starpool_free(sp_stream_fixture_alloc(gone, 5000), gone));
    assert_ok(starpool_free(sp_fixture_alloc(5000), gone));
    starpool_pool_destroy(fixture.pool);
    fixture.pool = NULL;
    assert_true(sp_script_bytes(&fixture.script) > 0);
    starpool_stream_destroy(gone);
    assert_int_equal(sp_script_bytes(&fixture.script), 0);
}

static void cpu_pool_is_current_for_its_devices_streams_without_a_driver(void **state)
{
    static const struct starpool_location device3 = {STARPOOL_DEVICE, 3};
    struct starpool_pool_config config;
    struct starpool_pool *pool, *current = NULL;
    starpool_stream stream;
    void *ptr = &streams;

    (void)state;
    starpool_pool_config_init(&config);
    config.location = device3;
    config.backend = STARPOOL_BACKEND_CPU;
    assert_ok(starpool_pool_create(&config, &pool));
    assert_ok(starpool_stream_create(device3, &stream));
    assert_status(STARPOOL_ENOTINIT, starpool_alloc_current(1000, stream, &ptr));
    assert_ptr_equal(ptr, &streams);
    assert_ok(starpool_pool_set_current(device3, STARPOOL_PINNED, pool));
    assert_ok(starpool_alloc_current(1000, stream, &ptr));
    assert_ok(starpool_pool_of(ptr, &current));
    assert_ptr_equal(current, pool);
    assert_ok(starpool_free(ptr, stream));
    starpool_pool_destroy(pool);
    assert_status(STARPOOL_ENOTINIT, starpool_pool_current(device3, STARPOOL_PINNED, &pool));
    starpool_stream_destroy(stream);
}

/* ---- forks ----------------------------------------------------------------------------- */

static int use_streams(void *inherited)
{
    void *ptr = NULL;

    return starpool_free(inherited, streams.a) != STARPOOL_OK ||
           starpool_alloc(fixture.pool, 5000, streams.b, &ptr) != STARPOOL_OK ||
           starpool_free(ptr, streams.b) != STARPOOL_OK ||
           starpool_stream_synchronize(streams.b) != STARPOOL_OK;
}

static void child_goes_on_with_streams_and_their_blocks(void **state)
{
    void *block = sp_stream_fixture_alloc(streams.a, 5000);
    pid_t child = fork();
    int status = -1;

    (void)state;
    if (child == 0)
        _exit(use_streams(block));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_ok(starpool_free(block, streams.a));
}

/* ---- questions --------------------------------------------------------------------------- */

static struct {
    void *_Atomic ptr; /* NULL before the first block */
    _Atomic bool is_over;
} asked;

static void *ask(void *arg)
{
    size_t *n_answers = arg;

    while (!atomic_load(&asked.is_over)) {
        struct starpool_block_info info = {.struct_size = sizeof(info)};
        const void *ptr = atomic_load(&asked.ptr);

        *n_answers += starpool_block_info(ptr, &info) == STARPOOL_OK;
        *n_answers += starpool_is_ready(ptr);
    }
    return NULL;
}

/* The block, and the pool with it, may go while the question is asked. */
static void question_comes_too_late_without_harm(void **state)
{
    struct starpool_pool_config config;
    struct starpool_pool *pool;
    size_t n_answers = 0;
    pthread_t thread;
    void *ptr = NULL;

    (void)state;
    starpool_pool_config_init(&config);
    atomic_store(&asked.is_over, false);
    assert_int_equal(pthread_create(&thread, NULL, ask, &n_answers), 0);
    for (size_t i = 0; i < sp_test_scaled(100); i++) {
        assert_ok(starpool_pool_create(&config, &pool));
        assert_ok(starpool_alloc(pool, 1000, streams.a, &ptr));
        atomic_store(&asked.ptr, ptr);
        assert_ok(starpool_free(ptr, STARPOOL_STREAM_HOST));
        starpool_pool_destroy(pool);
    }
    atomic_store(&asked.is_over, true);
    pthread_join(thread, NULL);
}

#define CASE(name) \
    cmocka_unit_test_setup_teardown(name, sp_stream_fixture_setup, sp_stream_fixture_teardown)

static const struct CMUnitTest tests[] = {
    CASE(stream_has_its_own_frees_at_once),
    CASE(other_stream_has_nothing_of_a_free_that_it_is_not_ordered_after),
    CASE(free_that_the_host_has_seen_serves_everybody),
    CASE(free_that_has_executed_serves_others_if_that_is_allowed),
    CASE(wait_is_added_before_the_pool_grows_if_that_is_allowed),
    CASE(stream_in_the_place_of_another_has_not_its_frees),
    CASE(block_freed_by_the_host_serves_everybody),
    CASE(block_of_the_host_freed_in_a_stream_waits_for_it),
    CASE(parked_block_cannot_be_freed_again),
    CASE(wrong_free_changes_nothing_and_is_told),
    CASE(block_is_known_by_any_address_inside),
    CASE(used_ready_and_pending_are_exact),
    CASE(everything_reserved_is_counted_once_after_each_step),
    CASE(threshold_is_kept_when_a_stream_has_been_waited_for),
    CASE(chunk_that_is_idle_serves_the_host_before_the_pool_grows),
    CASE(refused_request_leaves_no_trace),
    CASE(pool_of_less_than_a_chunk_serves_to_its_last_page),
    CASE(callback_may_free_what_a_stream_then_gets),
    CASE(cpu_pool_is_current_for_its_devices_streams_without_a_driver),
    CASE(child_goes_on_with_streams_and_their_blocks),
    CASE(destroyed_pool_goes_when_its_last_free_has_executed),
    CASE(block_freed_in_a_stream_that_is_gone_goes_back),
    CASE(destroyed_pool_goes_with_the_stream_of_its_last_free),
    CASE(question_comes_too_late_without_harm),
};

int main(void)
{
    if (setenv("STARPOOL_DRIVER", "none", 1) != 0 || setenv("STARPOOL_CHECKS", "2", 1) != 0)
        return 99;
    return cmocka_run_group_tests_name("ordered", tests, NULL, NULL);
}
