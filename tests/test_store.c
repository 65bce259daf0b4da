/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Blocks of one pool: which heap serves a size, spans that come and go, the address map in
 * step; then random operations against a list of intervals. */
#include "config.h"

#include "tests/support.h"

#include <string.h>

#include "src/heap/store.h"
#include "src/util/util.h"

/* No memory is behind these addresses: a store never touches what it hands out. */
#define BASE       ((uintptr_t)3 << 42)
#define PIECE      (2 * SP_MIB)
#define MAX_PIECES 16

static struct {
    struct sp_store store;
    struct sp_region region;
    bool has_piece[MAX_PIECES];
} fixture;

static struct sp_store *const store = &fixture.store;

static void restock(void)
{
    while (!sp_store_is_stocked(store)) {
        struct sp_stock *stock = sp_stock_make();

        assert_non_null(stock);
        sp_store_put_stock(store, stock);
    }
}

static uintptr_t piece_base(size_t index)
{
    return BASE + index * PIECE;
}

static void add_piece(size_t index)
{
    restock();
    assert_ok(sp_addrmap_cover(piece_base(index), PIECE));
    sp_store_add(store, &fixture.region, piece_base(index), PIECE);
    fixture.has_piece[index] = true;
}

static bool cut_piece(size_t index)
{
    restock();
    if (!sp_store_cut(store, &fixture.region, piece_base(index), PIECE))
        return false;
    sp_addrmap_uncover(piece_base(index), PIECE);
    fixture.has_piece[index] = false;
    return true;
}

/* A store with one piece. */
static int setup(void **state)
{
    (void)state;
    memset(&fixture, 0, sizeof(fixture));
    sp_store_init(store, &fixture);
    store->slot = 7;
    sp_heap_attach(&store->large, &fixture.region);
    add_piece(0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    for (size_t i = 0; i < MAX_PIECES; i++) {
        if (fixture.has_piece[i])
            sp_addrmap_uncover(piece_base(i), PIECE);
    }
    return 0;
}

static struct sp_range *take(size_t size)
{
    restock();
    return sp_store_take(store, sp_store_round(size), SP_SMALL_UNIT);
}

static void sizes_are_rounded_to_units_and_large_ones_to_pages(void **state)
{
    (void)state;
    assert_int_equal(sp_store_round(1), 256);
    assert_int_equal(sp_store_round(256), 256);
    assert_int_equal(sp_store_round(257), 512);
    assert_int_equal(sp_store_round(SP_SMALL_LIMIT - 1), SP_SMALL_LIMIT);
    assert_int_equal(sp_store_round(SP_SMALL_LIMIT), SP_SMALL_LIMIT);
    assert_int_equal(sp_store_round(SP_SMALL_LIMIT + 1), SP_SMALL_LIMIT + SP_PAGE);
    assert_int_equal(sp_store_round(SIZE_MAX - SP_PAGE + 1), SIZE_MAX - SP_PAGE + 1);
    assert_int_equal(sp_store_round(SIZE_MAX - SP_PAGE + 2), 0);
    assert_int_equal(sp_store_round(SIZE_MAX), 0);
}

static void classes_rise_with_the_size_four_an_octave(void **state)
{
    unsigned previous = sp_size_class(SP_SMALL_UNIT);

    (void)state;
    assert_int_equal(previous, 1);
    for (size_t size = 2 * SP_SMALL_UNIT; size <= SP_CLASS_MAX_SIZE; size += SP_SMALL_UNIT) {
        unsigned class = sp_size_class(size);

        assert_in_range(class, previous, previous + 1);
        previous = class;
    }
    assert_int_equal(previous, SP_N_CLASSES - 1);
    for (size_t size = SP_KIB; size < SP_CLASS_MAX_SIZE; size *= 2)
        assert_int_equal(sp_size_class(2 * size), sp_size_class(size) + 4);
}

static void block_is_known_by_its_address_with_class_slot_and_holder(void **state)
{
    static const size_t sizes[] = {1, 4096, SP_SMALL_LIMIT - 256, SP_SMALL_LIMIT, SP_MIB};

    (void)state;
    for (size_t i = 0; i < SP_ARRAY_SIZE(sizes); i++) {
        struct sp_range *range = take(sizes[i]);
        struct sp_found found;
        uintptr_t start;

        assert_non_null(range);
        if (range == NULL)
            return; /* never: so that the analyzer knows it */
        start = range->start;
        found = sp_addrmap_find(start);
        assert_ptr_equal(found.range, range);
        assert_int_equal(found.slot, 7);
        assert_int_equal(found.tag, sp_size_class(sp_store_round(sizes[i])));
        assert_ptr_equal(sp_range_holder(range), &fixture);
        assert_int_equal(range->size, sp_store_round(sizes[i]));
        assert_int_equal(sp_range_state(range), SP_RANGE_TAKEN);
        sp_store_give(store, range);
        assert_null(sp_addrmap_find(start).range);
        assert_true(sp_store_is_valid(store));
    }
}

static void block_above_the_last_class_has_none(void **state)
{
    struct sp_range *range;

    (void)state;
    sp_addrmap_uncover(BASE, PIECE);
    fixture.has_piece[0] = false;
    assert_ok(sp_addrmap_cover(BASE, 2 * SP_CLASS_MAX_SIZE));
    sp_store_add(store, &fixture.region, BASE + PIECE, 2 * SP_CLASS_MAX_SIZE - PIECE);
    range = take(SP_CLASS_MAX_SIZE);
    assert_int_equal(range->tag, SP_N_CLASSES - 1);
    sp_store_give(store, range);
    range = take(SP_CLASS_MAX_SIZE + 1);
    assert_int_equal(range->tag, SP_NO_CLASS);
    sp_store_give(store, range);
    sp_addrmap_uncover(BASE, 2 * SP_CLASS_MAX_SIZE);
}

static void large_block_begins_at_a_page(void **state)
{
    (void)state;
    assert_non_null(take(256));
    for (int i = 0; i < 4; i++) {
        struct sp_range *range = take(SP_SMALL_LIMIT + 1);

        assert_int_equal(range->start % SP_PAGE, 0);
        assert_int_equal(range->size, SP_SMALL_LIMIT + SP_PAGE);
    }
}

static void span_holds_as_many_blocks_as_fit(void **state)
{
    size_t n = SP_SPAN_SIZE / SP_SMALL_UNIT;

    (void)state;
    for (size_t i = 0; i < n; i++)
        assert_non_null(take(SP_SMALL_UNIT));
    assert_int_equal(store->span_bytes, SP_SPAN_SIZE);
    assert_int_equal(store->used_bytes, SP_SPAN_SIZE);
    assert_non_null(take(SP_SMALL_UNIT));
    assert_int_equal(store->span_bytes, 2 * SP_SPAN_SIZE);
    assert_int_equal(store->used_bytes, SP_SPAN_SIZE + SP_SMALL_UNIT);
    assert_true(sp_store_is_valid(store));
}

static void spans_come_and_go_and_one_idle_span_is_kept(void **state)
{
    struct sp_range *ranges[3 * SP_SPAN_SIZE / (16 * SP_KIB)];
    size_t n = SP_ARRAY_SIZE(ranges);

    (void)state;
    for (size_t i = 0; i < n; i++)
        ranges[i] = take(16 * SP_KIB);
    assert_int_equal(store->span_bytes, 3 * SP_SPAN_SIZE);
    assert_int_equal(store->n_idle_spans, 0);
    for (size_t i = 0; i < n; i++) {
        sp_store_give(store, ranges[i]);
        assert_true(store->n_idle_spans <= 1);
        assert_true(sp_store_is_valid(store));
    }
    assert_int_equal(store->span_bytes, SP_SPAN_SIZE);
    assert_int_equal(store->n_idle_spans, 1);
    assert_true(sp_store_is_empty(store));
    sp_store_drop_idle_spans(store);
    assert_int_equal(store->span_bytes, 0);
    assert_int_equal(store->n_idle_spans, 0);
    assert_int_equal(sp_heap_largest(&store->large), PIECE);
    assert_true(sp_store_is_valid(store));
}

static void span_in_use_is_not_dropped(void **state)
{
    struct sp_range *range = take(SP_SMALL_UNIT);

    (void)state;
    sp_store_drop_idle_spans(store);
    assert_int_equal(store->span_bytes, SP_SPAN_SIZE);
    assert_ptr_equal(sp_addrmap_find(range->start).range, range);
    sp_store_give(store, range);
}

static void piece_with_a_block_out_is_not_cut(void **state)
{
    struct sp_range *small = take(SP_SMALL_UNIT), *large;

    (void)state;
    assert_false(cut_piece(0));
    sp_store_give(store, small);
    assert_false(cut_piece(0)); /* the idle span */
    sp_store_drop_idle_spans(store);
    large = take(PIECE);
    assert_false(cut_piece(0));
    sp_store_give(store, large);
    assert_true(cut_piece(0));
    assert_null(take(1));
    assert_int_equal(store->large.free_bytes, 0);
}

static void block_may_span_pieces_and_each_goes_back_alone(void **state)
{
    struct sp_range *range;

    (void)state;
    add_piece(1);
    range = take(PIECE + SP_MIB);
    assert_int_equal(range->start, BASE);
    assert_false(cut_piece(0));
    assert_false(cut_piece(1));
    sp_store_give(store, range);
    assert_true(cut_piece(0));
    assert_int_equal(sp_heap_largest(&store->large), PIECE);
    assert_true(cut_piece(1));
}

static void tail_is_what_is_free_just_below_an_address(void **state)
{
    struct sp_range *low, *high;

    (void)state;
    assert_int_equal(sp_store_tail(&fixture.region, BASE + PIECE), PIECE);
    assert_int_equal(sp_store_tail(&fixture.region, BASE + PIECE + SP_PAGE), 0);
    assert_int_equal(sp_store_tail(&fixture.region, BASE), 0);
    low = take(SP_MIB);
    assert_int_equal(sp_store_tail(&fixture.region, BASE + PIECE), SP_MIB);
    high = take(SP_MIB);
    assert_int_equal(sp_store_tail(&fixture.region, BASE + PIECE), 0);
    sp_store_give(store, high);
    sp_store_give(store, low);
}

static void alignment_is_kept_for_small_and_large_blocks(void **state)
{
    (void)state;
    add_piece(1);
    add_piece(2);
    for (size_t align = SP_SMALL_UNIT; align <= 2 * SP_MIB; align *= 2) {
        size_t size = align <= SP_PAGE ? 768 : 12 * SP_KIB;
        struct sp_range *range;

        restock();
        range = sp_store_take(store, size, align);
        assert_non_null(range);
        assert_int_equal(range->start % align, 0);
        assert_int_equal(range->size, size);
        sp_store_give(store, range);
        assert_true(sp_store_is_valid(store));
    }
}

static void most_bytes_ever_out_are_remembered(void **state)
{
    struct sp_range *a = take(SP_MIB), *b = take(256);

    (void)state;
    assert_int_equal(store->used_bytes, SP_MIB + 256);
    sp_store_give(store, a);
    sp_store_give(store, b);
    assert_int_equal(store->used_bytes, 0);
    assert_int_equal(store->used_high_bytes, SP_MIB + 256);
}

static void steady_cycle_makes_nothing_new(void **state)
{
    static const size_t sizes[] = {1, 700, 5000, 31 * 1024, 33 * 1024, 100 * 1024, 300 * 1024};
    struct sp_range *ranges[SP_ARRAY_SIZE(sizes)];
    size_t n_large = 0, n_small = 0, n_spans = 0;

    (void)state;
    for (int round = 0; round < 50; round++) {
        for (size_t i = 0; i < SP_ARRAY_SIZE(sizes); i++)
            assert_non_null(ranges[i] = take(sizes[i]));
        for (size_t i = 0; i < SP_ARRAY_SIZE(sizes); i++)
            sp_store_give(store, ranges[i]);
        if (round == 0) {
            n_large = store->large.n_spares;
            n_small = store->small.n_spares;
            n_spans = store->n_spare_spans;
        }
        assert_int_equal(store->large.n_spares, n_large);
        assert_int_equal(store->small.n_spares, n_small);
        assert_int_equal(store->n_spare_spans, n_spans);
    }
}

static void stock_is_enough_for_any_one_take(void **state)
{
    (void)state;
    /* A span and its first block, aligned: the take that needs the most records. */
    assert_true(sp_store_is_stocked(store));
    while (store->large.n_spares > 5) {
        store->large.spares = store->large.spares->next;
        store->large.n_spares--;
    }
    while (store->small.n_spares > 5) {
        store->small.spares = store->small.spares->next;
        store->small.n_spares--;
    }
    assert_true(sp_store_is_stocked(store));
    assert_non_null(sp_store_take(store, 256, SP_PAGE));
    assert_true(sp_store_is_valid(store));
}

/* ---- the oracle ---------------------------------------------------------------------- */

#define N_BLOCKS 400

static struct {
    struct interval {
        uintptr_t start;
        size_t size;
        struct sp_range *range;
    } blocks[N_BLOCKS]; /* sorted by start */
    size_t n;
    uint64_t random;
} oracle;

static bool is_in_pieces(uintptr_t start, size_t size)
{
    for (uintptr_t page = start & ~(SP_PAGE - 1); page < start + size; page += SP_PAGE) {
        size_t index = (page - BASE) / PIECE;

        if (page < BASE || index >= MAX_PIECES || !fixture.has_piece[index])
            return false;
    }
    return true;
}

static void enter(struct sp_range *range)
{
    size_t at = 0;

    while (at < oracle.n && oracle.blocks[at].start < range->start)
        at++;
    if (at > 0)
        assert_true(oracle.blocks[at - 1].start + oracle.blocks[at - 1].size <= range->start);
    if (at < oracle.n)
        assert_true(range->start + range->size <= oracle.blocks[at].start);
    assert_true(is_in_pieces(range->start, range->size));
    memmove(&oracle.blocks[at + 1], &oracle.blocks[at],
            (oracle.n - at) * sizeof(oracle.blocks[0]));
    oracle.blocks[at] = (struct interval){range->start, range->size, range};
    oracle.n++;
}

static void take_any(void)
{
    size_t log = sp_test_random_below(&oracle.random, 18);
    size_t size = 1 + sp_test_random_below(&oracle.random, (size_t)256 << sp_min(log, 11));
    size_t align = SP_SMALL_UNIT << sp_test_random_below(&oracle.random, 5);
    struct sp_range *range;

    if (oracle.n == N_BLOCKS)
        return;
    restock();
    size = sp_store_round(size);
    range = sp_store_take(store, size, align);
    if (range == NULL)
        return;
    assert_int_equal(range->size, size);
    assert_int_equal(range->start % align, 0);
    enter(range);
}

static void give_any(void)
{
    size_t at;
    struct interval gone;

    if (oracle.n == 0)
        return;
    at = sp_test_random_below(&oracle.random, oracle.n);
    gone = oracle.blocks[at];
    assert_ptr_equal(sp_addrmap_find(gone.start).range, gone.range);
    assert_int_equal(gone.range->size, gone.size);
    sp_store_give(store, gone.range);
    oracle.n--;
    memmove(&oracle.blocks[at], &oracle.blocks[at + 1],
            (oracle.n - at) * sizeof(oracle.blocks[0]));
}

static void add_or_cut_any(void)
{
    size_t index = sp_test_random_below(&oracle.random, MAX_PIECES);
    bool is_used = false;

    if (!fixture.has_piece[index]) {
        add_piece(index);
        return;
    }
    sp_store_drop_idle_spans(store);
    for (size_t i = 0; i < oracle.n; i++)
        is_used |= oracle.blocks[i].start < piece_base(index + 1) &&
                   oracle.blocks[i].start + oracle.blocks[i].size > piece_base(index);
    /* A span keeps its piece, though no block of the span may lie in this very piece. */
    if (is_used)
        assert_false(cut_piece(index));
    else
        (void)cut_piece(index);
}

static void random_operations_agree_with_a_list_of_intervals(void **state)
{
    size_t n_rounds = sp_test_scaled(15000), used = 0;

    (void)state;
    memset(&oracle, 0, sizeof(oracle));
    oracle.random = sp_test_seed();
    for (size_t round = 0; round < n_rounds; round++) {
        size_t what = sp_test_random_below(&oracle.random, 32);

        if (what < 16)
            take_any();
        else if (what < 31)
            give_any();
        else
            add_or_cut_any();
        if (round % 16 == 0)
            assert_true(sp_store_is_valid(store));
    }
    for (size_t i = 0; i < oracle.n; i++)
        used += oracle.blocks[i].size;
    assert_int_equal(store->used_bytes, used);
    while (oracle.n > 0)
        give_any();
    assert_true(sp_store_is_valid(store));
    sp_store_drop_idle_spans(store);
    for (size_t i = 0; i < MAX_PIECES; i++)
        assert_true(!fixture.has_piece[i] || cut_piece(i));
    assert_int_equal(store->large.free_bytes, 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(sizes_are_rounded_to_units_and_large_ones_to_pages),
        CASE(classes_rise_with_the_size_four_an_octave),
        CASE(block_is_known_by_its_address_with_class_slot_and_holder),
        CASE(block_above_the_last_class_has_none),
        CASE(large_block_begins_at_a_page),
        CASE(span_holds_as_many_blocks_as_fit),
        CASE(spans_come_and_go_and_one_idle_span_is_kept),
        CASE(span_in_use_is_not_dropped),
        CASE(piece_with_a_block_out_is_not_cut),
        CASE(block_may_span_pieces_and_each_goes_back_alone),
        CASE(tail_is_what_is_free_just_below_an_address),
        CASE(alignment_is_kept_for_small_and_large_blocks),
        CASE(most_bytes_ever_out_are_remembered),
        CASE(steady_cycle_makes_nothing_new),
        CASE(stock_is_enough_for_any_one_take),
        CASE(random_operations_agree_with_a_list_of_intervals),
    };

    return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
