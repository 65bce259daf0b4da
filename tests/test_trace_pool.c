/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What pools and streams do is in the trace: all of it, from its first moment to its last,
 * whatever caches, threads and forks there are. */
#include "config.h"

#include "tests/support.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <starpool.h>

#include "src/model/model.h"
#include "src/pool/pool.h"
#include "src/trace/check.h"
#include "src/util/util.h"
#include "tests/script.h"
#include "tests/trace_case.h"

#define N_THREADS 4
#define N_BLOCKS  64
#define SIZE      ((size_t)4096)

/* Of a thread, with two events each: they fit into its ring, so that none is lost however late
 * the writer comes. */
#define N_ROUNDS 12000

static const struct starpool_location host = {STARPOOL_HOST, 0};
static const struct starpool_location device = {STARPOOL_DEVICE, 0};

/* What threads do; each writes its own members, and the main thread asserts. */
struct worker {
    pthread_t thread;
    size_t n_rounds;
    uint64_t random;
    size_t n_allocs, n_frees, n_failures;
    void *kept;
};

static struct {
    struct sp_script script;
    struct starpool_pool *pool;
    pthread_barrier_t barrier;
    struct worker workers[N_THREADS];
    void *_Atomic shared[N_BLOCKS]; /* blocks that go from thread to thread */
    struct sp_trace_case read;
    struct sp_trace_check check;
} on;

static int setup(void **state)
{
    (void)state;
    memset(&on, 0, sizeof(on));
    sp_log_set_level(SP_LOG_ERROR); /* Refusals are wanted. */
    sp_script_init(&on.script);
    on.pool = sp_script_pool(&on.script, 0);
    pthread_barrier_init(&on.barrier, NULL, N_THREADS + 1);
    return on.pool == NULL ? -1 : 0;
}

static int teardown(void **state)
{
    (void)state;
    (void)starpool_trace_end(); /* Of a test that failed. */
    starpool_pool_destroy(on.pool);
    sp_script_fini(&on.script);
    pthread_barrier_destroy(&on.barrier);
    return 0;
}

static int begin_group(void **state)
{
    (void)state;
    sp_trace_case_begin();
    return 0;
}

static int end_group(void **state)
{
    (void)state;
    sp_trace_case_end();
    return 0;
}

static void begin(void)
{
    assert_ok(starpool_trace_begin(sp_trace_case_path("trace")));
}

/* End the trace and read it, which must find nothing wrong and nothing missing. */
static void end(void)
{
    struct starpool_trace *reader;

    assert_ok(starpool_trace_end());
    assert_true(sp_trace_case_read(sp_trace_case_path("trace"), &on.read));
    assert_ok(on.read.status);
    assert_int_equal(on.read.n_lost, 0);
    assert_ok(starpool_trace_open(sp_trace_case_path("trace"), &reader));
    assert_ok(sp_trace_check(reader, &on.check));
    starpool_trace_close(reader);
    assert_string_equal(on.check.problems[0], "");
    assert_int_equal(on.check.n_problems, 0);
}

static void *alloc_from(struct starpool_pool *pool, size_t size, starpool_stream stream)
{
    void *ptr = NULL;

    assert_ok(starpool_alloc(pool, size, stream, &ptr));
    return ptr;
}

/* Records of a kind that were read, and the nth of them. */
static size_t count(enum starpool_trace_kind kind)
{
    size_t n = 0;

    for (size_t i = 0; i < sp_min(on.read.n, SP_TRACE_CASE_ROOM); i++)
        n += on.read.records[i].kind == (int)kind;
    return n;
}

static const struct starpool_trace_record *nth(enum starpool_trace_kind kind, size_t index)
{
    for (size_t i = 0; i < sp_min(on.read.n, SP_TRACE_CASE_ROOM); i++) {
        if (on.read.records[i].kind == (int)kind && index-- == 0)
            return &on.read.records[i];
    }
    fail_msg("there are not so many events of kind %d", (int)kind);
    return NULL;
}

/* The kinds of all events, in the order of the trace. */
static void assert_kinds(const enum starpool_trace_kind *kinds, size_t n)
{
    for (size_t i = 0; i < n && i < on.read.n; i++)
        assert_int_equal(on.read.records[i].kind, (int)kinds[i]);
    assert_int_equal(on.read.n, n);
}

/* ---- one thread ------------------------------------------------------------------------- */

static void life_of_a_pool_is_recorded(void **state)
{
    static const enum starpool_trace_kind kinds[] = {
        STARPOOL_TRACE_POOL_CREATE, STARPOOL_TRACE_GROW, STARPOOL_TRACE_ALLOC,
        STARPOOL_TRACE_FREE,        STARPOOL_TRACE_TRIM, STARPOOL_TRACE_RELEASE,
        STARPOOL_TRACE_POOL_DESTROY};
    struct sp_script script;
    struct starpool_pool *pool;
    void *ptr;

    (void)state;
    starpool_pool_destroy(on.pool);
    on.pool = NULL;
    begin();
    sp_script_init(&script);
    pool = sp_script_pool(&script, 8 * SP_MIB);
    ptr = alloc_from(pool, 100, STARPOOL_STREAM_HOST);
    assert_ok(starpool_free(ptr, STARPOOL_STREAM_HOST));
    assert_ok(starpool_pool_trim(pool, 0));
    starpool_pool_destroy(pool);
    end();
    sp_script_fini(&script);
    assert_kinds(kinds, SP_ARRAY_SIZE(kinds));
    assert_int_equal(on.read.records[0].size, 8 * SP_MIB);
    assert_false(on.read.records[0].is_earlier);
    assert_int_equal(on.read.records[1].size, SP_MIB);
    assert_int_equal(on.read.records[2].address, (uintptr_t)ptr);
    assert_in_range(on.read.records[2].size, 100, SIZE);
    assert_int_equal(on.read.records[3].address, (uintptr_t)ptr);
    assert_int_equal(on.read.records[3].size, on.read.records[2].size);
    for (size_t i = 0; i < SP_ARRAY_SIZE(kinds); i++)
        assert_int_equal(on.read.records[i].pool, on.read.records[0].pool);
}

static void pools_from_before_are_announced(void **state)
{
    void *ptr = alloc_from(on.pool, SIZE, STARPOOL_STREAM_HOST);

    (void)state;
    begin();
    assert_ok(starpool_free(ptr, STARPOOL_STREAM_HOST));
    end();
    assert_int_equal(count(STARPOOL_TRACE_POOL_CREATE), 1);
    assert_true(nth(STARPOOL_TRACE_POOL_CREATE, 0)->is_earlier);
    assert_string_equal(on.read.names[0], on.pool->name);
    assert_int_equal(on.check.n_unknown_frees, 1);
}

static void refusals_are_recorded_with_their_cause(void **state)
{
    starpool_stream stream;
    void *ptr;

    (void)state;
    assert_ok(starpool_stream_create(host, &stream));
    on.script.most = SP_MIB;
    on.script.refusal = STARPOOL_ENODE;
    begin();
    assert_status(STARPOOL_ENODE,
                  starpool_alloc(on.pool, 4 * SP_MIB, STARPOOL_STREAM_HOST, &ptr));
    assert_status(STARPOOL_ENODE, starpool_alloc(on.pool, 8 * SP_MIB, stream, &ptr));
    ptr = alloc_from(on.pool, SIZE, stream);
    assert_ok(starpool_free(ptr, stream));
    assert_status(STARPOOL_ENOMEM, starpool_alloc(on.pool, SIZE_MAX, stream, &ptr));
    end();
    starpool_stream_destroy(stream);
    assert_int_equal(count(STARPOOL_TRACE_REFUSE), 3);
    assert_int_equal(nth(STARPOOL_TRACE_REFUSE, 0)->status, STARPOOL_ENODE);
    assert_int_equal(nth(STARPOOL_TRACE_REFUSE, 0)->size, 4 * SP_MIB);
    assert_int_equal(nth(STARPOOL_TRACE_REFUSE, 0)->stream, STARPOOL_TRACE_HOST);
    assert_int_equal(nth(STARPOOL_TRACE_REFUSE, 1)->status, STARPOOL_ENODE);
    assert_int_equal(nth(STARPOOL_TRACE_REFUSE, 1)->size, 8 * SP_MIB);
    assert_int_equal(nth(STARPOOL_TRACE_REFUSE, 1)->stream,
                     nth(STARPOOL_TRACE_ALLOC, 0)->stream);
    assert_int_equal(nth(STARPOOL_TRACE_REFUSE, 2)->status, STARPOOL_ENOMEM);
    assert_int_not_equal(nth(STARPOOL_TRACE_REFUSE, 2)->stream, STARPOOL_TRACE_HOST);
}

/* ---- streams ---------------------------------------------------------------------------- */

static void order_of_streams_is_recorded(void **state)
{
    starpool_stream a, b;
    uint64_t point;
    void *ptr;

    (void)state;
    begin();
    assert_ok(starpool_stream_create(host, &a));
    assert_ok(starpool_stream_create(host, &b));
    ptr = alloc_from(on.pool, SIZE, a);
    assert_ok(starpool_free(ptr, a));
    assert_ok(starpool_stream_record(a, &point));
    assert_ok(starpool_stream_wait(b, a, point));
    assert_ptr_equal(alloc_from(on.pool, SIZE, b), ptr);
    assert_ok(starpool_stream_synchronize(b));
    assert_ok(starpool_free(ptr, STARPOOL_STREAM_HOST));
    starpool_stream_destroy(a);
    starpool_stream_destroy(b);
    end();
    assert_int_equal(count(STARPOOL_TRACE_STREAM_CREATE), 2);
    assert_int_equal(count(STARPOOL_TRACE_STREAM_DESTROY), 2);
    assert_int_equal(nth(STARPOOL_TRACE_STREAM_CREATE, 0)->location.kind, STARPOOL_HOST);
    assert_int_equal(nth(STARPOOL_TRACE_RECORD, 0)->point, point);
    assert_int_equal(nth(STARPOOL_TRACE_WAIT, 0)->point, point);
    assert_int_equal(nth(STARPOOL_TRACE_WAIT, 0)->stream, nth(STARPOOL_TRACE_ALLOC, 1)->stream);
    assert_int_equal(nth(STARPOOL_TRACE_WAIT, 0)->other, nth(STARPOOL_TRACE_ALLOC, 0)->stream);
    assert_int_equal(nth(STARPOOL_TRACE_ALLOC, 0)->edge, STARPOOL_TRACE_EDGE_FRESH);
    assert_int_equal(nth(STARPOOL_TRACE_ALLOC, 1)->edge, STARPOOL_TRACE_EDGE_EVENT);
    assert_true(nth(STARPOOL_TRACE_ALLOC, 0)->point < nth(STARPOOL_TRACE_FREE, 0)->point);
    assert_int_equal(nth(STARPOOL_TRACE_FREE, 1)->stream, STARPOOL_TRACE_HOST);
    assert_int_equal(on.check.n_ordered, 2);
}

static void wait_that_is_added_is_recorded_before_its_block(void **state)
{
    starpool_stream a, b;
    void *ptr;

    (void)state;
    assert_ok(starpool_pool_set_attribute(on.pool, STARPOOL_ATTR_OPPORTUNISTIC, 0));
    begin();
    assert_ok(starpool_stream_create(host, &a));
    assert_ok(starpool_stream_create(host, &b));
    ptr = alloc_from(on.pool, 2 * SP_MIB, a);
    assert_ok(starpool_free(ptr, a));
    assert_ptr_equal(alloc_from(on.pool, 2 * SP_MIB, b), ptr);
    assert_ok(starpool_free(ptr, b));
    starpool_stream_destroy(a);
    starpool_stream_destroy(b);
    end();
    assert_int_equal(nth(STARPOOL_TRACE_ALLOC, 1)->edge, STARPOOL_TRACE_EDGE_INTERNAL);
    assert_int_equal(nth(STARPOOL_TRACE_WAIT, 0)->stream, nth(STARPOOL_TRACE_ALLOC, 1)->stream);
    assert_int_equal(nth(STARPOOL_TRACE_WAIT, 0)->point, nth(STARPOOL_TRACE_FREE, 0)->point);
}

static void block_of_the_host_that_a_stream_frees_is_recorded(void **state)
{
    void *ptr = NULL;
    starpool_stream stream;

    (void)state;
    begin();
    assert_ok(starpool_stream_create(host, &stream));
    ptr = alloc_from(on.pool, SIZE, STARPOOL_STREAM_HOST);
    assert_ok(starpool_free(ptr, stream));
    assert_ok(starpool_stream_synchronize(stream));
    starpool_stream_destroy(stream);
    end();
    assert_int_equal(nth(STARPOOL_TRACE_FREE, 0)->address, (uintptr_t)ptr);
    assert_int_equal(nth(STARPOOL_TRACE_FREE, 0)->stream,
                     nth(STARPOOL_TRACE_STREAM_CREATE, 0)->stream);
    assert_int_equal(nth(STARPOOL_TRACE_SYNCHRONIZE, 0)->stream,
                     nth(STARPOOL_TRACE_STREAM_CREATE, 0)->stream);
}

/* ---- threads ---------------------------------------------------------------------------- */

static void take_and_give(struct worker *worker)
{
    void *ptr = NULL;

    if (starpool_alloc(on.pool, SIZE, STARPOOL_STREAM_HOST, &ptr) != STARPOOL_OK) {
        worker->n_failures++;
        return;
    }
    worker->n_allocs++;
    worker->n_failures += starpool_free(ptr, STARPOOL_STREAM_HOST) != STARPOOL_OK;
    worker->n_frees++;
}

/* Fill the caches, wait for what the main thread does, go on. */
static void *work_before_and_after(void *arg)
{
    struct worker *worker = arg;

    for (size_t i = 0; i < 100; i++)
        take_and_give(worker);
    worker->n_allocs = worker->n_frees = 0;
    pthread_barrier_wait(&on.barrier);
    pthread_barrier_wait(&on.barrier);
    for (size_t i = 0; i < worker->n_rounds; i++)
        take_and_give(worker);
    pthread_barrier_wait(&on.barrier);
    pthread_barrier_wait(&on.barrier);
    take_and_give(worker);
    return NULL;
}

static void start_workers(void *(*work)(void *), size_t n_rounds)
{
    for (size_t i = 0; i < N_THREADS; i++) {
        on.workers[i].n_rounds = n_rounds;
        on.workers[i].random = sp_test_seed() + i;
        assert_int_equal(pthread_create(&on.workers[i].thread, NULL, work, &on.workers[i]), 0);
    }
}

static void join_workers(void)
{
    for (size_t i = 0; i < N_THREADS; i++)
        pthread_join(on.workers[i].thread, NULL);
    for (size_t i = 0; i < N_THREADS; i++)
        assert_int_equal(on.workers[i].n_failures, 0);
}

static void warm_caches_hide_nothing(void **state)
{
    (void)state;
    start_workers(work_before_and_after, 20);
    pthread_barrier_wait(&on.barrier);
    begin();
    pthread_barrier_wait(&on.barrier);
    pthread_barrier_wait(&on.barrier);
    end();
    assert_int_equal(on.check.n_allocs, N_THREADS * 20);
    assert_int_equal(on.check.n_frees, N_THREADS * 20);
    assert_int_equal(on.check.n_unknown_frees, 0);
    assert_true(sp_pool_has_open_front(on.pool)); /* They serve again. */
    pthread_barrier_wait(&on.barrier);
    join_workers();
}

/* Blocks go from thread to thread, through caches, depot and store. */
static void *exchange(void *arg)
{
    struct worker *worker = arg;

    for (size_t i = 0; i < worker->n_rounds; i++) {
        size_t size = 1 + sp_test_random_below(&worker->random, 4 * SIZE);
        void *_Atomic *place = &on.shared[sp_test_random_below(&worker->random, N_BLOCKS)];
        void *ptr = NULL;

        if (starpool_alloc(on.pool, size, STARPOOL_STREAM_HOST, &ptr) == STARPOOL_OK)
            worker->n_allocs++;
        else
            worker->n_failures++;
        ptr = atomic_exchange(place, ptr);
        if (ptr == NULL)
            continue;
        worker->n_frees++;
        worker->n_failures += starpool_free(ptr, STARPOOL_STREAM_HOST) != STARPOOL_OK;
    }
    return NULL;
}

static void free_shared(void)
{
    for (size_t i = 0; i < N_BLOCKS; i++) {
        void *ptr = atomic_exchange(&on.shared[i], NULL);

        if (ptr != NULL)
            assert_ok(starpool_free(ptr, STARPOOL_STREAM_HOST));
    }
}

static void all_that_threads_do_is_recorded(void **state)
{
    size_t n_allocs = 0;

    (void)state;
    begin();
    start_workers(exchange, N_ROUNDS);
    join_workers();
    free_shared();
    end();
    for (size_t i = 0; i < N_THREADS; i++)
        n_allocs += on.workers[i].n_allocs;
    assert_int_equal(on.check.n_allocs, n_allocs);
    assert_int_equal(on.check.n_frees, n_allocs);
}

static void trace_of_any_moment_is_sound(void **state)
{
    (void)state;
    start_workers(exchange, N_ROUNDS);
    for (size_t i = 0; i < sp_test_scaled(10); i++) {
        begin();
        assert_status(STARPOOL_EBUSY, starpool_trace_begin(sp_trace_case_path("other")));
        end();
    }
    join_workers();
    free_shared();
}

/* Ends with blocks in its caches, which are shut by then. */
static void *end_with_warm_caches(void *arg)
{
    struct worker *worker = arg;

    for (size_t i = 0; i < 100; i++)
        take_and_give(worker);
    pthread_barrier_wait(&on.barrier);
    pthread_barrier_wait(&on.barrier);
    return NULL;
}

static void thread_may_end_while_its_caches_are_shut(void **state)
{
    (void)state;
    start_workers(end_with_warm_caches, 0);
    pthread_barrier_wait(&on.barrier);
    begin();
    pthread_barrier_wait(&on.barrier);
    join_workers();
    end();
    assert_int_equal(on.check.n_allocs, 0);
}

/* ---- forks ------------------------------------------------------------------------------ */

/* The exit status tells what went wrong. */
static void work_in_child(void)
{
    struct worker worker = {0};

    for (size_t i = 0; i < 100; i++)
        take_and_give(&worker);
    if (worker.n_failures > 0)
        _exit(1);
    if (!sp_pool_has_open_front(on.pool))
        _exit(2);
    _exit(starpool_trace_end() == STARPOOL_ENOTINIT ? 0 : 3);
}

static void forked_child_works_and_records_nothing(void **state)
{
    struct worker worker = {0};
    int status = -1;
    pid_t child;

    (void)state;
    take_and_give(&worker); /* A cache from before. */
    begin();
    take_and_give(&worker);
    child = fork();
    if (child == 0)
        work_in_child();
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    take_and_give(&worker);
    end();
    assert_int_equal(on.check.n_allocs, 2);
    assert_int_equal(on.check.n_frees, 2);
}

/* ---- the driver's pools ----------------------------------------------------------------- */

static struct starpool_pool *make_drivers_pool(void)
{
    struct starpool_pool_config config;
    struct starpool_pool *pool = NULL;

    starpool_pool_config_init(&config);
    config.location = device;
    config.name = "the driver's";
    config.maximum = 4 * SP_MIB;
    config.release_threshold = 0;
    assert_ok(starpool_pool_create(&config, &pool));
    return pool;
}

static void pool_of_the_driver_is_recorded(void **state)
{
    const struct starpool_trace_record *created;
    const struct sp_driver *driver;
    struct starpool_pool *pool;
    sp_cu_context context;
    sp_cu_stream stream;
    void *first, *second, *none;

    (void)state;
    assert_ok(sp_driver_get(&driver));
    assert_int_equal(driver->cuDevicePrimaryCtxRetain(&context, 0), SP_CU_SUCCESS);
    assert_int_equal(driver->cuCtxSetCurrent(context), SP_CU_SUCCESS);
    assert_int_equal(driver->cuStreamCreate(&stream, SP_CU_STREAM_NON_BLOCKING), SP_CU_SUCCESS);
    begin();
    pool = make_drivers_pool();
    first = alloc_from(pool, SP_MIB, stream);
    second = alloc_from(pool, SIZE, STARPOOL_STREAM_HOST);
    assert_status(STARPOOL_ENOMEM, starpool_alloc(pool, 64 * SP_MIB, stream, &none));
    assert_ok(starpool_free(first, stream));
    assert_ok(starpool_stream_synchronize(stream));
    assert_ok(starpool_free(second, STARPOOL_STREAM_HOST));
    assert_ok(starpool_pool_trim(pool, 0));
    starpool_pool_destroy(pool);
    end();
    assert_int_equal(driver->cuStreamDestroy(stream), SP_CU_SUCCESS);
    (void)driver->cuCtxSetCurrent(NULL);
    (void)driver->cuDevicePrimaryCtxRelease(0);
    created = nth(STARPOOL_TRACE_POOL_CREATE, count(STARPOOL_TRACE_POOL_CREATE) - 1);
    assert_false(created->is_earlier);
    assert_int_equal(created->location.kind, STARPOOL_DEVICE);
    assert_int_equal(created->size, 4 * SP_MIB);
    assert_int_equal(nth(STARPOOL_TRACE_STREAM_CREATE, 0)->location.kind, STARPOOL_DEVICE);
    assert_int_equal(nth(STARPOOL_TRACE_ALLOC, 0)->address, (uintptr_t)first);
    assert_int_equal(nth(STARPOOL_TRACE_ALLOC, 0)->size, SP_MIB);
    assert_int_equal(nth(STARPOOL_TRACE_ALLOC, 0)->stream,
                     nth(STARPOOL_TRACE_STREAM_CREATE, 0)->stream);
    assert_int_equal(nth(STARPOOL_TRACE_ALLOC, 0)->edge, STARPOOL_TRACE_EDGE_NONE);
    assert_int_equal(nth(STARPOOL_TRACE_ALLOC, 1)->address, (uintptr_t)second);
    assert_int_equal(nth(STARPOOL_TRACE_ALLOC, 1)->stream, STARPOOL_TRACE_HOST);
    assert_int_equal(nth(STARPOOL_TRACE_REFUSE, 0)->status, STARPOOL_ENOMEM);
    assert_int_equal(nth(STARPOOL_TRACE_REFUSE, 0)->stream,
                     nth(STARPOOL_TRACE_ALLOC, 0)->stream);
    assert_int_equal(nth(STARPOOL_TRACE_FREE, 0)->stream, nth(STARPOOL_TRACE_ALLOC, 0)->stream);
    assert_int_equal(count(STARPOOL_TRACE_FREE), 2);
    assert_int_equal(count(STARPOOL_TRACE_TRIM), 1);
    assert_int_equal(count(STARPOOL_TRACE_POOL_DESTROY), 1);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(life_of_a_pool_is_recorded),
        CASE(pools_from_before_are_announced),
        CASE(refusals_are_recorded_with_their_cause),
        CASE(order_of_streams_is_recorded),
        CASE(wait_that_is_added_is_recorded_before_its_block),
        CASE(block_of_the_host_that_a_stream_frees_is_recorded),
        CASE(warm_caches_hide_nothing),
        CASE(all_that_threads_do_is_recorded),
        CASE(trace_of_any_moment_is_sound),
        CASE(thread_may_end_while_its_caches_are_shut),
        CASE(forked_child_works_and_records_nothing),
        CASE(pool_of_the_driver_is_recorded),
    };

    if (setenv("STARPOOL_DRIVER", "model", 1) != 0 ||
        setenv("STARPOOL_MODEL_EXEC", "threads", 1) != 0 ||
        setenv("STARPOOL_CHECKS", "2", 1) != 0)
        return 99;
    return cmocka_run_group_tests_name("trace_pool", tests, begin_group, end_group);
}
