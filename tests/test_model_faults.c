/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The model's core under faults on demand, switches and forks, and what its threads and its
 * virtual clock are like. */
#include "config.h"

#include "tests/model_fixture.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/model/private.h"
#include "src/util/util.h"

/* ---- faults on demand ---------------------------------------------------------------- */

static void the_nth_call_answers_what_was_asked_for(void **state)
{
    sp_cu_ptr ptr = 0;

    (void)state;
    assert_ok(starpool_model_inject("cuMemAlloc@2=OUT_OF_MEMORY,cuMemFree@1=999"));
    assert_done(cuMemAlloc(&ptr, 4096));
    assert_result(SP_CU_UNKNOWN, cuMemFree(ptr));
    assert_done(cuMemFree(ptr));
    assert_result(SP_CU_OUT_OF_MEMORY, cuMemAlloc(&ptr, 4096));
    assert_done(cuMemAlloc(&ptr, 4096));
    assert_ok(starpool_model_inject("cuMemAlloc@1=CUDA_ERROR_NOT_SUPPORTED"));
    assert_ok(starpool_model_inject(NULL));
    assert_done(cuMemAlloc(&ptr, 4096));
}

static void what_is_not_understood_adds_no_fault(void **state)
{
    static const char *const wrong[] = {
        "cuMemAlloc",
        "cuMemAlloc@1",
        "cuMemAlloc@0=1",
        "cuNothing@1=1",
        "cuMemAlloc@1=NO",
        "cuMemAlloc@x=1",
        "cuMemAlloc=1",
        "memory:0=x",
        "memory:9=1M",
        "memory:0@1=1M",
        "stall:1=5",
        "stall:1@0=5",
        "stall:1@1=never",
        "fault:1@1=NO",
        "fault:x@1=1",
        "other:1@1=1",
        "cuMemAlloc@1=2,bad",
        "cuMemAlloc@1=2,,",
        "=",
        "@=:",
    };
    sp_cu_ptr ptr;

    (void)state;
    for (size_t i = 0; i < SP_ARRAY_SIZE(wrong); i++)
        assert_status(STARPOOL_EINVAL, starpool_model_inject(wrong[i]));
    assert_done(cuMemAlloc(&ptr, 4096));
}

static void a_device_shrinks(void **state)
{
    sp_cu_ptr first, second;
    size_t total;

    (void)state;
    assert_done(cuMemAlloc(&first, 8 * SP_TEST_SIZE));
    assert_ok(starpool_model_inject("memory:0=4M"));
    assert_done(cuDeviceTotalMem(&total, 0));
    assert_int_equal(total, 4 * SP_TEST_SIZE);
    assert_int_equal(sp_test_free_bytes(), 0);
    assert_result(SP_CU_OUT_OF_MEMORY, cuMemAlloc(&second, 4096));
    assert_done(cuMemFree(first));
    assert_int_equal(sp_test_free_bytes(), 4 * SP_TEST_SIZE);
    assert_done(cuMemAlloc(&second, 4096));
}

static void inject_at(sp_cu_stream stream, const char *format, unsigned number)
{
    unsigned long long id;
    char text[80];

    assert_done(cuStreamGetId(stream, &id));
    snprintf(text, sizeof(text), format, id, number);
    assert_ok(starpool_model_inject(text));
}

static void a_stall_holds_an_operation_until_it_is_removed(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_event first = sp_test_event(), second = sp_test_event();

    (void)state;
    inject_at(stream, "stall:%llu@%u=forever", 2);
    assert_done(cuEventRecord(first, stream));
    assert_done(cuEventRecord(second, stream));
    assert_done(cuEventSynchronize(first));
    assert_result(SP_CU_NOT_READY, cuEventQuery(second));
    assert_ok(starpool_model_inject(NULL));
    assert_done(cuEventSynchronize(second));
    inject_at(stream, "stall:%llu@%u=1", 3);
    assert_done(cuEventRecord(first, stream));
    assert_done(cuEventSynchronize(first)); /* It ends by itself. */
}

struct told {
    unsigned n_functions, n_callbacks;
    sp_cu_result status;
};

static void count_function(void *arg)
{
    ((struct told *)arg)->n_functions++;
}

static void tell_status(sp_cu_stream stream, sp_cu_result status, void *arg)
{
    struct told *told = arg;

    (void)stream;
    told->n_callbacks++;
    told->status = status;
}

static void an_asynchronous_fault_is_what_later_calls_return(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING), other;
    sp_cu_event event = sp_test_event();
    struct told told = {0};
    sp_cu_context second;
    sp_cu_ptr ptr;
    size_t bytes;

    (void)state;
    assert_done(cuMemAlloc(&ptr, 4096));
    inject_at(stream, "fault:%llu@%u=LAUNCH_FAILED", 2);
    sp_test_hold(stream);
    assert_done(cuMemsetD8Async(ptr, 1, 4096, stream)); /* This one fails. */
    assert_done(cuLaunchHostFunc(stream, count_function, &told));
    assert_done(cuStreamAddCallback(stream, tell_status, &told, 0));
    sp_test_release();
    assert_result(SP_CU_LAUNCH_FAILED, cuStreamSynchronize(stream));
    assert_int_equal(told.n_functions, 0);
    assert_int_equal(told.n_callbacks, 1);
    assert_int_equal(told.status, SP_CU_LAUNCH_FAILED);
    assert_int_not_equal(*sp_test_bytes(ptr), 1);
    assert_result(SP_CU_LAUNCH_FAILED, cuStreamQuery(stream));
    assert_result(SP_CU_LAUNCH_FAILED, cuMemAlloc(&ptr, 4096));
    assert_result(SP_CU_LAUNCH_FAILED, cuMemFreeAsync(ptr, stream));
    assert_result(SP_CU_LAUNCH_FAILED, cuCtxSynchronize());
    assert_result(SP_CU_LAUNCH_FAILED, cuEventQuery(event));
    assert_result(SP_CU_LAUNCH_FAILED, cuMemGetInfo(&bytes, &bytes));
    assert_done(cuCtxCreate(&second, 0, 0)); /* Other contexts live on, */
    other = sp_test_stream(SP_CU_STREAM_DEFAULT);
    assert_done(cuStreamSynchronize(other));
    assert_result(SP_CU_LAUNCH_FAILED, cuStreamQuery(stream)); /* with streams of their own. */
    assert_done(cuCtxDestroy(sp_model.context));
    assert_result(SP_CU_INVALID_HANDLE, cuStreamQuery(stream));
}

/* ---- switches ------------------------------------------------------------------------ */

static void switches_take_their_values_and_no_others(void **state)
{
    const char *value = NULL;

    (void)state;
    assert_ok(starpool_model_get_switch("size_zero", &value));
    assert_string_equal(value, "null");
    assert_ok(starpool_model_set_switch("size_zero", "invalid-value"));
    assert_ok(starpool_model_get_switch("size_zero", &value));
    assert_string_equal(value, "invalid-value");
    assert_int_equal(sp_model_switch(SP_SWITCH_size_zero), 1);
    assert_status(STARPOOL_EINVAL, starpool_model_set_switch("size_zero", "null "));
    assert_status(STARPOOL_EINVAL, starpool_model_set_switch("size_zer", "null"));
    assert_status(STARPOOL_EINVAL, starpool_model_set_switch(NULL, "null"));
    assert_status(STARPOOL_EINVAL, starpool_model_set_switch("size_zero", NULL));
    assert_status(STARPOOL_EINVAL, starpool_model_get_switch("size_zero", NULL));
    assert_ok(starpool_model_set_switch("imex", "channel=12"));
    assert_ok(starpool_model_get_switch("imex", &value));
    assert_string_equal(value, "channel=12");
    assert_int_equal(sp_model_imex_channel(), 12);
    assert_status(STARPOOL_EINVAL, starpool_model_set_switch("imex", "channel=x"));
    assert_status(STARPOOL_EINVAL, starpool_model_set_switch("imex", "channel=-1"));
    assert_int_equal(sp_model_imex_channel(), 12);
    assert_ok(starpool_model_set_switch("imex", "no-channel"));
    assert_int_equal(sp_model_imex_channel(), -1);
}

static void violations_are_counted_and_the_first_is_told(void **state)
{
    const char *first;

    (void)state;
    assert_int_equal(starpool_model_violations(&first), 0);
    assert_string_equal(first, "");
    sp_model_violation("a test's %s", "first");
    sp_model_violation("a test's second");
    assert_int_equal(starpool_model_violations(&first), 2);
    assert_string_equal(first, "a test's first");
    assert_int_equal(starpool_model_violations(NULL), 2);
}

/* ---- processes ----------------------------------------------------------------------- */

/* The exit status of a child that runs `body`; -1 if it was killed. */
static int run_child(int (*body)(void))
{
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) {
        alarm(60);
        exit(body());
    }
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Every call of the model that this child makes is refused, and none hangs. */
static int use_inherited(void)
{
    sp_cu_stream stream;
    sp_cu_ptr ptr;
    int n;

    if (sp_model.driver->cuInit(0) != SP_CU_NOT_INITIALIZED ||
        sp_model.driver->cuDriverGetVersion(&n) != SP_CU_NOT_INITIALIZED ||
        sp_model.driver->cuStreamCreate(&stream, 0) != SP_CU_NOT_INITIALIZED ||
        sp_model.driver->cuMemAlloc(&ptr, 4096) != SP_CU_NOT_INITIALIZED ||
        sp_model.driver->cuMemAllocAsync(&ptr, 4096, NULL) != SP_CU_NOT_INITIALIZED ||
        sp_model.driver->cuCtxSynchronize() != SP_CU_NOT_INITIALIZED)
        return 1;
    if (starpool_model_inject("cuInit@1=1") != STARPOOL_EINVAL ||
        starpool_model_set_switch("size_zero", "null") != STARPOOL_EINVAL ||
        starpool_model_violations(NULL) != 0)
        return 2;
    sp_model_reset();
    _exit(sp_model.driver->cuInit(0) == SP_CU_NOT_INITIALIZED ? 0 : 3);
}

static void a_forked_child_finds_the_model_not_initialized(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);

    (void)state;
    sp_test_hold(stream);
    assert_int_equal(run_child(use_inherited), 0);
    assert_result(SP_CU_NOT_READY, cuStreamQuery(stream)); /* The parent's lives on. */
    sp_test_release();
    assert_done(cuStreamSynchronize(stream));
}

/* Leaves with a stream that never ends, and with one that is at work. */
static int leave_busy(void)
{
    static uint32_t never;
    sp_cu_context context;
    sp_cu_stream stream;
    sp_cu_ptr ptr;

    if (sp_model.driver->cuInit(0) != SP_CU_SUCCESS ||
        sp_model.driver->cuCtxCreate(&context, 0, 0) != SP_CU_SUCCESS ||
        sp_model.driver->cuStreamCreate(&stream, 0) != SP_CU_SUCCESS ||
        sp_model.driver->cuMemAlloc(&ptr, SP_TEST_SIZE) != SP_CU_SUCCESS)
        return 1;
    if (sp_model.driver->cuMemsetD8Async(ptr, 1, SP_TEST_SIZE, SP_CU_STREAM_PER_THREAD) != 0 ||
        sp_model.driver->cuStreamWaitValue32(stream, (uintptr_t)&never, 1, 0) !=
            SP_CU_SUCCESS ||
        sp_model.driver->cuMemsetD8Async(ptr, 2, SP_TEST_SIZE, stream) != SP_CU_SUCCESS)
        return 2;
    return 7;
}

static void a_process_ends_without_waiting_for_streams(void **state)
{
    (void)state;
    sp_test_model_configure(1, STARPOOL_MODEL_THREADS); /* The child is the first to use it. */
    assert_int_equal(run_child(leave_busy), 7);
}

static void starting_over_gives_up_what_waits(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_DEFAULT);
    struct told told = {0};

    (void)state;
    sp_test_hold(stream);
    assert_done(cuLaunchHostFunc(stream, count_function, &told));
    sp_model_reset();
    assert_int_equal(told.n_functions, 0);
    assert_result(SP_CU_NOT_INITIALIZED, cuStreamQuery(stream));
}

/* ---- threads ------------------------------------------------------------------------- */

struct portrait {
    char name[16];
    bool takes_signals;
    cpu_set_t cpus;
};

static void paint(void *arg)
{
    struct portrait *portrait = arg;
    sigset_t blocked;

    pthread_getname_np(pthread_self(), portrait->name, sizeof(portrait->name));
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    portrait->takes_signals = sigismember(&blocked, SIGTERM) != 1 ||
                              sigismember(&blocked, SIGINT) != 1 ||
                              sigismember(&blocked, SIGUSR1) != 1;
    sched_getaffinity(0, sizeof(portrait->cpus), &portrait->cpus);
}

static void a_streams_thread_has_a_name_no_signals_and_every_cpu(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    struct portrait portrait = {.name = ""};
    cpu_set_t before, one;
    char name[16];
    unsigned long long id;
    int cpu = 0;

    (void)state;
    sched_getaffinity(0, sizeof(before), &before);
    while (!CPU_ISSET(cpu, &before))
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof(one), &one);
    assert_done(cuLaunchHostFunc(stream, paint, &portrait));
    assert_done(cuStreamSynchronize(stream));
    sched_setaffinity(0, sizeof(before), &before);
    assert_done(cuStreamGetId(stream, &id));
    snprintf(name, sizeof(name), "sp-stream-%llu", id);
    assert_string_equal(portrait.name, name);
    assert_false(portrait.takes_signals);
    assert_true(CPU_EQUAL(&portrait.cpus, &before));
}

static void threads_start_with_the_first_operation_of_a_stream(void **state)
{
    size_t before = sp_test_count_threads("");
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_DEFAULT);
    sp_cu_event event = sp_test_event();
    void *pinned;

    (void)state;
    assert_done(cuMemAllocHost(&pinned, 4096));
    assert_done(cuMemFreeHost(pinned));
    assert_done(cuStreamSynchronize(stream));
    assert_done(cuEventSynchronize(event));
    assert_int_equal(sp_test_count_threads(""), before);
    assert_done(cuEventRecord(event, stream));
    assert_int_equal(sp_test_count_threads(""), before + 1);
    assert_done(cuEventRecord(event, stream));
    assert_int_equal(sp_test_count_threads(""), before + 1);
    sp_model_reset();
    sp_test_settle_threads();
    assert_int_equal(sp_test_count_threads(""), before);
}

static void without_threads_none_is_started(void **state)
{
    size_t before = sp_test_count_threads("");

    (void)state;
    assert_done(cuMemsetD8((uintptr_t)sp_model.flag, 1, 4));
    assert_int_equal(sp_test_count_threads(""), before);
    assert_int_equal(*sp_model.flag, 0x01010101);
}

/* ---- the virtual clock --------------------------------------------------------------- */

static void elapsed_time_is_that_of_the_virtual_clock(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_event start = sp_test_event(), end = sp_test_event(), untimed;
    float ms = -1;

    (void)state;
    assert_result(SP_CU_INVALID_HANDLE, cuEventElapsedTime(&ms, start, end));
    assert_done(cuEventRecord(start, stream));
    sp_test_hold(stream);
    assert_done(cuEventRecord(end, stream));
    assert_result(SP_CU_NOT_READY, cuEventElapsedTime(&ms, start, end));
    assert_true(ms == -1);
    sp_test_release();
    assert_done(cuEventSynchronize(end));
    assert_done(cuEventElapsedTime(&ms, start, end));
    assert_true(ms == 0); /* Operations take no time on it yet, whatever they took. */
    assert_done(cuEventCreate(&untimed, SP_CU_EVENT_DISABLE_TIMING));
    assert_done(cuEventRecord(untimed, stream));
    assert_result(SP_CU_INVALID_HANDLE, cuEventElapsedTime(&ms, start, untimed));
}

/* As if the stream had something to do that takes so long. */
static void take_time(sp_cu_stream handle, uint64_t ns)
{
    struct sp_model_stream *stream;

    assert_int_equal(sp_model_enter(SP_CALL_cuStreamQuery, true), SP_CU_SUCCESS);
    assert_int_equal(sp_model_stream_get(handle, &stream), SP_CU_SUCCESS);
    sp_model_stream_not_before(stream, stream->clock_ns + ns);
    assert_int_equal(sp_model_leave(SP_CU_SUCCESS), SP_CU_SUCCESS);
}

static void an_operation_starts_when_the_last_of_what_it_waits_for_has_ended(void **state)
{
    sp_cu_stream slow = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_stream quick = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_event start = sp_test_event(), between = sp_test_event(), end = sp_test_event();
    float ms;

    (void)state;
    assert_done(cuEventRecord(start, slow));
    take_time(slow, 5000000);
    assert_done(cuEventRecord(between, slow));
    take_time(quick, 2000000);
    assert_done(cuStreamWaitEvent(quick, between, 0));
    take_time(quick, 1000000);
    assert_done(cuEventRecord(end, quick));
    assert_done(cuEventSynchronize(end));
    assert_done(cuEventElapsedTime(&ms, start, end));
    assert_true(ms == 6);                    /* The later of 5 and 2, and 1 more. */
    assert_done(cuEventRecord(start, slow)); /* The host has seen the end: not before that. */
    assert_done(cuEventSynchronize(start));
    assert_done(cuEventElapsedTime(&ms, end, start));
    assert_true(ms == 0);
}

/* ---- what must stay as it was -------------------------------------------------------- */

static void a_copy_that_is_refused_uses_neither_range(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_ptr ptr, nowhere;

    (void)state;
    assert_done(cuMemAllocAsync(&ptr, SP_TEST_SIZE, SP_CU_STREAM_LEGACY));
    assert_done(cuStreamSynchronize(SP_CU_STREAM_LEGACY));
    nowhere = ptr + 48 * SP_TEST_SIZE;
    assert_result(SP_CU_INVALID_VALUE, cuMemcpyDtoDAsync(ptr, nowhere, 512, stream));
    assert_result(SP_CU_INVALID_VALUE, cuMemcpyDtoDAsync(nowhere, ptr, 512, stream));
    assert_done(cuMemFree(ptr)); /* No use of it is missing. */
    assert_int_equal(starpool_model_violations(NULL), 0);
}

static void a_free_whose_memory_went_with_its_context_frees_nothing_else(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_context other;
    sp_cu_ptr gone, ptr;

    (void)state;
    assert_done(cuCtxCreate(&other, 0, 0));
    assert_done(cuMemAlloc(&gone, SP_TEST_SIZE));
    sp_test_hold(stream);
    assert_done(cuMemFreeAsync(gone, stream));
    assert_done(cuCtxDestroy(other));
    assert_done(cuMemAlloc(&ptr, SP_TEST_SIZE));
    assert_true(ptr == gone);
    sp_test_release();
    assert_done(cuStreamSynchronize(stream));
    assert_done(cuMemFree(ptr));
}

/* ---- the list ------------------------------------------------------------------------ */

#define THREADS(test)                                               \
    {                                                               \
#test, test, sp_test_model_threads, sp_test_model_end, NULL \
    }
#define INLINE(test)                                               \
    {                                                              \
#test, test, sp_test_model_inline, sp_test_model_end, NULL \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        SP_TEST_BOTH(the_nth_call_answers_what_was_asked_for),
        THREADS(what_is_not_understood_adds_no_fault),
        THREADS(a_device_shrinks),
        SP_TEST_BOTH(a_stall_holds_an_operation_until_it_is_removed),
        SP_TEST_BOTH(an_asynchronous_fault_is_what_later_calls_return),
        THREADS(switches_take_their_values_and_no_others),
        THREADS(violations_are_counted_and_the_first_is_told),
        SP_TEST_BOTH(a_forked_child_finds_the_model_not_initialized),
        THREADS(a_process_ends_without_waiting_for_streams),
        SP_TEST_BOTH(starting_over_gives_up_what_waits),
        THREADS(a_streams_thread_has_a_name_no_signals_and_every_cpu),
        THREADS(threads_start_with_the_first_operation_of_a_stream),
        INLINE(without_threads_none_is_started),
        SP_TEST_BOTH(elapsed_time_is_that_of_the_virtual_clock),
        SP_TEST_BOTH(an_operation_starts_when_the_last_of_what_it_waits_for_has_ended),
        SP_TEST_BOTH(a_copy_that_is_refused_uses_neither_range),
        SP_TEST_BOTH(a_free_whose_memory_went_with_its_context_frees_nothing_else),
    };

    return cmocka_run_group_tests_name("model under faults", tests, NULL, NULL);
}
