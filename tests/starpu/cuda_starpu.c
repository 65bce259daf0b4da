/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A very small StarPU with CUDA workers: node 0 is host memory, 1 and 2 are CUDA devices 0 and
 * 1, 3 is an OpenCL device. Its own allocator for the devices counts how often it is called and
 * hands out host addresses, which nobody may touch. Tasks run in the thread that submits them,
 * on the worker that cuda_starpu_be() names. Built as libstarpu-*.so; MAJOR and MINOR are the
 * version that it claims. */
#include "cuda_starpu.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#define N_NODES 4

static struct {
    starpu_malloc_hook malloc_hook;
    starpu_free_hook free_hook;
    int is_running;
    pthread_mutex_t lock;
    starpu_ssize_t available[N_NODES];
} world = {.lock = PTHREAD_MUTEX_INITIALIZER};

struct cuda_starpu_counts cuda_starpu_counts;

static __thread int worker = -1;
static __thread struct starpu_task *current;
static __thread void *stream;

void cuda_starpu_be(int number, void *local_stream)
{
    worker = number;
    stream = local_stream;
}

void cuda_starpu_set_budget(unsigned node, starpu_ssize_t bytes)
{
    world.available[node] = bytes;
}

/* ---- life ------------------------------------------------------------------------------ */

void starpu_get_version(int *major, int *minor, int *release)
{
    *major = MAJOR;
    *minor = MINOR;
    *release = 0;
}

int starpu_init(struct starpu_conf *conf)
{
    unsigned node;

    (void)conf;
    for (node = 0; node < N_NODES; node++)
        world.available[node] = (starpu_ssize_t)1 << 30;
    world.is_running = 1;
    return 0;
}

int starpu_initialize(struct starpu_conf *conf, int *argc, char ***argv)
{
    (void)argc, (void)argv;
    return starpu_init(conf);
}

int starpu_is_initialized(void)
{
    return world.is_running;
}

void starpu_shutdown(void)
{
    world.is_running = 0;
}

/* ---- nodes and workers ------------------------------------------------------------------- */

enum starpu_node_kind starpu_node_get_kind(unsigned node)
{
    static const enum starpu_node_kind kinds[N_NODES] = {STARPU_CPU_RAM, STARPU_CUDA_RAM,
                                                         STARPU_CUDA_RAM, STARPU_OPENCL_RAM};

    return node < N_NODES ? kinds[node] : STARPU_UNUSED;
}

unsigned starpu_memory_nodes_get_count(void)
{
    return N_NODES;
}

int starpu_memory_nodes_get_numa_count(void)
{
    return 1;
}

int starpu_memory_nodes_numa_devid_to_id(unsigned node)
{
    (void)node;
    return 0;
}

int starpu_memory_node_get_devid(unsigned node)
{
    return node == 0 ? 0 : (int)node - 1;
}

unsigned starpu_cuda_worker_get_count(void)
{
    return 2;
}

/* Workers 0 and 1 are the devices', 2 is a CPU. */
int starpu_worker_get_id(void)
{
    return worker;
}

enum starpu_worker_archtype starpu_worker_get_type(int number)
{
    return number < 2 ? STARPU_CUDA_WORKER : STARPU_CPU_WORKER;
}

int starpu_worker_get_devid(int number)
{
    return number < 2 ? number : 0;
}

unsigned starpu_worker_get_memory_node(unsigned number)
{
    return number < 2 ? number + 1 : 0;
}

void *starpu_cuda_get_local_stream(void)
{
    return stream;
}

/* ---- tasks ------------------------------------------------------------------------------- */

struct starpu_task *starpu_task_get_current(void)
{
    return current;
}

const char *starpu_task_get_name(struct starpu_task *task)
{
    return task->name;
}

int(starpu_task_submit)(struct starpu_task *task)
{
    if (task->prologue_callback_pop_func != NULL)
        task->prologue_callback_pop_func(task->prologue_callback_pop_arg);
    current = task;
    task->callback_func(task->callback_arg);
    current = NULL;
    return 0;
}

/* ---- memory ------------------------------------------------------------------------------ */

void starpu_malloc_set_hooks(starpu_malloc_hook new_malloc, starpu_free_hook new_free)
{
    world.malloc_hook = new_malloc;
    world.free_hook = new_free;
}

void starpu_malloc_set_align(size_t align)
{
    (void)align;
}

int starpu_memory_allocate(unsigned node, size_t size, int flags)
{
    int result = -ENOMEM;

    (void)flags;
    pthread_mutex_lock(&world.lock);
    if (world.available[node] >= 0 && size <= (size_t)world.available[node]) {
        world.available[node] -= (starpu_ssize_t)size;
        result = 0;
    }
    pthread_mutex_unlock(&world.lock);
    return result;
}

void starpu_memory_deallocate(unsigned node, size_t size)
{
    pthread_mutex_lock(&world.lock);
    world.available[node] += (starpu_ssize_t)size;
    pthread_mutex_unlock(&world.lock);
}

starpu_ssize_t starpu_memory_get_available(unsigned node)
{
    return world.available[node];
}

/* What StarPU 1.3 does: the bytes of a refused request stay taken. */
uintptr_t starpu_malloc_on_node_flags(unsigned node, size_t size, int flags)
{
    void *ptr = NULL;

    cuda_starpu_counts.n_mallocs++;
    if ((flags & STARPU_MALLOC_COUNT) != 0 && starpu_memory_allocate(node, size, flags) != 0)
        return 0;
    if (node == 0 && world.malloc_hook != NULL)
        return world.malloc_hook(node, &ptr, size, flags) == 0 ? (uintptr_t)ptr : 0;
    return (uintptr_t)malloc(size);
}

void starpu_free_on_node_flags(unsigned node, uintptr_t address, size_t size, int flags)
{
    cuda_starpu_counts.n_frees++;
    if ((flags & STARPU_MALLOC_COUNT) != 0)
        starpu_memory_deallocate(node, size);
    if (node == 0 && world.free_hook != NULL)
        world.free_hook(node, (void *)address, size, flags);
    else
        free((void *)address);
}

/* Calls the function by its name, as the plugin must find it. */
uintptr_t starpu_malloc_on_node(unsigned node, size_t size)
{
    return starpu_malloc_on_node_flags(node, size, STARPU_MALLOC_PINNED | STARPU_MALLOC_COUNT);
}

int starpu_memory_pin(void *ptr, size_t size)
{
    (void)ptr, (void)size;
    cuda_starpu_counts.n_pins++;
    return 0;
}

int starpu_memory_unpin(void *ptr, size_t size)
{
    (void)ptr, (void)size;
    cuda_starpu_counts.n_pins++;
    return 0;
}
