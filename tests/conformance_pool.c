/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* POOL: pools and their properties. */
#include "config.h"

#include "tests/conformance.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)

/* A handle that no call may replace when it refuses. */
#define UNTOUCHED ((sp_cu_pool)(uintptr_t)0x5a5a5a5a)

/* Properties of a pinned pool at a place. */
static struct sp_cu_pool_props props_at(int type, int id)
{
    struct sp_cu_pool_props props = sp_case_props(0);

    props.location.type = type;
    props.location.id = id;
    return props;
}

/* Try to make a pool; what is made goes at once. */
static sp_cu_result try_create(void *props)
{
    sp_cu_pool pool = UNTOUCHED;
    sp_cu_result result = cu->cuMemPoolCreate(&pool, props);

    if (result == SP_CU_SUCCESS) {
        assert_non_null(pool);
        assert_success(cu->cuMemPoolDestroy(pool));
    }
    return result;
}

static int driver_version(void)
{
    int version;

    assert_success(cu->cuDriverGetVersion(&version));
    return version;
}

/* ---- what devices say ------------------------------------------------------------------ */

static void pool_01_attribute_115_says_whether_pools_work(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_pool pool;
    sp_cu_ptr ptr;
    int value = sp_case_device_attribute(SP_CU_DEVICE_MEMORY_POOLS_SUPPORTED, 0);

    assert_in_range(value, 0, 1);
    if (value == 0) {
        assert_cu(SP_CU_NOT_SUPPORTED, cu->cuDeviceGetDefaultMemPool(&pool, 0));
        assert_cu(SP_CU_NOT_SUPPORTED, cu->cuMemAllocAsync(&ptr, 512, stream));
        return;
    }
    assert_success(cu->cuDeviceGetDefaultMemPool(&pool, 0));
    assert_success(cu->cuMemAllocAsync(&ptr, 512, stream));
    sp_case_free(ptr, stream);
}

/* A bit says that the platform knows that type; the fabric's also needs a channel. */
static void check_mask(void)
{
    int mask = sp_case_device_attribute(SP_CU_DEVICE_MEMPOOL_SUPPORTED_HANDLE_TYPES, 0);
    struct sp_cu_pool_props props = sp_case_props(0);

    assert_int_equal(mask & ~(SP_CU_HANDLE_POSIX_FD | SP_CU_HANDLE_WIN32 |
                              SP_CU_HANDLE_WIN32_KMT | SP_CU_HANDLE_FABRIC),
                     0);
    props.handle_types = SP_CU_HANDLE_POSIX_FD;
    assert_int_equal(try_create(&props) == SP_CU_SUCCESS, (mask & SP_CU_HANDLE_POSIX_FD) != 0);
    props.handle_types = SP_CU_HANDLE_FABRIC;
    if (try_create(&props) == SP_CU_SUCCESS)
        assert_int_not_equal(mask & SP_CU_HANDLE_FABRIC, 0);
    if (cu->is_model)
        assert_int_equal(try_create(&props) != SP_CU_NOT_SUPPORTED,
                         (mask & SP_CU_HANDLE_FABRIC) != 0);
}

static void pool_02_attribute_119_is_a_mask_of_usable_handle_types(void)
{
    check_mask();
    if (sp_case_switch("imex", "no-channel"))
        check_mask();
    if (sp_case_switch("imex", "channel"))
        check_mask();
}

static void pool_03_attributes_142_and_144_are_flags_of_their_own(void)
{
    int numa = sp_case_device_attribute(SP_CU_DEVICE_HOST_NUMA_MEMORY_POOLS_SUPPORTED, 0);
    int host = sp_case_device_attribute(SP_CU_DEVICE_HOST_MEMORY_POOLS_SUPPORTED, 0);

    assert_in_range(numa, 0, 1);
    assert_in_range(host, 0, 1);
    sp_case_observe("POOL-03", "142=%d 144=%d", numa, host);
}

/* ---- properties ------------------------------------------------------------------------ */

static void pool_04_zeroed_properties_with_a_device_make_a_usable_pool(void)
{
    struct sp_cu_pool_props props;
    sp_cu_stream stream = sp_case_stream();

    memset(&props, 0, sizeof(props));
    props.alloc_type = SP_CU_ALLOCATION_PINNED;
    props.location.type = SP_CU_LOCATION_DEVICE;
    props.location.id = 0;
    sp_case_free(sp_case_alloc(sp_case_pool_of(&props), 1000, stream), stream);
}

static void pool_05_null_arguments_are_refused(void)
{
    struct sp_cu_pool_props props = sp_case_props(0);
    sp_cu_pool pool = UNTOUCHED;

    assert_cu(SP_CU_INVALID_VALUE, cu->cuMemPoolCreate(NULL, &props));
    assert_cu(SP_CU_INVALID_VALUE, cu->cuMemPoolCreate(&pool, NULL));
    assert_cu(SP_CU_INVALID_VALUE, cu->cuMemPoolCreate(NULL, NULL));
}

static void pool_06_invalid_and_undefined_kinds_of_allocation_are_refused(void)
{
    static const int kinds[] = {SP_CU_ALLOCATION_INVALID, 3, 99, -1};
    static const int places[] = {SP_CU_LOCATION_DEVICE, SP_CU_LOCATION_NONE};

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        for (size_t j = 0; j < sizeof(places) / sizeof(places[0]); j++) {
            struct sp_cu_pool_props props = props_at(places[j], 0);

            props.alloc_type = kinds[i];
            assert_cu(SP_CU_INVALID_VALUE, try_create(&props));
        }
    }
}

static void pool_07_pinned_memory_must_be_somewhere(void)
{
    struct sp_cu_pool_props props = props_at(SP_CU_LOCATION_NONE, 0);

    assert_cu(SP_CU_INVALID_VALUE, try_create(&props));
    props.handle_types = SP_CU_HANDLE_POSIX_FD;
    assert_cu(SP_CU_INVALID_VALUE, try_create(&props));
}

static void pool_08_device_that_does_not_exist_is_an_invalid_value(void)
{
    struct sp_cu_pool_props above = props_at(SP_CU_LOCATION_DEVICE, sp_case_n_devices());
    struct sp_cu_pool_props below = props_at(SP_CU_LOCATION_DEVICE, -1);

    assert_cu(SP_CU_INVALID_VALUE, try_create(&above));
    assert_cu(SP_CU_INVALID_VALUE, try_create(&below));
}

/* ---- host memory ----------------------------------------------------------------------- */

static void pool_09_id_of_the_host_is_ignored(void)
{
    static const int ids[] = {0, -1, 12345};
    sp_cu_stream stream = sp_case_stream();

    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
        struct sp_cu_pool_props props = props_at(SP_CU_LOCATION_HOST, ids[i]);
        sp_cu_ptr ptr = sp_case_alloc(sp_case_pool_of(&props), 4096, stream);

        sp_case_finish(stream);
        memset((void *)(uintptr_t)ptr, 1, 4096);
        sp_case_free(ptr, stream);
    }
}

static void pool_10_host_pools_have_no_handles(void)
{
    struct sp_cu_pool_props props = props_at(SP_CU_LOCATION_HOST, 0);

    props.handle_types = SP_CU_HANDLE_POSIX_FD;
    assert_cu(SP_CU_INVALID_VALUE, try_create(&props));
    props.handle_types = SP_CU_HANDLE_FABRIC;
    assert_cu(SP_CU_INVALID_VALUE, try_create(&props));
}

/* The node of a page, or a negative number where the system does not tell. */
static int node_of(void *page)
{
    int node = -1;

    if (syscall(SYS_move_pages, 0, 1ul, &page, NULL, &node, 0) != 0)
        return -1;
    return node;
}

static void pool_11_pool_of_a_node_has_its_pages_there(void)
{
    int node = sp_case_numa_node();
    struct sp_cu_pool_props props = props_at(SP_CU_LOCATION_HOST_NUMA, node);
    sp_cu_stream stream = sp_case_stream();
    sp_cu_ptr ptr = sp_case_alloc(sp_case_pool_of(&props), 4 * 4096, stream);

    sp_case_finish(stream);
    memset((void *)(uintptr_t)ptr, 1, 4 * (size_t)4096);
    for (size_t i = 0; i < 4; i++) {
        int where = node_of((char *)(uintptr_t)ptr + i * 4096);

        if (where >= 0)
            assert_int_equal(where, node);
    }
    sp_case_free(ptr, stream);
}

static void pool_12_node_that_does_not_exist_is_refused(void)
{
    static const struct sp_choice choices[] = {
        {"invalid-value", SP_CU_INVALID_VALUE},
        {"invalid-device", SP_CU_INVALID_DEVICE},
    };
    struct sp_cu_pool_props above = props_at(SP_CU_LOCATION_HOST_NUMA, 1023);
    struct sp_cu_pool_props below = props_at(SP_CU_LOCATION_HOST_NUMA, -1);

    sp_case_choose("POOL-12", "bad_numa_node", choices, 2, try_create, &above);
    sp_case_choose("POOL-12", "bad_numa_node", choices, 2, try_create, &below);
}

static void pool_13_the_current_node_is_no_place_of_a_pool(void)
{
    static const int ids[] = {0, -1, 7};
    static const int kinds[] = {SP_CU_ALLOCATION_PINNED, SP_CU_ALLOCATION_MANAGED};

    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
        for (size_t j = 0; j < sizeof(kinds) / sizeof(kinds[0]); j++) {
            struct sp_cu_pool_props props = props_at(SP_CU_LOCATION_HOST_NUMA_CURRENT, ids[i]);

            props.alloc_type = kinds[j];
            assert_cu(SP_CU_INVALID_VALUE, try_create(&props));
        }
    }
}

static void pool_14_pool_of_a_node_can_be_exported(void)
{
    struct sp_cu_pool_props props = props_at(SP_CU_LOCATION_HOST_NUMA, sp_case_numa_node());
    int file = -1;

    props.handle_types = SP_CU_HANDLE_POSIX_FD;
    assert_success(cu->cuMemPoolExportToShareableHandle(&file, sp_case_pool_of(&props),
                                                        SP_CU_HANDLE_POSIX_FD, 0));
    assert_true(file >= 0);
    assert_int_equal(close(file), 0);
}

/* ---- handles and reserved members ------------------------------------------------------ */

static void pool_15_handle_type_that_the_platform_lacks_is_refused(void)
{
    static const struct sp_choice choices[] = {
        {"not-supported", SP_CU_NOT_SUPPORTED},
        {"invalid-value", SP_CU_INVALID_VALUE},
    };
    struct sp_cu_pool_props props = sp_case_props(0);

    props.handle_types = SP_CU_HANDLE_WIN32;
    sp_case_choose("POOL-15", "bad_handle_type", choices, 2, try_create, &props);
    props.handle_types = SP_CU_HANDLE_WIN32_KMT;
    sp_case_choose("POOL-15", "bad_handle_type", choices, 2, try_create, &props);
    props.handle_types = SP_CU_HANDLE_WIN32 | SP_CU_HANDLE_POSIX_FD;
    sp_case_choose("POOL-15", "bad_handle_type", choices, 2, try_create, &props);
}

static void pool_15_handle_type_that_nobody_has_defined_is_an_invalid_value(void)
{
    struct sp_cu_pool_props props = sp_case_props(0);

    props.handle_types = 0x10;
    if (cu->is_model)
        assert_cu(SP_CU_INVALID_VALUE, try_create(&props));
    else
        sp_case_observe("POOL-15", "bit 0x10: %d", try_create(&props));
}

/* What the system has of the fabric: said on a real driver beside its answer. */
static void observe_channels(void)
{
    char line[200];
    int is_listed = 0;
    FILE *file = fopen("/proc/devices", "r");
    int channel = open("/dev/nvidia-caps-imex-channels/channel0", O_RDWR | O_CLOEXEC);

    while (file != NULL && fgets(line, sizeof(line), file) != NULL)
        is_listed |= strstr(line, "nvidia-caps-imex-channels") != NULL;
    if (file != NULL)
        (void)fclose(file);
    sp_case_observe("POOL-16", "listed=%d channel0=%d", is_listed, channel >= 0);
    if (channel >= 0)
        (void)close(channel);
}

static void pool_16_the_fabric_needs_a_channel(void)
{
    static const struct sp_choice choices[] = {
        {"absent", SP_CU_NOT_SUPPORTED},
        {"no-channel", SP_CU_NOT_PERMITTED},
        {"channel", SP_CU_SUCCESS},
    };
    struct sp_cu_pool_props props = sp_case_props(0);

    props.handle_types = SP_CU_HANDLE_FABRIC;
    observe_channels();
    sp_case_choose("POOL-16", "imex", choices, 3, try_create, &props);
}

static void pool_17_every_reserved_byte_must_be_0(void)
{
    static const struct sp_choice choices[] = {
        {"invalid-value", SP_CU_INVALID_VALUE},
        {"ignored", SP_CU_SUCCESS},
    };
    static const size_t bytes[] = {0, 1, 53};

    for (size_t i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++) {
        struct sp_cu_pool_props props = sp_case_props(0);

        props.reserved[bytes[i]] = 1;
        sp_case_choose("POOL-17", "reserved_bytes", choices, 2, try_create, &props);
    }
}

static void pool_17_security_attributes_are_for_another_system(void)
{
    struct sp_cu_pool_props props = sp_case_props(0);

    props.win32_security_attributes = &props;
    if (cu->is_model)
        assert_cu(SP_CU_INVALID_VALUE, try_create(&props));
    else
        sp_case_observe("POOL-17", "security attributes: %d", try_create(&props));
    props.handle_types = SP_CU_HANDLE_WIN32; /* There they may be. */
    if (cu->is_model)
        assert_cu(SP_CU_NOT_SUPPORTED, try_create(&props));
}

/* ---- the maximum size ------------------------------------------------------------------ */

static void pool_18_allocation_beyond_the_maximum_fails_and_harms_nothing(void)
{
    struct sp_cu_pool_props props = sp_case_props(0);
    sp_cu_stream stream = sp_case_stream();
    sp_cu_pool pool;
    sp_cu_ptr ptr, live;

    props.max_size = 64 * MIB;
    pool = sp_case_pool_of(&props);
    live = sp_case_alloc(pool, 32 * MIB, stream);
    assert_cu(SP_CU_OUT_OF_MEMORY, cu->cuMemAllocFromPoolAsync(&ptr, 128 * MIB, pool, stream));
    assert_int_equal(sp_case_used(pool), 32 * MIB);
    sp_case_free(sp_case_alloc(pool, MIB, stream), stream);
    sp_case_fill(live, 7, 512, stream);
    sp_case_assert_bytes(live, 7, 512, stream);
    sp_case_free(live, stream);
}

static void pool_18_pool_without_a_maximum_takes_more(void)
{
    sp_cu_stream stream = sp_case_stream();

    sp_case_free(sp_case_alloc(sp_case_pool(0), 128 * MIB, stream), stream);
}

/* Try an allocation; what is allocated goes at once. */
static sp_cu_result try_alloc(sp_cu_pool pool, size_t size, sp_cu_stream stream)
{
    sp_cu_ptr ptr;
    sp_cu_result result = cu->cuMemAllocFromPoolAsync(&ptr, size, pool, stream);

    if (result == SP_CU_SUCCESS) {
        sp_case_free(ptr, stream);
        sp_case_finish(stream);
    }
    return result;
}

static sp_cu_pool pool_of_1_mib(void)
{
    struct sp_cu_pool_props props = sp_case_props(0);

    props.max_size = MIB;
    return sp_case_pool_of(&props);
}

static void pool_19_maximum_is_rounded_up_to_a_granule(void)
{
    static const struct {
        const char *value;
        size_t size;
    } granules[] = {{"32M", 32 * MIB}, {"2M", 2 * MIB}, {"64M", 64 * MIB}};
    sp_cu_stream stream = sp_case_stream();
    sp_cu_pool pool;
    size_t largest = 0;

    for (size_t i = 0; cu->is_model && i < sizeof(granules) / sizeof(granules[0]); i++) {
        assert_true(sp_case_switch("pool_granule", granules[i].value));
        pool = pool_of_1_mib();
        assert_success(try_alloc(pool, granules[i].size, stream));
        assert_cu(SP_CU_OUT_OF_MEMORY, try_alloc(pool, granules[i].size + 1, stream));
        assert_success(try_alloc(pool, MIB, stream));
    }
    if (cu->is_model)
        return;
    pool = pool_of_1_mib();
    while (largest < 128 && try_alloc(pool, (largest + 1) * MIB, stream) == SP_CU_SUCCESS)
        largest++;
    sp_case_observe("POOL-19", "a maximum of 1 MiB serves %zu MiB", largest);
    sp_case_settle("pool_granule", largest == 32   ? "32M"
                                   : largest == 2  ? "2M"
                                   : largest == 64 ? "64M"
                                                   : "");
}

/* ---- usage, managed memory ------------------------------------------------------------- */

static void pool_20_hardware_decompression_is_there_or_not(void)
{
    static const struct sp_choice choices[] = {
        {"not-supported", SP_CU_NOT_SUPPORTED},
        {"supported", SP_CU_SUCCESS},
    };
    struct sp_cu_pool_props props = sp_case_props(0);

    props.usage = SP_CU_POOL_USAGE_HW_DECOMPRESS;
    sp_case_choose("POOL-20", "usage_decompress", choices, 2, try_create, &props);
}

static void pool_20_unknown_usage_is_an_invalid_value(void)
{
    static const unsigned short usages[] = {1, 4, 0x8000, SP_CU_POOL_USAGE_HW_DECOMPRESS | 1};

    for (size_t i = 0; i < sizeof(usages) / sizeof(usages[0]); i++) {
        struct sp_cu_pool_props props = sp_case_props(0);

        props.usage = usages[i];
        if (cu->is_model)
            assert_cu(SP_CU_INVALID_VALUE, try_create(&props));
        else
            sp_case_observe("POOL-20", "usage 0x%x: %d", usages[i], try_create(&props));
    }
}

static struct sp_cu_pool_props managed_props(int type, int id)
{
    struct sp_cu_pool_props props = props_at(type, id);

    props.alloc_type = SP_CU_ALLOCATION_MANAGED;
    return props;
}

static void pool_21_managed_pools_are_anywhere_or_preferably_somewhere(void)
{
    const struct sp_cu_location places[] = {
        {SP_CU_LOCATION_NONE, 0},
        {SP_CU_LOCATION_NONE, 77},
        {SP_CU_LOCATION_DEVICE, 0},
        {SP_CU_LOCATION_HOST, 0},
        {SP_CU_LOCATION_HOST_NUMA, sp_case_numa_node()},
    };
    sp_cu_stream stream = sp_case_stream();

    if (driver_version() < 13000)
        sp_case_skip("managed pools come with driver 13.0");
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        struct sp_cu_pool_props props = managed_props(places[i].type, places[i].id);
        sp_cu_ptr ptr = sp_case_alloc(sp_case_pool_of(&props), 4096, stream);

        sp_case_fill(ptr, 3, 4096, stream);
        sp_case_assert_bytes(ptr, 3, 4096, stream);
        sp_case_free(ptr, stream);
    }
}

static void pool_22_managed_pools_have_neither_handles_nor_a_maximum(void)
{
    static const struct sp_choice choices[] = {
        {"invalid-value", SP_CU_INVALID_VALUE},
        {"not-supported", SP_CU_NOT_SUPPORTED},
    };
    struct sp_cu_pool_props shared = managed_props(SP_CU_LOCATION_NONE, 0);
    struct sp_cu_pool_props limited = managed_props(SP_CU_LOCATION_DEVICE, 0);

    shared.handle_types = SP_CU_HANDLE_POSIX_FD;
    limited.max_size = 64 * MIB;
    sp_case_choose("POOL-22", "managed_handles", choices, 2, try_create, &shared);
    sp_case_choose("POOL-22", "managed_handles", choices, 2, try_create, &limited);
}

/* ---- contexts, fresh pools, alignment -------------------------------------------------- */

static void create_without_context(const char *role, int socket)
{
    struct sp_cu_pool_props props = sp_case_props(0);
    sp_cu_context context;

    (void)role, (void)socket;
    assert_cu(SP_CU_NOT_INITIALIZED, try_create(&props));
    assert_success(cu->cuInit(0));
    assert_success(cu->cuCtxGetCurrent(&context));
    assert_null(context);
    assert_success(try_create(&props));
}

static void pool_23_a_pool_needs_cuInit_but_no_context(void)
{
    struct sp_child child;

    sp_case_child_start(&child, "");
    sp_case_child_end(&child);
}

static void assert_is_empty(sp_cu_pool pool)
{
    for (int i = SP_CU_POOL_RESERVED_MEM_CURRENT; i <= SP_CU_POOL_USED_MEM_HIGH; i++)
        assert_int_equal(sp_case_bytes(pool, i), 0);
}

static void pool_24_fresh_pools_are_empty_and_have_nothing_in_common(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_pool one = sp_case_pool(0);
    sp_cu_pool other = sp_case_pool(0);
    sp_cu_ptr ptr;

    assert_ptr_not_equal(one, other);
    assert_is_empty(one);
    assert_is_empty(other);
    sp_case_set_threshold(one, 12345);
    sp_case_set_reuse(one, false, false, false);
    ptr = sp_case_alloc(one, 1024, stream);
    assert_int_equal(sp_case_used(one), 1024);
    assert_is_empty(other);
    assert_int_equal(sp_case_bytes(other, SP_CU_POOL_RELEASE_THRESHOLD), 0);
    assert_int_equal(sp_case_flag(other, SP_CU_POOL_REUSE_ALLOW_OPPORTUNISTIC), 1);
    sp_case_free(ptr, stream);
}

static void pool_25_allocations_are_aligned_to_256_bytes(void)
{
    enum { N = 4097 };
    static sp_cu_ptr ptrs[N];
    sp_cu_stream stream = sp_case_stream();
    sp_cu_pool pool = sp_case_pool(0);

    for (size_t i = 0; i < N; i++) {
        ptrs[i] = sp_case_alloc(pool, i + 1, stream);
        assert_int_equal(ptrs[i] % 256, 0);
    }
    for (size_t i = 0; i < N; i++)
        sp_case_free(ptrs[i], stream);
}

static const struct sp_case cases[] = {
    SP_CASE(pool_01_attribute_115_says_whether_pools_work, 0),
    SP_CASE(pool_02_attribute_119_is_a_mask_of_usable_handle_types, 0),
    SP_CASE(pool_03_attributes_142_and_144_are_flags_of_their_own, 0),
    SP_CASE(pool_04_zeroed_properties_with_a_device_make_a_usable_pool, 0),
    SP_CASE(pool_05_null_arguments_are_refused, 0),
    SP_CASE(pool_06_invalid_and_undefined_kinds_of_allocation_are_refused, 0),
    SP_CASE(pool_07_pinned_memory_must_be_somewhere, 0),
    SP_CASE(pool_08_device_that_does_not_exist_is_an_invalid_value, 0),
    SP_CASE(pool_09_id_of_the_host_is_ignored, SP_TAG_HOST),
    SP_CASE(pool_10_host_pools_have_no_handles, SP_TAG_HOST),
    SP_CASE(pool_11_pool_of_a_node_has_its_pages_there, SP_TAG_HOST),
    SP_CASE(pool_12_node_that_does_not_exist_is_refused, SP_TAG_HOST),
    SP_CASE(pool_13_the_current_node_is_no_place_of_a_pool, SP_TAG_HOST),
    SP_CASE(pool_14_pool_of_a_node_can_be_exported, SP_TAG_HOST),
    SP_CASE(pool_15_handle_type_that_the_platform_lacks_is_refused, 0),
    SP_CASE(pool_15_handle_type_that_nobody_has_defined_is_an_invalid_value, 0),
    SP_CASE(pool_16_the_fabric_needs_a_channel, SP_TAG_IMEX),
    SP_CASE(pool_17_every_reserved_byte_must_be_0, 0),
    SP_CASE(pool_17_security_attributes_are_for_another_system, 0),
    SP_CASE(pool_18_allocation_beyond_the_maximum_fails_and_harms_nothing, 0),
    SP_CASE(pool_18_pool_without_a_maximum_takes_more, 0),
    SP_CASE(pool_19_maximum_is_rounded_up_to_a_granule, 0),
    SP_CASE(pool_20_hardware_decompression_is_there_or_not, 0),
    SP_CASE(pool_20_unknown_usage_is_an_invalid_value, 0),
    SP_CASE(pool_21_managed_pools_are_anywhere_or_preferably_somewhere, SP_TAG_MNG),
    SP_CASE(pool_22_managed_pools_have_neither_handles_nor_a_maximum, SP_TAG_MNG),
    SP_CASE_CHILD(pool_23_a_pool_needs_cuInit_but_no_context, SP_TAG_PROC,
                  create_without_context),
    SP_CASE(pool_24_fresh_pools_are_empty_and_have_nothing_in_common, 0),
    SP_CASE(pool_25_allocations_are_aligned_to_256_bytes, 0),
};

const struct sp_case_group sp_cases_pool = SP_CASE_GROUP("POOL", cases);
