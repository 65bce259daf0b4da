/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Streams, events, and host functions between their operations. */
#include "config.h"

#include "src/sim/runtime.h"

/* ---- streams ------------------------------------------------------------------------- */

int cudaStreamCreate(sp_cu_stream *stream_out)
{
    return SP_RUNTIME(sp_cu()->cuStreamCreate(stream_out, SP_CU_STREAM_DEFAULT));
}

int cudaStreamCreateWithFlags(sp_cu_stream *stream_out, unsigned flags)
{
    return SP_RUNTIME(sp_cu()->cuStreamCreate(stream_out, flags));
}

int cudaStreamCreateWithPriority(sp_cu_stream *stream_out, unsigned flags, int priority)
{
    return SP_RUNTIME(sp_cu()->cuStreamCreateWithPriority(stream_out, flags, priority));
}

int cudaStreamDestroy(sp_cu_stream stream)
{
    return SP_RUNTIME(sp_cu()->cuStreamDestroy(stream));
}

int cudaStreamSynchronize(sp_cu_stream stream)
{
    return SP_RUNTIME(sp_cu()->cuStreamSynchronize(stream));
}

int cudaStreamQuery(sp_cu_stream stream)
{
    return SP_RUNTIME(sp_cu()->cuStreamQuery(stream));
}

int cudaStreamWaitEvent(sp_cu_stream stream, sp_cu_event event, unsigned flags)
{
    return SP_RUNTIME(sp_cu()->cuStreamWaitEvent(stream, event, flags));
}

int cudaStreamGetFlags(sp_cu_stream stream, unsigned *flags_out)
{
    return SP_RUNTIME(sp_cu()->cuStreamGetFlags(stream, flags_out));
}

int cudaStreamGetPriority(sp_cu_stream stream, int *priority_out)
{
    return SP_RUNTIME(sp_cu()->cuStreamGetPriority(stream, priority_out));
}

int cudaStreamCopyAttributes(sp_cu_stream target, sp_cu_stream source)
{
    return SP_RUNTIME(sp_cu()->cuStreamCopyAttributes(target, source));
}

int cudaStreamGetAttribute(sp_cu_stream stream, int attribute, void *value_out)
{
    return SP_RUNTIME(sp_cu()->cuStreamGetAttribute(stream, attribute, value_out));
}

int cudaStreamSetAttribute(sp_cu_stream stream, int attribute, const void *value)
{
    return SP_RUNTIME(sp_cu()->cuStreamSetAttribute(stream, attribute, value));
}

int cudaStreamAddCallback(sp_cu_stream stream, sp_cu_stream_callback callback, void *arg,
                          unsigned flags)
{
    return SP_RUNTIME(sp_cu()->cuStreamAddCallback(stream, callback, arg, flags));
}

int cudaLaunchHostFunc(sp_cu_stream stream, sp_cu_host_fn function, void *arg)
{
    return SP_RUNTIME(sp_cu()->cuLaunchHostFunc(stream, function, arg));
}

/* 0 bytes are all that the memory has. */
int cudaStreamAttachMemAsync(sp_cu_stream stream, void *ptr, size_t length, unsigned flags)
{
    return SP_RUNTIME(
        sp_cu()->cuStreamAttachMemAsync(stream, (sp_cu_ptr)(uintptr_t)ptr, length, flags));
}

/* ---- events -------------------------------------------------------------------------- */

int cudaEventCreate(sp_cu_event *event_out)
{
    return SP_RUNTIME(sp_cu()->cuEventCreate(event_out, SP_CU_EVENT_DEFAULT));
}

int cudaEventCreateWithFlags(sp_cu_event *event_out, unsigned flags)
{
    return SP_RUNTIME(sp_cu()->cuEventCreate(event_out, flags));
}

int cudaEventDestroy(sp_cu_event event)
{
    return SP_RUNTIME(sp_cu()->cuEventDestroy(event));
}

int cudaEventRecord(sp_cu_event event, sp_cu_stream stream)
{
    return SP_RUNTIME(sp_cu()->cuEventRecord(event, stream));
}

int cudaEventRecordWithFlags(sp_cu_event event, sp_cu_stream stream, unsigned flags)
{
    return SP_RUNTIME(sp_cu()->cuEventRecordWithFlags(event, stream, flags));
}

int cudaEventQuery(sp_cu_event event)
{
    return SP_RUNTIME(sp_cu()->cuEventQuery(event));
}

int cudaEventSynchronize(sp_cu_event event)
{
    return SP_RUNTIME(sp_cu()->cuEventSynchronize(event));
}

int cudaEventElapsedTime(float *milliseconds_out, sp_cu_event start, sp_cu_event end)
{
    return SP_RUNTIME(sp_cu()->cuEventElapsedTime(milliseconds_out, start, end));
}

/* ---- capture ------------------------------------------------------------------------- */

int cudaStreamBeginCapture(sp_cu_stream stream, int mode)
{
    return SP_RUNTIME(sp_cu()->cuStreamBeginCapture(stream, mode));
}

int cudaStreamEndCapture(sp_cu_stream stream, sp_cu_graph *graph_out)
{
    return SP_RUNTIME(sp_cu()->cuStreamEndCapture(stream, graph_out));
}

int cudaStreamIsCapturing(sp_cu_stream stream, int *status_out)
{
    return SP_RUNTIME(sp_cu()->cuStreamIsCapturing(stream, status_out));
}

int cudaThreadExchangeStreamCaptureMode(int *mode)
{
    return SP_RUNTIME(sp_cu()->cuThreadExchangeStreamCaptureMode(mode));
}
