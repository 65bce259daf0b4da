/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Random schedules of streams, events and host waits, judged by the model's race detector and
 * by a naive oracle that knows for each pair of operations whether the one comes before the
 * other.
 */
#include "config.h"

#include "tests/model_fixture.h"

#include <stdio.h>
#include <string.h>

#include "src/model/private.h"

#define N_STREAMS 5
#define N_EVENTS  4
#define N_CELLS   24
#define MAX_OPS   128
#define CELL      ((size_t)64)

/* What comes before something: bit i for the operation i. */
struct past {
    bool has[MAX_OPS];
};

struct op {
    size_t reads, n_reads, writes, n_writes; /* cells */
};

/* The first stream is the legacy one, the next two are blocking. */
struct world {
    uint64_t random;
    sp_cu_stream streams[N_STREAMS];
    sp_cu_event events[N_EVENTS];
    struct past stream_pasts[N_STREAMS], event_pasts[N_EVENTS], seen;
    bool is_recorded[N_EVENTS];
    struct op ops[MAX_OPS];
    size_t n_ops;
    sp_cu_ptr ptr;
};

static bool is_blocking(size_t stream)
{
    return stream > 0 && stream < 3;
}

static void merge(struct past *past, const struct past *from)
{
    for (size_t i = 0; i < MAX_OPS; i++)
        past->has[i] = past->has[i] || from->has[i];
}

/* What the legacy stream implies for whatever the stream gets next. */
static void join_implied(struct world *world, size_t stream)
{
    for (size_t i = 0; i < N_STREAMS; i++) {
        if ((stream == 0 && is_blocking(i)) || (i == 0 && is_blocking(stream)))
            merge(&world->stream_pasts[stream], &world->stream_pasts[i]);
    }
}

/* ---- operations ---------------------------------------------------------------------- */

static bool overlaps(size_t a, size_t n_a, size_t b, size_t n_b)
{
    return n_a > 0 && n_b > 0 && a < b + n_b && b < a + n_a;
}

static bool conflicts(const struct op *a, const struct op *b)
{
    return overlaps(a->writes, a->n_writes, b->writes, b->n_writes) ||
           overlaps(a->writes, a->n_writes, b->reads, b->n_reads) ||
           overlaps(a->reads, a->n_reads, b->writes, b->n_writes);
}

static struct op random_op(struct world *world)
{
    struct op op = {.n_writes = 1 + sp_test_random_below(&world->random, 4)};

    op.writes = sp_test_random_below(&world->random, N_CELLS - op.n_writes + 1);
    if (sp_test_random_below(&world->random, 2) == 0) {
        op.n_reads = op.n_writes;
        op.reads = sp_test_random_below(&world->random, N_CELLS - op.n_reads + 1);
    }
    return op;
}

static bool would_race(struct world *world, const struct op *op, size_t stream)
{
    for (size_t i = 0; i < world->n_ops; i++) {
        if (conflicts(&world->ops[i], op) && !world->stream_pasts[stream].has[i] &&
            !world->seen.has[i])
            return true;
    }
    return false;
}

static void submit(struct world *world, const struct op *op, size_t stream)
{
    sp_cu_ptr target = world->ptr + op->writes * CELL;
    sp_cu_stream handle = world->streams[stream];

    if (op->n_reads > 0)
        assert_done(cuMemcpyDtoDAsync(target, world->ptr + op->reads * CELL, op->n_reads * CELL,
                                      handle));
    else
        assert_done(cuMemsetD8Async(target, 1, op->n_writes * CELL, handle));
    sp_test_outwait(handle);
    world->ops[world->n_ops] = *op;
    world->stream_pasts[stream].has[world->n_ops++] = true;
}

/* ---- order --------------------------------------------------------------------------- */

static void record(struct world *world, size_t event, size_t stream)
{
    join_implied(world, stream);
    assert_done(cuEventRecord(world->events[event], world->streams[stream]));
    world->event_pasts[event] = world->stream_pasts[stream];
    world->is_recorded[event] = true;
}

static void await(struct world *world, size_t event, size_t stream)
{
    assert_done(cuStreamWaitEvent(world->streams[stream], world->events[event], 0));
    if (!world->is_recorded[event])
        return; /* Nothing is waited for, and nothing queued. */
    join_implied(world, stream);
    merge(&world->stream_pasts[stream], &world->event_pasts[event]);
}

static void step_of_order(struct world *world)
{
    size_t stream = sp_test_random_below(&world->random, N_STREAMS);
    size_t event = sp_test_random_below(&world->random, N_EVENTS);

    switch (sp_test_random_below(&world->random, 12)) {
    case 0:
        assert_done(cuEventSynchronize(world->events[event]));
        merge(&world->seen, &world->event_pasts[event]);
        break;
    case 1:
        stream = 1 + stream % (N_STREAMS - 1);
        assert_done(cuStreamSynchronize(world->streams[stream]));
        merge(&world->seen, &world->stream_pasts[stream]);
        break;
    case 2:
    case 3:
    case 4:
    case 5:
        record(world, event, stream);
        break;
    default:
        await(world, event, stream);
        break;
    }
}

/* All that comes before it, by an event of each stream. */
static void make_ordered(struct world *world, size_t stream)
{
    for (size_t i = 0; i < N_STREAMS; i++) {
        record(world, 0, i);
        await(world, 0, stream);
    }
}

/* ---- schedules ----------------------------------------------------------------------- */

static void start(struct world *world, uint64_t random)
{
    memset(world, 0, sizeof(*world));
    world->random = random;
    for (size_t i = 1; i < N_STREAMS; i++)
        world->streams[i] =
            sp_test_stream(i < 3 ? SP_CU_STREAM_DEFAULT : SP_CU_STREAM_NON_BLOCKING);
    for (size_t i = 0; i < N_EVENTS; i++)
        world->events[i] = sp_test_event();
    assert_done(cuMemAlloc(&world->ptr, N_CELLS * CELL));
}

static void end(struct world *world)
{
    assert_done(cuCtxSynchronize());
    for (size_t i = 1; i < N_STREAMS; i++)
        assert_done(cuStreamDestroy(world->streams[i]));
    for (size_t i = 0; i < N_EVENTS; i++)
        assert_done(cuEventDestroy(world->events[i]));
    assert_done(cuMemFree(world->ptr));
}

/* The detector agrees with the oracle after each operation, up to the first race, which is
 * avoided if `is_ordered`. True if there was one. */
static bool play(struct world *world, bool is_ordered)
{
    uint64_t before = starpool_model_violations(NULL);
    bool is_race = false;

    while (world->n_ops < MAX_OPS && !is_race) {
        size_t stream = sp_test_random_below(&world->random, N_STREAMS);
        struct op op;

        if (sp_test_random_below(&world->random, 3) > 0) {
            step_of_order(world);
            continue;
        }
        op = random_op(world);
        join_implied(world, stream);
        is_race = would_race(world, &op, stream);
        if (is_race && is_ordered) {
            make_ordered(world, stream);
            is_race = false;
        }
        submit(world, &op, stream);
        assert_int_equal(starpool_model_violations(NULL) - before, is_race);
    }
    return is_race;
}

static void play_all(enum starpool_model_exec exec, size_t n_rounds)
{
    struct starpool_model_config shape = sp_test_model_shape(1, exec);
    static struct world world;
    size_t n_races = 0;
    uint64_t seed = sp_test_seed();

    shape.finds_races = true;
    assert_int_equal(sp_test_model_begin(&shape), 0);
    for (size_t i = 0; i < n_rounds; i++) {
        start(&world, seed + i);
        assert_false(play(&world, true));
        end(&world);
        start(&world, seed + i);
        n_races += play(&world, false);
        end(&world);
    }
    assert_true(n_races > n_rounds / 2);
}

static void random_schedules_are_judged_as_the_oracle_does(void **state)
{
    (void)state;
    play_all(STARPOOL_MODEL_INLINE, sp_test_scaled(1000));
}

static void random_schedules_in_threads_are_judged_as_the_oracle_does(void **state)
{
    (void)state;
    play_all(STARPOOL_MODEL_THREADS, sp_test_scaled(100));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(random_schedules_are_judged_as_the_oracle_does,
                                  sp_test_model_end),
        cmocka_unit_test_teardown(random_schedules_in_threads_are_judged_as_the_oracle_does,
                                  sp_test_model_end),
    };

    return cmocka_run_group_tests_name("model_races_random", tests, NULL, NULL);
}
