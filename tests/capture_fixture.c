/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What tests of captures on the CPU model share. */
#include "config.h"

#include "tests/capture_fixture.h"

#include "tests/support.h"

#include <stdlib.h>
#include <string.h>

struct sp_capture_fixture captures;

/* Valgrind has 64 GiB of addresses for a program, and the model takes several for each byte of
 * a device. */
bool sp_capture_fixture_init(void)
{
    const char *driver = getenv("STARPOOL_TEST_DRIVER");

    return setenv("STARPOOL_DRIVER", driver != NULL ? driver : "model", 1) == 0 &&
           setenv("STARPOOL_MODEL_DEVICES", "2", 1) == 0 &&
           setenv("STARPOOL_MODEL_EXEC", "threads", 1) == 0 &&
           setenv("STARPOOL_MODEL_MEMORY", "4G", 1) == 0 &&
           setenv("STARPOOL_CHECKS", "2", 1) == 0;
}

struct starpool_pool *sp_capture_pool(enum starpool_kind kind,
                                      enum starpool_capture_memory memory,
                                      enum starpool_captured_free captured_free)
{
    struct starpool_pool_config config;
    struct starpool_pool *pool;

    starpool_pool_config_init(&config);
    config.location = (struct starpool_location){kind, 0};
    config.capture = memory;
    config.captured_free = captured_free;
    assert_ok(starpool_pool_create(&config, &pool));
    return pool;
}

int sp_capture_fixture_setup(void **state)
{
    (void)state;
    if (sp_driver_fixture_setup(0, true) != 0)
        return -1;
    captures.arena =
        sp_capture_pool(STARPOOL_DEVICE, STARPOOL_CAPTURE_ARENA, STARPOOL_FREE_WITH_GRAPH);
    return 0;
}

int sp_capture_fixture_teardown(void **state)
{
    starpool_pool_destroy(captures.arena);
    return sp_driver_fixture_teardown(state);
}

void sp_capture_begin(sp_cu_stream stream)
{
    assert_cu(SUCCESS, on.driver->cuStreamBeginCapture(stream, SP_CU_CAPTURE_MODE_GLOBAL));
}

sp_cu_graph sp_capture_end(sp_cu_stream stream)
{
    sp_cu_graph graph = NULL;

    assert_cu(SUCCESS, on.driver->cuStreamEndCapture(stream, &graph));
    assert_non_null(graph);
    return graph;
}

sp_cu_exec sp_capture_instantiate(sp_cu_graph graph)
{
    sp_cu_exec exec = NULL;

    assert_cu(SUCCESS, on.driver->cuGraphInstantiate(&exec, graph, 0));
    assert_cu(SUCCESS, on.driver->cuGraphDestroy(graph));
    return exec;
}

/* Launches copy from it, too, as long as the process lives. */
static unsigned char patterns[16][1 << 20];

void sp_capture_fill(void *ptr, unsigned char value, size_t size, sp_cu_stream stream)
{
    int type = 0;

    if (on.driver->cuPointerGetAttribute(&type, SP_CU_POINTER_MEMORY_TYPE, (uintptr_t)ptr) ==
        SP_CU_SUCCESS) {
        assert_cu(SUCCESS, on.driver->cuMemsetD8Async((uintptr_t)ptr, value, size, stream));
        return;
    }
    assert_true(value < 16 && size <= sizeof(patterns[0]));
    memset(patterns[value], value, sizeof(patterns[0]));
    assert_cu(SUCCESS, on.driver->cuMemcpyAsync((uintptr_t)ptr, (uintptr_t)patterns[value],
                                                size, stream));
}

void sp_capture_launch(sp_cu_exec exec, sp_cu_stream stream)
{
    assert_cu(SUCCESS, on.driver->cuGraphLaunch(exec, stream));
    assert_cu(SUCCESS, on.driver->cuStreamSynchronize(stream));
}

void sp_capture_follow(sp_cu_stream to, sp_cu_stream from)
{
    sp_cu_event event;

    assert_cu(SUCCESS, on.driver->cuEventCreate(&event, SP_CU_EVENT_DISABLE_TIMING));
    assert_cu(SUCCESS, on.driver->cuEventRecord(event, from));
    assert_cu(SUCCESS, on.driver->cuStreamWaitEvent(to, event, 0));
    assert_cu(SUCCESS, on.driver->cuEventDestroy(event));
}

/* Destructors run one after another: this one's object goes last. */
static void note_run(void *arg)
{
    (void)arg;
    sp_gate_set(&gate.is_heard);
}

void sp_capture_wait_for_destructors(void)
{
    sp_cu_object object;

    gate.is_heard = false;
    assert_cu(SUCCESS, on.driver->cuUserObjectCreate(&object, NULL, note_run, 1,
                                                     SP_CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    assert_cu(SUCCESS, on.driver->cuUserObjectRelease(object, 1));
    sp_gate_wait(&gate.is_heard);
}

size_t sp_capture_count(sp_cu_graph graph, int type)
{
    sp_cu_node nodes[256];
    size_t n = 256, n_found = 0;

    assert_cu(SUCCESS, on.driver->cuGraphGetNodes(graph, nodes, &n));
    for (size_t i = 0; i < n; i++) {
        int found = -1;

        assert_cu(SUCCESS, on.driver->cuGraphNodeGetType(nodes[i], &found));
        n_found += found == type;
    }
    return n_found;
}

struct starpool_block_info sp_capture_info(const void *ptr)
{
    struct starpool_block_info info = {.struct_size = sizeof(info)};

    assert_ok(starpool_block_info(ptr, &info));
    return info;
}
