/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A driver's context with two streams, a pool of the driver and one of our own; and a gate that
 * holds a stream. What tests of pools that the driver serves start from. */
#ifndef SP_DRIVER_FIXTURE_H
#define SP_DRIVER_FIXTURE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include <starpool/pool.h>

#include "src/driver/driver.h"

extern struct sp_driver_fixture {
    const struct sp_driver *driver;
    sp_cu_context context;
    struct starpool_pool *pool; /* the driver's, on device 0 */
    struct starpool_pool *host; /* our own, which is not opportunistic */
    sp_cu_stream a, b;
} on;

/* Flags of which threads tell each other. */
extern struct sp_gate {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool is_open;
    bool is_answered, is_heard; /* of another thread, as a test likes */
} gate;

/* For a test's own setup: `handle_types` are the driver's pool's, `allows_waits` is our own
 * pool's. */
int sp_driver_fixture_setup(unsigned handle_types, bool allows_waits);
int sp_driver_fixture_teardown(void **state);

/* A block, which must be had. */
void *sp_driver_fixture_alloc(struct starpool_pool *pool, starpool_stream stream, size_t size);

void sp_gate_set(bool *flag);
void sp_gate_wait(const bool *flag);

/* A host function that ends when the gate is open; a stream that waits for that. */
void sp_gate_pass(void *arg);
void sp_gate_close_in(sp_cu_stream stream);

#endif /* SP_DRIVER_FIXTURE_H */
