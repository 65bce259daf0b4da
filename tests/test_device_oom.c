/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Pools of a device's slabs, of registered memory of the host and of the driver's where
 * everything may fail: each allocation of the library in turn, and each call of the driver that
 * they make. What is refused is a status, and nothing is lost. The program is linked with
 * --wrap=malloc, calloc, realloc and mmap. */
#include "config.h"

#include "tests/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <starpool.h>

#include "src/pool/pool.h"
#include "tests/device_case.h"
#include "tests/driver_fixture.h"

/* ---- allocations that fail --------------------------------------------------------------- */

/* The linker puts these before the allocator's own (--wrap). Of the next allocations of this
 * thread so many succeed, and then one does not; below 0: all do. */
static __thread long n_until_failure = -1;

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__real_mmap(void *address, size_t size, int protection, int flags, int file, off_t at);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_mmap(void *address, size_t size, int protection, int flags, int file, off_t at);

static bool fails_now(void)
{
    return n_until_failure >= 0 && n_until_failure-- == 0;
}

void *__wrap_malloc(size_t size)
{
    return fails_now() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails_now() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
    return fails_now() ? NULL : __real_realloc(memory, size);
}

void *__wrap_mmap(void *address, size_t size, int protection, int flags, int file, off_t at)
{
    return fails_now() ? MAP_FAILED : __real_mmap(address, size, protection, flags, file, at);
}

/* ---- what is done ------------------------------------------------------------------------ */

/* Of each kind of request one, in pools of each kind. */
static const struct request {
    size_t size;
    bool is_ordered; /* in stream a */
} requests[] = {
    {1000, false}, {3 * SP_MIB, false}, {40 * SP_MIB, false}, {5000, true}, {3 * SP_MIB, true},
};

enum kind { KIND_SLAB, KIND_DRIVER, KIND_REGISTERED, N_KINDS };

static void configure(enum kind kind, struct starpool_pool_config *config)
{
    starpool_pool_config_init(config);
    config->location = (struct starpool_location){STARPOOL_DEVICE, 0};
    config->backend = kind == KIND_SLAB ? STARPOOL_BACKEND_SLAB : STARPOOL_BACKEND_DRIVER;
    if (kind != KIND_REGISTERED)
        return;
    config->location.kind = STARPOOL_HOST;
    config->backend = STARPOOL_BACKEND_AUTO;
    config->is_registered = true;
    config->placement = STARPOOL_SPILL;
}

/* What one run made, and what had to be refused. */
struct run {
    struct starpool_pool *pool;
    void *blocks[SP_ARRAY_SIZE(requests)];
    unsigned n_refused;
};

static void take_all(struct run *run)
{
    for (size_t i = 0; i < SP_ARRAY_SIZE(requests); i++) {
        starpool_stream stream =
            requests[i].is_ordered ? (starpool_stream)on.a : STARPOOL_STREAM_HOST;

        if (starpool_alloc(run->pool, requests[i].size, stream, &run->blocks[i]) != STARPOOL_OK)
            run->n_refused++;
    }
}

/* A free that is refused leaves the block as it was, and the host may try again. */
static void give_all(struct run *run)
{
    for (size_t i = 0; i < SP_ARRAY_SIZE(requests); i++) {
        starpool_stream stream =
            requests[i].is_ordered ? (starpool_stream)on.a : STARPOOL_STREAM_HOST;

        if (run->blocks[i] != NULL && starpool_free(run->blocks[i], stream) != STARPOOL_OK)
            run->n_refused++;
        else
            run->blocks[i] = NULL;
    }
}

static void do_all(enum kind kind, struct run *run)
{
    struct starpool_pool_config config;

    configure(kind, &config);
    *run = (struct run){.pool = NULL};
    if (starpool_pool_create(&config, &run->pool) != STARPOOL_OK) {
        run->n_refused = 1;
        return;
    }
    take_all(run);
    give_all(run);
    run->n_refused += starpool_pool_trim(run->pool, 0) != STARPOOL_OK;
}

/* Nothing fails any more: what is still live is freed, and the pool's counts are exact. */
static void settle(const struct run *run)
{
    struct starpool_stats stats = {.struct_size = sizeof(stats)};
    void *ptr;

    if (run->pool == NULL)
        return;
    for (size_t i = 0; i < SP_ARRAY_SIZE(requests); i++) {
        if (run->blocks[i] != NULL)
            assert_ok(starpool_free(run->blocks[i], STARPOOL_STREAM_HOST));
    }
    assert_int_equal(on.driver->cuStreamSynchronize(on.a), SP_CU_SUCCESS);
    /* The driver has waited for what a refused wait left over. */
    assert_ok(starpool_alloc(run->pool, 1, STARPOOL_STREAM_HOST, &ptr));
    assert_ok(starpool_free(ptr, STARPOOL_STREAM_HOST));
    assert_ok(starpool_pool_trim(run->pool, 0));
    assert_ok(starpool_pool_stats(run->pool, &stats));
    assert_int_equal(stats.n_live, 0);
    assert_int_equal(stats.used_bytes, 0);
    assert_int_equal(stats.reserved_bytes, 0);
    assert_int_equal(stats.registered_bytes, 0);
    assert_int_equal(stats.unregistered_bytes, 0);
    assert_int_equal(stats.n_allocs, stats.n_frees);
    starpool_pool_destroy(run->pool);
}

/* ---- every allocation -------------------------------------------------------------------- */

static void check_allocations(enum kind kind)
{
    size_t before = sp_device_case_free(0);
    bool has_failed = true;

    for (long i = 0; has_failed; i++) {
        struct run run;

        n_until_failure = i;
        do_all(kind, &run);
        has_failed = n_until_failure < 0;
        n_until_failure = -1;
        settle(&run);
        assert_int_equal(sp_device_case_free(0), before);
    }
}

static void without_memory_for_one_thing_nothing_is_lost(void **state)
{
    (void)state;
    for (enum kind kind = KIND_SLAB; kind < N_KINDS; kind++)
        check_allocations(kind);
    assert_int_equal(starpool_model_violations(NULL), 0);
}

/* ---- every call of the driver ------------------------------------------------------------ */

/* All that a run makes. */
static const char *const calls[] = {
    "cuCtxGetCurrent",
    "cuCtxPushCurrent",
    "cuDeviceGetCount",
    "cuDevicePrimaryCtxRetain",
    "cuEventCreate",
    "cuEventQuery",
    "cuEventRecord",
    "cuMemAlloc",
    "cuMemAllocFromPoolAsync",
    "cuMemFree",
    "cuMemFreeAsync",
    "cuMemHostRegister",
    "cuMemHostUnregister",
    "cuMemPoolCreate",
    "cuMemPoolGetAttribute",
    "cuMemPoolSetAccess",
    "cuMemPoolSetAttribute",
    "cuMemPoolTrimTo",
    "cuStreamCreate",
    "cuStreamGetCtx",
    "cuStreamGetId",
    "cuStreamIsCapturing",
    "cuStreamSynchronize",
    "cuStreamWaitEvent",
    "cuThreadExchangeStreamCaptureMode",
};

/* How often a run may ask for one thing. */
#define MAX_CALLS 4

/* What fails for good, and what a kernel that went wrong makes of every call. */
static const int results[] = {SP_CU_OUT_OF_MEMORY, 700};

static void check_call(enum kind kind, const char *call, int number, int result)
{
    size_t before = sp_device_case_free(0);
    char fault[64];
    struct run run;

    snprintf(fault, sizeof(fault), "%s@%d=%d", call, number, result);
    assert_ok(starpool_model_inject(fault));
    do_all(kind, &run);
    assert_ok(starpool_model_inject(NULL));
    settle(&run);
    assert_int_equal(sp_device_case_free(0), before);
}

static void where_the_driver_refuses_one_call_nothing_is_lost(void **state)
{
    (void)state;
    for (enum kind kind = KIND_SLAB; kind < N_KINDS; kind++) {
        for (size_t i = 0; i < SP_ARRAY_SIZE(calls); i++) {
            for (int number = 1; number <= MAX_CALLS; number++)
                check_call(kind, calls[i], number, results[(size_t)number % 2]);
        }
    }
    assert_int_equal(starpool_model_violations(NULL), 0);
}

#define CASE(name) \
    cmocka_unit_test_setup_teardown(name, sp_device_case_setup, sp_device_case_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(without_memory_for_one_thing_nothing_is_lost),
        CASE(where_the_driver_refuses_one_call_nothing_is_lost),
        cmocka_unit_test(every_case_holds_where_streams_run_inside_calls),
    };

    if (!sp_device_case_init())
        return 99;
    return cmocka_run_group_tests_name("device_oom", tests, NULL, NULL);
}
