/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One non-blocking stream a device, in its primary context, which StarPU uses too. The thread's
 * own context comes back, and its captures are left alone. */
#include "config.h"

#include "src/starpu/codelet_work.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include "src/driver/driver.h"
#include "src/starpu/cuda.h"
#include "src/util/util.h"

/* No number that programs write. */
#define PATTERN 0x5ca1ab1eu

/* Memory is read in pieces. [bytes] */
#define PIECE_SIZE ((size_t)1 << 20)

/* Of cudaStreamCaptureMode. */
#define MODE_RELAXED 2

/* Streams are made once, and anew after a reset. */
static struct {
    _Atomic(sp_cu_stream) streams[SP_MAX_DEVICES];
} work;

/* Being in a device's primary context. */
struct visit {
    const struct sp_driver *driver;
    sp_cu_stream stream;
    int device;
    int mode; /* of captures, to be restored */
};

static bool find_stream(struct visit *visit)
{
    sp_cu_stream *stream_out = &visit->stream;
    sp_cu_stream none = NULL;

    *stream_out = atomic_load(&work.streams[visit->device]);
    if (*stream_out != NULL)
        return true;
    if (visit->driver->cuStreamCreate(stream_out, SP_CU_STREAM_NON_BLOCKING) != SP_CU_SUCCESS)
        return false;
    if (!atomic_compare_exchange_strong(&work.streams[visit->device], &none, *stream_out)) {
        (void)visit->driver->cuStreamDestroy(*stream_out);
        *stream_out = none;
    }
    return true;
}

static void leave(struct visit *visit)
{
    sp_cu_context popped;

    (void)visit->driver->cuCtxPopCurrent(&popped);
    (void)visit->driver->cuDevicePrimaryCtxRelease(visit->device);
    (void)visit->driver->cuThreadExchangeStreamCaptureMode(&visit->mode);
}

static bool enter(struct visit *visit, int device)
{
    sp_cu_context context;

    *visit = (struct visit){.device = device, .mode = MODE_RELAXED};
    if (sp_driver_get(&visit->driver) != STARPOOL_OK)
        return false;
    (void)visit->driver->cuThreadExchangeStreamCaptureMode(&visit->mode);
    if (visit->driver->cuDevicePrimaryCtxRetain(&context, device) != SP_CU_SUCCESS)
        goto err_mode;
    if (visit->driver->cuCtxPushCurrent(context) != SP_CU_SUCCESS)
        goto err_release;
    if (find_stream(visit))
        return true;
    leave(visit);
    return false;

err_release:
    (void)visit->driver->cuDevicePrimaryCtxRelease(device);
err_mode:
    (void)visit->driver->cuThreadExchangeStreamCaptureMode(&visit->mode);
    return false;
}

bool sp_codelet_work_fill(int device, void *ptr, size_t size)
{
    struct visit visit;
    bool is_filled;

    if (!enter(&visit, device))
        return false;
    is_filled =
        visit.driver->cuMemsetD32Async((sp_cu_ptr)(uintptr_t)ptr, PATTERN,
                                       size / sizeof(uint32_t), visit.stream) == SP_CU_SUCCESS;
    is_filled &= visit.driver->cuStreamSynchronize(visit.stream) == SP_CU_SUCCESS;
    leave(&visit);
    return is_filled;
}

static void compare(const uint32_t *words, size_t n, size_t offset,
                    struct sp_codelet_change *change)
{
    size_t i;

    for (i = 0; i < n; i++) {
        if (words[i] == PATTERN)
            continue;
        if (change->n_bytes == 0)
            change->offset = offset + i * sizeof(uint32_t);
        change->n_bytes += sizeof(uint32_t);
    }
}

static bool read_piece(const struct visit *visit, uintptr_t from, void *to, size_t size)
{
    return visit->driver->cuMemcpyDtoHAsync(to, (sp_cu_ptr)from, size, visit->stream) ==
               SP_CU_SUCCESS &&
           visit->driver->cuStreamSynchronize(visit->stream) == SP_CU_SUCCESS;
}

bool sp_codelet_work_is_filled(int device, const void *ptr, size_t size,
                               struct sp_codelet_change *change)
{
    uint32_t *words = malloc(PIECE_SIZE);
    struct visit visit;
    size_t offset;

    *change = (struct sp_codelet_change){0};
    if (words == NULL || !enter(&visit, device)) {
        free(words);
        return true;
    }
    for (offset = 0; offset < size; offset += PIECE_SIZE) {
        size_t n = sp_min(PIECE_SIZE, size - offset);

        if (!read_piece(&visit, (uintptr_t)ptr + offset, words, n))
            break;
        compare(words, n / sizeof(uint32_t), offset, change);
    }
    leave(&visit);
    free(words);
    return change->n_bytes == 0;
}

void sp_codelet_work_forget(int device)
{
    if (device >= 0 && device < SP_MAX_DEVICES)
        atomic_store(&work.streams[device], NULL);
}
