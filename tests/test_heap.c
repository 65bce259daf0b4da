/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Free ranges: split, merge, alignment, cuts; then random operations against a map of single
 * units, which knows nothing of bins and neighbours. */
#include "config.h"

#include "tests/support.h"

#include <string.h>

#include "src/heap/heap.h"
#include "src/util/util.h"

#define UNIT      ((size_t)256)
#define N_RECORDS 4096

/* No memory is behind these addresses: a heap never touches what it hands out. */
#define BASE ((uintptr_t)1 << 40)

static struct {
    struct sp_heap heap;
    struct sp_region region;
    struct sp_range records[N_RECORDS];
} fixture;

static struct sp_heap *const heap = &fixture.heap;
static struct sp_region *const region = &fixture.region;

static int setup(void **state)
{
    (void)state;
    memset(&fixture, 0, sizeof(fixture));
    sp_heap_init(heap, UNIT);
    sp_heap_donate(heap, fixture.records, N_RECORDS);
    sp_heap_attach(heap, region);
    return 0;
}

/* Where a taken range is, or 0. */
static uintptr_t start_of(const struct sp_range *range)
{
    return range == NULL ? 0 : range->start;
}

static void block_has_the_size_asked_for_and_the_rest_stays_free(void **state)
{
    struct sp_range *range;

    (void)state;
    sp_heap_add(heap, region, BASE, 100 * UNIT);
    range = sp_heap_take(heap, 37 * UNIT, UNIT);
    assert_int_equal(start_of(range), BASE);
    assert_int_equal(range->size, 37 * UNIT);
    assert_int_equal(sp_range_state(range), SP_RANGE_TAKEN);
    assert_int_equal(heap->used_bytes, 37 * UNIT);
    assert_int_equal(heap->free_bytes, 63 * UNIT);
    assert_int_equal(sp_heap_largest(heap), 63 * UNIT);
    assert_int_equal(region->last->start, BASE + 37 * UNIT);
    assert_int_equal(region->last->size, 63 * UNIT);
    assert_true(sp_heap_is_valid(heap));
}

static void large_block_is_not_rounded_to_its_bin(void **state)
{
    /* 1000001 units lie between two bins, which are 1/32 apart there. */
    size_t size = 1000001 * UNIT;

    (void)state;
    sp_heap_add(heap, region, BASE, 2 * size);
    assert_int_equal(start_of(sp_heap_take(heap, size, UNIT)), BASE);
    assert_int_equal(start_of(sp_heap_take(heap, size, UNIT)), BASE + size);
    assert_int_equal(heap->free_bytes, 0);
    assert_int_equal(sp_heap_largest(heap), 0);
}

static void last_unit_can_be_taken_and_no_more(void **state)
{
    (void)state;
    assert_null(sp_heap_take(heap, UNIT, UNIT));
    sp_heap_add(heap, region, BASE, UNIT);
    assert_null(sp_heap_take(heap, 2 * UNIT, UNIT));
    assert_int_equal(start_of(sp_heap_take(heap, UNIT, UNIT)), BASE);
    assert_null(sp_heap_take(heap, UNIT, UNIT));
    assert_true(sp_heap_is_valid(heap));
}

static void sizes_near_the_top_do_not_wrap(void **state)
{
    (void)state;
    sp_heap_add(heap, region, BASE, 100 * UNIT);
    assert_null(sp_heap_take(heap, SIZE_MAX - UNIT + 1, UNIT));
    assert_null(sp_heap_take(heap, SIZE_MAX - UNIT + 1, 16 * UNIT));
    assert_null(sp_heap_take(heap, UNIT, (size_t)1 << 63));
    assert_int_equal(heap->free_bytes, 100 * UNIT);
    assert_int_equal(heap->used_bytes, 0);
    assert_true(sp_heap_is_valid(heap));
}

/* The middle one of three neighbours goes last, first and in between. */
static void neighbours_merge_in_every_order(void **state)
{
    static const int orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                    {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    struct sp_range *ranges[3];

    (void)state;
    sp_heap_add(heap, region, BASE, 30 * UNIT);
    for (size_t i = 0; i < SP_ARRAY_SIZE(orders); i++) {
        for (size_t j = 0; j < 3; j++) {
            ranges[j] = sp_heap_take(heap, 10 * UNIT, UNIT);
            assert_non_null(ranges[j]);
        }
        for (size_t j = 0; j < 3; j++) {
            sp_heap_give(heap, ranges[orders[i][j]]);
            assert_true(sp_heap_is_valid(heap));
        }
        assert_int_equal(sp_heap_largest(heap), 30 * UNIT);
        assert_ptr_equal(region->first, region->last);
    }
}

static void pieces_that_touch_serve_one_block_and_pieces_apart_do_not(void **state)
{
    (void)state;
    sp_heap_add(heap, region, BASE, 10 * UNIT);
    sp_heap_add(heap, region, BASE + 30 * UNIT, 10 * UNIT);
    assert_null(sp_heap_take(heap, 11 * UNIT, UNIT));
    /* Between the two: all three are one range now. */
    sp_heap_add(heap, region, BASE + 10 * UNIT, 20 * UNIT);
    assert_int_equal(sp_heap_largest(heap), 40 * UNIT);
    assert_int_equal(start_of(sp_heap_take(heap, 40 * UNIT, UNIT)), BASE);
    assert_true(sp_heap_is_valid(heap));
}

static void ranges_of_two_regions_never_merge(void **state)
{
    struct sp_region other;

    (void)state;
    sp_heap_attach(heap, &other);
    sp_heap_add(heap, region, BASE, 10 * UNIT);
    sp_heap_add(heap, &other, BASE + 10 * UNIT, 10 * UNIT);
    assert_null(sp_heap_take(heap, 11 * UNIT, UNIT));
    assert_int_equal(sp_heap_largest(heap), 10 * UNIT);
    assert_true(sp_heap_is_valid(heap));
    assert_true(sp_heap_cut(heap, &other, BASE + 10 * UNIT, 10 * UNIT));
    sp_heap_detach(heap, &other);
    assert_ptr_equal(heap->regions, region);
}

static void aligned_block_begins_at_a_multiple_and_what_is_before_it_stays_free(void **state)
{
    (void)state;
    sp_heap_add(heap, region, BASE + UNIT, 4 * SP_MIB);
    for (size_t align = UNIT; align <= SP_MIB; align *= 2) {
        struct sp_range *range = sp_heap_take(heap, 3 * UNIT, align);

        assert_non_null(range);
        assert_int_equal(range->start % align, 0);
        assert_int_equal(range->size, 3 * UNIT);
        assert_int_equal(heap->free_bytes, 4 * SP_MIB - 3 * UNIT);
        assert_true(sp_heap_is_valid(heap));
        sp_heap_give(heap, range);
        assert_ptr_equal(region->first, region->last);
    }
}

/* A range that is large enough, but not from a multiple on. */
static void aligned_block_is_not_taken_beyond_the_end(void **state)
{
    (void)state;
    sp_heap_add(heap, region, BASE + UNIT, 8 * UNIT);
    assert_null(sp_heap_take(heap, 8 * UNIT, 8 * UNIT));
    assert_null(sp_heap_take(heap, 2 * UNIT, 8 * UNIT));
    assert_int_equal(start_of(sp_heap_take(heap, UNIT, 8 * UNIT)), BASE + 8 * UNIT);
    assert_true(sp_heap_is_valid(heap));
}

static void cut_takes_exactly_what_is_named(void **state)
{
    (void)state;
    sp_heap_add(heap, region, BASE, 30 * UNIT);
    assert_true(sp_heap_cut(heap, region, BASE + 10 * UNIT, 10 * UNIT));
    assert_int_equal(heap->free_bytes, 20 * UNIT);
    assert_int_equal(region->first->start, BASE);
    assert_int_equal(region->first->size, 10 * UNIT);
    assert_int_equal(region->last->start, BASE + 20 * UNIT);
    assert_int_equal(region->last->size, 10 * UNIT);
    assert_true(sp_heap_is_valid(heap));
    assert_true(sp_heap_cut(heap, region, BASE, 10 * UNIT));
    assert_true(sp_heap_cut(heap, region, BASE + 20 * UNIT, 10 * UNIT));
    assert_int_equal(heap->free_bytes, 0);
    assert_null(region->first);
    assert_int_equal(heap->n_spares, N_RECORDS);
}

static void cut_of_what_is_not_all_free_changes_nothing(void **state)
{
    struct sp_range *range;

    (void)state;
    sp_heap_add(heap, region, BASE, 30 * UNIT);
    range = sp_heap_take(heap, UNIT, UNIT);
    assert_int_equal(start_of(range), BASE);
    assert_false(sp_heap_cut(heap, region, BASE, 30 * UNIT));
    assert_false(sp_heap_cut(heap, region, BASE, UNIT));
    /* The first unit is out, the last is not there, all of it is not there. */
    assert_false(sp_heap_cut(heap, region, BASE, 2 * UNIT));
    assert_false(sp_heap_cut(heap, region, BASE + 29 * UNIT, 2 * UNIT));
    assert_false(sp_heap_cut(heap, region, BASE + 30 * UNIT, UNIT));
    assert_false(sp_heap_cut(heap, region, BASE - UNIT, UNIT));
    assert_int_equal(heap->free_bytes, 29 * UNIT);
    assert_true(sp_heap_is_valid(heap));
    sp_heap_give(heap, range);
    assert_true(sp_heap_cut(heap, region, BASE, 30 * UNIT));
}

static void most_bytes_ever_used_are_remembered(void **state)
{
    struct sp_range *a, *b;

    (void)state;
    sp_heap_add(heap, region, BASE, 30 * UNIT);
    a = sp_heap_take(heap, 10 * UNIT, UNIT);
    b = sp_heap_take(heap, 7 * UNIT, UNIT);
    sp_heap_give(heap, a);
    sp_heap_give(heap, b);
    assert_int_equal(heap->used_bytes, 0);
    assert_int_equal(heap->used_high_bytes, 17 * UNIT);
    a = sp_heap_take(heap, 16 * UNIT, UNIT);
    assert_int_equal(heap->used_high_bytes, 17 * UNIT);
    sp_heap_give(heap, a);
}

static void block_just_given_back_is_taken_first(void **state)
{
    struct sp_range *ranges[8];

    (void)state;
    sp_heap_add(heap, region, BASE, 8 * 33 * UNIT);
    for (size_t i = 0; i < 8; i++)
        ranges[i] = sp_heap_take(heap, 33 * UNIT, UNIT);
    sp_heap_give(heap, ranges[1]);
    sp_heap_give(heap, ranges[5]);
    assert_int_equal(start_of(sp_heap_take(heap, 33 * UNIT, UNIT)), BASE + 5 * 33 * UNIT);
    assert_int_equal(start_of(sp_heap_take(heap, 33 * UNIT, UNIT)), BASE + 33 * UNIT);
}

/* 65 and 64 units share a bin: the latest of it is too small, an older one is not. */
static void range_that_is_too_small_does_not_hide_one_of_its_bin_that_fits(void **state)
{
    struct sp_range *fits, *small;

    (void)state;
    sp_heap_add(heap, region, BASE, (65 + 1 + 64) * UNIT);
    fits = sp_heap_take(heap, 65 * UNIT, UNIT);
    assert_non_null(sp_heap_take(heap, UNIT, UNIT));
    small = sp_heap_take(heap, 64 * UNIT, UNIT);
    sp_heap_give(heap, fits);
    sp_heap_give(heap, small);
    assert_int_equal(start_of(sp_heap_take(heap, 65 * UNIT, UNIT)), BASE);
}

/* A range that a block went back to has grown, and stays in its bin for a while. */
static void range_that_has_outgrown_its_bin_is_found(void **state)
{
    struct sp_range *front;

    (void)state;
    sp_heap_add(heap, region, BASE, 66 * UNIT);
    front = sp_heap_take(heap, 2 * UNIT, UNIT);
    assert_non_null(front);
    sp_heap_give(heap, front);
    assert_true(sp_heap_is_valid(heap));
    assert_int_equal(sp_heap_largest(heap), 66 * UNIT);
    assert_int_equal(start_of(sp_heap_take(heap, 66 * UNIT, UNIT)), BASE);
}

/* Units of 64 and 65 share a bin. So many small ones hide the one that fits from a take that
 * must be quick, and not from one that has time. */
static void thorough_take_finds_what_a_quick_one_does_not(void **state)
{
    enum { N_HIDING = 40 };
    struct sp_range *fits, *hiding[N_HIDING];

    (void)state;
    sp_heap_add(heap, region, BASE, (65 + 1 + N_HIDING * 65) * UNIT);
    fits = sp_heap_take(heap, 65 * UNIT, UNIT);
    assert_non_null(sp_heap_take(heap, UNIT, UNIT));
    for (int i = 0; i < N_HIDING; i++) {
        hiding[i] = sp_heap_take(heap, 64 * UNIT, UNIT);
        assert_non_null(sp_heap_take(heap, UNIT, UNIT));
    }
    sp_heap_give(heap, fits);
    for (int i = 0; i < N_HIDING; i++)
        sp_heap_give(heap, hiding[i]);
    assert_null(sp_heap_take(heap, 65 * UNIT, UNIT));
    heap->is_thorough = true;
    assert_int_equal(start_of(sp_heap_take(heap, 65 * UNIT, UNIT)), BASE);
}

static void steady_cycle_needs_no_new_record(void **state)
{
    struct sp_range *ranges[4];
    size_t n_spares;

    (void)state;
    sp_heap_add(heap, region, BASE, SP_MIB);
    n_spares = heap->n_spares;
    for (int round = 0; round < 100; round++) {
        for (size_t i = 0; i < 4; i++)
            ranges[i] = sp_heap_take(heap, (i + 1) * 7 * UNIT, UNIT << i);
        for (size_t i = 0; i < 4; i++)
            sp_heap_give(heap, ranges[3 - i]);
        assert_int_equal(heap->n_spares, n_spares);
    }
    assert_int_equal(sp_heap_largest(heap), SP_MIB);
}

static void broken_invariants_are_seen(void **state)
{
    struct sp_range *range;

    (void)state;
    sp_heap_add(heap, region, BASE, 30 * UNIT);
    range = sp_heap_take(heap, 10 * UNIT, UNIT);
    assert_true(sp_heap_is_valid(heap));
    range->size += UNIT; /* overlaps its neighbour */
    assert_false(sp_heap_is_valid(heap));
    range->size -= UNIT;
    heap->free_bytes++;
    assert_false(sp_heap_is_valid(heap));
    heap->free_bytes--;
    heap->sl_map[0] ^= 1U << 3; /* says that an empty bin is not */
    assert_false(sp_heap_is_valid(heap));
    heap->sl_map[0] ^= 1U << 3;
    sp_range_set_state(range, SP_RANGE_FREE); /* but in no bin */
    assert_false(sp_heap_is_valid(heap));
}

/* ---- the oracle ---------------------------------------------------------------------- */

#define N_UNITS     4096
#define PIECE_UNITS 128
#define N_BLOCKS    256

enum unit { NOT_THERE, FREE, OUT };

static struct {
    uint8_t units[N_UNITS];
    struct sp_range *blocks[N_BLOCKS];
    size_t n_blocks;
    uint64_t random;
} oracle;

static size_t longest_free_run(void)
{
    size_t longest = 0, run = 0;

    for (size_t i = 0; i < N_UNITS; i++) {
        run = oracle.units[i] == FREE ? run + 1 : 0;
        longest = sp_max(longest, run);
    }
    return longest;
}

static size_t n_of(enum unit what)
{
    size_t n = 0;

    for (size_t i = 0; i < N_UNITS; i++)
        n += oracle.units[i] == what;
    return n;
}

static bool are_all(size_t first, size_t n, enum unit what)
{
    for (size_t i = first; i < first + n; i++) {
        if (i >= N_UNITS || oracle.units[i] != what)
            return false;
    }
    return true;
}

/* A run that would serve the request, wherever it begins. */
static bool fits_somewhere(size_t n, size_t align_units)
{
    for (size_t i = 0; i + n <= N_UNITS; i += align_units) {
        if (are_all(i, n, FREE))
            return true;
    }
    return false;
}

static void take_any(void)
{
    size_t n = 1 + sp_test_random_below(&oracle.random, 90);
    size_t align_units = (size_t)1 << sp_test_random_below(&oracle.random, 6);
    struct sp_range *range;
    size_t first;

    if (oracle.n_blocks == N_BLOCKS)
        return;
    range = sp_heap_take(heap, n * UNIT, align_units * UNIT);
    if (range == NULL) {
        /* Only a run that could hold the request at any alignment is sure to be found, and
         * only within 1/32 of its size: see MAX_TRIES. */
        assert_true(longest_free_run() < (n + align_units) + (n + align_units) / 32 + 1);
        return;
    }
    assert_true(fits_somewhere(n, align_units));
    assert_int_equal(range->size, n * UNIT);
    assert_int_equal(range->start % (align_units * UNIT), 0);
    first = (range->start - BASE) / UNIT;
    assert_true(are_all(first, n, FREE));
    memset(&oracle.units[first], OUT, n);
    oracle.blocks[oracle.n_blocks++] = range;
}

static void give_any(void)
{
    size_t index;
    struct sp_range *range;

    if (oracle.n_blocks == 0)
        return;
    index = sp_test_random_below(&oracle.random, oracle.n_blocks);
    range = oracle.blocks[index];
    oracle.blocks[index] = oracle.blocks[--oracle.n_blocks];
    memset(&oracle.units[(range->start - BASE) / UNIT], FREE, range->size / UNIT);
    sp_heap_give(heap, range);
}

static void add_or_cut_any(void)
{
    size_t piece = sp_test_random_below(&oracle.random, N_UNITS / PIECE_UNITS) * PIECE_UNITS;
    uintptr_t base = BASE + piece * UNIT;

    if (oracle.units[piece] == NOT_THERE) {
        sp_heap_add(heap, region, base, PIECE_UNITS * UNIT);
        memset(&oracle.units[piece], FREE, PIECE_UNITS);
        return;
    }
    assert_int_equal(sp_heap_cut(heap, region, base, PIECE_UNITS * UNIT),
                     are_all(piece, PIECE_UNITS, FREE));
    if (are_all(piece, PIECE_UNITS, FREE))
        memset(&oracle.units[piece], NOT_THERE, PIECE_UNITS);
}

static void random_operations_agree_with_a_map_of_units(void **state)
{
    size_t n_rounds = sp_test_scaled(20000);

    (void)state;
    memset(&oracle, 0, sizeof(oracle));
    oracle.random = sp_test_seed();
    for (size_t round = 0; round < n_rounds; round++) {
        size_t what = sp_test_random_below(&oracle.random, 16);

        if (what < 8)
            take_any();
        else if (what < 15)
            give_any();
        else
            add_or_cut_any();
        if (round % 8 != 0)
            continue;
        assert_int_equal(sp_heap_largest(heap), longest_free_run() * UNIT);
        assert_int_equal(heap->used_bytes, n_of(OUT) * UNIT);
        assert_int_equal(heap->free_bytes, n_of(FREE) * UNIT);
        assert_true(sp_heap_is_valid(heap));
    }
    while (oracle.n_blocks > 0)
        give_any();
    assert_true(sp_heap_is_valid(heap));
    assert_int_equal(sp_heap_largest(heap), longest_free_run() * UNIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(block_has_the_size_asked_for_and_the_rest_stays_free, setup),
        cmocka_unit_test_setup(large_block_is_not_rounded_to_its_bin, setup),
        cmocka_unit_test_setup(last_unit_can_be_taken_and_no_more, setup),
        cmocka_unit_test_setup(sizes_near_the_top_do_not_wrap, setup),
        cmocka_unit_test_setup(neighbours_merge_in_every_order, setup),
        cmocka_unit_test_setup(pieces_that_touch_serve_one_block_and_pieces_apart_do_not,
                               setup),
        cmocka_unit_test_setup(ranges_of_two_regions_never_merge, setup),
        cmocka_unit_test_setup(
            aligned_block_begins_at_a_multiple_and_what_is_before_it_stays_free, setup),
        cmocka_unit_test_setup(aligned_block_is_not_taken_beyond_the_end, setup),
        cmocka_unit_test_setup(cut_takes_exactly_what_is_named, setup),
        cmocka_unit_test_setup(cut_of_what_is_not_all_free_changes_nothing, setup),
        cmocka_unit_test_setup(most_bytes_ever_used_are_remembered, setup),
        cmocka_unit_test_setup(block_just_given_back_is_taken_first, setup),
        cmocka_unit_test_setup(range_that_is_too_small_does_not_hide_one_of_its_bin_that_fits,
                               setup),
        cmocka_unit_test_setup(range_that_has_outgrown_its_bin_is_found, setup),
        cmocka_unit_test_setup(thorough_take_finds_what_a_quick_one_does_not, setup),
        cmocka_unit_test_setup(steady_cycle_needs_no_new_record, setup),
        cmocka_unit_test_setup(broken_invariants_are_seen, setup),
        cmocka_unit_test_setup(random_operations_agree_with_a_map_of_units, setup),
    };

    return cmocka_run_group_tests_name("heap", tests, NULL, NULL);
}
