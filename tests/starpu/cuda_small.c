/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A program on cuda_starpu.c and cuda_runtime.c, with the CPU model as driver: each of the
 * plugin's doors to a CUDA device, one case a run: cuda_small CASE. */
#include "case.h"

#include <pthread.h>

#include "cuda_starpu.h"

#include "src/driver/driver.h"

extern int cuda_runtime_mode, cuda_runtime_n_resets;
extern int cudaDeviceReset(void);
extern int cudaStreamBeginCapture(void *stream, int mode);

#define DEVICE_0 1u
#define DEVICE_1 2u
#define OPENCL   3u

static void *take(unsigned node, size_t size)
{
    return (void *)starpu_malloc_on_node_flags(node, size, USUAL_FLAGS);
}

static void give(unsigned node, void *ptr, size_t size)
{
    starpu_free_on_node_flags(node, (uintptr_t)ptr, size, USUAL_FLAGS);
}

static const struct sp_driver *driver(void)
{
    enum starpool_status (*get)(const struct sp_driver **) =
        (enum starpool_status(*)(const struct sp_driver **))starpool("sp_driver_get");
    const struct sp_driver *found;

    CHECK(get(&found) == STARPOOL_OK);
    return found;
}

/* Make a device's primary context this thread's. */
static void enter(int device)
{
    sp_cu_context context;

    CHECK(driver()->cuDevicePrimaryCtxRetain(&context, device) == SP_CU_SUCCESS);
    CHECK(driver()->cuCtxSetCurrent(context) == SP_CU_SUCCESS);
}

static void write_device(void *ptr, size_t size)
{
    CHECK(driver()->cuMemsetD8((sp_cu_ptr)(uintptr_t)ptr, 7, size) == SP_CU_SUCCESS);
    CHECK(driver()->cuCtxSynchronize() == SP_CU_SUCCESS);
}

static int device_of(const void *ptr)
{
    int device = -1;

    CHECK(driver()->cuPointerGetAttribute(&device, SP_CU_POINTER_DEVICE_ORDINAL,
                                          (sp_cu_ptr)(uintptr_t)ptr) == SP_CU_SUCCESS);
    return device;
}

static size_t block_size(const void *ptr)
{
    enum starpool_status (*ask)(const void *, struct starpool_block_info *) =
        (enum starpool_status(*)(const void *, struct starpool_block_info *))starpool(
            "starpool_block_info");
    struct starpool_block_info info = {.struct_size = sizeof(info)};

    CHECK(ask(ptr, &info) == STARPOOL_OK);
    return info.size;
}

/* ---- StarPU's doors ---------------------------------------------------------------------- */

static void each_node(void)
{
    void *first, *second;

    start();
    first = take(DEVICE_0, 1000);
    second = take(DEVICE_1, 100000);
    CHECK(strcmp(pool_of(first), "StarPU node 1 (CUDA 0)") == 0 && device_of(first) == 0);
    CHECK(strcmp(pool_of(second), "StarPU node 2 (CUDA 1)") == 0 && device_of(second) == 1);
    /* Requests are seen at their true size. */
    CHECK(block_size(first) >= 1000 && block_size(first) < 2048);
    CHECK(block_size(second) >= 100000 && block_size(second) < 110000);
    CHECK((uintptr_t)first % 256 == 0 && (uintptr_t)second % 256 == 0);
    CHECK(starpu_memory_get_available(DEVICE_0) == ((starpu_ssize_t)1 << 30) - 1000);
    give(DEVICE_0, first, 1000);
    give(DEVICE_1, second, 100000);
    CHECK(starpu_memory_get_available(DEVICE_0) == (starpu_ssize_t)1 << 30);
    CHECK(starpu_memory_get_available(DEVICE_1) == (starpu_ssize_t)1 << 30);
    /* The address says whose a block is: StarPU may have numbered its nodes anew since. */
    first = (void *)starpu_malloc_on_node_flags(DEVICE_0, 1000, 0);
    CHECK(is_ours(first));
    starpu_free_on_node_flags(OPENCL, (uintptr_t)first, 1000, 0);
    CHECK(!is_ours(first));
    /* Size 0 has an address of its own. */
    first = take(DEVICE_0, 0);
    second = take(DEVICE_0, 0);
    CHECK(first != NULL && second != NULL && first != second);
    give(DEVICE_0, first, 0);
    give(DEVICE_0, second, 0);
    CHECK(cuda_starpu_counts.n_mallocs == 0 && cuda_starpu_counts.n_frees == 0);
    starpu_shutdown();
}

/* Refused by the budget, and by the pool (STARPOOL_DEVICE_LIMIT=8M). */
static void refusals(void)
{
    int i;

    start();
    cuda_starpu_set_budget(DEVICE_0, 1 << 20);
    for (i = 0; i < 10000; i++)
        CHECK(take(DEVICE_0, (1 << 20) + 1) == NULL);
    CHECK(starpu_memory_get_available(DEVICE_0) == 1 << 20);
    cuda_starpu_set_budget(DEVICE_0, 512 << 20);
    for (i = 0; i < 10000; i++)
        CHECK(take(DEVICE_0, 128 << 20) == NULL);
    CHECK(starpu_memory_get_available(DEVICE_0) == 512 << 20);
    /* What is not counted takes nothing from the budget. */
    CHECK(starpu_malloc_on_node_flags(DEVICE_0, 128 << 20, 0) == 0);
    CHECK(starpu_memory_get_available(DEVICE_0) == 512 << 20);
    CHECK(cuda_starpu_counts.n_mallocs == 0);
    starpu_shutdown();
}

/* STARPOOL_DEVICE_LIMIT=64M: what an empty slab holds is no reason to refuse. */
static void empty_slabs(void)
{
    void *ptr;

    start();
    ptr = take(DEVICE_0, 1000);
    CHECK(ptr != NULL);
    give(DEVICE_0, ptr, 1000);
    ptr = take(DEVICE_0, 40 * MIB);
    CHECK(ptr != NULL);
    give(DEVICE_0, ptr, 40 * MIB);
    starpu_shutdown();
}

#define N_THREADS 4

static pthread_barrier_t barrier;

/* Blocks of many sizes on both devices, some of them held for a while. */
static void *ask_often(void *arg)
{
    unsigned state = (unsigned)(uintptr_t)arg;
    void *blocks[16] = {NULL};
    size_t sizes[16] = {0};
    uintptr_t n_refused = 0;
    int i;

    pthread_barrier_wait(&barrier);
    for (i = 0; i < 20000; i++) {
        unsigned at = (state >> 16) % 16;
        unsigned node = DEVICE_0 + at % 2;

        state = state * 1103515245u + 12345u;
        if (blocks[at] != NULL)
            give(node, blocks[at], sizes[at]);
        sizes[at] = 1 + (state >> 8) % 200000;
        blocks[at] = take(node, sizes[at]);
        n_refused += blocks[at] == NULL;
    }
    for (i = 0; i < 16; i++) {
        if (blocks[i] != NULL)
            give(DEVICE_0 + (unsigned)i % 2, blocks[i], sizes[i]);
    }
    return (void *)n_refused;
}

static void threads(void)
{
    pthread_t ids[N_THREADS];
    void *n_refused;
    uintptr_t i;

    start();
    CHECK(pthread_barrier_init(&barrier, NULL, N_THREADS) == 0);
    for (i = 0; i < N_THREADS; i++)
        CHECK(pthread_create(&ids[i], NULL, ask_often, (void *)(i + 1)) == 0);
    for (i = 0; i < N_THREADS; i++)
        CHECK(pthread_join(ids[i], &n_refused) == 0 && n_refused == NULL);
    CHECK(starpu_memory_get_available(DEVICE_0) == (starpu_ssize_t)1 << 30);
    CHECK(starpu_memory_get_available(DEVICE_1) == (starpu_ssize_t)1 << 30);
    CHECK(cuda_starpu_counts.n_mallocs == 0 && cuda_starpu_counts.n_frees == 0);
    starpu_shutdown();
}

/* Other kinds of nodes, and blocks that StarPU has made itself. */
static void others(void)
{
    void *ptr, *own = malloc(1000);

    start();
    ptr = take(OPENCL, 1000);
    CHECK(ptr != NULL && !is_ours(ptr) && cuda_starpu_counts.n_mallocs == 1);
    give(OPENCL, ptr, 1000);
    CHECK(cuda_starpu_counts.n_frees == 1);
    give(DEVICE_0, own, 1000);
    CHECK(cuda_starpu_counts.n_frees == 2);
    starpu_shutdown();
}

/* StarPU serves the devices itself, for whatever reason. */
static void left(void)
{
    void *first, *second;

    start();
    first = take(DEVICE_0, 1000);
    second = take(DEVICE_0, 1000);
    CHECK(cuda_starpu_counts.n_mallocs == 2 && !is_ours(first));
    give(DEVICE_0, first, 1000);
    give(DEVICE_0, second, 1000);
    CHECK(cuda_starpu_counts.n_frees == 2);
    starpu_shutdown();
}

static int app_malloc(unsigned node, void **ptr_out, size_t size, int flags)
{
    (void)node, (void)flags;
    *ptr_out = malloc(size);
    return 0;
}

static int app_free(unsigned node, void *ptr, size_t size, int flags)
{
    (void)node, (void)size, (void)flags;
    free(ptr);
    return 0;
}

static void app_hooks(void)
{
    void *ptr;

    starpu_malloc_set_hooks(app_malloc, app_free);
    start();
    ptr = take(DEVICE_0, 1000);
    CHECK(is_ours(ptr));
    give(DEVICE_0, ptr, 1000);
    CHECK(cuda_starpu_counts.n_mallocs == 0);
    ptr = take(STARPU_MAIN_RAM, 1000);
    CHECK(!is_ours(ptr) && cuda_starpu_counts.n_mallocs == 1);
    give(STARPU_MAIN_RAM, ptr, 1000);
    starpu_shutdown();
}

/* ---- resets and captures ------------------------------------------------------------------
 */

static void reset(void)
{
    void *ptr, *other;

    start();
    other = take(DEVICE_0, 1000);
    ptr = take(DEVICE_1, 1000);
    give(DEVICE_1, ptr, 1000);
    starpu_shutdown();
    CHECK(cudaDeviceReset() == 0 && cuda_runtime_n_resets == 1);
    start();
    ptr = take(DEVICE_1, 1000);
    CHECK(device_of(ptr) == 1);
    enter(1);
    write_device(ptr, 1000);
    give(DEVICE_1, ptr, 1000);
    /* The other device keeps what it has. */
    CHECK(is_ours(other) && device_of(other) == 0);
    give(DEVICE_0, other, 1000);
    starpu_shutdown();
}

/* Each in turn: GLOBAL, THREAD_LOCAL, RELAXED; prints what came through. */
static void captures(void)
{
    int mode;

    CHECK(cudaStreamBeginCapture(NULL, 0) == 0 && cuda_runtime_mode == 0);
    start();
    for (mode = 0; mode < 6; mode++) {
        CHECK(cudaStreamBeginCapture(NULL, mode % 3) == 0);
        printf("%d ", cuda_runtime_mode);
    }
    starpu_shutdown();
}

/* ---- pinning ------------------------------------------------------------------------------
 */

static int is_registered(const void *ptr)
{
    int type = 0;

    return driver()->cuPointerGetAttribute(&type, SP_CU_POINTER_MEMORY_TYPE,
                                           (sp_cu_ptr)(uintptr_t)ptr) == SP_CU_SUCCESS &&
           type == SP_CU_MEMORY_TYPE_HOST;
}

static void pins(void)
{
    char *own = malloc(1000), *ptr;

    start();
    ptr = take(STARPU_MAIN_RAM, 100000);
    CHECK(is_registered(ptr));
    CHECK(starpu_memory_pin(ptr + 1000, 99000) == 0 &&
          starpu_memory_unpin(ptr + 1000, 99000) == 0);
    CHECK(cuda_starpu_counts.n_pins == 0);
    CHECK(starpu_memory_pin(ptr + 1000, 10 * MIB) == 0);
    CHECK(cuda_starpu_counts.n_pins == 1);
    CHECK(starpu_memory_pin(own, 1000) == 0 && starpu_memory_unpin(own, 1000) == 0);
    CHECK(cuda_starpu_counts.n_pins == 3);
    give(STARPU_MAIN_RAM, ptr, 100000);
    starpu_shutdown();
    free(own);
}

/* The host's first pool is of a time when StarPU has no CUDA workers. */
static void pins_later(void)
{
    char *early = (char *)starpu_malloc_on_node_flags(STARPU_MAIN_RAM, 100000, 0), *ptr;
    int life;

    CHECK(is_ours(early) && !is_registered(early));
    for (life = 0; life < 2; life++) {
        start();
        ptr = take(STARPU_MAIN_RAM, 100000);
        CHECK(is_ours(ptr) && is_registered(ptr) && !is_registered(early));
        CHECK(strcmp(pool_of(ptr), pool_of(early)) == 0);
        give(STARPU_MAIN_RAM, ptr, 100000);
        starpu_shutdown();
    }
    starpu_free_on_node_flags(STARPU_MAIN_RAM, (uintptr_t)early, 100000, 0);
}

/* STARPU_DISABLE_PINNING=1 */
static void no_pins(void)
{
    char *ptr;

    start();
    ptr = take(STARPU_MAIN_RAM, 100000);
    CHECK(is_ours(ptr) && !is_registered(ptr));
    CHECK(starpu_memory_pin(ptr, 1000) == 0 && cuda_starpu_counts.n_pins == 1);
    give(STARPU_MAIN_RAM, ptr, 100000);
    starpu_shutdown();
}

/* Without a driver: STARPOOL_DRIVER=none */
static void unregistered(void)
{
    void *ptr;

    start();
    ptr = take(STARPU_MAIN_RAM, 100000);
    CHECK(is_ours(ptr));
    memset(ptr, 1, 100000);
    give(STARPU_MAIN_RAM, ptr, 100000);
    starpu_shutdown();
}

/* ---- codelets -----------------------------------------------------------------------------
 */

typedef int (*codelet_alloc_fn)(size_t size, void **ptr_out);
typedef int (*codelet_free_fn)(void *ptr);

static codelet_alloc_fn codelet_alloc;
static codelet_free_fn codelet_free;

static void run_task(const char *name, int worker, void *stream, void (*function)(void *))
{
    struct starpu_codelet codelet = {.nbuffers = 0};
    struct starpu_task task = {.cl = &codelet, .name = name, .callback_func = function};

    cuda_starpu_be(worker, stream);
    CHECK(starpu_task_submit(&task) == 0);
    cuda_starpu_be(-1, NULL);
}

static void on_device(void *stream)
{
    void *ptr = NULL;

    (void)stream;
    CHECK(codelet_alloc(0, &ptr) == STARPOOL_EINVAL);
    CHECK(codelet_alloc(1000, NULL) == STARPOOL_EINVAL);
    CHECK(codelet_free(NULL) == STARPOOL_EINVAL);
    CHECK(codelet_alloc(1000, &ptr) == STARPOOL_OK);
    CHECK(strcmp(pool_of(ptr), "StarPU codelets (CUDA 1)") == 0 && device_of(ptr) == 1);
    CHECK(codelet_free(ptr) == STARPOOL_OK);
    CHECK(codelet_free(ptr) == STARPOOL_EINVAL);
}

static void on_cpu(void *stream)
{
    void *ptr = NULL;

    (void)stream;
    CHECK(codelet_alloc(1000, &ptr) == STARPOOL_OK);
    CHECK(strcmp(pool_of(ptr), "StarPU node 0 (HOST)") == 0);
    memset(ptr, 1, 1000);
    CHECK(codelet_free(ptr) == STARPOOL_OK);
}

static void codelets(void)
{
    sp_cu_stream stream;
    void *ptr = &ptr;

    codelet_alloc = (codelet_alloc_fn)starpool("starpool_starpu_alloc");
    codelet_free = (codelet_free_fn)starpool("starpool_starpu_free");
    CHECK(codelet_alloc(1000, &ptr) == STARPOOL_ENOTINIT);
    start();
    CHECK(codelet_alloc(1000, &ptr) == STARPOOL_EINVAL);
    CHECK(codelet_free(ptr) == STARPOOL_EINVAL);
    /* A worker that is in no task. */
    cuda_starpu_be(2, NULL);
    CHECK(codelet_alloc(1000, &ptr) == STARPOOL_EINVAL && ptr == &ptr);
    enter(1);
    CHECK(driver()->cuStreamCreate(&stream, SP_CU_STREAM_NON_BLOCKING) == SP_CU_SUCCESS);
    run_task("device", 1, stream, on_device);
    run_task("cpu", 2, NULL, on_cpu);
    CHECK(driver()->cuStreamSynchronize(stream) == SP_CU_SUCCESS);
    starpu_shutdown();
}

static void in_capture(void *stream)
{
    void *ptr = NULL;

    (void)stream;
    CHECK(codelet_alloc(1000, &ptr) == STARPOOL_OK);
    CHECK(codelet_free(ptr) == STARPOOL_OK);
}

static void captured_codelet(void)
{
    sp_cu_stream stream;
    sp_cu_graph graph;
    size_t n_nodes = 0;

    codelet_alloc = (codelet_alloc_fn)starpool("starpool_starpu_alloc");
    codelet_free = (codelet_free_fn)starpool("starpool_starpu_free");
    start();
    enter(1);
    CHECK(driver()->cuStreamCreate(&stream, SP_CU_STREAM_NON_BLOCKING) == SP_CU_SUCCESS);
    CHECK(driver()->cuStreamBeginCapture(stream, SP_CU_CAPTURE_MODE_THREAD_LOCAL) ==
          SP_CU_SUCCESS);
    run_task("captured", 1, stream, in_capture);
    CHECK(driver()->cuStreamEndCapture(stream, &graph) == SP_CU_SUCCESS);
    CHECK(driver()->cuGraphGetNodes(graph, NULL, &n_nodes) == SP_CU_SUCCESS);
    CHECK(n_nodes == 2);
    CHECK(driver()->cuGraphDestroy(graph) == SP_CU_SUCCESS);
    starpu_shutdown();
}

/* ---- STARPOOL_CODELET_CHECK=1 -------------------------------------------------------------
 */

static void *checked;

static void take_block_of(size_t size)
{
    checked = take(DEVICE_0, size);
    CHECK(checked != NULL);
}

static void take_block(void *arg)
{
    (void)arg;
    take_block_of(100000);
}

static void do_nothing(void *arg)
{
    (void)arg;
}

static void write_late(size_t offset)
{
    enter(0);
    write_device((char *)checked + offset, 8);
}

/* Twice the same crime: it is told once. */
static void late_writes(void)
{
    int i;

    start();
    for (i = 0; i < 2; i++) {
        run_task("leaver", 0, NULL, take_block);
        run_task("bystander", 0, NULL, do_nothing);
        give(DEVICE_0, checked, 100000);
        write_late(4096);
    }
    run_task("leaver", 0, NULL, take_block);
    give(DEVICE_0, checked, 100000);
    starpu_shutdown();
}

/* Blocks of other sizes in the same memory, written while they are live only. */
static void good_writes(void)
{
    size_t size;
    int i;

    start();
    for (i = 0; i < 3; i++) {
        for (size = 1000; size < 10 * MIB; size *= 2) {
            take_block_of(size);
            write_late(size / 2);
            give(DEVICE_0, checked, size);
        }
    }
    starpu_shutdown();
}

static const struct test_case cases[] = {
    {"each_node", each_node},
    {"refusals", refusals},
    {"empty_slabs", empty_slabs},
    {"threads", threads},
    {"others", others},
    {"left", left},
    {"app_hooks", app_hooks},
    {"reset", reset},
    {"captures", captures},
    {"pins", pins},
    {"pins_later", pins_later},
    {"no_pins", no_pins},
    {"unregistered", unregistered},
    {"codelets", codelets},
    {"captured_codelet", captured_codelet},
    {"late_writes", late_writes},
    {"good_writes", good_writes},
};

int main(int argc, char **argv)
{
    return run_case(cases, sizeof(cases) / sizeof(cases[0]), argc > 1 ? argv[1] : NULL);
}
