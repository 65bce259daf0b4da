/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the cases of the conformance suite are written with. */
#include "config.h"

#include "tests/conformance_private.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ASSERT_ROOM(n) assert_true((n) < SP_CASE_MAX_THINGS)

/* ---- answers --------------------------------------------------------------------------- */

void sp_case_assert_cu(sp_cu_result expected, sp_cu_result actual, const char *expr,
                       const char *file, int line)
{
    if (actual == expected)
        return;
    print_error("%s\n    is %s (%d), not %s (%d)\n", expr, sp_driver_result_name(actual),
                actual, sp_driver_result_name(expected), expected);
    _fail(file, line);
}

void sp_case_skip(const char *format, ...)
{
    char reason[200];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(reason, sizeof(reason), format, arguments);
    va_end(arguments);
    print_message("# %s: %s\n", sp_harness.current->name, reason);
    skip();
    abort(); /* skip() does not return, but does not say so. */
}

void sp_case_need(int call)
{
    if (sp_harness.mode == SP_CONFORM_CUDA && sp_harness_calls()[call].is_absent)
        sp_case_skip("the driver has no %s", sp_harness_calls()[call].name);
}

/* ---- driver-dependent rules ------------------------------------------------------------ */

static const struct {
    const char *name, *rule, *values;
} switches[] = {
#define X(name, rule, values, text) {#name, rule, values},
#include "src/model/switches.def"
#undef X
};

bool sp_case_switch(const char *name, const char *value)
{
    if (!cu->is_model)
        return false;
    assert_ok(starpool_model_set_switch(name, value));
    return true;
}

/* A line for the file of what is observed, if there is one, on a real driver. */
static void note(const char *first, const char *second, const char *text)
{
    const char *path = getenv("STARPOOL_TEST_OBSERVED");
    FILE *file;

    if (cu->is_model || path == NULL)
        return;
    file = fopen(path, "a");
    assert_non_null(file);
    (void)fprintf(file, "%s%s%s\n", first, second, text);
    assert_int_equal(fclose(file), 0);
}

void sp_case_observe(const char *rule, const char *format, ...)
{
    char text[200] = " ";
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text + 1, sizeof(text) - 1, format, arguments);
    va_end(arguments);
    note("observed ", rule, text);
}

void sp_case_settle(const char *name, const char *values)
{
    char text[200];

    for (size_t i = 0; i < sizeof(switches) / sizeof(switches[0]); i++) {
        if (strcmp(switches[i].name, name) != 0)
            continue;
        (void)snprintf(text, sizeof(text), " %s=%s", name, values);
        note("switch ", switches[i].rule, text);
        return;
    }
    fail_msg("there is no switch %s", name);
}

/* The values of a switch that have this result. */
static void settle_by_result(const char *switch_name, const struct sp_choice *choices,
                             size_t n_choices, sp_cu_result result)
{
    char values[200] = "";
    size_t length = 0;

    for (size_t i = 0; i < n_choices; i++) {
        if (choices[i].result == result)
            length += (size_t)snprintf(values + length, sizeof(values) - length, "%s%s",
                                       length == 0 ? "" : "|", choices[i].value);
    }
    sp_case_settle(switch_name, values);
}

/* The choices are the switch's values, in their order, and the first holds at first. */
static void check_choices(const char *rule, const char *switch_name,
                          const struct sp_choice *choices, size_t n_choices)
{
    char values[200] = "";
    const char *value;
    size_t length = 0;

    for (size_t i = 0; i < n_choices; i++)
        length += (size_t)snprintf(values + length, sizeof(values) - length, "%s%s",
                                   i == 0 ? "" : " ", choices[i].value);
    for (size_t i = 0; i < sizeof(switches) / sizeof(switches[0]); i++) {
        if (strcmp(switches[i].name, switch_name) != 0)
            continue;
        assert_string_equal(switches[i].values, values);
        assert_string_equal(switches[i].rule, rule);
        assert_ok(starpool_model_get_switch(switch_name, &value));
        assert_string_equal(value, choices[0].value);
        return;
    }
    fail_msg("there is no switch %s", switch_name);
}

void sp_case_choose(const char *rule, const char *switch_name, const struct sp_choice *choices,
                    size_t n_choices, sp_cu_result (*act)(void *arg), void *arg)
{
    if (!cu->is_model) {
        sp_cu_result result = act(arg);

        sp_case_observe(rule, "%s %d (%s)", switch_name, result, sp_driver_result_name(result));
        settle_by_result(switch_name, choices, n_choices, result);
        return;
    }
    check_choices(rule, switch_name, choices, n_choices);
    for (size_t i = 0; i < n_choices; i++) {
        sp_cu_result result;

        assert_true(sp_case_switch(switch_name, choices[i].value));
        result = act(arg);
        if (result != choices[i].result)
            fail_msg("%s=%s: %s, not %s", switch_name, choices[i].value,
                     sp_driver_result_name(result), sp_driver_result_name(choices[i].result));
    }
    assert_true(sp_case_switch(switch_name, choices[0].value));
}

void sp_case_expect_violations(uint64_t n)
{
    sp_harness.n_violations_expected = n;
}

bool sp_case_restart(const struct starpool_model_config *config)
{
    if (!cu->is_model)
        return false;
    sp_harness_check_end();
    sp_harness_clean();
    sp_harness_shape(config);
    sp_case_start();
    return true;
}

/* ---- devices, streams, events ---------------------------------------------------------- */

int sp_case_n_devices(void)
{
    return sp_harness.n_devices;
}

int sp_case_device_attribute(int attribute, int device)
{
    int value;

    assert_success(cu->cuDeviceGetAttribute(&value, attribute, device));
    return value;
}

int sp_case_numa_node(void)
{
    FILE *file = fopen("/sys/devices/system/node/has_memory", "r");
    char line[64] = "0"; /* such as 0-1,4 */

    if (file != NULL) {
        if (fgets(line, sizeof(line), file) == NULL)
            line[0] = '\0';
        (void)fclose(file);
    }
    return (int)strtol(line, NULL, 10);
}

sp_cu_context sp_case_device(int device)
{
    assert_in_range(device, 0, sp_harness.n_used - 1);
    assert_success(cu->cuCtxSetCurrent(sp_harness.contexts[device]));
    return sp_harness.contexts[device];
}

static sp_cu_stream make_stream(unsigned flags)
{
    sp_cu_stream stream;

    ASSERT_ROOM(sp_harness.n_streams);
    assert_success(cu->cuStreamCreate(&stream, flags));
    sp_harness.streams[sp_harness.n_streams++] = stream;
    return stream;
}

sp_cu_stream sp_case_stream(void)
{
    return make_stream(SP_CU_STREAM_NON_BLOCKING);
}

sp_cu_stream sp_case_blocking_stream(void)
{
    return make_stream(SP_CU_STREAM_DEFAULT);
}

sp_cu_event sp_case_event(void)
{
    sp_cu_event event;

    ASSERT_ROOM(sp_harness.n_events);
    assert_success(cu->cuEventCreate(&event, SP_CU_EVENT_DISABLE_TIMING));
    sp_harness.events[sp_harness.n_events++] = event;
    return event;
}

/* Take one of the harness's things out of its list: the last comes in its place. */
static void forget(void **things, size_t *n_things, const void *thing)
{
    for (size_t i = 0; i < *n_things; i++) {
        if (things[i] == thing) {
            things[i] = things[--*n_things];
            return;
        }
    }
    fail_msg("the harness does not have it");
}

void sp_case_forget_stream(sp_cu_stream stream)
{
    forget((void **)sp_harness.streams, &sp_harness.n_streams, stream);
}

void sp_case_forget_event(sp_cu_event event)
{
    forget((void **)sp_harness.events, &sp_harness.n_events, event);
}

void sp_case_finish(sp_cu_stream stream)
{
    assert_success(cu->cuStreamSynchronize(stream));
}

bool sp_case_is_idle(sp_cu_stream stream)
{
    sp_cu_result result = cu->cuStreamQuery(stream);

    if (result != SP_CU_NOT_READY)
        assert_cu(SP_CU_SUCCESS, result);
    return result == SP_CU_SUCCESS;
}

int sp_case_stall(sp_cu_stream stream)
{
    int stall = sp_harness.n_stalls;
    sp_cu_ptr address;
    sp_cu_result result;

    assert_true(stall < SP_CASE_MAX_STALLS);
    assert_success(
        cu->cuMemHostGetDevicePointer(&address, (void *)&sp_harness.flags[stall], 0));
    result = cu->cuStreamWaitValue32(stream, address, 1, SP_CU_WAIT_VALUE_GEQ);
    if (result == SP_CU_NOT_SUPPORTED && !cu->is_model)
        sp_case_skip("streams cannot be held here: no cuStreamWaitValue32()");
    assert_cu(SP_CU_SUCCESS, result);
    sp_harness.n_stalls++;
    return stall;
}

void sp_case_release(int stall)
{
    atomic_store_explicit(&sp_harness.flags[stall], 1, memory_order_release);
}

void sp_case_release_all(void)
{
    if (sp_harness.flags == NULL)
        return;
    for (int stall = 0; stall < SP_CASE_MAX_STALLS; stall++)
        sp_case_release(stall);
}

/* ---- pools and memory ------------------------------------------------------------------ */

struct sp_cu_pool_props sp_case_props(int device)
{
    return (struct sp_cu_pool_props){
        .alloc_type = SP_CU_ALLOCATION_PINNED,
        .location = {.type = SP_CU_LOCATION_DEVICE, .id = device},
    };
}

sp_cu_pool sp_case_pool_of(const struct sp_cu_pool_props *props)
{
    sp_cu_pool pool;

    ASSERT_ROOM(sp_harness.n_pools);
    assert_success(cu->cuMemPoolCreate(&pool, props));
    assert_non_null(pool);
    sp_harness.pools[sp_harness.n_pools++] = pool;
    return pool;
}

sp_cu_pool sp_case_pool(int device)
{
    struct sp_cu_pool_props props = sp_case_props(device);

    return sp_case_pool_of(&props);
}

void sp_case_forget_pool(sp_cu_pool pool)
{
    forget((void **)sp_harness.pools, &sp_harness.n_pools, pool);
}

sp_cu_pool sp_case_default_pool(int device)
{
    sp_cu_pool pool;

    assert_success(cu->cuDeviceGetDefaultMemPool(&pool, device));
    return pool;
}

uint64_t sp_case_bytes(sp_cu_pool pool, int attribute)
{
    uint64_t value;

    assert_success(cu->cuMemPoolGetAttribute(pool, attribute, &value));
    return value;
}

int sp_case_flag(sp_cu_pool pool, int attribute)
{
    int value;

    assert_success(cu->cuMemPoolGetAttribute(pool, attribute, &value));
    return value;
}

uint64_t sp_case_reserved(sp_cu_pool pool)
{
    return sp_case_bytes(pool, SP_CU_POOL_RESERVED_MEM_CURRENT);
}

uint64_t sp_case_used(sp_cu_pool pool)
{
    return sp_case_bytes(pool, SP_CU_POOL_USED_MEM_CURRENT);
}

void sp_case_set_bytes(sp_cu_pool pool, int attribute, uint64_t value)
{
    assert_success(cu->cuMemPoolSetAttribute(pool, attribute, &value));
}

void sp_case_set_flag(sp_cu_pool pool, int attribute, int value)
{
    assert_success(cu->cuMemPoolSetAttribute(pool, attribute, &value));
}

void sp_case_set_threshold(sp_cu_pool pool, uint64_t bytes)
{
    sp_case_set_bytes(pool, SP_CU_POOL_RELEASE_THRESHOLD, bytes);
}

void sp_case_set_reuse(sp_cu_pool pool, bool follow, bool opportunistic, bool internal)
{
    sp_case_set_flag(pool, SP_CU_POOL_REUSE_FOLLOW_EVENT_DEPENDENCIES, follow);
    sp_case_set_flag(pool, SP_CU_POOL_REUSE_ALLOW_OPPORTUNISTIC, opportunistic);
    sp_case_set_flag(pool, SP_CU_POOL_REUSE_ALLOW_INTERNAL_DEPENDENCIES, internal);
}

sp_cu_ptr sp_case_alloc(sp_cu_pool pool, size_t size, sp_cu_stream stream)
{
    sp_cu_ptr ptr = 0;

    assert_success(cu->cuMemAllocFromPoolAsync(&ptr, size, pool, stream));
    assert_true(ptr != 0);
    return ptr;
}

void sp_case_free(sp_cu_ptr ptr, sp_cu_stream stream)
{
    assert_success(cu->cuMemFreeAsync(ptr, stream));
}

size_t sp_case_device_free(void)
{
    size_t n_free, n_total;

    assert_success(cu->cuMemGetInfo(&n_free, &n_total));
    assert_true(n_free <= n_total);
    return n_free;
}

void sp_case_fill(sp_cu_ptr ptr, unsigned char value, size_t size, sp_cu_stream stream)
{
    assert_success(cu->cuMemsetD8Async(ptr, value, size, stream));
}

void sp_case_assert_bytes(sp_cu_ptr ptr, unsigned char value, size_t size, sp_cu_stream stream)
{
    unsigned char *bytes = malloc(size);
    size_t n_right = 0;

    assert_non_null(bytes);
    assert_success(cu->cuMemcpyDtoHAsync(bytes, ptr, size, stream));
    sp_case_finish(stream);
    while (n_right < size && bytes[n_right] == value)
        n_right++;
    if (n_right < size)
        print_error("byte %zu of %zu is 0x%02x, not 0x%02x\n", n_right, size, bytes[n_right],
                    value);
    free(bytes);
    assert_int_equal(n_right, size);
}

sp_cu_pool sp_case_pool_of_ptr(sp_cu_ptr ptr)
{
    sp_cu_pool pool = NULL;

    assert_success(cu->cuPointerGetAttribute(&pool, SP_CU_POINTER_MEMPOOL_HANDLE, ptr));
    return pool;
}

int sp_case_device_of_ptr(sp_cu_ptr ptr)
{
    int device = -1;

    assert_success(cu->cuPointerGetAttribute(&device, SP_CU_POINTER_DEVICE_ORDINAL, ptr));
    return device;
}
