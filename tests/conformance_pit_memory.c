/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* PIT: what users of pools and graph memory have run into: thresholds, reuse, addresses, memory
 * that is not to be had. */
#include "config.h"

#include "tests/conformance_graph.h"

#include <inttypes.h>

#include <starpool/pool.h>

#define SIZE ((size_t)8 << 20)

/* ---- thresholds and reuse --------------------------------------------------------------- */

/* Reserved bytes after each of some steps that allocate, free and wait. */
static void step(sp_cu_pool pool, sp_cu_stream stream, uint64_t reserved_out[4])
{
    for (int i = 0; i < 4; i++) {
        sp_cu_ptr ptr = sp_case_alloc(pool, SIZE, stream);

        sp_case_fill(ptr, (unsigned char)i, SIZE, stream);
        sp_case_free(ptr, stream);
        sp_case_finish(stream);
        reserved_out[i] = sp_case_reserved(pool);
    }
}

static void pit_01_without_a_threshold_each_wait_gives_memory_back(void)
{
    sp_cu_pool pool = sp_case_pool(0);
    sp_cu_stream stream = sp_case_stream();
    uint64_t reserved[4];

    step(pool, stream, reserved);
    for (int i = 0; i < 4; i++)
        assert_int_equal(reserved[i], 0);
    sp_case_set_threshold(pool, UINT64_MAX);
    step(pool, stream, reserved);
    assert_true(reserved[0] >= SIZE);
    for (int i = 1; i < 4; i++)
        assert_int_equal(reserved[i], reserved[0]);
    assert_success(cu->cuMemPoolTrimTo(pool, 0));
}

/* Both streams have memory that the other has freed, whenever that has executed: what is
 * written there must not be lost. */
static void pit_02_opportunistic_reuse_is_safe(void)
{
    sp_cu_stream streams[] = {sp_case_stream(), sp_case_stream()};
    sp_cu_pool pool = sp_case_pool(0);
    int version = 0;

    assert_success(cu->cuDriverGetVersion(&version));
    if (version < 11050)
        sp_case_skip("drivers before 11.5 do not reuse memory safely");
    sp_case_set_threshold(pool, UINT64_MAX);
    sp_case_set_reuse(pool, false, true, false);
    for (int i = 0; i < 64; i++) {
        sp_cu_ptr ptrs[2];

        for (int j = 0; j < 2; j++) {
            ptrs[j] = sp_case_alloc(pool, SIZE, streams[j]);
            sp_case_fill(ptrs[j], (unsigned char)(2 * i + j), SIZE, streams[j]);
        }
        if (i % 16 == 0) {
            for (int j = 0; j < 2; j++)
                sp_case_assert_bytes(ptrs[j], (unsigned char)(2 * i + j), SIZE, streams[j]);
        }
        for (int j = 0; j < 2; j++)
            sp_case_free(ptrs[j], streams[j]);
    }
    sp_case_finish(streams[0]);
    sp_case_finish(streams[1]);
    assert_success(cu->cuMemPoolTrimTo(pool, 0));
}

#define N_ADDRESSES 24

/* Addresses of a sequence of calls in two streams, with what depends on time switched off. */
static void note_addresses(sp_cu_ptr addresses[N_ADDRESSES])
{
    sp_cu_stream streams[] = {sp_case_stream(), sp_case_stream()};
    sp_cu_pool pool = sp_case_pool(0);

    sp_case_set_threshold(pool, UINT64_MAX);
    sp_case_set_reuse(pool, true, false, false);
    for (int i = 0; i < N_ADDRESSES; i++) {
        size_t size = (size_t)(i % 5 + 1) << 16;

        addresses[i] = sp_case_alloc(pool, size, streams[i % 2]);
        sp_case_fill(addresses[i], 1, size, streams[i % 2]);
        if (i % 3 > 0)
            sp_case_free(addresses[i], streams[i % 2]);
    }
    for (int i = 0; i < N_ADDRESSES; i += 3)
        sp_case_free(addresses[i], streams[i % 2]);
    sp_case_finish(streams[0]);
    sp_case_finish(streams[1]);
    assert_success(cu->cuMemPoolTrimTo(pool, 0));
}

static void pit_03_the_same_calls_have_the_same_addresses(void)
{
    struct starpool_model_config config = sp_case_config();
    sp_cu_ptr first[N_ADDRESSES], again[N_ADDRESSES];

    assert_true(sp_case_restart(&config));
    note_addresses(first);
    for (int run = 0; run < 3; run++) {
        assert_true(sp_case_restart(&config));
        note_addresses(again);
        for (int i = 0; i < N_ADDRESSES; i++)
            assert_int_equal(again[i], first[i]);
    }
}

/* ---- graph memory ----------------------------------------------------------------------- */

static uint64_t used(void)
{
    uint64_t value = 0;

    assert_success(cu->cuDeviceGetGraphMemAttribute(0, SP_CU_GRAPH_MEM_USED_CURRENT, &value));
    return value;
}

/* What a graph uses whose three temporaries are one behind another, or side by side. */
static uint64_t used_by_three(bool is_chain)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_graph graph = sp_case_graph();
    sp_cu_node last = NULL;
    uint64_t before, bytes;
    sp_cu_exec exec;

    sp_case_trim_graphs();
    before = used();
    for (int i = 0; i < 3; i++) {
        sp_cu_ptr ptr = sp_case_alloc_node(graph, is_chain ? last : NULL, SIZE, &last);

        last = sp_case_set_node(graph, last, ptr, 1, SIZE);
        last = sp_case_free_node(graph, last, ptr);
    }
    exec = sp_case_instantiate(graph, 0);
    sp_case_launch(exec, stream);
    sp_case_finish(stream);
    bytes = used() - before;
    sp_case_destroy_exec(exec);
    sp_case_destroy_graph(graph);
    sp_case_trim_graphs();
    return bytes;
}

static void pit_06_temporaries_share_memory_only_if_they_are_ordered(void)
{
    uint64_t chain = used_by_three(true), side_by_side = used_by_three(false);

    if (cu->is_model) {
        assert_int_equal(chain, SIZE);
        assert_int_equal(side_by_side, 3 * SIZE);
    }
    assert_true(chain >= SIZE && chain < 3 * SIZE);
    assert_true(side_by_side >= 3 * SIZE);
}

/* ---- what is not to be had -------------------------------------------------------------- */

/* Addresses may be short where memory is not: nothing is lost by it. */
static void pit_08_looking_a_pool_up_may_be_out_of_memory(void)
{
    struct starpool_location place = {STARPOOL_DEVICE, 0};
    struct starpool_pool *pool = NULL;
    sp_cu_pool handle = NULL;

    assert_ok(starpool_model_inject("cuDeviceGetDefaultMemPool@1=OUT_OF_MEMORY"));
    assert_cu(SP_CU_OUT_OF_MEMORY, cu->cuDeviceGetDefaultMemPool(&handle, 0));
    assert_null(handle);
    assert_ok(sp_driver_choose_model());
    assert_ok(starpool_model_inject("cuDeviceGetDefaultMemPool@1=OUT_OF_MEMORY"));
    assert_status(STARPOOL_ENOMEM, starpool_pool_default(place, STARPOOL_PINNED, &pool));
    assert_null(pool);
    assert_success(cu->cuDeviceGetDefaultMemPool(&handle, 0));
    assert_non_null(handle);
}

/* Graphs that exist keep their addresses, so that these run out before memory does. */
static void pit_08_addresses_of_graphs_run_out_before_memory(void)
{
    enum { MAX_GRAPHS = 64 };
    sp_cu_graph graphs[MAX_GRAPHS];
    size_t size = (size_t)1 << 29, n = 0, free_bytes = sp_case_device_free();
    sp_cu_result result = SP_CU_SUCCESS;

    while (n < MAX_GRAPHS && result == SP_CU_SUCCESS) {
        graphs[n] = sp_case_graph();
        result = sp_case_try_alloc(graphs[n++], sp_case_alloc_params(0, size));
    }
    assert_cu(SP_CU_OUT_OF_MEMORY, result);
    assert_true(n * size > free_bytes);
    assert_int_equal(sp_case_device_free(), free_bytes);
    while (n > 0)
        sp_case_destroy_graph(graphs[--n]);
    graphs[0] = sp_case_graph();
    assert_success(sp_case_try_alloc(graphs[0], sp_case_alloc_params(0, size)));
    sp_case_destroy_graph(graphs[0]);
}

static sp_cu_result make_host_pool(int location_type)
{
    struct sp_cu_pool_props props = {
        .alloc_type = SP_CU_ALLOCATION_PINNED,
        .location = {.type = location_type, .id = sp_case_numa_node()},
    };
    sp_cu_pool pool = NULL;
    sp_cu_result result = cu->cuMemPoolCreate(&pool, &props);

    if (result == SP_CU_SUCCESS)
        assert_success(cu->cuMemPoolDestroy(pool));
    return result;
}

static void pit_11_devices_say_whether_there_are_host_pools(void)
{
    static const struct {
        int attribute, location_type;
    } kinds[] = {
        {SP_CU_DEVICE_HOST_MEMORY_POOLS_SUPPORTED, SP_CU_LOCATION_HOST},
        {SP_CU_DEVICE_HOST_NUMA_MEMORY_POOLS_SUPPORTED, SP_CU_LOCATION_HOST_NUMA},
    };
    static const char *const values[] = {"supported", "unsupported"};

    for (int i = 0; i < 2; i++) {
        for (int j = 0; j < 2; j++) {
            bool is_model = sp_case_switch("host_pools", values[j]);
            int has = sp_case_device_attribute(kinds[i].attribute, 0);
            sp_cu_result result = make_host_pool(kinds[i].location_type);

            sp_case_observe("PIT-11", "attribute %d is %d, creating answers %d",
                            kinds[i].attribute, has, result);
            sp_case_settle("host_pools", has ? "supported" : "unsupported");
            if (!is_model)
                continue;
            assert_int_equal(has, j == 0);
            assert_cu(j == 0 ? SP_CU_SUCCESS : SP_CU_NOT_SUPPORTED, result);
        }
    }
}

/* ---- the list --------------------------------------------------------------------------- */

static const struct sp_case cases[] = {
    SP_CASE(pit_01_without_a_threshold_each_wait_gives_memory_back, 0),
    SP_CASE(pit_02_opportunistic_reuse_is_safe, 0),
    SP_CASE(pit_03_the_same_calls_have_the_same_addresses, SP_TAG_MODEL),
    SP_CASE(pit_06_temporaries_share_memory_only_if_they_are_ordered, 0),
    SP_CASE(pit_08_looking_a_pool_up_may_be_out_of_memory, SP_TAG_MODEL),
    SP_CASE(pit_08_addresses_of_graphs_run_out_before_memory, SP_TAG_MODEL),
    SP_CASE(pit_11_devices_say_whether_there_are_host_pools, 0),
};

const struct sp_case_group sp_cases_pit_memory = SP_CASE_GROUP("PIT", cases);
