/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is found out about a driver, on the CPU model behind a table that answers as other
 * drivers and machines would; and what serves where something is missing. */
#include "config.h"

#include "tests/support.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <starpool.h>

#include "src/driver/features.h"
#include "src/model/model.h"
#include "src/pool/pool.h"
#include "tests/device_case.h"
#include "tests/driver_fixture.h"
#include "tests/fixture.h"
#include "tests/script.h"

static const struct starpool_location device0 = {STARPOOL_DEVICE, 0};

#define UNKNOWN (-1) /* a question that the driver does not know */

/* How this driver differs from the model. */
static struct {
    struct sp_driver table;
    struct {
        int attribute, answer;
    } answers[4];
    size_t n_answers;
    const char *name;        /* of device 0, unless NULL */
    sp_cu_result no_pools;   /* what making a pool answers, unless 0 */
    int no_pools_type;       /* of memory of this type only, unless 0 */
    int no_pools_location;   /* in this place only, unless 0 */
    sp_cu_result no_context; /* what retaining one answers, unless 0 */
} other;

static sp_cu_result get_attribute(int *value_out, int attribute, sp_cu_device device)
{
    for (size_t i = 0; i < other.n_answers; i++) {
        if (other.answers[i].attribute != attribute)
            continue;
        if (other.answers[i].answer == UNKNOWN)
            return SP_CU_INVALID_VALUE;
        *value_out = other.answers[i].answer;
        return SP_CU_SUCCESS;
    }
    return sp_model_driver()->cuDeviceGetAttribute(value_out, attribute, device);
}

static sp_cu_result get_name(char *name_out, int size, sp_cu_device device)
{
    if (device != 0 || other.name == NULL)
        return sp_model_driver()->cuDeviceGetName(name_out, size, device);
    snprintf(name_out, (size_t)size, "%s", other.name);
    return SP_CU_SUCCESS;
}

static sp_cu_result create_pool(sp_cu_pool *pool_out, const struct sp_cu_pool_props *props)
{
    if (other.no_pools != SP_CU_SUCCESS &&
        (other.no_pools_type == 0 || other.no_pools_type == props->alloc_type) &&
        (other.no_pools_location == 0 || other.no_pools_location == props->location.type))
        return other.no_pools;
    return sp_model_driver()->cuMemPoolCreate(pool_out, props);
}

static sp_cu_result get_default_pool(sp_cu_pool *pool_out, sp_cu_device device)
{
    if (other.no_pools != SP_CU_SUCCESS && other.no_pools_type == 0 &&
        other.no_pools_location == 0)
        return other.no_pools;
    return sp_model_driver()->cuDeviceGetDefaultMemPool(pool_out, device);
}

static sp_cu_result retain(sp_cu_context *context_out, sp_cu_device device)
{
    return other.no_context != SP_CU_SUCCESS
               ? other.no_context
               : sp_model_driver()->cuDevicePrimaryCtxRetain(context_out, device);
}

static int setup(void **state)
{
    const struct starpool_topology *topology;

    (void)state;
    assert_ok(starpool_topology_get(&topology)); /* It is loaded before any lock is held. */
    memset(&other, 0, sizeof(other));
    other.table = *sp_model_driver();
    other.table.cuDeviceGetAttribute = get_attribute;
    other.table.cuDeviceGetName = get_name;
    other.table.cuMemPoolCreate = create_pool;
    other.table.cuDeviceGetDefaultMemPool = get_default_pool;
    other.table.cuDeviceGetMemPool = get_default_pool;
    other.table.cuDevicePrimaryCtxRetain = retain;
    sp_driver_use(&other.table);
    return other.table.cuInit(0) == SP_CU_SUCCESS && sp_driver_get(&on.driver) == STARPOOL_OK
               ? 0
               : -1;
}

static int teardown(void **state)
{
    (void)state;
    assert_ok(starpool_model_set_switch("imex", "absent"));
    assert_ok(starpool_model_set_switch("host_pools", "supported"));
    return 0;
}

static void answer(int attribute, int value)
{
    other.answers[other.n_answers].attribute = attribute;
    other.answers[other.n_answers++].answer = value;
}

static const struct sp_features *ask(void)
{
    static struct sp_features features;

    sp_features_ask(&other.table, 0, &features);
    return &features;
}

static void assert_choice(const struct sp_choice *choice, enum sp_mechanism mechanism,
                          const char *why)
{
    assert_int_equal(choice->mechanism, mechanism);
    if (strstr(choice->why, why) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", choice->why, why);
}

/* ---- the model as it is ------------------------------------------------------------------ */

static void asking_makes_no_context(void **state)
{
    const struct sp_features *features = ask();

    (void)state;
    assert_int_equal(features->n_devices, 2);
    assert_false(sp_device_case_is_active(0));
    assert_false(sp_device_case_is_active(1));
    assert_choice(&features->devices[0].pools, SP_MECHANISM_DRIVER, "has pools");
    assert_choice(&features->devices[0].managed, SP_MECHANISM_DRIVER, "can be made");
    assert_choice(&features->host, SP_MECHANISM_DRIVER, "can be made");
    assert_choice(&features->host_numa, SP_MECHANISM_DRIVER, "can be made");
    assert_int_equal(features->devices[0].handle_types, SP_CU_HANDLE_POSIX_FD);
    assert_int_equal(features->devices[0].peers, 2);
    assert_int_equal(features->devices[1].peers, 1);
    assert_false(features->devices[0].is_mig);
    assert_int_equal(features->devices[0].mps_limit_bytes, 0);
}

static void devices_are_found_by_their_uuids(void **state)
{
    const struct sp_features *features = ask();
    char uuid[SP_FEATURES_UUID];

    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(strlen(features->devices[i].uuid), 40);
        assert_memory_equal(features->devices[i].uuid, "GPU-", 4);
        assert_int_equal(sp_features_find(&other.table, features->devices[i].uuid), i);
        assert_int_equal(sp_features_find(&other.table, features->devices[i].uuid + 4), i);
    }
    assert_string_not_equal(features->devices[0].uuid, features->devices[1].uuid);
    strcpy(uuid, features->devices[0].uuid);
    uuid[39] = 'x';
    assert_int_equal(sp_features_find(&other.table, uuid), -1);
    assert_int_equal(sp_features_find(&other.table, "GPU-"), -1);
    assert_int_equal(sp_features_find(&other.table, ""), -1);
}

/* ---- pools of devices -------------------------------------------------------------------- */

static void device_without_pools_is_served_by_slabs(void **state)
{
    struct starpool_pool *pool = NULL, *standard = NULL, *again = NULL;
    struct starpool_pool_config config;
    void *block = NULL;

    (void)state;
    answer(SP_CU_DEVICE_MEMORY_POOLS_SUPPORTED, 0);
    other.no_pools = SP_CU_NOT_SUPPORTED;
    assert_choice(&ask()->devices[0].pools, SP_MECHANISM_SLAB, "the device has no pools");
    assert_int_equal(ask()->devices[0].handle_types, 0);
    assert_int_equal(sp_driver_fixture_setup(0, true), 0); /* its pool, too */
    pool = on.pool;
    assert_true(pool->is_on_device);
    assert_int_equal(pool->config.backend, STARPOOL_BACKEND_AUTO); /* as it was asked for */
    block = sp_driver_fixture_alloc(pool, on.a, SP_MIB);
    assert_int_equal(on.driver->cuMemsetD8Async((uintptr_t)block, 1, SP_MIB, on.a),
                     SP_CU_SUCCESS);
    assert_ok(starpool_free(block, on.a));
    assert_ptr_equal(sp_driver_fixture_alloc(pool, on.a, SP_MIB), block);
    assert_ok(starpool_free(block, on.a));
    starpool_pool_config_init(&config);
    config.location = device0;
    config.backend = STARPOOL_BACKEND_DRIVER;
    assert_status(STARPOOL_ENOTSUP, starpool_pool_create(&config, &again));
    assert_ok(starpool_pool_default(device0, STARPOOL_PINNED, &standard));
    assert_ok(starpool_pool_default(device0, STARPOOL_PINNED, &again));
    assert_ptr_equal(again, standard);
    assert_ok(starpool_alloc_current(SP_MIB, on.a, &block));
    assert_ok(starpool_pool_of(block, &again));
    assert_ptr_equal(again, standard);
    assert_ok(starpool_free(block, on.a));
    assert_ok(starpool_pool_set_current(device0, STARPOOL_PINNED, pool));
    assert_ok(starpool_pool_current(device0, STARPOOL_PINNED, &again));
    assert_ptr_equal(again, pool);
    assert_int_equal(sp_driver_fixture_teardown(state), 0);
}

static void question_that_a_driver_does_not_know_is_tried(void **state)
{
    (void)state;
    answer(SP_CU_DEVICE_MEMORY_POOLS_SUPPORTED, UNKNOWN);
    answer(SP_CU_DEVICE_MEMPOOL_SUPPORTED_HANDLE_TYPES, UNKNOWN);
    assert_choice(&ask()->devices[0].pools, SP_MECHANISM_DRIVER, "has pools");
    assert_int_equal(ask()->devices[0].handle_types, SP_CU_HANDLE_POSIX_FD);
    other.no_pools = SP_CU_NOT_SUPPORTED;
    assert_choice(&ask()->devices[0].pools, SP_MECHANISM_SLAB,
                  "cuDeviceGetDefaultMemPool() answers 801 (NOT_SUPPORTED)");
}

/* ---- the host, managed memory ------------------------------------------------------------ */

static void pools_of_a_node_are_found_where_the_query_fails(void **state)
{
    (void)state;
    answer(SP_CU_DEVICE_HOST_NUMA_MEMORY_POOLS_SUPPORTED, UNKNOWN); /* CUDA 12.6 to 12.8 */
    answer(SP_CU_DEVICE_HOST_MEMORY_POOLS_SUPPORTED, UNKNOWN);
    other.no_pools = SP_CU_INVALID_VALUE;
    other.no_pools_location = SP_CU_LOCATION_HOST;
    assert_choice(&ask()->host_numa, SP_MECHANISM_DRIVER, "can be made");
    assert_choice(&ask()->host, SP_MECHANISM_SEGMENTS, "making one answers 1 (INVALID_VALUE)");
}

static void query_that_says_no_is_believed(void **state)
{
    (void)state;
    answer(SP_CU_DEVICE_HOST_MEMORY_POOLS_SUPPORTED, 0); /* though one can be made (PIT-11) */
    assert_choice(&ask()->host, SP_MECHANISM_SEGMENTS, "device 0 has no such pools");
    assert_ok(starpool_model_set_switch("host_pools", "unsupported"));
    assert_choice(&ask()->host_numa, SP_MECHANISM_SEGMENTS, "has no such pools");
}

static void kind_that_a_driver_does_not_know_is_not_supported(void **state)
{
    struct starpool_pool_config config;
    struct starpool_pool *pool = NULL;

    (void)state;
    other.no_pools = SP_CU_INVALID_VALUE; /* as drivers of CUDA 12 answer */
    other.no_pools_type = SP_CU_ALLOCATION_MANAGED;
    assert_choice(&ask()->devices[0].managed, SP_MECHANISM_NONE,
                  "making a managed pool answers 1 (INVALID_VALUE)");
    starpool_pool_config_init(&config);
    config.location = device0;
    config.memory = STARPOOL_MANAGED;
    assert_status(STARPOOL_ENOTSUP, starpool_pool_create(&config, &pool));
    other.no_pools_type = SP_CU_ALLOCATION_PINNED;
    other.no_pools_location = SP_CU_LOCATION_HOST;
    starpool_pool_config_init(&config);
    config.backend = STARPOOL_BACKEND_DRIVER;
    assert_status(STARPOOL_ENOTSUP, starpool_pool_create(&config, &pool));
    config.backend = STARPOOL_BACKEND_AUTO; /* which never needed it */
    assert_ok(starpool_pool_create(&config, &pool));
    starpool_pool_destroy(pool);
}

static void managed_memory_needs_a_device_that_shares(void **state)
{
    (void)state;
    answer(SP_CU_DEVICE_CONCURRENT_MANAGED_ACCESS, 0);
    assert_choice(&ask()->devices[0].managed, SP_MECHANISM_NONE, "beside the host");
}

/* ---- fabric ------------------------------------------------------------------------------ */

static void missing_condition_of_the_fabric_is_named(void **state)
{
    (void)state;
    assert_int_equal(ask()->devices[0].fabric, SP_FABRIC_NO_SUPPORT);
    assert_ok(starpool_model_set_switch("imex", "no-channel"));
    assert_int_equal(ask()->devices[0].fabric, SP_FABRIC_NO_CHANNEL);
    assert_ok(starpool_model_set_switch("imex", "channel"));
    assert_int_equal(ask()->devices[0].fabric, SP_FABRIC_YES);
    assert_string_equal(sp_fabric_text(SP_FABRIC_YES), "yes");
    assert_non_null(strstr(sp_fabric_text(SP_FABRIC_NO_CHANNEL), "IMEX channel"));
    assert_string_not_equal(sp_fabric_text(SP_FABRIC_NO_SUPPORT),
                            sp_fabric_text(SP_FABRIC_NO_CHANNEL));
}

static void make_file(const char *path, const char *text)
{
    int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    assert_true(file >= 0);
    assert_int_equal(write(file, text, strlen(text)), (ssize_t)strlen(text));
    assert_int_equal(close(file), 0);
}

static void machine_tells_which_condition_fails(void **state)
{
    char folder[] = "/tmp/starpool-imex.XXXXXX", devices[64], channels[64], channel[96];

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(devices, sizeof(devices), "%s/devices", folder);
    snprintf(channels, sizeof(channels), "%s/channels", folder);
    snprintf(channel, sizeof(channel), "%s/channel0", channels);
    assert_int_equal(sp_features_imex(devices, channels), SP_FABRIC_NO_SUPPORT);
    make_file(devices, "Character devices:\n195 nvidia\n234 nvidia-caps-imex-channels\n");
    assert_int_equal(sp_features_imex(devices, channels), SP_FABRIC_NO_CHANNEL);
    assert_int_equal(mkdir(channels, 0700), 0);
    assert_int_equal(sp_features_imex(devices, channels), SP_FABRIC_NO_CHANNEL);
    make_file(channel, "");
    assert_int_equal(sp_features_imex(devices, channels), SP_FABRIC_YES);
    assert_int_equal(unlink(channel), 0);
    assert_int_equal(unlink(devices), 0);
    make_file(devices, "Character devices:\n195 nvidia\n");
    assert_int_equal(sp_features_imex(devices, channels), SP_FABRIC_NO_SUPPORT);
    assert_int_equal(unlink(devices), 0);
    assert_int_equal(rmdir(channels), 0);
    assert_int_equal(rmdir(folder), 0);
}

/* ---- MIG, MPS, exclusive devices --------------------------------------------------------- */

static void part_of_a_device_has_no_peers_and_is_not_shared(void **state)
{
    enum starpool_access access = STARPOOL_ACCESS_READ;
    struct starpool_pool *pool;

    (void)state;
    other.name = "NVIDIA A100-SXM4-40GB MIG 1g.5gb";
    assert_true(ask()->devices[0].is_mig);
    assert_memory_equal(ask()->devices[0].uuid, "MIG-", 4);
    assert_int_equal(ask()->devices[0].peers, 0);
    assert_int_equal(ask()->devices[1].peers, 0);
    assert_int_equal(ask()->devices[0].handle_types, 0);
    assert_int_equal(sp_features_find(&other.table, ask()->devices[0].uuid), 0);
    pool = sp_device_case_pool(0, STARPOOL_BACKEND_AUTO, 0);
    assert_ok(starpool_pool_get_access(pool, (struct starpool_location){STARPOOL_DEVICE, 1},
                                       &access));
    assert_int_equal(access, STARPOOL_ACCESS_NONE);
    starpool_pool_destroy(pool);
}

static void limits_of_mps_are_read(void **state)
{
    (void)state;
    assert_true(sp_features_mps_limit("0=2G,1=512M", 0) == (uint64_t)2 << 30);
    assert_int_equal(sp_features_mps_limit("0=2G,1=512M", 1), 512 * SP_MIB);
    assert_int_equal(sp_features_mps_limit("0=2G,1=512MB", 1), 512 * SP_MIB);
    assert_int_equal(sp_features_mps_limit("0=2G,1=512M", 2), 0);
    assert_int_equal(sp_features_mps_limit("=2G", 0), 0);
    assert_int_equal(sp_features_mps_limit("0=much", 0), 0);
    assert_int_equal(sp_features_mps_limit("", 0), 0);
    assert_int_equal(sp_features_mps_limit(NULL, 0), 0);
    assert_null(ask()->mps);
    assert_int_equal(setenv("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "1=512M", 1), 0);
    assert_string_equal(ask()->mps, "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT");
    assert_int_equal(ask()->devices[0].mps_limit_bytes, 0);
    assert_int_equal(ask()->devices[1].mps_limit_bytes, 512 * SP_MIB);
    assert_int_equal(unsetenv("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"), 0);
}

/* First of all cases that need a context: one that is made stays. */
static void exclusive_device_of_another_process_is_one_line(void **state)
{
    struct starpool_pool *pool;
    void *ptr = &other;
    const char *text;
    enum starpool_status first, second;

    (void)state;
    answer(20, SP_COMPUTE_EXCLUSIVE);
    other.no_context = SP_CU_DEVICE_UNAVAILABLE;
    assert_int_equal(ask()->devices[0].mode, SP_COMPUTE_EXCLUSIVE);
    pool = sp_device_case_pool(0, STARPOOL_BACKEND_SLAB, 0);
    sp_script_stderr_begin();
    first = starpool_alloc(pool, 1, STARPOOL_STREAM_HOST, &ptr);
    second = starpool_alloc(pool, 1, STARPOOL_STREAM_HOST, &ptr);
    text = sp_script_stderr_end();
    assert_status(STARPOOL_EDRIVER, first);
    assert_status(STARPOOL_EDRIVER, second);
    assert_ptr_equal(ptr, &other);
    assert_int_equal(sp_script_n_times(text, "device 0 gives no context"), 1);
    starpool_pool_destroy(pool);
}

/* ---- no driver at all -------------------------------------------------------------------- */

/* The program again. */
static int run_without_driver(void)
{
    struct starpool_pool_config config;
    struct starpool_pool *pool = NULL;

    starpool_pool_config_init(&config);
    config.location = device0;
    if (starpool_pool_create(&config, &pool) != STARPOOL_ENOTINIT)
        return 1;
    config.backend = STARPOOL_BACKEND_SLAB;
    if (starpool_pool_create(&config, &pool) != STARPOOL_ENOTINIT)
        return 2;
    return pool == NULL && *sp_driver_why_none() != '\0' ? 0 : 3;
}

static void missing_or_failing_driver_is_a_status(void **state)
{
    (void)state;
    assert_int_equal(sp_device_case_again("STARPOOL_DRIVER", "none", "none"), 0);
    assert_int_equal(
        sp_device_case_again("STARPOOL_MODEL_FAULTS", "cuInit@1=999,cuInit@2=999", "none"), 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static const struct CMUnitTest tests[] = {
    CASE(asking_makes_no_context),
    CASE(exclusive_device_of_another_process_is_one_line),
    CASE(devices_are_found_by_their_uuids),
    CASE(question_that_a_driver_does_not_know_is_tried),
    CASE(pools_of_a_node_are_found_where_the_query_fails),
    CASE(query_that_says_no_is_believed),
    CASE(kind_that_a_driver_does_not_know_is_not_supported),
    CASE(managed_memory_needs_a_device_that_shares),
    CASE(missing_condition_of_the_fabric_is_named),
    CASE(machine_tells_which_condition_fails),
    CASE(part_of_a_device_has_no_peers_and_is_not_shared),
    CASE(limits_of_mps_are_read),
    CASE(missing_or_failing_driver_is_a_status),
    cmocka_unit_test(every_case_holds_where_streams_run_inside_calls),
    CASE(
        device_without_pools_is_served_by_slabs), /* Its threads are in nobody's way at last. */
};

int main(int argc, char **argv)
{
    if (!sp_device_case_init())
        return 99;
    if (argc > 1 && strcmp(argv[1], "none") == 0)
        return run_without_driver();
    return cmocka_run_group_tests_name("features", tests, NULL, NULL);
}
