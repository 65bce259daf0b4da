/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A very small StarPU: host memory only, and every call inside goes straight to its function,
 * as in a library that was linked with -Bsymbolic-functions. Built as libstarpu-*.so; MAJOR and
 * MINOR are the version that it claims. */
#include <starpu.h>
#include <stdlib.h>

static starpu_malloc_hook malloc_hook;
static starpu_free_hook free_hook;
static int is_running;

void starpu_get_version(int *major, int *minor, int *release)
{
    *major = MAJOR;
    *minor = MINOR;
    *release = 0;
}

void starpu_malloc_set_hooks(starpu_malloc_hook new_malloc, starpu_free_hook new_free)
{
    malloc_hook = new_malloc;
    free_hook = new_free;
}

void starpu_malloc_set_align(size_t align)
{
    (void)align;
}

static void *allocate(unsigned node, size_t size, int flags)
{
    void *ptr = NULL;

    if (malloc_hook == NULL)
        return malloc(size);
    return malloc_hook(node, &ptr, size, flags) == 0 ? ptr : NULL;
}

static void release(unsigned node, void *ptr, size_t size, int flags)
{
    if (free_hook == NULL)
        free(ptr);
    else
        free_hook(node, ptr, size, flags);
}

uintptr_t starpu_malloc_on_node_flags(unsigned node, size_t size, int flags)
{
    return (uintptr_t)allocate(node, size, flags);
}

void starpu_free_on_node_flags(unsigned node, uintptr_t address, size_t size, int flags)
{
    release(node, (void *)address, size, flags);
}

int starpu_malloc(void **ptr_out, size_t size)
{
    *ptr_out = allocate(0, size, 0);
    return *ptr_out == NULL ? -1 : 0;
}

int starpu_free(void *ptr)
{
    release(0, ptr, 0, 0);
    return 0;
}

int starpu_init(struct starpu_conf *conf)
{
    (void)conf;
    is_running = 1;
    return 0;
}

int starpu_initialize(struct starpu_conf *conf, int *argc, char ***argv)
{
    (void)argc, (void)argv;
    return starpu_init(conf);
}

int starpu_is_initialized(void)
{
    return is_running;
}

void starpu_shutdown(void)
{
    is_running = 0;
}

int starpu_memory_allocate(unsigned node, size_t size, int flags)
{
    (void)node, (void)size, (void)flags;
    return 0;
}

void starpu_memory_deallocate(unsigned node, size_t size)
{
    (void)node, (void)size;
}

enum starpu_node_kind starpu_node_get_kind(unsigned node)
{
    return node == 0 ? STARPU_CPU_RAM : STARPU_UNUSED;
}

unsigned starpu_memory_nodes_get_count(void)
{
    return 1;
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
