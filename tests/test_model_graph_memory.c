/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Graph memory of the model beyond the rules: addresses against the order of graphs, pages, the
 * end of executables, shortage, pointers. */
#include "config.h"

#include "tests/exec_fixture.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "src/model/protect.h"
#include "src/util/util.h"

/* ---- addresses against the order of a graph --------------------------------------------- */

#define N_NODES 60

/* A random graph whose nodes allocate and free, with what comes before each. */
struct world {
    sp_cu_graph graph;
    sp_cu_node nodes[N_NODES];
    uint64_t before[N_NODES]; /* bit i: node i comes before */
    sp_cu_ptr ptrs[N_NODES];  /* of the nodes that allocate, else 0 */
    size_t sizes[N_NODES];
    int frees[N_NODES]; /* the node that frees, or -1 */
    int n;
};

/* Up to three of the nodes before, `must` (or -1) among them. */
static size_t choose_before(struct world *world, uint64_t *random, int must,
                            sp_cu_node before_out[4])
{
    uint64_t chosen = must < 0 ? 0 : (uint64_t)1 << must;
    size_t n = 0;

    for (int i = 0; i < 3 && world->n > 0; i++)
        chosen |= (uint64_t)1 << sp_test_random_below(random, (size_t)world->n);
    world->before[world->n] = chosen;
    for (int i = 0; i < world->n; i++) {
        if ((chosen >> i & 1) != 0) {
            before_out[n++] = world->nodes[i];
            world->before[world->n] |= world->before[i];
        }
    }
    return n;
}

/* An allocation that has not been freed; -1 if there is none. */
static int choose_unfreed(const struct world *world, uint64_t *random)
{
    int first = world->n == 0 ? 0 : (int)sp_test_random_below(random, (size_t)world->n);

    for (int i = 0; i < world->n; i++) {
        int at = (first + i) % world->n;

        if (world->ptrs[at] != 0 && world->frees[at] < 0)
            return at;
    }
    return -1;
}

static void make_world(struct world *world, uint64_t *random)
{
    memset(world, 0, sizeof(*world));
    world->graph = sp_test_graph();
    while (world->n < N_NODES) {
        int unfreed = sp_test_random_below(random, 2) == 0 ? choose_unfreed(world, random) : -1;
        sp_cu_node before[4];
        size_t n = choose_before(world, random, unfreed, before);
        sp_cu_node *node = &world->nodes[world->n];

        world->frees[world->n] = -1;
        if (unfreed >= 0) {
            *node = sp_test_add_free(world->graph, world->ptrs[unfreed], before, n);
            world->frees[unfreed] = world->n;
        } else {
            world->sizes[world->n] = (sp_test_random_below(random, 3) + 1) << 14;
            world->ptrs[world->n] =
                sp_test_add_alloc(world->graph, world->sizes[world->n], before, n, node);
        }
        world->n++;
    }
}

static bool overlap(const struct world *a, int i, const struct world *b, int j)
{
    return a->ptrs[i] != 0 && b->ptrs[j] != 0 && a->ptrs[i] < b->ptrs[j] + b->sizes[j] &&
           b->ptrs[j] < a->ptrs[i] + a->sizes[i];
}

/* How many pairs share addresses; each must be apart by the order. */
static size_t check_world(const struct world *world)
{
    size_t n_shared = 0;

    for (int i = 0; i < world->n; i++) {
        for (int j = i + 1; j < world->n; j++) {
            if (!overlap(world, i, world, j))
                continue;
            assert_true(world->frees[i] >= 0);
            assert_true((world->before[j] >> world->frees[i] & 1) != 0);
            n_shared++;
        }
    }
    return n_shared;
}

static void allocations_share_addresses_only_if_the_order_keeps_them_apart(void **state)
{
    static struct world worlds[2];
    uint64_t random = sp_test_seed();
    size_t n_shared = 0;

    (void)state;
    for (size_t round = 0; round < sp_test_scaled(50); round++) {
        make_world(&worlds[0], &random);
        make_world(&worlds[1], &random);
        n_shared += check_world(&worlds[0]) + check_world(&worlds[1]);
        for (int i = 0; i < N_NODES; i++) {
            for (int j = 0; j < N_NODES; j++)
                assert_false(overlap(&worlds[0], i, &worlds[1], j));
        }
        assert_done(cuGraphDestroy(worlds[0].graph));
        assert_done(cuGraphDestroy(worlds[1].graph));
    }
    assert_true(n_shared > 0);
}

/* ---- pages ------------------------------------------------------------------------------ */

/* Asked of the kernel, so that a page that is not there is no crash. */
static bool is_there(sp_cu_ptr ptr)
{
    int ends[2];
    ssize_t n;
    int error;

    assert_int_equal(pipe(ends), 0);
    n = write(ends[1], sp_model_alias((uintptr_t)ptr), 1);
    error = errno;
    assert_int_equal(close(ends[0]), 0);
    assert_int_equal(close(ends[1]), 0);
    assert_true(n == 1 || error == EFAULT);
    return n == 1;
}

static void addresses_have_pages_while_memory_is_attached(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_graph graph = sp_test_graph();
    sp_cu_node node;
    sp_cu_ptr ptr = sp_test_add_alloc(graph, SP_TEST_CELL, NULL, 0, &node),
              past = ptr + SP_TEST_CELL;
    sp_cu_exec exec = sp_test_exec(graph, 0);

    (void)state;
    assert_false(is_there(ptr));
    assert_result(SP_CU_INVALID_VALUE, cuMemsetD8Async(ptr, 1, SP_TEST_CELL, stream));
    assert_done(cuGraphLaunch(exec, stream));
    assert_true(is_there(ptr));
    assert_false(is_there(past));
    assert_done(cuMemsetD8Async(ptr, 1, SP_TEST_CELL, stream));
    assert_done(cuStreamSynchronize(stream));
    assert_done(cuDeviceGraphMemTrim(0));
    assert_true(is_there(ptr));
    assert_done(cuMemFreeAsync(ptr, stream));
    assert_done(cuStreamSynchronize(stream));
    assert_done(cuDeviceGraphMemTrim(0));
    assert_false(is_there(ptr));
    assert_result(SP_CU_INVALID_VALUE, cuMemsetD8Async(ptr, 1, SP_TEST_CELL, stream));
    assert_done(cuGraphExecDestroy(exec));
    assert_done(cuGraphDestroy(graph));
    sp_test_assert_no_violations();
}

/* A use that is not ordered before the free must not meet a page that has gone. */
static void pages_stay_for_what_wrongly_uses_them(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_stream other = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_graph graph = sp_test_graph();
    sp_cu_node node;
    sp_cu_ptr ptr = sp_test_add_alloc(graph, SP_TEST_CELL, NULL, 0, &node);
    sp_cu_exec exec = sp_test_exec(graph, 0);

    (void)state;
    assert_done(cuGraphLaunch(exec, stream));
    assert_done(cuStreamSynchronize(stream));
    sp_test_hold(other);
    assert_done(cuMemsetD8Async(ptr, 1, SP_TEST_CELL, other));
    assert_done(cuMemFreeAsync(ptr, stream));
    assert_int_equal(starpool_model_violations(NULL), 1);
    assert_done(cuGraphExecDestroy(exec));
    assert_done(cuGraphDestroy(graph));
    assert_done(cuStreamSynchronize(stream));
    assert_done(cuDeviceGraphMemTrim(0));
    assert_true(is_there(ptr));
    sp_test_release();
    assert_done(cuStreamSynchronize(other));
    assert_done(cuDeviceGraphMemTrim(0));
    assert_false(is_there(ptr));
    assert_int_equal(sp_test_graph_bytes(SP_CU_GRAPH_MEM_RESERVED_CURRENT), 0);
}

/* ---- the end of executables ------------------------------------------------------------- */

/* The second allocation takes turns with the first, whose free is behind nothing; then the
 * first is put behind the second, and so both are there at a time. */
static void a_free_that_is_not_ordered_ends_nothing_but_its_own_allocation(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    size_t before = sp_test_free_bytes();
    sp_cu_graph graph = sp_test_graph();
    sp_cu_node first, last;
    sp_cu_ptr ptr = sp_test_add_alloc(graph, SP_TEST_CELL, NULL, 0, &first);
    sp_cu_exec exec;

    (void)state;
    last = sp_test_add_free(graph, ptr, NULL, 0);
    assert_int_equal(sp_test_add_alloc(graph, SP_TEST_CELL, &last, 1, &last), ptr);
    assert_done(cuGraphAddDependencies(graph, &last, &first, NULL, 1));
    exec = sp_test_exec(graph, SP_CU_INSTANTIATE_AUTO_FREE_ON_LAUNCH);
    assert_int_equal(starpool_model_violations(NULL), 1);
    for (int i = 0; i < 2; i++)
        assert_done(cuGraphLaunch(exec, stream));
    assert_done(cuMemFreeAsync(ptr, stream));
    assert_result(SP_CU_INVALID_VALUE, cuMemFreeAsync(ptr, stream));
    assert_done(cuStreamSynchronize(stream));
    assert_done(cuGraphExecDestroy(exec));
    assert_done(cuGraphDestroy(graph));
    assert_done(cuDeviceGraphMemTrim(0));
    assert_int_equal(sp_test_free_bytes(), before);
    assert_int_equal(starpool_model_violations(NULL), 1);
}

static void note(void *arg)
{
    atomic_fetch_add((atomic_uint *)arg, 1);
}

static void an_executable_that_is_destroyed_finishes_its_launches(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_graph graph = sp_test_graph();
    atomic_uint n_calls = 0;
    sp_cu_ptr ptr, result;
    sp_cu_node last;
    sp_cu_exec exec;

    (void)state;
    assert_done(cuMemAlloc(&result, SP_TEST_CELL));
    ptr = sp_test_add_alloc(graph, SP_TEST_CELL, NULL, 0, &last);
    last = sp_test_add_set(graph, ptr, 7, &last, 1);
    last = sp_test_add_copy(graph, result, ptr, &last, 1);
    last = sp_test_add_free(graph, ptr, &last, 1);
    (void)sp_test_add_function(graph, note, &n_calls, &last, 1);
    exec = sp_test_exec(graph, 0);
    sp_test_hold(stream);
    for (int i = 0; i < 3; i++)
        assert_done(cuGraphLaunch(exec, stream));
    assert_done(cuGraphExecDestroy(exec));
    assert_result(SP_CU_INVALID_VALUE, cuGraphLaunch(exec, stream));
    assert_done(cuGraphDestroy(graph));
    assert_done(cuDeviceGraphMemTrim(0));
    assert_true(sp_test_graph_bytes(SP_CU_GRAPH_MEM_USED_CURRENT) >= SP_TEST_CELL);
    sp_test_release();
    sp_test_assert_bytes(result, 7, stream);
    assert_int_equal(n_calls, 3);
    assert_int_equal(sp_test_graph_bytes(SP_CU_GRAPH_MEM_USED_CURRENT), 0);
    assert_done(cuDeviceGraphMemTrim(0));
    assert_int_equal(sp_test_graph_bytes(SP_CU_GRAPH_MEM_RESERVED_CURRENT), 0);
    assert_int_equal(starpool_model_violations(NULL), 1); /* the stale handle */
}

/* The destructor's thread sets the flag; there is no call that waits for it. */
static void a_launch_keeps_the_graphs_user_objects(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_graph graph = sp_test_graph();
    static atomic_uint n_destroyed;
    sp_cu_object object;
    sp_cu_exec exec;

    (void)state;
    atomic_store(&n_destroyed, 0);
    assert_done(cuUserObjectCreate(&object, &n_destroyed, note, 1,
                                   SP_CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    assert_done(cuGraphRetainUserObject(graph, object, 1, SP_CU_GRAPH_USER_OBJECT_MOVE));
    exec = sp_test_exec(graph, 0);
    sp_test_hold(stream);
    assert_done(cuGraphLaunch(exec, stream));
    assert_done(cuGraphExecDestroy(exec));
    assert_done(cuGraphDestroy(graph));
    assert_int_equal(atomic_load(&n_destroyed), 0);
    sp_test_release();
    assert_done(cuStreamSynchronize(stream));
    sp_model_reset(); /* It waits for destructors that are due. */
    assert_int_equal(atomic_load(&n_destroyed), 1);
}

static void a_fault_ends_a_launch_and_no_records(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_graph graph = sp_test_graph();
    unsigned long long id;
    char fault[64];
    sp_cu_ptr ptr;
    sp_cu_node last;
    sp_cu_exec exec;

    (void)state;
    assert_done(cuStreamGetId(stream, &id));
    ptr = sp_test_add_alloc(graph, SP_TEST_CELL, NULL, 0, &last);
    last = sp_test_add_set(graph, ptr, 7, &last, 1);
    (void)sp_test_add_free(graph, ptr, &last, 1);
    exec = sp_test_exec(graph, 0);
    (void)snprintf(fault, sizeof(fault), "fault:%llu@2=ILLEGAL_ADDRESS", id);
    assert_ok(starpool_model_inject(fault));
    assert_done(cuGraphLaunch(exec, stream));
    assert_result(SP_CU_ILLEGAL_ADDRESS, cuStreamSynchronize(stream));
    assert_result(SP_CU_ILLEGAL_ADDRESS, cuGraphLaunch(exec, stream));
    assert_done(cuCtxDestroy(sp_model.context));
    assert_done(cuGraphExecDestroy(exec));
    assert_done(cuGraphDestroy(graph));
    assert_done(cuDeviceGraphMemTrim(0));
    assert_int_equal(sp_test_graph_bytes(SP_CU_GRAPH_MEM_RESERVED_CURRENT), 0);
}

/* ---- shortage --------------------------------------------------------------------------- */

static void a_launch_without_memory_changes_nothing(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_graph graph = sp_test_graph();
    size_t room = sp_test_free_bytes();
    sp_cu_ptr ptr, left, full, cell;
    sp_cu_node last;
    sp_cu_exec exec;

    (void)state;
    assert_done(cuMemAlloc(&cell, SP_TEST_CELL));
    assert_done(cuMemsetD8(cell, 1, SP_TEST_CELL));
    assert_done(cuCtxSynchronize());
    ptr = sp_test_add_alloc(graph, 24 * SP_TEST_SIZE, NULL, 0, &last);
    last = sp_test_add_set(graph, cell, 2, &last, 1);
    last = sp_test_add_free(graph, ptr, &last, 1);
    left = sp_test_add_alloc(graph, 28 * SP_TEST_SIZE, NULL, 0, &last);
    exec = sp_test_exec(graph, 0);
    assert_done(cuMemAlloc(&full, 16 * SP_TEST_SIZE));
    for (int i = 0; i < 2; i++) {
        assert_result(SP_CU_OUT_OF_MEMORY, cuGraphLaunch(exec, stream));
        assert_result(SP_CU_OUT_OF_MEMORY, cuGraphUpload(exec, stream));
        assert_int_equal(sp_test_graph_bytes(SP_CU_GRAPH_MEM_RESERVED_CURRENT), 0);
        assert_int_equal(sp_test_graph_bytes(SP_CU_GRAPH_MEM_RESERVED_HIGH), 0);
        assert_int_equal(sp_test_graph_bytes(SP_CU_GRAPH_MEM_USED_CURRENT), 0);
        assert_int_equal(sp_test_free_bytes(), room - SP_TEST_CELL - 16 * SP_TEST_SIZE);
        sp_test_assert_bytes(cell, 1, stream);
        assert_result(SP_CU_INVALID_VALUE, cuMemFreeAsync(left, stream));
    }
    assert_done(cuMemFree(full));
    assert_done(cuGraphLaunch(exec, stream));
    sp_test_assert_bytes(cell, 2, stream);
    assert_int_equal(sp_test_graph_bytes(SP_CU_GRAPH_MEM_USED_CURRENT), 52 * SP_TEST_SIZE);
    assert_done(cuMemFreeAsync(left, stream));
    assert_done(cuGraphExecDestroy(exec));
    assert_done(cuGraphDestroy(graph));
    sp_test_assert_no_violations();
}

static void idle_graph_memory_serves_who_is_short(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_stream other = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_graph graphs[2];
    sp_cu_exec execs[2];
    uint64_t keep = UINT64_MAX;
    sp_cu_pool pool;
    sp_cu_ptr full;

    (void)state;
    for (int i = 0; i < 2; i++) {
        sp_cu_node last;
        sp_cu_ptr ptr;

        graphs[i] = sp_test_graph();
        ptr = sp_test_add_alloc(graphs[i], 40 * SP_TEST_SIZE, NULL, 0, &last);
        (void)sp_test_add_free(graphs[i], ptr, &last, 1);
        execs[i] = sp_test_exec(graphs[i], 0);
    }
    /* Held, it is in use: another stream's graph cannot have it. */
    sp_test_hold(stream);
    assert_done(cuGraphLaunch(execs[0], stream));
    assert_result(SP_CU_OUT_OF_MEMORY, cuGraphLaunch(execs[1], other));
    assert_result(SP_CU_OUT_OF_MEMORY, cuMemAlloc(&full, 40 * SP_TEST_SIZE));
    sp_test_release();
    assert_done(cuStreamSynchronize(stream));
    assert_done(cuGraphLaunch(execs[1], other));
    assert_done(cuStreamSynchronize(other));
    assert_done(cuMemAlloc(&full, 40 * SP_TEST_SIZE));
    assert_result(SP_CU_OUT_OF_MEMORY, cuGraphLaunch(execs[0], stream));
    assert_done(cuMemFree(full));
    /* A pool has it, and then gives it up. */
    assert_done(cuDeviceGetDefaultMemPool(&pool, 0));
    assert_done(cuMemPoolSetAttribute(pool, SP_CU_POOL_RELEASE_THRESHOLD, &keep));
    assert_done(cuMemAllocAsync(&full, 40 * SP_TEST_SIZE, stream));
    assert_done(cuMemFreeAsync(full, stream));
    assert_done(cuStreamSynchronize(stream));
    assert_true(sp_test_free_bytes() < 40 * SP_TEST_SIZE);
    assert_done(cuGraphLaunch(execs[0], stream));
    assert_done(cuStreamSynchronize(stream));
    for (int i = 0; i < 2; i++) {
        assert_done(cuGraphExecDestroy(execs[i]));
        assert_done(cuGraphDestroy(graphs[i]));
    }
    sp_test_assert_no_violations();
}

/* ---- pointers --------------------------------------------------------------------------- */

static void attributes_of_a_graphs_pointer_are_those_of_its_allocation(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_graph graph = sp_test_graph();
    sp_cu_node node;
    sp_cu_ptr base = 0, ptr = sp_test_add_alloc(graph, SP_TEST_CELL - 8, NULL, 0, &node);
    sp_cu_exec exec = sp_test_exec(graph, 0);
    sp_cu_pool pool = (sp_cu_pool)(uintptr_t)1;
    uint64_t start = 0;
    size_t size = 0;
    int device = -1, type = 0;

    (void)state;
    assert_result(SP_CU_NOT_FOUND, cuMemGetAddressRange(&base, &size, ptr));
    assert_done(cuPointerGetAttribute(&device, SP_CU_POINTER_DEVICE_ORDINAL, ptr));
    assert_int_equal(device, 0);
    assert_done(cuGraphLaunch(exec, stream));
    assert_done(cuPointerGetAttribute(&type, SP_CU_POINTER_MEMORY_TYPE, ptr + 5));
    assert_int_equal(type, SP_CU_MEMORY_TYPE_DEVICE);
    assert_done(cuPointerGetAttribute(&start, SP_CU_POINTER_RANGE_START_ADDR, ptr + 5));
    assert_int_equal(start, ptr);
    assert_done(cuPointerGetAttribute(&pool, SP_CU_POINTER_MEMPOOL_HANDLE, ptr));
    assert_null(pool);
    assert_done(cuMemGetAddressRange(&base, &size, ptr + 5));
    assert_int_equal(base, ptr);
    assert_int_equal(size, SP_TEST_CELL - 8);
    assert_done(cuMemFreeAsync(ptr, stream));
    assert_done(cuGraphExecDestroy(exec));
    assert_done(cuGraphDestroy(graph));
    assert_done(cuStreamSynchronize(stream));
    assert_result(SP_CU_INVALID_VALUE,
                  cuPointerGetAttribute(&device, SP_CU_POINTER_DEVICE_ORDINAL, ptr));
}

/* Where the driver may allocate it in graphs, the host's memory is used by host and device. */
static void memory_of_the_host_is_allocated_in_graphs_if_it_may_be(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    struct sp_cu_access_desc access = {{SP_CU_LOCATION_DEVICE, 0}, SP_CU_ACCESS_READWRITE};
    struct sp_cu_alloc_params params = {
        .props = {.alloc_type = SP_CU_ALLOCATION_PINNED,
                  .location = {.type = SP_CU_LOCATION_HOST}},
        .access = &access,
        .n_access = 1,
        .size = SP_TEST_CELL,
    };
    sp_cu_graph graph = sp_test_graph();
    size_t room = sp_test_free_bytes();
    sp_cu_node last;
    sp_cu_exec exec;

    (void)state;
    assert_result(SP_CU_NOT_SUPPORTED, cuGraphAddMemAllocNode(&last, graph, NULL, 0, &params));
    assert_ok(starpool_model_set_switch("graph_host_nodes", "success"));
    assert_done(cuGraphAddMemAllocNode(&last, graph, NULL, 0, &params));
    (void)sp_test_add_set(graph, params.ptr, 3, &last, 1);
    exec = sp_test_exec(graph, 0);
    assert_done(cuGraphLaunch(exec, stream));
    assert_done(cuStreamSynchronize(stream));
    for (size_t i = 0; i < SP_TEST_CELL; i++)
        assert_int_equal(((const unsigned char *)(uintptr_t)params.ptr)[i], 3);
    assert_int_equal(sp_test_free_bytes(), room);
    assert_int_equal(sp_test_graph_bytes(SP_CU_GRAPH_MEM_USED_CURRENT), 0);
    assert_done(cuMemFreeAsync(params.ptr, stream));
    assert_done(cuGraphExecDestroy(exec));
    assert_done(cuGraphDestroy(graph));
    assert_done(cuStreamSynchronize(stream));
    sp_test_assert_no_violations();
}

/* Everything is let go with the model, whatever the program has left. */
static void starting_over_leaves_nothing(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);

    (void)state;
    for (int i = 0; i < 3; i++) {
        sp_cu_graph graph = sp_test_graph();
        sp_cu_node last;
        sp_cu_ptr ptr = sp_test_add_alloc(graph, SP_TEST_CELL, NULL, 0, &last);

        (void)sp_test_add_set(graph, ptr, 1, &last, 1);
        assert_done(cuGraphLaunch(sp_test_exec(graph, 0), stream));
        if (i == 0)
            sp_test_hold(stream);
    }
    sp_test_model_configure(1, STARPOOL_MODEL_THREADS);
    assert_done(cuInit(0));
    assert_done(cuCtxCreate(&sp_model.context, 0, 0));
    assert_int_equal(sp_test_free_bytes(), 64 * SP_TEST_SIZE);
    assert_int_equal(sp_test_graph_bytes(SP_CU_GRAPH_MEM_RESERVED_HIGH), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SP_TEST_BOTH(allocations_share_addresses_only_if_the_order_keeps_them_apart),
        SP_TEST_BOTH(addresses_have_pages_while_memory_is_attached),
        SP_TEST_BOTH(pages_stay_for_what_wrongly_uses_them),
        SP_TEST_BOTH(a_free_that_is_not_ordered_ends_nothing_but_its_own_allocation),
        SP_TEST_BOTH(an_executable_that_is_destroyed_finishes_its_launches),
        SP_TEST_BOTH(a_launch_keeps_the_graphs_user_objects),
        SP_TEST_BOTH(a_fault_ends_a_launch_and_no_records),
        SP_TEST_BOTH(a_launch_without_memory_changes_nothing),
        SP_TEST_BOTH(idle_graph_memory_serves_who_is_short),
        SP_TEST_BOTH(attributes_of_a_graphs_pointer_are_those_of_its_allocation),
        SP_TEST_BOTH(memory_of_the_host_is_allocated_in_graphs_if_it_may_be),
        SP_TEST_BOTH(starting_over_leaves_nothing),
    };

    return cmocka_run_group_tests_name("model_graph_memory", tests, NULL, NULL);
}
