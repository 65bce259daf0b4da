/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The model's user objects: who holds them, and how their destructors run. */
#include "config.h"

#include "tests/model_fixture.h"

#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "src/util/util.h"

/* ---- objects ------------------------------------------------------------------------- */

/* What a destructor finds, and what it waits for. */
struct thing {
    sem_t ended, may_end;
    atomic_int n_ended;
    bool waits, calls;
    pthread_t thread;
    char name[16];
    bool blocks_signals;
    sp_cu_result answer;
};

/* A test that fails must not hang: what is not posted for so long never is. */
static bool is_posted(sem_t *semaphore)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 20;
    return sem_timedwait(semaphore, &until) == 0;
}

static void await(sem_t *semaphore)
{
    assert_true(is_posted(semaphore));
}

static void end(void *arg)
{
    struct thing *thing = arg;
    sigset_t mask;
    int count;

    thing->thread = pthread_self();
    (void)pthread_getname_np(thing->thread, thing->name, sizeof(thing->name));
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    thing->blocks_signals = sigismember(&mask, SIGINT) && sigismember(&mask, SIGUSR1);
    if (thing->calls)
        thing->answer = sp_model.driver->cuDeviceGetCount(&count);
    if (thing->waits)
        (void)is_posted(&thing->may_end);
    atomic_fetch_add(&thing->n_ended, 1);
    sem_post(&thing->ended);
}

static sp_cu_object new_object(struct thing *thing, unsigned count)
{
    sp_cu_object object = NULL;

    memset(thing, 0, sizeof(*thing));
    sem_init(&thing->ended, 0, 0);
    sem_init(&thing->may_end, 0, 0);
    assert_done(
        cuUserObjectCreate(&object, thing, end, count, SP_CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    assert_non_null(object);
    return object;
}

/* Destructors run in the order in which they get due: all that are due now have run. */
static void run_what_is_due(void)
{
    struct thing thing;
    sp_cu_object object = new_object(&thing, 1);

    assert_done(cuUserObjectRelease(object, 1));
    await(&thing.ended);
}

static sp_cu_graph new_graph(void)
{
    sp_cu_graph graph = NULL;

    assert_done(cuGraphCreate(&graph, 0));
    return graph;
}

/* ---- destructors --------------------------------------------------------------------- */

static void a_destructor_runs_once_on_a_thread_of_its_own(void **state)
{
    struct thing things[3];
    sp_cu_object objects[3];

    (void)state;
    assert_int_equal(sp_test_count_threads("sp-objects"), 0);
    for (size_t i = 0; i < 3; i++)
        objects[i] = new_object(&things[i], 2);
    for (size_t i = 0; i < 3; i++) {
        assert_done(cuUserObjectRelease(objects[i], 1));
        run_what_is_due();
        assert_int_equal(atomic_load(&things[i].n_ended), 0);
        assert_done(cuUserObjectRelease(objects[i], 1));
    }
    for (size_t i = 0; i < 3; i++) {
        await(&things[i].ended);
        assert_false(pthread_equal(things[i].thread, pthread_self()));
        assert_true(pthread_equal(things[i].thread, things[0].thread));
        assert_string_equal(things[i].name, "sp-objects");
        assert_true(things[i].blocks_signals);
    }
    assert_int_equal(sp_test_count_threads("sp-objects"), 1);
    sp_model_reset();
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(atomic_load(&things[i].n_ended), 1);
}

static void nothing_waits_for_a_destructor(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_DEFAULT);
    struct thing slow, next;
    sp_cu_object object = new_object(&slow, 1), behind = new_object(&next, 1);
    sp_cu_graph graph = new_graph();

    (void)state;
    slow.waits = true;
    assert_done(cuUserObjectRelease(object, 1));
    assert_done(cuGraphRetainUserObject(graph, behind, 1, SP_CU_GRAPH_USER_OBJECT_MOVE));
    assert_done(cuGraphDestroy(graph));
    assert_done(cuStreamSynchronize(stream));
    assert_done(cuCtxSynchronize());
    assert_int_equal(atomic_load(&slow.n_ended), 0);
    assert_int_equal(atomic_load(&next.n_ended), 0); /* There is one thread for all. */
    sem_post(&slow.may_end);
    await(&slow.ended);
    await(&next.ended);
}

static void a_destructor_that_calls_the_driver_is_refused_and_told(void **state)
{
    struct thing thing;
    sp_cu_object object = new_object(&thing, 1);
    const char *first;

    (void)state;
    thing.calls = true;
    assert_done(cuUserObjectRelease(object, 1));
    await(&thing.ended);
    assert_int_equal(thing.answer, SP_CU_NOT_PERMITTED);
    assert_int_equal(starpool_model_violations(&first), 1);
    assert_non_null(strstr(first, "destructor"));
}

static void a_reset_runs_what_is_due_and_nothing_else(void **state)
{
    struct thing due, held, kept;
    sp_cu_object object = new_object(&due, 1), second = new_object(&held, 1);
    sp_cu_graph graph = new_graph();

    (void)state;
    (void)new_object(&kept, 1);
    assert_done(cuGraphRetainUserObject(graph, second, 1, SP_CU_GRAPH_USER_OBJECT_MOVE));
    assert_done(cuUserObjectRelease(object, 1));
    sp_model_reset();
    assert_int_equal(atomic_load(&due.n_ended), 1);
    assert_int_equal(atomic_load(&held.n_ended), 0);
    assert_int_equal(atomic_load(&kept.n_ended), 0);
    assert_int_equal(sp_test_count_threads("sp-objects"), 0);
}

/* ---- references ---------------------------------------------------------------------- */

static void each_holder_keeps_an_object(void **state)
{
    sp_cu_graph graph = new_graph(), clone = NULL, around = new_graph();
    struct thing thing;
    sp_cu_object object = new_object(&thing, 1);
    sp_cu_node node;

    (void)state;
    assert_done(cuGraphRetainUserObject(graph, object, 2, 0));
    assert_done(cuUserObjectRelease(object, 1));
    assert_done(cuGraphClone(&clone, graph));
    assert_done(cuGraphAddChildGraphNode(&node, around, NULL, 0, graph));
    assert_done(cuGraphReleaseUserObject(graph, object, 1));
    assert_done(cuGraphDestroy(graph));
    assert_done(cuGraphReleaseUserObject(clone, object, 2));
    assert_done(cuGraphDestroy(clone));
    run_what_is_due();
    assert_int_equal(atomic_load(&thing.n_ended), 0);
    assert_done(cuUserObjectRetain(object, 1));
    assert_done(cuGraphDestroyNode(node));
    run_what_is_due();
    assert_int_equal(atomic_load(&thing.n_ended), 0);
    assert_done(cuUserObjectRelease(object, 1));
    await(&thing.ended);
    assert_done(cuGraphDestroy(around));
}

/* A graph of one node that is a graph: the object is the inner one's alone. */
static sp_cu_graph graph_around(sp_cu_object object, sp_cu_node *node_out)
{
    sp_cu_graph graph = new_graph(), child = new_graph();
    sp_cu_node node;

    assert_done(cuGraphAddEmptyNode(&node, child, NULL, 0));
    assert_done(cuGraphRetainUserObject(child, object, 1, SP_CU_GRAPH_USER_OBJECT_MOVE));
    assert_done(cuGraphAddChildGraphNode(node_out, graph, NULL, 0, child));
    assert_done(cuGraphDestroy(child));
    return graph;
}

static void a_captured_launch_keeps_what_the_executable_does(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    struct thing inner, outer;
    sp_cu_object object = new_object(&inner, 1), second = new_object(&outer, 1);
    sp_cu_graph graph, captured = NULL;
    sp_cu_node node;
    sp_cu_exec exec;

    (void)state;
    graph = graph_around(object, &node);
    assert_done(cuGraphRetainUserObject(graph, second, 1, SP_CU_GRAPH_USER_OBJECT_MOVE));
    assert_done(cuGraphInstantiate(&exec, graph, 0));
    assert_done(cuGraphDestroy(graph));
    assert_done(cuStreamBeginCapture(stream, SP_CU_CAPTURE_MODE_RELAXED));
    assert_done(cuGraphLaunch(exec, stream));
    assert_done(cuStreamEndCapture(stream, &captured));
    assert_done(cuGraphExecDestroy(exec));
    run_what_is_due();
    assert_int_equal(atomic_load(&inner.n_ended), 0);
    assert_int_equal(atomic_load(&outer.n_ended), 0);
    assert_done(cuGraphDestroy(captured));
    await(&inner.ended);
    await(&outer.ended);
}

/* The launch that was called before keeps what it had. */
static void a_child_that_is_exchanged_brings_its_objects(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    struct sp_cu_node_params params = {.type = SP_CU_NODE_GRAPH};
    struct thing before, after;
    sp_cu_object object = new_object(&before, 1), second = new_object(&after, 1);
    sp_cu_graph graph, child = new_graph();
    sp_cu_node node, inner;
    sp_cu_exec exec;

    (void)state;
    graph = graph_around(object, &node);
    assert_done(cuGraphAddEmptyNode(&inner, child, NULL, 0));
    assert_done(cuGraphRetainUserObject(child, second, 1, SP_CU_GRAPH_USER_OBJECT_MOVE));
    assert_done(cuGraphInstantiate(&exec, graph, 0));
    sp_test_hold(stream);
    assert_done(cuGraphLaunch(exec, stream));
    params.child.graph = child;
    assert_done(cuGraphExecNodeSetParams(exec, node, &params));
    assert_done(cuGraphDestroy(child));
    assert_done(cuGraphDestroy(graph));
    run_what_is_due();
    assert_int_equal(atomic_load(&before.n_ended), 0);
    sp_test_release();
    assert_done(cuStreamSynchronize(stream));
    await(&before.ended);
    assert_int_equal(atomic_load(&after.n_ended), 0);
    assert_done(cuGraphExecDestroy(exec));
    await(&after.ended);
}

static void references_move_into_a_graph(void **state)
{
    sp_cu_graph graph = new_graph();
    struct thing thing;
    sp_cu_object object = new_object(&thing, 3);

    (void)state;
    assert_done(cuGraphRetainUserObject(graph, object, 3, SP_CU_GRAPH_USER_OBJECT_MOVE));
    assert_done(cuGraphReleaseUserObject(graph, object, 2));
    assert_result(SP_CU_INVALID_VALUE, cuGraphReleaseUserObject(graph, object, 2));
    assert_int_equal(starpool_model_violations(NULL), 0);
    assert_done(cuGraphReleaseUserObject(graph, object, 1));
    await(&thing.ended);
    assert_done(cuGraphDestroy(graph));
}

static void references_that_nobody_has_are_told(void **state)
{
    sp_cu_graph graph = new_graph(), other = new_graph();
    struct thing thing;
    sp_cu_object object = new_object(&thing, 1);

    (void)state;
    assert_result(SP_CU_INVALID_VALUE, cuUserObjectRelease(object, 2));
    assert_int_equal(starpool_model_violations(NULL), 1);
    assert_result(SP_CU_INVALID_VALUE,
                  cuGraphRetainUserObject(graph, object, 2, SP_CU_GRAPH_USER_OBJECT_MOVE));
    assert_int_equal(starpool_model_violations(NULL), 2);
    assert_done(cuGraphRetainUserObject(graph, object, 1, 0));
    assert_result(SP_CU_INVALID_VALUE, cuGraphReleaseUserObject(other, object, 1));
    assert_int_equal(starpool_model_violations(NULL), 2);
    assert_done(cuUserObjectRelease(object, 1));
    assert_result(SP_CU_INVALID_VALUE, cuUserObjectRelease(object, 1));
    assert_int_equal(starpool_model_violations(NULL), 3);
    assert_done(cuGraphDestroy(graph));
    await(&thing.ended);
    assert_result(SP_CU_INVALID_VALUE, cuUserObjectRetain(object, 1));
    assert_int_equal(starpool_model_violations(NULL), 4);
    assert_result(SP_CU_INVALID_VALUE, cuGraphRetainUserObject(other, object, 1, 0));
    assert_int_equal(starpool_model_violations(NULL), 5);
}

static void wrong_arguments_change_nothing(void **state)
{
    sp_cu_graph graph = new_graph();
    struct thing thing;
    sp_cu_object object = new_object(&thing, 1), out = NULL;
    unsigned much = (unsigned)INT_MAX + 1;

    (void)state;
    assert_result(SP_CU_INVALID_VALUE, cuUserObjectCreate(NULL, &thing, end, 1, 1));
    assert_result(SP_CU_INVALID_VALUE, cuUserObjectCreate(&out, &thing, NULL, 1, 1));
    assert_result(SP_CU_INVALID_VALUE, cuUserObjectCreate(&out, &thing, end, 0, 1));
    assert_result(SP_CU_INVALID_VALUE, cuUserObjectCreate(&out, &thing, end, much, 1));
    assert_result(SP_CU_INVALID_VALUE, cuUserObjectCreate(&out, &thing, end, 1, 0));
    assert_result(SP_CU_INVALID_VALUE, cuUserObjectCreate(&out, &thing, end, 1, 3));
    assert_null(out);
    assert_result(SP_CU_INVALID_VALUE, cuUserObjectRetain(object, 0));
    assert_result(SP_CU_INVALID_VALUE, cuUserObjectRetain(object, much));
    assert_result(SP_CU_INVALID_VALUE, cuUserObjectRetain(NULL, 1));
    assert_result(SP_CU_INVALID_VALUE, cuUserObjectRelease(object, 0));
    assert_result(SP_CU_INVALID_VALUE, cuGraphRetainUserObject(graph, object, 0, 0));
    assert_result(SP_CU_INVALID_VALUE, cuGraphRetainUserObject(graph, object, 1, 2));
    assert_result(SP_CU_INVALID_VALUE, cuGraphRetainUserObject(NULL, object, 1, 0));
    assert_result(SP_CU_INVALID_VALUE, cuGraphReleaseUserObject(graph, object, 0));
    assert_done(cuUserObjectRelease(object, 1));
    await(&thing.ended);
    assert_int_equal(starpool_model_violations(NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SP_TEST_BOTH(a_destructor_runs_once_on_a_thread_of_its_own),
        SP_TEST_BOTH(nothing_waits_for_a_destructor),
        SP_TEST_BOTH(a_destructor_that_calls_the_driver_is_refused_and_told),
        SP_TEST_BOTH(a_reset_runs_what_is_due_and_nothing_else),
        SP_TEST_BOTH(each_holder_keeps_an_object),
        SP_TEST_BOTH(a_captured_launch_keeps_what_the_executable_does),
        SP_TEST_BOTH(a_child_that_is_exchanged_brings_its_objects),
        SP_TEST_BOTH(references_move_into_a_graph),
        SP_TEST_BOTH(references_that_nobody_has_are_told),
        SP_TEST_BOTH(wrong_arguments_change_nothing),
    };

    return cmocka_run_group_tests_name("model_objects", tests, NULL, NULL);
}
