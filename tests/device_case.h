/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What tests of devices' pools share: the model in both ways of executing, pools, and the
 * driver's own numbers. */
#ifndef SP_DEVICE_CASE_H
#define SP_DEVICE_CASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <starpool/pool.h>

#include "tests/support.h"

/* For main(): the model with two devices, whose memory the host cannot touch, and checks; its
 * streams run in threads, unless this is the second run of the case below. False: there is no
 * environment. */
bool sp_device_case_init(void);

/* For cmocka: a pool of slabs on device 0, beside `on` of driver_fixture.h. Faults of the model
 * and limits of its devices go afterwards. */
extern struct starpool_pool *slabs;
int sp_device_case_setup(void **state);
int sp_device_case_teardown(void **state);

/* A case for the end of the list: the same program with streams that run inside of calls. */
void every_case_holds_where_streams_run_inside_calls(void **state);

/* This program again, with a variable of the environment set, and what it ended with. With NULL
 * nothing is set. */
int sp_device_case_again(const char *name, const char *value, const char *argument);

/* Whether streams run in threads of their own, and so can be held. */
bool sp_device_case_is_threaded(void);

/* A pool of a device, or (device -1) of HOST; must be had. */
struct starpool_pool *sp_device_case_pool(int device, enum starpool_backend backend,
                                          uint64_t maximum);

/* Bytes that a device has free, by the driver; and whether its primary context is in use. */
size_t sp_device_case_free(int device);
bool sp_device_case_is_active(int device);

#endif /* SP_DEVICE_CASE_H */
