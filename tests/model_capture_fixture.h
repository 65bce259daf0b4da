/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the tests of the model's captures are written with, on top of the model's fixture. */
#ifndef SP_MODEL_CAPTURE_FIXTURE_H
#define SP_MODEL_CAPTURE_FIXTURE_H

#include "tests/model_fixture.h"

/* A capture by this thread, THREAD_LOCAL; its graph, the caller's. */
void sp_test_begin(sp_cu_stream stream);
sp_cu_graph sp_test_end(sp_cu_stream stream);

/* cuStreamIsCapturing() says SP_CU_CAPTURE_... */
void sp_test_assert_capturing(int expected, sp_cu_stream stream);

/* The other stream becomes part of the stream's capture, or waits for what it has. */
void sp_test_fork(sp_cu_stream stream, sp_cu_event event, sp_cu_stream other);

/* A host function that does nothing, as the stream's next operation. */
void sp_test_work(sp_cu_stream stream);
void sp_test_nothing(void *arg);

#endif /* SP_MODEL_CAPTURE_FIXTURE_H */
