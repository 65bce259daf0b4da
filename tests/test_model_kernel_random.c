/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Kernels, copies and memsets of several streams of the model that are ordered by events, at
 * random, executed and as graphs: what they leave is what doing them one after another leaves.
 */
#include "config.h"

#include "tests/kernel_fixture.h"
#include "tests/model_capture_fixture.h"

#include <string.h>

#define N_STREAMS 4
#define N_BUFFERS 6
#define N_CELLS   64 /* of a buffer: 8 rows of 8 */
#define N_OPS     40
#define N_ROUNDS  30

enum op_kind { ADD, MOVE, SET, COPY_ROWS, N_KINDS };

struct op {
    enum op_kind kind;
    size_t stream, target, source;
    int value;
};

/* What a round works on. */
static struct {
    uint64_t random;
    sp_cu_function add, move;
    sp_cu_stream streams[N_STREAMS];
    sp_cu_event events[N_STREAMS];      /* what each stream was given last */
    sp_cu_ptr buffers[N_BUFFERS];       /* [N_CELLS] */
    bool is_used[N_BUFFERS][N_STREAMS]; /* in this stream, since all waited for it */
    int wanted[N_BUFFERS][N_CELLS];
} world;

/* ---- the oracle -------------------------------------------------------------------------- */

static void do_now(const struct op *op)
{
    int *target = world.wanted[op->target];
    const int *source = world.wanted[op->source];

    for (int i = 0; i < N_CELLS; i++) {
        if (op->kind == ADD)
            target[i] += op->value;
        else if (op->kind == SET)
            target[i] = op->value;
        else if (op->kind == MOVE)
            target[i] = source[i];
        else if (i % 8 >= 4 &&
                 i < 32) /* the right half of 4 rows, to the left half of others */
            target[i - 4 + 32] = source[i];
    }
}

/* ---- the model --------------------------------------------------------------------------- */

static void copy_rows(const struct op *op, sp_cu_stream stream)
{
    struct sp_cu_memcpy2d copy = {
        .source_x_bytes = 16,
        .source_type = SP_CU_MEMORY_TYPE_DEVICE,
        .source_device = world.buffers[op->source],
        .source_pitch = 32,
        .target_y = 4,
        .target_type = SP_CU_MEMORY_TYPE_DEVICE,
        .target_device = world.buffers[op->target],
        .target_pitch = 32,
        .width_bytes = 16,
        .height = 4,
    };

    assert_done(cuMemcpy2DAsync(&copy, stream));
}

/* After all that other streams do to the buffer. */
static void wait_for(size_t buffer, size_t stream)
{
    for (size_t other = 0; other < N_STREAMS; other++) {
        if (other != stream && world.is_used[buffer][other])
            assert_done(cuStreamWaitEvent(world.streams[stream], world.events[other], 0));
        world.is_used[buffer][other] = false;
    }
    world.is_used[buffer][stream] = true;
}

static void queue(const struct op *op)
{
    sp_cu_stream stream = world.streams[op->stream];
    sp_cu_ptr target = world.buffers[op->target], source = world.buffers[op->source];
    int n = N_CELLS;
    void *args[] = {&target, &source, &n};

    wait_for(op->target, op->stream);
    wait_for(op->source, op->stream);
    if (op->kind == ADD)
        sp_test_launch_add(world.add, target, N_CELLS, op->value, stream);
    else if (op->kind == MOVE)
        assert_done(cuLaunchKernel(world.move, 1, 1, 1, 1, 1, 1, 0, stream, args, NULL));
    else if (op->kind == SET)
        assert_done(cuMemsetD32Async(target, (unsigned)op->value, N_CELLS, stream));
    else
        copy_rows(op, stream);
    assert_done(cuEventRecord(world.events[op->stream], stream));
}

/* ---- rounds ------------------------------------------------------------------------------ */

static struct op random_op(void)
{
    struct op op = {
        .kind = (enum op_kind)sp_test_random_below(&world.random, N_KINDS),
        .stream = sp_test_random_below(&world.random, N_STREAMS),
        .target = sp_test_random_below(&world.random, N_BUFFERS),
        .value = (int)sp_test_random_below(&world.random, 1000),
    };

    op.source =
        (op.target + 1 + sp_test_random_below(&world.random, N_BUFFERS - 1)) % N_BUFFERS;
    return op;
}

static void check(void)
{
    int found[N_CELLS];

    assert_done(cuCtxSynchronize());
    for (size_t i = 0; i < N_BUFFERS; i++) {
        assert_done(cuMemcpyDtoH(found, world.buffers[i], sizeof(found)));
        assert_memory_equal(found, world.wanted[i], sizeof(found));
    }
    memset(world.is_used, 0, sizeof(world.is_used));
}

static void execute_round(const struct op *ops, size_t n)
{
    for (size_t i = 0; i < n; i++)
        queue(&ops[i]);
    for (size_t i = 0; i < n; i++)
        do_now(&ops[i]);
}

/* All streams are captured along with the first, and the graph is launched in several. */
static void capture_round(const struct op *ops, size_t n)
{
    size_t n_launches = 1 + sp_test_random_below(&world.random, 3);
    sp_cu_graph graph;
    sp_cu_exec exec;

    sp_test_begin(world.streams[0]);
    for (size_t i = 1; i < N_STREAMS; i++)
        sp_test_fork(world.streams[0], world.events[0], world.streams[i]);
    for (size_t i = 0; i < n; i++)
        queue(&ops[i]);
    for (size_t i = 1; i < N_STREAMS; i++)
        sp_test_fork(world.streams[i], world.events[i], world.streams[0]);
    graph = sp_test_end(world.streams[0]);
    exec = sp_test_exec(graph, 0);
    assert_done(cuGraphDestroy(graph));
    for (size_t i = 0; i < n_launches; i++) {
        assert_done(cuGraphLaunch(exec, world.streams[i % N_STREAMS]));
        for (size_t j = 0; j < n; j++)
            do_now(&ops[j]);
    }
    assert_done(cuGraphExecDestroy(exec));
}

static void begin_world(void)
{
    sp_cu_module module = sp_test_module();

    memset(&world, 0, sizeof(world));
    world.random = sp_test_seed();
    world.add = sp_test_function(module, "test_add");
    world.move = sp_test_function(module, "test_move");
    for (size_t i = 0; i < N_STREAMS; i++) {
        world.streams[i] = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
        world.events[i] = sp_test_event();
    }
    for (size_t i = 0; i < N_BUFFERS; i++)
        world.buffers[i] = sp_test_cells(N_CELLS);
}

static void what_streams_and_graphs_leave_is_what_one_after_another_leaves(void **state)
{
    size_t n_rounds = sp_test_scaled(N_ROUNDS);
    struct op ops[N_OPS];

    (void)state;
    begin_world();
    for (size_t round = 0; round < n_rounds; round++) {
        for (size_t i = 0; i < N_OPS; i++)
            ops[i] = random_op();
        if (sp_test_random_below(&world.random, 2) == 0)
            execute_round(ops, N_OPS);
        else
            capture_round(ops, N_OPS);
        check();
    }
    sp_test_assert_no_violations();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SP_TEST_BOTH(what_streams_and_graphs_leave_is_what_one_after_another_leaves),
    };

    sp_test_kernels();
    return cmocka_run_group_tests_name("model_kernel_random", tests, NULL, NULL);
}
