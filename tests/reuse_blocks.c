/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Blocks that are taken and given on both sides: is what the heap says of each true? */
#include "config.h"

#include "tests/reuse_world.h"

#include <inttypes.h>

#include "src/util/util.h"

/* ---- taking ------------------------------------------------------------------------------ */

/* The same operation, or an earlier one of the same stream. */
static bool is_at_or_after(int later, int op)
{
    return later == op || (oracle->ops[later].stream == oracle->ops[op].stream && later > op);
}

static bool is_edge_allowed(enum sp_edge_kind kind)
{
    const struct sp_reuse_policy *policy = sp_reuse_policy(world.reuse);

    switch (kind) {
    case SP_EDGE_FRESH:
    case SP_EDGE_STREAM:
    case SP_EDGE_SEEN:
        return true;
    case SP_EDGE_EVENT:
        return policy->follows_events;
    case SP_EDGE_EXECUTED:
        return policy->is_opportunistic;
    case SP_EDGE_INTERNAL:
        return policy->allows_internal_wait;
    }
    return false;
}

/* Does the edge hold for an operation that freed something? */
static bool is_edge_true(enum sp_edge_kind kind, int op, int stream)
{
    switch (kind) {
    case SP_EDGE_FRESH:
        return false;
    case SP_EDGE_STREAM:
        return op != SP_ORACLE_HOST && oracle->ops[op].stream == stream;
    case SP_EDGE_SEEN:
        return sp_oracle_is_seen(oracle, op);
    case SP_EDGE_EXECUTED:
        return sp_oracle_is_done(oracle, op);
    case SP_EDGE_EVENT:
    case SP_EDGE_INTERNAL:
        return sp_oracle_is_before(oracle, op, stream) ||
               (is_edge_allowed(SP_EDGE_EXECUTED) && sp_oracle_is_done(oracle, op));
    }
    return false;
}

static void check_edge(int first, int n, int stream, const struct sp_edge *edge)
{
    bool names_free = edge->kind == SP_EDGE_STREAM || edge->kind == SP_EDGE_EVENT ||
                      edge->kind == SP_EDGE_EXECUTED;
    int named = names_free ? op_of(edge->free) : NO_OP;

    expect(is_edge_allowed(edge->kind), "edge %d is not allowed", edge->kind);
    if (names_free)
        expect(named != NO_OP && is_edge_true(edge->kind, named, stream),
               "edge %d rests on operation %" PRIu64 " of slot %u, which is not so", edge->kind,
               edge->free.seq, edge->free.slot);
    for (int u = first; u < first + n; u++) {
        const struct sp_oracle_unit *unit = &oracle->units[u];

        if (unit->state == SP_ORACLE_FRESH) {
            expect(edge->kind == SP_EDGE_FRESH || edge->kind == SP_EDGE_SEEN ||
                       edge->kind == SP_EDGE_INTERNAL,
                   "unit %d is fresh, the edge is %d", u, edge->kind);
            continue;
        }
        expect(is_edge_true(edge->kind, unit->op, stream),
               "unit %d was freed by operation %d, not by edge %d before stream %d", u,
               unit->op, edge->kind, stream);
        if (names_free && unit->op != SP_ORACLE_HOST)
            expect(is_at_or_after(named, unit->op),
                   "unit %d was freed later than the edge says", u);
    }
}

/* What was taken is where it may be; note it. */
static void take_over(const struct sp_reuse_block *block, size_t size, int stream, int op,
                      struct sp_point at, const struct sp_edge *edge)
{
    int first = unit_of(block->start), n = (int)(block->size / UNIT);

    expect(block->size == sp_round_up(size, UNIT), "%zu bytes became %zu", size, block->size);
    expect(block->start == address_of(first) && sp_oracle_is_free(oracle, first, n),
           "0x%" PRIxPTR "+%zu is not aligned, or not free", block->start, block->size);
    expect(block->chunk == &world.chunks[oracle->units[first].chunk].chunk, "wrong chunk");
    expect(block->alloc.slot == at.slot && block->alloc.seq == at.seq && block->cookie == NULL,
           "the block is not said to be allocated where it is");
    check_edge(first, n, stream, edge);
    world.n_takes[edge->kind]++;
    sp_oracle_take(oracle, first, n, op);
    if (is_lucky(50))
        expect(sp_reuse_set_cookie(world.reuse, block->start, &oracle->units[first]),
               "a live block takes no cookie");
}

/* Returns true if there is a block. */
static bool take_waiting(size_t size, int stream, int op, struct sp_point at)
{
    struct sp_point waits[SP_ORACLE_STREAMS];
    struct sp_reuse_block block;
    struct sp_edge edge;
    size_t n = 0;
    bool is_taken,
        is_there = sp_oracle_longest_free(oracle) >= (int)sp_round_up(size, UNIT) / (int)UNIT;

    feed();
    is_taken = sp_reuse_take_waiting(world.reuse, size, at, &block, &edge, waits,
                                     world.order.n_slots, &n);
    if (!is_taken) {
        expect(!is_edge_allowed(SP_EDGE_INTERNAL) || stream == SP_ORACLE_HOST || !is_there,
               "%zu bytes are refused although they could be waited for", size);
        return false;
    }
    expect(edge.kind == SP_EDGE_INTERNAL, "edge %d after an internal wait", edge.kind);
    for (size_t i = 0; i < n; i++) {
        int waited = op_of(waits[i]);

        expect(waited != NO_OP && oracle->ops[waited].stream != stream,
               "a wait for what is no operation of another stream");
        sp_oracle_wait_before_last(oracle, stream, waited);
    }
    take_over(&block, size, stream, op, at, &edge);
    return true;
}

static bool take(size_t size, int stream, int op, struct sp_point at)
{
    int n = (int)(sp_round_up(size, UNIT) / UNIT);
    struct sp_reuse_block block;
    struct sp_edge edge;

    feed();
    if (sp_reuse_take(world.reuse, size, at, &block, &edge)) {
        take_over(&block, size, stream, op, at, &edge);
        return true;
    }
    expect(sp_oracle_longest_range_ready(oracle) < n,
           "%d units are refused, although %d are ready", n,
           sp_oracle_longest_range_ready(oracle));
    expect(stream == SP_ORACLE_HOST || sp_oracle_longest_own(oracle, stream) < n,
           "%d units are refused, although the stream has freed %d", n,
           stream == SP_ORACLE_HOST ? 0 : sp_oracle_longest_own(oracle, stream));
    return false;
}

void step_allocate(void)
{
    int stream = is_lucky(8) ? SP_ORACLE_HOST : some_stream();
    int n = 1 + below(is_lucky(15) ? 4 * world.common_units : world.common_units);
    size_t size =
        (size_t)n * UNIT - (is_lucky(50) ? sp_test_random_below(&world.random, UNIT) : 0);
    struct sp_point at;
    int op = submit(stream, &at);

    if (take(size, stream, op, at))
        return;
    if (is_lucky(80) && take_waiting(size, stream, op, at))
        return;
    if (is_lucky(80) && grow(n))
        expect(take(size, stream, op, at), "%d units are refused after growth", n);
}

/* ---- giving ------------------------------------------------------------------------------ */

static bool is_start(int unit)
{
    return oracle->units[unit].state == SP_ORACLE_LIVE && oracle->units[unit].start == unit;
}

/* The first unit of a live block; -1 if there is none. */
static int some_block(void)
{
    int skip = oracle->n_live == 0 ? 0 : below(oracle->n_live);

    for (int u = 0; u < SP_ORACLE_UNITS; u++) {
        if (is_start(u) && skip-- == 0)
            return u;
    }
    return -1;
}

/* A stream that may free what `alloc` allocated, or NO_OP: then only the host may, if it knows
 * that the allocation is over. */
static int find_freer(int alloc)
{
    int stream = some_stream();

    if (alloc != SP_ORACLE_HOST && is_lucky(40) &&
        oracle->streams[oracle->ops[alloc].stream].is_open)
        return oracle->ops[alloc].stream;
    if (stream == SP_ORACLE_HOST || is_lucky(10))
        return sp_oracle_is_done(oracle, alloc) ? SP_ORACLE_HOST : NO_OP;
    if (sp_oracle_is_before(oracle, alloc, stream) || sp_oracle_is_done(oracle, alloc))
        return stream;
    if (!oracle->streams[oracle->ops[alloc].stream].is_open)
        return NO_OP;
    join(stream, oracle->ops[alloc].stream);
    return stream;
}

void step_give(void)
{
    int start = some_block();
    int stream = start < 0 ? NO_OP : find_freer(oracle->units[start].op);
    struct sp_point at;
    int op;

    /* Where blocks are small, there are many. */
    if (stream == NO_OP || (world.common_units == 1 && is_lucky(40)))
        return;
    op = submit(stream, &at);
    if (op != SP_ORACLE_HOST && is_lucky(5))
        execute(op);
    if (op != SP_ORACLE_HOST && is_lucky(3))
        see_stream(stream);
    feed();
    assert_ok(sp_reuse_give(world.reuse, address_of(start), at));
    sp_oracle_give(oracle, start, op);
}

void step_give_wrong(void)
{
    int unit = below(SP_ORACLE_UNITS);
    uintptr_t address = address_of(unit) + (is_lucky(30) ? 1 + (uintptr_t)below(UNIT - 1) : 0);
    struct sp_point at;
    int stream = some_stream();

    if (address == address_of(unit) && is_start(unit))
        return;
    submit(stream, &at);
    feed();
    assert_status(STARPOOL_EINVAL, sp_reuse_give(world.reuse, address, at));
    expect(!sp_reuse_set_cookie(world.reuse, address, &world), "no block takes a cookie");
}
