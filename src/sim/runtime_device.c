/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Devices: how many there are, what they can do, who reaches whom, and beginning anew. */
#include "config.h"

#include "src/sim/runtime.h"

/* ---- versions ------------------------------------------------------------------------ */

static int get_version(int version, int *version_out)
{
    if (version_out == NULL)
        return SP_CU_INVALID_VALUE;
    *version_out = version;
    return SP_CU_SUCCESS;
}

int cudaRuntimeGetVersion(int *version_out)
{
    return sp_runtime_end(get_version(SP_RUNTIME_VERSION, version_out));
}

int cudaDriverGetVersion(int *version_out)
{
    return sp_runtime_end(sp_cu()->cuDriverGetVersion(version_out));
}

/* ---- what there is ------------------------------------------------------------------- */

/* Where there is no device, programs look at the count all the same. */
static int count(int *count_out)
{
    int result = sp_runtime_start();

    if (result == SP_CU_NO_DEVICE && count_out != NULL)
        *count_out = 0;
    return result == SP_CU_SUCCESS ? sp_cu()->cuDeviceGetCount(count_out) : result;
}

int cudaGetDeviceCount(int *count_out)
{
    return sp_runtime_end(count(count_out));
}

int cudaDeviceGetAttribute(int *value_out, int attribute, int device)
{
    return SP_RUNTIME_START(sp_cu()->cuDeviceGetAttribute(value_out, attribute, device));
}

int cudaDeviceGetPCIBusId(char *id_out, int size, int device)
{
    return SP_RUNTIME_START(sp_cu()->cuDeviceGetPCIBusId(id_out, size, device));
}

int cudaDeviceGetByPCIBusId(int *device_out, const char *id)
{
    return SP_RUNTIME_START(sp_cu()->cuDeviceGetByPCIBusId(device_out, id));
}

/* All devices are alike. */
static int choose(int *device_out, const void *wanted)
{
    if (device_out == NULL || wanted == NULL)
        return SP_CU_INVALID_VALUE;
    *device_out = 0;
    return SP_CU_SUCCESS;
}

int cudaChooseDevice(int *device_out, const void *wanted)
{
    return SP_RUNTIME_START(choose(device_out, wanted));
}

/* A list of devices to try in turn: the first does, and is there already. */
static int set_valid(const int *devices, int n_devices)
{
    int n_there = 0;
    int result = sp_cu()->cuDeviceGetCount(&n_there);

    if (result != SP_CU_SUCCESS)
        return result;
    if (n_devices < 0 || n_devices > n_there || (n_devices > 0 && devices == NULL))
        return SP_CU_INVALID_VALUE;
    for (int i = 0; i < n_devices; i++) {
        if (devices[i] < 0 || devices[i] >= n_there)
            return SP_CU_INVALID_DEVICE;
    }
    return n_devices > 0 ? cudaSetDevice(devices[0]) : SP_CU_SUCCESS;
}

int cudaSetValidDevices(int *devices, int n_devices)
{
    return SP_RUNTIME_START(set_valid(devices, n_devices));
}

/* Programs ask with a cudaChannelFormatDesc: bits of up to four channels, and what they are. */
static int linear_width(size_t *width_out, const struct sp_rt_format *format, int device)
{
    /* By kind, for channels of 8, 16 and 32 bits: CUarray_format. */
    static const int formats[][3] = {{8, 9, 10}, {1, 2, 3}, {0, 0x10, 0x20}};
    int size = format == NULL ? 0 : format->bits[0];
    unsigned n_channels = 0;

    while (n_channels < 4 && format != NULL && format->bits[n_channels] != 0)
        n_channels++;
    if ((size != 8 && size != 16 && size != 32) || format->kind < 0 || format->kind > 2)
        return SP_RT_INVALID_FORMAT;
    return sp_cu()->cuDeviceGetTexture1DLinearMaxWidth(
        width_out, formats[format->kind][size / 16], n_channels, device);
}

int cudaDeviceGetTexture1DLinearMaxWidth(size_t *width_out, const struct sp_rt_format *format,
                                         int device)
{
    return SP_RUNTIME_START(linear_width(width_out, format, device));
}

struct sp_rt_format cudaCreateChannelDesc(int x, int y, int z, int w, int kind)
{
    return (struct sp_rt_format){{x, y, z, w}, kind};
}

/* ---- the current device's context ---------------------------------------------------- */

int cudaDeviceSynchronize(void)
{
    return SP_RUNTIME(sp_cu()->cuCtxSynchronize());
}

/* Allocations, streams and peers of the device go, in the whole process; the next call begins
 * anew. */
static int reset(void)
{
    int device;
    int result = sp_cu()->cuCtxGetDevice(&device);

    return result == SP_CU_SUCCESS ? sp_cu()->cuDevicePrimaryCtxReset(device) : result;
}

int cudaDeviceReset(void)
{
    return SP_RUNTIME(reset());
}

static int get_flags(unsigned *flags_out)
{
    int device, is_active;
    unsigned flags;
    int result = cudaGetDevice(&device);

    if (result == SP_CU_SUCCESS && flags_out == NULL)
        result = SP_CU_INVALID_VALUE;
    if (result == SP_CU_SUCCESS)
        result = sp_cu()->cuDevicePrimaryCtxGetState(device, &flags, &is_active);
    if (result == SP_CU_SUCCESS)
        *flags_out = flags;
    return result;
}

int cudaGetDeviceFlags(unsigned *flags_out)
{
    return SP_RUNTIME_START(get_flags(flags_out));
}

static int set_flags(unsigned flags)
{
    int device;
    int result = cudaGetDevice(&device);

    return result == SP_CU_SUCCESS ? sp_cu()->cuDevicePrimaryCtxSetFlags(device, flags)
                                   : result;
}

int cudaSetDeviceFlags(unsigned flags)
{
    return SP_RUNTIME_START(set_flags(flags));
}

int cudaDeviceGetLimit(size_t *value_out, int limit)
{
    return SP_RUNTIME(sp_cu()->cuCtxGetLimit(value_out, limit));
}

int cudaDeviceSetLimit(int limit, size_t value)
{
    return SP_RUNTIME(sp_cu()->cuCtxSetLimit(limit, value));
}

int cudaDeviceGetCacheConfig(int *config_out)
{
    return SP_RUNTIME(sp_cu()->cuCtxGetCacheConfig(config_out));
}

int cudaDeviceSetCacheConfig(int config)
{
    return SP_RUNTIME(sp_cu()->cuCtxSetCacheConfig(config));
}

/* Banks of shared memory are as wide as ever: a wish is heard and forgotten, as on devices that
 * have no choice. */
static int get_shared_config(int *config_out)
{
    if (config_out == NULL)
        return SP_CU_INVALID_VALUE;
    *config_out = 1;
    return SP_CU_SUCCESS;
}

int cudaDeviceGetSharedMemConfig(int *config_out)
{
    return SP_RUNTIME(get_shared_config(config_out));
}

int cudaDeviceSetSharedMemConfig(int config)
{
    return SP_RUNTIME(config < 0 || config > 2 ? SP_CU_INVALID_VALUE : SP_CU_SUCCESS);
}

int cudaDeviceGetStreamPriorityRange(int *least_out, int *greatest_out)
{
    return SP_RUNTIME(sp_cu()->cuCtxGetStreamPriorityRange(least_out, greatest_out));
}

int cudaDeviceFlushGPUDirectRDMAWrites(int target, int scope)
{
    return SP_RUNTIME(sp_cu()->cuFlushGPUDirectRDMAWrites(target, scope));
}

/* No cache of the model's persists. */
int cudaCtxResetPersistingL2Cache(void)
{
    return SP_RUNTIME(SP_CU_SUCCESS);
}

int cudaProfilerStart(void)
{
    return SP_RUNTIME(sp_cu()->cuProfilerStart());
}

int cudaProfilerStop(void)
{
    return SP_RUNTIME(sp_cu()->cuProfilerStop());
}

/* ---- peers --------------------------------------------------------------------------- */

int cudaDeviceCanAccessPeer(int *can_out, int device, int peer)
{
    return SP_RUNTIME_START(sp_cu()->cuDeviceCanAccessPeer(can_out, device, peer));
}

int cudaDeviceGetP2PAttribute(int *value_out, int attribute, int device, int peer)
{
    return SP_RUNTIME_START(
        sp_cu()->cuDeviceGetP2PAttribute(value_out, attribute, device, peer));
}

/* The primary context of another device than the current one. */
static int peer_context(int peer, sp_cu_context *context_out)
{
    int device;
    int result = sp_cu()->cuCtxGetDevice(&device);

    if (result != SP_CU_SUCCESS)
        return result;
    return peer == device ? SP_CU_INVALID_DEVICE : sp_runtime_context(peer, context_out);
}

static int enable_peer(int peer, unsigned flags)
{
    sp_cu_context context;
    int result = peer_context(peer, &context);

    return result == SP_CU_SUCCESS ? sp_cu()->cuCtxEnablePeerAccess(context, flags) : result;
}

int cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
    return SP_RUNTIME(enable_peer(peer, flags));
}

static int disable_peer(int peer)
{
    sp_cu_context context;
    int result = peer_context(peer, &context);

    return result == SP_CU_SUCCESS ? sp_cu()->cuCtxDisablePeerAccess(context) : result;
}

int cudaDeviceDisablePeerAccess(int peer)
{
    return SP_RUNTIME(disable_peer(peer));
}
