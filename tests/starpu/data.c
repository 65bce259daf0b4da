/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* StarPU's own paths: data with tasks, packed through a disk node, on an OpenCL device. Run
 * with the plugin preloaded: data CASE [FOLDER]. */
#include "case.h"

#define N 100000

static const char *folder;

/* The thread sanitizer does not see what StarPU's own library orders: that a task has ended
 * before its memory is used again by another. */
#define TASK __attribute__((no_sanitize("thread")))

TASK static void add_one(void *buffers[], void *arg)
{
    float *values = (float *)STARPU_VECTOR_GET_PTR(buffers[0]);
    size_t n = STARPU_VECTOR_GET_NX(buffers[0]), i;

    (void)arg;
    for (i = 0; i < n; i++)
        values[i] += 1;
}

TASK static void set_two(void *buffers[], void *arg)
{
    float *values = (float *)STARPU_VECTOR_GET_PTR(buffers[0]);
    size_t n = STARPU_VECTOR_GET_NX(buffers[0]), i;

    (void)arg;
    for (i = 0; i < n; i++)
        values[i] = 2;
}

static struct starpu_codelet adder = {
    .cpu_funcs = {add_one}, .nbuffers = 1, .modes = {STARPU_RW}};
static struct starpu_codelet setter = {
    .cpu_funcs = {set_two}, .nbuffers = 1, .modes = {STARPU_W}};

static void check_values(starpu_data_handle_t handle, float expected)
{
    float *values;
    size_t i;

    CHECK(starpu_data_acquire(handle, STARPU_R) == 0);
    values = (float *)starpu_data_get_local_ptr(handle);
    for (i = 0; i < N; i++)
        CHECK(values[i] == expected);
    starpu_data_release(handle);
}

static void one_temporary(int is_looked_at)
{
    starpu_data_handle_t handle;

    starpu_vector_data_register(&handle, -1, 0, N, sizeof(float));
    CHECK(starpu_task_insert(&setter, STARPU_W, handle, 0) == 0);
    CHECK(starpu_task_insert(&adder, STARPU_RW, handle, 0) == 0);
    if (is_looked_at) {
        check_values(handle, 3);
        CHECK(starpu_data_acquire(handle, STARPU_R) == 0);
        CHECK(is_ours(starpu_data_get_local_ptr(handle)));
        starpu_data_release(handle);
    }
    starpu_data_unregister_submit(handle);
}

/* Temporaries, whose memory StarPU allocates: the budget is as before when they are gone. */
static void temporaries(void)
{
    starpu_ssize_t before;
    unsigned i;

    start();
    before = starpu_memory_get_available(STARPU_MAIN_RAM);
    for (i = 0; i < 50; i++)
        one_temporary(i == 0);
    CHECK(starpu_task_wait_for_all() == 0);
    starpu_shutdown();
    CHECK(before <= 0 || starpu_memory_get_available(STARPU_MAIN_RAM) == before);
}

/* starpu_data_pack() allocates, the application frees; unpack frees what we are given. */
static void packed_by_hand(void)
{
    starpu_data_handle_t handle;
    starpu_ssize_t size;
    void *packed;

    start();
    starpu_vector_data_register(&handle, -1, 0, N, sizeof(float));
    CHECK(starpu_task_insert(&setter, STARPU_W, handle, 0) == 0);
    CHECK(starpu_data_acquire(handle, STARPU_RW) == 0);
    CHECK(starpu_data_pack(handle, &packed, &size) == 0 && is_ours(packed));
    CHECK(starpu_data_unpack(handle, packed, (size_t)size) == 0 && !is_ours(packed));
    starpu_data_release(handle);
    check_values(handle, 2);
    starpu_data_unregister(handle);
    starpu_shutdown();
}

static struct starpu_data_copy_methods packing_methods;
static struct starpu_data_interface_ops packing_ops;

/* A vector that StarPU can only write to a disk packed. */
static starpu_data_handle_t packing_vector(void)
{
    struct starpu_vector_interface vector = {.id = STARPU_VECTOR_INTERFACE_ID,
                                             .nx = N,
                                             .elemsize = sizeof(float),
                                             .allocsize = N * sizeof(float)};
    starpu_data_handle_t handle;

    packing_methods = *starpu_interface_vector_ops.copy_methods;
    packing_methods.any_to_any = NULL;
    packing_ops = starpu_interface_vector_ops;
    packing_ops.copy_methods = &packing_methods;
    starpu_data_register(&handle, -1, &vector, &packing_ops);
    return handle;
}

/* Allocated by the interposer and freed by the hook on the way out, and the other way round on
 * the way in. */
static void packed_to_disk(void)
{
    starpu_data_handle_t handle;
    int disk;

    start();
    disk = starpu_disk_register(&starpu_disk_unistd_ops, (void *)(uintptr_t)folder,
                                STARPU_DISK_SIZE_MIN * 4);
    CHECK(disk >= 0);
    handle = packing_vector();
    CHECK(starpu_task_insert(&setter, STARPU_W, handle, 0) == 0);
    CHECK(starpu_task_wait_for_all() == 0);
    CHECK(starpu_data_prefetch_on_node(handle, (unsigned)disk, 0) == 0);
    CHECK(starpu_data_acquire_on_node(handle, disk, STARPU_RW) == 0);
    starpu_data_release_on_node(handle, disk);
    CHECK(starpu_task_insert(&adder, STARPU_RW, handle, 0) == 0);
    check_values(handle, 3);
    starpu_data_unregister(handle);
    starpu_shutdown();
}

/* On an OpenCL device the memory is the driver's; it comes back right. */
static void opencl(void)
{
    starpu_data_handle_t handle;
    unsigned node, found = 0;

    start();
    for (node = 0; node < starpu_memory_nodes_get_count(); node++) {
        if (starpu_node_get_kind(node) == STARPU_OPENCL_RAM)
            found = node;
    }
    if (found == 0) {
        starpu_shutdown();
        exit(77);
    }
    starpu_vector_data_register(&handle, -1, 0, N, sizeof(float));
    CHECK(starpu_task_insert(&setter, STARPU_W, handle, 0) == 0);
    /* For writing, so that the host's copy is given up and must come back from the device. */
    CHECK(starpu_data_acquire_on_node(handle, (int)found, STARPU_RW) == 0);
    starpu_data_release_on_node(handle, (int)found);
    check_values(handle, 2);
    CHECK(starpu_task_insert(&adder, STARPU_RW, handle, 0) == 0);
    check_values(handle, 3);
    starpu_data_unregister(handle);
    starpu_shutdown();
}

static const struct test_case cases[] = {
    {"temporaries", temporaries},
    {"packed_by_hand", packed_by_hand},
    {"packed_to_disk", packed_to_disk},
    {"opencl", opencl},
};

int main(int argc, char **argv)
{
    folder = argc > 2 ? argv[2] : ".";
    return run_case(cases, sizeof(cases) / sizeof(cases[0]), argc > 1 ? argv[1] : NULL);
}
