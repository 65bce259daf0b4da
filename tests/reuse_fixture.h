/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A stream-ordered heap with three streams and a checker, for the tests of it. No memory is
 * behind the addresses. */
#ifndef SP_REUSE_FIXTURE_H
#define SP_REUSE_FIXTURE_H

#include "tests/support.h"

#include <stdlib.h>
#include <string.h>

#include "src/heap/checker.h"
#include "src/heap/reuse.h"
#include "src/util/util.h"

#define UNIT ((size_t)512)
#define BASE ((uintptr_t)1 << 40)

#define HOST ((struct sp_point){SP_SLOT_HOST, 0})

static struct {
    struct sp_order order;
    struct sp_reuse *reuse;
    struct sp_reuse_policy *policy;
    struct sp_chunk chunks[64];
    size_t n_chunks;
    size_t fed, released; /* [bytes] */
    sp_slot a, b, c;
    struct sp_edge edge; /* of the latest take */
} fixture;

static struct sp_order *const order = &fixture.order;

static inline void feed(void)
{
    size_t size = sp_reuse_wants(fixture.reuse);
    void *memory;

    if (size == 0)
        return;
    memory = aligned_alloc(64, size);
    assert_non_null(memory);
    memset(memory, 0, size);
    sp_reuse_feed(fixture.reuse, memory, size);
    fixture.fed += size;
    assert_int_equal(sp_reuse_wants(fixture.reuse), 0);
}

static inline void release(void *memory, size_t size)
{
    fixture.released += size;
    free(memory);
}

static inline sp_slot new_stream(void)
{
    sp_slot slot = SP_SLOT_HOST;

    assert_ok(sp_order_add_stream(order, &slot));
    return slot;
}

static inline int setup(void **state)
{
    void *memory = calloc(1, sp_reuse_size());

    (void)state;
    memset(&fixture, 0, sizeof(fixture));
    assert_non_null(memory);
    sp_order_init(order);
    order->checker = sp_checker_create();
    fixture.reuse = sp_reuse_init(memory, order, UNIT);
    fixture.policy = sp_reuse_policy(fixture.reuse);
    fixture.a = new_stream();
    fixture.b = new_stream();
    fixture.c = new_stream();
    return 0;
}

static inline int teardown(void **state)
{
    struct sp_checker_report report;

    (void)state;
    assert_true(sp_reuse_is_valid(fixture.reuse));
    assert_true(sp_order_is_valid(order));
    sp_checker_report(order->checker, &report);
    assert_string_equal(report.first, "");
    sp_reuse_fini(fixture.reuse, release);
    assert_int_equal(fixture.released, fixture.fed);
    for (sp_slot slot = 0; slot < order->n_slots; slot++)
        assert_int_equal(order->streams[slot].n_holds, 0);
    free(fixture.reuse);
    sp_checker_destroy(order->checker);
    sp_order_fini(order);
    return 0;
}

/* A chunk of so many units, away from all others. */
static inline struct sp_chunk *add_chunk(size_t units)
{
    struct sp_chunk *chunk = &fixture.chunks[fixture.n_chunks];

    chunk->base = BASE + fixture.n_chunks++ * 4096 * UNIT;
    chunk->size = units * UNIT;
    feed();
    sp_reuse_add_chunk(fixture.reuse, chunk);
    return chunk;
}

/* The block's address, or 0 if there is none; the edge is in the fixture. */
static inline uintptr_t take(sp_slot slot, size_t units)
{
    struct sp_point at = slot == SP_SLOT_HOST ? HOST : sp_order_submit(order, slot);
    struct sp_reuse_block block = {.start = 0};

    feed();
    if (!sp_reuse_take(fixture.reuse, units * UNIT, at, &block, &fixture.edge)) {
        assert_true(sp_reuse_is_valid(fixture.reuse));
        return 0;
    }
    assert_int_equal(block.size, units * UNIT);
    assert_int_equal(block.alloc.slot, at.slot);
    assert_int_equal(block.alloc.seq, at.seq);
    assert_null(block.cookie);
    assert_true(sp_reuse_is_valid(fixture.reuse));
    return block.start;
}

static inline struct sp_point give(sp_slot slot, uintptr_t start)
{
    struct sp_point at = slot == SP_SLOT_HOST ? HOST : sp_order_submit(order, slot);

    feed();
    assert_ok(sp_reuse_give(fixture.reuse, start, at));
    assert_true(sp_reuse_is_valid(fixture.reuse));
    return at;
}

static inline struct sp_reuse_stats stats(void)
{
    struct sp_reuse_stats now;

    sp_reuse_notice(fixture.reuse);
    sp_reuse_stats(fixture.reuse, &now);
    assert_int_equal(now.used_bytes + now.ready_bytes + now.pending_bytes, now.reserved_bytes);
    return now;
}

static inline void wait_for(sp_slot slot, sp_slot other)
{
    assert_ok(sp_order_join(order, slot, other));
}

/* Let a stream free the blocks of so many neighbouring units each, in the order given. */
static inline uintptr_t take_all(sp_slot slot, size_t n, size_t units)
{
    uintptr_t first = take(slot, units);

    for (size_t i = 1; i < n; i++)
        assert_int_equal(take(slot, units), first + i * units * UNIT);
    return first;
}

static inline uintptr_t at_unit(uintptr_t first, size_t units)
{
    return first + units * UNIT;
}

#define assert_edge(expected_kind, point)                     \
    do {                                                      \
        assert_int_equal(fixture.edge.kind, expected_kind);   \
        assert_int_equal(fixture.edge.free.slot, point.slot); \
        assert_int_equal(fixture.edge.free.seq, point.seq);   \
    } while (0)

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif /* SP_REUSE_FIXTURE_H */
