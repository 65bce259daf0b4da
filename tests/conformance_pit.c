/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* PIT: what users have fallen into with captures, and the defence. */
#include "config.h"

#include "tests/conformance_cap.h"

#define SIZE ((size_t)4096)

/* ---- what runs beside a capture ------------------------------------------------------ */

struct collector {
    sp_cu_ptr garbage;
    bool is_careful; /* relaxes its thread around the free */
};

static sp_cu_result collect(void *arg)
{
    const struct collector *collector = arg;
    int old = SP_CU_CAPTURE_MODE_GLOBAL;
    sp_cu_result result;

    if (collector->is_careful)
        old = sp_cap_exchange(SP_CU_CAPTURE_MODE_RELAXED);
    result = cu->cuMemFree(collector->garbage);
    if (collector->is_careful)
        (void)sp_cap_exchange(old);
    return result;
}

static void check_collector(bool is_elsewhere)
{
    struct collector collector = {.garbage = sp_cap_memory(SIZE)};
    sp_cu_stream stream = sp_case_stream();

    sp_cap_begin(stream);
    assert_cu(SP_CU_STREAM_CAPTURE_UNSUPPORTED,
              is_elsewhere ? sp_cap_in_thread(collect, &collector) : collect(&collector));
    sp_cap_end_as(SP_CU_STREAM_CAPTURE_INVALIDATED, stream);
    collector.is_careful = true;
    sp_cap_begin(stream);
    assert_success(is_elsewhere ? sp_cap_in_thread(collect, &collector) : collect(&collector));
    sp_cap_assert_status(SP_CU_CAPTURE_ACTIVE, stream);
    assert_success(cu->cuGraphDestroy(sp_cap_end(stream)));
}

static void pit_04_a_collector_that_frees_must_be_relaxed(void)
{
    check_collector(false);
}

static void pit_04_a_collector_in_another_thread_must_be_too(void)
{
    check_collector(true);
}

/* What a library does when it is first used: NULL if it is not ready yet. */
static sp_cu_result use_library(sp_cu_ptr *workspace, sp_cu_stream stream)
{
    if (*workspace == 0) {
        sp_cu_result result = cu->cuMemAlloc(workspace, SIZE);

        if (result != SP_CU_SUCCESS)
            return result;
    }
    return cu->cuMemsetD8Async(*workspace, 1, SIZE, stream);
}

static void pit_10_a_library_that_is_first_used_in_a_capture_must_be_relaxed(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_ptr workspace = 0;
    sp_cu_graph graph;
    int old;

    sp_cap_begin(stream);
    assert_cu(SP_CU_STREAM_CAPTURE_UNSUPPORTED, use_library(&workspace, stream));
    sp_cap_end_as(SP_CU_STREAM_CAPTURE_INVALIDATED, stream);
    sp_cap_begin(stream);
    old = sp_cap_exchange(SP_CU_CAPTURE_MODE_RELAXED);
    assert_success(use_library(&workspace, stream));
    (void)sp_cap_exchange(old);
    graph = sp_cap_end(stream);
    assert_int_equal(sp_cap_n_nodes(graph), 1);
    sp_cap_run(graph, stream);
    sp_case_assert_bytes(workspace, 1, SIZE, stream);
    assert_success(cu->cuMemFree(workspace));
}

/* ---- what is captured wrongly -------------------------------------------------------- */

static void pit_05_a_free_that_a_use_is_not_ordered_before_is_diagnosed(void)
{
    uint64_t before = starpool_model_violations(NULL);
    sp_cu_stream stream = sp_case_stream();
    sp_cu_stream joined = sp_case_stream();
    sp_cu_event event = sp_case_event();
    sp_cu_exec exec = NULL;
    sp_cu_graph graph;
    sp_cu_ptr ptr;

    sp_case_expect_violations(1);
    sp_cap_begin(stream);
    assert_success(cu->cuMemAllocAsync(&ptr, SIZE, stream));
    sp_cap_fork(stream, event, joined);
    sp_case_fill(ptr, 1, SIZE, joined);
    /* It should have waited for the other stream first, not afterwards. */
    assert_success(cu->cuMemFreeAsync(ptr, stream));
    sp_cap_fork(joined, event, stream);
    graph = sp_cap_end(stream);
    assert_success(cu->cuGraphInstantiate(&exec, graph, 0));
    assert_int_equal(starpool_model_violations(NULL), before + 1);
    assert_success(cu->cuGraphExecDestroy(exec));
    assert_success(cu->cuGraphDestroy(graph));
}

static void pit_07_the_graph_of_an_invalidated_capture_is_no_more(void)
{
    uint64_t before = starpool_model_violations(NULL);
    sp_cu_stream stream = sp_case_stream();
    sp_cu_graph graph;
    sp_cu_node node;

    sp_case_expect_violations(2);
    sp_cap_begin(stream);
    sp_cap_work(stream);
    graph = sp_cap_graph(stream);
    assert_cu(SP_CU_STREAM_CAPTURE_UNSUPPORTED, cu->cuStreamQuery(stream));
    assert_cu(SP_CU_INVALID_VALUE, cu->cuGraphAddEmptyNode(&node, graph, NULL, 0));
    assert_int_equal(starpool_model_violations(NULL), before + 1);
    sp_cap_end_as(SP_CU_STREAM_CAPTURE_INVALIDATED, stream);
    assert_cu(SP_CU_INVALID_VALUE, cu->cuGraphDestroy(graph));
}

/* ---- memory of a peer ---------------------------------------------------------------- */

/* A copy from the peer's pool is captured and launched: what the first call that is not content
 * answers. */
static sp_cu_result copy_captured(sp_cu_ptr target, sp_cu_ptr source, sp_cu_stream stream)
{
    sp_cu_result result, ended;
    sp_cu_graph graph = NULL;
    sp_cu_exec exec = NULL;

    sp_cap_begin(stream);
    result = cu->cuMemcpyAsync(target, source, SIZE, stream);
    ended = cu->cuStreamEndCapture(stream, &graph);
    if (result == SP_CU_SUCCESS)
        result = ended;
    if (result == SP_CU_SUCCESS)
        result = cu->cuGraphInstantiate(&exec, graph, 0);
    if (result == SP_CU_SUCCESS)
        result = cu->cuGraphLaunch(exec, stream);
    sp_case_finish(stream);
    if (exec != NULL)
        assert_success(cu->cuGraphExecDestroy(exec));
    if (graph != NULL)
        assert_success(cu->cuGraphDestroy(graph));
    return result;
}

static void pit_09_a_peers_pool_must_grant_access_before_the_capture(void)
{
    struct sp_cu_access_desc access = {
        .location = {.type = SP_CU_LOCATION_DEVICE, .id = 0},
        .flags = SP_CU_ACCESS_READWRITE,
    };
    sp_cu_ptr target = sp_cap_memory(SIZE), source;
    sp_cu_stream stream = sp_case_stream(), peer;
    sp_cu_pool pool = sp_case_pool(1);

    (void)sp_case_device(1);
    peer = sp_case_stream();
    source = sp_case_alloc(pool, SIZE, peer);
    sp_case_fill(source, 9, SIZE, peer);
    sp_case_finish(peer);
    (void)sp_case_device(0);
    assert_cu(SP_CU_INVALID_VALUE, copy_captured(target, source, stream));
    assert_success(cu->cuMemPoolSetAccess(pool, &access, 1));
    assert_success(copy_captured(target, source, stream));
    sp_case_assert_bytes(target, 9, SIZE, stream);
    assert_success(cu->cuMemFree(target));
    sp_case_free(source, peer);
    sp_case_finish(peer);
}

/* ---- the list ------------------------------------------------------------------------ */

static const struct sp_case cases[] = {
    SP_CASE(pit_04_a_collector_that_frees_must_be_relaxed, 0),
    SP_CASE(pit_04_a_collector_in_another_thread_must_be_too, SP_TAG_THR),
    SP_CASE(pit_05_a_free_that_a_use_is_not_ordered_before_is_diagnosed, SP_TAG_UB),
    SP_CASE(pit_07_the_graph_of_an_invalidated_capture_is_no_more, SP_TAG_UB),
    SP_CASE(pit_09_a_peers_pool_must_grant_access_before_the_capture, SP_TAG_P2P),
    SP_CASE(pit_10_a_library_that_is_first_used_in_a_capture_must_be_relaxed, 0),
};

const struct sp_case_group sp_cases_pit = SP_CASE_GROUP("PIT", cases);
