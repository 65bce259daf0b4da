/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The simulated libraries under random calls, each sequence in a process of its own, over a
 * model of little memory. However wrong the calls are, nothing crashes or hangs, and in the end
 * all can be destroyed and every device is empty. So it is with what programs do to processes
 * and to libraries. Linked with libstarpool.so, whose model the libraries work on. */
#include "config.h"

#include "tests/sim_fuzz.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/model/model.h"
#include "tests/script.h"

/* [s] after which a process hangs. */
enum { PATIENCE = 120 };

static struct sp_fuzz_log *fuzz_log; /* shared with the processes */
static const struct sp_driver *cu;

/* ---- processes ----------------------------------------------------------------------- */

/* cmocka goes on after a signal, which a process of ours is to die of. */
static struct sigaction before_cmocka[2];
static const int fatal[2] = {SIGSEGV, SIGABRT};

static void remember_signals(void)
{
    for (unsigned i = 0; i < 2; i++)
        (void)sigaction(fatal[i], NULL, &before_cmocka[i]);
}

static void restore_signals(void)
{
    for (unsigned i = 0; i < 2; i++)
        (void)sigaction(fatal[i], &before_cmocka[i], NULL);
}

/* Run it in a process that ends as programs do, by exit(), unless it does so itself. How it
 * ends: 0 if all held. */
static int run_child(void (*body)(const void *arg), const void *arg)
{
    int status = -1;
    pid_t pid;

    memset(fuzz_log, 0, sizeof(*fuzz_log));
    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        restore_signals();
        (void)alarm(PATIENCE);
        body(arg);
        exit(fuzz_log->wrong[0] != '\0');
    }
    if (pid > 0 && waitpid(pid, &status, 0) == pid && status != 0)
        print_error("%s\n", fuzz_log->wrong[0] != '\0' ? fuzz_log->wrong : "crash or hang");
    return status;
}

#define HOLDS(condition)                                             \
    do {                                                             \
        if (!(condition))                                            \
            sp_fuzz_wrong(fuzz_log, "%s does not hold", #condition); \
    } while (0)
#define DONE(call) HOLDS((call) == SP_CU_SUCCESS)

static int load(void **state)
{
    (void)state;
    cu = sp_model_driver();
    fuzz_log = mmap(NULL, sizeof(*fuzz_log), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                    -1, 0);
    return fuzz_log == MAP_FAILED || !sp_fuzz_load() ? -1 : 0;
}

/* ---- random calls -------------------------------------------------------------------- */

static void sequence(const void *job)
{
    sp_fuzz_sequence(job, fuzz_log);
}

static void tell(const struct sp_fuzz_job *job, int status)
{
    unsigned first = fuzz_log->n > SP_FUZZ_LINES ? fuzz_log->n - SP_FUZZ_LINES : 0;

    print_error("after %u of %zu calls about %s, %s, seed %" PRIu64 ", with status %#x\n",
                fuzz_log->n, job->n_calls, sp_fuzz_theme(job->theme),
                job->exec == STARPOOL_MODEL_INLINE ? "inline" : "threads", job->seed,
                (unsigned)status);
    for (unsigned i = first; i < fuzz_log->n; i++)
        print_error("    %s\n", fuzz_log->lines[i % SP_FUZZ_LINES]);
}

static void run_sequences(enum starpool_model_exec exec)
{
    uint64_t random = sp_test_seed();
    size_t n = sp_test_scaled(8);
    bool all_well = true;
    int status;

    for (size_t i = 0; i < n; i++) {
        struct sp_fuzz_job job = {
            .theme = (unsigned)sp_test_random_below(&random, UINT16_MAX),
            .exec = exec,
            .seed = sp_test_random(&random),
            .n_calls = 1000,
            .destroys = i % 3 != 2,
        };

        status = run_child(sequence, &job);
        if (status != 0)
            tell(&job, status);
        all_well = all_well && status == 0;
    }
    assert_true(all_well);
}

static void whatever_is_called_every_device_is_empty_in_the_end(void **state)
{
    (void)state;
    run_sequences(STARPOOL_MODEL_THREADS);
}

static void so_it_is_where_streams_run_inside_calls(void **state)
{
    (void)state;
    run_sequences(STARPOOL_MODEL_INLINE);
}

/* ---- what programs do to processes --------------------------------------------------- */

enum { N_STREAMS = 300 };

static sem_t gate;
static atomic_uint n_run;

static void wait_at_gate(void *arg)
{
    (void)arg;
    while (sem_wait(&gate) != 0)
        continue;
    (void)sem_post(&gate);
}

static void count(void *arg)
{
    (void)arg;
    atomic_fetch_add(&n_run, 1);
}

static void start(void)
{
    struct starpool_model_config config = {.struct_size = sizeof(config)};
    sp_cu_context context = NULL;

    starpool_model_config_init(&config);
    config.n_devices = 2;
    config.device_memory = (uint64_t)8 << 20;
    config.exec = STARPOOL_MODEL_THREADS;
    HOLDS(starpool_model_configure(&config) == STARPOOL_OK);
    HOLDS(sem_init(&gate, 0, 0) == 0);
    DONE(cu->cuInit(0));
    DONE(cu->cuDevicePrimaryCtxRetain(&context, 0));
    DONE(cu->cuCtxSetCurrent(context));
}

static void check_empty(void)
{
    size_t free = 0, total = 1;
    sp_cu_pool pool = NULL;

    DONE(cu->cuCtxSynchronize());
    DONE(cu->cuDeviceGetDefaultMemPool(&pool, 0));
    DONE(cu->cuMemPoolTrimTo(pool, 0));
    DONE(cu->cuDeviceGraphMemTrim(0));
    DONE(cu->cuMemGetInfo(&free, &total));
    HOLDS(free == total);
}

/* Each waits for another one, and all for the gate. */
static void make_busy(sp_cu_stream *streams, unsigned n)
{
    uint64_t random = sp_test_seed();
    sp_cu_event event = NULL;
    sp_cu_ptr ptr = 0;

    for (unsigned i = 0; i < n; i++) {
        DONE(cu->cuStreamCreate(&streams[i], SP_CU_STREAM_NON_BLOCKING));
        if (i == 0)
            DONE(cu->cuLaunchHostFunc(streams[0], wait_at_gate, NULL));
        DONE(cu->cuEventCreate(&event, SP_CU_EVENT_DISABLE_TIMING));
        DONE(cu->cuEventRecord(event, streams[i == 0 ? 0 : sp_test_random_below(&random, i)]));
        DONE(cu->cuStreamWaitEvent(streams[i], event, 0));
        DONE(cu->cuEventDestroy(event));
        DONE(cu->cuMemAllocAsync(&ptr, 1024, streams[i]));
        DONE(cu->cuMemsetD8Async(ptr, 1, 1024, streams[i]));
        DONE(cu->cuLaunchHostFunc(streams[i], count, NULL));
        DONE(cu->cuMemFreeAsync(ptr, streams[i]));
    }
}

static void run_many_streams(const void *arg)
{
    static sp_cu_stream streams[N_STREAMS];

    (void)arg;
    start();
    make_busy(streams, N_STREAMS);
    HOLDS(atomic_load(&n_run) == 0);
    HOLDS(sem_post(&gate) == 0);
    DONE(cu->cuCtxSynchronize());
    HOLDS(atomic_load(&n_run) == N_STREAMS);
    for (unsigned i = 0; i < N_STREAMS; i++)
        DONE(cu->cuStreamDestroy(streams[i]));
    check_empty();
}

static void hundreds_of_streams_do_what_they_were_given(void **state)
{
    (void)state;
    assert_int_equal(run_child(run_many_streams, NULL), 0);
}

/* Whatever the child of a fork calls is refused or needs no driver. */
static void be_refused(void)
{
    const struct sp_fuzz_call *calls;
    sp_cu_ptr ptr = 0;
    size_t n;

    calls = sp_fuzz_calls(&n);
    for (size_t i = 0; i < n; i++)
        (void)sp_fuzz_call(&calls[i], fuzz_log);
    HOLDS(cu->cuMemAlloc(&ptr, 1) == SP_CU_NOT_INITIALIZED);
    HOLDS(cu->cuInit(0) == SP_CU_NOT_INITIALIZED);
    exit(fuzz_log->wrong[0] != '\0');
}

static void fork_while_busy(const void *arg)
{
    sp_cu_stream streams[8];
    int status = -1;
    pid_t pid;

    (void)arg;
    start();
    make_busy(streams, 8);
    pid = fork();
    if (pid == 0)
        be_refused();
    HOLDS(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
    HOLDS(sem_post(&gate) == 0);
    check_empty();
    HOLDS(atomic_load(&n_run) == 8);
}

static void a_forked_child_is_refused_and_ends_and_its_parent_goes_on(void **state)
{
    (void)state;
    /* A stream's thread may have had the lock of the sanitizer's allocator at the fork. */
    if (SP_HAS_SANITIZER)
        skip();
    assert_int_equal(run_child(fork_while_busy, NULL), 0);
}

/* Nobody opens the gate. */
static void exit_while_busy(const void *arg)
{
    sp_cu_stream streams[8];

    (void)arg;
    start();
    make_busy(streams, 8);
}

static void a_program_ends_with_streams_that_never_would(void **state)
{
    (void)state;
    assert_int_equal(run_child(exit_while_busy, NULL), 0);
}

/* ---- what programs do to libraries --------------------------------------------------- */

static void *library(const char *name)
{
    const char *builddir = getenv("builddir");
    char path[4096];

    (void)snprintf(path, sizeof(path), "%s/sim/cuda-13/%s", builddir != NULL ? builddir : ".",
                   name);
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

/* What a plugin does between its coming and its going. */
static void use_once(void *runtime)
{
    int (*allocate)(void **ptr_out, size_t size), (*release)(void *ptr);
    int (*set)(void *ptr, int value, size_t size, sp_cu_stream stream);
    void *ptr = NULL;

    *(void **)&allocate = dlsym(runtime, "cudaMalloc");
    *(void **)&release = dlsym(runtime, "cudaFree");
    *(void **)&set = dlsym(runtime, "cudaMemsetAsync");
    DONE(allocate(&ptr, 4096));
    DONE(set(ptr, 1, 4096, NULL));
    DONE(release(ptr));
}

static void come_and_go(const void *arg)
{
    (void)arg;
    start();
    for (unsigned i = 0; i < 20; i++) {
        void *driver = library("libcuda.so.1"), *runtime = library("libcudart.so.13");
        void *blas_library = library("libcublas.so.13");

        HOLDS(driver != NULL && runtime != NULL && blas_library != NULL);
        if (driver == NULL || runtime == NULL || blas_library == NULL)
            return;
        use_once(runtime);
        HOLDS(dlclose(blas_library) == 0 && dlclose(runtime) == 0 && dlclose(driver) == 0);
    }
    check_empty();
}

static void libraries_come_and_go(void **state)
{
    (void)state;
    assert_int_equal(run_child(come_and_go, NULL), 0);
}

/* ---- cuBLAS in captures -------------------------------------------------------------- */

enum { N_BRANCHES = 3, N_ELEMENTS = 16 };

/* y += x on a stream for each branch, x all ones: y counts. */
static struct {
    int (*create)(void **handle_out), (*destroy)(void *handle);
    int (*set_stream)(void *handle, sp_cu_stream stream);
    int (*axpy)(void *handle, int n, const float *alpha, const void *x, int incx, void *y,
                int incy);
    void *handle;
    sp_cu_ptr x, y[N_BRANCHES];
    unsigned n_wanted[N_BRANCHES]; /* what y counts to */
    sp_cu_stream streams[N_BRANCHES];
    sp_cu_event event;
    uint64_t random;
} blas;

static void open_blas(void)
{
    static const float ones[N_ELEMENTS] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    void *opened = library("libcublas.so.13");

    HOLDS(opened != NULL);
    *(void **)&blas.create = dlsym(opened, "cublasCreate_v2");
    *(void **)&blas.destroy = dlsym(opened, "cublasDestroy_v2");
    *(void **)&blas.set_stream = dlsym(opened, "cublasSetStream_v2");
    *(void **)&blas.axpy = dlsym(opened, "cublasSaxpy_v2");
    blas.random = sp_test_seed();
    DONE(blas.create(&blas.handle));
    DONE(cu->cuMemAlloc(&blas.x, sizeof(ones)));
    DONE(cu->cuMemcpyHtoD(blas.x, ones, sizeof(ones)));
    DONE(cu->cuEventCreate(&blas.event, 0));
    for (unsigned i = 0; i < N_BRANCHES; i++) {
        DONE(cu->cuStreamCreate(&blas.streams[i], SP_CU_STREAM_NON_BLOCKING));
        DONE(cu->cuMemAlloc(&blas.y[i], sizeof(ones)));
        DONE(cu->cuMemsetD32(blas.y[i], 0, N_ELEMENTS));
    }
    DONE(cu->cuCtxSynchronize()); /* These streams do not wait for it. */
}

/* The stream's work goes on behind another's. */
static void follow(unsigned branch, unsigned other)
{
    DONE(cu->cuEventRecord(blas.event, blas.streams[other]));
    DONE(cu->cuStreamWaitEvent(blas.streams[branch], blas.event, 0));
}

/* A capture with as many calls on each branch. */
static sp_cu_graph capture(const unsigned *n_calls)
{
    static const float one = 1;
    sp_cu_graph graph = NULL;

    DONE(cu->cuStreamBeginCapture(blas.streams[0], SP_CU_CAPTURE_MODE_RELAXED));
    for (unsigned i = 1; i < N_BRANCHES; i++)
        follow(i, (unsigned)sp_test_random_below(&blas.random, i));
    for (unsigned i = 0; i < N_BRANCHES; i++) {
        DONE(blas.set_stream(blas.handle, blas.streams[i]));
        for (unsigned k = 0; k < n_calls[i]; k++)
            DONE(blas.axpy(blas.handle, N_ELEMENTS, &one, (const void *)(uintptr_t)blas.x, 1,
                           (void *)(uintptr_t)blas.y[i], 1));
    }
    for (unsigned i = N_BRANCHES; i-- > 1;)
        follow(0, i);
    DONE(cu->cuStreamEndCapture(blas.streams[0], &graph));
    return graph;
}

/* Sometimes the executable is updated from another graph of the same shape. */
static void launch_captures(void)
{
    unsigned n_calls[N_BRANCHES];
    unsigned n_launches = (unsigned)sp_test_random_below(&blas.random, 4);
    struct sp_cu_update_result update;
    sp_cu_graph graph, other;
    sp_cu_exec exec = NULL;

    for (unsigned i = 0; i < N_BRANCHES; i++) {
        n_calls[i] = (unsigned)sp_test_random_below(&blas.random, 5);
        blas.n_wanted[i] += n_calls[i] * n_launches;
    }
    graph = capture(n_calls);
    DONE(cu->cuGraphInstantiate(&exec, graph, 0));
    if (sp_test_random_below(&blas.random, 2) == 0) {
        DONE(cu->cuGraphClone(&other, graph));
        DONE(cu->cuGraphExecUpdate(exec, other, &update));
        DONE(cu->cuGraphDestroy(other));
    }
    DONE(cu->cuGraphDestroy(graph));
    for (unsigned i = 0; i < n_launches; i++)
        DONE(cu->cuGraphLaunch(exec, blas.streams[0]));
    DONE(cu->cuGraphExecDestroy(exec));
}

static void run_blas(const void *arg)
{
    float found[N_ELEMENTS] = {0};

    (void)arg;
    start();
    open_blas();
    for (unsigned i = 0; i < 20 && fuzz_log->wrong[0] == '\0'; i++)
        launch_captures();
    DONE(cu->cuCtxSynchronize());
    for (unsigned i = 0; i < N_BRANCHES; i++) {
        DONE(cu->cuMemcpyDtoH(found, blas.y[i], sizeof(found)));
        HOLDS(found[0] == (float)blas.n_wanted[i] && found[N_ELEMENTS - 1] == found[0]);
        DONE(cu->cuMemFree(blas.y[i]));
    }
    DONE(cu->cuMemFree(blas.x));
    DONE(blas.destroy(blas.handle));
    check_empty();
}

static void captured_routines_run_as_often_as_their_graphs(void **state)
{
    (void)state;
    assert_int_equal(run_child(run_blas, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whatever_is_called_every_device_is_empty_in_the_end),
        cmocka_unit_test(so_it_is_where_streams_run_inside_calls),
        cmocka_unit_test(hundreds_of_streams_do_what_they_were_given),
        cmocka_unit_test(a_forked_child_is_refused_and_ends_and_its_parent_goes_on),
        cmocka_unit_test(a_program_ends_with_streams_that_never_would),
        cmocka_unit_test(libraries_come_and_go),
        cmocka_unit_test(captured_routines_run_as_often_as_their_graphs),
    };

    remember_signals();
    return cmocka_run_group_tests_name("sim_fuzz", tests, load, NULL);
}
