/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* CAP: what programs are told of captures, and what they may change. The list is in
 * conformance_cap.c. */
#include "config.h"

#include "tests/conformance_cap.h"

/* ---- what programs are told ---------------------------------------------------------- */

void cap_15_asking_disturbs_nothing(void)
{
    for (int i = 0; i < SP_CAP_N_MODES; i++) {
        sp_cu_stream stream = sp_case_stream();

        sp_cap_begin_in(stream, sp_cap_modes[i]);
        assert_cu(SP_CU_INVALID_VALUE, cu->cuStreamIsCapturing(stream, NULL));
        assert_cu(SP_CU_INVALID_VALUE,
                  cu->cuStreamGetCaptureInfo(stream, NULL, NULL, NULL, NULL, NULL, NULL));
        sp_cap_assert_status(SP_CU_CAPTURE_ACTIVE, stream);
        (void)sp_cap_graph(stream);
        assert_success(cu->cuGraphDestroy(sp_cap_end(stream)));
    }
}

void cap_16_the_legacy_stream_does_not_say_beside_a_blocking_capture(void)
{
    sp_cu_stream stream = sp_case_blocking_stream();
    int status;

    sp_cap_begin(stream);
    assert_cu(SP_CU_STREAM_CAPTURE_IMPLICIT, cu->cuStreamIsCapturing(NULL, &status));
    assert_cu(SP_CU_STREAM_CAPTURE_IMPLICIT,
              cu->cuStreamGetCaptureInfo(NULL, &status, NULL, NULL, NULL, NULL, NULL));
    sp_cap_assert_status(SP_CU_CAPTURE_ACTIVE, stream);
    assert_success(cu->cuGraphDestroy(sp_cap_end(stream)));
    sp_cap_assert_status(SP_CU_CAPTURE_NONE, NULL);
}

void cap_16_beside_a_non_blocking_capture_it_does(void)
{
    sp_cu_stream stream = sp_case_stream();

    sp_cap_begin(stream);
    sp_cap_assert_status(SP_CU_CAPTURE_NONE, NULL);
    assert_success(cu->cuGraphDestroy(sp_cap_end(stream)));
}

static uint64_t id_of(sp_cu_stream stream)
{
    uint64_t id = 0;
    int status = -1;

    assert_success(cu->cuStreamGetCaptureInfo(stream, &status, &id, NULL, NULL, NULL, NULL));
    assert_int_equal(status, SP_CU_CAPTURE_ACTIVE);
    return id;
}

void cap_17_a_capture_has_an_id_of_its_own(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_stream joined = sp_case_stream();
    sp_cu_stream other = sp_case_stream();
    uint64_t id;

    sp_cap_begin(stream);
    sp_cap_begin(other);
    sp_cap_fork(stream, sp_case_event(), joined);
    id = id_of(stream);
    assert_int_equal(id_of(joined), id);
    assert_int_not_equal(id_of(other), id);
    assert_success(cu->cuGraphDestroy(sp_cap_end(stream)));
    assert_success(cu->cuGraphDestroy(sp_cap_end(other)));
    sp_cap_begin(stream);
    assert_int_not_equal(id_of(stream), id);
    assert_success(cu->cuGraphDestroy(sp_cap_end(stream)));
}

void cap_17_nodes_are_added_to_the_captured_graph(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_graph graph;
    sp_cu_node node;

    sp_cap_begin(stream);
    graph = sp_cap_graph(stream);
    assert_success(cu->cuGraphAddEmptyNode(&node, graph, NULL, 0));
    sp_cap_work(stream);
    assert_ptr_equal(sp_cap_end(stream), graph);
    assert_int_equal(sp_cap_n_nodes(graph), 2);
    assert_success(cu->cuGraphDestroy(graph));
}

void cap_18_edge_data_is_asked_for_with_the_edges(void)
{
    sp_cu_stream stream = sp_case_stream();
    const struct sp_cu_edge_data *edges;
    int status;

    sp_cap_begin(stream);
    sp_cap_work(stream);
    assert_cu(SP_CU_INVALID_VALUE,
              cu->cuStreamGetCaptureInfo(stream, &status, NULL, NULL, NULL, &edges, NULL));
    sp_cap_assert_status(SP_CU_CAPTURE_ACTIVE, stream);
    assert_success(cu->cuGraphDestroy(sp_cap_end(stream)));
}

/* On a real driver only edges from kernels have data. */
void cap_18_edge_data_is_not_lost_unnoticed(void)
{
    const struct sp_cu_edge_data programmatic = {.from_port = 1, .type = 1};
    sp_cu_stream stream = sp_case_stream();
    const struct sp_cu_edge_data *edges = NULL;
    const sp_cu_node *nodes;
    sp_cu_node node;
    size_t n = 0;
    int status;

    sp_cap_begin(stream);
    sp_cap_work(stream);
    assert_success(cu->cuStreamGetCaptureInfo(stream, &status, NULL, NULL, &nodes, NULL, &n));
    node = nodes[0];
    assert_success(cu->cuStreamUpdateCaptureDependencies(stream, &node, &programmatic, 1,
                                                         SP_CU_CAPTURE_SET_DEPENDENCIES));
    assert_cu(SP_CU_LOSSY_QUERY,
              cu->cuStreamGetCaptureInfo(stream, &status, NULL, NULL, &nodes, NULL, &n));
    assert_success(cu->cuStreamGetCaptureInfo(stream, &status, NULL, NULL, &nodes, &edges, &n));
    assert_int_equal(n, 1);
    assert_int_equal(edges[0].type, 1);
    assert_success(cu->cuGraphDestroy(sp_cap_end(stream)));
}

/* ---- what programs change ------------------------------------------------------------ */

void cap_19_dependencies_are_added_and_replaced(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_node first, node, last;
    sp_cu_graph graph;

    sp_cap_begin(stream);
    sp_cap_work(stream);
    first = sp_cap_last(stream);
    assert_success(cu->cuGraphAddEmptyNode(&node, sp_cap_graph(stream), NULL, 0));
    assert_success(cu->cuStreamUpdateCaptureDependencies(stream, &node, NULL, 1,
                                                         SP_CU_CAPTURE_ADD_DEPENDENCIES));
    assert_int_equal(sp_cap_n_last(stream), 2);
    sp_cap_work(stream);
    last = sp_cap_last(stream);
    assert_true(sp_cap_has_edge(first, last));
    assert_true(sp_cap_has_edge(node, last));
    assert_success(cu->cuStreamUpdateCaptureDependencies(stream, &node, NULL, 1,
                                                         SP_CU_CAPTURE_SET_DEPENDENCIES));
    assert_ptr_equal(sp_cap_last(stream), node);
    assert_success(cu->cuStreamUpdateCaptureDependencies(stream, NULL, NULL, 0,
                                                         SP_CU_CAPTURE_SET_DEPENDENCIES));
    assert_int_equal(sp_cap_n_last(stream), 0);
    graph = sp_cap_end(stream);
    assert_int_equal(sp_cap_n_nodes(graph), 3);
    assert_success(cu->cuGraphDestroy(graph));
}

void cap_19_bad_dependencies_are_refused(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_graph other;
    sp_cu_node node;

    assert_success(cu->cuGraphCreate(&other, 0));
    assert_success(cu->cuGraphAddEmptyNode(&node, other, NULL, 0));
    assert_cu(SP_CU_ILLEGAL_STATE,
              cu->cuStreamUpdateCaptureDependencies(stream, NULL, NULL, 0, 0));
    sp_cap_begin(stream);
    assert_cu(SP_CU_INVALID_VALUE,
              cu->cuStreamUpdateCaptureDependencies(stream, NULL, NULL, 0, 2));
    assert_cu(SP_CU_INVALID_VALUE,
              cu->cuStreamUpdateCaptureDependencies(stream, NULL, NULL, 1, 0));
    assert_cu(SP_CU_INVALID_VALUE,
              cu->cuStreamUpdateCaptureDependencies(stream, &node, NULL, 1, 0));
    sp_cap_assert_status(SP_CU_CAPTURE_ACTIVE, stream);
    assert_int_equal(sp_cap_n_last(stream), 0);
    assert_success(cu->cuGraphDestroy(sp_cap_end(stream)));
    assert_success(cu->cuGraphDestroy(other));
}

void cap_19_what_is_removed_need_not_be_joined(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_stream joined = sp_case_stream();
    sp_cu_graph graph;

    sp_cap_begin(stream);
    sp_cap_fork(stream, sp_case_event(), joined);
    sp_cap_work(joined);
    assert_success(cu->cuStreamUpdateCaptureDependencies(joined, NULL, NULL, 0,
                                                         SP_CU_CAPTURE_SET_DEPENDENCIES));
    graph = sp_cap_end(stream);
    assert_int_equal(sp_cap_n_nodes(graph), 1);
    assert_success(cu->cuGraphDestroy(graph));
}

void cap_19_nor_what_was_joined_and_is_cut_off(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_stream joined = sp_case_stream();
    sp_cu_event event = sp_case_event();
    const struct sp_cu_edge_data edge = {.type = 0};
    sp_cu_node from, to;
    sp_cu_graph graph;

    sp_cap_begin(stream);
    sp_cap_fork(stream, event, joined);
    sp_cap_work(joined);
    from = sp_cap_last(joined);
    sp_cap_fork(joined, event, stream);
    sp_cap_work(stream);
    to = sp_cap_last(stream);
    assert_success(cu->cuGraphRemoveDependencies(sp_cap_graph(stream), &from, &to, &edge, 1));
    graph = sp_cap_end(stream);
    assert_int_equal(sp_cap_n_nodes(graph), 2);
    assert_false(sp_cap_has_edge(from, to));
    assert_success(cu->cuGraphDestroy(graph));
}
