/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* In front of a few functions of CUDA's two libraries, whichever of them a program calls. A
 * reset of a device takes every slab on it and every registration of host memory, which the
 * pools must hear of. A capture in mode GLOBAL ends when another thread polls an event, as
 * StarPU's do all the time. Each call goes on to the real function; a program that has none is
 * told that CUDA is not initialised. */
#include "config.h"

#include "src/starpu/watch.h"

#include <dlfcn.h>
#include <stdatomic.h>

#include <starpool/stream.h>

#include "src/driver/driver.h"
#include "src/pool/private.h"
#include "src/starpu/codelet_check.h"
#include "src/starpu/plugin.h"
#include "src/starpu/real.h"
#include "src/util/diag.h"
#include "src/util/options.h"
#include "src/util/util.h"

/* cudaErrorInitializationError and CUDA_ERROR_NOT_INITIALIZED. */
#define NOT_INITIALIZED 3

/* Of cudaStreamCaptureMode and CUstreamCaptureMode. */
enum mode { MODE_GLOBAL, MODE_THREAD_LOCAL };

/* cudaPointerAttributes, as of CUDA 11. */
struct pointer_attributes {
    int type; /* cudaMemoryType */
    int device;
    void *device_pointer;
    void *host_pointer;
    long reserved[8];
};

enum { MEMORY_TYPE_DEVICE = 2 };

typedef int (*reset_fn)(void);
typedef int (*reset_device_fn)(sp_cu_device device);
typedef int (*get_device_fn)(int *device_out);
typedef int (*begin_fn)(starpool_stream stream, int mode);
typedef int (*begin_to_graph_fn)(starpool_stream stream, struct CUgraph_st *graph,
                                 const void *nodes, const void *edges, size_t n, int mode);
typedef int (*get_attributes_fn)(struct pointer_attributes *attributes, const void *ptr);

static struct {
    _Atomic uint64_t n_resets;
    _Atomic uint64_t n_global;
    _Atomic uint64_t n_downgraded;
    _Atomic bool has_told;
} watch;

/* The next definition after the plugin's, or where that was opened with dlopen or the library
 * was, the one of the library itself. */
static void *find(const char *name)
{
    void *function = dlsym(RTLD_NEXT, name);

    if (function == NULL)
        function = dlsym(RTLD_DEFAULT, name);
    if (function == NULL || sp_got_is_own(function))
        function = sp_got_find_in("libcudart.so", name);
    if (function == NULL)
        function = sp_got_find_in("libcuda.so", name);
    return function;
}

struct sp_watch_counts sp_watch_counts(void)
{
    return (struct sp_watch_counts){
        .n_resets = atomic_load_explicit(&watch.n_resets, memory_order_relaxed),
        .n_global = atomic_load_explicit(&watch.n_global, memory_order_relaxed),
        .n_downgraded = atomic_load_explicit(&watch.n_downgraded, memory_order_relaxed),
    };
}

bool sp_watch_is_device_memory(const void *ptr, int device)
{
    get_attributes_fn get_attributes = (get_attributes_fn)find("cudaPointerGetAttributes");
    struct pointer_attributes attributes = {.device = -1};

    if (get_attributes == NULL)
        return true;
    return get_attributes(&attributes, ptr) == 0 && attributes.type == MEMORY_TYPE_DEVICE &&
           attributes.device == device;
}

/* ---- resets ------------------------------------------------------------------------------ */

static void forget(int result, int device)
{
    if (result != 0 || device < 0)
        return;
    atomic_fetch_add_explicit(&watch.n_resets, 1, memory_order_relaxed);
    sp_codelet_check_forget(device);
    sp_pool_forget_device(device);
}

static int door_device_reset(void)
{
    reset_fn real = (reset_fn)find("cudaDeviceReset");
    get_device_fn get_device = (get_device_fn)find("cudaGetDevice");
    int device = -1;
    int result;

    if (real == NULL)
        return NOT_INITIALIZED;
    /* Asked before: what is current afterwards is the library's affair. */
    if (get_device == NULL || get_device(&device) != 0)
        device = -1;
    result = real();
    forget(result, device);
    return result;
}

static int reset_primary(const char *name, sp_cu_device device)
{
    reset_device_fn real = (reset_device_fn)find(name);
    int result;

    if (real == NULL)
        return NOT_INITIALIZED;
    result = real(device);
    forget(result, device);
    return result;
}

static int door_primary_reset(sp_cu_device device)
{
    return reset_primary("cuDevicePrimaryCtxReset", device);
}

static int door_primary_reset_v2(sp_cu_device device)
{
    return reset_primary("cuDevicePrimaryCtxReset_v2", device);
}

/* ---- captures ---------------------------------------------------------------------------- */

static bool has_pollers(void)
{
    return sp_plugin_is_active() && sp_real.is_initialized() != 0 &&
           sp_real.cuda_worker_get_count != NULL && sp_real.cuda_worker_get_count() > 0;
}

/* The mode that a capture is to be begun in. */
static int checked_mode(int mode)
{
    bool is_downgraded;

    if (mode != MODE_GLOBAL || !has_pollers())
        return mode;
    is_downgraded = sp_option_number(SP_OPTION_CAPTURE_DOWNGRADE) != 0;
    atomic_fetch_add_explicit(&watch.n_global, 1, memory_order_relaxed);
    if (is_downgraded)
        atomic_fetch_add_explicit(&watch.n_downgraded, 1, memory_order_relaxed);
    if (!atomic_exchange(&watch.has_told, true))
        sp_log(SP_LOG_WARN,
               is_downgraded
                   ? "captures that are begun in mode GLOBAL are begun as THREAD_LOCAL ones "
                     "(STARPOOL_CAPTURE_DOWNGRADE), since StarPU's threads poll events"
                   : "a capture of a stream was begun in mode GLOBAL, and ends when one of "
                     "StarPU's threads polls an event: begin it in mode THREAD_LOCAL or "
                     "RELAXED, or set STARPOOL_CAPTURE_DOWNGRADE=1");
    return is_downgraded ? MODE_THREAD_LOCAL : mode;
}

static int begin_capture(const char *name, starpool_stream stream, int mode)
{
    begin_fn real = (begin_fn)find(name);

    return real == NULL ? NOT_INITIALIZED : real(stream, checked_mode(mode));
}

static int begin_to_graph(const char *name, starpool_stream stream, struct CUgraph_st *graph,
                          const void *nodes, const void *edges, size_t n, int mode)
{
    begin_to_graph_fn real = (begin_to_graph_fn)find(name);

    return real == NULL ? NOT_INITIALIZED
                        : real(stream, graph, nodes, edges, n, checked_mode(mode));
}

static int door_begin(starpool_stream stream, int mode)
{
    return begin_capture("cudaStreamBeginCapture", stream, mode);
}

static int door_begin_ptsz(starpool_stream stream, int mode)
{
    return begin_capture("cudaStreamBeginCapture_ptsz", stream, mode);
}

static int door_begin_v2(starpool_stream stream, int mode)
{
    return begin_capture("cuStreamBeginCapture_v2", stream, mode);
}

static int door_begin_v2_ptsz(starpool_stream stream, int mode)
{
    return begin_capture("cuStreamBeginCapture_v2_ptsz", stream, mode);
}

static int door_to_graph(starpool_stream stream, struct CUgraph_st *graph, const void *nodes,
                         const void *edges, size_t n, int mode)
{
    return begin_to_graph("cudaStreamBeginCaptureToGraph", stream, graph, nodes, edges, n,
                          mode);
}

static int door_to_graph_ptsz(starpool_stream stream, struct CUgraph_st *graph,
                              const void *nodes, const void *edges, size_t n, int mode)
{
    return begin_to_graph("cudaStreamBeginCaptureToGraph_ptsz", stream, graph, nodes, edges, n,
                          mode);
}

static int door_cu_to_graph(starpool_stream stream, struct CUgraph_st *graph, const void *nodes,
                            const void *edges, size_t n, int mode)
{
    return begin_to_graph("cuStreamBeginCaptureToGraph", stream, graph, nodes, edges, n, mode);
}

static int door_cu_to_graph_ptsz(starpool_stream stream, struct CUgraph_st *graph,
                                 const void *nodes, const void *edges, size_t n, int mode)
{
    return begin_to_graph("cuStreamBeginCaptureToGraph_ptsz", stream, graph, nodes, edges, n,
                          mode);
}

/* As in doors.c. They have no version, and so stand for whatever version a program asks for. */
#define STANDS_FOR(function) STARPOOL_API __attribute__((alias(#function)))

STANDS_FOR(door_device_reset) int cudaDeviceReset(void);
STANDS_FOR(door_primary_reset) int cuDevicePrimaryCtxReset(sp_cu_device);
STANDS_FOR(door_primary_reset_v2) int cuDevicePrimaryCtxReset_v2(sp_cu_device);
STANDS_FOR(door_begin) int cudaStreamBeginCapture(starpool_stream, int);
STANDS_FOR(door_begin_ptsz) int cudaStreamBeginCapture_ptsz(starpool_stream, int);
STANDS_FOR(door_begin_v2) int cuStreamBeginCapture_v2(starpool_stream, int);
STANDS_FOR(door_begin_v2_ptsz) int cuStreamBeginCapture_v2_ptsz(starpool_stream, int);
STANDS_FOR(door_to_graph)
int cudaStreamBeginCaptureToGraph(starpool_stream, struct CUgraph_st *, const void *,
                                  const void *, size_t, int);
STANDS_FOR(door_to_graph_ptsz)
int cudaStreamBeginCaptureToGraph_ptsz(starpool_stream, struct CUgraph_st *, const void *,
                                       const void *, size_t, int);
STANDS_FOR(door_cu_to_graph)
int cuStreamBeginCaptureToGraph(starpool_stream, struct CUgraph_st *, const void *,
                                const void *, size_t, int);
STANDS_FOR(door_cu_to_graph_ptsz)
int cuStreamBeginCaptureToGraph_ptsz(starpool_stream, struct CUgraph_st *, const void *,
                                     const void *, size_t, int);

static const struct sp_got_patch patches[] = {
    {"cudaDeviceReset", (void *)(uintptr_t)door_device_reset},
    {"cuDevicePrimaryCtxReset", (void *)(uintptr_t)door_primary_reset},
    {"cuDevicePrimaryCtxReset_v2", (void *)(uintptr_t)door_primary_reset_v2},
    {"cudaStreamBeginCapture", (void *)(uintptr_t)door_begin},
    {"cudaStreamBeginCapture_ptsz", (void *)(uintptr_t)door_begin_ptsz},
    {"cuStreamBeginCapture_v2", (void *)(uintptr_t)door_begin_v2},
    {"cuStreamBeginCapture_v2_ptsz", (void *)(uintptr_t)door_begin_v2_ptsz},
    {"cudaStreamBeginCaptureToGraph", (void *)(uintptr_t)door_to_graph},
    {"cudaStreamBeginCaptureToGraph_ptsz", (void *)(uintptr_t)door_to_graph_ptsz},
    {"cuStreamBeginCaptureToGraph", (void *)(uintptr_t)door_cu_to_graph},
    {"cuStreamBeginCaptureToGraph_ptsz", (void *)(uintptr_t)door_cu_to_graph_ptsz},
};

const struct sp_got_patch *sp_watch_patches(size_t *n_out)
{
    *n_out = SP_ARRAY_SIZE(patches);
    return patches;
}
