/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The simulated NVML, and the handles of the simulated cuSPARSE. */
#include "config.h"

#include "tests/sim_blas_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "src/model/model.h"
#include "src/sim/nvml.h"

static void *library; /* the simulated NVML */

/* Any function of NVML: all that it takes is integers and addresses. */
static int nvml(const char *name, size_t n_args, const intptr_t *args)
{
    int (*function)(intptr_t, intptr_t, intptr_t);
    intptr_t a[3] = {0};
    char full[64] = "nvml";
    void *symbol;

    assert_true(n_args <= 3);
    memcpy(a, args, n_args * sizeof(*args));
    strncat(full, name, sizeof(full) - 5);
    symbol = sp_sim_symbol(library, full);
    memcpy(&function, &symbol, sizeof(symbol));
    return function(a[0], a[1], a[2]);
}

#define NVML(name, ...) nvml((name), BLAS_ARGS(__VA_ARGS__))

static int open_library(void **state)
{
    (void)state;
    /* Two devices, before anything looks. */
    setenv("STARPOOL_MODEL_DEVICES", "2", 1);
    setenv("STARPOOL_MODEL_MEMORY", "256M", 1);
    library = sp_sim_open("cuda-13", "libnvidia-ml.so.1");
    return library == NULL ? -1 : 0;
}

static int start(void **state)
{
    (void)state;
    return NVML("Init_v2", 0);
}

static int stop(void **state)
{
    (void)state;
    return NVML("Shutdown", 0);
}

static void nothing_works_before_the_start(void **state)
{
    unsigned n;
    void *device;

    (void)state;
    assert_int_equal(SP_NVML_UNINITIALIZED, NVML("DeviceGetCount_v2", (intptr_t)&n));
    assert_int_equal(SP_NVML_UNINITIALIZED,
                     NVML("DeviceGetHandleByIndex_v2", 0, (intptr_t)&device));
    assert_int_equal(SP_NVML_UNINITIALIZED, NVML("DeviceGetIndex", 1, (intptr_t)&n));
    assert_int_equal(SP_NVML_UNINITIALIZED, NVML("Shutdown", 0));
    assert_int_equal(SP_NVML_SUCCESS, NVML("Init_v2", 0));
    assert_int_equal(SP_NVML_SUCCESS, NVML("Init_v2", 0));
    assert_int_equal(SP_NVML_SUCCESS, NVML("Shutdown", 0));
    assert_int_equal(SP_NVML_SUCCESS, NVML("DeviceGetCount_v2", (intptr_t)&n));
    assert_int_equal(SP_NVML_SUCCESS, NVML("Shutdown", 0));
    assert_int_equal(SP_NVML_UNINITIALIZED, NVML("DeviceGetCount_v2", (intptr_t)&n));
}

static void devices_are_found_by_index_bus_and_uuid(void **state)
{
    unsigned n = 0, index;
    void *device, *same;
    struct sp_nvml_pci pci;
    char uuid[48], name[64], bus_id[32];

    (void)state;
    assert_int_equal(SP_NVML_SUCCESS, NVML("DeviceGetCount_v2", (intptr_t)&n));
    assert_int_equal(2, n);
    for (unsigned i = 0; i < n; i++) {
        assert_int_equal(SP_NVML_SUCCESS,
                         NVML("DeviceGetHandleByIndex_v2", i, (intptr_t)&device));
        assert_int_equal(SP_NVML_SUCCESS,
                         NVML("DeviceGetIndex", (intptr_t)device, (intptr_t)&index));
        assert_int_equal(i, index);
        assert_int_equal(SP_NVML_SUCCESS,
                         NVML("DeviceGetPciInfo_v3", (intptr_t)device, (intptr_t)&pci));
        assert_int_equal(SP_CU_SUCCESS, sp_model_driver()->cuDeviceGetPCIBusId(
                                            bus_id, sizeof(bus_id), (int)i));
        /* Once as NVML spells it, once as CUDA does. */
        assert_int_equal(SP_NVML_SUCCESS, NVML("DeviceGetHandleByPciBusId_v2",
                                               (intptr_t)pci.bus_id, (intptr_t)&same));
        assert_ptr_equal(device, same);
        assert_int_equal(SP_NVML_SUCCESS, NVML("DeviceGetHandleByPciBusId_v2", (intptr_t)bus_id,
                                               (intptr_t)&same));
        assert_ptr_equal(device, same);
        assert_int_equal(SP_NVML_SUCCESS,
                         NVML("DeviceGetUUID", (intptr_t)device, (intptr_t)uuid, sizeof(uuid)));
        assert_int_equal(40, strlen(uuid));
        assert_memory_equal("GPU-", uuid, 4);
        assert_int_equal(SP_NVML_SUCCESS,
                         NVML("DeviceGetHandleByUUID", (intptr_t)uuid, (intptr_t)&same));
        assert_ptr_equal(device, same);
        assert_int_equal(SP_NVML_SUCCESS,
                         NVML("DeviceGetName", (intptr_t)device, (intptr_t)name, sizeof(name)));
        assert_string_equal("starpool simulated", name);
        assert_int_equal(SP_NVML_INSUFFICIENT_SIZE,
                         NVML("DeviceGetName", (intptr_t)device, (intptr_t)name, 5));
    }
    assert_int_equal(SP_NVML_INVALID_ARGUMENT,
                     NVML("DeviceGetHandleByIndex_v2", n, (intptr_t)&device));
    assert_int_equal(SP_NVML_NOT_FOUND, NVML("DeviceGetHandleByPciBusId_v2",
                                             (intptr_t) "0000:07:07.0", (intptr_t)&device));
    assert_int_equal(SP_NVML_INVALID_ARGUMENT, NVML("DeviceGetIndex", 77, (intptr_t)&index));
}

static void memory_is_the_models_and_no_context_is_made(void **state)
{
    const struct sp_driver *cu = sp_model_driver();
    struct sp_nvml_memory memory;
    sp_cu_context context;
    sp_cu_ptr ptr;
    unsigned flags;
    void *device;
    int is_active = 1;

    (void)state;
    assert_int_equal(SP_NVML_SUCCESS, NVML("DeviceGetHandleByIndex_v2", 1, (intptr_t)&device));
    assert_int_equal(SP_NVML_SUCCESS,
                     NVML("DeviceGetMemoryInfo", (intptr_t)device, (intptr_t)&memory));
    assert_int_equal(256 << 20, memory.total);
    assert_int_equal(0, memory.used);
    assert_int_equal(SP_CU_SUCCESS, cu->cuDevicePrimaryCtxGetState(1, &flags, &is_active));
    assert_false(is_active);
    assert_int_equal(SP_CU_SUCCESS, cu->cuDevicePrimaryCtxRetain(&context, 1));
    assert_int_equal(SP_CU_SUCCESS, cu->cuCtxSetCurrent(context));
    assert_int_equal(SP_CU_SUCCESS, cu->cuMemAlloc(&ptr, 16 << 20));
    assert_int_equal(SP_CU_SUCCESS, cu->cuCtxSetCurrent(NULL));
    assert_int_equal(SP_NVML_SUCCESS,
                     NVML("DeviceGetMemoryInfo", (intptr_t)device, (intptr_t)&memory));
    assert_int_equal(256 << 20, memory.total);
    assert_int_equal(16 << 20, memory.used);
    assert_int_equal(memory.total - memory.used, memory.free);
    assert_int_equal(SP_CU_SUCCESS, cu->cuCtxGetCurrent(&context));
    assert_null(context);
    assert_int_equal(SP_CU_SUCCESS, cu->cuDevicePrimaryCtxReset(1));
}

static void what_a_simulated_device_has_not_is_not_supported(void **state)
{
    void *device;
    unsigned long long energy = 7;
    char text[32];
    int value = 0;

    (void)state;
    assert_int_equal(SP_NVML_SUCCESS, NVML("DeviceGetHandleByIndex_v2", 0, (intptr_t)&device));
    assert_int_equal(SP_NVML_NOT_SUPPORTED,
                     NVML("DeviceGetNvLinkState", (intptr_t)device, 0, (intptr_t)&value));
    assert_int_equal(SP_NVML_NOT_SUPPORTED, NVML("DeviceGetTotalEnergyConsumption",
                                                 (intptr_t)device, (intptr_t)&energy));
    assert_int_equal(7, energy);
    assert_int_equal(SP_NVML_SUCCESS,
                     NVML("SystemGetDriverVersion", (intptr_t)text, sizeof(text)));
    assert_int_equal(SP_NVML_SUCCESS,
                     NVML("SystemGetNVMLVersion", (intptr_t)text, sizeof(text)));
    assert_int_equal(SP_NVML_SUCCESS, NVML("SystemGetCudaDriverVersion_v2", (intptr_t)&value));
    assert_true(value >= 11000);
}

/* ---- cuSPARSE ---------------------------------------------------------------------------- */

static void cusparse_has_handles_and_names(void **state)
{
    static const char *const names[][2] = {{"cuda-11", "libcusparse.so.11"},
                                           {"cuda-12", "libcusparse.so.12"}};

    (void)state;
    for (int i = 0; i < 2; i++) {
        void *sparse = sp_sim_open(names[i][0], names[i][1]), *handle = NULL, *symbol;
        int (*create)(void **), (*destroy)(void *), (*set)(void *, void *);
        int (*get)(void *, void **), (*property)(int, int *), (*missing)(void *), value = 0;
        void *stream = NULL;

        assert_non_null(sparse);
        symbol = sp_sim_symbol(sparse, "cusparseCreate");
        memcpy(&create, &symbol, sizeof(symbol));
        symbol = sp_sim_symbol(sparse, "cusparseDestroy");
        memcpy(&destroy, &symbol, sizeof(symbol));
        symbol = sp_sim_symbol(sparse, "cusparseSetStream");
        memcpy(&set, &symbol, sizeof(symbol));
        symbol = sp_sim_symbol(sparse, "cusparseGetStream");
        memcpy(&get, &symbol, sizeof(symbol));
        symbol = sp_sim_symbol(sparse, "cusparseGetProperty");
        memcpy(&property, &symbol, sizeof(symbol));
        symbol = sp_sim_symbol(sparse, "cusparseSpMV");
        memcpy(&missing, &symbol, sizeof(symbol));
        assert_int_equal(0, create(&handle));
        assert_int_equal(0, set(handle, &value));
        assert_int_equal(0, get(handle, &stream));
        assert_ptr_equal(&value, stream);
        assert_int_equal(10, missing(handle));
        assert_int_equal(1, set(NULL, NULL));
        assert_int_equal(0, destroy(handle));
        assert_int_equal(0, property(0, &value));
        assert_int_equal(11 + i, value);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_works_before_the_start),
        cmocka_unit_test_setup_teardown(devices_are_found_by_index_bus_and_uuid, start, stop),
        cmocka_unit_test_setup_teardown(memory_is_the_models_and_no_context_is_made, start,
                                        stop),
        cmocka_unit_test_setup_teardown(what_a_simulated_device_has_not_is_not_supported, start,
                                        stop),
        cmocka_unit_test(cusparse_has_handles_and_names),
    };

    return cmocka_run_group_tests_name("sim_nvml", tests, open_library, NULL);
}
