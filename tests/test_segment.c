/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Segments: on this machine's memory, and on a scripted system where a node, a control group or
 * a limit runs out at a chosen moment. */
#include "config.h"

#include "tests/support.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "numa/segment.h"
#include "src/util/util.h"

#define STEP SP_POPULATE_STEP

/* Far more than any margin. */
#define PLENTY ((size_t)1 << 40)

/* What the scripted system answers, and what it was asked. */
static struct {
    _Atomic size_t node_room; /* of the node asked for */
    size_t host_room;         /* of all nodes that serve HOST */
    size_t cgroup_room;
    size_t memlock_room;
    size_t drop_after; /* bytes touched until node_room becomes 0; 0: never */
    bool consumes;     /* touching takes from node_room, after a while */
    int bind_error, populate_error, lock_error;
    size_t n_spilled, n_unknown; /* pages that verify finds */
    size_t free_huge;

    atomic_int n_rooms, n_verifies, n_binds[3], n_foreign_threads, n_open_signals;
    _Atomic size_t touched;
    pthread_t caller;
} script;

static struct sp_topo *two_nodes; /* synthetic */
static void *range;               /* reserved, RANGE_BYTES */
#define RANGE_BYTES (4 * STEP)

static void scripted_room(int node, bool is_locking, bool is_mapped,
                          struct sp_room_sources *sources_out)
{
    script.n_rooms++;
    assert_true(is_mapped);
    for (int i = 0; i < SP_ROOM_N_CAUSES; i++)
        sources_out->bytes[i] = SIZE_MAX;
    sources_out->bytes[SP_ROOM_NODE] =
        node == SP_NODE_HOST ? script.host_room : atomic_load(&script.node_room);
    sources_out->bytes[SP_ROOM_CGROUP] = script.cgroup_room;
    if (is_locking)
        sources_out->bytes[SP_ROOM_MEMLOCK] = script.memlock_room;
}

static int scripted_bind(const struct sp_topo *topo, void *base, size_t size, int node,
                         enum sp_policy policy)
{
    (void)topo, (void)base, (void)size, (void)node;
    script.n_binds[policy]++;
    return script.bind_error;
}

/* Touches nothing: sizes cost nothing. */
static int scripted_populate(void *base, size_t size, bool may_touch)
{
    const struct timespec while_ = {.tv_nsec = 200000};
    sigset_t blocked;

    (void)base, (void)may_touch;
    if (!pthread_equal(pthread_self(), script.caller)) {
        script.n_foreign_threads++;
        (void)pthread_sigmask(SIG_BLOCK, NULL, &blocked);
        if (sigismember(&blocked, SIGUSR1) != 1)
            script.n_open_signals++;
    }
    if (script.consumes) {
        (void)nanosleep(&while_, NULL);
        (void)atomic_fetch_sub(&script.node_room, size);
    }
    if (atomic_fetch_add(&script.touched, size) + size >= script.drop_after &&
        script.drop_after != 0)
        script.node_room = 0;
    return script.populate_error;
}

static int scripted_lock(void *base, size_t size)
{
    (void)base, (void)size;
    return script.lock_error;
}

static void scripted_verify(const struct sp_topo *topo, const void *base, size_t size,
                            struct starpool_pages *pages_out)
{
    size_t n_pages = size / 4096;

    (void)topo, (void)base;
    script.n_verifies++;
    *pages_out = (struct starpool_pages){
        .page_size = 4096, .n_pages = n_pages, .n_unknown = script.n_unknown};
    pages_out->n_resident = n_pages - script.n_unknown;
    pages_out->n_on_node[0] = script.n_spilled;
    pages_out->n_on_node[1] = pages_out->n_resident - script.n_spilled;
}

static size_t scripted_free_huge(int node, size_t size)
{
    (void)node, (void)size;
    return script.free_huge;
}

static const struct sp_os scripted = {
    .room = scripted_room,
    .bind = scripted_bind,
    .populate = scripted_populate,
    .lock = scripted_lock,
    .verify = scripted_verify,
    .free_huge = scripted_free_huge,
};

static int setup(void **state)
{
    (void)state;
    memset(&script, 0, sizeof(script));
    script.node_room = script.host_room = script.cgroup_room = script.memlock_room = PLENTY;
    script.caller = pthread_self();
    if (sp_topo_open("synthetic:numa:2(memory=64GB) pu:2", &two_nodes) != STARPOOL_OK)
        return -1;
    return sp_reserve(RANGE_BYTES, SP_HUGE_PAGE, &range) == STARPOOL_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    sp_unreserve(range, RANGE_BYTES);
    sp_topo_close(two_nodes);
    return 0;
}

/* A strict segment on node 1 of the scripted system. */
static enum starpool_status open_strict(size_t size, struct sp_segment *segment_out)
{
    const struct sp_placement placement = {
        .node = 1, .is_strict = true, .huge = STARPOOL_HUGE_NEVER};

    return sp_segment_open_on(two_nodes, &scripted, range, size, &placement, segment_out);
}

static enum starpool_status open_spilling(size_t size, struct sp_segment *segment_out)
{
    const struct sp_placement placement = {.node = 1, .huge = STARPOOL_HUGE_NEVER};

    return sp_segment_open_on(two_nodes, &scripted, range, size, &placement, segment_out);
}

/* True if something is mapped at an address that may be read. */
static bool is_readable(const void *address)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[1024];
    bool is_found = false;

    assert_non_null(maps);
    while (!is_found && fgets(line, sizeof(line), maps) != NULL) {
        char *end; /* "7f0000000000-7f0000400000 rw-p ..." */
        uintptr_t first = strtoull(line, &end, 16), last = strtoull(end + 1, &end, 16);

        is_found = first <= (uintptr_t)address && (uintptr_t)address < last && end[1] == 'r';
    }
    assert_int_equal(fclose(maps), 0);
    return is_found;
}

/* After a failure the range is reserved and holds no memory. */
static void assert_reserved(void)
{
    assert_false(is_readable(range));
    assert_false(sp_reserve_at(range, SP_HUGE_PAGE));
}

static void reservation_is_aligned_and_holds_no_memory(void **state)
{
    void *base = NULL;

    (void)state;
    assert_ok(sp_reserve(3 * SP_MIB, 16 * SP_MIB, &base));
    assert_int_equal((uintptr_t)base % (16 * SP_MIB), 0);
    assert_false(is_readable(base));
    assert_false(sp_reserve_at(base, 3 * SP_MIB));
    sp_unreserve(base, 3 * SP_MIB);
    assert_true(sp_reserve_at(base, 3 * SP_MIB));
    sp_unreserve(base, 3 * SP_MIB);
    assert_status(STARPOOL_EINVAL, sp_reserve(0, SP_HUGE_PAGE, &base));
    assert_status(STARPOOL_EINVAL, sp_reserve(SP_MIB + 1, SP_HUGE_PAGE, &base));
    assert_status(STARPOOL_EINVAL, sp_reserve(SP_MIB, 3 * SP_MIB, &base));
    assert_status(STARPOOL_ENOMEM, sp_reserve(SIZE_MAX - SP_MIB + 1, SP_HUGE_PAGE, &base));
}

static void segment_is_resident_and_zero_and_closing_frees_the_range(void **state)
{
    const struct sp_placement placement = {.node = SP_NODE_HOST, .is_strict = true};
    struct starpool_pages pages;
    const struct sp_topo *topo;
    struct sp_segment segment;
    const char *bytes = range;

    (void)state;
    assert_ok(sp_segment_open(range, 4 * SP_MIB, &placement, &segment));
    assert_ptr_equal(segment.base, range);
    assert_int_equal(segment.size, 4 * SP_MIB);
    assert_int_equal(segment.spilled_bytes, 0);
    assert_ok(sp_topo_get(&topo));
    sp_os_linux.verify(topo, range, segment.size, &pages);
    assert_int_equal(pages.n_absent, 0);
    assert_int_equal(bytes[0] | bytes[4 * SP_MIB - 1], 0);
    memset(range, 0x5a, segment.size);
    assert_false(is_readable(bytes + 4 * SP_MIB));
    assert_true(sp_segment_close(&segment));
    assert_false(is_readable(range));
    assert_true(sp_reserve_at(range, 4 * SP_MIB));
}

static void wrong_range_and_node_are_refused(void **state)
{
    struct sp_placement placement = {.node = 0};
    struct sp_segment segment;

    (void)state;
    assert_status(STARPOOL_EINVAL, open_strict(0, &segment));
    assert_status(STARPOOL_EINVAL, open_strict(SP_MIB + 1, &segment));
    assert_status(STARPOOL_EINVAL,
                  sp_segment_open((char *)range + 1, SP_MIB, &placement, &segment));
    placement.node = 2;
    assert_status(STARPOOL_EDEVICE, sp_segment_open_on(two_nodes, &scripted, range, SP_MIB,
                                                       &placement, &segment));
    assert_int_equal(script.touched, 0);
    assert_reserved();
}

static void full_control_group_refuses_before_anything_is_touched(void **state)
{
    struct sp_segment segment;

    (void)state;
    script.cgroup_room = 4 * SP_MIB; /* nothing left for page tables */
    assert_status(STARPOOL_ECGROUP, open_strict(4 * SP_MIB, &segment));
    assert_status(STARPOOL_ECGROUP, open_spilling(4 * SP_MIB, &segment));
    assert_int_equal(script.touched, 0);
    assert_reserved();
    script.cgroup_room = 6 * SP_MIB;
    assert_ok(open_strict(4 * SP_MIB, &segment));
}

static void full_node_refuses_a_strict_segment_before_it_is_touched(void **state)
{
    struct sp_segment segment;
    const struct sp_placement placement = {.node = SP_NODE_HOST, .is_strict = true};

    (void)state;
    script.host_room = 4 * SP_MIB - 1;
    assert_status(STARPOOL_ENODE, sp_segment_open_on(two_nodes, &scripted, range, 4 * SP_MIB,
                                                     &placement, &segment));
    script.host_room = PLENTY;
    script.node_room = 4 * SP_MIB - 1;
    assert_status(STARPOOL_ENODE, open_strict(4 * SP_MIB, &segment));
    assert_int_equal(script.touched, 0);
    assert_reserved();
}

static void room_is_asked_before_each_step(void **state)
{
    struct sp_segment segment;

    (void)state;
    assert_ok(open_strict(2 * STEP + SP_MIB, &segment));
    /* Before: the node and, as a synthetic one cannot be bound, all nodes. Then each step. */
    assert_int_equal(script.n_rooms, 2 + 3);
    assert_int_equal(script.touched, 2 * STEP + SP_MIB);
    assert_int_equal(script.n_verifies, 0);
    assert_true(segment.is_bound);
}

static void node_that_fills_up_meanwhile_ends_in_a_status(void **state)
{
    struct sp_segment segment = {.size = 77};

    (void)state;
    script.drop_after = STEP;
    assert_status(STARPOOL_ENODE, open_strict(3 * STEP, &segment));
    assert_int_equal(script.touched, STEP);
    assert_int_equal(segment.size, 77);
    assert_reserved();
}

static void strict_segment_near_the_end_prefers_the_node_and_is_verified(void **state)
{
    struct sp_segment segment;

    (void)state;
    script.node_room = 5 * SP_MIB;
    assert_ok(open_strict(4 * SP_MIB, &segment));
    assert_int_equal(script.n_binds[SP_POLICY_PREFER], 1);
    assert_int_equal(script.n_binds[SP_POLICY_ONLY], 2);
    assert_int_equal(script.n_verifies, 1);
    assert_int_equal(segment.spilled_bytes, 0);
}

static void strict_segment_that_spilled_or_may_have_is_given_back(void **state)
{
    struct sp_segment segment;

    (void)state;
    script.node_room = 5 * SP_MIB;
    script.n_spilled = 1;
    assert_status(STARPOOL_ENODE, open_strict(4 * SP_MIB, &segment));
    assert_reserved();
    script.n_spilled = 0;
    script.n_unknown = 1;
    assert_status(STARPOOL_ENODE, open_strict(4 * SP_MIB, &segment));
    assert_reserved();
}

static void spilling_segment_takes_other_nodes_and_counts_it(void **state)
{
    struct sp_segment segment;

    (void)state;
    script.node_room = SP_MIB;
    script.n_spilled = 300;
    assert_ok(open_spilling(4 * SP_MIB, &segment));
    assert_int_equal(segment.spilled_bytes, 300 * 4096);
    assert_int_equal(script.n_binds[SP_POLICY_SPILL], 1);
    assert_int_equal(script.n_binds[SP_POLICY_PREFER], 0);
    script.host_room = 3 * SP_MIB;
    assert_status(STARPOOL_ENODE, open_spilling(4 * SP_MIB, &segment));
}

static void refused_binding_leaves_a_segment_that_says_so(void **state)
{
    struct sp_segment segment;

    (void)state;
    script.bind_error = EPERM;
    script.node_room = 0; /* what the node has does not matter: pages may be anywhere */
    assert_ok(open_strict(4 * SP_MIB, &segment));
    assert_false(segment.is_bound);
    assert_int_equal(script.n_verifies, 0);
    script.host_room = SP_MIB;
    assert_status(STARPOOL_ENODE, open_strict(4 * SP_MIB, &segment));
}

static void synthetic_node_is_not_bound(void **state)
{
    const struct sp_placement placement = {.node = 1, .is_strict = true};
    struct sp_segment segment;

    (void)state;
    assert_ok(sp_segment_open_on(two_nodes, &sp_os_linux, range, SP_MIB, &placement, &segment));
    assert_false(segment.is_bound);
    assert_true(is_readable(range));
}

static void lock_that_cannot_be_had_is_refused_and_undone(void **state)
{
    const struct sp_placement placement = {.node = 1, .is_locked = true};
    struct sp_segment segment;

    (void)state;
    script.memlock_room = 4 * SP_MIB - 1;
    assert_status(STARPOOL_EMEMLOCK, sp_segment_open_on(two_nodes, &scripted, range, 4 * SP_MIB,
                                                        &placement, &segment));
    assert_int_equal(script.touched, 0);
    script.memlock_room = 4 * SP_MIB;
    script.lock_error = ENOMEM; /* the system's answer beats what was read */
    assert_status(STARPOOL_EMEMLOCK, sp_segment_open_on(two_nodes, &scripted, range, 4 * SP_MIB,
                                                        &placement, &segment));
    assert_reserved();
    script.lock_error = 0;
    assert_ok(
        sp_segment_open_on(two_nodes, &scripted, range, 4 * SP_MIB, &placement, &segment));
    assert_true(segment.is_locked);
}

static void missing_huge_pages_fall_back_and_are_counted(void **state)
{
    const struct sp_placement placement = {.node = 1, .huge = STARPOOL_HUGE_EXPLICIT};
    struct sp_segment segment;

    (void)state;
    script.free_huge = 2 * SP_MIB;
    assert_ok(
        sp_segment_open_on(two_nodes, &scripted, range, 4 * SP_MIB, &placement, &segment));
    assert_int_equal(segment.huge_bytes, 0);
    assert_int_equal(segment.fallback_bytes, 4 * SP_MIB);
    /* The files promise them; touching finds that they are gone. */
    script.free_huge = PLENTY;
    script.populate_error = EFAULT;
    assert_status(STARPOOL_ENOMEM, sp_segment_open_on(two_nodes, &scripted, range, 4 * SP_MIB,
                                                      &placement, &segment));
    assert_reserved();
}

static void system_that_cannot_touch_is_out_of_memory(void **state)
{
    struct sp_segment segment;

    (void)state;
    script.populate_error = ENOMEM;
    assert_status(STARPOOL_ENOMEM, open_strict(2 * STEP, &segment));
    assert_reserved();
}

static void large_segment_is_touched_once_by_threads_without_signals(void **state)
{
    const struct sp_placement placement = {.node = SP_NODE_HOST};
    struct sp_segment segment;
    struct sp_topo *topo;

    (void)state;
    assert_ok(sp_topo_open(NULL, &topo));
    script.consumes = true; /* slow enough for the helpers to come in */
    assert_ok(sp_segment_open_on(topo, &scripted, range, 3 * STEP, &placement, &segment));
    assert_int_equal(script.touched, 3 * STEP);
    assert_int_equal(script.n_open_signals, 0);
    if (sp_topo_is_real(topo) && sp_topo_cpus_near(topo, SP_NODE_HOST) > 1)
        assert_true(script.n_foreign_threads > 0);
    sp_topo_close(topo);
}

struct contest {
    void *base;
    enum starpool_status status;
};

static void *contend(void *arg)
{
    const struct sp_placement placement = {.node = 1, .is_strict = true};
    struct contest *contest = arg;
    struct sp_segment segment;

    contest->status =
        sp_segment_open_on(two_nodes, &scripted, contest->base, STEP, &placement, &segment);
    return NULL;
}

/* Two threads each see room for one step; both must not take it. */
static void threads_do_not_take_the_same_room_twice(void **state)
{
    struct contest contests[2] = {{.base = range}, {.base = (char *)range + STEP}};
    size_t n_rounds = sp_test_scaled(5);
    pthread_t threads[2];

    (void)state;
    script.consumes = true;
    for (size_t round = 0; round < n_rounds; round++) {
        size_t n_fit = 1 + round % 2;
        int n_served = 0;

        script.node_room = n_fit * STEP + SP_MIB;
        for (int i = 0; i < 2; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, contend, &contests[i]), 0);
        for (int i = 0; i < 2; i++) {
            assert_int_equal(pthread_join(threads[i], NULL), 0);
            n_served += contests[i].status == STARPOOL_OK;
            if (contests[i].status != STARPOOL_OK)
                assert_status(STARPOOL_ENODE, contests[i].status);
        }
        assert_int_equal(n_served, n_fit);
        assert_int_equal(script.node_room, SP_MIB);
    }
}

static void pages_of_a_locked_segment_are_locked(void **state)
{
    const struct sp_placement placement = {.node = SP_NODE_HOST, .is_locked = true};
    struct sp_segment segment;
    enum starpool_status status;

    (void)state;
    status = sp_segment_open(range, 2 * SP_MIB, &placement, &segment);
    if (status == STARPOOL_EMEMLOCK)
        skip();
    assert_ok(status);
    assert_true(segment.is_locked);
    /* The kernel refuses to drop locked pages. */
    assert_int_equal(madvise(range, 2 * SP_MIB, MADV_DONTNEED), -1);
    assert_int_equal(errno, EINVAL);
}

#define segment_test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        segment_test(reservation_is_aligned_and_holds_no_memory),
        segment_test(segment_is_resident_and_zero_and_closing_frees_the_range),
        segment_test(wrong_range_and_node_are_refused),
        segment_test(full_control_group_refuses_before_anything_is_touched),
        segment_test(full_node_refuses_a_strict_segment_before_it_is_touched),
        segment_test(room_is_asked_before_each_step),
        segment_test(node_that_fills_up_meanwhile_ends_in_a_status),
        segment_test(strict_segment_near_the_end_prefers_the_node_and_is_verified),
        segment_test(strict_segment_that_spilled_or_may_have_is_given_back),
        segment_test(spilling_segment_takes_other_nodes_and_counts_it),
        segment_test(refused_binding_leaves_a_segment_that_says_so),
        segment_test(synthetic_node_is_not_bound),
        segment_test(lock_that_cannot_be_had_is_refused_and_undone),
        segment_test(missing_huge_pages_fall_back_and_are_counted),
        segment_test(system_that_cannot_touch_is_out_of_memory),
        segment_test(large_segment_is_touched_once_by_threads_without_signals),
        segment_test(threads_do_not_take_the_same_room_twice),
        segment_test(pages_of_a_locked_segment_are_locked),
    };

    return cmocka_run_group_tests_name("segment", tests, NULL, NULL);
}
