/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a tool is told through NVTX of slabs and the blocks in them, by a tool of our own (see
 * fake_nvtx.c) on the CPU model. */
#include "config.h"

#include "tests/support.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <starpool.h>

#include "src/pool/captured.h"
#include "src/pool/pool.h"
#include "src/pool/private.h"
#include "tests/capture_fixture.h"
#include "tests/device_case.h"
#include "tests/fake_nvtx.h"
#include "tests/fixture.h"

/* The tool that this process was started with; NULL until a pool has started it. */
static struct sp_fake_nvtx *tool;

static int setup(void **state)
{
    int result = sp_device_case_setup(state);
    void *library = dlopen(getenv(SP_FAKE_NVTX_VARIABLE), RTLD_NOW | RTLD_NOLOAD);

    if (result != 0 || library == NULL)
        return -1;
    tool = dlsym(library, "fake_nvtx");
    (void)dlclose(library);
    return tool == NULL ? -1 : 0;
}

/* Nothing is left, and nothing was wrong. */
static int teardown(void **state)
{
    int result;

    tool->listen = NULL;
    /* What streams have freed is the pool's only when that is over. */
    assert_ok(starpool_stream_synchronize(on.a));
    assert_ok(starpool_stream_synchronize(on.b));
    assert_ok(starpool_pool_trim(slabs, 0));
    result = sp_device_case_teardown(state);
    assert_string_equal(tool->complaint, "");
    assert_int_equal(tool->n_heaps, 0);
    assert_int_equal(tool->n_regions, 0);
    return result;
}

static void *take(size_t size)
{
    return sp_fixture_alloc_from(slabs, size);
}

static size_t reserved(void)
{
    return sp_fixture_stats_of(slabs).reserved_bytes;
}

static size_t heap_bytes(void)
{
    size_t bytes = 0;

    for (size_t i = 0; i < SP_FAKE_NVTX_HEAPS; i++)
        bytes += tool->heaps[i].size;
    return bytes;
}

/* [bytes] 0: the tool knows no block there. */
static size_t declared(const void *ptr)
{
    for (size_t i = 0; i < SP_FAKE_NVTX_REGIONS; i++) {
        if (tool->regions[i].size != 0 && tool->regions[i].start == (uintptr_t)ptr)
            return tool->regions[i].size;
    }
    return 0;
}

static size_t size_of(const void *ptr)
{
    struct starpool_block_info info = {.struct_size = sizeof(info)};

    assert_ok(starpool_block_info(ptr, &info));
    assert_ptr_equal(info.base, ptr);
    return info.size;
}

/* ---- what is told ------------------------------------------------------------------------ */

static void tool_is_started_once_as_NVTX_does(void **state)
{
    struct starpool_pool *other = sp_device_case_pool(1, STARPOOL_BACKEND_SLAB, 0);

    (void)state;
    assert_int_equal(tool->n_core, 1);
    assert_int_equal(tool->n_extensions, 1);
    starpool_pool_destroy(other);
}

static void each_slab_is_a_heap_until_it_goes(void **state)
{
    void *small = take(100), *large = take(100 * SP_MIB);

    (void)state;
    assert_int_equal(tool->n_heaps, 2);
    assert_int_equal(heap_bytes(), reserved());
    assert_ok(starpool_free(large, STARPOOL_STREAM_HOST));
    assert_ok(starpool_pool_trim(slabs, 0));
    assert_int_equal(tool->n_heaps, 1);
    assert_int_equal(heap_bytes(), reserved());
    assert_ok(starpool_free(small, STARPOOL_STREAM_HOST));
    assert_int_equal(tool->n_heaps, 1);
    assert_ok(starpool_pool_trim(slabs, 0));
    assert_int_equal(tool->n_heaps, 0);
    assert_int_equal(tool->n_left, 0);
}

static void each_live_block_is_a_region(void **state)
{
    static const size_t sizes[] = {1, 256, 5000, SP_MIB, 40 * SP_MIB};
    void *ptr[SP_ARRAY_SIZE(sizes)];

    (void)state;
    for (size_t i = 0; i < SP_ARRAY_SIZE(sizes); i++) {
        ptr[i] = take(sizes[i]);
        assert_true(declared(ptr[i]) >= sizes[i]);
        assert_int_equal(declared(ptr[i]), size_of(ptr[i]));
    }
    assert_int_equal(tool->n_regions, SP_ARRAY_SIZE(sizes));
    for (size_t i = 0; i < SP_ARRAY_SIZE(sizes); i++) {
        assert_ok(starpool_free(ptr[i], STARPOOL_STREAM_HOST));
        assert_int_equal(declared(ptr[i]), 0);
    }
    assert_int_equal(tool->n_regions, 0);
}

/* A thread's cache would pass the tool by. */
static void block_that_comes_back_at_once_is_told_again(void **state)
{
    size_t before = tool->n_declared;

    (void)state;
    for (int i = 0; i < 100; i++) {
        void *ptr = take(1000);

        assert_int_equal(declared(ptr), size_of(ptr));
        assert_int_equal(sp_free_if_ours(ptr), SP_FREED);
        assert_int_equal(declared(ptr), 0);
    }
    assert_int_equal(tool->n_declared - before, 100);
}

static void aligned_block_is_a_region_of_its_own(void **state)
{
    void *ptr;

    (void)state;
    assert_ok(sp_alloc_aligned(slabs, 3 * SP_MIB, SP_MIB, &ptr));
    assert_int_equal(declared(ptr), size_of(ptr));
    assert_int_equal(sp_free_if_ours(ptr), SP_FREED);
    assert_int_equal(tool->n_regions, 0);
}

static void refused_request_and_wrong_free_tell_nothing(void **state)
{
    size_t before = tool->n_declared;
    void *ptr = take(1000), *none;

    (void)state;
    assert_int_equal(starpool_alloc(slabs, 4096 * SP_MIB, STARPOOL_STREAM_HOST, &none),
                     STARPOOL_ENOMEM);
    assert_int_equal(starpool_free((char *)ptr + 16, STARPOOL_STREAM_HOST), STARPOOL_EINVAL);
    assert_int_equal(starpool_free((char *)ptr + 16, on.a), STARPOOL_EINVAL);
    assert_int_equal(declared(ptr), size_of(ptr));
    assert_ok(starpool_free(ptr, STARPOOL_STREAM_HOST));
    assert_int_equal(starpool_free(ptr, STARPOOL_STREAM_HOST), STARPOOL_EINVAL);
    assert_int_equal(starpool_free(ptr, on.a), STARPOOL_EINVAL);
    assert_int_equal(tool->n_declared - before, 1);
    assert_int_equal(tool->n_regions, 0);
}

static void memory_of_the_host_and_of_the_driver_is_not_told(void **state)
{
    size_t before = tool->n_declared;
    void *host = sp_fixture_alloc_from(on.host, 1000);
    void *drivers = sp_driver_fixture_alloc(on.pool, on.a, 1000);

    (void)state;
    assert_int_equal(tool->n_declared, before);
    assert_int_equal(tool->n_heaps, 0);
    assert_ok(starpool_free(host, STARPOOL_STREAM_HOST));
    assert_ok(starpool_free(drivers, on.a));
}

/* ---- streams ----------------------------------------------------------------------------- */

static void block_of_a_stream_is_told_until_its_free_is_submitted(void **state)
{
    void *first = sp_driver_fixture_alloc(slabs, on.a, 5000);
    void *second = sp_driver_fixture_alloc(slabs, on.a, 3 * SP_MIB);

    (void)state;
    assert_int_equal(declared(first), size_of(first));
    assert_int_equal(declared(second), size_of(second));
    assert_int_equal(tool->n_regions, 2);
    assert_ok(starpool_free(first, on.a));
    assert_int_equal(declared(first), 0);
    assert_ok(starpool_free(second, STARPOOL_STREAM_HOST));
    assert_int_equal(declared(second), 0);
    assert_int_equal(starpool_free(second, on.a), STARPOOL_EINVAL);
}

static void range_that_a_stream_has_again_is_told_again(void **state)
{
    void *first = sp_driver_fixture_alloc(slabs, on.a, 5000), *second;

    (void)state;
    assert_ok(starpool_free(first, on.a));
    second = sp_driver_fixture_alloc(slabs, on.a, 5000);
    assert_ptr_equal(second, first); /* Else the case shows nothing. */
    assert_int_equal(declared(second), size_of(second));
    assert_ok(starpool_free(second, on.a));
}

static void block_of_the_host_that_a_stream_frees_is_withdrawn(void **state)
{
    void *ptr = take(SP_MIB);

    (void)state;
    assert_ok(starpool_free(ptr, on.b));
    assert_int_equal(declared(ptr), 0);
    assert_int_equal(starpool_free(ptr, on.b), STARPOOL_EINVAL);
}

static void free_on_a_stream_that_does_not_exist_withdraws_nothing(void **state)
{
    void *ptr = sp_driver_fixture_alloc(slabs, on.a, 5000);
    sp_cu_stream gone;

    (void)state;
    assert_cu(SUCCESS, on.driver->cuStreamCreate(&gone, SP_CU_STREAM_NON_BLOCKING));
    assert_cu(SUCCESS, on.driver->cuStreamDestroy(gone));
    assert_true(starpool_free(ptr, gone) != STARPOOL_OK);
    assert_int_equal(declared(ptr), size_of(ptr));
    assert_ok(starpool_free(ptr, on.a));
}

/* ---- captures ---------------------------------------------------------------------------- */

static void block_that_a_graph_has_is_told_until_the_graph_goes(void **state)
{
    void *before = sp_driver_fixture_alloc(slabs, on.a, 5000), *within;
    sp_cu_graph graph;

    (void)state;
    sp_capture_begin(on.a);
    assert_ok(starpool_alloc(slabs, 3000, on.a, &within));
    assert_cu(SUCCESS, on.driver->cuMemsetD8Async((uintptr_t)before, 1, 5000, on.a));
    assert_cu(SUCCESS, on.driver->cuMemsetD8Async((uintptr_t)within, 1, 3000, on.a));
    assert_ok(starpool_free(before, on.a));
    assert_ok(starpool_free(within, on.a));
    graph = sp_capture_end(on.a);
    assert_true(declared(before) != 0);
    assert_int_equal(tool->n_regions, 2);
    assert_cu(SUCCESS, on.driver->cuGraphDestroy(graph));
    sp_capture_wait_for_destructors();
    sp_held_notice();
    assert_int_equal(tool->n_regions, 0);
}

/* ---- trims, resets, forks ---------------------------------------------------------------- */

static void reset(void)
{
    assert_cu(SUCCESS, on.driver->cuDevicePrimaryCtxReset(0));
    sp_pool_forget_device(0);
}

/* Streams of device 0 have gone with it. */
static void make_streams(void)
{
    assert_cu(SUCCESS, on.driver->cuStreamCreate(&on.a, SP_CU_STREAM_NON_BLOCKING));
    assert_cu(SUCCESS, on.driver->cuStreamCreate(&on.b, SP_CU_STREAM_NON_BLOCKING));
}

static void reset_takes_slabs_and_what_was_told_of_them(void **state)
{
    void *live = take(1000), *ordered = sp_driver_fixture_alloc(slabs, on.a, 5000), *fresh;
    size_t left = tool->n_left;

    (void)state;
    reset();
    make_streams();
    assert_int_equal(tool->n_heaps, 0);
    assert_int_equal(tool->n_regions, 0);
    assert_int_equal(tool->n_left - left, 2);
    assert_ok(starpool_free(live, STARPOOL_STREAM_HOST));
    assert_ok(starpool_free(ordered, STARPOOL_STREAM_HOST));
    fresh = take(1000);
    assert_int_equal(tool->n_heaps, 1);
    assert_int_equal(declared(fresh), size_of(fresh));
    assert_ok(starpool_free(fresh, STARPOOL_STREAM_HOST));
}

static struct {
    struct sp_gate is_telling;
    bool is_told;     /* the tool has heard of the block */
    bool came_before; /* so it had when the slab went */
} meeting;

/* In the tool: a block stays half told until the reset has taken its slab from the pool. */
static void tell_slowly(bool is_heap, bool is_declared, uintptr_t start)
{
    (void)start;
    if (is_heap && !is_declared) {
        pthread_mutex_lock(&meeting.is_telling.mutex);
        meeting.came_before = meeting.is_told;
        pthread_mutex_unlock(&meeting.is_telling.mutex);
    }
    if (is_heap || !is_declared)
        return;
    pthread_mutex_lock(&meeting.is_telling.mutex);
    meeting.is_telling.is_open = true;
    pthread_cond_signal(&meeting.is_telling.changed);
    pthread_mutex_unlock(&meeting.is_telling.mutex);
    while (sp_pool_n_resets(slabs) == 0)
        sched_yield();
    for (int i = 0; i < 1000; i++)
        sched_yield();
    pthread_mutex_lock(&meeting.is_telling.mutex);
    meeting.is_told = true;
    pthread_mutex_unlock(&meeting.is_telling.mutex);
}

static void *take_in_thread(void *arg)
{
    (void)!starpool_alloc(slabs, 1000, STARPOOL_STREAM_HOST, arg);
    return NULL;
}

static void slab_that_a_reset_takes_waits_for_who_tells_of_it(void **state)
{
    void *first = take(1000), *ptr = NULL;
    pthread_t thread;

    (void)state;
    pthread_mutex_init(&meeting.is_telling.mutex, NULL);
    pthread_cond_init(&meeting.is_telling.changed, NULL);
    tool->listen = tell_slowly;
    assert_int_equal(pthread_create(&thread, NULL, take_in_thread, &ptr), 0);
    pthread_mutex_lock(&meeting.is_telling.mutex);
    while (!meeting.is_telling.is_open)
        pthread_cond_wait(&meeting.is_telling.changed, &meeting.is_telling.mutex);
    pthread_mutex_unlock(&meeting.is_telling.mutex);
    reset();
    make_streams();
    assert_int_equal(pthread_join(thread, NULL), 0);
    tool->listen = NULL;
    assert_true(meeting.came_before);
    assert_int_equal(tool->n_regions, 0);
    assert_ok(starpool_free(first, STARPOOL_STREAM_HOST));
    assert_ok(starpool_free(ptr, STARPOOL_STREAM_HOST));
}

static void slab_that_the_driver_does_not_take_back_is_told_again(void **state)
{
    void *ptr = take(1000);

    (void)state;
    assert_ok(starpool_free(ptr, STARPOOL_STREAM_HOST));
    assert_ok(starpool_model_inject("cuMemFree@1=999"));
    assert_ok(starpool_pool_trim(slabs, 0));
    assert_ok(starpool_model_inject(NULL));
    assert_true(reserved() > 0);
    assert_int_equal(tool->n_heaps, 1);
    ptr = take(1000);
    assert_int_equal(declared(ptr), size_of(ptr));
    assert_ok(starpool_free(ptr, STARPOOL_STREAM_HOST));
}

static void forked_child_tells_nothing(void **state)
{
    void *ptr = take(1000);
    size_t before = tool->n_declared;
    pid_t child = fork();
    int status = 0;

    (void)state;
    if (child == 0) {
        bool is_right = starpool_free(ptr, STARPOOL_STREAM_HOST) == STARPOOL_OK &&
                        tool->n_declared == before && tool->n_regions == 1;

        _exit(is_right ? 0 : 1);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_ok(starpool_free(ptr, STARPOOL_STREAM_HOST));
}

/* ---- locks and threads ------------------------------------------------------------------- */

/* Written by the tool, which is called by one thread. */
static struct {
    size_t n_asked, n_refused;
} asked;

/* With a pool's lock held it would not come back; and with checks on it would be said. */
static void ask_the_pool(bool is_heap, bool is_declared, uintptr_t start)
{
    struct starpool_stats stats = {.struct_size = sizeof(stats)};

    (void)is_heap, (void)is_declared, (void)start;
    asked.n_asked++;
    asked.n_refused += starpool_pool_stats(slabs, &stats) != STARPOOL_OK;
}

static void no_lock_of_a_pool_is_held_in_the_tool(void **state)
{
    void *host, *parked, *ordered, *by_host;

    (void)state;
    memset(&asked, 0, sizeof(asked));
    tool->listen = ask_the_pool;
    host = take(1000);
    parked = take(SP_MIB);
    ordered = sp_driver_fixture_alloc(slabs, on.a, 5000);
    by_host = sp_driver_fixture_alloc(slabs, on.a, 5000);
    assert_ok(starpool_free(host, STARPOOL_STREAM_HOST));
    assert_ok(starpool_free(parked, on.b));
    assert_ok(starpool_free(ordered, on.a));
    assert_ok(starpool_free(by_host, STARPOOL_STREAM_HOST));
    assert_cu(SUCCESS, on.driver->cuCtxSynchronize());
    assert_ok(starpool_pool_trim(slabs, 0));
    tool->listen = NULL;
    assert_true(asked.n_asked >= 10); /* Four blocks and a slab, twice each. */
    assert_int_equal(asked.n_refused, 0);
}

#define N_THREADS 4
#define N_ROUNDS  400

/* [N_THREADS] what went wrong in each; the main thread reads it afterwards. */
static size_t n_failures[N_THREADS];

static void *churn(void *arg)
{
    size_t self = (size_t)(uintptr_t)arg;
    starpool_stream stream = self % 2 == 0 ? on.a : on.b;
    void *blocks[8] = {NULL};

    for (size_t i = 0; i < N_ROUNDS; i++) {
        void **ptr = &blocks[i * 5 % 8];
        size_t size = 1 + (i * 7919 + self * 104729) % 100000;

        if (*ptr != NULL)
            n_failures[self] +=
                starpool_free(*ptr, i % 3 == 0 ? STARPOOL_STREAM_HOST : stream) != STARPOOL_OK;
        if (starpool_alloc(slabs, size, i % 2 == 0 ? STARPOOL_STREAM_HOST : stream, ptr) !=
            STARPOOL_OK) {
            n_failures[self]++;
            *ptr = NULL;
        }
    }
    for (size_t i = 0; i < SP_ARRAY_SIZE(blocks); i++)
        n_failures[self] +=
            blocks[i] != NULL && starpool_free(blocks[i], STARPOOL_STREAM_HOST) != STARPOOL_OK;
    return NULL;
}

static void many_threads_tell_of_what_they_have_and_no_more(void **state)
{
    pthread_t threads[N_THREADS];
    size_t before = tool->n_declared;

    (void)state;
    for (size_t i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, churn, (void *)(uintptr_t)i), 0);
    for (size_t i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (size_t i = 0; i < N_THREADS; i++)
        assert_int_equal(n_failures[i], 0);
    assert_int_equal(tool->n_declared - before, N_THREADS * N_ROUNDS);
    assert_int_equal(tool->n_regions, 0);
    assert_int_equal(heap_bytes(), reserved());
    assert_string_equal(tool->complaint, "");
}

/* With checks the fast paths are shut in any case. */
static void every_block_is_told_where_nothing_is_checked(void **state)
{
    (void)state;
    assert_int_equal(sp_device_case_again(NULL, NULL, "unchecked"), 0);
}

/* Frees of what a reset has taken may be wrong by then. */
static void *churn_anyhow(void *arg)
{
    for (size_t i = 0; i < 2 * (size_t)N_ROUNDS; i++) {
        void *ptr;

        if (starpool_alloc(slabs, 1 + (i * 7919 + (uintptr_t)arg) % 100000,
                           STARPOOL_STREAM_HOST, &ptr) == STARPOOL_OK)
            (void)!starpool_free(ptr, STARPOOL_STREAM_HOST);
    }
    return NULL;
}

/* A thread may tell late of an address that another has by then: then two blocks are one. */
static void resets_beside_threads_leave_nothing_that_was_told(void **state)
{
    pthread_t threads[N_THREADS];

    (void)state;
    for (size_t i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, churn_anyhow, (void *)(uintptr_t)i),
                         0);
    for (int i = 0; i < 20; i++)
        reset();
    for (size_t i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    reset();
    make_streams();
    assert_int_equal(tool->n_heaps, 0);
    assert_int_equal(tool->n_regions, 0);
    assert_null(strstr(tool->complaint, "heap"));
    tool->complaint[0] = '\0';
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static const struct CMUnitTest tests[] = {
    CASE(tool_is_started_once_as_NVTX_does),
    CASE(each_slab_is_a_heap_until_it_goes),
    CASE(each_live_block_is_a_region),
    CASE(block_that_comes_back_at_once_is_told_again),
    CASE(aligned_block_is_a_region_of_its_own),
    CASE(refused_request_and_wrong_free_tell_nothing),
    CASE(memory_of_the_host_and_of_the_driver_is_not_told),
    CASE(block_of_a_stream_is_told_until_its_free_is_submitted),
    CASE(range_that_a_stream_has_again_is_told_again),
    CASE(block_of_the_host_that_a_stream_frees_is_withdrawn),
    CASE(free_on_a_stream_that_does_not_exist_withdraws_nothing),
    CASE(block_that_a_graph_has_is_told_until_the_graph_goes),
    CASE(reset_takes_slabs_and_what_was_told_of_them),
    CASE(slab_that_a_reset_takes_waits_for_who_tells_of_it),
    CASE(slab_that_the_driver_does_not_take_back_is_told_again),
    CASE(forked_child_tells_nothing),
    CASE(no_lock_of_a_pool_is_held_in_the_tool),
    CASE(many_threads_tell_of_what_they_have_and_no_more),
    cmocka_unit_test(every_block_is_told_where_nothing_is_checked),
    CASE(resets_beside_threads_leave_nothing_that_was_told),
    cmocka_unit_test(every_case_holds_where_streams_run_inside_calls),
};

static const struct CMUnitTest unchecked[] = {
    CASE(block_that_comes_back_at_once_is_told_again),
    CASE(many_threads_tell_of_what_they_have_and_no_more),
};

int main(int argc, char **argv)
{
    const char *part = argc > 1 ? argv[1] : "";

    if (!sp_device_case_init() || !sp_fake_nvtx_name())
        return 99;
    if (strcmp(part, "unchecked") == 0)
        return setenv("STARPOOL_CHECKS", "0", 1) == 0
                   ? cmocka_run_group_tests_name("nvtx_unchecked", unchecked, NULL, NULL)
                   : 99;
    return cmocka_run_group_tests_name("nvtx", tests, NULL, NULL);
}
