/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* StarPU's CUDA build with the plugin: cuda_nodes CASE [PLUGIN]. Compiled against its headers,
 * but not CUDA's: what is called of the run-time library is declared here. */
#define STARPU_DONT_INCLUDE_CUDA_HEADERS
#include "case.h"

#include <stdatomic.h>

typedef struct CUstream_st *cuda_stream;
enum { HOST_MEMORY = 1 };

extern int cudaSetDevice(int device);
extern int cudaDeviceReset(void);
extern int cudaMemset(void *ptr, int value, size_t size);
extern int cudaMemsetAsync(void *ptr, int value, size_t size, cuda_stream stream);
extern int cudaStreamCreateWithFlags(cuda_stream *stream_out, unsigned flags);
extern int cudaStreamSynchronize(cuda_stream stream);
extern int cudaLaunchHostFunc(cuda_stream stream, void (*function)(void *), void *arg);
extern int cudaPointerGetAttributes(void *attributes, const void *ptr);
extern int cudaStreamBeginCapture(cuda_stream stream, int mode);
extern int cudaStreamEndCapture(cuda_stream stream, void **graph_out);
extern int cudaGraphDestroy(void *graph);
extern cuda_stream starpu_cuda_get_local_stream(void);

/* The n-th CUDA node; the program ends with 77 if there is none. */
static unsigned cuda_node(unsigned n)
{
    unsigned node;

    for (node = 0; node < starpu_memory_nodes_get_count(); node++) {
        if (starpu_node_get_kind(node) == STARPU_CUDA_RAM && n-- == 0)
            return node;
    }
    fprintf(stderr, "there is no CUDA node\n");
    exit(77);
}

static void *take(unsigned node, size_t size)
{
    return (void *)starpu_malloc_on_node_flags(node, size, USUAL_FLAGS);
}

static void give(unsigned node, void *ptr, size_t size)
{
    starpu_free_on_node_flags(node, (uintptr_t)ptr, size, USUAL_FLAGS);
}

/* ---- blocks ------------------------------------------------------------------------------ */

static void use_node(unsigned n)
{
    unsigned node = cuda_node(n);
    starpu_ssize_t before = starpu_memory_get_available(node);
    char name[64];
    void *ptr = take(node, 1000);
    void *large = take(node, 5 * MIB);

    snprintf(name, sizeof(name), "StarPU node %u (CUDA %u)", node, n);
    CHECK(strcmp(pool_of(ptr), name) == 0 && strcmp(pool_of(large), name) == 0);
    CHECK(starpu_memory_get_available(node) == before - 1000 - (starpu_ssize_t)(5 * MIB));
    CHECK(cudaSetDevice((int)n) == 0 && cudaMemset(ptr, 1, 1000) == 0);
    give(node, ptr, 1000);
    give(node, large, 5 * MIB);
    CHECK(starpu_memory_get_available(node) == before);
}

static void nodes(void)
{
    start();
    use_node(0);
    use_node(1);
    starpu_shutdown();
}

/* The devices are reset between two lives of StarPU. */
static void resets(void)
{
    nodes();
    CHECK(cudaSetDevice(0) == 0 && cudaDeviceReset() == 0);
    CHECK(cudaSetDevice(1) == 0 && cudaDeviceReset() == 0);
    nodes();
}

/* 10,000 requests that the budget has room for and the device has not; prints the bytes that
 * the budget has lost. The device: STARPOOL_MODEL_MEMORY=64M, STARPU_LIMIT_CUDA_MEM=1024. */
static void refusals(void)
{
    starpu_ssize_t before, after;
    unsigned node;
    int i;

    start();
    node = cuda_node(0);
    before = starpu_memory_get_available(node);
    for (i = 0; i < 10000; i++) {
        if (take(node, 100000 + 8 * 8 * MIB) != NULL)
            break;
    }
    after = starpu_memory_get_available(node);
    printf("refused %d, lost %ld\n", i, (long)(before - after));
    starpu_shutdown();
}

static int is_pinned(const void *ptr)
{
    int attributes[32] = {0}; /* more than any version's cudaPointerAttributes */

    return cudaPointerGetAttributes(attributes, ptr) == 0 && attributes[0] == HOST_MEMORY;
}

static void pinned(void)
{
    void *ptr;

    start();
    cuda_node(0);
    ptr = take(STARPU_MAIN_RAM, 100000);
    CHECK(is_ours(ptr) && is_pinned(ptr));
    CHECK(starpu_memory_pin(ptr, 100000) == 0 && starpu_memory_unpin(ptr, 100000) == 0);
    CHECK(is_pinned(ptr));
    give(STARPU_MAIN_RAM, ptr, 100000);
    starpu_shutdown();
}

/* ---- codelets ---------------------------------------------------------------------------- */

static _Atomic unsigned n_on_cuda, n_on_cpu;

static void on_cuda(void **buffers, void *arg)
{
    int (*allocate)(size_t, void **) =
        (int (*)(size_t, void **))starpool("starpool_starpu_alloc");
    int (*release)(void *) = (int (*)(void *))starpool("starpool_starpu_free");
    cuda_stream stream = starpu_cuda_get_local_stream();
    void *ptr = NULL;

    (void)buffers, (void)arg;
    CHECK(allocate(100000, &ptr) == 0 && strstr(pool_of(ptr), "StarPU codelets (CUDA") != NULL);
    CHECK(cudaMemsetAsync(ptr, 1, 100000, stream) == 0);
    CHECK(release(ptr) == 0);
    atomic_fetch_add(&n_on_cuda, 1);
}

static void on_cpu(void **buffers, void *arg)
{
    int (*allocate)(size_t, void **) =
        (int (*)(size_t, void **))starpool("starpool_starpu_alloc");
    int (*release)(void *) = (int (*)(void *))starpool("starpool_starpu_free");
    void *ptr = NULL;

    (void)buffers, (void)arg;
    CHECK(allocate(100000, &ptr) == 0 && strstr(pool_of(ptr), "(HOST)") != NULL);
    memset(ptr, 1, 100000);
    CHECK(release(ptr) == 0);
    atomic_fetch_add(&n_on_cpu, 1);
}

static void codelets(void)
{
    static struct starpu_codelet cuda = {
        .cuda_funcs = {on_cuda}, .cuda_flags = {STARPU_CUDA_ASYNC}, .name = "cuda"};
    static struct starpu_codelet cpu = {.cpu_funcs = {on_cpu}, .name = "cpu"};
    int i;

    start();
    cuda_node(0);
    for (i = 0; i < 50; i++) {
        CHECK(starpu_task_insert(&cuda, 0) == 0);
        CHECK(starpu_task_insert(&cpu, 0) == 0);
    }
    starpu_task_wait_for_all();
    CHECK(n_on_cuda == 50 && n_on_cpu == 50);
    starpu_shutdown();
}

static void begin_capture(void **buffers, void *arg)
{
    cuda_stream stream = starpu_cuda_get_local_stream();
    void *graph = NULL;

    (void)buffers, (void)arg;
    CHECK(cudaStreamBeginCapture(stream, 0) == 0);
    if (cudaStreamEndCapture(stream, &graph) == 0)
        CHECK(cudaGraphDestroy(graph) == 0);
}

static void global_capture(void)
{
    static struct starpu_codelet codelet = {
        .cuda_funcs = {begin_capture}, .cuda_flags = {STARPU_CUDA_ASYNC}, .name = "capture"};

    start();
    cuda_node(0);
    CHECK(starpu_task_insert(&codelet, 0) == 0);
    CHECK(starpu_task_insert(&codelet, 0) == 0);
    starpu_task_wait_for_all();
    starpu_shutdown();
}

/* ---- a codelet that leaves work behind ------------------------------------------------------
 */

static _Atomic bool is_freed;
static cuda_stream own_stream;

static void wait_for_free(void *arg)
{
    (void)arg;
    while (!atomic_load(&is_freed))
        ;
}

/* Works on a stream of its own, which StarPU does not know of. */
static void leave_work(void **buffers, void *arg)
{
    (void)arg;
    CHECK(cudaStreamCreateWithFlags(&own_stream, 1) == 0);
    CHECK(cudaLaunchHostFunc(own_stream, wait_for_free, NULL) == 0);
    CHECK(cudaMemsetAsync((void *)STARPU_VECTOR_GET_PTR(buffers[0]), 1, 4096, own_stream) == 0);
}

static void do_nothing(void **buffers, void *arg)
{
    (void)buffers, (void)arg;
}

static void use_vector(struct starpu_codelet *codelet)
{
    starpu_data_handle_t handle;

    starpu_vector_data_register(&handle, -1, 0, 1 << 20, 1);
    CHECK(starpu_task_insert(codelet, STARPU_W, handle, 0) == 0);
    starpu_task_wait_for_all();
    starpu_data_unregister(handle);
}

/* StarPU's allocation cache is turned off, which hides frees from everybody. */
static void late_work(void)
{
    static struct starpu_codelet leaver = {.cuda_funcs = {leave_work},
                                           .cuda_flags = {STARPU_CUDA_ASYNC},
                                           .nbuffers = 1,
                                           .modes = {STARPU_W},
                                           .name = "leaver"};
    static struct starpu_codelet victim = {.cuda_funcs = {do_nothing},
                                           .cuda_flags = {STARPU_CUDA_ASYNC},
                                           .nbuffers = 1,
                                           .modes = {STARPU_W},
                                           .name = "victim"};

    starpu_interface_vector_ops.dontcache = 1;
    start();
    cuda_node(0);
    use_vector(&leaver);
    atomic_store(&is_freed, true);
    CHECK(cudaStreamSynchronize(own_stream) == 0);
    use_vector(&victim);
    starpu_shutdown();
}

static const struct test_case cases[] = {
    {"nodes", nodes},         {"resets", resets},     {"refusals", refusals},
    {"pinned", pinned},       {"codelets", codelets}, {"global_capture", global_capture},
    {"late_work", late_work},
};

/* A second argument is the plugin, to be opened by the program. */
int main(int argc, char **argv)
{
    CHECK(argc < 3 || dlopen(argv[2], RTLD_NOW | RTLD_GLOBAL) != NULL);
    return run_case(cases, sizeof(cases) / sizeof(cases[0]), argc > 1 ? argv[1] : NULL);
}
