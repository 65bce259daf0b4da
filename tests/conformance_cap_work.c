/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* CAP: what is captured, and how it depends on what was before: events, allocations, frees,
 * host functions. The list is in conformance_cap.c. */
#include "config.h"

#include "tests/conformance_cap.h"

#define SIZE ((size_t)4096)

/* ---- events -------------------------------------------------------------------------- */

void cap_21_an_event_makes_another_stream_part_of_the_capture(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_stream joined = sp_case_stream();
    sp_cu_node first, mine, its;

    sp_cap_begin(stream);
    sp_cap_work(stream);
    first = sp_cap_last(stream);
    sp_cap_assert_status(SP_CU_CAPTURE_NONE, joined);
    sp_cap_fork(stream, sp_case_event(), joined);
    sp_cap_assert_status(SP_CU_CAPTURE_ACTIVE, joined);
    assert_ptr_equal(sp_cap_graph(joined), sp_cap_graph(stream));
    assert_ptr_equal(sp_cap_last(joined), first);
    sp_cap_work(joined);
    its = sp_cap_last(joined);
    sp_cap_work(stream);
    mine = sp_cap_last(stream);
    assert_true(sp_cap_has_edge(first, its));
    assert_true(sp_cap_has_edge(first, mine));
    assert_false(sp_cap_has_edge(its, mine));
    assert_false(sp_cap_has_edge(mine, its));
    sp_cap_end_as(SP_CU_STREAM_CAPTURE_UNJOINED, stream);
}

void cap_21_waiting_for_it_joins_the_stream_again(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_stream joined = sp_case_stream();
    sp_cu_event event = sp_case_event();
    sp_cu_node mine, its, last;
    sp_cu_graph graph;

    sp_cap_begin(stream);
    sp_cap_work(stream);
    sp_cap_fork(stream, event, joined);
    sp_cap_work(joined);
    its = sp_cap_last(joined);
    sp_cap_work(stream);
    mine = sp_cap_last(stream);
    sp_cap_fork(joined, event, stream);
    sp_cap_work(stream);
    last = sp_cap_last(stream);
    assert_true(sp_cap_has_edge(its, last));
    assert_true(sp_cap_has_edge(mine, last));
    graph = sp_cap_end(stream);
    /* No node stands for an event. */
    assert_int_equal(sp_cap_n_nodes(graph), 4);
    assert_success(cu->cuGraphDestroy(graph));
}

/* How the one capture ends that waited, or (`arg` not NULL) the other one. */
static sp_cu_result merge(void *arg)
{
    sp_cu_stream waiting = sp_case_stream();
    sp_cu_stream recorded = sp_case_stream();
    sp_cu_event event = sp_case_event();
    sp_cu_result results[2];

    sp_cap_begin(waiting);
    sp_cap_begin(recorded);
    assert_success(cu->cuEventRecord(event, recorded));
    assert_cu(SP_CU_STREAM_CAPTURE_MERGE, cu->cuStreamWaitEvent(waiting, event, 0));
    results[0] = sp_cap_end_any(waiting);
    results[1] = sp_cap_end_any(recorded);
    return results[arg != NULL];
}

void cap_22_two_captures_do_not_merge(void)
{
    static const struct sp_choice waiting[] = {
        {"both", SP_CU_STREAM_CAPTURE_INVALIDATED},
        {"waiting", SP_CU_STREAM_CAPTURE_INVALIDATED},
        {"recorded", SP_CU_SUCCESS},
    };
    static const struct sp_choice recorded[] = {
        {"both", SP_CU_STREAM_CAPTURE_INVALIDATED},
        {"waiting", SP_CU_SUCCESS},
        {"recorded", SP_CU_STREAM_CAPTURE_INVALIDATED},
    };
    int other = 1;

    sp_case_choose("CAP-22", "merge_dies", waiting, 3, merge, NULL);
    sp_case_choose("CAP-22", "merge_dies", recorded, 3, merge, &other);
}

void cap_23_an_event_from_outside_is_not_waited_for(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_stream outside = sp_case_stream();
    sp_cu_event event = sp_case_event();

    assert_success(cu->cuEventRecord(event, outside));
    sp_case_finish(outside);
    sp_cap_begin(stream);
    assert_cu(SP_CU_STREAM_CAPTURE_ISOLATION, cu->cuStreamWaitEvent(stream, event, 0));
    sp_cap_assert_status(SP_CU_CAPTURE_INVALIDATED, stream);
    sp_cap_end_as(SP_CU_STREAM_CAPTURE_INVALIDATED, stream);
}

static sp_cu_result wait_never_recorded(void *arg)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_result result;

    (void)arg;
    sp_cap_begin(stream);
    result = cu->cuStreamWaitEvent(stream, sp_case_event(), 0);
    assert_int_equal(sp_cap_end_any(stream) == SP_CU_SUCCESS, result == SP_CU_SUCCESS);
    return result;
}

void cap_23_nor_is_an_event_that_was_never_recorded(void)
{
    static const struct sp_choice choices[] = {
        {"isolation", SP_CU_STREAM_CAPTURE_ISOLATION},
        {"success", SP_CU_SUCCESS},
    };

    sp_case_choose("CAP-23", "wait_never_recorded", choices, 2, wait_never_recorded, NULL);
}

void cap_24_external_flags_make_nodes_that_act_on_the_event(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_stream holder = sp_case_stream();
    sp_cu_event awaited = sp_case_event();
    sp_cu_event recorded = sp_case_event();
    sp_cu_graph graph;
    sp_cu_exec exec;

    sp_case_need(SP_CALL_cuEventRecordWithFlags);
    sp_cap_begin(stream);
    assert_success(cu->cuStreamWaitEvent(stream, awaited, SP_CU_EVENT_WAIT_EXTERNAL));
    assert_int_equal(sp_cap_type(sp_cap_last(stream)), SP_CU_NODE_WAIT_EVENT);
    assert_success(cu->cuEventRecordWithFlags(recorded, stream, SP_CU_EVENT_RECORD_EXTERNAL));
    assert_int_equal(sp_cap_type(sp_cap_last(stream)), SP_CU_NODE_EVENT_RECORD);
    graph = sp_cap_end(stream);
    assert_int_equal(sp_cap_n_nodes(graph), 2);
    assert_success(cu->cuGraphInstantiate(&exec, graph, 0));
    (void)sp_case_stall(holder);
    assert_success(cu->cuEventRecord(awaited, holder));
    assert_success(cu->cuGraphLaunch(exec, stream));
    assert_false(sp_case_is_idle(stream));
    /* A real driver may count it as recorded only once the node executes. */
    if (cu->is_model)
        assert_cu(SP_CU_NOT_READY, cu->cuEventQuery(recorded));
    sp_case_release_all();
    sp_case_finish(stream);
    /* It was not recorded in the capture, and so is anybody's to ask about. */
    assert_success(cu->cuEventSynchronize(recorded));
    assert_success(cu->cuGraphExecDestroy(exec));
    assert_success(cu->cuGraphDestroy(graph));
}

void cap_24_outside_a_capture_external_flags_are_refused(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_event event = sp_case_event();

    sp_case_need(SP_CALL_cuEventRecordWithFlags);
    assert_cu(SP_CU_INVALID_VALUE,
              cu->cuEventRecordWithFlags(event, stream, SP_CU_EVENT_RECORD_EXTERNAL));
    assert_cu(SP_CU_INVALID_VALUE,
              cu->cuStreamWaitEvent(stream, event, SP_CU_EVENT_WAIT_EXTERNAL));
    assert_success(cu->cuEventRecordWithFlags(event, stream, SP_CU_EVENT_RECORD_DEFAULT));
    assert_success(cu->cuEventSynchronize(event));
}

/* ---- allocations --------------------------------------------------------------------- */

void cap_36_a_captured_allocation_is_a_node_after_the_frontier(void)
{
    sp_cu_pool pool = sp_case_pool(0);
    sp_cu_stream stream = sp_case_stream();
    struct sp_cu_alloc_params params;
    sp_cu_node first, node;
    sp_cu_ptr ptr = 0, other = 0;

    sp_cap_begin(stream);
    sp_cap_work(stream);
    first = sp_cap_last(stream);
    assert_success(cu->cuMemAllocFromPoolAsync(&ptr, SIZE, pool, stream));
    assert_int_not_equal(ptr, 0);
    node = sp_cap_last(stream);
    assert_int_equal(sp_cap_type(node), SP_CU_NODE_MEM_ALLOC);
    assert_true(sp_cap_has_edge(first, node));
    assert_success(cu->cuGraphMemAllocNodeGetParams(node, &params));
    assert_int_equal(params.ptr, ptr);
    assert_int_equal(params.props.location.type, SP_CU_LOCATION_DEVICE);
    assert_int_equal(params.props.location.id, 0);
    assert_success(cu->cuMemAllocAsync(&other, SIZE, stream));
    assert_int_equal(sp_cap_type(sp_cap_last(stream)), SP_CU_NODE_MEM_ALLOC);
    assert_int_not_equal(other, ptr);
    assert_success(cu->cuGraphDestroy(sp_cap_end(stream)));
}

void cap_36_a_captured_allocation_does_not_count_in_its_pool(void)
{
    sp_cu_pool pool = sp_case_pool(0);
    sp_cu_stream stream = sp_case_stream();
    uint64_t used = sp_case_used(pool), reserved = sp_case_reserved(pool);
    sp_cu_ptr copied = sp_cap_memory(SIZE), ptr = 0;
    sp_cu_graph graph;

    sp_cap_begin(stream);
    assert_success(cu->cuMemAllocFromPoolAsync(&ptr, SIZE, pool, stream));
    sp_case_fill(ptr, 3, SIZE, stream);
    assert_success(cu->cuMemcpyDtoDAsync(copied, ptr, SIZE, stream));
    assert_success(cu->cuMemFreeAsync(ptr, stream));
    graph = sp_cap_end(stream);
    assert_int_equal(sp_case_used(pool), used);
    assert_int_equal(sp_case_reserved(pool), reserved);
    sp_cap_run(graph, stream);
    sp_case_assert_bytes(copied, 3, SIZE, stream);
    assert_int_equal(sp_case_used(pool), used);
    assert_int_equal(sp_case_reserved(pool), reserved);
    assert_success(cu->cuMemFree(copied));
}

static void grant_peer(sp_cu_pool pool)
{
    struct sp_cu_access_desc access = {
        .location = {.type = SP_CU_LOCATION_DEVICE, .id = 1},
        .flags = SP_CU_ACCESS_READWRITE,
    };

    assert_success(cu->cuMemPoolSetAccess(pool, &access, 1));
}

static bool reaches_peer(sp_cu_node node)
{
    struct sp_cu_alloc_params params;

    assert_success(cu->cuGraphMemAllocNodeGetParams(node, &params));
    for (size_t i = 0; i < params.n_access; i++) {
        if (params.access[i].location.id == 1 &&
            params.access[i].flags == SP_CU_ACCESS_READWRITE)
            return true;
    }
    return false;
}

void cap_36_a_captured_allocation_keeps_the_access_it_had(void)
{
    sp_cu_pool pool = sp_case_pool(0);
    sp_cu_stream stream = sp_case_stream();
    sp_cu_node before, after;
    sp_cu_ptr ptr;

    sp_cap_begin_in(stream, SP_CU_CAPTURE_MODE_RELAXED);
    assert_success(cu->cuMemAllocFromPoolAsync(&ptr, SIZE, pool, stream));
    before = sp_cap_last(stream);
    grant_peer(pool);
    assert_success(cu->cuMemAllocFromPoolAsync(&ptr, SIZE, pool, stream));
    after = sp_cap_last(stream);
    assert_false(reaches_peer(before));
    assert_true(reaches_peer(after));
    assert_success(cu->cuGraphDestroy(sp_cap_end(stream)));
}

/* ---- frees --------------------------------------------------------------------------- */

void cap_37_a_captured_free_is_a_node(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_node before, node;
    sp_cu_ptr ptr = 0, freed = 0;

    sp_cap_begin(stream);
    assert_success(cu->cuMemAllocAsync(&ptr, SIZE, stream));
    before = sp_cap_last(stream);
    assert_success(cu->cuMemFreeAsync(ptr, stream));
    node = sp_cap_last(stream);
    assert_int_equal(sp_cap_type(node), SP_CU_NODE_MEM_FREE);
    assert_true(sp_cap_has_edge(before, node));
    assert_success(cu->cuGraphMemFreeNodeGetParams(node, &freed));
    assert_int_equal(freed, ptr);
    assert_success(cu->cuGraphDestroy(sp_cap_end(stream)));
}

/* What the free answers, or how the capture ends if that is what tells. */
static sp_cu_result free_uncaptured(void *arg)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_result freed, ended;

    sp_cap_begin(stream);
    freed = cu->cuMemFreeAsync(*(sp_cu_ptr *)arg, stream);
    ended = sp_cap_end_any(stream);
    return freed == SP_CU_INVALID_VALUE && ended != SP_CU_SUCCESS ? ended : freed;
}

void cap_37_what_no_graph_allocated_is_not_freed(void)
{
    static const struct sp_choice choices[] = {
        {"survives", SP_CU_INVALID_VALUE},
        {"dies", SP_CU_STREAM_CAPTURE_INVALIDATED},
        {"unsupported", SP_CU_STREAM_CAPTURE_UNSUPPORTED},
    };
    sp_cu_stream stream = sp_case_stream();
    sp_cu_pool pool = sp_case_pool(0);
    sp_cu_ptr plain = sp_cap_memory(SIZE);
    sp_cu_ptr ptr = sp_case_alloc(pool, SIZE, stream);

    sp_case_finish(stream);
    sp_case_choose("CAP-37", "free_uncaptured", choices, 3, free_uncaptured, &ptr);
    sp_case_choose("CAP-37", "free_uncaptured", choices, 3, free_uncaptured, &plain);
    assert_int_equal(sp_case_used(pool), SIZE);
    sp_case_free(ptr, stream);
    sp_case_finish(stream);
    assert_success(cu->cuMemFree(plain));
}

void cap_38_a_free_in_a_side_stream_must_be_joined(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_stream joined = sp_case_stream();
    sp_cu_event event = sp_case_event();
    sp_cu_ptr ptr;

    sp_cap_begin(stream);
    assert_success(cu->cuMemAllocAsync(&ptr, SIZE, stream));
    sp_cap_fork(stream, event, joined);
    sp_case_fill(ptr, 1, SIZE, joined);
    sp_cap_fork(joined, event, stream);
    assert_success(cu->cuMemFreeAsync(ptr, joined));
    sp_cap_end_as(SP_CU_STREAM_CAPTURE_UNJOINED, stream);
}

/* ---- what the host takes part in ----------------------------------------------------- */

static void count(void *arg)
{
    ++*(int *)arg;
}

void cap_39_a_host_function_is_captured(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_graph graph;
    sp_cu_exec exec;
    int n_calls = 0;

    sp_cap_begin(stream);
    assert_success(cu->cuLaunchHostFunc(stream, count, &n_calls));
    assert_int_equal(sp_cap_type(sp_cap_last(stream)), SP_CU_NODE_HOST);
    graph = sp_cap_end(stream);
    assert_int_equal(n_calls, 0);
    assert_success(cu->cuGraphInstantiate(&exec, graph, 0));
    for (int i = 1; i <= 2; i++) {
        assert_success(cu->cuGraphLaunch(exec, stream));
        sp_case_finish(stream);
        assert_int_equal(n_calls, i);
    }
    assert_success(cu->cuGraphExecDestroy(exec));
    assert_success(cu->cuGraphDestroy(graph));
}

static void call_back(sp_cu_stream stream, sp_cu_result status, void *arg)
{
    (void)stream;
    (void)status;
    (void)arg;
}

void cap_39_a_callback_is_not_captured(void)
{
    for (int i = 0; i < SP_CAP_N_MODES; i++) {
        sp_cu_stream stream = sp_case_stream();

        sp_cap_begin_in(stream, sp_cap_modes[i]);
        assert_cu(SP_CU_STREAM_CAPTURE_UNSUPPORTED,
                  cu->cuStreamAddCallback(stream, call_back, NULL, 0));
        sp_cap_assert_status(SP_CU_CAPTURE_INVALIDATED, stream);
        sp_cap_end_as(SP_CU_STREAM_CAPTURE_INVALIDATED, stream);
    }
}

void cap_39_attaching_memory_is_not_captured(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_ptr ptr;

    if (sp_case_device_attribute(SP_CU_DEVICE_MANAGED_MEMORY, 0) == 0)
        sp_case_skip("device 0 has no managed memory");
    assert_success(cu->cuMemAllocManaged(&ptr, SIZE, SP_CU_MEM_ATTACH_GLOBAL));
    sp_cap_begin(stream);
    assert_cu(SP_CU_STREAM_CAPTURE_UNSUPPORTED,
              cu->cuStreamAttachMemAsync(stream, ptr, 0, SP_CU_MEM_ATTACH_SINGLE));
    sp_cap_assert_status(SP_CU_CAPTURE_INVALIDATED, stream);
    sp_cap_end_as(SP_CU_STREAM_CAPTURE_INVALIDATED, stream);
    assert_success(cu->cuMemFree(ptr));
}

/* ---- what is before and after -------------------------------------------------------- */

void cap_41_what_is_captured_does_not_depend_on_earlier_work(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_stream other = sp_case_stream();
    sp_cu_ptr ptr = sp_cap_memory(SIZE);
    sp_cu_graph graph;

    (void)sp_case_stall(stream);
    sp_cap_begin(stream);
    assert_int_equal(sp_cap_n_last(stream), 0);
    sp_case_fill(ptr, 1, SIZE, stream);
    graph = sp_cap_end(stream);
    assert_int_equal(sp_cap_n_nodes(graph), 1);
    /* Elsewhere it runs although the stream is still held. */
    sp_cap_run(graph, other);
    sp_case_assert_bytes(ptr, 1, SIZE, other);
    assert_false(sp_case_is_idle(stream));
    sp_case_release_all();
    sp_case_finish(stream);
    assert_success(cu->cuMemFree(ptr));
}

void cap_41_later_work_follows_the_work_before_the_capture(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_stream other = sp_case_stream();
    sp_cu_ptr ptr = sp_cap_memory(SIZE);
    sp_cu_graph graph;

    (void)sp_case_stall(stream);
    sp_cap_begin(stream);
    sp_cap_work(stream);
    graph = sp_cap_end(stream);
    sp_case_fill(ptr, 2, SIZE, stream);
    sp_case_assert_bytes(ptr, 0, SIZE, other);
    sp_case_release_all();
    sp_case_assert_bytes(ptr, 2, SIZE, stream);
    assert_success(cu->cuGraphDestroy(graph));
    assert_success(cu->cuMemFree(ptr));
}
