/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Device memory that the host cannot touch: what is closed and what is open, copies through it,
 * kernels' arguments, poison, and copies of the wrong kind. How the host's accesses end is in
 * test_model_protect_fault. */
#include "config.h"

#include "tests/exec_fixture.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "src/model/mempool.h"
#include "src/model/private.h"
#include "src/model/protect.h"
#include "src/util/util.h"

#define SIZE ((size_t)64 << 10)

static int begin(enum starpool_model_exec exec)
{
    struct starpool_model_config shape = sp_test_model_shape(2, exec);

    shape.is_protected = true;
    return sp_test_model_begin(&shape);
}

static int begin_threads(void **state)
{
    (void)state;
    return begin(STARPOOL_MODEL_THREADS);
}

static int begin_inline(void **state)
{
    (void)state;
    return begin(STARPOOL_MODEL_INLINE);
}

#define BOTH(test) SP_TEST_BOTH_FROM(test, begin_threads, begin_inline)

/* Can the host read there? Asked of the kernel, so that it need not try. */
static bool is_open(sp_cu_ptr ptr)
{
    int ends[2];
    ssize_t n;
    int error;

    assert_int_equal(pipe(ends), 0);
    n = write(ends[1], (const void *)(uintptr_t)ptr, 1);
    error = errno;
    assert_int_equal(close(ends[0]), 0);
    assert_int_equal(close(ends[1]), 0);
    assert_true(n == 1 || error == EFAULT);
    return n == 1;
}

static void expose(sp_cu_ptr ptr)
{
    sp_lock_take(sp_model_lock());
    sp_model_expose((uintptr_t)ptr);
    sp_lock_give(sp_model_lock());
}

static void conceal(sp_cu_ptr ptr)
{
    sp_lock_take(sp_model_lock());
    sp_model_conceal((uintptr_t)ptr);
    sp_lock_give(sp_model_lock());
}

static sp_cu_ptr get_memory(size_t size)
{
    sp_cu_ptr ptr;

    assert_done(cuMemAlloc(&ptr, size));
    return ptr;
}

static sp_cu_ptr get_block(size_t size, sp_cu_stream stream)
{
    sp_cu_ptr ptr;

    assert_done(cuMemAllocAsync(&ptr, size, stream));
    return ptr;
}

static void assert_bytes(sp_cu_ptr ptr, unsigned char value, size_t size)
{
    static unsigned char bytes[SIZE];

    assert_done(cuCtxSynchronize());
    assert_done(cuMemcpyDtoH(bytes, ptr, size));
    for (size_t i = 0; i < size; i++)
        assert_int_equal(bytes[i], value);
}

/* ---- closed and open ----------------------------------------------------------------- */

static void devices_memory_is_closed_and_copies_work(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_ptr plain = get_memory(SIZE), block = get_block(SIZE, stream);
    static unsigned char bytes[SIZE];

    (void)state;
    assert_false(is_open(plain));
    assert_false(is_open(block));
    memset(bytes, 3, sizeof(bytes));
    assert_done(cuMemcpyHtoD(plain, bytes, SIZE));
    assert_done(cuMemcpyDtoDAsync(block, plain, SIZE, stream));
    assert_done(cuMemsetD32Async(block + 4, 0x04040404, 1, stream));
    assert_done(cuStreamWriteValue32(stream, block + 8, 0x05050505, 0));
    assert_done(cuStreamWaitValue32(stream, block + 8, 0x05050505, SP_CU_WAIT_VALUE_EQ));
    assert_done(cuStreamSynchronize(stream));
    assert_bytes(block, 3, 4);
    assert_bytes(block + 4, 4, 4);
    assert_bytes(block + 8, 5, 4);
    assert_bytes(block + 12, 3, SIZE - 12);
    assert_int_equal(memcmp(sp_model_alias(plain), bytes, SIZE), 0);
    assert_false(is_open(plain));
}

static void memory_of_the_host_is_open(void **state)
{
    sp_cu_ptr managed;
    char *pinned, own = 1;

    (void)state;
    assert_done(cuMemAllocManaged(&managed, SIZE, SP_CU_MEM_ATTACH_GLOBAL));
    assert_done(cuMemHostAlloc((void **)&pinned, SIZE, 0));
    *(char *)managed = 1;
    *pinned = 2;
    assert_ptr_equal(sp_model_alias((uintptr_t)pinned), pinned);
    assert_ptr_equal(sp_model_alias((uintptr_t)&own), &own);
    /* Managed memory is there twice: it is the same memory. */
    assert_done(cuMemsetD8(managed + 1, 7, 1));
    assert_int_equal(((char *)managed)[1], 7);
    conceal(managed);
    expose(managed);
    conceal(managed);
    assert_true(is_open(managed));
}

static void graphs_memory_is_closed(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_graph graph = sp_test_graph();
    sp_cu_node node;
    sp_cu_ptr ptr = sp_test_add_alloc(graph, SP_TEST_CELL, NULL, 0, &node);
    sp_cu_exec exec;

    (void)state;
    (void)sp_test_add_set(graph, ptr, 9, &node, 1);
    exec = sp_test_exec(graph, 0);
    assert_done(cuGraphLaunch(exec, stream));
    assert_done(cuStreamSynchronize(stream));
    assert_false(is_open(ptr));
    sp_test_assert_bytes(ptr, 9, stream);
    assert_done(cuMemFreeAsync(ptr, stream));
    assert_done(cuStreamSynchronize(stream));
}

static void memory_that_is_shared_keeps_its_bytes_and_stays_closed(void **state)
{
    sp_cu_ptr ptr = get_memory(SIZE), opened;
    struct sp_cu_ipc_mem_handle handle;

    (void)state;
    assert_done(cuMemsetD8(ptr, 6, SIZE));
    assert_done(cuIpcGetMemHandle(&handle, ptr));
    assert_false(is_open(ptr));
    assert_bytes(ptr, 6, SIZE);
    assert_done(cuIpcOpenMemHandle(&opened, handle, 1));
    assert_false(is_open(opened));
    assert_bytes(opened, 6, SIZE);
    assert_done(cuMemsetD8(opened, 7, SIZE));
    assert_bytes(ptr, 7, SIZE);
    assert_done(cuIpcCloseMemHandle(opened));
}

static void imported_blocks_are_closed(void **state)
{
    struct sp_cu_pool_props props = {.alloc_type = SP_CU_ALLOCATION_PINNED,
                                     .handle_types = SP_CU_HANDLE_POSIX_FD,
                                     .location = {.type = SP_CU_LOCATION_DEVICE}};
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    struct sp_cu_pointer_export data;
    sp_cu_pool pool, imported;
    sp_cu_ptr ptr, other;
    int file;

    (void)state;
    assert_done(cuMemPoolCreate(&pool, &props));
    assert_done(cuMemAllocFromPoolAsync(&ptr, SIZE, pool, stream));
    assert_done(cuMemsetD8Async(ptr, 8, SIZE, stream));
    assert_done(cuStreamSynchronize(stream));
    assert_done(cuMemPoolExportToShareableHandle(&file, pool, SP_CU_HANDLE_POSIX_FD, 0));
    assert_done(cuMemPoolImportFromShareableHandle(&imported, (void *)(intptr_t)file,
                                                   SP_CU_HANDLE_POSIX_FD, 0));
    assert_done(cuMemPoolExportPointer(&data, ptr));
    assert_done(cuMemPoolImportPointer(&other, imported, &data));
    assert_false(is_open(ptr));
    assert_false(is_open(other));
    assert_bytes(other, 8, SIZE);
    /* What this process frees is not its own, and is not filled. */
    assert_done(cuMemFreeAsync(other, stream));
    assert_done(cuStreamSynchronize(stream));
    assert_bytes(ptr, 8, SIZE);
    assert_int_equal(close(file), 0);
}

/* ---- kernels' arguments -------------------------------------------------------------- */

static void an_exposed_block_is_the_same_memory(void **state)
{
    sp_cu_ptr ptr = get_memory(SIZE);

    (void)state;
    assert_done(cuMemsetD8(ptr, 1, SIZE));
    assert_done(cuCtxSynchronize());
    expose(ptr + 100);
    assert_true(is_open(ptr));
    assert_true(is_open(ptr + SIZE - 1));
    assert_int_equal(*(volatile char *)ptr, 1);
    *(volatile char *)ptr = 2;
    assert_bytes(ptr, 2, 1);
    conceal(ptr + 100);
    assert_false(is_open(ptr));
}

static void exposures_are_counted(void **state)
{
    sp_cu_ptr ptr = get_memory(SIZE);

    (void)state;
    expose(ptr);
    expose(ptr);
    conceal(ptr);
    assert_true(is_open(ptr));
    conceal(ptr);
    assert_false(is_open(ptr));
    conceal(ptr);
}

/* Two blocks that share a page, and a large one of which only the ends are shared. */
static void a_blocks_pages_stay_open_for_another_argument(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_ptr first = get_block(512, stream), large = get_block(SIZE, stream),
              last = get_block(512, stream), far = get_block(SIZE, stream);

    (void)state;
    expose(first);
    assert_false(is_open(large + SIZE / 2));
    expose(last);
    expose(large);
    assert_true(is_open(large + SIZE / 2));
    assert_false(is_open(far + SIZE - 1));
    conceal(large);
    assert_false(is_open(large + SIZE / 2));
    assert_true(is_open(first));
    assert_true(is_open(last));
    conceal(first);
    assert_true(is_open(last));
    conceal(last);
    assert_false(is_open(first));
    assert_false(is_open(last));
}

/* The kernel was launched before the free, and its argument's block is smaller by now. Both are
 * of a whole chunk, so that the one takes the other's place. */
static void a_block_whose_free_has_not_executed_is_exposed_whole(void **state)
{
    const size_t size = 32 * SP_MIB;
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_ptr ptr = get_block(size, stream), again;

    (void)state;
    sp_test_hold(stream);
    assert_done(cuMemFreeAsync(ptr, stream));
    expose(ptr);
    assert_true(is_open(ptr + size - 1));
    conceal(ptr);
    again = get_block(size - SP_MODEL_PAGE, stream);
    assert_int_equal(again, ptr);
    expose(ptr);
    assert_true(is_open(ptr + size - 1));
    conceal(ptr);
    sp_test_release();
    assert_done(cuStreamSynchronize(stream));
    expose(ptr);
    assert_true(is_open(ptr));
    assert_false(is_open(ptr + size - 1));
    conceal(ptr);
}

/* ---- poison -------------------------------------------------------------------------- */

static void freed_blocks_are_filled_when_the_free_executes(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_ptr ptr = get_block(SIZE, stream);

    (void)state;
    assert_done(cuMemsetD8Async(ptr, 1, SIZE, stream));
    assert_done(cuStreamSynchronize(stream));
    sp_test_hold(stream);
    assert_done(cuMemFreeAsync(ptr, stream));
    assert_int_equal(*sp_test_bytes(ptr), 1);
    sp_test_release();
    assert_done(cuStreamSynchronize(stream));
    assert_int_equal(get_block(SIZE, stream), ptr);
    assert_bytes(ptr, SP_MODEL_POISON, SIZE);
}

static void what_has_been_handed_out_again_is_not_filled(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_ptr ptr = get_block(SIZE, stream);

    (void)state;
    assert_done(cuMemFreeAsync(ptr, stream));
    assert_int_equal(get_block(SIZE, stream), ptr);
    assert_done(cuMemsetD8Async(ptr, 5, SIZE, stream));
    assert_done(cuStreamSynchronize(stream));
    assert_bytes(ptr, 5, SIZE);
}

static void a_block_freed_by_the_host_is_filled_at_once(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_ptr ptr = get_block(SIZE, stream);

    (void)state;
    assert_done(cuMemsetD8Async(ptr, 1, SIZE, stream));
    assert_done(cuStreamSynchronize(stream));
    assert_done(cuMemFree(ptr));
    assert_int_equal((unsigned char)*sp_test_bytes(ptr + SIZE - 1), SP_MODEL_POISON);
}

static void fresh_memory_is_not_zero(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);

    (void)state;
    assert_bytes(get_memory(SIZE), SP_MODEL_POISON, SIZE);
    assert_bytes(get_block(SIZE, stream), SP_MODEL_POISON, SIZE);
}

/* Other streams may be using the block when the free executes: it is told, and left alone. */
static void a_free_that_is_not_ordered_fills_nothing(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_stream other = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_ptr ptr = get_block(SIZE, stream);

    (void)state;
    assert_done(cuMemsetD8Async(ptr, 1, SIZE, stream));
    assert_done(cuStreamSynchronize(stream));
    sp_test_hold(other);
    assert_done(cuMemsetD8Async(ptr, 2, SIZE, other));
    assert_done(cuMemFreeAsync(ptr, stream));
    assert_done(cuStreamSynchronize(stream));
    assert_int_equal(starpool_model_violations(NULL), 1);
    assert_int_equal(*sp_test_bytes(ptr), 1);
    sp_test_release();
    assert_done(cuStreamSynchronize(other));
}

static void graphs_memory_is_filled_when_a_node_frees_it(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_graph graph = sp_test_graph();
    sp_cu_node node;
    sp_cu_ptr ptr = sp_test_add_alloc(graph, SP_TEST_CELL, NULL, 0, &node), kept;

    (void)state;
    kept = get_memory(SP_TEST_CELL);
    node = sp_test_add_copy(graph, kept, ptr, &node, 1);
    node = sp_test_add_set(graph, ptr, 9, &node, 1);
    (void)sp_test_add_free(graph, ptr, &node, 1);
    for (int i = 0; i < 2; i++) {
        static sp_cu_exec exec;

        if (i == 0)
            exec = sp_test_exec(graph, 0);
        assert_done(cuGraphLaunch(exec, stream));
    }
    assert_done(cuStreamSynchronize(stream));
    assert_bytes(kept, SP_MODEL_POISON, SP_TEST_CELL);
}

/* Blocks of two streams, each with a pattern of its own from when it has been filled to its
 * free: poison never gets into one that is live. */
static void live_blocks_keep_their_bytes_in_random_schedules(void **state)
{
    enum { N_BLOCKS = 16 };
    sp_cu_stream streams[2] = {sp_test_stream(SP_CU_STREAM_NON_BLOCKING),
                               sp_test_stream(SP_CU_STREAM_NON_BLOCKING)};
    sp_cu_ptr blocks[N_BLOCKS] = {0};
    size_t sizes[N_BLOCKS];
    uint64_t random = sp_test_seed();

    (void)state;
    for (size_t i = 0; i < sp_test_scaled(2000); i++) {
        size_t slot = sp_test_random_below(&random, N_BLOCKS);
        sp_cu_stream stream = streams[slot % 2];

        if (blocks[slot] == 0) {
            sizes[slot] = 1 + sp_test_random_below(&random, SIZE);
            blocks[slot] = get_block(sizes[slot], stream);
            assert_done(
                cuMemsetD8Async(blocks[slot], (unsigned char)slot, sizes[slot], stream));
            continue;
        }
        if (sp_test_random_below(&random, 4) == 0) {
            assert_done(cuStreamSynchronize(stream));
            assert_bytes(blocks[slot], (unsigned char)slot, sizes[slot]);
        }
        assert_done(cuMemFreeAsync(blocks[slot], stream));
        blocks[slot] = 0;
    }
    assert_done(cuCtxSynchronize());
    assert_int_equal(starpool_model_violations(NULL), 0);
}

/* ---- copies of the wrong kind -------------------------------------------------------- */

static void copies_of_the_wrong_kind_are_refused_and_not_queued(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_ptr ptr = get_memory(SIZE);
    char own[16] = "unchanged", other[16];
    sp_cu_ptr host = (uintptr_t)own;
    void *device = (void *)(uintptr_t)ptr;

    (void)state;
    sp_test_hold(stream);
    assert_result(SP_CU_INVALID_VALUE, cuMemcpyHtoD(host, other, 8));
    assert_result(SP_CU_INVALID_VALUE, cuMemcpyHtoD(ptr, device, 8));
    assert_result(SP_CU_INVALID_VALUE, cuMemcpyHtoDAsync(host, other, 8, stream));
    assert_result(SP_CU_INVALID_VALUE, cuMemcpyDtoH(other, host, 8));
    assert_result(SP_CU_INVALID_VALUE, cuMemcpyDtoH(device, ptr, 8));
    assert_result(SP_CU_INVALID_VALUE, cuMemcpyDtoHAsync(device, ptr, 8, stream));
    assert_result(SP_CU_INVALID_VALUE, cuMemcpyDtoD(ptr, host, 8));
    assert_result(SP_CU_INVALID_VALUE, cuMemcpyDtoDAsync(host, ptr, 8, stream));
    assert_result(SP_CU_INVALID_VALUE,
                  cuMemcpyPeerAsync(ptr, sp_model.context, host, sp_model.context, 8, stream));
    sp_test_release();
    assert_done(cuStreamSynchronize(stream));
    assert_string_equal(own, "unchanged");
    assert_bytes(ptr, SP_MODEL_POISON, 8);
}

static void pinned_and_managed_memory_is_of_both_kinds(void **state)
{
    sp_cu_ptr ptr = get_memory(SIZE), managed;
    char *pinned;

    (void)state;
    assert_done(cuMemAllocManaged(&managed, SIZE, SP_CU_MEM_ATTACH_GLOBAL));
    assert_done(cuMemHostAlloc((void **)&pinned, SIZE, 0));
    memset(pinned, 4, SIZE);
    assert_done(cuMemcpyHtoD(managed, pinned, SIZE));
    assert_done(cuMemcpyHtoD(ptr, (void *)(uintptr_t)managed, SIZE));
    assert_bytes(ptr, 4, SIZE);
    assert_done(cuMemcpyHtoD((uintptr_t)pinned, (void *)(uintptr_t)managed, SIZE));
    assert_done(cuMemcpyDtoD((uintptr_t)pinned, ptr, SIZE));
    assert_done(cuMemcpyDtoH((void *)(uintptr_t)managed, ptr, SIZE));
    assert_done(cuMemcpy((uintptr_t)pinned, ptr, SIZE));
}

static void a_copy_beyond_its_memory_is_refused(void **state)
{
    sp_cu_ptr ptr = get_memory(SIZE);
    static char own[2 * SIZE];

    (void)state;
    assert_result(SP_CU_INVALID_VALUE, cuMemcpyHtoD(ptr + SIZE - 4, own, 8));
    assert_result(SP_CU_INVALID_VALUE, cuMemcpyDtoH(own, ptr, SIZE + 1));
    assert_done(cuMemcpyHtoD(ptr + SIZE - 4, own, 4));
}

/* ---- the whole ----------------------------------------------------------------------- */

static void without_protection_the_host_sees_all(void **state)
{
    struct starpool_model_config shape = sp_test_model_shape(1, STARPOOL_MODEL_INLINE);
    sp_cu_ptr ptr;

    (void)state;
    shape.is_protected = false;
    assert_int_equal(sp_test_model_begin(&shape), 0);
    ptr = get_memory(SIZE);
    assert_true(is_open(ptr));
    assert_ptr_equal(sp_model_alias((uintptr_t)ptr), (void *)(uintptr_t)ptr);
    conceal(ptr);
    expose(ptr);
    conceal(ptr);
    assert_true(is_open(ptr));
}

/* Mappings whose name has a word, or all of them. */
static size_t count_mappings(const char *word)
{
    FILE *file = fopen("/proc/self/maps", "r");
    char line[1024];
    size_t n = 0;

    assert_non_null(file);
    while (fgets(line, sizeof(line), file) != NULL)
        n += strstr(line, word) != NULL;
    fclose(file);
    return n;
}

/* All that a program may have of the devices, which it leaves. */
static void use_much(void)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    struct sp_cu_ipc_mem_handle handle;
    sp_cu_ptr ptr = get_memory(SIZE), managed;

    assert_done(cuMemAllocManaged(&managed, SIZE, SP_CU_MEM_ATTACH_GLOBAL));
    assert_done(cuIpcGetMemHandle(&handle, ptr));
    expose(get_memory(SIZE));
    (void)get_block(SIZE, stream);
    assert_done(cuMemFreeAsync(get_block(SIZE, stream), stream));
    assert_true(count_mappings("starpool") > 0);
}

static void starting_over_leaks_no_mapping(void **state)
{
    size_t before = 0;

    for (int i = 0; i < 5; i++) {
        assert_int_equal(begin_inline(state), 0);
        use_much();
        sp_model_reset();
        assert_int_equal(count_mappings("starpool-device"), 0);
        if (i == 1)
            before = count_mappings("");
    }
    assert_true(count_mappings("") <= before + 2); /* The heap's own may grow. */
}

static void a_device_that_is_reset_has_no_mapping(void **state)
{
    sp_cu_context primary;
    sp_cu_ptr ptr;

    (void)state;
    assert_done(cuDevicePrimaryCtxRetain(&primary, 1));
    assert_done(cuCtxSetCurrent(primary));
    ptr = get_memory(SIZE);
    assert_true(count_mappings("starpool-device") > 0);
    assert_done(cuDevicePrimaryCtxReset(1));
    assert_int_equal(count_mappings("starpool-device"), 0);
    assert_false(is_open(ptr));
    assert_done(cuDevicePrimaryCtxRetain(&primary, 1));
    assert_done(cuCtxSetCurrent(primary));
    assert_bytes(get_memory(SIZE), SP_MODEL_POISON, SIZE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(devices_memory_is_closed_and_copies_work),
        BOTH(memory_of_the_host_is_open),
        BOTH(graphs_memory_is_closed),
        BOTH(memory_that_is_shared_keeps_its_bytes_and_stays_closed),
        BOTH(imported_blocks_are_closed),
        BOTH(an_exposed_block_is_the_same_memory),
        BOTH(exposures_are_counted),
        BOTH(a_blocks_pages_stay_open_for_another_argument),
        BOTH(a_block_whose_free_has_not_executed_is_exposed_whole),
        BOTH(freed_blocks_are_filled_when_the_free_executes),
        BOTH(what_has_been_handed_out_again_is_not_filled),
        BOTH(a_block_freed_by_the_host_is_filled_at_once),
        BOTH(fresh_memory_is_not_zero),
        BOTH(a_free_that_is_not_ordered_fills_nothing),
        BOTH(graphs_memory_is_filled_when_a_node_frees_it),
        BOTH(live_blocks_keep_their_bytes_in_random_schedules),
        BOTH(copies_of_the_wrong_kind_are_refused_and_not_queued),
        BOTH(pinned_and_managed_memory_is_of_both_kinds),
        BOTH(a_copy_beyond_its_memory_is_refused),
        BOTH(without_protection_the_host_sees_all),
        BOTH(starting_over_leaks_no_mapping),
        BOTH(a_device_that_is_reset_has_no_mapping),
    };

    return cmocka_run_group_tests_name("model_protect", tests, NULL, NULL);
}
