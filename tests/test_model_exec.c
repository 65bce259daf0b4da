/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Executables of the model beyond the rules: random graphs against what one thread would have
 * done, and what each kind of node does. */
#include "config.h"

#include "tests/exec_fixture.h"

#include <pthread.h>
#include <string.h>

#include "src/util/util.h"

/* ---- random graphs against an oracle ---------------------------------------------------- */

#define N_WORKERS 3
#define N_CELLS   6
#define N_STEPS   40
#define N_EXECS   2
#define N_STREAMS 3

/* What one step of a graph does to the cells. */
struct deed {
    int target, source; /* source -1: the value is set */
    unsigned char value;
};

/* Nodes that touched a cell last: its writer, or who has read it since. */
struct touched {
    sp_cu_node nodes[N_STEPS + 1];
    size_t n;
};

/* One thread's graphs, which all work on its cells. */
struct worker {
    uint64_t random;
    sp_cu_ptr cells[N_CELLS];
    unsigned char values[N_CELLS]; /* what the oracle has */
    sp_cu_graph graphs[N_EXECS];
    sp_cu_exec execs[N_EXECS];
    struct deed deeds[N_EXECS][N_STEPS];
    sp_cu_stream streams[N_STREAMS];
    sp_cu_event event;
    unsigned n_failures;
};

static void touch_first(struct touched *touched, sp_cu_node node)
{
    touched->nodes[0] = node;
    touched->n = 1;
}

/* A copy goes by way of a temporary of the graph. */
static void add_deed(const struct worker *worker, sp_cu_graph graph, const struct deed *deed,
                     struct touched *touched)
{
    struct touched *target = &touched[deed->target];
    sp_cu_node before[N_STEPS + 2], alloc, last;
    struct touched *source;
    sp_cu_ptr temporary;

    if (deed->source < 0) {
        touch_first(target, sp_test_add_set(graph, worker->cells[deed->target], deed->value,
                                            target->nodes, target->n));
        return;
    }
    source = &touched[deed->source];
    temporary = sp_test_add_alloc(graph, SP_TEST_CELL, source->nodes, source->n, &alloc);
    last = sp_test_add_copy(graph, temporary, worker->cells[deed->source], &alloc, 1);
    memcpy(before, target->nodes, target->n * sizeof(sp_cu_node));
    before[target->n] = last;
    if (source != target)
        source->nodes[source->n++] = last;
    last =
        sp_test_add_copy(graph, worker->cells[deed->target], temporary, before, target->n + 1);
    touch_first(target, last);
    (void)sp_test_add_free(graph, temporary, &last, 1);
}

static void make_random_graph(struct worker *worker, int index)
{
    struct touched touched[N_CELLS];
    sp_cu_graph graph = sp_test_graph();

    memset(touched, 0, sizeof(touched));
    for (int i = 0; i < N_STEPS; i++) {
        struct deed *deed = &worker->deeds[index][i];

        deed->target = (int)sp_test_random_below(&worker->random, N_CELLS);
        deed->source = (int)sp_test_random_below(&worker->random, N_CELLS + 3);
        deed->value = (unsigned char)sp_test_random_below(&worker->random, 256);
        if (deed->source >= N_CELLS)
            deed->source = -1;
        add_deed(worker, graph, deed, touched);
    }
    worker->graphs[index] = graph;
    worker->execs[index] = sp_test_exec(graph, 0);
}

static void follow(struct worker *worker, int index)
{
    for (int i = 0; i < N_STEPS; i++) {
        const struct deed *deed = &worker->deeds[index][i];

        worker->values[deed->target] =
            deed->source < 0 ? deed->value : worker->values[deed->source];
    }
}

static void make_worker(struct worker *worker, uint64_t seed)
{
    memset(worker, 0, sizeof(*worker));
    worker->random = seed;
    worker->event = sp_test_event();
    for (int i = 0; i < N_CELLS; i++) {
        assert_done(cuMemAlloc(&worker->cells[i], SP_TEST_CELL));
        assert_done(cuMemsetD8(worker->cells[i], 0, SP_TEST_CELL));
    }
    for (int i = 0; i < N_STREAMS; i++)
        worker->streams[i] = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    for (int i = 0; i < N_EXECS; i++)
        make_random_graph(worker, i);
}

static void expect(struct worker *worker, sp_cu_result result)
{
    worker->n_failures += result != SP_CU_SUCCESS;
}

/* Launches one after another, each in a random stream; sometimes memory is trimmed. */
static void *work(void *arg)
{
    struct worker *worker = arg;
    const struct sp_driver *driver = sp_model.driver;

    expect(worker, driver->cuCtxSetCurrent(sp_model.context));
    for (size_t i = 0; i < sp_test_scaled(60); i++) {
        int index = (int)sp_test_random_below(&worker->random, N_EXECS);
        sp_cu_stream stream = worker->streams[sp_test_random_below(&worker->random, N_STREAMS)];

        expect(worker, driver->cuStreamWaitEvent(stream, worker->event, 0));
        expect(worker, driver->cuGraphLaunch(worker->execs[index], stream));
        expect(worker, driver->cuEventRecord(worker->event, stream));
        follow(worker, index);
        if (sp_test_random_below(&worker->random, 8) == 0)
            expect(worker, driver->cuDeviceGraphMemTrim(0));
    }
    expect(worker, driver->cuEventSynchronize(worker->event));
    return NULL;
}

static void check_worker(const struct worker *worker)
{
    assert_int_equal(worker->n_failures, 0);
    for (int i = 0; i < N_CELLS; i++)
        sp_test_assert_bytes(worker->cells[i], worker->values[i], worker->streams[0]);
    for (int i = 0; i < N_EXECS; i++) {
        assert_done(cuGraphExecDestroy(worker->execs[i]));
        assert_done(cuGraphDestroy(worker->graphs[i]));
    }
}

static void launches_of_many_threads_do_what_one_would(void **state)
{
    static struct worker workers[N_WORKERS];
    pthread_t threads[N_WORKERS];

    (void)state;
    for (int i = 0; i < N_WORKERS; i++)
        make_worker(&workers[i], sp_test_seed() + (uint64_t)i);
    assert_done(cuCtxSynchronize());
    for (int i = 0; i < N_WORKERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    for (int i = 0; i < N_WORKERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < N_WORKERS; i++)
        check_worker(&workers[i]);
    sp_test_assert_no_violations();
    assert_done(cuCtxSynchronize());
    assert_done(cuDeviceGraphMemTrim(0));
    assert_int_equal(sp_test_graph_bytes(SP_CU_GRAPH_MEM_RESERVED_CURRENT), 0);
    assert_int_equal(sp_test_free_bytes(),
                     64 * SP_TEST_SIZE - N_WORKERS * N_CELLS * SP_TEST_CELL);
}

/* ---- kinds of nodes --------------------------------------------------------------------- */

/* Functions write down their order; a child's are in place, a chosen body's too. */
struct diary {
    char text[16];
    size_t n;
};
static struct diary diary;

static void write_a(void *arg)
{
    (void)arg;
    diary.text[diary.n++] = 'a';
}

static void write_b(void *arg)
{
    (void)arg;
    diary.text[diary.n++] = 'b';
}

static void write_c(void *arg)
{
    (void)arg;
    diary.text[diary.n++] = 'c';
}

static void assert_diary(const char *text)
{
    diary.text[diary.n] = '\0';
    assert_string_equal(diary.text, text);
    memset(&diary, 0, sizeof(diary));
}

static void children_are_executed_in_their_place(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_graph graph = sp_test_graph(), child = sp_test_graph();
    sp_cu_node last;
    sp_cu_exec exec;

    (void)state;
    memset(&diary, 0, sizeof(diary));
    last = sp_test_add_function(child, write_a, NULL, NULL, 0);
    (void)sp_test_add_function(child, write_b, NULL, &last, 1);
    last = sp_test_add_function(graph, write_c, NULL, NULL, 0);
    assert_done(cuGraphAddChildGraphNode(&last, graph, &last, 1, child));
    last = sp_test_add_function(graph, write_c, NULL, &last, 1);
    assert_done(cuGraphAddChildGraphNode(&last, graph, &last, 1, child));
    assert_done(cuGraphDestroy(child));
    exec = sp_test_exec(graph, 0);
    assert_done(cuGraphLaunch(exec, stream));
    assert_done(cuStreamSynchronize(stream));
    assert_diary("cabcab");
    assert_done(cuGraphExecDestroy(exec));
    assert_done(cuGraphDestroy(graph));
}

static void add_condition(sp_cu_graph graph, int type, unsigned size, unsigned value,
                          const sp_cu_host_fn *calls)
{
    struct sp_cu_node_params params = {
        .type = SP_CU_NODE_CONDITIONAL,
        .conditional = {.type = type, .size = size, .context = sp_model.context},
    };
    sp_cu_node node;

    assert_done(cuGraphConditionalHandleCreate(&params.conditional.handle, graph,
                                               sp_model.context, value, 1));
    assert_done(cuGraphAddNode(&node, graph, NULL, NULL, 0, &params));
    for (unsigned i = 0; i < size; i++)
        (void)sp_test_add_function(params.conditional.graphs_out[i], calls[i], NULL, NULL, 0);
}

static void conditions_choose_bodies_by_their_value(void **state)
{
    static const sp_cu_host_fn calls[] = {write_a, write_b, write_c};
    static const struct {
        int type;
        unsigned size, value;
        const char *text;
    } cases[] = {
        {SP_CU_CONDITION_IF, 1, 1, "a"},     {SP_CU_CONDITION_IF, 1, 0, ""},
        {SP_CU_CONDITION_IF, 2, 0, "b"},     {SP_CU_CONDITION_IF, 2, 5, "a"},
        {SP_CU_CONDITION_WHILE, 1, 0, ""},   {SP_CU_CONDITION_SWITCH, 3, 1, "b"},
        {SP_CU_CONDITION_SWITCH, 3, 2, "c"}, {SP_CU_CONDITION_SWITCH, 3, 3, ""},
    };
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);

    (void)state;
    memset(&diary, 0, sizeof(diary));
    for (size_t i = 0; i < SP_ARRAY_SIZE(cases); i++) {
        sp_cu_graph graph = sp_test_graph();
        sp_cu_exec exec;

        add_condition(graph, cases[i].type, cases[i].size, cases[i].value, calls);
        exec = sp_test_exec(graph, 0);
        assert_done(cuGraphLaunch(exec, stream));
        assert_done(cuStreamSynchronize(stream));
        assert_diary(cases[i].text);
        assert_done(cuGraphExecDestroy(exec));
        assert_done(cuGraphDestroy(graph));
    }
    sp_test_assert_no_violations();
}

static void a_loop_that_nothing_ends_goes_round_once_and_is_said(void **state)
{
    static const sp_cu_host_fn calls[] = {write_a};
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_graph graph = sp_test_graph();
    sp_cu_exec exec;

    (void)state;
    memset(&diary, 0, sizeof(diary));
    add_condition(graph, SP_CU_CONDITION_WHILE, 1, 1, calls);
    exec = sp_test_exec(graph, 0);
    assert_int_equal(starpool_model_violations(NULL), 1);
    assert_done(cuGraphLaunch(exec, stream));
    assert_done(cuStreamSynchronize(stream));
    assert_diary("a");
    assert_done(cuGraphExecDestroy(exec));
    assert_done(cuGraphDestroy(graph));
}

static void event_nodes_act_on_the_events_at_each_launch(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_stream other = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_event awaited = sp_test_event(), recorded = sp_test_event();
    sp_cu_graph graph = sp_test_graph();
    sp_cu_node last;
    sp_cu_exec exec;
    sp_cu_ptr cell;

    (void)state;
    assert_done(cuMemAlloc(&cell, SP_TEST_CELL));
    assert_done(cuGraphAddEventWaitNode(&last, graph, NULL, 0, awaited));
    last = sp_test_add_set(graph, cell, 2, &last, 1);
    assert_done(cuGraphAddEventRecordNode(&last, graph, &last, 1, recorded));
    exec = sp_test_exec(graph, 0);
    for (int i = 0; i < 2; i++) {
        sp_test_hold(other);
        assert_done(cuMemsetD8Async(cell, 1, SP_TEST_CELL, other));
        assert_done(cuEventRecord(awaited, other));
        assert_done(cuGraphLaunch(exec, stream));
        assert_result(SP_CU_NOT_READY, cuEventQuery(recorded));
        sp_test_release();
        assert_done(cuEventSynchronize(recorded));
        sp_test_assert_bytes(cell, 2, other);
        sp_test_hold_again();
    }
    assert_done(cuEventDestroy(recorded));
    assert_result(SP_CU_INVALID_VALUE, cuGraphLaunch(exec, stream));
    assert_done(cuGraphExecDestroy(exec));
    assert_done(cuGraphDestroy(graph));
    sp_test_assert_no_violations();
}

static void captured_values_are_awaited_and_written_at_each_launch(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_graph graph;
    uint32_t *values;
    sp_cu_exec exec;

    (void)state;
    assert_done(cuMemHostAlloc((void **)&values, 2 * sizeof(*values), 0));
    assert_done(cuStreamBeginCapture(stream, SP_CU_CAPTURE_MODE_RELAXED));
    assert_done(cuStreamWaitValue32(stream, (uintptr_t)values, 3, SP_CU_WAIT_VALUE_EQ));
    assert_done(cuStreamWriteValue32(stream, (uintptr_t)(values + 1), 9, 0));
    assert_done(cuStreamEndCapture(stream, &graph));
    exec = sp_test_exec(graph, 0);
    for (int i = 0; i < 2; i++) {
        values[0] = values[1] = 0;
        assert_done(cuGraphLaunch(exec, stream));
        assert_result(SP_CU_NOT_READY, cuStreamQuery(stream));
        assert_int_equal(__atomic_load_n(&values[1], __ATOMIC_ACQUIRE), 0);
        __atomic_store_n(&values[0], 3, __ATOMIC_RELEASE);
        assert_done(cuStreamSynchronize(stream));
        assert_int_equal(values[1], 9);
    }
    assert_done(cuGraphExecDestroy(exec));
    assert_done(cuGraphDestroy(graph));
}

/* A captured launch is a child that does the same. */
static void a_captured_launch_becomes_a_child(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_graph inner = sp_test_graph(), outer;
    sp_cu_node node;
    size_t n = 1;
    sp_cu_exec exec;
    sp_cu_ptr cell;
    int type;

    (void)state;
    assert_done(cuMemAlloc(&cell, SP_TEST_CELL));
    (void)sp_test_add_set(inner, cell, 4, NULL, 0);
    exec = sp_test_exec(inner, 0);
    assert_done(cuStreamBeginCapture(stream, SP_CU_CAPTURE_MODE_RELAXED));
    assert_done(cuGraphLaunch(exec, stream));
    assert_done(cuStreamEndCapture(stream, &outer));
    assert_done(cuGraphExecDestroy(exec));
    assert_done(cuGraphDestroy(inner));
    assert_done(cuGraphGetNodes(outer, &node, &n));
    assert_int_equal(n, 1);
    assert_done(cuGraphNodeGetType(node, &type));
    assert_int_equal(type, SP_CU_NODE_GRAPH);
    assert_done(cuMemsetD8Async(cell, 1, SP_TEST_CELL, stream));
    exec = sp_test_exec(outer, 0);
    assert_done(cuGraphLaunch(exec, stream));
    sp_test_assert_bytes(cell, 4, stream);
    assert_done(cuGraphExecDestroy(exec));
    assert_done(cuGraphDestroy(outer));
}

static void a_launch_with_memory_nodes_is_not_captured(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_graph inner = sp_test_graph(), outer;
    sp_cu_node node;
    size_t n = 0;
    sp_cu_exec exec;

    (void)state;
    (void)sp_test_add_alloc(inner, SP_TEST_CELL, NULL, 0, &node);
    exec = sp_test_exec(inner, 0);
    assert_done(cuStreamBeginCapture(stream, SP_CU_CAPTURE_MODE_RELAXED));
    assert_result(SP_CU_NOT_SUPPORTED, cuGraphLaunch(exec, stream));
    assert_done(cuStreamEndCapture(stream, &outer));
    assert_done(cuGraphGetNodes(outer, NULL, &n));
    assert_int_equal(n, 0);
    assert_done(cuGraphExecDestroy(exec));
    assert_done(cuGraphDestroy(inner));
    assert_done(cuGraphDestroy(outer));
}

/* ---- rows and slices -------------------------------------------------------------------- */

enum { PITCH = 64, HEIGHT = 8, DEPTH = 4, VOLUME = PITCH * HEIGHT * DEPTH };

static void rows_and_slices_are_copied_and_set(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_graph graph = sp_test_graph();
    unsigned char *source, *target, wanted[VOLUME];
    struct sp_cu_memcpy3d copy;
    struct sp_cu_memset_params set;
    sp_cu_node last;
    sp_cu_exec exec;

    (void)state;
    assert_done(cuMemAllocHost((void **)&source, VOLUME));
    assert_done(cuMemAllocHost((void **)&target, VOLUME));
    memset(target, 0, VOLUME);
    memset(wanted, 0, VOLUME);
    for (size_t i = 0; i < VOLUME; i++)
        source[i] = (unsigned char)(i % 251);
    copy = (struct sp_cu_memcpy3d){.source_x_bytes = 3,
                                   .source_y = 1,
                                   .source_type = SP_CU_MEMORY_TYPE_HOST,
                                   .source_host = source,
                                   .source_pitch = PITCH,
                                   .source_height = HEIGHT,
                                   .target_x_bytes = 5,
                                   .target_z = 1,
                                   .target_type = SP_CU_MEMORY_TYPE_UNIFIED,
                                   .target_device = (uintptr_t)target,
                                   .target_pitch = PITCH,
                                   .target_height = HEIGHT,
                                   .width_bytes = 20,
                                   .height = 6,
                                   .depth = 3};
    set = (struct sp_cu_memset_params){.target = (uintptr_t)target,
                                       .pitch = PITCH,
                                       .value = 0x1234,
                                       .element_size = 2,
                                       .width = 7,
                                       .height = 3};
    for (size_t z = 0; z < 3; z++) {
        for (size_t y = 0; y < 6; y++)
            memcpy(wanted + ((z + 1) * HEIGHT + y) * PITCH + 5,
                   source + (z * HEIGHT + y + 1) * PITCH + 3, 20);
    }
    for (size_t y = 0; y < 3; y++) {
        for (size_t x = 0; x < 7; x++)
            memcpy(wanted + y * PITCH + 2 * x, &(uint16_t){0x1234}, 2);
    }
    assert_done(cuGraphAddMemcpyNode(&last, graph, NULL, 0, &copy, sp_model.context));
    assert_done(cuGraphAddMemsetNode(&last, graph, NULL, 0, &set, sp_model.context));
    exec = sp_test_exec(graph, 0);
    assert_done(cuGraphLaunch(exec, stream));
    assert_done(cuStreamSynchronize(stream));
    assert_memory_equal(target, wanted, VOLUME);
    assert_done(cuGraphExecDestroy(exec));
    assert_done(cuGraphDestroy(graph));
}

/* No device sets what is not pinned any more. */
static void a_graph_does_not_set_freed_host_memory(void **state)
{
    sp_cu_stream stream;
    sp_cu_graph graph;
    sp_cu_exec exec;
    void *host;

    (void)state;
    assert_done(cuStreamCreate(&stream, SP_CU_STREAM_NON_BLOCKING));
    assert_done(cuMemAllocHost(&host, 64));
    assert_done(cuStreamBeginCapture(stream, SP_CU_CAPTURE_MODE_RELAXED));
    assert_done(cuMemsetD8Async((sp_cu_ptr)(uintptr_t)host, 1, 64, stream));
    assert_done(cuStreamEndCapture(stream, &graph));
    assert_done(cuGraphInstantiate(&exec, graph, 0));
    assert_done(cuGraphLaunch(exec, stream));
    assert_done(cuStreamSynchronize(stream));
    assert_done(cuMemFreeHost(host));
    assert_result(SP_CU_INVALID_VALUE, cuGraphLaunch(exec, stream));
    assert_done(cuGraphExecDestroy(exec));
    assert_done(cuGraphDestroy(graph));
    assert_done(cuStreamDestroy(stream));
}

/* A node that says that its ends are a device's may not have what is the host's own by now. */
static void a_graph_does_not_copy_freed_host_memory(void **state)
{
    sp_cu_stream stream;
    sp_cu_graph graph;
    sp_cu_exec exec;
    sp_cu_node node;
    struct sp_cu_memcpy3d copy = {
        .source_type = SP_CU_MEMORY_TYPE_DEVICE,
        .target_type = SP_CU_MEMORY_TYPE_DEVICE,
        .width_bytes = 64,
        .height = 1,
        .depth = 1,
    };
    void *host, *kept;

    (void)state;
    assert_done(cuStreamCreate(&stream, SP_CU_STREAM_NON_BLOCKING));
    assert_done(cuMemAllocHost(&host, 64));
    assert_done(cuMemAllocHost(&kept, 64));
    copy.source_device = (sp_cu_ptr)(uintptr_t)kept;
    copy.target_device = (sp_cu_ptr)(uintptr_t)host;
    assert_done(cuGraphCreate(&graph, 0));
    assert_done(cuGraphAddMemcpyNode(&node, graph, NULL, 0, &copy, sp_model.context));
    assert_done(cuGraphInstantiate(&exec, graph, 0));
    assert_done(cuGraphLaunch(exec, stream));
    assert_done(cuStreamSynchronize(stream));
    assert_done(cuMemFreeHost(host));
    assert_result(SP_CU_INVALID_VALUE, cuGraphLaunch(exec, stream));
    assert_done(cuMemFreeHost(kept));
    assert_done(cuGraphExecDestroy(exec));
    assert_done(cuGraphDestroy(graph));
    assert_done(cuStreamDestroy(stream));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SP_TEST_BOTH(a_graph_does_not_set_freed_host_memory),
        SP_TEST_BOTH(a_graph_does_not_copy_freed_host_memory),
        SP_TEST_BOTH(launches_of_many_threads_do_what_one_would),
        SP_TEST_BOTH(children_are_executed_in_their_place),
        SP_TEST_BOTH(conditions_choose_bodies_by_their_value),
        SP_TEST_BOTH(a_loop_that_nothing_ends_goes_round_once_and_is_said),
        SP_TEST_BOTH(event_nodes_act_on_the_events_at_each_launch),
        SP_TEST_BOTH(captured_values_are_awaited_and_written_at_each_launch),
        SP_TEST_BOTH(a_captured_launch_becomes_a_child),
        SP_TEST_BOTH(a_launch_with_memory_nodes_is_not_captured),
        SP_TEST_BOTH(rows_and_slices_are_copied_and_set),
    };

    return cmocka_run_group_tests_name("model_exec", tests, NULL, NULL);
}
