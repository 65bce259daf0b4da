/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The conformance suite: one test or more a rule of the specification, over whichever driver
 * table is loaded. A case's name begins with the rule's ID; it is called with device 0's
 * primary context current, nothing in any stream and no error left, and owns nothing when it
 * returns. */
#ifndef SP_CONFORMANCE_H
#define SP_CONFORMANCE_H

#include "tests/support.h"

#include <stdbool.h>

#include <starpool/model.h>

#include "src/driver/driver.h"
#include "tests/conformance_child.h"
#include "tests/conformance_main.h"

/* ---- cases ----------------------------------------------------------------------------- */

/* What a rule is about, as the specification tags it; a case is skipped, with the reason, where
 * the driver at hand lacks that. */
enum {
    SP_TAG_GPU2 = 1 << 0, /* two devices */
    SP_TAG_P2P = 1 << 1,  /* which can be peers */
    SP_TAG_PROC = 1 << 2, /* a second process; says so, needs nothing */
    SP_TAG_THR = 1 << 3,  /* a second thread; says so, needs nothing */
    SP_TAG_HOST = 1 << 4, /* pools of HOST and HOST_NUMA memory */
    SP_TAG_MNG = 1 << 5,  /* managed pools */
    SP_TAG_IMEX = 1 << 6, /* the fabric; says so, the case finds out */
    SP_TAG_SLOW = 1 << 7, /* takes most of a device: real ones only with STARPOOL_TEST_SLOW=1 */
    SP_TAG_UB = 1 << 8,   /* undefined: never on a real driver */
    SP_TAG_STALL = 1 << 9, /* holds streams */
    SP_TAG_MODEL = 1 << 10 /* about something that only the model has, such as a switch */
};

struct sp_case {
    const char *name;
    void (*run)(void);
    unsigned tags;
    /* What a process that sp_case_child_start() starts does; it has called nothing of the
     * driver yet, and asserts as cases do. */
    void (*child)(const char *role, int socket);
};

#define SP_CASE(function, function_tags)                              \
    {                                                                 \
        .name = #function, .run = (function), .tags = (function_tags) \
    }
#define SP_CASE_CHILD(function, function_tags, function_child)         \
    {                                                                  \
        .name = #function, .run = (function), .tags = (function_tags), \
        .child = (function_child)                                      \
    }

/* A group's cases, in the order of the rules. */
struct sp_case_group {
    const char *name;
    const struct sp_case *cases; /* [n_cases] */
    size_t n_cases;
};
#define SP_CASE_GROUP(group_name, group_cases)                    \
    {                                                             \
        .name = (group_name), .cases = (group_cases),             \
        .n_cases = sizeof(group_cases) / sizeof((group_cases)[0]) \
    }

/* const struct sp_case_group sp_cases_pool = SP_CASE_GROUP("POOL", cases); */
extern const struct sp_case_group sp_cases_pool, sp_cases_def, sp_cases_attr, sp_cases_order,
    sp_cases_trim, sp_cases_destroy, sp_cases_access, sp_cases_ipc, sp_cases_inter,
    sp_cases_cap, sp_cases_gnode, sp_cases_gnode_limits, sp_cases_gnode_life, sp_cases_gmem,
    sp_cases_pit, sp_cases_pit_memory, sp_cases_gobj;

/* ---- the driver and its answers -------------------------------------------------------- */

/* The table under test: cu->cuMemAllocAsync(...). */
extern const struct sp_driver *cu;

/* Fail the test, naming both results, unless `expr` answers `expected`. */
#define assert_cu(expected, expr) \
    sp_case_assert_cu((expected), (expr), #expr, __FILE__, __LINE__)
#define assert_success(expr) assert_cu(SP_CU_SUCCESS, expr)
void sp_case_assert_cu(sp_cu_result expected, sp_cu_result actual, const char *expr,
                       const char *file, int line);

/* Skip the case, saying why. */
void sp_case_skip(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* Skip the case if the driver at hand has no such entry point: SP_CALL_cuMemGetDefaultMemPool.
 */
void sp_case_need(int call);

/* ---- driver-dependent rules ------------------------------------------------------------ */

/* Make the model take a value of a switch, and true; false on a real driver. */
bool sp_case_switch(const char *name, const char *value);

/* On a real driver: put "observed RULE TEXT" into the file that STARPOOL_TEST_OBSERVED names.
 */
void sp_case_observe(const char *rule, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* On a real driver: put "switch RULE NAME=VALUES" there, the values with which the model would
 * have answered alike, separated by |. tests/gpu_check.sh makes one setting of all of them. */
void sp_case_settle(const char *name, const char *values);

/* What `act` answers at each value of a switch. */
struct sp_choice {
    const char *value;
    sp_cu_result result;
};

/* On the model, set each value of the switch in turn, the default first, and require its
 * result; the choices are all that the switch has. On a real driver, observe what is answered,
 * and settle the switch. The act undoes what it did. */
void sp_case_choose(const char *rule, const char *switch_name, const struct sp_choice *choices,
                    size_t n_choices, sp_cu_result (*act)(void *arg), void *arg);

/* How many times the case does what is undefined; 0 unless said. The model must have counted as
 * many when the case ends. */
void sp_case_expect_violations(uint64_t n);

/* ---- devices, streams, events ---------------------------------------------------------- */

/* The number of devices, at least 1; the suite uses the first two. A NUMA node with memory. */
int sp_case_n_devices(void);
int sp_case_device_attribute(int attribute, int device);
int sp_case_numa_node(void);

/* Make the primary context of device 0 or 1 current in this thread, and return it. */
sp_cu_context sp_case_device(int device);

/* A non-blocking stream of the current context, and an event without timing; the harness
 * destroys them after the case, unless the case has and told it so. */
sp_cu_stream sp_case_stream(void);
sp_cu_stream sp_case_blocking_stream(void);
sp_cu_event sp_case_event(void);
void sp_case_forget_stream(sp_cu_stream stream);
void sp_case_forget_event(sp_cu_event event);

/* cuStreamSynchronize() and cuStreamQuery() == SUCCESS. */
void sp_case_finish(sp_cu_stream stream);
bool sp_case_is_idle(sp_cu_stream stream);

/* Hold a stream (32 times a case at most) until sp_case_release() with what this returned; the
 * harness releases all of them when the case ends in any way. */
int sp_case_stall(sp_cu_stream stream);
void sp_case_release(int stall);
void sp_case_release_all(void);

/* ---- pools and memory ------------------------------------------------------------------ */

/* Properties of a pinned pool on a device; a pool of the case's own, which the harness destroys
 * after the case, having checked that nothing of it is in use. */
struct sp_cu_pool_props sp_case_props(int device);
sp_cu_pool sp_case_pool(int device);
sp_cu_pool sp_case_pool_of(const struct sp_cu_pool_props *props);
void sp_case_forget_pool(sp_cu_pool pool);
sp_cu_pool sp_case_default_pool(int device);

/* Attributes: 4 to 8, 1 to 3, and shorthands. */
uint64_t sp_case_bytes(sp_cu_pool pool, int attribute);
int sp_case_flag(sp_cu_pool pool, int attribute);
uint64_t sp_case_reserved(sp_cu_pool pool);
uint64_t sp_case_used(sp_cu_pool pool);
void sp_case_set_bytes(sp_cu_pool pool, int attribute, uint64_t value);
void sp_case_set_flag(sp_cu_pool pool, int attribute, int value);
void sp_case_set_threshold(sp_cu_pool pool, uint64_t bytes);
void sp_case_set_reuse(sp_cu_pool pool, bool follow, bool opportunistic, bool internal);

/* Allocations that must succeed; cuMemAllocFromPoolAsync(), cuMemFreeAsync(). */
sp_cu_ptr sp_case_alloc(sp_cu_pool pool, size_t size, sp_cu_stream stream);
void sp_case_free(sp_cu_ptr ptr, sp_cu_stream stream);

/* cuMemGetInfo()'s free bytes. */
size_t sp_case_device_free(void);

/* Set bytes in the stream's order; then, from the host, require that they have that value. */
void sp_case_fill(sp_cu_ptr ptr, unsigned char value, size_t size, sp_cu_stream stream);
void sp_case_assert_bytes(sp_cu_ptr ptr, unsigned char value, size_t size, sp_cu_stream stream);

/* cuPointerGetAttribute() of what must be known. */
sp_cu_pool sp_case_pool_of_ptr(sp_cu_ptr ptr);
int sp_case_device_of_ptr(sp_cu_ptr ptr);

/* ---- the model's shape, other processes ------------------------------------------------ */

/* What the suite's model is like: two devices of 1 GiB, peers; `exec` as the program's mode. */
struct starpool_model_config sp_case_config(void);

/* On the model: begin anew with another shape, and true; false on a real driver. */
bool sp_case_restart(const struct starpool_model_config *config);

#endif /* SP_CONFORMANCE_H */
