/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Launches of kernels: what their parameters may say, their arguments, which are copied at the
 * call, and calling the function that stands in for the kernel. How launches come to be queued
 * or captured is launch_kernel.c's. */
#include "config.h"

#include "src/model/kernels.h"

#include <stdlib.h>
#include <string.h>

#include "src/model/attributes.h"
#include "src/model/graph.h"
#include "src/model/private.h"
#include "src/model/protect.h"
#include "src/util/util.h"

/* Each argument begins at a multiple of this: as malloc() would have it. */
#define ARG_STEP  16
#define WORD_SIZE sizeof(uintptr_t)

/* ---- parameters ---------------------------------------------------------------------- */

/* The attributes of x, y and z follow each other. */
static bool are_within(const unsigned sizes[3], enum sp_model_attribute first)
{
    for (unsigned i = 0; i < 3; i++) {
        if (sizes[i] == 0 || sizes[i] > (unsigned)sp_model_attribute_constant(first + i))
            return false;
    }
    return true;
}

/* The product cannot overflow: each is at most 1024. */
static bool is_shape_valid(const struct sp_cu_kernel_params *params,
                           const struct sp_model_function *function)
{
    const unsigned *block = params->block;

    return are_within(params->grid, SP_ATTRIBUTE_MAX_GRID_DIM_X) &&
           are_within(block, SP_ATTRIBUTE_MAX_BLOCK_DIM_X) &&
           block[0] * block[1] * block[2] <=
               (unsigned)sp_model_attribute_constant(SP_ATTRIBUTE_MAX_THREADS_PER_BLOCK) &&
           params->shared_bytes <= (unsigned)function->max_shared_bytes;
}

/* ---- arguments ----------------------------------------------------------------------- */

size_t sp_model_arg_offset(const struct sp_model_stand_in *stand_in, size_t i, size_t alignment)
{
    size_t offset = 0;

    for (size_t j = 0; j <= i && j < stand_in->n_args; j++) {
        size_t size = stand_in->sizes[j], lowest_bit = size & (~size + 1);

        offset = sp_round_up(offset, sp_min(lowest_bit, alignment));
        if (j == i)
            return offset;
        offset += size;
    }
    return offset;
}

/* The alignment that makes arguments one behind another as long as the program says they are,
 * or the usual one if they are not longer; 0 if they are. Sizes do not tell how a structure is
 * aligned. */
static size_t alignment_for(const struct sp_model_stand_in *stand_in, size_t size)
{
    static const size_t tried[] = {SP_MODEL_ARG_ALIGNMENT, 16, 4};

    for (size_t i = 0; i < SP_ARRAY_SIZE(tried); i++) {
        if (sp_model_arg_offset(stand_in, stand_in->n_args, tried[i]) == size)
            return tried[i];
    }
    return sp_model_arg_offset(stand_in, stand_in->n_args, tried[0]) <= size ? tried[0] : 0;
}

/* The form in which all arguments are in one piece: pairs of what comes and where it is, and an
 * end. */
static bool read_extra(void *const *extra, const char **buffer_out, size_t *size_out)
{
    const char *buffer = NULL;
    const size_t *size = NULL;

    for (; (uintptr_t)extra[0] != SP_CU_LAUNCH_END; extra += 2) {
        if ((uintptr_t)extra[0] == SP_CU_LAUNCH_BUFFER_POINTER)
            buffer = extra[1];
        else if ((uintptr_t)extra[0] == SP_CU_LAUNCH_BUFFER_SIZE)
            size = extra[1];
        else
            return false;
    }
    if (buffer == NULL || size == NULL)
        return false;
    *buffer_out = buffer;
    *size_out = *size;
    return true;
}

static bool copy_extra(struct sp_model_kernel *kernel, void *const *extra)
{
    const struct sp_model_stand_in *stand_in = kernel->stand_in;
    const char *buffer;
    size_t size, alignment;

    if (!read_extra(extra, &buffer, &size))
        return false;
    alignment = alignment_for(stand_in, size);
    for (size_t i = 0; alignment != 0 && i < stand_in->n_args; i++)
        memcpy(kernel->args[i], buffer + sp_model_arg_offset(stand_in, i, alignment),
               stand_in->sizes[i]);
    return alignment != 0;
}

static bool copy_args(struct sp_model_kernel *kernel, const struct sp_cu_kernel_params *params)
{
    if (params->args != NULL && params->extra != NULL)
        return false;
    if (params->extra != NULL)
        return copy_extra(kernel, params->extra);
    for (size_t i = 0; i < kernel->stand_in->n_args; i++) {
        if (params->args == NULL || params->args[i] == NULL)
            return false;
        memcpy(kernel->args[i], params->args[i], kernel->stand_in->sizes[i]);
    }
    return true;
}

/* ---- records ------------------------------------------------------------------------- */

/* Where the words and the arguments of a record are, which has been copied. */
static void settle(struct sp_model_kernel *kernel)
{
    const struct sp_model_stand_in *stand_in = kernel->stand_in;
    size_t head = sizeof(*kernel) + stand_in->n_args * sizeof(kernel->args[0]);
    char *at = (char *)kernel + sp_round_up(head, ARG_STEP);

    kernel->words = (uintptr_t *)(void *)at;
    for (size_t i = 0; i < stand_in->n_args; i++) {
        kernel->args[i] = at;
        at += sp_round_up(stand_in->sizes[i], ARG_STEP);
    }
}

/* All arguments are 0. */
static struct sp_model_kernel *new_record(const struct sp_model_stand_in *stand_in)
{
    size_t head = sizeof(struct sp_model_kernel) + stand_in->n_args * sizeof(void *);
    size_t n_bytes = 0;
    struct sp_model_kernel *kernel;

    for (size_t i = 0; i < stand_in->n_args; i++)
        n_bytes += sp_round_up(stand_in->sizes[i], ARG_STEP);
    kernel = calloc(1, sp_round_up(head, ARG_STEP) + n_bytes);
    if (kernel == NULL)
        return NULL;
    kernel->n_refs = 1;
    kernel->size = sp_round_up(head, ARG_STEP) + n_bytes;
    kernel->stand_in = stand_in;
    kernel->n_words = n_bytes / WORD_SIZE;
    settle(kernel);
    return kernel;
}

/* The module's context; for a kernel of a library the one that is named, or else current. */
static sp_cu_result find_context(const struct sp_cu_kernel_params *params,
                                 const struct sp_model_function *function,
                                 struct sp_model_context **context_out)
{
    *context_out = function->module->context;
    if (*context_out == NULL)
        *context_out = params->context == NULL ? sp_model_current()
                                               : sp_model_context_find(params->context);
    return *context_out == NULL ? SP_CU_INVALID_CONTEXT : SP_CU_SUCCESS;
}

static sp_cu_result fill(struct sp_model_kernel *kernel,
                         const struct sp_cu_kernel_params *params,
                         const struct sp_model_function *function)
{
    sp_cu_result result = find_context(params, function, &kernel->context);

    if (result != SP_CU_SUCCESS)
        return result;
    kernel->function = function->handle;
    memcpy(kernel->grid, params->grid, sizeof(kernel->grid));
    memcpy(kernel->block, params->block, sizeof(kernel->block));
    kernel->shared_bytes = params->shared_bytes;
    return copy_args(kernel, params) ? SP_CU_SUCCESS : SP_CU_INVALID_VALUE;
}

sp_cu_result sp_model_kernel_new(const struct sp_cu_kernel_params *params,
                                 struct sp_model_kernel **kernel_out)
{
    sp_cu_function handle =
        params->function != NULL ? params->function : (sp_cu_function)params->kernel;
    const struct sp_model_function *function;
    struct sp_model_kernel *kernel;
    sp_cu_result result;

    if (handle == NULL)
        return SP_CU_INVALID_VALUE;
    function = sp_model_function_find(handle);
    if (function == NULL)
        return SP_CU_INVALID_HANDLE;
    if (!is_shape_valid(params, function))
        return SP_CU_INVALID_VALUE;
    kernel = new_record(function->stand_in);
    if (kernel == NULL)
        return SP_CU_OUT_OF_MEMORY;
    result = fill(kernel, params, function);
    if (result == SP_CU_SUCCESS)
        *kernel_out = kernel;
    else
        free(kernel);
    return result;
}

struct sp_model_kernel *sp_model_kernel_get(struct sp_model_kernel *kernel)
{
    kernel->n_refs++;
    return kernel;
}

void sp_model_kernel_put(struct sp_model_kernel *kernel)
{
    if (--kernel->n_refs == 0)
        free(kernel);
}

void sp_model_kernel_params(const struct sp_model_kernel *kernel,
                            struct sp_cu_kernel_params *params_out)
{
    *params_out = (struct sp_cu_kernel_params){
        .function = kernel->function,
        .shared_bytes = kernel->shared_bytes,
        .args = (void **)(uintptr_t)kernel->args,
    };
    memcpy(params_out->grid, kernel->grid, sizeof(kernel->grid));
    memcpy(params_out->block, kernel->block, sizeof(kernel->block));
}

sp_cu_result sp_model_kernel_check(const struct sp_model_kernel *kernel)
{
    return sp_model_function_find(kernel->function) == NULL ? SP_CU_INVALID_HANDLE
                                                            : SP_CU_SUCCESS;
}

/* ---- what arguments point to --------------------------------------------------------- */

/* The live block around an address that the model knows; false if there is none. */
static bool find_block(const struct sp_model_memory *memory, uintptr_t address,
                       uintptr_t *base_out, size_t *size_out)
{
    *base_out = memory->base;
    *size_out = memory->asked;
    switch (memory->kind) {
    case SP_MEMORY_CHUNK:
    case SP_MEMORY_IMPORTED:
        return sp_model_pool_range(address, base_out, size_out);
    case SP_MEMORY_GRAPH:
        return sp_model_graph_range(address, base_out, size_out);
    case SP_MEMORY_DEVICE:
    case SP_MEMORY_HOST:
    case SP_MEMORY_REGISTERED:
    case SP_MEMORY_MANAGED:
    case SP_MEMORY_OPENED:
    default:
        return address - memory->base < memory->asked;
    }
}

/* The address is where a block ends that another argument points into: the end of an array,
 * which is passed to be compared with. */
static bool is_end_of_another(const struct sp_model_kernel *kernel, uintptr_t address)
{
    const struct sp_model_memory *memory = sp_model_memory_find(address - 1);
    uintptr_t base;
    size_t size;

    if (memory == NULL || !find_block(memory, address - 1, &base, &size))
        return false;
    for (size_t i = 0; i < kernel->n_words; i++) {
        if (kernel->words[i] >= base && kernel->words[i] - base < size)
            return true;
    }
    return false;
}

bool sp_model_kernel_range(const struct sp_model_kernel *kernel, size_t i,
                           uintptr_t *address_out, size_t *size_out)
{
    const struct sp_model_memory *memory;
    uintptr_t address, base;
    size_t size;

    if (i >= kernel->n_words)
        return false;
    address = *address_out = kernel->words[i];
    *size_out = 0;
    memory = sp_model_memory_find(address);
    if (memory == NULL)
        return true;
    if (find_block(memory, address, &base, &size))
        *size_out = sp_max(base + size - address, 1);
    else if (memory->kind == SP_MEMORY_GRAPH || !is_end_of_another(kernel, address))
        *size_out = 1; /* It is in no block, which is for who checks uses to say. */
    return true;
}

/* As any stream of its context. */
bool sp_model_kernel_reaches(const struct sp_model_kernel *kernel, uintptr_t address,
                             size_t size)
{
    const struct sp_model_stream stream = {.context = kernel->context};

    return sp_model_can_use(&stream, address, size) == SP_CU_SUCCESS;
}

/* ---- executing ----------------------------------------------------------------------- */

/* Without the lock: what the arguments point to is opened to the stand-in, or closed. */
static void for_words(const struct sp_model_kernel *kernel, void (*act)(uintptr_t address))
{
    sp_lock_take(sp_model_lock());
    for (size_t i = 0; i < kernel->n_words; i++) {
        if (sp_model_device_of(kernel->words[i]) >= 0)
            act(kernel->words[i]);
    }
    sp_lock_give(sp_model_lock());
}

static sp_cu_result run(void *arg)
{
    const struct sp_model_kernel *kernel = arg;
    struct starpool_kernel_launch launch = {
        .name = kernel->stand_in->name,
        .shared_bytes = kernel->shared_bytes,
        .args = kernel->args,
        .n_args = kernel->stand_in->n_args,
    };

    if (kernel->is_illegal)
        return SP_CU_ILLEGAL_ADDRESS;
    memcpy(launch.grid, kernel->grid, sizeof(launch.grid));
    memcpy(launch.block, kernel->block, sizeof(launch.block));
    for_words(kernel, sp_model_expose);
    kernel->stand_in->run(&launch);
    for_words(kernel, sp_model_conceal);
    return SP_CU_SUCCESS;
}

/* Whether the device reaches all that the arguments point to; how much that is. */
static bool reaches_all(const struct sp_model_kernel *kernel, size_t *bytes_out)
{
    uintptr_t address;
    size_t size;

    *bytes_out = 0;
    for (size_t i = 0; sp_model_kernel_range(kernel, i, &address, &size); i++) {
        if (size > 0 && !sp_model_kernel_reaches(kernel, address, size))
            return false;
        *bytes_out += size;
    }
    return true;
}

sp_cu_result sp_model_kernel_submit(const struct sp_model_kernel *kernel,
                                    struct sp_model_stream *stream)
{
    struct sp_model_kernel *copy = malloc(kernel->size);
    size_t bytes;

    if (copy == NULL)
        return SP_CU_OUT_OF_MEMORY;
    memcpy(copy, kernel, kernel->size);
    settle(copy);
    copy->is_illegal = !reaches_all(copy, &bytes);
    return sp_model_submit(stream, SP_OP_KERNEL, bytes, run, copy, NULL);
}
