/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Random walks over streams, waits and blocks in their order, against a pool's limit, alone and
 * from many threads. The checker watches: no two blocks that are there together overlap. */
#include "config.h"

#include "tests/support.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <starpool/block.h>
#include <starpool/stream.h>

#include "src/heap/checker.h"
#include "src/pool/pool.h"
#include "tests/fixture.h"

static const struct starpool_location host = {STARPOOL_HOST, 0};

#define N_BLOCKS  64
#define N_STREAMS 4

struct walk {
    uint64_t random;
    starpool_stream streams[N_STREAMS];
    struct {
        unsigned char *ptr;
        size_t size, rounded;
        size_t stream; /* that it was allocated on; N_STREAMS: the host */
        unsigned char fill;
    } blocks[N_BLOCKS];
    size_t used, n_live;
    bool has_failed;
};

static size_t any_stream(struct walk *walk)
{
    return sp_test_random_below(&walk->random, N_STREAMS + 1);
}

static starpool_stream stream_of(const struct walk *walk, size_t i)
{
    return i == N_STREAMS ? STARPOOL_STREAM_HOST : walk->streams[i];
}

/* Order a stream after all that another was given. */
static void join(struct walk *walk, size_t i, size_t other)
{
    uint64_t point;

    walk->has_failed |=
        starpool_stream_record(walk->streams[other], &point) != STARPOOL_OK ||
        starpool_stream_wait(walk->streams[i], walk->streams[other], point) != STARPOOL_OK;
}

static void step_alloc(struct walk *walk, size_t i)
{
    struct starpool_block_info info = {.struct_size = sizeof(info)};
    unsigned shift = (unsigned)(42 + sp_test_random_below(&walk->random, 14));
    size_t size = 1 + (sp_test_random(&walk->random) >> shift), stream = any_stream(walk);
    void *ptr = NULL;

    if (starpool_alloc(fixture.pool, size, stream_of(walk, stream), &ptr) != STARPOOL_OK)
        return;
    walk->blocks[i].stream = stream;
    walk->blocks[i].ptr = ptr;
    walk->blocks[i].size = size;
    walk->blocks[i].fill = (unsigned char)sp_test_random(&walk->random);
    memset(ptr, walk->blocks[i].fill, size);
    walk->has_failed |= starpool_block_info(ptr, &info) != STARPOOL_OK || info.size < size;
    walk->blocks[i].rounded = info.size;
    walk->used += info.size;
    walk->n_live++;
}

static void step_free(struct walk *walk, size_t i)
{
    unsigned char *ptr = walk->blocks[i].ptr;
    size_t stream = any_stream(walk), owner = walk->blocks[i].stream;

    if (stream != N_STREAMS && owner != N_STREAMS && stream != owner)
        join(walk, stream, owner);
    walk->has_failed |=
        ptr[0] != walk->blocks[i].fill || ptr[walk->blocks[i].size - 1] != walk->blocks[i].fill;
    walk->has_failed |= starpool_free(ptr, stream_of(walk, stream)) != STARPOOL_OK;
    walk->blocks[i].ptr = NULL;
    walk->used -= walk->blocks[i].rounded;
    walk->n_live--;
}

static void step_order(struct walk *walk)
{
    size_t i = sp_test_random_below(&walk->random, N_STREAMS);
    size_t other = sp_test_random_below(&walk->random, N_STREAMS);
    starpool_stream *stream = &walk->streams[i];

    switch (sp_test_random_below(&walk->random, 6)) {
    case 0:
        walk->has_failed |= starpool_stream_synchronize(*stream) != STARPOOL_OK;
        break;
    case 1:
        walk->has_failed |= starpool_stream_synchronize(*stream) != STARPOOL_OK;
        starpool_stream_destroy(*stream);
        walk->has_failed |= starpool_stream_create(host, stream) != STARPOOL_OK;
        break;
    case 2:
        starpool_pool_trim(fixture.pool, sp_test_random(&walk->random) >> 40);
        break;
    default:
        join(walk, i, other);
        break;
    }
}

static void step(struct walk *walk)
{
    size_t i = sp_test_random_below(&walk->random, N_BLOCKS);

    if (sp_test_random_below(&walk->random, 6) == 0)
        step_order(walk);
    else if (walk->blocks[i].ptr == NULL)
        step_alloc(walk, i);
    else
        step_free(walk, i);
}

static void begin_walk(struct walk *walk, uint64_t seed)
{
    memset(walk, 0, sizeof(*walk));
    walk->random = seed;
    for (size_t i = 0; i < N_STREAMS; i++)
        walk->has_failed |= starpool_stream_create(host, &walk->streams[i]) != STARPOOL_OK;
}

static void end_walk(struct walk *walk)
{
    for (size_t i = 0; i < N_BLOCKS; i++) {
        if (walk->blocks[i].ptr != NULL)
            step_free(walk, i);
    }
    for (size_t i = 0; i < N_STREAMS; i++) {
        walk->has_failed |= starpool_stream_synchronize(walk->streams[i]) != STARPOOL_OK;
        starpool_stream_destroy(walk->streams[i]);
    }
}

static void assert_no_violation(void)
{
    struct sp_checker_report report;

    sp_streams_lock();
    sp_checker_report(sp_streams_order()->checker, &report);
    sp_streams_unlock();
    assert_string_equal(report.first, "");
    assert_true(report.n_checked > 0);
}

static void random_walk_keeps_limits_and_counts(void **state)
{
    const uint64_t maximum = 12 * SP_MIB;
    struct walk walk;

    (void)state;
    begin_walk(&walk, sp_test_seed());
    assert_ok(starpool_pool_set_attribute(fixture.pool, STARPOOL_ATTR_MAXIMUM, maximum));
    for (size_t i = 0; i < sp_test_scaled(3000); i++) {
        struct starpool_stats now;

        step(&walk);
        assert_false(walk.has_failed);
        now = sp_fixture_stats_of(fixture.pool);
        assert_int_equal(now.used_bytes, walk.used);
        assert_int_equal(now.n_live, walk.n_live);
        assert_true(now.reserved_bytes <= maximum);
        assert_true(now.used_bytes + now.ordered_pending_bytes + now.ordered_ready_bytes +
                        now.cached_bytes <=
                    now.reserved_bytes);
    }
    end_walk(&walk);
    assert_false(walk.has_failed);
    assert_no_violation();
    assert_ok(starpool_pool_trim(fixture.pool, 0));
    assert_int_equal(sp_fixture_stats_of(fixture.pool).reserved_bytes, 0);
}

static void *walk_alone(void *arg)
{
    struct walk *walk = arg;

    for (size_t i = 0; i < sp_test_scaled(1500); i++)
        step(walk);
    end_walk(walk);
    return NULL;
}

static void threads_on_their_own_streams_disturb_nobody(void **state)
{
    static struct walk walks[4];
    pthread_t threads[4];

    (void)state;
    assert_ok(starpool_pool_set_attribute(fixture.pool, STARPOOL_ATTR_MAXIMUM, 48 * SP_MIB));
    for (size_t i = 0; i < SP_ARRAY_SIZE(walks); i++)
        begin_walk(&walks[i], sp_test_seed() + i);
    for (size_t i = 0; i < SP_ARRAY_SIZE(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, walk_alone, &walks[i]), 0);
    for (size_t i = 0; i < SP_ARRAY_SIZE(threads); i++) {
        pthread_join(threads[i], NULL);
        assert_false(walks[i].has_failed);
    }
    assert_no_violation();
    assert_int_equal(sp_fixture_stats_of(fixture.pool).used_bytes, 0);
    assert_ok(starpool_pool_trim(fixture.pool, 0));
    assert_int_equal(sp_fixture_stats_of(fixture.pool).reserved_bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(random_walk_keeps_limits_and_counts, sp_fixture_setup,
                                        sp_fixture_teardown),
        cmocka_unit_test_setup_teardown(threads_on_their_own_streams_disturb_nobody,
                                        sp_fixture_setup, sp_fixture_teardown),
    };

    if (setenv("STARPOOL_DRIVER", "none", 1) != 0 || setenv("STARPOOL_CHECKS", "2", 1) != 0)
        return 99;
    return cmocka_run_group_tests_name("ordered_random", tests, NULL, NULL);
}
