/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What happens to streams, marks and chunks, on both sides. */
#include "config.h"

#include "tests/reuse_world.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/util/util.h"

#define MAX_OPEN 8 /* streams */
#define PAGE     ((size_t)4096)

struct world world;
struct sp_oracle *const oracle = &world.oracle;

/* ---- small helpers ----------------------------------------------------------------------- */

/* Fail unless `is_so`, saying where. */
void expect(bool is_so, const char *format, ...)
{
    char text[400];
    va_list args;

    if (is_so)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    print_error("episode %" PRIu64 ", operation %zu: %s\n", world.seed, world.n_steps, text);
    fail();
}

int below(int bound)
{
    return (int)sp_test_random_below(&world.random, (size_t)bound);
}

bool is_lucky(int percent)
{
    return below(100) < percent;
}

int unit_of(uintptr_t address)
{
    return (int)((address - BASE) / UNIT);
}

uintptr_t address_of(int unit)
{
    return BASE + (uintptr_t)unit * UNIT;
}

static int n_open(void)
{
    int n = 0;

    for (int s = 0; s < oracle->n_streams; s++)
        n += oracle->streams[s].is_open;
    return n;
}

/* A stream that is open, or the host if there is none. */
int some_stream(void)
{
    int n = n_open();
    int skip = n == 0 ? 0 : below(n);

    for (int s = 0; s < oracle->n_streams; s++) {
        if (oracle->streams[s].is_open && skip-- == 0)
            return s;
    }
    return SP_ORACLE_HOST;
}

sp_slot slot_of(int stream)
{
    return stream == SP_ORACLE_HOST ? SP_SLOT_HOST : world.slots[stream];
}

/* The operation that a point is; NO_OP if it is none. */
int op_of(struct sp_point point)
{
    for (int op = 0; op < oracle->n_ops; op++) {
        if (world.points[op].slot == point.slot && world.points[op].seq == point.seq)
            return op;
    }
    return NO_OP;
}

/* The next operation of a stream; of the host it is none. */
int submit(int stream, struct sp_point *at_out)
{
    int op;

    *at_out = (struct sp_point){SP_SLOT_HOST, 0};
    if (stream == SP_ORACLE_HOST)
        return SP_ORACLE_HOST;
    *at_out = sp_order_submit(&world.order, world.slots[stream]);
    expect(at_out->slot == world.slots[stream] && op_of(*at_out) == NO_OP,
           "operation %" PRIu64 " of slot %u exists already", at_out->seq, at_out->slot);
    op = sp_oracle_submit(oracle, stream);
    world.points[op] = *at_out;
    return op;
}

static void release(void *memory, size_t size)
{
    (void)size;
    free(memory);
}

void feed(void)
{
    size_t size;

    while ((size = sp_reuse_wants(world.reuse)) > 0) {
        void *memory = aligned_alloc(PAGE, sp_round_up(size, PAGE));

        assert_non_null(memory);
        memset(memory, 0, size);
        sp_reuse_feed(world.reuse, memory, size);
    }
}

/* ---- chunks ------------------------------------------------------------------------------ */

/* Where `n` units are of no chunk; -1: nowhere. Often beside another chunk. */
static int find_hole(int n)
{
    int from = below(SP_ORACLE_UNITS), length = 0;

    if (is_lucky(50))
        from = 0;
    for (int i = 0; i < 2 * SP_ORACLE_UNITS; i++) {
        int u = (from + i) % SP_ORACLE_UNITS;

        length = oracle->units[u].state != SP_ORACLE_NOTHING ? 0 : u == 0 ? 1 : length + 1;
        if (length == n)
            return u - n + 1;
    }
    return -1;
}

bool grow(int n)
{
    static const int sizes[] = {8, 16, 24, 40, 64};
    int first, index;

    n = (int)sp_max((size_t)n, (size_t)sizes[below(SP_ARRAY_SIZE(sizes))]);
    if (oracle->reserved + n > world.most_units)
        return false;
    first = find_hole(n);
    if (first < 0)
        return false;
    feed();
    index = sp_oracle_add_chunk(oracle, first, n);
    world.chunks[index] = (struct world_chunk){
        .chunk = {.base = address_of(first), .size = (size_t)n * UNIT}, .index = index};
    sp_reuse_add_chunk(world.reuse, &world.chunks[index].chunk);
    return true;
}

/* The largest chunk that may go, or 0. */
static int largest_idle(int keep, bool (*is_ready)(const struct sp_oracle *, int))
{
    int best = 0;

    for (int c = 0; c < oracle->n_chunks; c++) {
        int n = oracle->chunks[c].n;

        if (n > best && oracle->reserved - n >= keep && sp_oracle_chunk_is(oracle, c, is_ready))
            best = n;
    }
    return best;
}

static void trim(void)
{
    int keep = is_lucky(50) ? 0 : below(world.most_units);
    int must = largest_idle(keep, sp_oracle_is_range_ready);
    int can = largest_idle(keep, sp_oracle_is_ready);
    struct sp_chunk *gone;
    int n, index;

    feed();
    gone = sp_reuse_remove_chunk(world.reuse,
                                 (uint64_t)keep * UNIT - (size_t)below(UNIT) * (keep > 0));
    if (gone == NULL) {
        expect(must == 0, "a chunk of %d units is not removed", must);
        return;
    }
    index = ((struct world_chunk *)gone)->index;
    n = oracle->chunks[index].n;
    expect(sp_oracle_chunk_is(oracle, index, sp_oracle_is_ready),
           "a chunk that is not ready is removed");
    expect(oracle->reserved - n >= keep, "less than %d units are kept", keep);
    expect(n >= must && n <= can, "a chunk of %d units goes before one of %d", n, must);
    sp_oracle_remove_chunk(oracle, index);
}

/* ---- order ------------------------------------------------------------------------------- */

void join(int stream, int other)
{
    struct sp_oracle_set set = sp_oracle_all_of(oracle, other);

    assert_ok(sp_order_join(&world.order, world.slots[stream], world.slots[other]));
    sp_oracle_wait(oracle, stream, &set);
}

static void record(void)
{
    struct world_mark *mark = &world.marks[below(N_MARKS)];
    int stream = some_stream();
    struct sp_point at;

    if (stream == SP_ORACLE_HOST)
        return;
    if (is_lucky(50))
        submit(stream, &at);
    if (mark->is_set)
        sp_mark_fini(&mark->mark);
    assert_ok(sp_order_record(&world.order, world.slots[stream], &mark->mark));
    mark->set = sp_oracle_all_of(oracle, stream);
    mark->is_set = true;
}

static void wait_for_mark(void)
{
    struct world_mark *mark = &world.marks[below(N_MARKS)];
    int stream = some_stream();
    struct sp_point at;

    if (stream == SP_ORACLE_HOST || !mark->is_set)
        return;
    assert_ok(sp_order_wait(&world.order, world.slots[stream], &mark->mark));
    sp_oracle_wait(oracle, stream, &mark->set);
    if (is_lucky(50))
        submit(stream, &at);
}

static void join_two(void)
{
    int stream = some_stream(), other = some_stream();

    if (stream != SP_ORACLE_HOST && other != SP_ORACLE_HOST)
        join(stream, other);
}

static void see_mark(void)
{
    struct world_mark *mark = &world.marks[below(N_MARKS)];

    if (!mark->is_set)
        return;
    sp_order_see(&world.order, &mark->mark);
    sp_oracle_see(oracle, &mark->set);
}

void see_stream(int stream)
{
    struct sp_oracle_set set = sp_oracle_all_of(oracle, stream);

    sp_order_see_stream(&world.order, world.slots[stream]);
    sp_oracle_see(oracle, &set);
}

static void see_some_stream(void)
{
    int stream = some_stream();

    if (stream != SP_ORACLE_HOST)
        see_stream(stream);
}

static void see_all(void)
{
    sp_order_see_all(&world.order);
    sp_oracle_see_all(oracle);
}

bool is_tellable(int op)
{
    int stream = oracle->ops[op].stream;

    return world.points[op].seq > world.order.streams[world.slots[stream]].first_seq;
}

void execute(int op)
{
    struct sp_oracle_set set = sp_oracle_up_to(oracle, op);

    sp_oracle_execute(oracle, &set);
    if (is_tellable(op))
        sp_order_executed(&world.order, world.points[op].slot, world.points[op].seq);
    for (int i = 0; i < op && is_lucky(99); i++) {
        if (sp_oracle_has(&set, i) && is_tellable(i))
            sp_order_executed(&world.order, world.points[i].slot, world.points[i].seq);
    }
}

static void execute_some(void)
{
    int n = (int)sp_min(50, (size_t)oracle->n_ops);

    if (n > 0)
        execute(oracle->n_ops - 1 - below(n));
}

static void add_stream(void)
{
    int stream;

    if (n_open() >= MAX_OPEN || oracle->n_streams == SP_ORACLE_STREAMS)
        return;
    stream = sp_oracle_add_stream(oracle);
    assert_ok(sp_order_add_stream(&world.order, &world.slots[stream]));
    for (int s = 0; s < stream; s++)
        expect(!oracle->streams[s].is_open || world.slots[s] != world.slots[stream],
               "two open streams have slot %u", world.slots[s]);
}

static void remove_stream(void)
{
    int stream = some_stream();

    if (stream == SP_ORACLE_HOST || n_open() <= 2)
        return;
    /* So that its slot is used again soon. */
    if (oracle->streams[stream].last != SP_ORACLE_HOST && is_lucky(50))
        execute(oracle->streams[stream].last);
    sp_order_remove_stream(&world.order, world.slots[stream]);
    oracle->streams[stream].is_open = false;
}

static void submit_one(void)
{
    struct sp_point at;

    submit(some_stream(), &at);
}

static void toggle(void)
{
    *sp_reuse_policy(world.reuse) = (struct sp_reuse_policy){
        .follows_events = is_lucky(50),
        .is_opportunistic = is_lucky(50),
        .allows_internal_wait = is_lucky(75),
    };
}

/* ---- steps ------------------------------------------------------------------------------- */

static void reset_used_high(void)
{
    sp_reuse_reset_used_high(world.reuse);
    oracle->used_high = oracle->used;
    oracle->n_live_high = oracle->n_live;
}

static void reset_reserved_high(void)
{
    sp_reuse_reset_reserved_high(world.reuse);
    oracle->reserved_high = oracle->reserved;
}

static const struct {
    int weight;
    void (*run)(void);
} steps[] = {
    {340, step_allocate}, {300, step_give},         {80, record},
    {80, wait_for_mark},  {25, join_two},           {50, execute_some},
    {15, see_mark},       {15, see_some_stream},    {3, see_all},
    {30, add_stream},     {30, remove_stream},      {30, trim},
    {15, toggle},         {15, submit_one},         {10, step_give_wrong},
    {4, reset_used_high}, {3, reset_reserved_high},
};

void world_step(void)
{
    int total = 0, at;

    for (size_t i = 0; i < SP_ARRAY_SIZE(steps); i++)
        total += steps[i].weight;
    at = below(total);
    for (size_t i = 0; i < SP_ARRAY_SIZE(steps); i++) {
        at -= steps[i].weight;
        if (at < 0) {
            steps[i].run();
            break;
        }
    }
    world.n_steps++;
}

/* ---- the whole --------------------------------------------------------------------------- */

void world_begin(uint64_t seed)
{
    size_t n_steps = world.n_steps;
    void *memory = calloc(1, sp_reuse_size());

    memset(&world, 0, sizeof(world));
    world.seed = world.random = seed;
    world.n_steps = n_steps;
    sp_order_init(&world.order);
    world.checker = sp_checker_create();
    assert_non_null(world.checker);
    world.order.checker = world.checker;
    assert_non_null(memory);
    world.reuse = sp_reuse_init(memory, &world.order, UNIT);
    world.most_units = is_lucky(50) ? 80 : SP_ORACLE_UNITS * 3 / 4;
    world.common_units = is_lucky(10) ? 1 : is_lucky(30) ? 2 : 10;
    toggle();
    for (int i = 0; i < 3; i++)
        add_stream();
}

void world_end(void)
{
    for (int i = 0; i < N_MARKS; i++) {
        if (world.marks[i].is_set)
            sp_mark_fini(&world.marks[i].mark);
    }
    sp_reuse_fini(world.reuse, release);
    free(world.reuse);
    sp_order_fini(&world.order);
    sp_checker_destroy(world.checker);
}
