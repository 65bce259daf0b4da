/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Captures of every mode beside threads of every mode that allocate, free, grow, trim and read
 * statistics: no capture is lost (CAP-30 to CAP-35). */
#include "config.h"

#include "tests/support.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include <starpool/access.h>
#include <starpool/capture.h>
#include <starpool/pool.h>
#include <starpool/stats.h>

#include "src/util/util.h"
#include "tests/capture_fixture.h"
#include "tests/fixture.h"

#define N_CAPTURES 60 /* in each case */
#define N_WORKERS  2
#define SIZE       ((size_t)256 << 10)

/* One of the 18: who works while somebody captures, and in which mode. */
struct table_case {
    int thread_mode, capture_mode;
    bool is_own; /* the thread that captures works, too */
};

struct worker {
    pthread_t thread;
    uint64_t random;
    sp_cu_stream stream;
    int mode;
    enum starpool_status status; /* of the first call that failed */
    const char *call;            /* and which */
    size_t n_works;
};

static struct {
    _Atomic bool is_over;
    _Atomic unsigned n_works;
    struct starpool_pool *device, *arena, *host;
    enum starpool_status status; /* of the first worker's call that failed */
    const char *call;            /* and which */
} stress;

/* ---- work -------------------------------------------------------------------------------- */

static bool is_done(struct worker *worker, enum starpool_status status, const char *call)
{
    if (status != STARPOOL_OK && worker->status == STARPOOL_OK) {
        worker->status = status;
        worker->call = call;
    }
    return status == STARPOOL_OK;
}

#define DO(call) is_done(worker, call, #call)

/* A block of a pool, for a stream or the host. */
static void work_on_blocks(struct worker *worker, struct starpool_pool *pool)
{
    bool is_host = sp_test_random_below(&worker->random, 2) == 0;
    starpool_stream stream = is_host ? STARPOOL_STREAM_HOST : worker->stream;
    size_t size = 256 + sp_test_random_below(&worker->random, 4 * SP_MIB);
    void *ptr;

    if (DO(starpool_alloc(pool, size, stream, &ptr)))
        (void)DO(starpool_free(ptr, stream));
}

static void work_on_pool(struct worker *worker)
{
    struct starpool_pool_config config;
    struct starpool_pool *pool;

    starpool_pool_config_init(&config);
    config.location = (struct starpool_location){STARPOOL_DEVICE, 0};
    config.release_threshold = 0;
    if (!DO(starpool_pool_create(&config, &pool)))
        return;
    work_on_blocks(worker, pool);
    starpool_pool_destroy(pool);
}

static void work_on_statistics(struct worker *worker, struct starpool_pool *pool)
{
    struct starpool_stats stats = {.struct_size = sizeof(stats)};
    enum starpool_access access;
    uint64_t value;

    (void)DO(starpool_pool_stats(pool, &stats));
    (void)DO(starpool_pool_get_attribute(pool, STARPOOL_ATTR_RESERVED_CURRENT, &value));
    (void)DO(starpool_pool_set_attribute(pool, STARPOOL_ATTR_OPPORTUNISTIC, 1));
    (void)DO(starpool_pool_get_access(pool, (struct starpool_location){STARPOOL_DEVICE, 1},
                                      &access));
}

static void work_on_streams(struct worker *worker)
{
    uint64_t point;

    (void)DO(starpool_stream_record(worker->stream, &point));
    (void)DO(starpool_stream_wait(worker->stream, worker->stream, point));
    (void)DO(starpool_stream_synchronize(worker->stream));
}

static void work(struct worker *worker)
{
    switch (sp_test_random_below(&worker->random, 8)) {
    case 0:
        (void)DO(starpool_pool_trim(stress.device, 0));
        break;
    case 1:
        (void)DO(starpool_pool_trim(stress.host, 0));
        break;
    case 2:
        work_on_pool(worker);
        break;
    case 3:
        work_on_statistics(worker, stress.device);
        break;
    case 4:
        work_on_streams(worker);
        break;
    case 5:
        work_on_blocks(worker, stress.host);
        break;
    default:
        work_on_blocks(worker, stress.device);
        break;
    }
    worker->n_works++;
    atomic_fetch_add(&stress.n_works, 1);
}

static void *work_on(void *arg)
{
    struct worker *worker = arg;
    int mode = worker->mode;

    (void)on.driver->cuCtxSetCurrent(on.context);
    (void)on.driver->cuThreadExchangeStreamCaptureMode(&mode);
    while (!atomic_load(&stress.is_over))
        work(worker);
    (void)on.driver->cuCtxSetCurrent(NULL);
    return NULL;
}

/* ---- captures ---------------------------------------------------------------------------- */

/* What a captured stream is given. The status of the first call that failed. */
static enum starpool_status capture_some(struct worker *self, struct starpool_pool *pool)
{
    struct worker *worker = self;
    void *first, *second;

    if (!DO(starpool_alloc(pool, SIZE, on.a, &first)))
        return worker->status;
    (void)on.driver->cuMemsetD8Async((uintptr_t)first, 1, SIZE, on.a);
    if (DO(starpool_alloc(pool, SIZE, on.a, &second)))
        (void)DO(starpool_free(second, on.a));
    (void)DO(starpool_free(first, on.a));
    return worker->status;
}

/* False if the capture was lost. */
static bool capture_once(const struct table_case *row, struct worker *self, size_t number)
{
    struct starpool_pool *const pools[] = {stress.device, stress.arena, stress.host};
    void *eager = NULL;
    sp_cu_graph graph = NULL;
    bool is_whole;

    if (starpool_alloc(stress.device, SIZE, on.b, &eager) != STARPOOL_OK ||
        on.driver->cuStreamBeginCapture(on.a, row->capture_mode) != SP_CU_SUCCESS)
        return false;
    (void)capture_some(self, pools[number % SP_ARRAY_SIZE(pools)]);
    for (int i = 0; i < 4 && row->is_own; i++)
        work(self);
    (void)is_done(self, starpool_free(eager, on.a), "free of an eager block");
    is_whole = on.driver->cuStreamEndCapture(on.a, &graph) == SP_CU_SUCCESS;
    if (is_whole)
        is_whole = on.driver->cuGraphDestroy(graph) == SP_CU_SUCCESS;
    return is_whole;
}

/* ---- the table --------------------------------------------------------------------------- */

static bool start_worker(struct worker *worker, int mode, uint64_t seed)
{
    *worker = (struct worker){.random = seed, .mode = mode};
    return on.driver->cuStreamCreate(&worker->stream, SP_CU_STREAM_NON_BLOCKING) ==
           SP_CU_SUCCESS;
}

static void stop_worker(struct worker *worker)
{
    if (stress.status == STARPOOL_OK) {
        stress.status = worker->status;
        stress.call = worker->call;
    }
    assert_cu(SUCCESS, on.driver->cuStreamDestroy(worker->stream));
}

/* How many of how many captures were lost. */
static size_t run_case(const struct table_case *row, size_t n_captures)
{
    struct worker workers[N_WORKERS], self;
    int mode = row->thread_mode;
    size_t n_lost = 0;

    atomic_store(&stress.is_over, false);
    assert_true(start_worker(&self, row->thread_mode, sp_test_seed()));
    for (size_t i = 0; i < N_WORKERS; i++) {
        assert_true(start_worker(&workers[i], row->thread_mode, sp_test_seed() + i + 1));
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work_on, &workers[i]), 0);
    }
    if (row->is_own)
        (void)on.driver->cuThreadExchangeStreamCaptureMode(&mode);
    for (size_t i = 0; i < n_captures; i++)
        n_lost += !capture_once(row, &self, i);
    if (row->is_own)
        (void)on.driver->cuThreadExchangeStreamCaptureMode(&mode);
    /* On one processor they may not have come to work yet. */
    while (workers[0].status == STARPOOL_OK && atomic_load(&stress.n_works) < N_WORKERS)
        sched_yield();
    atomic_store(&stress.is_over, true);
    for (size_t i = 0; i < N_WORKERS; i++)
        pthread_join(workers[i].thread, NULL);
    for (size_t i = 0; i < N_WORKERS; i++)
        stop_worker(&workers[i]);
    stop_worker(&self);
    return n_lost;
}

static int setup(void **state)
{
    if (sp_capture_fixture_setup(state) != 0)
        return -1;
    stress.device = on.pool;
    stress.arena = captures.arena;
    stress.host = on.host;
    return 0;
}

static void no_capture_is_lost_whoever_works_in_which_mode(void **state)
{
    const char *const names[] = {"global", "thread-local", "relaxed"};
    size_t n_captures = sp_test_scaled(N_CAPTURES), n_lost = 0;

    (void)state;
    for (int i = 0; i < 18; i++) {
        struct table_case row = {i % 3, i / 3 % 3, i / 9 != 0};
        size_t n = run_case(&row, n_captures);

        if (n > 0)
            print_message("%zu of %zu captures, begun %s, were lost: threads are %s%s\n", n,
                          n_captures, names[row.capture_mode], names[row.thread_mode],
                          row.is_own ? ", and the one that captures works" : "");
        n_lost += n;
    }
    print_message("%zu captures, %zu lost\n", 18 * n_captures, n_lost);
    assert_int_equal(n_lost, 0);
    if (stress.status != STARPOOL_OK)
        fail_msg("%s: %s", stress.call, starpool_status_name(stress.status));
    sp_capture_wait_for_destructors();
    /* Everything that graphs had has come back. */
    assert_int_equal(sp_fixture_stats_of(stress.device).graph_held_bytes, 0);
    assert_int_equal(sp_fixture_stats_of(stress.device).n_live, 0);
    assert_int_equal(sp_fixture_stats_of(stress.arena).n_live, 0);
    assert_int_equal(sp_fixture_stats_of(stress.host).n_live, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(no_capture_is_lost_whoever_works_in_which_mode, setup,
                                        sp_capture_fixture_teardown),
    };

    return sp_capture_fixture_init()
               ? cmocka_run_group_tests_name("capture_stress", tests, NULL, NULL)
               : 99;
}
