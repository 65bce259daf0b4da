/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Allocations and frees that are captured, as nodes and from arenas, on the CPU model. */
#include "config.h"

#include "tests/support.h"

#include <stdio.h>
#include <string.h>

#include <starpool/capture.h>
#include <starpool/model.h>
#include <starpool/pool.h>
#include <starpool/stats.h>

#include "graph/graph.h"
#include "graph/owner.h"
#include "src/util/util.h"
#include "tests/capture_fixture.h"
#include "tests/fixture.h"

#define SIZE ((size_t)1 << 20)

static struct starpool_stats stats_of(struct starpool_pool *pool)
{
    return sp_fixture_stats_of(pool);
}

static void set(void *ptr, unsigned char value, sp_cu_stream stream)
{
    sp_capture_fill(ptr, value, SIZE, stream);
}

static void copy(void *target, const void *source, sp_cu_stream stream)
{
    assert_cu(SUCCESS,
              on.driver->cuMemcpyAsync((uintptr_t)target, (uintptr_t)source, SIZE, stream));
}

/* ---- nodes ------------------------------------------------------------------------------- */

static void nodes_are_the_graphs_and_no_pools(void **state)
{
    struct starpool_block_info info;
    starpool_cuda_graph graph;
    enum starpool_capture_state answer;
    sp_cu_graph captured;
    void *ptr;

    (void)state;
    sp_capture_begin(on.a);
    assert_ok(starpool_capture_status(on.a, &answer, &graph));
    assert_int_equal(answer, STARPOOL_CAPTURED);
    ptr = sp_driver_fixture_alloc(on.pool, on.a, SIZE);
    info = sp_capture_info((char *)ptr + 5);
    assert_ptr_equal(info.base, ptr);
    assert_ptr_equal(info.pool, on.pool);
    assert_int_equal(info.size, SIZE);
    assert_int_equal(info.owner, STARPOOL_OWNER_GRAPH);
    assert_int_equal(info.state, STARPOOL_BLOCK_CAPTURED);
    assert_ptr_equal(info.graph, graph);
    assert_int_equal(stats_of(on.pool).used_bytes, 0);
    assert_int_equal(stats_of(on.pool).n_live, 0);
    assert_int_equal(stats_of(on.pool).n_captured_allocs, 1);
    assert_false(starpool_is_ready(ptr));
    set(ptr, 1, on.a);
    assert_ok(starpool_free(ptr, on.a));
    assert_int_equal(sp_capture_info(ptr).state, STARPOOL_BLOCK_GRAPH_FREES);
    assert_status(STARPOOL_EINVAL, starpool_free(ptr, on.a));
    assert_int_equal(stats_of(on.pool).n_captured_frees, 1);
    captured = sp_capture_end(on.a);
    assert_int_equal(sp_capture_count(captured, SP_CU_NODE_MEM_ALLOC), 1);
    assert_int_equal(sp_capture_count(captured, SP_CU_NODE_MEM_FREE), 1);
    /* Its graph frees it: nobody else may. */
    assert_status(STARPOOL_EINVAL, starpool_free(ptr, on.b));
    assert_status(STARPOOL_EINVAL, starpool_free(ptr, STARPOOL_STREAM_HOST));
    assert_cu(SUCCESS, on.driver->cuGraphDestroy(captured));
    sp_capture_wait_for_destructors();
    assert_int_equal(stats_of(on.pool).n_live, 0);
    assert_status(STARPOOL_EINVAL, starpool_block_info(ptr, &info));
}

static void launched_allocation_is_freed_by_its_address(void **state)
{
    sp_cu_exec exec;
    char *ptr;

    (void)state;
    sp_capture_begin(on.a);
    ptr = sp_driver_fixture_alloc(on.pool, on.a, SIZE);
    set(ptr, 7, on.a);
    exec = sp_capture_instantiate(sp_capture_end(on.a));
    assert_status(STARPOOL_EINVAL, starpool_free(ptr, on.a));
    sp_capture_launch(exec, on.a);
    assert_int_equal(ptr[SIZE - 1], 7);
    assert_ok(starpool_free(ptr, on.b));
    assert_status(STARPOOL_EINVAL, starpool_free(ptr, on.b));
    sp_capture_launch(exec, on.b);
    assert_ok(starpool_free(ptr, STARPOOL_STREAM_HOST));
    sp_capture_launch(exec, on.a);
    assert_cu(SUCCESS, on.driver->cuGraphExecDestroy(exec));
    sp_capture_wait_for_destructors();
    assert_int_equal(stats_of(on.pool).n_live, 0);
    /* It outlives its graph, and is known till it is freed. */
    assert_int_equal(sp_capture_info(ptr).state, STARPOOL_BLOCK_CAPTURED);
    assert_ok(starpool_free(ptr, on.a));
    assert_status(STARPOOL_EINVAL, starpool_free(ptr, on.a));
}

static void free_on_a_stream_that_has_been_joined_leaves_the_capture_whole(void **state)
{
    void *ptr, *other;
    sp_cu_graph graph;
    sp_cu_exec exec;

    (void)state;
    sp_capture_begin(on.a);
    ptr = sp_driver_fixture_alloc(on.pool, on.a, SIZE);
    sp_capture_follow(on.b, on.a);
    set(ptr, 1, on.b);
    sp_capture_follow(on.a, on.b);
    assert_ok(starpool_free(ptr, on.b));
    other = sp_driver_fixture_alloc(on.pool, on.a, SIZE);
    assert_ok(starpool_free(other, on.a));
    graph = sp_capture_end(on.a);
    assert_int_equal(sp_capture_count(graph, SP_CU_NODE_MEM_FREE), 2);
    exec = sp_capture_instantiate(graph);
    sp_capture_launch(exec, on.a);
    assert_cu(SUCCESS, on.driver->cuGraphExecDestroy(exec));
}

/* Bytes of graph memory that a graph takes when it first runs. */
static uint64_t graph_memory_of(sp_cu_graph graph)
{
    sp_cu_exec exec = sp_capture_instantiate(graph);
    uint64_t before = 0, after = 0;

    assert_cu(SUCCESS, on.driver->cuCtxSynchronize());
    assert_cu(SUCCESS, on.driver->cuDeviceGraphMemTrim(0));
    assert_cu(SUCCESS, on.driver->cuDeviceGetGraphMemAttribute(0, SP_CU_GRAPH_MEM_USED_CURRENT,
                                                               &before));
    sp_capture_launch(exec, on.a);
    assert_cu(SUCCESS,
              on.driver->cuDeviceGetGraphMemAttribute(0, SP_CU_GRAPH_MEM_USED_CURRENT, &after));
    assert_cu(SUCCESS, on.driver->cuGraphExecDestroy(exec));
    return after - before;
}

static void freed_nodes_serve_allocations_behind_them(void **state)
{
    const size_t size = 64 * SP_MIB;
    uint64_t bytes;

    (void)state;
    sp_capture_begin(on.a);
    for (int i = 0; i < 4; i++) {
        sp_cu_stream stream = i % 2 == 0 ? on.a : on.b;
        void *ptr;

        sp_capture_follow(on.b, on.a);
        ptr = sp_driver_fixture_alloc(on.pool, stream, size);
        assert_ok(starpool_free(ptr, stream));
        sp_capture_follow(on.a, on.b);
    }
    bytes = graph_memory_of(sp_capture_end(on.a));
    assert_in_range(bytes, size, 2 * size - 1);
}

static void two_captures_at_once_have_each_their_own(void **state)
{
    void *in_a, *in_b;
    sp_cu_graph a, b;

    (void)state;
    sp_capture_begin(on.a);
    sp_capture_begin(on.b);
    in_a = sp_driver_fixture_alloc(captures.arena, on.a, SIZE);
    in_b = sp_driver_fixture_alloc(captures.arena, on.b, SIZE);
    assert_true(sp_capture_info(in_a).capture_id != sp_capture_info(in_b).capture_id);
    assert_true(sp_capture_info(in_a).graph != sp_capture_info(in_b).graph);
    assert_status(STARPOOL_EINVAL, starpool_free(in_a, on.b));
    assert_ok(starpool_free(in_a, on.a));
    assert_ptr_not_equal(sp_driver_fixture_alloc(captures.arena, on.b, SIZE), in_a);
    a = sp_capture_end(on.a);
    b = sp_capture_end(on.b);
    assert_cu(SUCCESS, on.driver->cuGraphDestroy(a));
    sp_capture_wait_for_destructors();
    assert_int_equal(stats_of(captures.arena).graph_arena_bytes, 2 * SIZE);
    assert_cu(SUCCESS, on.driver->cuGraphDestroy(b));
    sp_capture_wait_for_destructors();
    assert_int_equal(stats_of(captures.arena).graph_arena_bytes, 0);
}

/* Where a stream stands in what is captured. */
static size_t count_dependencies(sp_cu_stream stream)
{
    const struct sp_cu_edge_data *edges;
    const sp_cu_node *nodes;
    size_t n = 0;
    int state;

    assert_cu(SUCCESS, on.driver->cuStreamGetCaptureInfo(stream, &state, NULL, NULL, &nodes,
                                                         &edges, &n));
    return n;
}

static void refused_node_leaves_the_stream_where_it_was(void **state)
{
    void *first, *second = &first;
    sp_cu_graph graph;

    (void)state;
    sp_capture_begin(on.a);
    first = sp_driver_fixture_alloc(on.pool, on.a, 64 * SP_MIB);
    assert_ok(starpool_free(first, on.a));
    assert_status(STARPOOL_ENOMEM, starpool_alloc(on.pool, SIZE_MAX / 2, on.a, &second));
    assert_ptr_equal(second, &first);
    assert_int_equal(count_dependencies(on.a), 1);
    /* The next one is put behind the free all the same. */
    second = sp_driver_fixture_alloc(on.pool, on.a, 64 * SP_MIB);
    assert_ok(starpool_free(second, on.a));
    graph = sp_capture_end(on.a);
    assert_in_range(graph_memory_of(graph), 64 * SP_MIB, 128 * SP_MIB - 1);
}

/* As a driver is where the thread has no context. */
static void launched_allocation_is_known_though_the_driver_did_not_answer(void **state)
{
    void *ptr;
    sp_cu_exec exec;

    (void)state;
    sp_capture_begin(on.a);
    ptr = sp_driver_fixture_alloc(on.pool, on.a, SIZE);
    exec = sp_capture_instantiate(sp_capture_end(on.a));
    sp_capture_launch(exec, on.a);
    assert_cu(SUCCESS, on.driver->cuGraphExecDestroy(exec));
    sp_capture_wait_for_destructors();
    assert_ok(starpool_model_inject("cuMemGetAddressRange@1=201"));
    assert_int_equal(stats_of(on.pool).n_live, 0);
    assert_int_equal(sp_capture_info(ptr).state, STARPOOL_BLOCK_CAPTURED);
    assert_ok(starpool_free(ptr, STARPOOL_STREAM_HOST));
}

/* What is known of a graph's address is out of date from when the driver gives it to a pool
 * until somebody notices that the graph has gone. */
static void address_that_a_graph_had_is_a_blocks_before_that_is_noticed(void **state)
{
    void *block = sp_driver_fixture_alloc(on.pool, STARPOOL_STREAM_HOST, SIZE);
    struct sp_owned old = {.start = (uintptr_t)block,
                           .size = SIZE,
                           .kind = SP_OWNED_NODE,
                           .pool = on.pool,
                           .is_freed = true};

    (void)state;
    assert_ok(sp_owned_add(&old));
    assert_int_equal(sp_capture_info(block).state, STARPOOL_BLOCK_LIVE);
    assert_true(starpool_is_ready(block));
    assert_ok(starpool_free(block, STARPOOL_STREAM_HOST));
    assert_int_equal(stats_of(on.pool).n_live, 0);
    assert_true(sp_owned_remove(old.start, SP_OWNED_NODE, &old));
}

/* ---- arenas ------------------------------------------------------------------------------ */

static void arena_makes_a_graph_without_memory_nodes(void **state)
{
    struct starpool_block_info info;
    sp_cu_graph graph;
    sp_cu_exec first, second;
    char *ptr;

    (void)state;
    sp_capture_begin(on.a);
    ptr = sp_driver_fixture_alloc(captures.arena, on.a, SIZE);
    info = sp_capture_info(ptr);
    assert_int_equal(info.owner, STARPOOL_OWNER_GRAPH);
    assert_int_equal(info.state, STARPOOL_BLOCK_CAPTURED);
    assert_ptr_equal(info.pool, captures.arena);
    set(ptr, 3, on.a);
    graph = sp_capture_end(on.a);
    assert_int_equal(sp_capture_count(graph, SP_CU_NODE_MEM_ALLOC), 0);
    assert_int_equal(sp_capture_count(graph, SP_CU_NODE_MEMSET), 1);
    assert_int_equal(stats_of(captures.arena).graph_arena_bytes, SIZE);
    assert_int_equal(stats_of(captures.arena).n_live, 1);
    assert_cu(SUCCESS, on.driver->cuGraphInstantiate(&first, graph, 0));
    assert_cu(SUCCESS, on.driver->cuGraphInstantiate(&second, graph, 0));
    assert_cu(SUCCESS, on.driver->cuGraphDestroy(graph));
    sp_capture_launch(first, on.a);
    assert_int_equal(ptr[0], 3);
    /* Outside of its capture nobody frees it. */
    assert_status(STARPOOL_EINVAL, starpool_free(ptr, on.a));
    assert_status(STARPOOL_EINVAL, starpool_free(ptr, STARPOOL_STREAM_HOST));
    assert_cu(SUCCESS, on.driver->cuGraphExecDestroy(first));
    sp_capture_wait_for_destructors();
    assert_int_equal(stats_of(captures.arena).graph_arena_bytes, SIZE);
    sp_capture_launch(second, on.b);
    assert_cu(SUCCESS, on.driver->cuGraphExecDestroy(second));
    sp_capture_wait_for_destructors();
    assert_int_equal(stats_of(captures.arena).graph_arena_bytes, 0);
    assert_int_equal(stats_of(captures.arena).n_live, 0);
    assert_status(STARPOOL_EINVAL, starpool_block_info(ptr, &info));
}

static void arena_uses_memory_again_where_the_graph_orders_it(void **state)
{
    void *first, *left, *right, *last;

    (void)state;
    sp_capture_begin(on.a);
    first = sp_driver_fixture_alloc(captures.arena, on.a, SIZE);
    set(first, 1, on.a);
    sp_capture_follow(on.b, on.a);
    assert_ok(starpool_free(first, on.a));
    left = sp_driver_fixture_alloc(captures.arena, on.a, SIZE);
    right = sp_driver_fixture_alloc(captures.arena, on.b, SIZE);
    assert_ptr_equal(left, first);
    assert_ptr_not_equal(right, left);
    set(left, 2, on.a);
    set(right, 3, on.b);
    assert_ok(starpool_free(right, on.b));
    sp_capture_follow(on.a, on.b);
    last = sp_driver_fixture_alloc(captures.arena, on.a, SIZE);
    assert_ptr_equal(last, right);
    assert_int_equal(stats_of(captures.arena).graph_arena_bytes, 2 * SIZE);
    assert_cu(SUCCESS, on.driver->cuGraphDestroy(sp_capture_end(on.a)));
}

/* One work, captured as often as one likes. */
static sp_cu_graph capture_work(struct starpool_pool *pool, void *result, unsigned char value)
{
    void *ptr;

    sp_capture_begin(on.a);
    ptr = sp_driver_fixture_alloc(pool, on.a, SIZE);
    set(ptr, value, on.a);
    copy(result, ptr, on.a);
    assert_ok(starpool_free(ptr, on.a));
    return sp_capture_end(on.a);
}

static void executable_is_updated_from_a_new_capture(void **state)
{
    char *result = sp_driver_fixture_alloc(on.pool, STARPOOL_STREAM_HOST, SIZE);
    sp_cu_exec exec = sp_capture_instantiate(capture_work(captures.arena, result, 1));
    struct sp_cu_update_result why;

    (void)state;
    for (unsigned char i = 2; i < 20; i++) {
        sp_cu_graph graph = capture_work(captures.arena, result, i);

        assert_cu(SUCCESS, on.driver->cuGraphExecUpdate(exec, graph, &why));
        assert_cu(SUCCESS, on.driver->cuGraphDestroy(graph));
        sp_capture_launch(exec, on.a);
        assert_int_equal(result[SIZE / 2], i);
        sp_capture_wait_for_destructors();
        /* The last graph's arena has gone with it. */
        assert_int_equal(stats_of(captures.arena).graph_arena_bytes, SIZE);
    }
    assert_cu(SUCCESS, on.driver->cuGraphExecDestroy(exec));
    assert_ok(starpool_free(result, STARPOOL_STREAM_HOST));
}

static void executable_with_nodes_is_not_updated(void **state)
{
    char *result = sp_driver_fixture_alloc(on.pool, STARPOOL_STREAM_HOST, SIZE);
    sp_cu_exec exec = sp_capture_instantiate(capture_work(on.pool, result, 1));
    sp_cu_graph graph = capture_work(on.pool, result, 2), clone;
    struct sp_cu_update_result why;

    (void)state;
    assert_cu(NOT_SUPPORTED, on.driver->cuGraphClone(&clone, graph));
    assert_int_equal(on.driver->cuGraphExecUpdate(exec, graph, &why), 910);
    assert_int_equal(why.result, SP_CU_UPDATE_NOT_SUPPORTED);
    sp_capture_launch(exec, on.a);
    assert_int_equal(result[0], 1);
    assert_cu(SUCCESS, on.driver->cuGraphDestroy(graph));
    assert_cu(SUCCESS, on.driver->cuGraphExecDestroy(exec));
    assert_ok(starpool_free(result, STARPOOL_STREAM_HOST));
}

static void graph_of_an_arena_is_cloned_and_a_child(void **state)
{
    char *result = sp_driver_fixture_alloc(on.pool, STARPOOL_STREAM_HOST, SIZE);
    sp_cu_graph graph = capture_work(captures.arena, result, 5), clone, parent;
    sp_cu_node node;
    sp_cu_exec exec;

    (void)state;
    assert_cu(SUCCESS, on.driver->cuGraphClone(&clone, graph));
    assert_cu(SUCCESS, on.driver->cuGraphDestroy(graph));
    assert_cu(SUCCESS, on.driver->cuGraphCreate(&parent, 0));
    assert_cu(SUCCESS, on.driver->cuGraphAddChildGraphNode(&node, parent, NULL, 0, clone));
    assert_cu(SUCCESS, on.driver->cuGraphDestroy(clone));
    exec = sp_capture_instantiate(parent);
    sp_capture_wait_for_destructors();
    assert_int_equal(stats_of(captures.arena).graph_arena_bytes, SIZE);
    sp_capture_launch(exec, on.a);
    assert_int_equal(result[7], 5);
    assert_cu(SUCCESS, on.driver->cuGraphExecDestroy(exec));
    sp_capture_wait_for_destructors();
    assert_int_equal(stats_of(captures.arena).graph_arena_bytes, 0);
    assert_ok(starpool_free(result, STARPOOL_STREAM_HOST));
}

static void pools_of_the_host_serve_captures_from_arenas(void **state)
{
    char *result = sp_driver_fixture_alloc(on.host, STARPOOL_STREAM_HOST, SIZE);
    sp_cu_graph graph = capture_work(on.host, result, 4);
    sp_cu_exec exec;

    (void)state;
    assert_int_equal(sp_capture_count(graph, SP_CU_NODE_MEM_ALLOC), 0);
    assert_int_equal(stats_of(on.host).graph_arena_bytes, SIZE);
    exec = sp_capture_instantiate(graph);
    sp_capture_launch(exec, on.b);
    assert_int_equal(result[100], 4);
    assert_cu(SUCCESS, on.driver->cuGraphExecDestroy(exec));
    sp_capture_wait_for_destructors();
    assert_int_equal(stats_of(on.host).graph_arena_bytes, 0);
    assert_int_equal(stats_of(on.host).n_live, 1);
    assert_ok(starpool_free(result, STARPOOL_STREAM_HOST));
}

static void drivers_pool_of_the_host_takes_an_arena_where_there_are_no_nodes(void **state)
{
    struct starpool_pool_config config;
    struct starpool_pool *pool;
    void *ptr;

    (void)state;
    starpool_pool_config_init(&config);
    config.backend = STARPOOL_BACKEND_DRIVER;
    assert_ok(starpool_pool_create(&config, &pool));
    sp_capture_begin(on.a);
    ptr = sp_driver_fixture_alloc(pool, on.a, SIZE);
    assert_int_equal(stats_of(pool).graph_arena_bytes, SIZE);
    assert_ok(starpool_free(ptr, on.a));
    assert_cu(SUCCESS, on.driver->cuGraphDestroy(sp_capture_end(on.a)));
    sp_capture_wait_for_destructors();
    assert_int_equal(stats_of(pool).graph_arena_bytes, 0);
    starpool_pool_destroy(pool);
}

static void pool_that_is_destroyed_stays_for_its_arenas(void **state)
{
    struct starpool_pool *pool =
        sp_capture_pool(STARPOOL_HOST, STARPOOL_CAPTURE_ARENA, STARPOOL_FREE_WITH_GRAPH);
    char *result = sp_driver_fixture_alloc(on.pool, STARPOOL_STREAM_HOST, SIZE);
    sp_cu_exec exec = sp_capture_instantiate(capture_work(pool, result, 6));

    (void)state;
    starpool_pool_destroy(pool);
    sp_capture_launch(exec, on.a);
    assert_int_equal(result[0], 6);
    assert_cu(SUCCESS, on.driver->cuGraphExecDestroy(exec));
    sp_capture_wait_for_destructors();
    assert_int_equal(stats_of(on.pool).n_live, 1); /* And the other pool is no more. */
    assert_ok(starpool_free(result, STARPOOL_STREAM_HOST));
}

static void current_pool_of_the_device_serves_what_is_captured(void **state)
{
    void *ptr;

    (void)state;
    assert_ok(starpool_pool_set_current((struct starpool_location){STARPOOL_DEVICE, 0},
                                        STARPOOL_PINNED, captures.arena));
    sp_capture_begin(on.a);
    assert_ok(starpool_alloc_current(SIZE, on.a, &ptr));
    assert_ptr_equal(sp_capture_info(ptr).pool, captures.arena);
    assert_cu(SUCCESS, on.driver->cuGraphDestroy(sp_capture_end(on.a)));
}

static void impossible_size_is_refused_and_the_capture_goes_on(void **state)
{
    void *ptr = &state;

    assert_ok(starpool_stream_synchronize(on.a));
    sp_capture_begin(on.a);
    assert_status(STARPOOL_ENOMEM, starpool_alloc(on.pool, SIZE_MAX / 2, on.a, &ptr));
    assert_status(STARPOOL_ENOMEM, starpool_alloc(captures.arena, SIZE_MAX / 2, on.a, &ptr));
    assert_status(STARPOOL_ENOMEM, starpool_alloc(on.host, SIZE_MAX, on.a, &ptr));
    assert_ptr_equal(ptr, &state);
    assert_int_equal(stats_of(captures.arena).n_captured_allocs, 0);
    assert_cu(SUCCESS, on.driver->cuGraphDestroy(sp_capture_end(on.a)));
}

/* ---- graphs as data ---------------------------------------------------------------------- */

static void captured_graph_is_data_with_its_blocks(void **state)
{
    char *result = sp_driver_fixture_alloc(on.pool, STARPOOL_STREAM_HOST, SIZE);
    sp_cu_graph captured = capture_work(on.pool, result, 1);
    const struct sp_graph_block *block;
    struct sp_graph_error error;
    struct starpool_graph *graph;

    (void)state;
    assert_ok(starpool_graph_from_capture(captured, &graph));
    assert_int_equal(graph->n_nodes, 4);
    assert_int_equal(graph->n_edges, 3);
    assert_int_equal(graph->n_blocks, 2);
    assert_int_equal(graph->n_uses, 3); /* Set; copied from; and the other one, copied to. */
    assert_ok(sp_graph_check(graph, &error));
    block = &graph->blocks[0];
    assert_int_equal(block->size, SIZE);
    assert_int_equal(block->location.kind, STARPOOL_DEVICE);
    assert_int_equal(graph->nodes[block->alloc].kind, STARPOOL_GRAPH_NODE_ALLOC);
    assert_int_equal(graph->nodes[block->free].kind, STARPOOL_GRAPH_NODE_FREE);
    assert_false(block->is_output);
    block = &graph->blocks[1];
    assert_int_equal(block->address, (uintptr_t)result);
    assert_true(block->is_input && block->is_output);
    sp_graph_destroy(graph);
    assert_status(STARPOOL_EINVAL, starpool_graph_from_capture(NULL, &graph));
    assert_cu(SUCCESS, on.driver->cuGraphDestroy(captured));
    assert_ok(starpool_free(result, STARPOOL_STREAM_HOST));
}

static const struct starpool_footprint *footprint_of(const struct starpool_footprint *all,
                                                     size_t n, enum starpool_kind kind)
{
    while (n > 0 && all[n - 1].location.kind != kind)
        n--;
    assert_true(n > 0);
    return &all[n - 1];
}

static void footprint_is_known_before_the_launch(void **state)
{
    struct starpool_footprint all[8];
    const struct starpool_footprint *device;
    struct starpool_graph *graph;
    sp_cu_graph captured;
    size_t n = 8, n_none = 0;
    void *a, *b, *kept = sp_driver_fixture_alloc(captures.arena, STARPOOL_STREAM_HOST, SIZE);

    (void)state;
    sp_capture_begin(on.a);
    a = sp_driver_fixture_alloc(on.pool, on.a, 32 * SP_MIB);
    b = sp_driver_fixture_alloc(on.pool, on.a, 64 * SP_MIB);
    assert_ok(starpool_free(a, on.a));
    assert_ok(starpool_free(b, on.a));
    assert_non_null(sp_driver_fixture_alloc(captures.arena, on.a, SIZE));
    assert_ok(starpool_free(kept, on.a));
    captured = sp_capture_end(on.a);
    assert_ok(starpool_graph_from_capture(captured, &graph));
    assert_ok(starpool_graph_footprint(graph, all, &n));
    device = footprint_of(all, n, STARPOOL_DEVICE);
    assert_int_equal(device->graph_bytes, 96 * SP_MIB);
    assert_int_equal(device->arena_bytes, SIZE);
    assert_int_equal(device->held_bytes, SIZE);
    assert_true(device->pool_bytes >= 2 * SIZE);
    assert_int_equal(device->total_bytes, device->graph_bytes + device->pool_bytes);
    assert_status(STARPOOL_EINVAL, starpool_graph_footprint(graph, all, &n_none));
    assert_int_equal(n_none, n);
    sp_graph_destroy(graph);
    assert_int_equal(graph_memory_of(captured), 96 * SP_MIB);
}

#define CASE(name) \
    cmocka_unit_test_setup_teardown(name, sp_capture_fixture_setup, sp_capture_fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(nodes_are_the_graphs_and_no_pools),
        CASE(launched_allocation_is_freed_by_its_address),
        CASE(free_on_a_stream_that_has_been_joined_leaves_the_capture_whole),
        CASE(freed_nodes_serve_allocations_behind_them),
        CASE(two_captures_at_once_have_each_their_own),
        CASE(refused_node_leaves_the_stream_where_it_was),
        CASE(launched_allocation_is_known_though_the_driver_did_not_answer),
        CASE(address_that_a_graph_had_is_a_blocks_before_that_is_noticed),
        CASE(arena_makes_a_graph_without_memory_nodes),
        CASE(arena_uses_memory_again_where_the_graph_orders_it),
        CASE(executable_is_updated_from_a_new_capture),
        CASE(executable_with_nodes_is_not_updated),
        CASE(graph_of_an_arena_is_cloned_and_a_child),
        CASE(pools_of_the_host_serve_captures_from_arenas),
        CASE(drivers_pool_of_the_host_takes_an_arena_where_there_are_no_nodes),
        CASE(pool_that_is_destroyed_stays_for_its_arenas),
        CASE(current_pool_of_the_device_serves_what_is_captured),
        CASE(impossible_size_is_refused_and_the_capture_goes_on),
        CASE(captured_graph_is_data_with_its_blocks),
        CASE(footprint_is_known_before_the_launch),
    };

    return sp_capture_fixture_init()
               ? cmocka_run_group_tests_name("capture_pool", tests, NULL, NULL)
               : 99;
}
