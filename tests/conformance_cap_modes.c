/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* CAP: what may not be done while something is captured, by the thread that captures and by
 * others. The list is in conformance_cap.c. */
#include "config.h"

#include "tests/conformance_cap.h"

#define SIZE ((size_t)4096)

/* ---- allocating beside a capture ----------------------------------------------------- */

void cap_20_a_relaxed_thread_allocates_beside_a_capture(void)
{
    sp_cu_pool pool = sp_case_pool(0);
    sp_cu_stream stream = sp_case_stream();
    sp_cu_stream beside = sp_case_stream();
    int old = sp_cap_exchange(SP_CU_CAPTURE_MODE_RELAXED);
    sp_cu_graph graph;
    sp_cu_ptr ptr;

    sp_cap_begin(stream);
    ptr = sp_case_alloc(pool, SIZE, beside);
    assert_int_equal(sp_case_used(pool), SIZE);
    sp_case_free(ptr, beside);
    sp_case_finish(beside);
    assert_int_equal(sp_case_used(pool), 0);
    sp_cap_assert_status(SP_CU_CAPTURE_ACTIVE, stream);
    graph = sp_cap_end(stream);
    assert_int_equal(sp_cap_n_nodes(graph), 0);
    assert_success(cu->cuGraphDestroy(graph));
    (void)sp_cap_exchange(old);
}

/* What the allocation answers, or how the capture ends if that is what tells. */
static sp_cu_result allocate_beside(void *arg)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_stream beside = sp_case_stream();
    sp_cu_result result, ended;
    sp_cu_ptr ptr = 0;

    (void)arg;
    sp_cap_begin(stream);
    result = cu->cuMemAllocAsync(&ptr, SIZE, beside);
    ended = sp_cap_end_any(stream);
    if (result != SP_CU_SUCCESS)
        return result;
    sp_case_free(ptr, beside);
    sp_case_finish(beside);
    return ended;
}

void cap_20_another_thread_mode_is_for_the_driver_to_say(void)
{
    static const struct sp_choice choices[] = {
        {"acts", SP_CU_SUCCESS},
        {"refused", SP_CU_STREAM_CAPTURE_UNSUPPORTED},
        {"acts-fatally", SP_CU_STREAM_CAPTURE_INVALIDATED},
    };

    sp_case_choose("CAP-20", "uncaptured_alloc", choices, 3, allocate_beside, NULL);
}

/* ---- waiting for what is captured ---------------------------------------------------- */

struct question {
    int mode;        /* of the capture */
    int thread_mode; /* of who asks */
    sp_cu_result (*ask)(sp_cu_event event);
};

static sp_cu_result ask_captured_event(void *arg)
{
    const struct question *question = arg;
    sp_cu_stream stream = sp_case_stream();
    sp_cu_event event = sp_case_event();
    int old = sp_cap_exchange(question->thread_mode);

    sp_cap_begin_in(stream, question->mode);
    assert_success(cu->cuEventRecord(event, stream));
    assert_cu(SP_CU_CAPTURED_EVENT, question->ask(event));
    (void)sp_cap_exchange(old);
    return sp_cap_end_any(stream);
}

void cap_25_the_host_may_not_ask_about_a_captured_event(void)
{
    static const struct sp_choice choices[] = {
        {"dies", SP_CU_STREAM_CAPTURE_INVALIDATED},
        {"survives", SP_CU_SUCCESS},
    };

    for (int i = 0; i < SP_CAP_N_MODES; i++) {
        struct question questions[] = {
            {sp_cap_modes[i], SP_CU_CAPTURE_MODE_GLOBAL, cu->cuEventQuery},
            {sp_cap_modes[i], SP_CU_CAPTURE_MODE_GLOBAL, cu->cuEventSynchronize},
            {sp_cap_modes[i], SP_CU_CAPTURE_MODE_RELAXED, cu->cuEventQuery},
            {sp_cap_modes[i], SP_CU_CAPTURE_MODE_RELAXED, cu->cuEventSynchronize},
        };

        for (int j = 0; j < 4; j++)
            sp_case_choose("CAP-25", "captured_event", choices, 2, ask_captured_event,
                           &questions[j]);
    }
}

void cap_26_a_capturing_stream_is_not_waited_for(void)
{
    for (int i = 0; i < 2 * SP_CAP_N_MODES; i++) {
        sp_cu_stream stream = sp_case_stream();

        sp_cap_begin_in(stream, sp_cap_modes[i / 2]);
        assert_cu(SP_CU_STREAM_CAPTURE_UNSUPPORTED,
                  i % 2 == 0 ? cu->cuStreamSynchronize(stream) : cu->cuStreamQuery(stream));
        sp_cap_assert_status(SP_CU_CAPTURE_INVALIDATED, stream);
        sp_cap_end_as(SP_CU_STREAM_CAPTURE_INVALIDATED, stream);
    }
}

static sp_cu_result synchronize_context(sp_cu_context context, sp_cu_event event)
{
    (void)context;
    (void)event;
    return cu->cuCtxSynchronize();
}

/* In every mode the call is refused, and the capture dies. */
static void check_context_call(sp_cu_result (*call)(sp_cu_context context, sp_cu_event event))
{
    sp_cu_context context = sp_case_device(0);

    for (int i = 0; i < SP_CAP_N_MODES; i++) {
        sp_cu_stream stream = sp_case_stream();
        sp_cu_event event = sp_case_event();

        sp_cap_begin_in(stream, sp_cap_modes[i]);
        assert_cu(SP_CU_STREAM_CAPTURE_UNSUPPORTED, call(context, event));
        sp_cap_assert_status(SP_CU_CAPTURE_INVALIDATED, stream);
        sp_cap_end_as(SP_CU_STREAM_CAPTURE_INVALIDATED, stream);
    }
}

void cap_27_a_context_is_not_waited_for_while_it_captures(void)
{
    check_context_call(synchronize_context);
}

void cap_27_a_context_is_not_recorded_while_it_captures(void)
{
    sp_case_need(SP_CALL_cuCtxRecordEvent);
    check_context_call(cu->cuCtxRecordEvent);
}

void cap_27_a_context_does_not_wait_while_it_captures(void)
{
    sp_case_need(SP_CALL_cuCtxWaitEvent);
    check_context_call(cu->cuCtxWaitEvent);
}

/* The context that is to wait captures nothing itself. */
void cap_27_no_context_waits_for_a_captured_event(void)
{
    sp_cu_context other = sp_case_device(1);
    sp_cu_stream stream;
    sp_cu_event event;

    sp_case_need(SP_CALL_cuCtxWaitEvent);
    (void)sp_case_device(0);
    stream = sp_case_stream();
    event = sp_case_event();
    sp_cap_begin(stream);
    assert_success(cu->cuEventRecord(event, stream));
    assert_cu(SP_CU_STREAM_CAPTURE_UNSUPPORTED, cu->cuCtxWaitEvent(other, event));
    sp_cap_assert_status(SP_CU_CAPTURE_INVALIDATED, stream);
    sp_cap_end_as(SP_CU_STREAM_CAPTURE_INVALIDATED, stream);
}

/* ---- the legacy stream --------------------------------------------------------------- */

/* Work in the legacy stream on `SIZE` bytes. */
static sp_cu_result set_in_legacy(sp_cu_ptr ptr)
{
    return cu->cuMemsetD8Async(ptr, 1, SIZE, NULL);
}

static sp_cu_result allocate_in_legacy(sp_cu_ptr ptr)
{
    (void)ptr;
    return cu->cuMemAllocAsync(&ptr, SIZE, NULL);
}

static sp_cu_result synchronize_legacy(sp_cu_ptr ptr)
{
    (void)ptr;
    return cu->cuStreamSynchronize(NULL);
}

static sp_cu_result set_now(sp_cu_ptr ptr)
{
    return cu->cuMemsetD8(ptr, 1, SIZE);
}

static sp_cu_result copy_now(sp_cu_ptr ptr)
{
    char bytes[8] = "";

    return cu->cuMemcpyHtoD(ptr, bytes, sizeof(bytes));
}

static void check_implicit(sp_cu_result (*act)(sp_cu_ptr ptr), int mode)
{
    sp_cu_ptr ptr = sp_cap_memory(SIZE);
    sp_cu_stream stream = sp_case_blocking_stream();

    sp_cap_begin_in(stream, mode);
    assert_cu(SP_CU_STREAM_CAPTURE_IMPLICIT, act(ptr));
    sp_cap_assert_status(SP_CU_CAPTURE_INVALIDATED, stream);
    sp_cap_end_as(SP_CU_STREAM_CAPTURE_INVALIDATED, stream);
    sp_case_assert_bytes(ptr, 0, SIZE, stream);
    assert_success(act == allocate_in_legacy ? SP_CU_SUCCESS : act(ptr));
    assert_success(cu->cuMemFree(ptr));
}

void cap_28_the_legacy_stream_does_not_work_beside_a_blocking_capture(void)
{
    for (int i = 0; i < SP_CAP_N_MODES; i++) {
        check_implicit(set_in_legacy, sp_cap_modes[i]);
        check_implicit(allocate_in_legacy, sp_cap_modes[i]);
        check_implicit(synchronize_legacy, sp_cap_modes[i]);
    }
}

/* RELAXED, so that nothing else forbids them. */
void cap_28_calls_without_a_stream_do_not_work_beside_a_blocking_capture(void)
{
    check_implicit(set_now, SP_CU_CAPTURE_MODE_RELAXED);
    check_implicit(copy_now, SP_CU_CAPTURE_MODE_RELAXED);
}

void cap_29_the_legacy_stream_works_beside_a_non_blocking_capture(void)
{
    sp_cu_ptr ptr = sp_cap_memory(SIZE);
    sp_cu_stream stream = sp_case_stream();
    sp_cu_stream other = sp_case_stream();
    sp_cu_result copied;
    char bytes[8] = "";

    sp_cap_begin(stream);
    assert_success(cu->cuMemsetD8Async(ptr, 6, SIZE, NULL));
    assert_success(cu->cuStreamSynchronize(NULL));
    sp_cap_assert_status(SP_CU_CAPTURE_ACTIVE, stream);
    sp_case_assert_bytes(ptr, 6, SIZE, other);
    copied = cu->cuMemcpyDtoH(bytes, ptr, sizeof(bytes));
    sp_case_observe("CAP-29", "cuMemcpyDtoH under GLOBAL: %d", copied);
    if (cu->is_model)
        assert_cu(SP_CU_SUCCESS, copied);
    (void)sp_cap_end_any(stream);
    assert_success(cu->cuMemFree(ptr));
}

/* ---- the table of modes -------------------------------------------------------------- */

struct attempt {
    int mode; /* of the thread */
    sp_cu_ptr ptr;
};

static sp_cu_result attempt_alloc(void *arg)
{
    struct attempt *attempt = arg;
    int old = sp_cap_exchange(attempt->mode);
    sp_cu_result result = cu->cuMemAlloc(&attempt->ptr, SIZE);

    (void)sp_cap_exchange(old);
    return result;
}

static void check_modes(int thread_mode, int capture_mode, bool is_own)
{
    struct attempt attempt = {.mode = thread_mode};
    bool is_prohibited = is_own ? thread_mode != SP_CU_CAPTURE_MODE_RELAXED &&
                                      capture_mode != SP_CU_CAPTURE_MODE_RELAXED
                                : thread_mode == SP_CU_CAPTURE_MODE_GLOBAL &&
                                      capture_mode == SP_CU_CAPTURE_MODE_GLOBAL;
    sp_cu_stream stream = sp_case_stream();
    sp_cu_result result;

    sp_cap_begin_in(stream, capture_mode);
    result = is_own ? attempt_alloc(&attempt) : sp_cap_in_thread(attempt_alloc, &attempt);
    if (result != (is_prohibited ? SP_CU_STREAM_CAPTURE_UNSUPPORTED : SP_CU_SUCCESS))
        fail_msg("thread mode %d, capture mode %d, %s thread: %s", thread_mode, capture_mode,
                 is_own ? "own" : "other", sp_driver_result_name(result));
    sp_cap_assert_status(is_prohibited ? SP_CU_CAPTURE_INVALIDATED : SP_CU_CAPTURE_ACTIVE,
                         stream);
    assert_cu(is_prohibited ? SP_CU_STREAM_CAPTURE_INVALIDATED : SP_CU_SUCCESS,
              sp_cap_end_any(stream));
    if (!is_prohibited)
        assert_success(cu->cuMemFree(attempt.ptr));
}

void cap_30_modes_of_thread_and_capture_forbid_as_the_table_says(void)
{
    for (int i = 0; i < SP_CAP_N_MODES; i++) {
        for (int j = 0; j < SP_CAP_N_MODES; j++) {
            check_modes(sp_cap_modes[i], sp_cap_modes[j], true);
            check_modes(sp_cap_modes[i], sp_cap_modes[j], false);
        }
    }
}

/* ---- calls that allocate ------------------------------------------------------------- */

/* Memory that a call is about, or made. */
struct things {
    sp_cu_ptr device;
    void *host;
};

static sp_cu_result call_alloc(struct things *things)
{
    return cu->cuMemAlloc(&things->device, SIZE);
}

static sp_cu_result call_free(struct things *things)
{
    return cu->cuMemFree(things->device);
}

static sp_cu_result call_alloc_host(struct things *things)
{
    return cu->cuMemAllocHost(&things->host, SIZE);
}

static sp_cu_result call_host_alloc(struct things *things)
{
    return cu->cuMemHostAlloc(&things->host, SIZE, 0);
}

static sp_cu_result call_free_host(struct things *things)
{
    return cu->cuMemFreeHost(things->host);
}

static const struct {
    sp_cu_result (*call)(struct things *things);
    bool is_free, is_host;
} allocators[] = {{call_alloc, false, false},
                  {call_free, true, false},
                  {call_alloc_host, false, true},
                  {call_host_alloc, false, true},
                  {call_free_host, true, true}};

/* Each call with a GLOBAL capture of this thread: refused or not, as the thread's mode says. */
static void check_allocators(int thread_mode, sp_cu_result expected)
{
    int status = expected == SP_CU_SUCCESS ? SP_CU_CAPTURE_ACTIVE : SP_CU_CAPTURE_INVALIDATED;

    for (size_t i = 0; i < sizeof(allocators) / sizeof(allocators[0]); i++) {
        sp_cu_stream stream = sp_case_stream();
        struct things things = {.device = 0};
        bool has_memory = allocators[i].is_free != (expected == SP_CU_SUCCESS);
        int old;

        if (allocators[i].is_free)
            assert_success(allocators[i].is_host ? call_alloc_host(&things)
                                                 : call_alloc(&things));
        old = sp_cap_exchange(thread_mode);
        sp_cap_begin(stream);
        assert_cu(expected, allocators[i].call(&things));
        sp_cap_assert_status(status, stream);
        (void)sp_cap_exchange(old);
        (void)sp_cap_end_any(stream);
        if (has_memory)
            assert_success(allocators[i].is_host ? call_free_host(&things)
                                                 : call_free(&things));
    }
}

void cap_31_calls_that_allocate_end_the_capture_that_forbids_them(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_result result;

    check_allocators(SP_CU_CAPTURE_MODE_GLOBAL, SP_CU_STREAM_CAPTURE_UNSUPPORTED);
    check_allocators(SP_CU_CAPTURE_MODE_THREAD_LOCAL, SP_CU_STREAM_CAPTURE_UNSUPPORTED);
    sp_cap_begin(stream);
    result = cu->cuMemFree(0);
    sp_case_observe("CAP-31", "cuMemFree(0): %d", result);
    if (cu->is_model)
        assert_cu(SP_CU_STREAM_CAPTURE_UNSUPPORTED, result);
    (void)sp_cap_end_any(stream);
}

void cap_31_a_relaxed_thread_may_make_them(void)
{
    check_allocators(SP_CU_CAPTURE_MODE_RELAXED, SP_CU_SUCCESS);
}

/* ---- pools --------------------------------------------------------------------------- */

static sp_cu_result read_used(sp_cu_pool pool)
{
    uint64_t value;

    return cu->cuMemPoolGetAttribute(pool, SP_CU_POOL_USED_MEM_CURRENT, &value);
}

static sp_cu_result write_threshold(sp_cu_pool pool)
{
    uint64_t value = 0;

    return cu->cuMemPoolSetAttribute(pool, SP_CU_POOL_RELEASE_THRESHOLD, &value);
}

static sp_cu_result trim(sp_cu_pool pool)
{
    return cu->cuMemPoolTrimTo(pool, 0);
}

static sp_cu_result read_access(sp_cu_pool pool)
{
    struct sp_cu_location location = {.type = SP_CU_LOCATION_DEVICE, .id = 0};
    int flags;

    return cu->cuMemPoolGetAccess(&flags, pool, &location);
}

static sp_cu_result write_access(sp_cu_pool pool)
{
    struct sp_cu_access_desc access = {
        .location = {.type = SP_CU_LOCATION_DEVICE, .id = 0},
        .flags = SP_CU_ACCESS_READWRITE,
    };

    return cu->cuMemPoolSetAccess(pool, &access, 1);
}

static sp_cu_result create_and_destroy(sp_cu_pool pool)
{
    struct sp_cu_pool_props props = sp_case_props(0);
    sp_cu_result result = cu->cuMemPoolCreate(&pool, &props);

    return result == SP_CU_SUCCESS ? cu->cuMemPoolDestroy(pool) : result;
}

static sp_cu_result look_up(sp_cu_pool pool)
{
    sp_cu_result result = cu->cuDeviceGetDefaultMemPool(&pool, 0);

    return result == SP_CU_SUCCESS ? cu->cuDeviceGetMemPool(&pool, 0) : result;
}

struct pool_call {
    sp_cu_result (*call)(sp_cu_pool pool);
    sp_cu_pool pool;
    int mode; /* of the capture */
};

/* The call, beside a capture of this thread, which dies if it is refused. */
static sp_cu_result call_beside(void *arg)
{
    const struct pool_call *it = arg;
    sp_cu_stream stream = sp_case_stream();
    sp_cu_result result, ended;

    sp_cap_begin_in(stream, it->mode);
    result = it->call(it->pool);
    ended = sp_cap_end_any(stream);
    if (cu->is_model)
        assert_cu(result == SP_CU_SUCCESS ? SP_CU_SUCCESS : SP_CU_STREAM_CAPTURE_INVALIDATED,
                  ended);
    sp_case_forget_stream(stream);
    assert_success(cu->cuStreamDestroy(stream));
    return result;
}

void cap_32_reading_an_attribute_of_a_pool_ends_a_capture(void)
{
    struct pool_call it = {.call = read_used, .pool = sp_case_pool(0)};

    for (int i = 0; i < 2; i++) {
        sp_cu_stream stream = sp_case_stream();

        it.mode = sp_cap_modes[i];
        assert_cu(SP_CU_STREAM_CAPTURE_UNSUPPORTED, call_beside(&it));
        sp_cap_begin_in(stream, sp_cap_modes[i]);
        assert_cu(SP_CU_STREAM_CAPTURE_UNSUPPORTED, write_threshold(it.pool));
        sp_cap_assert_status(SP_CU_CAPTURE_INVALIDATED, stream);
        sp_cap_end_as(SP_CU_STREAM_CAPTURE_INVALIDATED, stream);
    }
}

void cap_32_managing_pools_is_unsafe(void)
{
    static const struct sp_choice choices[] = {
        {"management", SP_CU_STREAM_CAPTURE_UNSUPPORTED},
        {"attributes", SP_CU_SUCCESS},
        {"everything", SP_CU_STREAM_CAPTURE_UNSUPPORTED},
    };
    sp_cu_result (*const calls[])(sp_cu_pool pool) = {trim, read_access, write_access,
                                                      create_and_destroy};
    struct pool_call it = {.pool = sp_case_pool(0)};

    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        it.call = calls[i];
        sp_case_choose("CAP-32", "pool_calls", choices, 3, call_beside, &it);
    }
}

void cap_32_looking_a_pool_up_is_not(void)
{
    static const struct sp_choice choices[] = {
        {"management", SP_CU_SUCCESS},
        {"attributes", SP_CU_SUCCESS},
        {"everything", SP_CU_STREAM_CAPTURE_UNSUPPORTED},
    };
    struct pool_call it = {.call = look_up, .pool = sp_case_pool(0)};

    sp_case_choose("CAP-32", "pool_calls", choices, 3, call_beside, &it);
}

void cap_32_a_relaxed_thread_may_manage_pools(void)
{
    sp_cu_result (*const calls[])(sp_cu_pool pool) = {
        read_used, write_threshold, trim, read_access, write_access, create_and_destroy};
    struct pool_call it = {.pool = sp_case_pool(0)};
    int old = sp_cap_exchange(SP_CU_CAPTURE_MODE_RELAXED);

    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        it.call = calls[i];
        assert_success(call_beside(&it));
    }
    (void)sp_cap_exchange(old);
}
