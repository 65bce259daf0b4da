/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The kernels that programs compiled by nvcc register, by the host functions that stand for
 * them. What runs is the CPU function that somebody has registered for the kernel's (mangled)
 * name. */
#include "config.h"

#include "src/sim/runtime_register.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    const void *host;
    struct sp_rt_image *image;
    char *name;
    sp_cu_kernel kernel; /* NULL before the first look-up */
};

/* Behind the lock. */
static struct {
    pthread_mutex_t lock;
    struct sp_rt_image *images;
    struct entry *entries; /* [n_entries] in the order of `host` */
    size_t n_entries, room;
    struct sp_rt_variable *variables;
} registry = {.lock = PTHREAD_MUTEX_INITIALIZER};

void sp_runtime_lock(void)
{
    pthread_mutex_lock(&registry.lock);
}

void sp_runtime_unlock(void)
{
    pthread_mutex_unlock(&registry.lock);
}

/* ---- images -------------------------------------------------------------------------- */

void **__cudaRegisterFatBinary(void *binary)
{
    struct sp_rt_image *image = calloc(1, sizeof(*image));

    if (image == NULL)
        return NULL;
    image->binary = binary;
    sp_runtime_lock();
    image->next = registry.images;
    registry.images = image;
    sp_runtime_unlock();
    return (void **)image;
}

void __cudaRegisterFatBinaryEnd(void **image)
{
    (void)image;
}

static void forget_entries(const struct sp_rt_image *image)
{
    size_t n_kept = 0;

    for (size_t i = 0; i < registry.n_entries; i++) {
        if (registry.entries[i].image == image)
            free(registry.entries[i].name);
        else
            registry.entries[n_kept++] = registry.entries[i];
    }
    registry.n_entries = n_kept;
    if (n_kept == 0) {
        free(registry.entries);
        registry.entries = NULL;
        registry.room = 0;
    }
}

static void forget_variables(const struct sp_rt_image *image)
{
    struct sp_rt_variable **link = &registry.variables;

    while (*link != NULL) {
        struct sp_rt_variable *variable = *link;

        if (variable->image == image) {
            *link = variable->next;
            free(variable);
        } else {
            link = &variable->next;
        }
    }
}

/* Called when the program exits, when the driver may not be used any more: what it has of the
 * image stays. */
void __cudaUnregisterFatBinary(void **handle)
{
    struct sp_rt_image **link = &registry.images;

    sp_runtime_lock();
    while (*link != NULL && *link != (struct sp_rt_image *)handle)
        link = &(*link)->next;
    if (*link != NULL) {
        struct sp_rt_image *image = *link;

        *link = image->next;
        forget_entries(image);
        forget_variables(image);
        free(image);
    }
    sp_runtime_unlock();
}

/* ---- kernels ------------------------------------------------------------------------- */

/* Where a host function is in the order, or belongs. */
static size_t place_of(const void *host)
{
    size_t low = 0, high = registry.n_entries;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if ((uintptr_t)registry.entries[middle].host < (uintptr_t)host)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool make_room(void)
{
    size_t room = registry.room == 0 ? 16 : 2 * registry.room;
    struct entry *entries;

    if (registry.n_entries < registry.room)
        return true;
    entries = realloc(registry.entries, room * sizeof(*entries));
    if (entries == NULL)
        return false;
    registry.entries = entries;
    registry.room = room;
    return true;
}

/* Without memory the kernel is not there, which its first launch says. */
void __cudaRegisterFunction(void **image, const char *host, char *device, const char *name,
                            int thread_limit, void *thread, void *block, void *block_size,
                            void *grid_size, int *warp_size)
{
    char *copy = strdup(name);

    (void)device, (void)thread_limit, (void)thread, (void)block;
    (void)block_size, (void)grid_size, (void)warp_size;
    if (copy == NULL || image == NULL) {
        free(copy);
        return;
    }
    sp_runtime_lock();
    if (make_room()) {
        size_t place = place_of(host);

        memmove(&registry.entries[place + 1], &registry.entries[place],
                (registry.n_entries - place) * sizeof(struct entry));
        registry.entries[place] = (struct entry){host, (struct sp_rt_image *)image, copy, NULL};
        registry.n_entries++;
        copy = NULL;
    }
    sp_runtime_unlock();
    free(copy);
}

/* With the lock. */
static int find_kernel(struct entry *entry, sp_cu_kernel *kernel_out)
{
    int result = SP_CU_SUCCESS;

    if (entry->image->library == NULL)
        result = sp_cu()->cuLibraryLoadData(&entry->image->library, entry->image->binary, NULL,
                                            NULL, 0, NULL, NULL, 0);
    if (result == SP_CU_SUCCESS && entry->kernel == NULL)
        result =
            sp_cu()->cuLibraryGetKernel(&entry->kernel, entry->image->library, entry->name);
    if (result == SP_CU_SUCCESS)
        *kernel_out = entry->kernel;
    return result == SP_CU_NOT_FOUND ? SP_RT_INVALID_FUNCTION : result;
}

int sp_runtime_kernel(const void *symbol, sp_cu_kernel *kernel_out)
{
    int result = SP_RT_INVALID_FUNCTION;
    const char *name;
    size_t place;

    if (symbol == NULL)
        return SP_RT_INVALID_FUNCTION;
    sp_runtime_lock();
    place = place_of(symbol);
    if (place < registry.n_entries && registry.entries[place].host == symbol) {
        result = find_kernel(&registry.entries[place], kernel_out);
    } else if (sp_cu()->cuKernelGetName(&name, (sp_cu_kernel)(uintptr_t)symbol) ==
               SP_CU_SUCCESS) {
        /* From 12.0 on a handle may be given in the place of a host function. */
        *kernel_out = (sp_cu_kernel)(uintptr_t)symbol;
        result = SP_CU_SUCCESS;
    }
    sp_runtime_unlock();
    return result;
}

int sp_runtime_function(const void *symbol, sp_cu_function *function_out)
{
    sp_cu_kernel kernel = NULL;
    int result = sp_runtime_kernel(symbol, &kernel);

    return result == SP_CU_SUCCESS ? sp_cu()->cuKernelGetFunction(function_out, kernel)
                                   : result;
}

const void *sp_runtime_host_of(sp_cu_function function)
{
    const void *host = function;

    sp_runtime_lock();
    for (size_t i = 0; i < registry.n_entries; i++) {
        sp_cu_function found;

        if (registry.entries[i].kernel != NULL &&
            sp_cu()->cuKernelGetFunction(&found, registry.entries[i].kernel) == SP_CU_SUCCESS &&
            found == function)
            host = registry.entries[i].host;
    }
    sp_runtime_unlock();
    return host;
}

/* ---- variables ----------------------------------------------------------------------- */

static void add_variable(void **image, const void *host, void **managed, size_t size)
{
    struct sp_rt_variable *variable = calloc(1, sizeof(*variable));

    if (variable == NULL)
        return;
    variable->image = (const struct sp_rt_image *)image;
    variable->host = host;
    variable->managed = managed;
    variable->size = size;
    sp_runtime_lock();
    variable->next = registry.variables;
    registry.variables = variable;
    sp_runtime_unlock();
}

void __cudaRegisterVar(void **image, char *host, char *device, const char *name,
                       int is_external, size_t size, int is_constant, int is_global)
{
    (void)device, (void)name, (void)is_external, (void)is_constant, (void)is_global;
    add_variable(image, host, NULL, size);
}

void __cudaRegisterManagedVar(void **image, void **host, char *device, const char *name,
                              int is_external, size_t size, int is_constant, int is_global)
{
    (void)device, (void)name, (void)is_external, (void)is_constant, (void)is_global;
    add_variable(image, host, host, size);
}

struct sp_rt_variable *sp_runtime_variable(const void *host)
{
    struct sp_rt_variable *variable = registry.variables;

    /* Of a managed variable programs give the address of its memory. */
    while (variable != NULL && variable->host != host &&
           (variable->managed == NULL ||
            variable->places[0].ptr != (sp_cu_ptr)(uintptr_t)host || host == NULL))
        variable = variable->next;
    return variable;
}

/* Managed variables get their memory before host code reads where it is. */
char __cudaInitModule(void **image)
{
    int result = sp_runtime_begin();

    sp_runtime_lock();
    for (struct sp_rt_variable *variable = registry.variables;
         variable != NULL && result == SP_CU_SUCCESS; variable = variable->next) {
        sp_cu_ptr ptr;

        if (variable->image == (const struct sp_rt_image *)image && variable->managed != NULL)
            result = sp_runtime_variable_ptr(variable, &ptr);
    }
    sp_runtime_unlock();
    return sp_runtime_end(result) == SP_CU_SUCCESS;
}

/* ---- of no effect -------------------------------------------------------------------- */

void __cudaRegisterHostVar(void **image, const char *name, char *host, size_t size)
{
    (void)image, (void)name, (void)host, (void)size;
}

void __cudaRegisterUnifiedTable(void **image, void *table)
{
    (void)image, (void)table;
}

void __cudaRegisterTexture(void **image, const void *host, const void **device,
                           const char *name, int dimension, int is_normalised, int is_external)
{
    (void)image, (void)host, (void)device, (void)name;
    (void)dimension, (void)is_normalised, (void)is_external;
}

void __cudaRegisterSurface(void **image, const void *host, const void **device,
                           const char *name, int dimension, int is_external)
{
    (void)image, (void)host, (void)device, (void)name, (void)dimension, (void)is_external;
}
