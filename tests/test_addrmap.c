/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Address -> block: what is entered is found at its first address and nowhere else, also at the
 * ends of leaves, spans and the address space. */
#include "config.h"

#include "tests/support.h"

#include <string.h>

#include "src/heap/addrmap.h"
#include "src/util/util.h"

#define LEAF_SIZE ((uintptr_t)1 << SP_LEAF_SHIFT)

/* No memory is behind these addresses, and no other program part maps so high by itself. */
#define BASE ((uintptr_t)5 << 42)

static struct sp_range blocks[4];
static struct sp_span span;

static int setup(void **state)
{
    (void)state;
    memset(blocks, 0, sizeof(blocks));
    memset(&span, 0, sizeof(span));
    return 0;
}

/* A record of a block, as the store fills it. */
static struct sp_range *block(size_t index, uintptr_t start, size_t size)
{
    blocks[index] = (struct sp_range){
        .start = start, .size = size, .tag = (uint8_t)(200 + index), .slot = (uint8_t)index};
    return &blocks[index];
}

static void address_of_no_pool_is_not_ours(void **state)
{
    int local = 0;

    (void)state;
    assert_false(sp_addrmap_is_ours(0));
    assert_false(sp_addrmap_is_ours((uintptr_t)&local));
    assert_false(sp_addrmap_is_ours((uintptr_t)1 << SP_ADDRESS_BITS));
    assert_false(sp_addrmap_is_ours(UINTPTR_MAX));
    assert_null(sp_addrmap_find(0).range);
    assert_null(sp_addrmap_find(UINTPTR_MAX).range);
    assert_null(sp_addrmap_below(UINTPTR_MAX));
    assert_null(sp_addrmap_below(0));
}

static void covered_range_is_ours_to_the_byte_of_a_page(void **state)
{
    (void)state;
    assert_ok(sp_addrmap_cover(BASE, 4 * SP_PAGE));
    assert_false(sp_addrmap_is_ours(BASE - 1));
    assert_true(sp_addrmap_is_ours(BASE));
    assert_true(sp_addrmap_is_ours(BASE + 4 * SP_PAGE - 1));
    assert_false(sp_addrmap_is_ours(BASE + 4 * SP_PAGE));
    assert_null(sp_addrmap_find(BASE).range);
    sp_addrmap_uncover(BASE, 4 * SP_PAGE);
    assert_false(sp_addrmap_is_ours(BASE));
}

static void range_outside_the_address_space_is_refused(void **state)
{
    uintptr_t top = (uintptr_t)1 << SP_ADDRESS_BITS;

    (void)state;
    assert_status(STARPOOL_ENOMEM, sp_addrmap_cover(top, SP_PAGE));
    assert_status(STARPOOL_ENOMEM, sp_addrmap_cover(top - SP_PAGE, 2 * SP_PAGE));
    assert_status(STARPOOL_ENOMEM, sp_addrmap_cover(UINTPTR_MAX - SP_PAGE + 1, 2 * SP_PAGE));
    assert_false(sp_addrmap_is_ours(top - SP_PAGE));
    assert_ok(sp_addrmap_cover(top - SP_PAGE, SP_PAGE));
    assert_true(sp_addrmap_is_ours(top - 1));
    sp_addrmap_uncover(top - SP_PAGE, SP_PAGE);
}

static void block_is_found_at_its_first_address_only(void **state)
{
    struct sp_range *range = block(1, BASE + SP_PAGE, 2 * SP_PAGE);

    (void)state;
    assert_ok(sp_addrmap_cover(BASE, 4 * SP_PAGE));
    sp_addrmap_set(range->start, range);
    assert_ptr_equal(sp_addrmap_find(range->start).range, range);
    assert_int_equal(sp_addrmap_find(range->start).tag, 201);
    assert_int_equal(sp_addrmap_find(range->start).slot, 1);
    assert_null(sp_addrmap_find(BASE).range);
    assert_null(sp_addrmap_find(range->start + 1).range);
    assert_null(sp_addrmap_find(range->start + SP_SMALL_UNIT).range);
    assert_null(sp_addrmap_find(range->start + SP_PAGE).range);
    sp_addrmap_set(range->start, NULL);
    assert_null(sp_addrmap_find(range->start).range);
    assert_true(sp_addrmap_is_ours(range->start));
    sp_addrmap_uncover(BASE, 4 * SP_PAGE);
}

static void largest_tag_and_slot_do_not_touch_the_record(void **state)
{
    struct sp_range *range = block(0, BASE, SP_PAGE);

    (void)state;
    range->tag = 255;
    range->slot = 255;
    assert_ok(sp_addrmap_cover(BASE, SP_PAGE));
    sp_addrmap_set(BASE, range);
    assert_ptr_equal(sp_addrmap_find(BASE).range, range);
    assert_int_equal(sp_addrmap_find(BASE).tag, 255);
    assert_int_equal(sp_addrmap_find(BASE).slot, 127);
    assert_true(sp_addrmap_find(BASE).is_fleeting);
    range->slot = 127;
    sp_addrmap_set(BASE, range);
    assert_int_equal(sp_addrmap_find(BASE).slot, 127);
    assert_false(sp_addrmap_find(BASE).is_fleeting);
    sp_addrmap_uncover(BASE, SP_PAGE);
}

static void range_across_two_leaves_is_covered_on_both(void **state)
{
    uintptr_t edge = BASE + 3 * LEAF_SIZE;
    struct sp_range *low = block(0, edge - SP_PAGE, SP_PAGE);
    struct sp_range *high = block(1, edge, SP_PAGE);

    (void)state;
    assert_ok(sp_addrmap_cover(edge - SP_PAGE, 2 * SP_PAGE));
    sp_addrmap_set(low->start, low);
    sp_addrmap_set(high->start, high);
    assert_ptr_equal(sp_addrmap_find(low->start).range, low);
    assert_ptr_equal(sp_addrmap_find(high->start).range, high);
    sp_addrmap_set(high->start, NULL);
    assert_ptr_equal(sp_addrmap_below(edge + SP_PAGE - 1), low);
    sp_addrmap_uncover(edge - SP_PAGE, 2 * SP_PAGE);
    assert_false(sp_addrmap_is_ours(edge - 1));
    assert_false(sp_addrmap_is_ours(edge));
}

static void small_blocks_of_a_span_are_found_by_unit(void **state)
{
    struct sp_range *first = block(0, BASE, SP_SMALL_UNIT);
    struct sp_range *last = block(1, BASE + SP_SPAN_SIZE - SP_SMALL_UNIT, SP_SMALL_UNIT);

    (void)state;
    assert_ok(sp_addrmap_cover(BASE, SP_SPAN_SIZE + SP_PAGE));
    span.base = BASE;
    sp_addrmap_set_span(BASE, &span);
    sp_span_set(&span, first->start, first);
    sp_span_set(&span, last->start, last);
    assert_ptr_equal(sp_addrmap_find(first->start).range, first);
    assert_ptr_equal(sp_addrmap_find(last->start).range, last);
    assert_int_equal(sp_addrmap_find(last->start).tag, 201);
    assert_null(sp_addrmap_find(BASE + 1).range);
    assert_null(sp_addrmap_find(BASE + SP_SMALL_UNIT).range);
    assert_null(sp_addrmap_find(BASE + SP_PAGE).range);
    assert_null(sp_addrmap_find(BASE + SP_SPAN_SIZE).range);
    sp_addrmap_set_span(BASE, NULL);
    assert_null(sp_addrmap_find(first->start).range);
    assert_true(sp_addrmap_is_ours(first->start));
    sp_addrmap_uncover(BASE, SP_SPAN_SIZE + SP_PAGE);
}

static void address_in_a_chunk_finds_the_chunk_and_no_block(void **state)
{
    static _Alignas(4) char chunk[8];

    (void)state;
    assert_ok(sp_addrmap_cover(BASE, 4 * SP_PAGE));
    sp_addrmap_set(BASE, block(0, BASE, SP_PAGE));
    sp_addrmap_set(BASE + SP_PAGE, block(1, BASE + SP_PAGE, 2 * SP_PAGE));
    assert_null(sp_addrmap_chunk(BASE));
    sp_addrmap_set_chunk(BASE + SP_PAGE, 2 * SP_PAGE, chunk);
    for (uintptr_t address = BASE + SP_PAGE; address < BASE + 3 * SP_PAGE; address += 256) {
        assert_ptr_equal(sp_addrmap_chunk(address), chunk);
        assert_null(sp_addrmap_find(address).range);
    }
    assert_null(sp_addrmap_chunk(BASE + 3 * SP_PAGE));
    assert_null(sp_addrmap_below(BASE + 2 * SP_PAGE)); /* No block is around what is in one. */
    assert_null(sp_addrmap_below(BASE + 3 * SP_PAGE));
    assert_ptr_equal(sp_addrmap_below(BASE + SP_PAGE - 1), &blocks[0]);
    sp_addrmap_set_chunk(BASE + SP_PAGE, 2 * SP_PAGE, NULL);
    assert_null(sp_addrmap_chunk(BASE + SP_PAGE));
    assert_true(sp_addrmap_is_ours(BASE + SP_PAGE));
    sp_addrmap_uncover(BASE, 4 * SP_PAGE);
    assert_null(sp_addrmap_chunk(BASE + SP_PAGE));
}

static void nearest_block_below_is_found_through_pages_and_spans(void **state)
{
    struct sp_range *large = block(0, BASE, 3 * SP_PAGE);
    struct sp_range *small = block(1, BASE + 8 * SP_PAGE + 2 * SP_SMALL_UNIT, SP_SMALL_UNIT);
    uintptr_t end = BASE + 8 * SP_PAGE + SP_SPAN_SIZE;

    (void)state;
    assert_ok(sp_addrmap_cover(BASE, 8 * SP_PAGE + SP_SPAN_SIZE + SP_PAGE));
    sp_addrmap_set(BASE, large);
    span.base = BASE + 8 * SP_PAGE;
    sp_addrmap_set_span(span.base, &span);
    sp_span_set(&span, small->start, small);
    assert_ptr_equal(sp_addrmap_below(BASE + 3 * SP_PAGE - 1), large);
    assert_ptr_equal(sp_addrmap_below(span.base), large);
    assert_ptr_equal(sp_addrmap_below(small->start - 1), large);
    assert_ptr_equal(sp_addrmap_below(small->start), small);
    assert_ptr_equal(sp_addrmap_below(end), small);
    assert_null(sp_addrmap_below(BASE - 1));
    assert_null(sp_addrmap_below(end + SP_PAGE)); /* not ours: nothing below is looked at */
    sp_addrmap_uncover(BASE, 8 * SP_PAGE + SP_SPAN_SIZE + SP_PAGE);
}

/* ---- the oracle ---------------------------------------------------------------------- */

#define N_PAGES 512

/* What begins at each page: NULL for nothing, &nobody if the page is not covered. */
static struct sp_range *expected[N_PAGES];
static struct sp_range records[N_PAGES];
static struct sp_range nobody;

static void assert_pages(uintptr_t base)
{
    const struct sp_range *below = NULL;

    for (size_t i = 0; i < N_PAGES; i++) {
        uintptr_t address = base + i * SP_PAGE;
        bool is_ours = expected[i] != &nobody;
        const struct sp_range *range = is_ours ? expected[i] : NULL;

        if (!is_ours)
            below = NULL;
        else if (range != NULL)
            below = range;
        assert_int_equal(sp_addrmap_is_ours(address), is_ours);
        assert_ptr_equal(sp_addrmap_find(address).range, range);
        assert_ptr_equal(sp_addrmap_below(address + SP_PAGE - 1), below);
    }
}

static void change_any(uintptr_t base, uint64_t *random)
{
    size_t first = sp_test_random_below(random, N_PAGES);
    size_t n = 1 + sp_test_random_below(random, sp_min(40, N_PAGES - first));
    bool is_cover = sp_test_random_below(random, 2) == 0;

    if (sp_test_random_below(random, 4) > 0) {
        if (expected[first] == &nobody)
            return;
        expected[first] = expected[first] == NULL ? &records[first] : NULL;
        sp_addrmap_set(base + first * SP_PAGE, expected[first]);
        return;
    }
    if (is_cover)
        assert_ok(sp_addrmap_cover(base + first * SP_PAGE, n * SP_PAGE));
    else
        sp_addrmap_uncover(base + first * SP_PAGE, n * SP_PAGE);
    for (size_t i = first; i < first + n; i++)
        expected[i] = is_cover ? NULL : &nobody;
}

static void random_changes_agree_with_an_array_of_pages(void **state)
{
    uintptr_t base = BASE + 7 * LEAF_SIZE - N_PAGES / 2 * SP_PAGE;
    uint64_t random = sp_test_seed();
    size_t n_rounds = sp_test_scaled(1000);

    (void)state;
    assert_ok(sp_addrmap_cover(base, N_PAGES * SP_PAGE)); /* both leaves exist */
    sp_addrmap_uncover(base, N_PAGES * SP_PAGE);
    for (size_t i = 0; i < N_PAGES; i++)
        expected[i] = &nobody;
    for (size_t round = 0; round < n_rounds; round++) {
        change_any(base, &random);
        if (round % 16 == 0)
            assert_pages(base);
    }
    assert_pages(base);
    sp_addrmap_uncover(base, N_PAGES * SP_PAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(address_of_no_pool_is_not_ours, setup),
        cmocka_unit_test_setup(covered_range_is_ours_to_the_byte_of_a_page, setup),
        cmocka_unit_test_setup(range_outside_the_address_space_is_refused, setup),
        cmocka_unit_test_setup(block_is_found_at_its_first_address_only, setup),
        cmocka_unit_test_setup(largest_tag_and_slot_do_not_touch_the_record, setup),
        cmocka_unit_test_setup(range_across_two_leaves_is_covered_on_both, setup),
        cmocka_unit_test_setup(small_blocks_of_a_span_are_found_by_unit, setup),
        cmocka_unit_test_setup(address_in_a_chunk_finds_the_chunk_and_no_block, setup),
        cmocka_unit_test_setup(nearest_block_below_is_found_through_pages_and_spans, setup),
        cmocka_unit_test_setup(random_changes_agree_with_an_array_of_pages, setup),
    };

    return cmocka_run_group_tests_name("addrmap", tests, NULL, NULL);
}
