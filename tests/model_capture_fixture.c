/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the tests of the model's captures are written with. */
#include "config.h"

#include "tests/model_capture_fixture.h"

void sp_test_begin(sp_cu_stream stream)
{
    assert_done(cuStreamBeginCapture(stream, SP_CU_CAPTURE_MODE_THREAD_LOCAL));
}

sp_cu_graph sp_test_end(sp_cu_stream stream)
{
    sp_cu_graph graph = NULL;

    assert_done(cuStreamEndCapture(stream, &graph));
    assert_non_null(graph);
    return graph;
}

void sp_test_assert_capturing(int expected, sp_cu_stream stream)
{
    int status = -1;

    assert_done(cuStreamIsCapturing(stream, &status));
    assert_int_equal(status, expected);
}

void sp_test_fork(sp_cu_stream stream, sp_cu_event event, sp_cu_stream other)
{
    assert_done(cuEventRecord(event, stream));
    assert_done(cuStreamWaitEvent(other, event, 0));
}

void sp_test_nothing(void *arg)
{
    (void)arg;
}

void sp_test_work(sp_cu_stream stream)
{
    assert_done(cuLaunchHostFunc(stream, sp_test_nothing, NULL));
}
