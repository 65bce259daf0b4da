/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* GMEM: the memory that each device has for graphs: when it is taken, who shares it, when it is
 * given back. Another program's graphs are not on the device, but the driver's own may be: only
 * the model is asked for exact numbers. */
#include "config.h"

#include "tests/conformance_graph.h"

#include <inttypes.h>
#include <string.h>

#define SIZE ((size_t)8 << 20)

/* ---- graphs with memory ----------------------------------------------------------------- */

/* A graph that fills memory of its own and copies it to the host. */
struct filler {
    sp_cu_graph graph;
    sp_cu_exec exec;
    sp_cu_ptr ptr;
    unsigned char *copy; /* [size] pinned */
    size_t size;
    unsigned char value;
};

static struct filler make_filler(size_t size, unsigned char value, bool frees)
{
    struct filler filler = {.graph = sp_case_graph(), .size = size, .value = value};
    sp_cu_node last;

    assert_success(cu->cuMemAllocHost((void **)&filler.copy, size));
    filler.ptr = sp_case_alloc_node(filler.graph, NULL, size, &last);
    last = sp_case_set_node(filler.graph, last, filler.ptr, value, size);
    last = sp_case_copy_node(filler.graph, last, filler.copy, filler.ptr, size);
    if (frees)
        (void)sp_case_free_node(filler.graph, last, filler.ptr);
    filler.exec = sp_case_instantiate(filler.graph, 0);
    return filler;
}

static void launch(const struct filler *filler, sp_cu_stream stream)
{
    memset(filler->copy, 0, filler->size);
    sp_case_launch(filler->exec, stream);
}

/* The stream has been waited for. */
static void assert_filled(const struct filler *filler)
{
    size_t n_right = 0;

    while (n_right < filler->size && filler->copy[n_right] == filler->value)
        n_right++;
    assert_int_equal(n_right, filler->size);
}

static void launch_and_check(const struct filler *filler, sp_cu_stream stream)
{
    launch(filler, stream);
    sp_case_finish(stream);
    assert_filled(filler);
}

static void destroy_filler(const struct filler *filler)
{
    if (filler->exec != NULL)
        sp_case_destroy_exec(filler->exec);
    sp_case_destroy_graph(filler->graph);
    assert_success(cu->cuMemFreeHost(filler->copy));
}

/* ---- what the device has ---------------------------------------------------------------- */

static uint64_t bytes_of(int attribute)
{
    uint64_t value = UINT64_MAX;

    assert_success(cu->cuDeviceGetGraphMemAttribute(0, attribute, &value));
    return value;
}

static uint64_t used(void)
{
    return bytes_of(SP_CU_GRAPH_MEM_USED_CURRENT);
}

static uint64_t reserved(void)
{
    return bytes_of(SP_CU_GRAPH_MEM_RESERVED_CURRENT);
}

static void assert_sound(void)
{
    assert_true(used() <= reserved());
    assert_true(bytes_of(SP_CU_GRAPH_MEM_USED_HIGH) >= used());
    assert_true(bytes_of(SP_CU_GRAPH_MEM_RESERVED_HIGH) >= reserved());
}

static void trim(void)
{
    assert_success(cu->cuDeviceGraphMemTrim(0));
}

/* ---- the pool that has no handle -------------------------------------------------------- */

static void gmem_01_graph_memory_is_none_of_the_default_pools(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_pool pool = sp_case_default_pool(0);
    uint64_t pool_used = sp_case_used(pool), pool_reserved = sp_case_reserved(pool), before;
    struct filler filler = make_filler(SIZE, 1, true);

    launch_and_check(&filler, stream);
    assert_int_equal(sp_case_used(pool), pool_used);
    assert_int_equal(sp_case_reserved(pool), pool_reserved);
    before = reserved();
    assert_true(before >= SIZE);
    assert_success(cu->cuMemPoolTrimTo(pool, 0));
    assert_int_equal(reserved(), before);
    destroy_filler(&filler);
    sp_case_trim_graphs();
}

static void gmem_02_used_bytes_are_never_above_reserved_ones(void)
{
    sp_cu_stream stream = sp_case_stream();
    struct filler inside = make_filler(SIZE, 1, true), left = make_filler(SIZE, 2, false);

    assert_sound();
    launch_and_check(&inside, stream);
    assert_sound();
    launch_and_check(&left, stream);
    assert_sound();
    sp_case_free(left.ptr, stream);
    sp_case_finish(stream);
    assert_sound();
    destroy_filler(&inside);
    assert_sound();
    destroy_filler(&left);
    assert_sound();
    sp_case_trim_graphs();
    assert_sound();
}

static void gmem_03_wrong_questions_are_refused(void)
{
    uint64_t value = 0, one = 1;
    int n = sp_case_n_devices();

    for (int device = -1; device <= n; device += n + 1) {
        assert_cu(SP_CU_INVALID_DEVICE, cu->cuDeviceGetGraphMemAttribute(device, 0, &value));
        assert_cu(SP_CU_INVALID_DEVICE, cu->cuDeviceSetGraphMemAttribute(device, 1, &value));
    }
    assert_cu(SP_CU_INVALID_VALUE, cu->cuDeviceGetGraphMemAttribute(0, 0, NULL));
    assert_cu(SP_CU_INVALID_VALUE, cu->cuDeviceSetGraphMemAttribute(0, 1, NULL));
    assert_cu(SP_CU_INVALID_VALUE, cu->cuDeviceGetGraphMemAttribute(0, 4, &value));
    assert_cu(SP_CU_INVALID_VALUE, cu->cuDeviceGetGraphMemAttribute(0, -1, &value));
    assert_cu(SP_CU_INVALID_VALUE, cu->cuDeviceSetGraphMemAttribute(0, 4, &value));
    assert_cu(SP_CU_INVALID_VALUE,
              cu->cuDeviceSetGraphMemAttribute(0, SP_CU_GRAPH_MEM_USED_CURRENT, &value));
    assert_cu(SP_CU_INVALID_VALUE,
              cu->cuDeviceSetGraphMemAttribute(0, SP_CU_GRAPH_MEM_RESERVED_CURRENT, &value));
    assert_cu(SP_CU_INVALID_VALUE,
              cu->cuDeviceSetGraphMemAttribute(0, SP_CU_GRAPH_MEM_USED_HIGH, &one));
    assert_cu(SP_CU_INVALID_VALUE,
              cu->cuDeviceSetGraphMemAttribute(0, SP_CU_GRAPH_MEM_RESERVED_HIGH, &one));
}

/* Two graphs have run, and one of them is left: what its marks read after a reset. */
static void reset_highs(void)
{
    uint64_t zero = 0;

    assert_success(cu->cuDeviceSetGraphMemAttribute(0, SP_CU_GRAPH_MEM_USED_HIGH, &zero));
    assert_success(cu->cuDeviceSetGraphMemAttribute(0, SP_CU_GRAPH_MEM_RESERVED_HIGH, &zero));
}

static void gmem_04_high_water_marks_are_reset_to_what_is_there_or_to_zero(void)
{
    sp_cu_stream stream = sp_case_stream();
    struct filler large = make_filler(2 * SIZE, 1, true), small = make_filler(SIZE, 2, true);

    launch_and_check(&large, stream);
    assert_true(bytes_of(SP_CU_GRAPH_MEM_USED_HIGH) >= 2 * SIZE);
    assert_true(bytes_of(SP_CU_GRAPH_MEM_RESERVED_HIGH) >= 2 * SIZE);
    destroy_filler(&large);
    trim();
    launch_and_check(&small, stream);
    if (cu->is_model)
        assert_true(bytes_of(SP_CU_GRAPH_MEM_USED_HIGH) > used());
    reset_highs();
    sp_case_observe("GMEM-04", "USED_HIGH %" PRIu64 ", USED %" PRIu64 " after the reset",
                    bytes_of(SP_CU_GRAPH_MEM_USED_HIGH), used());
    sp_case_settle("graph_high_reset", used() == 0 ? "current|zero"
                                       : bytes_of(SP_CU_GRAPH_MEM_USED_HIGH) == 0 ? "zero"
                                                                                  : "current");
    if (sp_case_switch("graph_high_reset", "current")) {
        assert_int_equal(bytes_of(SP_CU_GRAPH_MEM_USED_HIGH), used());
        assert_int_equal(bytes_of(SP_CU_GRAPH_MEM_RESERVED_HIGH), reserved());
        assert_true(sp_case_switch("graph_high_reset", "zero"));
        reset_highs();
        assert_int_equal(bytes_of(SP_CU_GRAPH_MEM_USED_HIGH), 0);
        assert_int_equal(bytes_of(SP_CU_GRAPH_MEM_RESERVED_HIGH), 0);
    }
    destroy_filler(&small);
    sp_case_trim_graphs();
}

/* ---- when memory is taken --------------------------------------------------------------- */

static void gmem_05_memory_is_taken_by_the_first_launch_and_not_before(void)
{
    sp_cu_stream stream = sp_case_stream();
    uint64_t used_before, reserved_before;
    struct filler filler;

    trim();
    used_before = used();
    reserved_before = reserved();
    filler = make_filler(SIZE, 1, true);
    assert_int_equal(used(), used_before);
    assert_int_equal(reserved(), reserved_before);
    launch(&filler, stream);
    assert_true(used() >= used_before + SIZE);
    assert_true(reserved() >= reserved_before + SIZE);
    sp_case_finish(stream);
    assert_filled(&filler);
    destroy_filler(&filler);
    sp_case_trim_graphs();
}

/* Once the stream is through, the filler's memory is there, and its launch takes no more; it is
 * destroyed. */
static void assert_uploaded(struct filler *filler, sp_cu_stream stream, uint64_t before)
{
    uint64_t uploaded;

    sp_case_finish(stream);
    uploaded = used();
    assert_true(uploaded >= before + SIZE);
    launch_and_check(filler, stream);
    assert_int_equal(used(), uploaded);
    destroy_filler(filler);
    sp_case_trim_graphs();
}

static void gmem_06_an_upload_takes_the_memory_of_the_first_launch(void)
{
    sp_cu_stream stream = sp_case_stream();
    struct filler filler = make_filler(SIZE, 1, true);
    uint64_t before = used();

    assert_success(cu->cuGraphUpload(filler.exec, stream));
    assert_uploaded(&filler, stream, before);
}

static void gmem_06_instantiating_uploads_if_it_is_told_to(void)
{
    sp_cu_stream stream = sp_case_stream();
    struct sp_cu_instantiate_params params = {.flags = SP_CU_INSTANTIATE_UPLOAD,
                                              .upload_stream = stream};
    struct filler filler = make_filler(SIZE, 1, true);
    uint64_t before = used();

    sp_case_destroy_exec(filler.exec);
    assert_success(cu->cuGraphInstantiateWithParams(&filler.exec, filler.graph, &params));
    assert_int_equal(params.result, SP_CU_INSTANTIATED);
    assert_uploaded(&filler, stream, before);
}

static void gmem_07_launching_again_in_the_stream_needs_no_more_memory(void)
{
    sp_cu_stream stream = sp_case_stream();
    struct filler filler = make_filler(SIZE, 1, true);
    uint64_t before;

    launch_and_check(&filler, stream);
    before = reserved();
    for (int i = 0; i < 8; i++)
        sp_case_launch(filler.exec, stream);
    assert_int_equal(reserved(), before);
    sp_case_finish(stream);
    assert_filled(&filler);
    assert_int_equal(reserved(), before);
    destroy_filler(&filler);
    sp_case_trim_graphs();
}

static void gmem_07_graphs_of_one_stream_share_the_memory_of_the_largest(void)
{
    sp_cu_stream stream = sp_case_stream();
    struct filler fillers[4];
    uint64_t before;

    fillers[0] = make_filler(2 * SIZE, 1, true);
    for (int i = 1; i < 4; i++)
        fillers[i] = make_filler(SIZE, (unsigned char)(i + 1), true);
    launch(&fillers[0], stream);
    before = reserved();
    for (int i = 1; i < 4; i++)
        launch(&fillers[i], stream);
    assert_int_equal(reserved(), before);
    sp_case_finish(stream);
    for (int i = 0; i < 4; i++) {
        assert_filled(&fillers[i]);
        destroy_filler(&fillers[i]);
    }
    sp_case_trim_graphs();
}

static void gmem_08_graphs_of_several_streams_have_memory_of_their_own(void)
{
    struct filler fillers[3];
    sp_cu_stream streams[3];
    uint64_t before = reserved();

    for (int i = 0; i < 3; i++) {
        fillers[i] = make_filler(SIZE, (unsigned char)(i + 1), true);
        streams[i] = sp_case_stream();
        (void)sp_case_stall(streams[i]);
        launch(&fillers[i], streams[i]);
        assert_true(reserved() >= before + SIZE);
        before = reserved();
    }
    sp_case_release_all();
    for (int i = 0; i < 3; i++) {
        sp_case_finish(streams[i]);
        assert_filled(&fillers[i]);
        destroy_filler(&fillers[i]);
    }
    sp_case_trim_graphs();
}

static void gmem_08_what_launches_leave_has_memory_of_its_own(void)
{
    sp_cu_stream stream = sp_case_stream();
    struct filler fillers[3], inside = make_filler(SIZE, 9, true);
    uint64_t before = reserved();

    for (int i = 0; i < 3; i++) {
        fillers[i] = make_filler(SIZE, (unsigned char)(i + 1), false);
        launch(&fillers[i], stream);
        assert_true(reserved() >= before + SIZE);
        before = reserved();
    }
    launch_and_check(&inside, stream);
    for (int i = 0; i < 3; i++) {
        sp_case_assert_bytes(fillers[i].ptr, fillers[i].value, SIZE, stream);
        sp_case_free(fillers[i].ptr, stream);
        destroy_filler(&fillers[i]);
    }
    destroy_filler(&inside);
    sp_case_trim_graphs();
}

/* ---- when it is given back -------------------------------------------------------------- */

static void gmem_09_freed_memory_stays_attached(void)
{
    sp_cu_stream stream = sp_case_stream();
    struct filler inside = make_filler(SIZE, 1, true), left = make_filler(SIZE, 2, false);
    uint64_t before;

    launch_and_check(&inside, stream);
    launch_and_check(&left, stream);
    before = used();
    sp_case_free(left.ptr, stream);
    sp_case_finish(stream);
    assert_int_equal(used(), before);
    launch_and_check(&left, stream);
    assert_int_equal(used(), before);
    assert_success(cu->cuMemFree(left.ptr));
    assert_success(cu->cuCtxSynchronize());
    assert_int_equal(used(), before);
    destroy_filler(&inside);
    destroy_filler(&left);
    sp_case_trim_graphs();
}

static void gmem_10_a_trim_gives_back_what_nothing_uses_though_executables_exist(void)
{
    sp_cu_stream stream = sp_case_stream();
    struct filler inside = make_filler(SIZE, 1, true), left = make_filler(SIZE, 2, false);

    launch_and_check(&inside, stream);
    launch_and_check(&left, stream);
    sp_case_free(left.ptr, stream);
    sp_case_finish(stream);
    trim();
    if (cu->is_model) {
        assert_int_equal(used(), 0);
        assert_int_equal(reserved(), 0);
    }
    /* Both get memory again. */
    launch_and_check(&inside, stream);
    launch_and_check(&left, stream);
    sp_case_free(left.ptr, stream);
    sp_case_finish(stream);
    destroy_filler(&inside);
    destroy_filler(&left);
    trim();
    assert_int_equal(used(), 0);
    assert_int_equal(reserved(), 0);
}

static void gmem_10_a_trim_leaves_live_allocations(void)
{
    sp_cu_stream stream = sp_case_stream();
    struct filler inside = make_filler(SIZE, 1, true), left = make_filler(SIZE, 2, false);

    launch_and_check(&inside, stream);
    launch_and_check(&left, stream);
    trim();
    assert_true(used() >= SIZE);
    sp_case_assert_bytes(left.ptr, 2, SIZE, stream);
    sp_case_free(left.ptr, stream);
    sp_case_finish(stream);
    launch_and_check(&left, stream);
    sp_case_free(left.ptr, stream);
    sp_case_finish(stream);
    destroy_filler(&inside);
    destroy_filler(&left);
    sp_case_trim_graphs();
}

static void gmem_10_a_trim_leaves_what_a_launch_is_to_use(void)
{
    sp_cu_stream stream = sp_case_stream();
    struct filler filler = make_filler(SIZE, 1, true);
    uint64_t before;

    (void)sp_case_stall(stream);
    launch(&filler, stream);
    before = used();
    trim();
    assert_int_equal(used(), before);
    sp_case_release_all();
    sp_case_finish(stream);
    assert_filled(&filler);
    destroy_filler(&filler);
    sp_case_trim_graphs();
}

static void gmem_10_no_other_devices_memory_is_trimmed(void)
{
    assert_cu(SP_CU_INVALID_DEVICE, cu->cuDeviceGraphMemTrim(-1));
    assert_cu(SP_CU_INVALID_DEVICE, cu->cuDeviceGraphMemTrim(sp_case_n_devices()));
}

static void gmem_11_destroying_gives_nothing_back_until_a_trim(void)
{
    sp_cu_stream stream = sp_case_stream();
    struct filler inside = make_filler(SIZE, 1, true), left = make_filler(SIZE, 2, false);
    uint64_t before;

    trim();
    launch_and_check(&inside, stream);
    launch_and_check(&left, stream);
    sp_case_free(left.ptr, stream);
    sp_case_finish(stream);
    before = reserved();
    assert_true(before >= 2 * SIZE);
    destroy_filler(&inside);
    destroy_filler(&left);
    assert_success(cu->cuCtxSynchronize());
    assert_int_equal(reserved(), before);
    trim();
    assert_int_equal(reserved(), 0);
}

static void gmem_12_results_are_right_whatever_moves_the_memory(void)
{
    sp_cu_stream streams[] = {sp_case_stream(), sp_case_stream()};
    struct filler inside = make_filler(SIZE, 1, true), left = make_filler(SIZE, 2, false);

    for (int i = 0; i < 6; i++) {
        sp_cu_stream stream = streams[i % 2];

        launch(&inside, stream);
        launch_and_check(&left, stream);
        assert_filled(&inside);
        launch_and_check(&inside, streams[1 - i % 2]);
        if (i % 3 == 0)
            trim();
        sp_case_assert_bytes(left.ptr, 2, SIZE, stream);
        sp_case_free(left.ptr, stream);
    }
    sp_case_finish(streams[0]);
    sp_case_finish(streams[1]);
    destroy_filler(&inside);
    destroy_filler(&left);
    sp_case_trim_graphs();
}

/* ---- the list --------------------------------------------------------------------------- */

static const struct sp_case cases[] = {
    SP_CASE(gmem_01_graph_memory_is_none_of_the_default_pools, 0),
    SP_CASE(gmem_02_used_bytes_are_never_above_reserved_ones, 0),
    SP_CASE(gmem_03_wrong_questions_are_refused, 0),
    SP_CASE(gmem_04_high_water_marks_are_reset_to_what_is_there_or_to_zero, 0),
    SP_CASE(gmem_05_memory_is_taken_by_the_first_launch_and_not_before, 0),
    SP_CASE(gmem_06_an_upload_takes_the_memory_of_the_first_launch, 0),
    SP_CASE(gmem_06_instantiating_uploads_if_it_is_told_to, 0),
    SP_CASE(gmem_07_launching_again_in_the_stream_needs_no_more_memory, 0),
    SP_CASE(gmem_07_graphs_of_one_stream_share_the_memory_of_the_largest, 0),
    SP_CASE(gmem_08_graphs_of_several_streams_have_memory_of_their_own, SP_TAG_STALL),
    SP_CASE(gmem_08_what_launches_leave_has_memory_of_its_own, 0),
    SP_CASE(gmem_09_freed_memory_stays_attached, 0),
    SP_CASE(gmem_10_a_trim_gives_back_what_nothing_uses_though_executables_exist, 0),
    SP_CASE(gmem_10_a_trim_leaves_live_allocations, 0),
    SP_CASE(gmem_10_a_trim_leaves_what_a_launch_is_to_use, SP_TAG_STALL),
    SP_CASE(gmem_10_no_other_devices_memory_is_trimmed, 0),
    SP_CASE(gmem_11_destroying_gives_nothing_back_until_a_trim, 0),
    SP_CASE(gmem_12_results_are_right_whatever_moves_the_memory, 0),
};

const struct sp_case_group sp_cases_gmem = SP_CASE_GROUP("GMEM", cases);
