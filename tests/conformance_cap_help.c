/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the cases about captures are written with. */
#include "config.h"

#include "tests/conformance_cap.h"

#include <pthread.h>

const int sp_cap_modes[SP_CAP_N_MODES] = {
    SP_CU_CAPTURE_MODE_GLOBAL,
    SP_CU_CAPTURE_MODE_THREAD_LOCAL,
    SP_CU_CAPTURE_MODE_RELAXED,
};

/* ---- captures ------------------------------------------------------------------------ */

void sp_cap_begin_in(sp_cu_stream stream, int mode)
{
    assert_success(cu->cuStreamBeginCapture(stream, mode));
}

void sp_cap_begin(sp_cu_stream stream)
{
    sp_cap_begin_in(stream, SP_CU_CAPTURE_MODE_GLOBAL);
}

sp_cu_graph sp_cap_end(sp_cu_stream stream)
{
    sp_cu_graph graph = NULL;

    assert_success(cu->cuStreamEndCapture(stream, &graph));
    assert_non_null(graph);
    return graph;
}

sp_cu_result sp_cap_end_any(sp_cu_stream stream)
{
    sp_cu_graph graph = NULL;
    sp_cu_result result = cu->cuStreamEndCapture(stream, &graph);

    assert_true((result == SP_CU_SUCCESS) == (graph != NULL));
    if (graph != NULL)
        assert_success(cu->cuGraphDestroy(graph));
    return result;
}

void sp_cap_end_as(sp_cu_result expected, sp_cu_stream stream)
{
    int anything;
    sp_cu_graph graph = (sp_cu_graph)(void *)&anything;

    assert_cu(expected, cu->cuStreamEndCapture(stream, &graph));
    assert_null(graph);
    sp_cap_assert_status(SP_CU_CAPTURE_NONE, stream);
    sp_cap_work(stream);
    sp_case_finish(stream);
}

void sp_cap_assert_status(int expected, sp_cu_stream stream)
{
    int status = -1;

    assert_success(cu->cuStreamIsCapturing(stream, &status));
    assert_int_equal(status, expected);
}

/* ---- what is captured ---------------------------------------------------------------- */

sp_cu_graph sp_cap_graph(sp_cu_stream stream)
{
    sp_cu_graph graph = NULL;
    int status = -1;

    assert_success(cu->cuStreamGetCaptureInfo(stream, &status, NULL, &graph, NULL, NULL, NULL));
    assert_int_equal(status, SP_CU_CAPTURE_ACTIVE);
    assert_non_null(graph);
    return graph;
}

/* The nodes that the next one will depend on; the array is the driver's. */
static const sp_cu_node *ask_last(sp_cu_stream stream, size_t *n_out)
{
    const sp_cu_node *nodes = NULL;
    const struct sp_cu_edge_data *edges = NULL;
    int status = -1;

    *n_out = 77;
    assert_success(
        cu->cuStreamGetCaptureInfo(stream, &status, NULL, NULL, &nodes, &edges, n_out));
    assert_int_equal(status, SP_CU_CAPTURE_ACTIVE);
    return nodes;
}

size_t sp_cap_n_last(sp_cu_stream stream)
{
    size_t n;

    (void)ask_last(stream, &n);
    return n;
}

sp_cu_node sp_cap_last(sp_cu_stream stream)
{
    size_t n;
    const sp_cu_node *nodes = ask_last(stream, &n);

    assert_int_equal(n, 1);
    return nodes[0];
}

void sp_cap_fork(sp_cu_stream stream, sp_cu_event event, sp_cu_stream other)
{
    assert_success(cu->cuEventRecord(event, stream));
    assert_success(cu->cuStreamWaitEvent(other, event, SP_CU_EVENT_WAIT_DEFAULT));
}

static void do_nothing(void *arg)
{
    (void)arg;
}

void sp_cap_work(sp_cu_stream stream)
{
    assert_success(cu->cuLaunchHostFunc(stream, do_nothing, NULL));
}

/* ---- graphs -------------------------------------------------------------------------- */

size_t sp_cap_n_nodes(sp_cu_graph graph)
{
    size_t n = 0;

    assert_success(cu->cuGraphGetNodes(graph, NULL, &n));
    return n;
}

int sp_cap_type(sp_cu_node node)
{
    int type = -1;

    assert_success(cu->cuGraphNodeGetType(node, &type));
    return type;
}

bool sp_cap_has_edge(sp_cu_node from, sp_cu_node to)
{
    struct sp_cu_edge_data edges[16];
    sp_cu_node nodes[16];
    size_t n = 16;

    assert_success(cu->cuGraphNodeGetDependencies(to, nodes, edges, &n));
    assert_true(n <= 16);
    for (size_t i = 0; i < n; i++) {
        if (nodes[i] == from)
            return true;
    }
    return false;
}

void sp_cap_run(sp_cu_graph graph, sp_cu_stream stream)
{
    sp_cu_exec exec = NULL;

    assert_success(cu->cuGraphInstantiate(&exec, graph, 0));
    assert_success(cu->cuGraphLaunch(exec, stream));
    sp_case_finish(stream);
    assert_success(cu->cuGraphExecDestroy(exec));
    assert_success(cu->cuGraphDestroy(graph));
    assert_success(cu->cuDeviceGraphMemTrim(0));
}

/* ---- threads and memory -------------------------------------------------------------- */

int sp_cap_exchange(int mode)
{
    assert_success(cu->cuThreadExchangeStreamCaptureMode(&mode));
    return mode;
}

struct errand {
    sp_cu_result (*act)(void *arg);
    void *arg;
    sp_cu_context context;
    sp_cu_result result;
};

static void *run_errand(void *arg)
{
    struct errand *errand = arg;

    errand->result = cu->cuCtxSetCurrent(errand->context);
    if (errand->result == SP_CU_SUCCESS)
        errand->result = errand->act(errand->arg);
    return NULL;
}

sp_cu_result sp_cap_in_thread(sp_cu_result (*act)(void *arg), void *arg)
{
    struct errand errand = {.act = act, .arg = arg, .context = sp_case_device(0)};
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, run_errand, &errand), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    return errand.result;
}

sp_cu_ptr sp_cap_memory(size_t size)
{
    sp_cu_ptr ptr = 0;

    assert_success(cu->cuMemAlloc(&ptr, size));
    assert_success(cu->cuMemsetD8(ptr, 0, size));
    assert_success(cu->cuCtxSynchronize());
    return ptr;
}
