/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Entry points that answer success and count. Those that cannot be called while somebody
 * captures, unless the thread's mode is relaxed (CAP-30 to CAP-33), look at the mode. */
#include "config.h"

#include "tests/capture_script.h"

#include <stdlib.h>
#include <string.h>

struct sp_capture_script script;
__thread int sp_script_mode;

/* Whatever a pool, a stream or an event is. */
static char things[64];
static unsigned n_things;

/* What blocks are cut from, so that their addresses tell them apart. */
static _Alignas(256) char memory[1 << 20];
static size_t memory_used;

static void *new_thing(void)
{
    return &things[n_things++ % sizeof(things)];
}

static sp_cu_result safe(int call)
{
    script.n_calls[call]++;
    return SP_CU_SUCCESS;
}

static sp_cu_result unsafe(int call)
{
    if (sp_script_mode != SP_CU_CAPTURE_MODE_RELAXED) {
        script.n_unguarded++;
        script.last_unguarded = call;
    }
    return safe(call);
}

/* On a stream that is captured this ends the capture. */
static sp_cu_result on_stream(int call, sp_cu_stream stream)
{
    script.n_on_captured += stream == script.captured && script.state != SP_CU_CAPTURE_NONE;
    return safe(call);
}

/* ---- what there is not ------------------------------------------------------------------- */

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define X(name, symbol, version, parameters)     \
    static sp_cu_result absent_##name parameters \
    {                                            \
        return SP_CU_NOT_SUPPORTED;              \
    }
#include "src/driver/calls.def"
#undef X
#pragma GCC diagnostic pop

/* ---- devices and contexts ---------------------------------------------------------------- */

static sp_cu_result get_count(int *count_out)
{
    *count_out = 1;
    return safe(SP_CALL_cuDeviceGetCount);
}

static sp_cu_result retain(sp_cu_context *context_out, sp_cu_device device)
{
    (void)device;
    *context_out = (sp_cu_context)things;
    return unsafe(SP_CALL_cuDevicePrimaryCtxRetain);
}

static sp_cu_result get_state(sp_cu_device device, unsigned *flags_out, int *is_active_out)
{
    (void)device;
    *flags_out = 0;
    *is_active_out = 1;
    return safe(SP_CALL_cuDevicePrimaryCtxGetState);
}

static sp_cu_result get_current(sp_cu_context *context_out)
{
    *context_out = NULL;
    return safe(SP_CALL_cuCtxGetCurrent);
}

static sp_cu_result push_current(sp_cu_context context)
{
    (void)context;
    return safe(SP_CALL_cuCtxPushCurrent);
}

static sp_cu_result pop_current(sp_cu_context *context_out)
{
    *context_out = (sp_cu_context)things;
    return safe(SP_CALL_cuCtxPopCurrent);
}

static sp_cu_result get_device(sp_cu_device *device_out)
{
    *device_out = 0;
    return safe(SP_CALL_cuCtxGetDevice);
}

static sp_cu_result synchronize_context(void)
{
    return unsafe(SP_CALL_cuCtxSynchronize);
}

/* ---- streams and events ------------------------------------------------------------------ */

static sp_cu_result create_stream(sp_cu_stream *stream_out, unsigned flags)
{
    (void)flags;
    *stream_out = new_thing();
    return safe(SP_CALL_cuStreamCreate);
}

static sp_cu_result destroy_stream(sp_cu_stream stream)
{
    (void)stream;
    return safe(SP_CALL_cuStreamDestroy);
}

static sp_cu_result synchronize(sp_cu_stream stream)
{
    return on_stream(SP_CALL_cuStreamSynchronize, stream);
}

static sp_cu_result query(sp_cu_stream stream)
{
    return on_stream(SP_CALL_cuStreamQuery, stream);
}

static sp_cu_result await(sp_cu_stream stream, sp_cu_event event, unsigned flags)
{
    (void)event, (void)flags;
    return on_stream(SP_CALL_cuStreamWaitEvent, stream);
}

static sp_cu_result get_id(sp_cu_stream stream, unsigned long long *id_out)
{
    *id_out = (uintptr_t)stream;
    (void)on_stream(SP_CALL_cuStreamGetId, stream);
    return script.id_result;
}

static sp_cu_result get_context(sp_cu_stream stream, sp_cu_context *context_out)
{
    *context_out = (sp_cu_context)things;
    return on_stream(SP_CALL_cuStreamGetCtx, stream);
}

static sp_cu_result create_event(sp_cu_event *event_out, unsigned flags)
{
    (void)flags;
    *event_out = new_thing();
    return safe(SP_CALL_cuEventCreate);
}

static sp_cu_result destroy_event(sp_cu_event event)
{
    (void)event;
    return safe(SP_CALL_cuEventDestroy);
}

static sp_cu_result record_event(sp_cu_event event, sp_cu_stream stream)
{
    (void)event;
    return on_stream(SP_CALL_cuEventRecord, stream);
}

static sp_cu_result query_event(sp_cu_event event)
{
    (void)event;
    (void)unsafe(SP_CALL_cuEventQuery);
    return script.event_result;
}

static sp_cu_result synchronize_event(sp_cu_event event)
{
    (void)event;
    return unsafe(SP_CALL_cuEventSynchronize);
}

/* ---- memory ------------------------------------------------------------------------------ */

static sp_cu_result alloc_from_pool(sp_cu_ptr *ptr_out, size_t size, sp_cu_pool pool,
                                    sp_cu_stream stream)
{
    (void)pool, (void)stream;
    if (memory_used + size > sizeof(memory))
        memory_used = 0;
    *ptr_out = (uintptr_t)memory + memory_used;
    memory_used += (size + 255) / 256 * 256;
    return unsafe(SP_CALL_cuMemAllocFromPoolAsync);
}

static sp_cu_result free_async(sp_cu_ptr ptr, sp_cu_stream stream)
{
    (void)ptr;
    script.n_on_captured += stream == script.captured && script.state != SP_CU_CAPTURE_NONE;
    return unsafe(SP_CALL_cuMemFreeAsync);
}

static sp_cu_result get_range(sp_cu_ptr *base_out, size_t *size_out, sp_cu_ptr ptr)
{
    (void)base_out, (void)size_out, (void)ptr;
    (void)unsafe(SP_CALL_cuMemGetAddressRange);
    return SP_CU_INVALID_VALUE;
}

static sp_cu_result create_pool(sp_cu_pool *pool_out, const struct sp_cu_pool_props *props)
{
    (void)props;
    *pool_out = new_thing();
    return unsafe(SP_CALL_cuMemPoolCreate);
}

static sp_cu_result destroy_pool(sp_cu_pool pool)
{
    (void)pool;
    return unsafe(SP_CALL_cuMemPoolDestroy);
}

static sp_cu_result trim(sp_cu_pool pool, size_t keep)
{
    (void)pool, (void)keep;
    return unsafe(SP_CALL_cuMemPoolTrimTo);
}

static sp_cu_result get_attribute(sp_cu_pool pool, int attribute, void *value_out)
{
    (void)pool;
    memset(value_out, 0,
           attribute < SP_CU_POOL_RELEASE_THRESHOLD ? sizeof(int) : sizeof(uint64_t));
    return unsafe(SP_CALL_cuMemPoolGetAttribute);
}

static sp_cu_result set_attribute(sp_cu_pool pool, int attribute, void *value)
{
    (void)pool, (void)attribute, (void)value;
    return unsafe(SP_CALL_cuMemPoolSetAttribute);
}

static sp_cu_result get_access(int *flags_out, sp_cu_pool pool, struct sp_cu_location *location)
{
    (void)pool, (void)location;
    *flags_out = SP_CU_ACCESS_READWRITE;
    return unsafe(SP_CALL_cuMemPoolGetAccess);
}

static sp_cu_result set_access(sp_cu_pool pool, const struct sp_cu_access_desc *descs,
                               size_t n_descs)
{
    (void)pool, (void)descs, (void)n_descs;
    return unsafe(SP_CALL_cuMemPoolSetAccess);
}

static sp_cu_result export_pool(void *handle_out, sp_cu_pool pool, int type,
                                unsigned long long flags)
{
    (void)pool, (void)type, (void)flags;
    *(int *)handle_out = -1;
    return unsafe(SP_CALL_cuMemPoolExportToShareableHandle);
}

static sp_cu_result import_pool(sp_cu_pool *pool_out, void *handle, int type,
                                unsigned long long flags)
{
    (void)handle, (void)type, (void)flags;
    *pool_out = new_thing();
    return unsafe(SP_CALL_cuMemPoolImportFromShareableHandle);
}

static sp_cu_result export_pointer(struct sp_cu_pointer_export *data_out, sp_cu_ptr ptr)
{
    (void)ptr;
    memset(data_out, 0, sizeof(*data_out));
    return unsafe(SP_CALL_cuMemPoolExportPointer);
}

static sp_cu_result get_default(sp_cu_pool *pool_out, sp_cu_device device)
{
    (void)device;
    *pool_out = (sp_cu_pool)things;
    return safe(SP_CALL_cuDeviceGetDefaultMemPool);
}

/* ---- captures ---------------------------------------------------------------------------- */

static bool is_legacy(sp_cu_stream stream)
{
    return stream == NULL || stream == SP_CU_STREAM_LEGACY;
}

static int state_of(sp_cu_stream stream)
{
    return stream == script.captured ? script.state : SP_CU_CAPTURE_NONE;
}

static sp_cu_result get_info(sp_cu_stream stream, int *status_out, uint64_t *id_out,
                             sp_cu_graph *graph_out, const sp_cu_node **dependencies_out,
                             const struct sp_cu_edge_data **edges_out, size_t *n_out)
{
    static const struct sp_cu_edge_data edges[SP_SCRIPT_NODES];

    (void)safe(SP_CALL_cuStreamGetCaptureInfo);
    if (script.info_result != SP_CU_SUCCESS)
        return script.info_result;
    if (is_legacy(stream) && script.legacy_result != SP_CU_SUCCESS)
        return script.legacy_result;
    *status_out = state_of(stream);
    if (id_out != NULL)
        *id_out = script.id;
    if (graph_out != NULL)
        *graph_out = (sp_cu_graph)things;
    if (dependencies_out != NULL) {
        *dependencies_out = (const sp_cu_node *)(void *)script.frontier;
        *edges_out = edges;
        *n_out = script.n_frontier;
    }
    return SP_CU_SUCCESS;
}

static sp_cu_result is_capturing(sp_cu_stream stream, int *status_out)
{
    (void)safe(SP_CALL_cuStreamIsCapturing);
    if (script.query_result == SP_CU_SUCCESS)
        *status_out = state_of(stream);
    return script.query_result;
}

static sp_cu_result exchange(int *mode)
{
    int last = sp_script_mode;

    (void)safe(SP_CALL_cuThreadExchangeStreamCaptureMode);
    if (script.exchange_result == SP_CU_SUCCESS) {
        sp_script_mode = *mode;
        *mode = last;
    }
    return script.exchange_result;
}

static sp_cu_result get_dependencies(sp_cu_node node, sp_cu_node *nodes_out,
                                     struct sp_cu_edge_data *edges_out, size_t *n)
{
    const struct sp_script_node *from = (const struct sp_script_node *)(void *)node;

    (void)edges_out;
    if (nodes_out != NULL)
        memcpy(nodes_out, from->dependencies, from->n * sizeof(sp_cu_node));
    *n = from->n;
    return safe(SP_CALL_cuGraphNodeGetDependencies);
}

static sp_cu_result create_object(sp_cu_object *object_out, void *ptr, sp_cu_host_fn destroy,
                                  unsigned initial, unsigned flags)
{
    (void)initial, (void)flags;
    (void)safe(SP_CALL_cuUserObjectCreate);
    if (script.object_result != SP_CU_SUCCESS)
        return script.object_result;
    *object_out = (sp_cu_object)things;
    script.destroy = destroy;
    script.destroy_arg = ptr;
    return SP_CU_SUCCESS;
}

static sp_cu_result retain_object(sp_cu_graph graph, sp_cu_object object, unsigned count,
                                  unsigned flags)
{
    (void)graph, (void)object, (void)count, (void)flags;
    return safe(SP_CALL_cuGraphRetainUserObject);
}

/* ---- the table --------------------------------------------------------------------------- */

static struct sp_driver driver = {
    .name = "script",
#define X(name, symbol, version, parameters) .name = absent_##name,
#include "src/driver/calls.def"
#undef X
};

static void fill_table(void)
{
    driver.cuDeviceGetCount = get_count;
    driver.cuDevicePrimaryCtxRetain = retain;
    driver.cuDevicePrimaryCtxGetState = get_state;
    driver.cuCtxGetCurrent = get_current;
    driver.cuCtxPushCurrent = push_current;
    driver.cuCtxPopCurrent = pop_current;
    driver.cuCtxGetDevice = get_device;
    driver.cuCtxSynchronize = synchronize_context;
    driver.cuStreamCreate = create_stream;
    driver.cuStreamDestroy = destroy_stream;
    driver.cuStreamSynchronize = synchronize;
    driver.cuStreamQuery = query;
    driver.cuStreamWaitEvent = await;
    driver.cuStreamGetId = get_id;
    driver.cuStreamGetCtx = get_context;
    driver.cuEventCreate = create_event;
    driver.cuEventDestroy = destroy_event;
    driver.cuEventRecord = record_event;
    driver.cuEventQuery = query_event;
    driver.cuEventSynchronize = synchronize_event;
    driver.cuMemAllocFromPoolAsync = alloc_from_pool;
    driver.cuMemFreeAsync = free_async;
    driver.cuMemGetAddressRange = get_range;
    driver.cuMemPoolCreate = create_pool;
    driver.cuMemPoolDestroy = destroy_pool;
    driver.cuMemPoolTrimTo = trim;
    driver.cuMemPoolGetAttribute = get_attribute;
    driver.cuMemPoolSetAttribute = set_attribute;
    driver.cuMemPoolGetAccess = get_access;
    driver.cuMemPoolSetAccess = set_access;
    driver.cuMemPoolExportToShareableHandle = export_pool;
    driver.cuMemPoolImportFromShareableHandle = import_pool;
    driver.cuMemPoolExportPointer = export_pointer;
    driver.cuDeviceGetDefaultMemPool = get_default;
    driver.cuDeviceGetMemPool = get_default;
    driver.cuStreamGetCaptureInfo = get_info;
    driver.cuStreamIsCapturing = is_capturing;
    driver.cuThreadExchangeStreamCaptureMode = exchange;
    driver.cuGraphNodeGetDependencies = get_dependencies;
    driver.cuUserObjectCreate = create_object;
    driver.cuGraphRetainUserObject = retain_object;
}

const struct sp_driver *sp_capture_script_driver(void)
{
    return &driver;
}

void sp_capture_script_begin(void)
{
    fill_table();
    memset(&script, 0, sizeof(script));
    script.captured = (sp_cu_stream)&things[sizeof(things) - 1];
    script.id = 7;
    sp_script_mode = SP_CU_CAPTURE_MODE_GLOBAL;
    sp_driver_reset();
    sp_driver_use(&driver);
}

void sp_capture_script_end(void)
{
    sp_driver_reset();
}
