/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What CODELET_CHECK remembers of freed memory: ranges that are added and taken in any order,
 * against a map of small units. */
#include "config.h"

#include "tests/support.h"

#include <string.h>

#include "src/starpu/codelet_ranges.h"
#include "src/util/util.h"

#define N_UNITS 512
#define UNIT    256u
#define BASE    ((uintptr_t)1 << 30)

/* owner[unit] is the block that the unit was freed with; 0: it is not free. */
static struct {
    struct sp_freed_ranges list;
    unsigned owner[N_UNITS];
} world;

static int setup(void **state)
{
    (void)state;
    memset(&world, 0, sizeof(world));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    sp_freed_ranges_fini(&world.list);
    return 0;
}

static uintptr_t address(size_t unit)
{
    return BASE + unit * UNIT;
}

static void add(size_t first, size_t n, unsigned node, int device)
{
    struct sp_block_past past = {
        .start = address(first), .size = n * UNIT, .node = node, .device = device};
    size_t i;

    assert_true(sp_freed_ranges_add(&world.list, &past));
    for (i = first; i < first + n; i++)
        world.owner[i] = node;
}

/* Take [first, first + n): each range that comes out is the longest of one owner. */
static void take(size_t first, size_t n)
{
    struct sp_freed_range range;
    size_t at = first;

    while (sp_freed_ranges_take(&world.list, address(first), address(first + n), &range)) {
        while (at < first + n && world.owner[at] == 0)
            at++;
        assert_true(at < first + n);
        assert_int_equal(range.start, address(at));
        while (range.start < range.end) {
            assert_int_equal(world.owner[at], range.past.node);
            world.owner[at++] = 0;
            range.start += UNIT;
        }
        assert_int_equal(range.start, range.end);
    }
    for (; at < first + n; at++)
        assert_int_equal(world.owner[at], 0);
}

static void what_was_freed_comes_out_with_its_past(void **state)
{
    struct sp_freed_range range;

    (void)state;
    add(4, 4, 7, 1);
    assert_true(sp_freed_ranges_take(&world.list, address(4), address(8), &range));
    assert_int_equal(range.start, address(4));
    assert_int_equal(range.end, address(8));
    assert_int_equal(range.past.node, 7);
    assert_int_equal(range.past.device, 1);
    assert_false(sp_freed_ranges_take(&world.list, address(0), address(N_UNITS), &range));
}

static void a_block_inside_leaves_both_ends(void **state)
{
    struct sp_freed_range range;

    (void)state;
    add(0, 10, 3, 0);
    take(4, 2);
    assert_true(sp_freed_ranges_take(&world.list, address(0), address(N_UNITS), &range));
    assert_int_equal(range.start, address(0));
    assert_int_equal(range.end, address(4));
    assert_true(sp_freed_ranges_take(&world.list, address(0), address(N_UNITS), &range));
    assert_int_equal(range.start, address(6));
    assert_int_equal(range.end, address(10));
    assert_int_equal(range.past.start, address(0));
    assert_int_equal(range.past.size, 10 * UNIT);
}

static void a_block_over_several_takes_each(void **state)
{
    (void)state;
    add(8, 2, 1, 0);
    add(0, 4, 2, 0);
    add(4, 4, 3, 0);
    take(2, 7);
    take(0, N_UNITS);
}

static void what_touches_only_is_left(void **state)
{
    struct sp_freed_range range;

    (void)state;
    add(4, 4, 1, 0);
    assert_false(sp_freed_ranges_take(&world.list, address(0), address(4), &range));
    assert_false(sp_freed_ranges_take(&world.list, address(8), address(9), &range));
    assert_int_equal(world.list.n, 1);
}

static void a_reset_device_is_forgotten_and_no_other(void **state)
{
    struct sp_freed_range range;

    (void)state;
    add(0, 1, 1, 0);
    add(1, 1, 2, 1);
    add(2, 1, 3, 0);
    sp_freed_ranges_forget(&world.list, 0);
    assert_true(sp_freed_ranges_take(&world.list, address(0), address(N_UNITS), &range));
    assert_int_equal(range.past.node, 2);
    assert_false(sp_freed_ranges_take(&world.list, address(0), address(N_UNITS), &range));
}

static void any_order_is_right(void **state)
{
    uint64_t random = sp_test_seed();
    size_t n_rounds = sp_test_scaled(20000);
    unsigned n_added = 0;
    size_t round;

    (void)state;
    for (round = 0; round < n_rounds; round++) {
        size_t first = sp_test_random_below(&random, N_UNITS - 32);
        size_t n = 1 + sp_test_random_below(&random, 32);
        size_t i;

        /* What is taken is live, and freed now or later. */
        take(first, n);
        if (sp_test_random_below(&random, 3) > 0) {
            n_added++;
            add(first, n, n_added, 0);
        }
        for (i = 1; i < world.list.n; i++)
            assert_true(world.list.ranges[i - 1].end <= world.list.ranges[i].start);
    }
    assert_true(n_added > 0);
    take(0, N_UNITS);
    assert_int_equal(world.list.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_freed_comes_out_with_its_past, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_block_inside_leaves_both_ends, setup, teardown),
        cmocka_unit_test_setup_teardown(a_block_over_several_takes_each, setup, teardown),
        cmocka_unit_test_setup_teardown(what_touches_only_is_left, setup, teardown),
        cmocka_unit_test_setup_teardown(a_reset_device_is_forgotten_and_no_other, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(any_order_is_right, setup, teardown),
    };

    return cmocka_run_group_tests_name("codelet_ranges", tests, NULL, NULL);
}
