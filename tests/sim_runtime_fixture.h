/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The simulated CUDA runtimes, loaded as programs load them, over a model that begins anew for
 * each test. The programs are linked with libstarpool.so, whose model all libraries work on. */
#ifndef SP_SIM_RUNTIME_FIXTURE_H
#define SP_SIM_RUNTIME_FIXTURE_H

#include "tests/support.h"

#include "src/model/model.h"
#include "src/sim/runtime_types.h"

/* libcudart.so.13's functions, and its twins. */
struct sim_runtime {
    void *handle;
#define X(name, parameters)                   int(*name) parameters;
#define Z(name, parameters, arguments)        int(*name) parameters, (*name##_ptsz)parameters;
#define D(name, parameters, async, arguments) int(*name) parameters, (*name##_ptds)parameters;
#include "src/sim/runtime_calls.def"
#undef X
#undef Z
#undef D
};
extern struct sim_runtime rt;

/* The libraries of the older versions, as dlopen() gives them. */
extern void *sim_runtime_11, *sim_runtime_12;

/* A function of a library, which must be there, into a pointer of its type. */
void sim_find(void *handle, const char *name, void *function_out);

/* Load all three; for a group. Two devices of 1 GiB, device 0 is this thread's, no error is
 * kept; for a test. */
int sim_load(void **state);
int sim_setup(void **state);

/* The runtime's answer, by name if it is another. */
#define assert_rt(expected, call) sim_assert((expected), (call), #call, __FILE__, __LINE__)
#define assert_done(call)         assert_rt(SP_CU_SUCCESS, call)
void sim_assert(int expected, int actual, const char *call, const char *file, int line);

/* Memory of the current device that is full of a byte, which the model takes back when it
 * begins anew. All of such memory has that byte. */
void *sim_device_memory(size_t size, int byte);
void sim_assert_bytes(const void *device, int byte, size_t size);

/* The stream does nothing more until the gate is opened, which is the test's to do. */
void sim_close_gate(sp_cu_stream stream);
void sim_open_gate(void);

#endif /* SP_SIM_RUNTIME_FIXTURE_H */
