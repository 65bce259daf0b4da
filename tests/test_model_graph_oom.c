/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The model's graphs and user objects without memory: each allocation of a call fails in turn,
 * and then nothing has changed. The program is linked with --wrap=calloc and --wrap=realloc. */
#include "config.h"

#include "tests/model_fixture.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "src/model/model.h"
#include "src/util/util.h"

/* ---- allocations that fail ----------------------------------------------------------- */

/* The linker puts these before the allocator's own (--wrap). Of the next allocations of this
 * thread so many succeed, and then one does not; below 0: all do. */
static __thread long n_until_failure = -1;

void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *memory, size_t size);

static bool fails_now(void)
{
    return n_until_failure >= 0 && n_until_failure-- == 0;
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails_now() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
    return fails_now() ? NULL : __real_realloc(memory, size);
}

/* ---- the calls ----------------------------------------------------------------------- */

/* What a call is about, and where it writes. */
struct attempt {
    sp_cu_graph graph, child;
    sp_cu_node first, second, node_out;
    sp_cu_graph graph_out;
    sp_cu_object object, other, object_out;
    sp_cu_conditional condition;
    sp_cu_stream stream; /* is capturing */
    sp_cu_graph same;    /* as the child, but another one */
    sp_cu_graph around;  /* `inner` is the child in it */
    sp_cu_node inner;
    sp_cu_exec exec, exec_around, exec_out; /* of the child, and of `around` */
};

/* Destructors that have run. */
static atomic_int n_ended;

static void end(void *arg)
{
    (void)arg;
    atomic_fetch_add(&n_ended, 1);
}

static void note_turn(void *arg)
{
    atomic_store((atomic_bool *)arg, true);
}

/* Destructors run one after the other: when this one's turn has come, all before it are over.
 */
static void wait_for_destructors(void)
{
    static atomic_bool is_its_turn;
    sp_cu_object last;

    atomic_store(&is_its_turn, false);
    assert_done(cuUserObjectCreate(&last, &is_its_turn, note_turn, 1, 1));
    assert_done(cuUserObjectRelease(last, 1));
    while (!atomic_load(&is_its_turn))
        sched_yield();
}

static sp_cu_result try_create(struct attempt *it)
{
    return sp_model.driver->cuGraphCreate(&it->graph_out, 0);
}

static sp_cu_result try_clone(struct attempt *it)
{
    return sp_model.driver->cuGraphClone(&it->graph_out, it->graph);
}

static sp_cu_result try_node(struct attempt *it)
{
    return sp_model.driver->cuGraphAddEmptyNode(&it->node_out, it->graph, &it->first, 1);
}

static sp_cu_result try_child(struct attempt *it)
{
    return sp_model.driver->cuGraphAddChildGraphNode(&it->node_out, it->graph, NULL, 0,
                                                     it->child);
}

static sp_cu_result try_move(struct attempt *it)
{
    struct sp_cu_node_params params = {.type = SP_CU_NODE_GRAPH,
                                       .child = {it->child, SP_CU_CHILD_MOVE}};

    return sp_model.driver->cuGraphAddNode(&it->node_out, it->graph, NULL, NULL, 0, &params);
}

static sp_cu_result try_condition(struct attempt *it)
{
    struct sp_cu_node_params params = {
        .type = SP_CU_NODE_CONDITIONAL,
        .conditional = {.handle = it->condition, .type = SP_CU_CONDITION_SWITCH, .size = 4}};

    return sp_model.driver->cuGraphAddNode(&it->node_out, it->graph, NULL, NULL, 0, &params);
}

static sp_cu_result try_condition_handle(struct attempt *it)
{
    return sp_model.driver->cuGraphConditionalHandleCreate(&it->condition, it->graph, NULL, 0,
                                                           0);
}

static sp_cu_result try_edges(struct attempt *it)
{
    sp_cu_node from[] = {it->first, it->second, it->first};
    sp_cu_node to[3] = {it->second, it->first};
    size_t n = 1;

    /* The third node gets its second dependency. */
    (void)sp_model.driver->cuGraphNodeGetDependentNodes(it->second, &to[2], NULL, &n);
    return sp_model.driver->cuGraphAddDependencies(it->graph, from, to, NULL, 3);
}

static sp_cu_result try_removal(struct attempt *it)
{
    sp_cu_node to = NULL;
    size_t n = 1;

    (void)sp_model.driver->cuGraphNodeGetDependentNodes(it->second, &to, NULL, &n);
    return sp_model.driver->cuGraphRemoveDependencies(it->graph, &it->second, &to, NULL, 1);
}

static sp_cu_result try_instantiate(struct attempt *it)
{
    return sp_model.driver->cuGraphInstantiate(&it->exec_out, it->around, 0);
}

static sp_cu_result try_update(struct attempt *it)
{
    struct sp_cu_update_result info;

    return sp_model.driver->cuGraphExecUpdate(it->exec, it->same, &info);
}

static sp_cu_result try_exchange(struct attempt *it)
{
    struct sp_cu_node_params params = {.type = SP_CU_NODE_GRAPH, .child = {it->same, 0}};

    return sp_model.driver->cuGraphExecNodeSetParams(it->exec_around, it->inner, &params);
}

static sp_cu_result try_captured_launch(struct attempt *it)
{
    return sp_model.driver->cuGraphLaunch(it->exec_around, it->stream);
}

static sp_cu_result try_object(struct attempt *it)
{
    return sp_model.driver->cuUserObjectCreate(&it->object_out, NULL, end, 1, 1);
}

static sp_cu_result try_retain(struct attempt *it)
{
    return sp_model.driver->cuGraphRetainUserObject(it->graph, it->other, 1, 1);
}

/* ---- the test ------------------------------------------------------------------------ */

static sp_cu_node add_node(sp_cu_graph graph, sp_cu_node before)
{
    sp_cu_node node = NULL;

    assert_done(cuGraphAddEmptyNode(&node, graph, &before, before != NULL));
    return node;
}

/* A graph of four nodes, one a graph itself, and a child for it; all of them hold an object. */
static void prepare(struct attempt *it)
{
    sp_cu_node node;

    *it = (struct attempt){0};
    assert_done(cuGraphCreate(&it->graph, 0));
    assert_done(cuGraphCreate(&it->child, 0));
    it->first = add_node(it->graph, NULL);
    it->second = add_node(it->graph, NULL);
    (void)add_node(it->child, add_node(it->child, NULL));
    assert_done(cuUserObjectCreate(&it->object, NULL, end, 1, 1));
    assert_done(cuUserObjectCreate(&it->other, NULL, end, 1, 1));
    assert_done(cuGraphRetainUserObject(it->graph, it->object, 1, 0));
    assert_done(cuGraphRetainUserObject(it->child, it->object, 1, 0));
    /* A copy that fails behind this node has the child, and what that holds. */
    assert_done(cuGraphAddChildGraphNode(&node, it->graph, &it->first, 1, it->child));
    (void)add_node(it->graph, it->second);
    assert_done(cuGraphConditionalHandleCreate(&it->condition, it->graph, NULL, 0, 0));
    it->stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    assert_done(cuStreamBeginCapture(it->stream, SP_CU_CAPTURE_MODE_RELAXED));
    assert_done(cuGraphClone(&it->same, it->child));
    assert_done(cuGraphCreate(&it->around, 0));
    assert_done(cuGraphAddChildGraphNode(&it->inner, it->around, NULL, 0, it->child));
    assert_done(cuGraphInstantiate(&it->exec, it->child, 0));
    assert_done(cuGraphInstantiate(&it->exec_around, it->around, 0));
}

static void assert_unchanged(const struct attempt *it)
{
    size_t n;

    assert_done(cuGraphGetNodes(it->graph, NULL, &n));
    assert_int_equal(n, 4);
    assert_done(cuGraphGetEdges(it->graph, NULL, NULL, NULL, &n));
    assert_int_equal(n, 2);
    assert_done(cuGraphGetNodes(it->child, NULL, &n));
    assert_int_equal(n, 2);
    assert_null(it->graph_out);
    assert_null(it->exec_out);
    assert_null(it->node_out);
    assert_null(it->object_out);
}

/* The first object is held by nobody then, so that its destructor has run, unless any of the
 * failed calls has kept a reference: a graph that it left behind, for instance. */
static void clean_up(const struct attempt *it, bool is_moved)
{
    sp_cu_graph captured;

    assert_done(cuStreamEndCapture(it->stream, &captured));
    assert_done(cuGraphDestroy(captured));
    assert_done(cuGraphExecDestroy(it->exec));
    assert_done(cuGraphExecDestroy(it->exec_around));
    if (it->exec_out != NULL)
        assert_done(cuGraphExecDestroy(it->exec_out));
    assert_done(cuGraphDestroy(it->same));
    assert_done(cuGraphDestroy(it->around));
    assert_done(cuGraphDestroy(it->graph));
    if (!is_moved)
        assert_done(cuGraphDestroy(it->child));
    if (it->graph_out != NULL)
        assert_done(cuGraphDestroy(it->graph_out));
    assert_done(cuUserObjectRelease(it->object, 1));
    wait_for_destructors();
}

static void without_memory_nothing_changes(void **state)
{
    sp_cu_result (*const tries[])(struct attempt *) = {
        try_create,      try_clone,   try_node,     try_child,           try_move,
        try_edges,       try_removal, try_object,   try_retain,          try_condition,
        try_instantiate, try_update,  try_exchange, try_captured_launch, try_condition_handle};
    struct attempt it;
    int n_gone = 0;

    (void)state;
    atomic_store(&n_ended, 0);
    for (size_t i = 0; i < SP_ARRAY_SIZE(tries); i++) {
        sp_cu_result result = SP_CU_OUT_OF_MEMORY;
        long n;

        prepare(&it);
        for (n = 0; result == SP_CU_OUT_OF_MEMORY; n++) {
            assert_unchanged(&it);
            n_until_failure = n;
            result = tries[i](&it);
            n_until_failure = -1;
        }
        assert_int_equal(result, SP_CU_SUCCESS);
        assert_in_range(n, 2, 60);
        clean_up(&it, tries[i] == try_move);
        /* `other`, too, where its graph had it and went. */
        n_gone += 1 + (tries[i] == try_retain);
        assert_int_equal(atomic_load(&n_ended), n_gone);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SP_TEST_BOTH(without_memory_nothing_changes),
    };

    return cmocka_run_group_tests_name("model_graph_oom", tests, NULL, NULL);
}
