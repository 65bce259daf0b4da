/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Threads, each with a context of its own, use memory that others give back at any time, in any
 * way. Whatever the answers are, each is one that the driver gives, and the process lives. Each
 * thread has a part of every piece of memory, so that only its own stream touches the bytes. */
#include "config.h"

#include "tests/kernel_fixture.h"

#include <pthread.h>
#include <sys/mman.h>

#include "src/util/util.h"

#define N_THREADS 3
#define N_SLOTS   8
#define PART      ((size_t)16 << 10)
#define SIZE      (4 * PART)

enum kind { NONE, PLAIN, MANAGED, PINNED, REGISTERED, POOLED };

/* Of the kinds above, without NONE. What a free of a pool's fills is no thread's part. */
static unsigned n_kinds;

/* While somebody queues an operation, the memory is there; it may go right afterwards. The lock
 * is never held while something is waited for. */
struct piece {
    enum kind kind;
    sp_cu_ptr ptr;
    unsigned owner; /* whose context it belongs to, unless it is of a pool */
};
static struct slot {
    pthread_mutex_t lock;
    struct piece piece;
} slots[N_SLOTS];

struct worker {
    pthread_t thread;
    unsigned number;
    uint64_t random;
    const struct sp_driver *driver;
    uint32_t *flag; /* what its stream waits for: that it becomes `round` */
    uint32_t round;
    sp_cu_context context;
    sp_cu_stream stream;
    sp_cu_function add;
    sp_cu_exec exec; /* what it uses may be no more */
    unsigned n_failed;
    sp_cu_result strange;  /* an answer that nothing explains */
    pthread_rwlock_t life; /* of the context: read by who gives its memory back */
};
static struct worker workers[N_THREADS];

static void note(struct worker *worker, sp_cu_result result)
{
    if (result == SP_CU_ILLEGAL_ADDRESS)
        worker->n_failed++;
    else if (result != SP_CU_SUCCESS && result != SP_CU_INVALID_VALUE &&
             result != SP_CU_OUT_OF_MEMORY)
        worker->strange = result;
}

/* ---- contexts ------------------------------------------------------------------------ */

static void open_context(struct worker *worker)
{
    const struct sp_driver *driver = worker->driver;
    sp_cu_module module = NULL;

    note(worker, driver->cuCtxCreate(&worker->context, 0, (int)worker->number % 2));
    note(worker, driver->cuStreamCreate(&worker->stream, SP_CU_STREAM_NON_BLOCKING));
    note(worker, driver->cuModuleLoadData(&module, "an image"));
    note(worker, driver->cuModuleGetFunction(&worker->add, module, "test_add"));
}

/* Let the stream go on. */
static void release(const struct worker *worker)
{
    __atomic_store_n(worker->flag, worker->round, __ATOMIC_RELEASE);
}

/* What the context takes along is in no slot any more. */
static void take_own(const struct worker *worker, struct piece taken[N_SLOTS])
{
    for (size_t i = 0; i < N_SLOTS; i++) {
        struct piece *piece = &slots[i].piece;

        taken[i].kind = NONE;
        pthread_mutex_lock(&slots[i].lock);
        if (piece->kind != NONE && piece->kind != POOLED && piece->owner == worker->number) {
            taken[i] = *piece;
            piece->kind = NONE;
        }
        pthread_mutex_unlock(&slots[i].lock);
    }
}

/* Its memory goes with it, whoever has something to do there. */
static void close_context(struct worker *worker)
{
    struct piece taken[N_SLOTS];

    if (worker->exec != NULL)
        note(worker, worker->driver->cuGraphExecDestroy(worker->exec));
    worker->exec = NULL;
    take_own(worker, taken);
    pthread_rwlock_wrlock(&worker->life);
    note(worker, worker->driver->cuCtxDestroy(worker->context));
    pthread_rwlock_unlock(&worker->life);
    for (size_t i = 0; i < N_SLOTS; i++) {
        if (taken[i].kind == REGISTERED)
            munmap((void *)(uintptr_t)taken[i].ptr, SIZE);
    }
}

/* ---- memory -------------------------------------------------------------------------- */

static sp_cu_result get_registered(struct worker *worker, sp_cu_ptr *ptr_out)
{
    void *base = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    sp_cu_result result;

    if (base == MAP_FAILED)
        return SP_CU_OUT_OF_MEMORY;
    result = worker->driver->cuMemHostRegister(base, SIZE, 0);
    if (result != SP_CU_SUCCESS)
        munmap(base, SIZE);
    *ptr_out = (uintptr_t)base;
    return result;
}

static sp_cu_result get_pinned(struct worker *worker, sp_cu_ptr *ptr_out)
{
    void *base = NULL;
    sp_cu_result result = worker->driver->cuMemAllocHost(&base, SIZE);

    *ptr_out = (uintptr_t)base;
    return result;
}

static sp_cu_result get_kind(struct worker *worker, enum kind kind, sp_cu_ptr *ptr_out)
{
    const struct sp_driver *driver = worker->driver;

    switch (kind) {
    case PLAIN:
        return driver->cuMemAlloc(ptr_out, SIZE);
    case MANAGED:
        return driver->cuMemAllocManaged(ptr_out, SIZE, SP_CU_MEM_ATTACH_GLOBAL);
    case POOLED:
        return driver->cuMemAllocAsync(ptr_out, SIZE, worker->stream);
    case PINNED:
        return get_pinned(worker, ptr_out);
    case REGISTERED:
        return get_registered(worker, ptr_out);
    case NONE:
        break;
    }
    return SP_CU_INVALID_VALUE;
}

static void fill(struct worker *worker, struct piece *piece)
{
    enum kind kind = 1 + (enum kind)sp_test_random_below(&worker->random, n_kinds);
    sp_cu_result result = get_kind(worker, kind, &piece->ptr);

    note(worker, result);
    piece->owner = worker->number;
    if (result == SP_CU_SUCCESS)
        piece->kind = kind;
}

static sp_cu_result give_back(struct worker *worker, const struct piece *piece)
{
    const struct sp_driver *driver = worker->driver;
    void *host = (void *)(uintptr_t)piece->ptr;

    if (piece->kind == REGISTERED)
        return driver->cuMemHostUnregister(host);
    if (piece->kind == PINNED)
        return driver->cuMemFreeHost(host);
    return sp_test_random_below(&worker->random, 2) == 0
               ? driver->cuMemFree(piece->ptr)
               : driver->cuMemFreeAsync(piece->ptr, worker->stream);
}

/* The call may wait for another thread's stream, which must not wait for this one. A context
 * that has failed refuses it, and takes the memory along when it goes. */
static void empty(struct worker *worker, const struct piece *piece)
{
    sp_cu_result result;

    release(worker);
    result = give_back(worker, piece);
    note(worker, result);
    if (piece->kind == REGISTERED && result == SP_CU_SUCCESS)
        munmap((void *)(uintptr_t)piece->ptr, SIZE);
}

/* ---- uses ---------------------------------------------------------------------------- */

static sp_cu_ptr part_of(const struct worker *worker, const struct piece *piece)
{
    return piece->ptr + worker->number * PART;
}

static sp_cu_result launch_kernel(struct worker *worker, sp_cu_ptr ptr)
{
    int n = 16, value = 1;
    void *args[] = {&ptr, &n, &value};

    return worker->driver->cuLaunchKernel(worker->add, 1, 1, 1, 1, 1, 1, 0, worker->stream,
                                          args, NULL);
}

/* The executable is kept for later launches. */
static sp_cu_result launch_graph(struct worker *worker, sp_cu_ptr ptr)
{
    struct sp_cu_memset_params params = sp_test_set_params(ptr, 3, PART);
    const struct sp_driver *driver = worker->driver;
    sp_cu_graph graph = NULL;
    sp_cu_node node;

    if (worker->exec != NULL)
        note(worker, driver->cuGraphExecDestroy(worker->exec));
    worker->exec = NULL;
    note(worker, driver->cuGraphCreate(&graph, 0));
    note(worker, driver->cuGraphAddMemsetNode(&node, graph, NULL, 0, &params, worker->context));
    note(worker, driver->cuGraphInstantiate(&worker->exec, graph, 0));
    note(worker, driver->cuGraphDestroy(graph));
    return worker->exec == NULL ? SP_CU_SUCCESS
                                : driver->cuGraphLaunch(worker->exec, worker->stream);
}

static bool is_host(const struct piece *piece)
{
    return piece->kind == PINNED || piece->kind == REGISTERED;
}

/* The host's memory may be anybody's once it has been given back: no graph keeps that. */
static void use(struct worker *worker, const struct piece *piece)
{
    const struct sp_driver *driver = worker->driver;
    sp_cu_ptr ptr = part_of(worker, piece);

    switch (sp_test_random_below(&worker->random, is_host(piece) ? 4 : 5)) {
    case 0:
        note(worker, driver->cuMemsetD8Async(ptr, 1, PART, worker->stream));
        break;
    case 1:
        note(worker, driver->cuMemsetD2D16Async(ptr, 64, 2, 8, 16, worker->stream));
        break;
    case 2:
        note(worker, driver->cuStreamWriteValue32(worker->stream, ptr, 1, 0));
        break;
    case 3:
        note(worker, launch_kernel(worker, ptr));
        break;
    default:
        note(worker, launch_graph(worker, ptr));
        break;
    }
}

/* A copy from host to host would be waited for. */
static void copy(struct worker *worker, const struct piece *target, const struct piece *source)
{
    if (is_host(target) && is_host(source))
        return;
    note(worker, worker->driver->cuMemcpyAsync(part_of(worker, target), part_of(worker, source),
                                               PART, worker->stream));
}

/* ---- rounds -------------------------------------------------------------------------- */

/* What is to be given back is in no slot any more, and its context stays until then. */
static void act_on(struct worker *worker, struct piece *piece, const struct piece *another,
                   struct piece *taken_out)
{
    taken_out->kind = NONE;
    if (piece->kind == NONE) {
        fill(worker, piece);
    } else if (sp_test_random_below(&worker->random, 4) == 0) {
        pthread_rwlock_rdlock(&workers[piece->owner].life);
        *taken_out = *piece;
        piece->kind = NONE;
    } else if (another->kind == NONE || sp_test_random_below(&worker->random, 2) == 0) {
        use(worker, piece);
    } else {
        copy(worker, another, piece);
    }
}

static void act(struct worker *worker)
{
    size_t first = sp_test_random_below(&worker->random, N_SLOTS - 1);
    size_t second = first + 1 + sp_test_random_below(&worker->random, N_SLOTS - 1 - first);
    struct piece taken;

    pthread_mutex_lock(&slots[first].lock);
    pthread_mutex_lock(&slots[second].lock);
    act_on(worker, &slots[first].piece, &slots[second].piece, &taken);
    pthread_mutex_unlock(&slots[second].lock);
    pthread_mutex_unlock(&slots[first].lock);
    if (taken.kind == NONE)
        return;
    empty(worker, &taken);
    pthread_rwlock_unlock(&workers[taken.owner].life);
}

/* Some operations that wait, and then go. */
static void do_round(struct worker *worker)
{
    const struct sp_driver *driver = worker->driver;

    note(worker, driver->cuStreamWaitValue32(worker->stream, (uintptr_t)worker->flag,
                                             worker->round, SP_CU_WAIT_VALUE_GEQ));
    for (unsigned i = 0; i < 6; i++)
        act(worker);
    if (worker->exec != NULL)
        note(worker, driver->cuGraphLaunch(worker->exec, worker->stream));
    release(worker);
    if (worker->round % 2 == 0)
        note(worker, driver->cuStreamSynchronize(worker->stream));
    if (driver->cuStreamQuery(worker->stream) == SP_CU_ILLEGAL_ADDRESS ||
        worker->round % 16 == 0) {
        close_context(worker);
        open_context(worker);
    }
}

static void *work(void *arg)
{
    struct worker *worker = arg;
    uint32_t n_rounds = (uint32_t)sp_test_scaled(300);

    open_context(worker);
    while (worker->round++ < n_rounds)
        do_round(worker);
    close_context(worker);
    return NULL;
}

static void start(unsigned number, uint32_t *flag)
{
    struct worker *worker = &workers[number];

    *flag = 0;
    *worker = (struct worker){.number = number,
                              .random = sp_test_seed() + number,
                              .driver = sp_model.driver,
                              .flag = flag};
    assert_int_equal(pthread_rwlock_init(&worker->life, NULL), 0);
    assert_int_equal(pthread_create(&worker->thread, NULL, work, worker), 0);
}

/* Pools' memory is what no context has taken along. */
static void end_slot(struct slot *slot)
{
    if (slot->piece.kind != NONE) {
        assert_int_equal(slot->piece.kind, POOLED);
        assert_done(cuMemFree(slot->piece.ptr));
    }
    pthread_mutex_destroy(&slot->lock);
}

static void nothing_that_is_given_back_too_early_ends_the_process(void **state)
{
    uint32_t *flags = NULL;
    unsigned n_failed = 0;

    (void)state;
    assert_done(cuMemAllocHost((void **)&flags, N_THREADS * sizeof(*flags)));
    for (size_t i = 0; i < N_SLOTS; i++) {
        slots[i].piece.kind = NONE;
        pthread_mutex_init(&slots[i].lock, NULL);
    }
    for (unsigned i = 0; i < N_THREADS; i++)
        start(i, &flags[i]);
    for (unsigned i = 0; i < N_THREADS; i++) {
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
        assert_int_equal(workers[i].strange, SP_CU_SUCCESS);
        n_failed += workers[i].n_failed;
    }
    for (unsigned i = 0; i < N_THREADS; i++)
        pthread_rwlock_destroy(&workers[i].life);
    for (size_t i = 0; i < N_SLOTS; i++)
        end_slot(&slots[i]);
    if (n_failed > 0)
        assert_true(starpool_model_violations(NULL) > 0);
    assert_done(cuCtxSynchronize());
}

static int begin_threads(void **state)
{
    n_kinds = POOLED;
    return sp_test_model_threads(state);
}

static int begin_inline(void **state)
{
    n_kinds = POOLED;
    return sp_test_model_inline(state);
}

static int begin_protected(void **state)
{
    struct starpool_model_config shape = sp_test_model_shape(2, STARPOOL_MODEL_THREADS);

    (void)state;
    shape.is_protected = true;
    n_kinds = REGISTERED;
    return sp_test_model_begin(&shape);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SP_TEST_BOTH_FROM(nothing_that_is_given_back_too_early_ends_the_process, begin_threads,
                          begin_inline),
        {"nothing_that_is_given_back_too_early_ends_the_process_protected",
         nothing_that_is_given_back_too_early_ends_the_process, begin_protected,
         sp_test_model_end, NULL},
    };

    sp_test_kernels();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
