/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Variables of devices: each has memory of its own on every device, made at the first use. */
#include "config.h"

#include "src/sim/runtime_register.h"

/* ---- their memory -------------------------------------------------------------------- */

/* True if the memory is still the one with that id, and not another's at its address. */
static bool is_there(sp_cu_ptr ptr, uint64_t id)
{
    uint64_t found = 0;

    return ptr != 0 &&
           sp_cu()->cuPointerGetAttribute(&found, SP_CU_POINTER_BUFFER_ID, ptr) ==
               SP_CU_SUCCESS &&
           found == id;
}

/* In a stream of its own: the legacy one has to do with captures in others. */
static int clear(sp_cu_ptr ptr, size_t size)
{
    sp_cu_stream stream;
    int result = sp_cu()->cuStreamCreate(&stream, SP_CU_STREAM_NON_BLOCKING);

    if (result != SP_CU_SUCCESS)
        return result;
    result = sp_cu()->cuMemsetD8Async(ptr, 0, size, stream);
    if (result == SP_CU_SUCCESS)
        result = sp_cu()->cuStreamSynchronize(stream);
    (void)sp_cu()->cuStreamDestroy(stream);
    return result;
}

static int make(const struct sp_rt_variable *variable, sp_cu_ptr *ptr_out, uint64_t *id_out)
{
    size_t size = variable->size == 0 ? 1 : variable->size;
    int result = variable->managed == NULL
                     ? sp_cu()->cuMemAlloc(ptr_out, size)
                     : sp_cu()->cuMemAllocManaged(ptr_out, size, SP_CU_MEM_ATTACH_GLOBAL);

    if (result == SP_CU_SUCCESS)
        result = clear(*ptr_out, size);
    if (result == SP_CU_SUCCESS)
        result = sp_cu()->cuPointerGetAttribute(id_out, SP_CU_POINTER_BUFFER_ID, *ptr_out);
    return result;
}

int sp_runtime_variable_ptr(struct sp_rt_variable *variable, sp_cu_ptr *ptr_out)
{
    int mode = SP_CU_CAPTURE_MODE_RELAXED;
    int device = 0;
    int result = variable->managed == NULL ? sp_cu()->cuCtxGetDevice(&device) : SP_CU_SUCCESS;

    if (result != SP_CU_SUCCESS)
        return result;
    if (!is_there(variable->places[device].ptr, variable->places[device].id)) {
        /* The program has asked for no allocation: a capture of its goes on. */
        (void)sp_cu()->cuThreadExchangeStreamCaptureMode(&mode);
        result = make(variable, &variable->places[device].ptr, &variable->places[device].id);
        (void)sp_cu()->cuThreadExchangeStreamCaptureMode(&mode);
    }
    if (result != SP_CU_SUCCESS) {
        variable->places[device].ptr = 0;
        return result;
    }
    *ptr_out = variable->places[device].ptr;
    if (variable->managed != NULL)
        *variable->managed = (void *)(uintptr_t)*ptr_out;
    return SP_CU_SUCCESS;
}

int sp_runtime_symbol(const void *symbol, size_t offset, size_t size, sp_cu_ptr *ptr_out)
{
    struct sp_rt_variable *variable;
    int result = SP_RT_INVALID_SYMBOL;
    sp_cu_ptr ptr = 0;

    sp_runtime_lock();
    variable = sp_runtime_variable(symbol);
    if (variable != NULL) {
        result = offset > variable->size || size > variable->size - offset
                     ? SP_CU_INVALID_VALUE
                     : sp_runtime_variable_ptr(variable, &ptr);
    }
    sp_runtime_unlock();
    if (result == SP_CU_SUCCESS)
        *ptr_out = ptr + offset;
    return result;
}

/* ---- entry points -------------------------------------------------------------------- */

static int get_address(void **ptr_out, const void *symbol)
{
    sp_cu_ptr ptr;
    int result = ptr_out == NULL ? SP_CU_INVALID_VALUE : sp_runtime_symbol(symbol, 0, 0, &ptr);

    if (result == SP_CU_SUCCESS)
        *ptr_out = (void *)(uintptr_t)ptr;
    return result;
}

int cudaGetSymbolAddress(void **ptr_out, const void *symbol)
{
    return SP_RUNTIME(get_address(ptr_out, symbol));
}

static int get_size(size_t *size_out, const void *symbol)
{
    struct sp_rt_variable *variable;
    int result = SP_RT_INVALID_SYMBOL;

    if (size_out == NULL)
        return SP_CU_INVALID_VALUE;
    sp_runtime_lock();
    variable = sp_runtime_variable(symbol);
    if (variable != NULL) {
        *size_out = variable->size;
        result = SP_CU_SUCCESS;
    }
    sp_runtime_unlock();
    return result;
}

int cudaGetSymbolSize(size_t *size_out, const void *symbol)
{
    return SP_RUNTIME(get_size(size_out, symbol));
}

int cudaMemcpyToSymbol(const void *symbol, const void *source, size_t size, size_t offset,
                       int kind)
{
    sp_cu_ptr ptr = 0;
    int result = sp_runtime_begin() ?: sp_runtime_symbol(symbol, offset, size, &ptr);

    return result == SP_CU_SUCCESS ? cudaMemcpy((void *)(uintptr_t)ptr, source, size, kind)
                                   : sp_runtime_end(result);
}

int cudaMemcpyToSymbolAsync(const void *symbol, const void *source, size_t size, size_t offset,
                            int kind, sp_cu_stream stream)
{
    sp_cu_ptr ptr = 0;
    int result = sp_runtime_begin() ?: sp_runtime_symbol(symbol, offset, size, &ptr);

    return result == SP_CU_SUCCESS
               ? cudaMemcpyAsync((void *)(uintptr_t)ptr, source, size, kind, stream)
               : sp_runtime_end(result);
}

int cudaMemcpyFromSymbol(void *target, const void *symbol, size_t size, size_t offset, int kind)
{
    sp_cu_ptr ptr = 0;
    int result = sp_runtime_begin() ?: sp_runtime_symbol(symbol, offset, size, &ptr);

    return result == SP_CU_SUCCESS
               ? cudaMemcpy(target, (const void *)(uintptr_t)ptr, size, kind)
               : sp_runtime_end(result);
}

int cudaMemcpyFromSymbolAsync(void *target, const void *symbol, size_t size, size_t offset,
                              int kind, sp_cu_stream stream)
{
    sp_cu_ptr ptr = 0;
    int result = sp_runtime_begin() ?: sp_runtime_symbol(symbol, offset, size, &ptr);

    return result == SP_CU_SUCCESS
               ? cudaMemcpyAsync(target, (const void *)(uintptr_t)ptr, size, kind, stream)
               : sp_runtime_end(result);
}
