/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Pushes a context where the thread has none, and pops it again, both under a guard. */
#include "config.h"

#include "src/pool/context.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "src/util/diag.h"

#define MAX_DEVICES 64

/* Streams of before a reset keep theirs. */
struct witness {
    struct sp_hidden_stream stream;
    struct witness *earlier;
};

/* A context is written once, by whoever retains it first; a second retain is given back. A
 * witness is in it, and stays as long as the process: another follows only after a reset. */
static struct {
    _Atomic(sp_cu_context) primary[MAX_DEVICES];
    struct witness *_Atomic witnesses[MAX_DEVICES];
    _Atomic pid_t pid;            /* of who retained the first; 0: nobody has */
    _Atomic uint64_t unavailable; /* bit d: it was said that another process has device d */
} contexts;

bool sp_context_is_inherited(void)
{
    pid_t pid = atomic_load_explicit(&contexts.pid, memory_order_relaxed);

    return pid != 0 && pid != getpid();
}

/* An exclusive device that another process has: said once for each. */
static void say_unavailable(int device)
{
    uint64_t bit = (uint64_t)1 << device;

    if ((atomic_fetch_or(&contexts.unavailable, bit) & bit) == 0)
        sp_log(SP_LOG_WARN,
               "device %d gives no context: it is in exclusive or prohibited compute mode, and "
               "another process may have it (nvidia-smi -q -d COMPUTE)",
               device);
}

static enum starpool_status retain(const struct sp_driver *driver, int device,
                                   sp_cu_context *context_out)
{
    sp_cu_context context, none = NULL;
    pid_t nobody = 0;
    sp_cu_result result;
    enum starpool_status status;

    if (device < 0 || device >= MAX_DEVICES)
        return STARPOOL_EDEVICE;
    if (sp_context_is_inherited())
        return STARPOOL_ENOTINIT;
    *context_out = atomic_load(&contexts.primary[device]);
    if (*context_out != NULL)
        return STARPOOL_OK;
    result = driver->cuDevicePrimaryCtxRetain(&context, device);
    status = sp_driver_status(result, "cuDevicePrimaryCtxRetain");
    if (result == SP_CU_DEVICE_UNAVAILABLE)
        say_unavailable(device);
    if (status != STARPOOL_OK)
        return status;
    atomic_compare_exchange_strong(&contexts.pid, &nobody, getpid());
    if (!atomic_compare_exchange_strong(&contexts.primary[device], &none, context))
        (void)driver->cuDevicePrimaryCtxRelease(device);
    *context_out = context;
    return STARPOOL_OK;
}

/* With the guard, which is given up on failure: make a context current. */
static enum starpool_status push(const struct sp_driver *driver, sp_cu_context wanted,
                                 struct sp_context *context)
{
    enum starpool_status status =
        sp_driver_status(driver->cuCtxPushCurrent(wanted), "cuCtxPushCurrent");

    context->is_pushed = status == STARPOOL_OK;
    if (status != STARPOOL_OK)
        sp_capture_guard_end(&context->guard);
    return status;
}

static void begin(const struct sp_driver *driver, struct sp_context *context)
{
    context->driver = driver;
    context->is_pushed = false;
    sp_capture_guard_begin(driver, &context->guard);
}

enum starpool_status sp_context_enter_as(const struct sp_driver *driver, sp_cu_context wanted,
                                         struct sp_context *context_out)
{
    begin(driver, context_out);
    return push(driver, wanted, context_out);
}

/* With the guard, which is given up on failure. */
static enum starpool_status push_primary(const struct sp_driver *driver, int device,
                                         struct sp_context *context)
{
    sp_cu_context primary;
    enum starpool_status status = retain(driver, device, &primary);

    if (status == STARPOOL_OK)
        return push(driver, primary, context);
    sp_capture_guard_end(&context->guard);
    return status;
}

enum starpool_status sp_context_enter(const struct sp_driver *driver, int device,
                                      struct sp_context *context_out)
{
    sp_cu_context current = NULL;
    enum starpool_status status =
        sp_driver_status(driver->cuCtxGetCurrent(&current), "cuCtxGetCurrent");

    if (status != STARPOOL_OK)
        return status;
    begin(driver, context_out);
    return current != NULL ? STARPOOL_OK : push_primary(driver, device, context_out);
}

enum starpool_status sp_context_enter_primary(const struct sp_driver *driver, int device,
                                              struct sp_context *context_out)
{
    begin(driver, context_out);
    return push_primary(driver, device, context_out);
}

enum starpool_status sp_hidden_stream_make(const struct sp_driver *driver,
                                           struct sp_hidden_stream *stream_out)
{
    enum starpool_status status =
        sp_driver_status(driver->cuStreamCreate(&stream_out->handle, SP_CU_STREAM_NON_BLOCKING),
                         "cuStreamCreate");

    if (status != STARPOOL_OK)
        return status;
    status = sp_driver_status(driver->cuStreamGetId(stream_out->handle, &stream_out->id),
                              "cuStreamGetId");
    if (status != STARPOOL_OK)
        (void)driver->cuStreamDestroy(stream_out->handle);
    return status;
}

bool sp_hidden_stream_lives(const struct sp_driver *driver,
                            const struct sp_hidden_stream *stream)
{
    int state = SP_CU_CAPTURE_NONE;
    sp_cu_result result = driver->cuStreamIsCapturing(stream->handle, &state);
    unsigned long long id = 0;

    /* Another stream may have its handle, and be captured: that must not be asked for its id.
     */
    if (result != SP_CU_NOT_SUPPORTED &&
        (result != SP_CU_SUCCESS || state != SP_CU_CAPTURE_NONE))
        return false;
    return driver->cuStreamGetId(stream->handle, &id) == SP_CU_SUCCESS && id == stream->id;
}

/* In the primary context: the stream that goes if that is reset, or NULL. */
static const struct sp_hidden_stream *get_witness(const struct sp_driver *driver, int device)
{
    struct witness *last = atomic_load(&contexts.witnesses[device]), *witness;

    if (last != NULL && sp_hidden_stream_lives(driver, &last->stream))
        return &last->stream;
    witness = malloc(sizeof(*witness));
    if (witness == NULL || sp_hidden_stream_make(driver, &witness->stream) != STARPOOL_OK) {
        free(witness);
        return NULL;
    }
    witness->earlier = last;
    if (!atomic_compare_exchange_strong(&contexts.witnesses[device], &last, witness)) {
        (void)driver->cuStreamDestroy(witness->stream.handle);
        free(witness);
        return &last->stream;
    }
    return &witness->stream;
}

const struct sp_hidden_stream *sp_context_witness(const struct sp_driver *driver, int device)
{
    return device >= 0 && device < MAX_DEVICES ? get_witness(driver, device) : NULL;
}

enum starpool_status sp_context_keep(const struct sp_driver *driver, sp_cu_context current,
                                     const struct sp_hidden_stream **witness_out)
{
    sp_cu_context primary = NULL;
    sp_cu_device device = 0;
    unsigned flags;
    int is_active = 0;
    enum starpool_status status =
        sp_driver_status(driver->cuCtxGetDevice(&device), "cuCtxGetDevice");

    if (status == STARPOOL_OK)
        status =
            sp_driver_status(driver->cuDevicePrimaryCtxGetState(device, &flags, &is_active),
                             "cuDevicePrimaryCtxGetState");
    /* One that is not active is not the current one, and must not be made. */
    if (status == STARPOOL_OK && is_active)
        status = retain(driver, device, &primary);
    if (status == STARPOOL_OK)
        *witness_out = primary == current ? get_witness(driver, device) : NULL;
    return status;
}

void sp_context_leave(const struct sp_context *context)
{
    sp_cu_context popped;

    if (context->is_pushed)
        (void)context->driver->cuCtxPopCurrent(&popped);
    sp_capture_guard_end(&context->guard);
}
