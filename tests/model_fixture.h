/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the tests of the model's core start from: a fresh model with two devices, a context, and
 * a flag that streams can be held with. */
#ifndef SP_MODEL_FIXTURE_H
#define SP_MODEL_FIXTURE_H

#include "tests/support.h"

#include "src/model/model.h"

#define SP_TEST_SIZE ((size_t)1 << 20)

/* Set by the setups. */
struct sp_test_model {
    const struct sp_driver *driver;
    sp_cu_context context; /* of device 0, current */
    uint32_t *flag;        /* pinned; held streams wait for it to become 1 */
};
extern struct sp_test_model sp_model;

/* Fail, showing both results, unless the entry point answers `expected`. */
#define assert_result(expected, call) assert_int_equal((expected), sp_model.driver->call)
#define assert_done(call)             assert_result(SP_CU_SUCCESS, call)

/* A test in both ways of executing; the second with setups of its own. */
#define SP_TEST_BOTH(test) SP_TEST_BOTH_FROM(test, sp_test_model_threads, sp_test_model_inline)
#define SP_TEST_BOTH_FROM(test, begin_threads, begin_inline)         \
    {#test, test, begin_threads, sp_test_model_end, NULL},           \
    {                                                                \
#test "_inline", test, begin_inline, sp_test_model_end, NULL \
    }

/* A model with so many devices, each with 64 times SP_TEST_SIZE of memory, and what else the
 * options say. */
struct starpool_model_config sp_test_model_shape(unsigned n_devices,
                                                 enum starpool_model_exec exec);

/* Start over with it, and with a context of device 0 and the flag. For setups. */
int sp_test_model_begin(const struct starpool_model_config *shape);

/* Start over, not initialised: each device has 64 times SP_TEST_SIZE of memory. */
void sp_test_model_configure(unsigned n_devices, enum starpool_model_exec exec);

int sp_test_model_threads(void **state);
int sp_test_model_inline(void **state);
int sp_test_model_end(void **state);

sp_cu_stream sp_test_stream(unsigned flags);
sp_cu_event sp_test_event(void);

/* What the stream gets from now on waits until sp_test_release(). */
void sp_test_hold(sp_cu_stream stream);
void sp_test_release(void);
void sp_test_hold_again(void);

/* Wait until the stream has executed all it has, and tell the order nothing: the host has not
 * seen it. */
void sp_test_outwait(sp_cu_stream stream);

/* What is in memory of a device, which the host must not touch at its address. */
volatile char *sp_test_bytes(sp_cu_ptr ptr);

/* Bytes that the current device has left. */
size_t sp_test_free_bytes(void);

/* Threads of this process whose names begin so. A thread that has been joined may still be
 * among them for a moment; settling waits until no stream's is. */
size_t sp_test_count_threads(const char *prefix);
void sp_test_settle_threads(void);

#endif /* SP_MODEL_FIXTURE_H */
