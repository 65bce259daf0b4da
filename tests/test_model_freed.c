/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Memory that goes while a stream still has something to do there, which whoever gives it back
 * does not wait for: the operation fails with ILLEGAL_ADDRESS when it would begin, as on a
 * device, the program is told, and everything else goes on. */
#include "config.h"

#include "tests/kernel_fixture.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include <starpool/kernel.h>

#include "src/model/private.h"
#include "src/util/util.h"

#define SIZE SP_TEST_CELL

/* A context of the other device, which no free in the first one waits for. */
static struct {
    sp_cu_context context;
    sp_cu_stream stream; /* held */
    sp_cu_function add;
} other;

static void enter_other(void)
{
    assert_done(cuCtxSetCurrent(other.context));
}

static void enter_first(void)
{
    assert_done(cuCtxSetCurrent(sp_model.context));
}

static int begin(enum starpool_model_exec exec, bool is_protected)
{
    struct starpool_model_config shape = sp_test_model_shape(2, exec);

    shape.is_protected = is_protected;
    sp_test_model_begin(&shape);
    assert_done(cuCtxCreate(&other.context, 0, 1));
    other.stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    other.add = sp_test_function(sp_test_module(), "test_add");
    sp_test_hold(other.stream);
    enter_first();
    return 0;
}

static int begin_threads(void **state)
{
    (void)state;
    return begin(STARPOOL_MODEL_THREADS, false);
}

static int begin_inline(void **state)
{
    (void)state;
    return begin(STARPOOL_MODEL_INLINE, false);
}

static int begin_protected(void **state)
{
    (void)state;
    return begin(STARPOOL_MODEL_THREADS, true);
}

#define EACH(test)                                                         \
    SP_TEST_BOTH_FROM(test, begin_threads, begin_inline),                  \
    {                                                                      \
#test "_protected", test, begin_protected, sp_test_model_end, NULL \
    }

static sp_cu_ptr get_memory(void)
{
    sp_cu_ptr ptr = 0;

    assert_done(cuMemAlloc(&ptr, SIZE));
    return ptr;
}

static void assert_told(unsigned n)
{
    const char *first;

    assert_int_equal(starpool_model_violations(&first), n);
    if (n > 0)
        assert_non_null(strstr(first, " is given back before its use in stream "));
}

/* The stream's operation was on memory that has gone: its context has failed, and no other. */
static void assert_failed(unsigned n_told)
{
    sp_test_release();
    enter_other();
    assert_result(SP_CU_ILLEGAL_ADDRESS, cuStreamSynchronize(other.stream));
    assert_result(SP_CU_ILLEGAL_ADDRESS, cuCtxSynchronize());
    enter_first();
    assert_done(cuCtxSynchronize());
    assert_done(cuMemFree(get_memory()));
    assert_told(n_told);
}

/* ---- each way to use it -------------------------------------------------------------- */

static void copy_to(sp_cu_ptr ptr)
{
    assert_done(cuMemcpyDtoDAsync(ptr, get_memory(), SIZE, other.stream));
}

static void copy_from(sp_cu_ptr ptr)
{
    assert_done(cuMemcpyDtoDAsync(get_memory(), ptr, SIZE, other.stream));
}

static void copy_rows(sp_cu_ptr ptr)
{
    struct sp_cu_memcpy2d copy = {.source_type = SP_CU_MEMORY_TYPE_UNIFIED,
                                  .source_device = get_memory(),
                                  .source_pitch = SIZE / 2,
                                  .target_type = SP_CU_MEMORY_TYPE_UNIFIED,
                                  .target_device = ptr,
                                  .target_pitch = SIZE / 2,
                                  .width_bytes = 16,
                                  .height = 2};

    assert_done(cuMemcpy2DAsync(&copy, other.stream));
}

static void set(sp_cu_ptr ptr)
{
    assert_done(cuMemsetD8Async(ptr, 1, SIZE, other.stream));
}

static void set_rows(sp_cu_ptr ptr)
{
    assert_done(cuMemsetD2D32Async(ptr, SIZE / 2, 1, 4, 2, other.stream));
}

static void launch_kernel(sp_cu_ptr ptr)
{
    sp_test_launch_add(other.add, ptr, 4, 1, other.stream);
}

static void write_value(sp_cu_ptr ptr)
{
    assert_done(cuStreamWriteValue32(other.stream, ptr, 1, 0));
}

/* It would wait for good, but for the fault. */
static void await_value(sp_cu_ptr ptr)
{
    assert_done(cuMemsetD8(ptr, 0, 4));
    assert_done(cuStreamWaitValue32(other.stream, ptr, 1, SP_CU_WAIT_VALUE_EQ));
}

static void launch(sp_cu_graph graph)
{
    assert_done(cuGraphLaunch(sp_test_exec(graph, 0), other.stream));
}

static void launch_set(sp_cu_ptr ptr)
{
    sp_cu_graph graph = sp_test_graph();

    (void)sp_test_add_set(graph, ptr, 1, NULL, 0);
    launch(graph);
}

static void launch_copy(sp_cu_ptr ptr)
{
    sp_cu_graph graph = sp_test_graph();

    (void)sp_test_add_copy(graph, get_memory(), ptr, NULL, 0);
    launch(graph);
}

static void launch_node(sp_cu_ptr ptr)
{
    struct sp_test_add_args args;
    struct sp_cu_kernel_params params = sp_test_add_params(&args, other.add, ptr, 4, 1);
    sp_cu_graph graph = sp_test_graph();
    sp_cu_node node;

    assert_done(cuGraphAddKernelNode(&node, graph, NULL, 0, &params));
    launch(graph);
}

static void (*const uses[])(sp_cu_ptr ptr) = {
    copy_to,     copy_from,   copy_rows,  set,         set_rows,    launch_kernel,
    write_value, await_value, launch_set, launch_copy, launch_node,
};

/* In a context that is made again for each, so that it has not failed yet. */
static void renew_other(void)
{
    assert_done(cuCtxDestroy(other.context));
    sp_test_hold_again();
    assert_done(cuCtxCreate(&other.context, 0, 1));
    other.stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    other.add = sp_test_function(sp_test_module(), "test_add");
    sp_test_hold(other.stream);
    enter_first();
}

static void every_use_of_memory_that_was_freed_before_it_fails(void **state)
{
    (void)state;
    for (unsigned i = 0; i < SP_ARRAY_SIZE(uses); i++) {
        sp_cu_ptr ptr = get_memory();

        if (i > 0)
            renew_other();
        enter_other();
        uses[i](ptr);
        enter_first();
        assert_done(cuMemFree(ptr));
        assert_failed(i + 1);
    }
}

/* ---- each way to give it back -------------------------------------------------------- */

/* A pinned buffer's address is the device's. */
static void use_host(void *host)
{
    enter_other();
    assert_done(cuMemcpyHtoDAsync(get_memory(), host, SIZE, other.stream));
    enter_first();
}

static void pinned_memory_that_was_freed_fails_its_use(void **state)
{
    void *host = NULL;

    (void)state;
    assert_done(cuMemAllocHost(&host, SIZE));
    use_host(host);
    assert_done(cuMemFreeHost(host));
    assert_failed(1);
}

static void registered_memory_that_the_program_unmapped_fails_its_use(void **state)
{
    void *host = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    (void)state;
    assert_ptr_not_equal(host, MAP_FAILED);
    assert_done(cuMemHostRegister(host, SIZE, 0));
    use_host(host);
    assert_done(cuMemHostUnregister(host));
    assert_int_equal(munmap(host, SIZE), 0);
    assert_failed(1);
}

static void managed_memory_that_was_freed_fails_its_use(void **state)
{
    sp_cu_ptr ptr = 0;

    (void)state;
    assert_done(cuMemAllocManaged(&ptr, SIZE, SP_CU_MEM_ATTACH_GLOBAL));
    enter_other();
    set(ptr);
    enter_first();
    assert_done(cuMemFree(ptr));
    assert_failed(1);
}

static void memory_of_another_process_that_was_closed_fails_its_use(void **state)
{
    struct sp_cu_ipc_mem_handle handle;
    sp_cu_ptr ptr = get_memory(), opened = 0;

    (void)state;
    assert_done(cuIpcGetMemHandle(&handle, ptr));
    assert_done(cuIpcOpenMemHandle(&opened, handle, 1));
    enter_other();
    set(opened);
    enter_first();
    assert_done(cuIpcCloseMemHandle(opened));
    assert_failed(1);
    assert_done(cuMemFree(ptr));
}

static void a_free_in_a_stream_fails_uses_that_it_does_not_come_after(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_ptr ptr = get_memory();

    (void)state;
    enter_other();
    set(ptr);
    enter_first();
    assert_done(cuMemFreeAsync(ptr, stream));
    assert_done(cuStreamSynchronize(stream));
    assert_failed(1);
}

static void a_use_after_the_free_in_its_own_stream_fails(void **state)
{
    sp_cu_ptr ptr = get_memory();

    (void)state;
    enter_other();
    assert_done(cuMemFreeAsync(ptr, other.stream));
    set(ptr);
    enter_first();
    assert_failed(1);
}

static void a_context_takes_its_memory_from_other_contexts_streams(void **state)
{
    sp_cu_ptr ptr;
    sp_cu_stream stream;

    (void)state;
    sp_test_release();
    enter_other();
    assert_done(cuStreamSynchronize(other.stream));
    ptr = get_memory();
    enter_first();
    sp_test_hold_again();
    stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_test_hold(stream);
    assert_done(cuMemsetD8Async(ptr, 1, SIZE, stream));
    assert_done(cuCtxDestroy(other.context));
    sp_test_release();
    assert_result(SP_CU_ILLEGAL_ADDRESS, cuStreamSynchronize(stream));
    assert_told(1);
}

static void a_reset_takes_a_primary_contexts_memory_from_other_streams(void **state)
{
    sp_cu_context primary;
    sp_cu_ptr ptr;

    (void)state;
    assert_done(cuDevicePrimaryCtxRetain(&primary, 0));
    assert_done(cuCtxSetCurrent(primary));
    ptr = get_memory();
    enter_other();
    set(ptr);
    enter_first();
    assert_done(cuDevicePrimaryCtxReset(0));
    assert_failed(1);
}

/* ---- nothing else fails -------------------------------------------------------------- */

static void assert_byte(sp_cu_ptr ptr, unsigned char value)
{
    unsigned char byte = 0;

    assert_done(cuMemcpyDtoH(&byte, ptr, 1));
    assert_int_equal(byte, value);
}

static void what_the_stream_has_before_it_is_executed(void **state)
{
    sp_cu_ptr before = get_memory(), gone = get_memory(), after = get_memory();

    (void)state;
    assert_done(cuMemsetD8(after, 3, SIZE));
    assert_done(cuCtxSynchronize());
    enter_other();
    assert_done(cuMemsetD8Async(before, 7, SIZE, other.stream));
    set(gone);
    assert_done(cuMemsetD8Async(after, 7, SIZE, other.stream));
    enter_first();
    assert_done(cuMemFree(gone));
    enter_other();
    assert_result(SP_CU_NOT_READY, cuStreamQuery(other.stream)); /* It has not failed yet. */
    enter_first();
    assert_failed(1);
    assert_byte(before, 7);
    assert_byte(after, 3);
}

static void what_gets_the_addresses_next_is_not_written_to(void **state)
{
    sp_cu_ptr ptr = get_memory();

    (void)state;
    enter_other();
    set(ptr);
    enter_first();
    assert_done(cuMemFree(ptr));
    assert_int_equal(get_memory(), ptr);
    assert_done(cuMemsetD8(ptr, 9, SIZE));
    assert_failed(1);
    assert_byte(ptr, 9);
}

static void a_use_of_a_neighbour_is_none(void **state)
{
    sp_cu_ptr ptr = get_memory(), neighbour = get_memory();

    (void)state;
    enter_other();
    set(neighbour);
    enter_first();
    assert_done(cuMemFree(ptr));
    sp_test_release();
    enter_other();
    assert_done(cuStreamSynchronize(other.stream));
    enter_first();
    assert_byte(neighbour, 1);
    assert_told(0);
}

static void a_use_that_was_refused_is_none(void **state)
{
    sp_cu_ptr ptr = get_memory(), gone = get_memory();

    (void)state;
    assert_done(cuMemFree(gone));
    enter_other();
    assert_result(SP_CU_INVALID_VALUE, cuMemcpyDtoDAsync(ptr, gone, SIZE, other.stream));
    set(get_memory());
    enter_first();
    assert_done(cuMemFree(ptr));
    sp_test_release();
    enter_other();
    assert_done(cuStreamSynchronize(other.stream));
    assert_told(0);
}

/* ---- memory of pools ----------------------------------------------------------------- */

/* It stays until its uses have run, though the device has it back. */
static void a_kernel_finds_a_pools_memory_that_was_released_before_it(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_function add = sp_test_function(sp_test_module(), "test_add");
    size_t room = sp_test_free_bytes();
    const char *first = "";
    sp_cu_pool pool;
    sp_cu_ptr ptr;

    (void)state;
    assert_done(cuDeviceGetDefaultMemPool(&pool, 0));
    assert_done(cuMemAllocAsync(&ptr, SIZE, stream));
    assert_done(cuStreamSynchronize(stream));
    sp_test_hold(stream);
    sp_test_launch_add(add, ptr, 4, 1, stream);
    assert_done(cuMemFree(ptr));
    assert_done(cuMemPoolTrimTo(pool, 0));
    assert_int_equal(sp_test_free_bytes(), room);
    sp_test_release();
    assert_done(cuStreamSynchronize(stream));
    assert_int_equal(starpool_model_violations(&first), 1);
    assert_non_null(strstr(first, " is freed by the host before its use has run"));
}

/* The first free fills the block when it executes, with protection. */
static void a_free_finds_a_pools_memory_that_was_released_before_it(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    size_t room = sp_test_free_bytes();
    sp_cu_ptr ptr, again;
    sp_cu_pool pool;

    (void)state;
    assert_done(cuDeviceGetDefaultMemPool(&pool, 0));
    assert_done(cuMemAllocAsync(&ptr, SIZE, stream));
    assert_done(cuStreamSynchronize(stream));
    sp_test_hold(stream);
    assert_done(cuMemFreeAsync(ptr, stream));
    assert_done(cuMemAllocAsync(&again, SIZE, stream));
    assert_int_equal(again, ptr);
    assert_done(cuMemFree(again));
    assert_done(cuMemPoolTrimTo(pool, 0));
    assert_int_equal(sp_test_free_bytes(), room);
    sp_test_release();
    assert_done(cuStreamSynchronize(stream));
    assert_int_equal(starpool_model_violations(NULL), 1);
}

/* ---- what is being carried out ------------------------------------------------------- */

static struct {
    _Atomic(uintptr_t) memory; /* 0 until the kernel runs */
    _Atomic int n_touched;
} running;

static bool is_going(uintptr_t address)
{
    const struct sp_model_memory *memory;
    bool is_going;

    sp_lock_take(sp_model_lock());
    memory = sp_model_memory_find(address);
    is_going = memory == NULL || memory->is_going;
    sp_lock_give(sp_model_lock());
    return is_going;
}

/* Uses the memory once somebody is giving it back. */
static void touch_late(const struct starpool_kernel_launch *arguments)
{
    volatile char *bytes = *(char *const *)arguments->args[0];

    running.memory = (uintptr_t)bytes;
    while (!is_going((uintptr_t)bytes))
        sched_yield();
    for (size_t i = 0; i < SIZE; i++)
        bytes[i] = 5;
    running.n_touched++;
}

static void who_is_using_it_already_is_waited_for(void **state)
{
    static const size_t sizes[] = {sizeof(char *)};
    sp_cu_ptr ptr = get_memory();
    void *args[] = {&ptr};
    sp_cu_function function;

    (void)state;
    assert_ok(starpool_model_add_kernel("test_touch_late", sizes, 1, touch_late));
    running.memory = 0;
    running.n_touched = 0;
    sp_test_release();
    enter_other();
    function = sp_test_function(sp_test_module(), "test_touch_late");
    assert_done(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, other.stream, args, NULL));
    enter_first();
    while (running.memory == 0)
        sched_yield();
    assert_done(cuMemFree(ptr));
    assert_int_equal(running.n_touched, 1);
    enter_other();
    assert_done(cuStreamSynchronize(other.stream));
    assert_told(1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(every_use_of_memory_that_was_freed_before_it_fails),
        EACH(pinned_memory_that_was_freed_fails_its_use),
        EACH(registered_memory_that_the_program_unmapped_fails_its_use),
        EACH(managed_memory_that_was_freed_fails_its_use),
        EACH(memory_of_another_process_that_was_closed_fails_its_use),
        EACH(a_free_in_a_stream_fails_uses_that_it_does_not_come_after),
        EACH(a_use_after_the_free_in_its_own_stream_fails),
        EACH(a_context_takes_its_memory_from_other_contexts_streams),
        EACH(a_reset_takes_a_primary_contexts_memory_from_other_streams),
        EACH(what_the_stream_has_before_it_is_executed),
        EACH(what_gets_the_addresses_next_is_not_written_to),
        EACH(a_use_of_a_neighbour_is_none),
        EACH(a_use_that_was_refused_is_none),
        EACH(a_kernel_finds_a_pools_memory_that_was_released_before_it),
        EACH(a_free_finds_a_pools_memory_that_was_released_before_it),
        {"who_is_using_it_already_is_waited_for", who_is_using_it_already_is_waited_for,
         begin_threads, sp_test_model_end, NULL},
        {"who_is_using_it_already_is_waited_for_protected",
         who_is_using_it_already_is_waited_for, begin_protected, sp_test_model_end, NULL},
    };

    sp_test_kernels();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
