/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* GOBJ: user objects that live as long as the graphs that hold them. */
#include "config.h"

#include "tests/conformance_cap.h"
#include "tests/conformance_graph.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <time.h>

/* ---- objects ---------------------------------------------------------------------------- */

/* What a destructor finds, and what it does. */
struct thing {
    sem_t ended, may_end;
    atomic_int n_ended;
    bool waits, calls;
    pthread_t thread;
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

static void end(void *arg)
{
    struct thing *thing = arg;
    int count;

    thing->thread = pthread_self();
    if (thing->calls)
        thing->answer = cu->cuDeviceGetCount(&count);
    if (thing->waits)
        (void)is_posted(&thing->may_end);
    atomic_fetch_add(&thing->n_ended, 1);
    sem_post(&thing->ended);
}

/* Things of a case, which destructors may still use when it has failed. */
static struct thing things[8];
static size_t n_things;

static struct thing *new_thing(void)
{
    struct thing *thing = &things[n_things++ % 8];

    *thing = (struct thing){.answer = -1};
    sem_init(&thing->ended, 0, 0);
    sem_init(&thing->may_end, 0, 0);
    return thing;
}

static sp_cu_object new_object(struct thing *thing)
{
    sp_cu_object object = NULL;

    sp_case_need(SP_CALL_cuUserObjectCreate);
    assert_success(
        cu->cuUserObjectCreate(&object, thing, end, 1, SP_CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    assert_non_null(object);
    return object;
}

/* One thread runs all destructors: those that were due before have run. */
static void run_what_is_due(void)
{
    struct thing *last = new_thing();

    assert_success(cu->cuUserObjectRelease(new_object(last), 1));
    assert_true(is_posted(&last->ended));
}

/* It ends once, and not again. */
static void await(struct thing *thing)
{
    assert_true(is_posted(&thing->ended));
    run_what_is_due();
    assert_int_equal(atomic_load(&thing->n_ended), 1);
}

static void assert_alive(struct thing *thing)
{
    run_what_is_due();
    assert_int_equal(atomic_load(&thing->n_ended), 0);
}

/* A graph has the one reference that there is. */
static void give_to(sp_cu_graph graph, sp_cu_object object)
{
    assert_success(cu->cuGraphRetainUserObject(graph, object, 1, SP_CU_GRAPH_USER_OBJECT_MOVE));
}

/* ---- the rules -------------------------------------------------------------------------- */

static void gobj_01_objects_are_created_with_their_one_flag(void)
{
    static const unsigned wrong[] = {0, 2, 3, 0x80000000U};
    struct thing *thing = new_thing();
    sp_cu_object object = NULL;

    sp_case_need(SP_CALL_cuUserObjectCreate);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_cu(SP_CU_INVALID_VALUE,
                  cu->cuUserObjectCreate(&object, thing, end, 1, wrong[i]));
    assert_null(object);
    object = new_object(thing);
    assert_success(cu->cuUserObjectRelease(object, 1));
    await(thing);
}

static void gobj_02_a_graph_takes_references_over(void)
{
    struct thing *thing = new_thing();
    sp_cu_object object = new_object(thing);
    sp_cu_graph graph = sp_case_graph();

    assert_success(cu->cuUserObjectRetain(object, 2));
    assert_success(cu->cuGraphRetainUserObject(graph, object, 2, SP_CU_GRAPH_USER_OBJECT_MOVE));
    assert_success(cu->cuUserObjectRelease(object, 1));
    assert_success(cu->cuGraphReleaseUserObject(graph, object, 1));
    assert_alive(thing);
    sp_case_destroy_graph(graph);
    await(thing);
}

static void gobj_02_a_graph_adds_references_of_its_own(void)
{
    struct thing *thing = new_thing();
    sp_cu_object object = new_object(thing);
    sp_cu_graph graph = sp_case_graph();

    assert_success(cu->cuGraphRetainUserObject(graph, object, 1, 0));
    sp_case_destroy_graph(graph);
    assert_alive(thing);
    assert_success(cu->cuUserObjectRelease(object, 1));
    await(thing);
}

static void gobj_02_a_graph_that_is_being_captured_takes_references(void)
{
    sp_cu_stream stream = sp_case_stream();
    struct thing *thing = new_thing();
    sp_cu_object object = new_object(thing);
    sp_cu_graph graph = NULL;

    assert_success(cu->cuStreamBeginCapture(stream, SP_CU_CAPTURE_MODE_RELAXED));
    give_to(sp_cap_graph(stream), object);
    assert_success(cu->cuStreamEndCapture(stream, &graph));
    assert_alive(thing);
    sp_case_destroy_graph(graph);
    await(thing);
}

static void gobj_03_clones_and_graphs_inside_others_have_references_of_their_own(void)
{
    struct thing *thing = new_thing();
    sp_cu_object object = new_object(thing);
    sp_cu_graph graph = sp_case_graph(), around = sp_case_graph(), clone;
    sp_cu_node node;

    give_to(graph, object);
    assert_success(cu->cuGraphClone(&clone, graph));
    assert_success(cu->cuGraphAddChildGraphNode(&node, around, NULL, 0, graph));
    sp_case_destroy_graph(graph);
    assert_alive(thing);
    sp_case_destroy_graph(clone);
    assert_alive(thing);
    sp_case_destroy_graph(around);
    await(thing);
}

static void gobj_03_executables_and_launches_have_references_of_their_own(void)
{
    sp_cu_stream stream = sp_case_stream();
    struct thing *thing = new_thing();
    sp_cu_object object = new_object(thing);
    sp_cu_graph graph = sp_case_graph();
    sp_cu_exec exec;

    (void)sp_case_empty_node(graph, NULL);
    give_to(graph, object);
    exec = sp_case_instantiate(graph, 0);
    sp_case_destroy_graph(graph);
    assert_alive(thing);
    (void)sp_case_stall(stream);
    sp_case_launch(exec, stream);
    sp_case_destroy_exec(exec);
    assert_alive(thing);
    sp_case_release_all();
    sp_case_finish(stream);
    await(thing);
}

static void gobj_03_an_executable_without_launches_lets_go(void)
{
    struct thing *thing = new_thing();
    sp_cu_object object = new_object(thing);
    sp_cu_graph graph = sp_case_graph();
    sp_cu_exec exec;

    give_to(graph, object);
    exec = sp_case_instantiate(graph, 0);
    sp_case_destroy_exec(exec);
    assert_alive(thing);
    sp_case_destroy_graph(graph);
    await(thing);
}

static void gobj_04_destructors_run_on_the_drivers_thread(void)
{
    struct thing *thing = new_thing();
    sp_cu_object object = new_object(thing);

    assert_success(cu->cuUserObjectRelease(object, 1));
    await(thing);
    assert_false(pthread_equal(thing->thread, pthread_self()));
}

/* On a real driver what waits for the destructor would hang. */
static void gobj_04_nothing_waits_for_a_destructor(void)
{
    sp_cu_stream stream = sp_case_stream();
    struct thing *thing = new_thing();
    sp_cu_graph graph = sp_case_graph();

    thing->waits = true;
    give_to(graph, new_object(thing));
    sp_case_destroy_graph(graph);
    sp_case_finish(stream);
    assert_success(cu->cuCtxSynchronize());
    assert_int_equal(atomic_load(&thing->n_ended), 0);
    sem_post(&thing->may_end);
    await(thing);
}

static void gobj_04_a_destructor_that_calls_the_driver_is_diagnosed(void)
{
    uint64_t before = starpool_model_violations(NULL);
    struct thing *thing = new_thing();
    const char *first;

    sp_case_expect_violations(1);
    thing->calls = true;
    assert_success(cu->cuUserObjectRelease(new_object(thing), 1));
    await(thing);
    assert_cu(SP_CU_NOT_PERMITTED, thing->answer);
    assert_int_equal(starpool_model_violations(&first), before + 1);
    assert_string_not_equal(first, "");
}

static void gobj_05_an_invalidated_capture_lets_go(void)
{
    sp_cu_stream stream = sp_case_stream();
    struct thing *thing = new_thing();
    sp_cu_object object = new_object(thing);
    sp_cu_graph graph = NULL;

    assert_success(cu->cuStreamBeginCapture(stream, SP_CU_CAPTURE_MODE_RELAXED));
    give_to(sp_cap_graph(stream), object);
    assert_cu(SP_CU_STREAM_CAPTURE_UNSUPPORTED, cu->cuStreamSynchronize(stream));
    assert_cu(SP_CU_STREAM_CAPTURE_INVALIDATED, cu->cuStreamEndCapture(stream, &graph));
    assert_null(graph);
    await(thing);
    sp_case_finish(stream);
}

static const struct sp_case cases[] = {
    SP_CASE(gobj_01_objects_are_created_with_their_one_flag, 0),
    SP_CASE(gobj_02_a_graph_takes_references_over, 0),
    SP_CASE(gobj_02_a_graph_adds_references_of_its_own, 0),
    SP_CASE(gobj_02_a_graph_that_is_being_captured_takes_references, 0),
    SP_CASE(gobj_03_clones_and_graphs_inside_others_have_references_of_their_own, 0),
    SP_CASE(gobj_03_executables_and_launches_have_references_of_their_own, SP_TAG_STALL),
    SP_CASE(gobj_03_an_executable_without_launches_lets_go, 0),
    SP_CASE(gobj_04_destructors_run_on_the_drivers_thread, SP_TAG_THR),
    SP_CASE(gobj_04_nothing_waits_for_a_destructor, SP_TAG_MODEL),
    SP_CASE(gobj_04_a_destructor_that_calls_the_driver_is_diagnosed, SP_TAG_UB),
    SP_CASE(gobj_05_an_invalidated_capture_lets_go, 0),
};

const struct sp_case_group sp_cases_gobj = SP_CASE_GROUP("GOBJ", cases);
