/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Captures of every mode beside threads of every mode that allocate, free, grow, trim and read
 * statistics: no capture is lost (CAP-30 to CAP-35). Captures at random, whose launches are
 * checked; and blocks that are freed at the moment when a graph that kept them goes. */
#include "config.h"

#include "tests/support.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include <starpool/access.h>
#include <starpool/capture.h>
#include <starpool/model.h>
#include <starpool/pool.h>
#include <starpool/stats.h>

#include "graph/owner.h"
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
};

static struct {
    _Atomic bool is_over;
    _Atomic unsigned n_works; /* of the threads beside the one that captures, in one case */
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
}

static void *work_on(void *arg)
{
    struct worker *worker = arg;
    int mode = worker->mode;

    (void)on.driver->cuCtxSetCurrent(on.context);
    (void)on.driver->cuThreadExchangeStreamCaptureMode(&mode);
    while (!atomic_load(&stress.is_over)) {
        work(worker);
        atomic_fetch_add(&stress.n_works, 1);
    }
    (void)on.driver->cuCtxSetCurrent(NULL);
    return NULL;
}

/* ---- captures ---------------------------------------------------------------------------- */

/* What a captured stream is given. The status of the first call that failed. */
static enum starpool_status capture_some(struct worker *worker, struct starpool_pool *pool)
{
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
    atomic_store(&stress.n_works, 0);
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
    while (atomic_load(&stress.n_works) < N_WORKERS)
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

/* ---- at random --------------------------------------------------------------------------- */

#define N_STREAMS 3
#define N_BLOCKS  24
#define N_RESULTS 32
#define N_STEPS   120
#define UNIT      ((size_t)4096)
#define MAX_UNITS 16

/* How far each stream had come. */
struct moment {
    unsigned at[N_STREAMS];
};

/* A block of a pool that is filled with its value. */
struct block {
    char *ptr;
    size_t size;
    unsigned char value;
    const struct starpool_pool *pool;
    struct moment first, last; /* allocated; used last, or freed */
    bool is_live;
};

static struct {
    uint64_t random;
    sp_cu_stream streams[N_STREAMS];
    struct moment now[N_STREAMS]; /* what comes before what a stream is given next */
    struct starpool_pool *pools[3];
    struct block blocks[N_BLOCKS];
    size_t n_blocks;
    char *results;                       /* [N_RESULTS * MAX_UNITS * UNIT] */
    const struct block *from[N_RESULTS]; /* whose copy it is */
    size_t n_results;
} scene;

static bool comes_before(const struct moment *earlier, const struct moment *later)
{
    for (size_t i = 0; i < N_STREAMS; i++) {
        if (earlier->at[i] > later->at[i])
            return false;
    }
    return true;
}

static void join(struct moment *moment, const struct moment *other)
{
    for (size_t i = 0; i < N_STREAMS; i++)
        moment->at[i] = moment->at[i] < other->at[i] ? other->at[i] : moment->at[i];
}

static void use(struct block *block, size_t s)
{
    scene.now[s].at[s]++;
    join(&block->last, &scene.now[s]);
}

static void follow(size_t s, size_t other)
{
    sp_capture_follow(scene.streams[s], scene.streams[other]);
    join(&scene.now[s], &scene.now[other]);
}

static void allocate(size_t s)
{
    struct block *block = &scene.blocks[scene.n_blocks++];
    struct starpool_pool *pool = scene.pools[sp_test_random_below(&scene.random, 3)];

    *block = (struct block){
        .size = UNIT * (1 + sp_test_random_below(&scene.random, MAX_UNITS)),
        .value = (unsigned char)scene.n_blocks,
        .pool = pool,
        .first = scene.now[s],
        .is_live = true,
    };
    block->ptr = sp_driver_fixture_alloc(pool, scene.streams[s], block->size);
    assert_cu(SUCCESS, on.driver->cuMemsetD8Async((uintptr_t)block->ptr, block->value,
                                                  block->size, scene.streams[s]));
    use(block, s);
}

static void copy_out(struct block *block, size_t s)
{
    char *result = scene.results + scene.n_results * MAX_UNITS * UNIT;

    assert_cu(SUCCESS, on.driver->cuMemcpyAsync((uintptr_t)result, (uintptr_t)block->ptr,
                                                block->size, scene.streams[s]));
    scene.from[scene.n_results++] = block;
    use(block, s);
}

static void do_something(void)
{
    size_t s = sp_test_random_below(&scene.random, N_STREAMS);
    size_t other = sp_test_random_below(&scene.random, N_STREAMS);
    size_t what = sp_test_random_below(&scene.random, 6);
    struct block *block;

    if (what < 2 && scene.n_blocks < N_BLOCKS)
        allocate(s);
    else if (what == 2 && other != s)
        follow(s, other);
    if (what <= 2 || scene.n_blocks == 0)
        return;
    block = &scene.blocks[sp_test_random_below(&scene.random, scene.n_blocks)];
    if (!block->is_live || !comes_before(&block->last, &scene.now[s]))
        return;
    if (what == 3 && scene.n_results < N_RESULTS) {
        copy_out(block, s);
    } else {
        assert_ok(starpool_free(block->ptr, scene.streams[s]));
        block->is_live = false;
    }
}

static bool may_follow(const struct block *earlier, const struct block *later)
{
    return !earlier->is_live && comes_before(&earlier->last, &later->first);
}

static void check_addresses(void)
{
    for (size_t i = 0; i < scene.n_blocks; i++) {
        for (size_t j = i + 1; j < scene.n_blocks; j++) {
            const struct block *a = &scene.blocks[i], *b = &scene.blocks[j];
            bool overlaps = a->ptr < b->ptr + b->size && b->ptr < a->ptr + a->size;

            assert_true(!overlaps || may_follow(a, b) || may_follow(b, a));
        }
    }
}

static void check_launch(sp_cu_exec exec, sp_cu_stream stream)
{
    memset(scene.results, 0, N_RESULTS * MAX_UNITS * UNIT);
    sp_capture_launch(exec, stream);
    for (size_t i = 0; i < scene.n_results; i++) {
        const char *result = scene.results + i * MAX_UNITS * UNIT;

        for (size_t at = 0; at < scene.from[i]->size; at += 512)
            assert_int_equal(result[at], scene.from[i]->value);
    }
}

static sp_cu_exec capture_at_random(void)
{
    scene.n_blocks = scene.n_results = 0;
    memset(scene.now, 0, sizeof(scene.now));
    sp_capture_begin(scene.streams[0]);
    for (size_t s = 1; s < N_STREAMS; s++)
        follow(s, 0);
    for (size_t i = 0; i < N_STEPS; i++)
        do_something();
    check_addresses();
    for (size_t s = 1; s < N_STREAMS; s++)
        follow(0, s);
    for (size_t i = 0; i < scene.n_blocks; i++) {
        if (scene.blocks[i].is_live)
            assert_ok(starpool_free(scene.blocks[i].ptr, scene.streams[0]));
    }
    return sp_capture_instantiate(sp_capture_end(scene.streams[0]));
}

/* The device works on memory of the host that is registered, and on no other. */
static struct starpool_pool *make_registered(void)
{
    struct starpool_pool_config config;
    struct starpool_pool *pool;

    starpool_pool_config_init(&config);
    config.is_registered = true;
    assert_ok(starpool_pool_create(&config, &pool));
    return pool;
}

static void setup_scene(void)
{
    scene.random = sp_test_seed();
    scene.streams[0] = on.a;
    scene.streams[1] = on.b;
    assert_cu(SUCCESS, on.driver->cuStreamCreate(&scene.streams[2], SP_CU_STREAM_NON_BLOCKING));
    scene.pools[0] = stress.device;
    scene.pools[1] = stress.arena;
    scene.pools[2] = make_registered();
    scene.results = sp_driver_fixture_alloc(scene.pools[2], STARPOOL_STREAM_HOST,
                                            N_RESULTS * MAX_UNITS * UNIT);
}

static void launches_of_random_captures_have_right_data(void **state)
{
    size_t n_rounds = sp_test_scaled(100);

    (void)state;
    setup_scene();
    for (size_t i = 0; i < n_rounds; i++) {
        sp_cu_exec exec = capture_at_random();

        for (size_t s = 0; s < N_STREAMS; s++)
            check_launch(exec, scene.streams[s]);
        assert_cu(SUCCESS, on.driver->cuGraphExecDestroy(exec));
    }
    assert_int_equal(starpool_model_violations(NULL), 0);
    assert_ok(starpool_free(scene.results, STARPOOL_STREAM_HOST));
    assert_cu(SUCCESS, on.driver->cuStreamDestroy(scene.streams[2]));
    sp_capture_wait_for_destructors();
    for (size_t i = 0; i < SP_ARRAY_SIZE(scene.pools); i++)
        assert_int_equal(sp_fixture_stats_of(scene.pools[i]).n_live, 0);
    starpool_pool_destroy(scene.pools[2]);
    assert_int_equal(sp_owned_count, 0);
}

/* ---- graphs that go ---------------------------------------------------------------------- */

/* Notices all the time that graphs have gone. */
static void *notice(void *arg)
{
    struct starpool_stats stats = {.struct_size = sizeof(stats)};

    (void)arg;
    (void)on.driver->cuCtxSetCurrent(on.context);
    while (!atomic_load(&stress.is_over))
        (void)!starpool_pool_stats(stress.host, &stats);
    (void)on.driver->cuCtxSetCurrent(NULL);
    return NULL;
}

/* A block that one graph keeps which goes, and perhaps another one from then on. */
static enum starpool_status keep_and_free(size_t number)
{
    void *block = sp_driver_fixture_alloc(stress.host, STARPOOL_STREAM_HOST, UNIT);
    sp_cu_graph graph, other = NULL;
    enum starpool_status status;

    sp_capture_begin(on.a);
    assert_ok(starpool_graph_keep(on.a, block));
    graph = sp_capture_end(on.a);
    if (number % 2 != 0)
        sp_capture_begin(on.b);
    assert_cu(SUCCESS, on.driver->cuGraphDestroy(graph));
    for (size_t i = number * 37 % 3000; i > 0; i--)
        atomic_signal_fence(memory_order_seq_cst); /* The other thread comes at any moment. */
    if (number % 2 != 0) {
        assert_ok(starpool_graph_keep(on.b, block));
        other = sp_capture_end(on.b);
    }
    status = starpool_free(block, number % 3 != 0 ? STARPOOL_STREAM_HOST : on.a);
    if (other != NULL)
        assert_cu(SUCCESS, on.driver->cuGraphDestroy(other));
    return status;
}

static void block_is_freed_also_when_its_graph_goes_at_that_moment(void **state)
{
    size_t n_rounds = sp_test_scaled(3000), n_refused = 0;
    pthread_t threads[N_WORKERS];

    (void)state;
    atomic_store(&stress.is_over, false);
    for (size_t i = 0; i < N_WORKERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, notice, NULL), 0);
    for (size_t i = 0; i < n_rounds; i++)
        n_refused += keep_and_free(i) != STARPOOL_OK;
    atomic_store(&stress.is_over, true);
    for (size_t i = 0; i < N_WORKERS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(n_refused, 0);
    assert_ok(starpool_stream_synchronize(on.a));
    sp_capture_wait_for_destructors();
    assert_int_equal(sp_fixture_stats_of(stress.host).graph_held_bytes, 0);
    assert_int_equal(sp_fixture_stats_of(stress.host).n_live, 0);
    assert_int_equal(sp_owned_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(launches_of_random_captures_have_right_data, setup,
                                        sp_capture_fixture_teardown),
        cmocka_unit_test_setup_teardown(block_is_freed_also_when_its_graph_goes_at_that_moment,
                                        setup, sp_capture_fixture_teardown),
        cmocka_unit_test_setup_teardown(no_capture_is_lost_whoever_works_in_which_mode, setup,
                                        sp_capture_fixture_teardown),
    };

    return sp_capture_fixture_init()
               ? cmocka_run_group_tests_name("capture_stress", tests, NULL, NULL)
               : 99;
}
