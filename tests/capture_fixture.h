/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Captures on the CPU model: pools of every kind, and what one does with a graph. */
#ifndef SP_CAPTURE_FIXTURE_H
#define SP_CAPTURE_FIXTURE_H

#include <stddef.h>

#include <starpool/capture.h>
#include <starpool/pool.h>
#include <starpool/stats.h>

#include "src/driver/driver.h"
#include "tests/driver_fixture.h"

#define assert_cu(expected, call) assert_int_equal(call, SP_CU_##expected)

/* Beside `on` of driver_fixture.h, whose driver's pool makes nodes. */
extern struct sp_capture_fixture {
    struct starpool_pool *arena; /* the driver's, on device 0 */
} captures;

/* For cmocka. */
int sp_capture_fixture_setup(void **state);
int sp_capture_fixture_teardown(void **state);

/* For main(): the model with threads, or the driver that STARPOOL_TEST_DRIVER names; with
 * checks. False: it is not to be had. */
bool sp_capture_fixture_init(void);

/* A pool of the driver on device 0, or of our own on the host. */
struct starpool_pool *sp_capture_pool(enum starpool_kind kind,
                                      enum starpool_capture_memory memory,
                                      enum starpool_captured_free captured_free);

/* From here on a stream is captured; what was captured; an executable, whose graph goes. */
void sp_capture_begin(sp_cu_stream stream);
sp_cu_graph sp_capture_end(sp_cu_stream stream);
sp_cu_exec sp_capture_instantiate(sp_cu_graph graph);

/* A block has this value from then on. A device sets no memory of the host that is not
 * registered: there at most 1 MiB, and values below 16. */
void sp_capture_fill(void *ptr, unsigned char value, size_t size, sp_cu_stream stream);

/* Run it on a stream and wait. */
void sp_capture_launch(sp_cu_exec exec, sp_cu_stream stream);

/* What comes next in `to` comes after what `from` has been given. */
void sp_capture_follow(sp_cu_stream to, sp_cu_stream from);

/* Wait until every destructor has run that is due by now. */
void sp_capture_wait_for_destructors(void);

/* How many nodes of a kind a graph has. */
size_t sp_capture_count(sp_cu_graph graph, int type);

struct starpool_block_info sp_capture_info(const void *ptr);

#endif /* SP_CAPTURE_FIXTURE_H */
