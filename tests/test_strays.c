/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What programs must not do with pool memory: the model says it, counts it, and goes on. Memory
 * that queued work still uses stays mapped until that has run, whoever has freed it. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support.h"

#include <starpool/model.h>

#include "src/model/model.h"

#define SIZE ((size_t)1 << 20)

/* The calls of a case must succeed but for what it is about. */
#define assert_cu(code, call) assert_int_equal(SP_CU_##code, call)

static const struct sp_driver *cu;

/* Two streams, of which the first waits for a flag, and a pool. */
static struct {
    sp_cu_stream stalled, other;
    sp_cu_pool pool;
    uint32_t *flag;
    size_t free_bytes; /* of the device before */
} here;

static size_t device_free(void)
{
    size_t free_bytes, total;

    assert_cu(SUCCESS, cu->cuMemGetInfo(&free_bytes, &total));
    return free_bytes;
}

static void stall(void)
{
    __atomic_store_n(here.flag, 0, __ATOMIC_RELAXED);
    assert_cu(SUCCESS, cu->cuStreamWaitValue32(here.stalled, (sp_cu_ptr)(uintptr_t)here.flag, 1,
                                               SP_CU_WAIT_VALUE_GEQ));
}

static void let_go(void)
{
    __atomic_store_n(here.flag, 1, __ATOMIC_RELEASE);
    assert_cu(SUCCESS, cu->cuStreamSynchronize(here.stalled));
}

static void make_pool(int handle_types)
{
    struct sp_cu_pool_props props = {
        .alloc_type = SP_CU_ALLOCATION_PINNED,
        .handle_types = handle_types,
        .location = {.type = SP_CU_LOCATION_DEVICE, .id = 0},
    };

    assert_cu(SUCCESS, cu->cuMemPoolCreate(&here.pool, &props));
}

static int setup(void **state)
{
    sp_cu_context context;

    (void)state;
    sp_model_reset();
    cu = sp_model_driver();
    assert_cu(SUCCESS, cu->cuInit(0));
    assert_cu(SUCCESS, cu->cuDevicePrimaryCtxRetain(&context, 0));
    assert_cu(SUCCESS, cu->cuCtxSetCurrent(context));
    assert_cu(SUCCESS, cu->cuStreamCreate(&here.stalled, SP_CU_STREAM_NON_BLOCKING));
    assert_cu(SUCCESS, cu->cuStreamCreate(&here.other, SP_CU_STREAM_NON_BLOCKING));
    assert_cu(SUCCESS, cu->cuMemHostAlloc((void **)&here.flag, sizeof(*here.flag), 0));
    here.free_bytes = device_free();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    sp_model_reset();
    return 0;
}

/* A block that the host has seen allocated. */
static sp_cu_ptr make_block(void)
{
    sp_cu_ptr ptr;

    assert_cu(SUCCESS, cu->cuMemAllocFromPoolAsync(&ptr, SIZE, here.pool, here.stalled));
    assert_cu(SUCCESS, cu->cuStreamSynchronize(here.stalled));
    return ptr;
}

static void memory_freed_too_early_stays_mapped_for_what_uses_it(void **state)
{
    uint64_t before = starpool_model_violations(NULL);
    sp_cu_ptr ptr;

    (void)state;
    make_pool(0);
    ptr = make_block();
    stall();
    assert_cu(SUCCESS, cu->cuMemsetD8Async(ptr, 1, SIZE, here.stalled));
    assert_cu(SUCCESS, cu->cuMemFreeAsync(ptr, here.other));
    assert_int_equal(starpool_model_violations(NULL), before + 1);
    assert_cu(SUCCESS, cu->cuStreamSynchronize(here.other));
    assert_cu(SUCCESS, cu->cuMemPoolDestroy(here.pool));
    /* The pool and its bytes are gone; a new use finds nothing, the queued one runs. */
    assert_int_equal(device_free(), here.free_bytes);
    assert_cu(INVALID_VALUE, cu->cuMemsetD8Async(ptr, 1, 1, here.other));
    let_go();
}

static void a_use_of_freed_memory_runs_though_the_pool_is_trimmed(void **state)
{
    uint64_t before = starpool_model_violations(NULL), keep = UINT64_MAX, reserved;
    sp_cu_ptr ptr;

    (void)state;
    make_pool(0);
    assert_cu(SUCCESS,
              cu->cuMemPoolSetAttribute(here.pool, SP_CU_POOL_RELEASE_THRESHOLD, &keep));
    ptr = make_block();
    assert_cu(SUCCESS, cu->cuMemFreeAsync(ptr, here.stalled));
    assert_cu(SUCCESS, cu->cuStreamSynchronize(here.stalled));
    stall();
    assert_cu(SUCCESS, cu->cuMemsetD8Async(ptr, 1, SIZE, here.stalled));
    assert_int_equal(starpool_model_violations(NULL), before + 1);
    assert_cu(SUCCESS, cu->cuMemPoolTrimTo(here.pool, 0));
    assert_cu(SUCCESS,
              cu->cuMemPoolGetAttribute(here.pool, SP_CU_POOL_RESERVED_MEM_CURRENT, &reserved));
    assert_int_equal(reserved, 0);
    let_go();
    assert_cu(SUCCESS, cu->cuMemPoolDestroy(here.pool));
    assert_int_equal(device_free(), here.free_bytes);
}

static void an_imported_block_freed_too_early_stays_mapped(void **state)
{
    uint64_t before = starpool_model_violations(NULL);
    struct sp_cu_pointer_export data;
    sp_cu_pool imported;
    sp_cu_ptr ptr, copy;
    int file;

    (void)state;
    make_pool(SP_CU_HANDLE_POSIX_FD);
    ptr = make_block();
    assert_cu(SUCCESS,
              cu->cuMemPoolExportToShareableHandle(&file, here.pool, SP_CU_HANDLE_POSIX_FD, 0));
    assert_cu(SUCCESS, cu->cuMemPoolImportFromShareableHandle(&imported, (void *)(intptr_t)file,
                                                              SP_CU_HANDLE_POSIX_FD, 0));
    close(file);
    assert_cu(SUCCESS, cu->cuMemPoolExportPointer(&data, ptr));
    assert_cu(SUCCESS, cu->cuMemPoolImportPointer(&copy, imported, &data));
    stall();
    assert_cu(SUCCESS, cu->cuMemsetD8Async(copy, 1, SIZE, here.stalled));
    assert_cu(SUCCESS, cu->cuMemFree(copy));
    assert_int_equal(starpool_model_violations(NULL), before + 1);
    assert_cu(SUCCESS, cu->cuMemPoolDestroy(imported));
    let_go();
    assert_cu(SUCCESS, cu->cuMemFree(ptr));
    assert_cu(SUCCESS, cu->cuMemPoolDestroy(here.pool));
    assert_int_equal(device_free(), here.free_bytes);
}

static void a_use_beyond_the_blocks_end_is_said(void **state)
{
    uint64_t before = starpool_model_violations(NULL);
    sp_cu_ptr ptr;

    (void)state;
    make_pool(0);
    ptr = make_block();
    assert_cu(SUCCESS, cu->cuMemsetD8Async(ptr, 1, SIZE, here.stalled));
    assert_int_equal(starpool_model_violations(NULL), before);
    assert_cu(SUCCESS, cu->cuMemsetD8Async(ptr, 1, SIZE + 1, here.stalled));
    assert_int_equal(starpool_model_violations(NULL), before + 1);
    assert_cu(SUCCESS, cu->cuMemFreeAsync(ptr, here.stalled));
    assert_cu(SUCCESS, cu->cuMemPoolDestroy(here.pool));
}

static void a_reset_with_live_blocks_leaves_nothing(void **state)
{
    (void)state;
    make_pool(SP_CU_HANDLE_POSIX_FD);
    (void)make_block();
    assert_true(device_free() < here.free_bytes);
    (void)teardown(state);
    (void)setup(state);
    assert_int_equal(cu->cuMemPoolTrimTo(here.pool, 0), SP_CU_INVALID_VALUE);
    make_pool(0);
    assert_int_equal(device_free(), here.free_bytes);
    assert_cu(SUCCESS, cu->cuMemPoolDestroy(here.pool));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(memory_freed_too_early_stays_mapped_for_what_uses_it,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_use_of_freed_memory_runs_though_the_pool_is_trimmed,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(an_imported_block_freed_too_early_stays_mapped, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_use_beyond_the_blocks_end_is_said, setup, teardown),
        cmocka_unit_test_setup_teardown(a_reset_with_live_blocks_leaves_nothing, setup,
                                        teardown),
    };

    return cmocka_run_group_tests_name("strays", tests, NULL, NULL);
}
