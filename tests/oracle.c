/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The rules of stream order and reuse, unit by unit and operation by operation. */
#include "config.h"

#include "tests/oracle.h"

#include <string.h>

#include "src/util/util.h"

#define N_WORDS (SP_ORACLE_OPS / 64)

/* ---- sets -------------------------------------------------------------------------------- */

bool sp_oracle_has(const struct sp_oracle_set *set, int op)
{
    return (set->words[op / 64] >> (op % 64) & 1) != 0;
}

bool sp_oracle_knows(const struct sp_oracle_set *set, int op)
{
    return (set->known[op / 64] >> (op % 64) & 1) != 0;
}

static void put(struct sp_oracle_set *set, int op)
{
    set->words[op / 64] |= (uint64_t)1 << (op % 64);
    set->known[op / 64] |= (uint64_t)1 << (op % 64);
}

void sp_oracle_unite(struct sp_oracle_set *set, const struct sp_oracle_set *other)
{
    for (int i = 0; i < N_WORDS; i++) {
        set->words[i] |= other->words[i];
        set->known[i] |= other->known[i];
    }
}

void sp_oracle_init(struct sp_oracle *oracle)
{
    memset(oracle, 0, sizeof(*oracle));
}

/* ---- order ------------------------------------------------------------------------------- */

int sp_oracle_add_stream(struct sp_oracle *oracle)
{
    int stream = oracle->n_streams++;

    SP_ASSERT(stream < SP_ORACLE_STREAMS);
    oracle->streams[stream].is_open = true;
    oracle->streams[stream].last = SP_ORACLE_HOST;
    return stream;
}

int sp_oracle_submit(struct sp_oracle *oracle, int stream)
{
    int op = oracle->n_ops++;

    SP_ASSERT(op < SP_ORACLE_OPS && oracle->streams[stream].is_open);
    oracle->ops[op].stream = stream;
    oracle->ops[op].before = oracle->streams[stream].before;
    oracle->streams[stream].last = op;
    put(&oracle->streams[stream].before, op);
    return op;
}

struct sp_oracle_set sp_oracle_all_of(const struct sp_oracle *oracle, int stream)
{
    return oracle->streams[stream].before;
}

struct sp_oracle_set sp_oracle_up_to(const struct sp_oracle *oracle, int op)
{
    struct sp_oracle_set set = oracle->ops[op].before;

    put(&set, op);
    return set;
}

void sp_oracle_wait(struct sp_oracle *oracle, int stream, const struct sp_oracle_set *set)
{
    sp_oracle_unite(&oracle->streams[stream].before, set);
}

void sp_oracle_wait_before_last(struct sp_oracle *oracle, int stream, int op)
{
    struct sp_oracle_set set = sp_oracle_up_to(oracle, op);

    memset(set.known, 0, sizeof(set.known));
    for (int i = 0; i <= op; i++) {
        if (oracle->ops[i].stream == oracle->ops[op].stream)
            put(&set, i);
    }
    sp_oracle_unite(&oracle->ops[oracle->streams[stream].last].before, &set);
    sp_oracle_wait(oracle, stream, &set);
}

void sp_oracle_execute(struct sp_oracle *oracle, const struct sp_oracle_set *set)
{
    sp_oracle_unite(&oracle->done, set);
}

void sp_oracle_see(struct sp_oracle *oracle, const struct sp_oracle_set *set)
{
    sp_oracle_unite(&oracle->done, set);
    sp_oracle_unite(&oracle->seen, set);
}

void sp_oracle_see_all(struct sp_oracle *oracle)
{
    for (int op = 0; op < oracle->n_ops; op++) {
        put(&oracle->done, op);
        put(&oracle->seen, op);
    }
}

bool sp_oracle_is_seen(const struct sp_oracle *oracle, int op)
{
    return op == SP_ORACLE_HOST || sp_oracle_has(&oracle->seen, op);
}

bool sp_oracle_is_done(const struct sp_oracle *oracle, int op)
{
    return op == SP_ORACLE_HOST || sp_oracle_has(&oracle->done, op);
}

bool sp_oracle_is_before(const struct sp_oracle *oracle, int op, int stream)
{
    if (sp_oracle_is_seen(oracle, op))
        return true;
    return stream != SP_ORACLE_HOST && sp_oracle_has(&oracle->streams[stream].before, op);
}

bool sp_oracle_is_known(const struct sp_oracle *oracle, int op, int stream)
{
    if (op == SP_ORACLE_HOST || sp_oracle_knows(&oracle->seen, op))
        return true;
    return stream != SP_ORACLE_HOST && sp_oracle_knows(&oracle->streams[stream].before, op);
}

/* ---- memory ------------------------------------------------------------------------------ */

int sp_oracle_add_chunk(struct sp_oracle *oracle, int first, int n)
{
    int chunk = 0;

    while (oracle->chunks[chunk].n != 0)
        chunk++;
    SP_ASSERT(chunk < SP_ORACLE_CHUNKS);
    if (chunk == oracle->n_chunks)
        oracle->n_chunks++;
    oracle->chunks[chunk] = (struct sp_oracle_chunk){.first = first, .n = n};
    for (int u = first; u < first + n; u++) {
        SP_ASSERT(oracle->units[u].state == SP_ORACLE_NOTHING);
        oracle->units[u] = (struct sp_oracle_unit){.state = SP_ORACLE_FRESH, .chunk = chunk};
    }
    oracle->reserved += n;
    if (oracle->reserved > oracle->reserved_high)
        oracle->reserved_high = oracle->reserved;
    return chunk;
}

void sp_oracle_remove_chunk(struct sp_oracle *oracle, int chunk)
{
    struct sp_oracle_chunk *gone = &oracle->chunks[chunk];

    for (int u = gone->first; u < gone->first + gone->n; u++)
        oracle->units[u].state = SP_ORACLE_NOTHING;
    oracle->reserved -= gone->n;
    gone->n = 0;
}

bool sp_oracle_is_free(const struct sp_oracle *oracle, int first, int n)
{
    if (first < 0 || n < 1 || first + n > SP_ORACLE_UNITS)
        return false;
    for (int u = first; u < first + n; u++) {
        const struct sp_oracle_unit *unit = &oracle->units[u];

        if (unit->state == SP_ORACLE_NOTHING || unit->state == SP_ORACLE_LIVE ||
            unit->chunk != oracle->units[first].chunk)
            return false;
    }
    return true;
}

void sp_oracle_take(struct sp_oracle *oracle, int first, int n, int op)
{
    for (int u = first; u < first + n; u++) {
        oracle->units[u].state = SP_ORACLE_LIVE;
        oracle->units[u].start = first;
        oracle->units[u].op = op;
    }
    oracle->used += n;
    oracle->n_live++;
    if (oracle->used > oracle->used_high)
        oracle->used_high = oracle->used;
    if (oracle->n_live > oracle->n_live_high)
        oracle->n_live_high = oracle->n_live;
}

int sp_oracle_length(const struct sp_oracle *oracle, int start)
{
    int n = 0;

    while (start + n < SP_ORACLE_UNITS && oracle->units[start + n].state == SP_ORACLE_LIVE &&
           oracle->units[start + n].start == start)
        n++;
    return n;
}

/* Ranges that the host has seen are ready from now on, and merge with pending ones no more. */
static void notice(struct sp_oracle *oracle)
{
    for (int u = 0; u < SP_ORACLE_UNITS; u++) {
        if (sp_oracle_is_range_ready(oracle, u))
            oracle->units[u].stamp = SP_ORACLE_HOST;
    }
}

/* Is the unit part of a range that the stream freed, in that chunk? */
static bool is_own(const struct sp_oracle *oracle, int u, int chunk, int stream)
{
    const struct sp_oracle_unit *unit;

    if (u < 0 || u >= SP_ORACLE_UNITS)
        return false;
    unit = &oracle->units[u];
    return unit->state == SP_ORACLE_FREED && unit->chunk == chunk &&
           unit->stamp != SP_ORACLE_HOST && oracle->ops[unit->stamp].stream == stream;
}

void sp_oracle_give(struct sp_oracle *oracle, int start, int op)
{
    int n = sp_oracle_length(oracle, start);
    int chunk = oracle->units[start].chunk;

    notice(oracle);
    for (int u = start; u < start + n; u++) {
        oracle->units[u].state = SP_ORACLE_FREED;
        oracle->units[u].op = oracle->units[u].stamp = op;
    }
    oracle->used -= n;
    oracle->n_live--;
    if (op == SP_ORACLE_HOST)
        return;
    for (int u = start - 1; is_own(oracle, u, chunk, oracle->ops[op].stream); u--)
        oracle->units[u].stamp = op;
    for (int u = start + n; is_own(oracle, u, chunk, oracle->ops[op].stream); u++)
        oracle->units[u].stamp = op;
}

bool sp_oracle_is_ready(const struct sp_oracle *oracle, int u)
{
    const struct sp_oracle_unit *unit = &oracle->units[u];

    return unit->state == SP_ORACLE_FRESH ||
           (unit->state == SP_ORACLE_FREED && sp_oracle_is_seen(oracle, unit->op));
}

bool sp_oracle_is_range_ready(const struct sp_oracle *oracle, int u)
{
    const struct sp_oracle_unit *unit = &oracle->units[u];

    return unit->state == SP_ORACLE_FRESH ||
           (unit->state == SP_ORACLE_FREED &&
            sp_oracle_is_known(oracle, unit->stamp, SP_ORACLE_HOST));
}

int sp_oracle_count(const struct sp_oracle *oracle,
                    bool (*is_counted)(const struct sp_oracle *oracle, int unit))
{
    int n = 0;

    for (int u = 0; u < SP_ORACLE_UNITS; u++)
        n += is_counted(oracle, u);
    return n;
}

/* The longest run of units that are marked, within a chunk. */
static int longest(const struct sp_oracle *oracle, const bool *marks)
{
    int best = 0, n = 0;

    for (int u = 0; u < SP_ORACLE_UNITS; u++) {
        if (!marks[u])
            n = 0;
        else if (n > 0 && oracle->units[u].chunk == oracle->units[u - 1].chunk)
            n++;
        else
            n = 1;
        if (n > best)
            best = n;
    }
    return best;
}

int sp_oracle_longest_ready(const struct sp_oracle *oracle)
{
    bool marks[SP_ORACLE_UNITS];

    for (int u = 0; u < SP_ORACLE_UNITS; u++)
        marks[u] = sp_oracle_is_ready(oracle, u);
    return longest(oracle, marks);
}

int sp_oracle_longest_range_ready(const struct sp_oracle *oracle)
{
    bool marks[SP_ORACLE_UNITS];

    for (int u = 0; u < SP_ORACLE_UNITS; u++)
        marks[u] = sp_oracle_is_range_ready(oracle, u);
    return longest(oracle, marks);
}

int sp_oracle_longest_own(const struct sp_oracle *oracle, int stream)
{
    bool marks[SP_ORACLE_UNITS];

    for (int u = 0; u < SP_ORACLE_UNITS; u++)
        marks[u] =
            is_own(oracle, u, oracle->units[u].chunk, stream) && !sp_oracle_is_ready(oracle, u);
    return longest(oracle, marks);
}

int sp_oracle_longest_free(const struct sp_oracle *oracle)
{
    bool marks[SP_ORACLE_UNITS];

    for (int u = 0; u < SP_ORACLE_UNITS; u++)
        marks[u] = sp_oracle_is_free(oracle, u, 1);
    return longest(oracle, marks);
}

bool sp_oracle_chunk_is(const struct sp_oracle *oracle, int chunk,
                        bool (*is_ready)(const struct sp_oracle *oracle, int unit))
{
    const struct sp_oracle_chunk *which = &oracle->chunks[chunk];

    for (int u = which->first; u < which->first + which->n; u++) {
        if (!is_ready(oracle, u))
            return false;
    }
    return which->n > 0;
}
