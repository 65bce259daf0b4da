/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the stream-ordered heap costs: a pair of free and allocation by address, with splits and
 * merges; the pair that hits a quick list; the pair that crosses streams. Beside it a checked
 * list that never splits, and a first-fit list. No memory is behind the addresses. Linked with
 * the library's objects, whose symbols the library itself hides. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "bench/bench.h"
#include "bench/model_lists.h"
#include "src/heap/order.h"
#include "src/heap/reuse.h"

#define UNIT     ((size_t)512)
#define MIN_SIZE ((size_t)512)

/* [bytes] What a pool reserves at least: the driver's step. */
#define STEP ((size_t)32 << 20)

/* The host waits for everything after so many pairs, where it waits at all. */
#define SYNC_PAIRS 64

/* After so many operations the streams have executed what they were given before the last so
 * many, and say so. */
#define LAG 128

/* [bytes] */
#define HUGE_PAGE ((size_t)2 << 20)

/* [bytes] Room for the records of a heap. */
#define MAX_RECORDS ((size_t)32 << 20)

/* Short rounds, so that most are not interrupted. */
#define N_ROUNDS 201
#define N_PAIRS  1000

/* A run in which (a) takes longer with 10 live blocks is of a noisy machine, and is repeated.
 */
#define MAX_LIST_NS 30.0
#define MAX_TRIES   3

enum way { SYNC, NO_SYNC, QUICK, CROSS, LIST, FIRST_FIT, N_WAYS };

static const char *const way_names[N_WAYS] = {
    "by address, host waits", "by address, never waits", "quick hit",
    "other stream",           "(a) checked list",        "(b) first fit",
};

static const char what[] =
    "Times pairs of free and allocation of the stream-ordered heap beside two lists.";

static const uint32_t streams_of[] = {8, 64};
static const uint32_t live_of[] = {10, 1000, 100000};
#define N_STREAMS (sizeof(streams_of) / sizeof(*streams_of))
#define N_LIVE    (sizeof(live_of) / sizeof(*live_of))

/* A block of the trace: a heap knows it by its address, a list by its handle. */
struct slot {
    uintptr_t start;
    struct sp_list_handle handle;
    uint32_t stream, size_index;
};

/* One heap, or one list, under the trace. */
struct world {
    enum way way;
    uint32_t n_streams, n_live, n_pairs; /* since the host waited */
    struct sp_order order;
    struct sp_reuse *reuse;
    uintptr_t end; /* of the addresses in use */
    char *records;
    size_t fed; /* [bytes] of `records` */
    struct sp_list list;
    struct slot *slots;                   /* [n_live] */
    uint64_t given[SP_LISTS_MAX_STREAMS]; /* operations, LAG operations ago */
    uint32_t n_given;                     /* since then */
    uint64_t random;
    double ns[N_ROUNDS];
};

static void fail(const char *reason)
{
    fprintf(stderr, "bench/model: %s\n", reason);
    exit(1);
}

/* Large pages, so that the cost of a page walk is not measured in the place of the heap's. */
static void *zeroed(size_t size)
{
    size_t align = size < HUGE_PAGE ? 64 : HUGE_PAGE;
    void *memory;

    size = (size + align - 1) & ~(align - 1);
    memory = aligned_alloc(align, size);
    if (memory == NULL)
        fail("no memory");
    if (align == HUGE_PAGE && madvise(memory, size, MADV_HUGEPAGE) != 0)
        perror("bench/model: madvise");
    return memset(memory, 0, size);
}

static inline uint32_t below(struct world *world, uint32_t bound)
{
    world->random ^= world->random << 13;
    world->random ^= world->random >> 7;
    world->random ^= world->random << 17;
    return (uint32_t)((world->random >> 32) * bound >> 32);
}

static bool is_list(const struct world *world)
{
    return world->way == LIST || world->way == FIRST_FIT;
}

/* ---- one operation ------------------------------------------------------------------- */

/* The streams have gone on. */
static __attribute__((noinline)) void execute(struct world *world)
{
    world->n_given = 0;
    for (uint32_t stream = 0; stream < world->n_streams; stream++) {
        if (is_list(world)) {
            world->list.done[stream] = world->given[stream];
            world->given[stream] = world->list.last[stream];
        } else {
            sp_order_executed(&world->order, stream, world->given[stream]);
            world->given[stream] = world->order.streams[stream].last_seq;
        }
    }
}

static inline void count_operation(struct world *world)
{
    if (++world->n_given == LAG)
        execute(world);
}

static inline struct sp_point submit(struct world *world, uint32_t stream)
{
    count_operation(world);
    return sp_order_submit(&world->order, stream);
}

static void feed(struct world *world)
{
    size_t size = sp_reuse_wants(world->reuse);

    if (__builtin_expect(size == 0, 1))
        return;
    if (size > MAX_RECORDS - world->fed)
        fail("the heap wants more memory than expected");
    sp_reuse_feed(world->reuse, world->records + world->fed, size);
    world->fed += size;
}

static void grow(struct world *world, size_t size)
{
    struct sp_chunk *chunk = zeroed(sizeof(*chunk));

    chunk->base = world->end;
    chunk->size = size > STEP ? size : STEP;
    world->end += chunk->size;
    feed(world);
    sp_reuse_add_chunk(world->reuse, chunk);
}

static inline void take(struct world *world, struct slot *slot)
{
    size_t size = MIN_SIZE << slot->size_index;
    struct sp_point at = submit(world, slot->stream);
    struct sp_reuse_block block;
    struct sp_edge edge;

    feed(world);
    while (!sp_reuse_take(world->reuse, size, at, &block, &edge))
        grow(world, size);
    slot->start = block.start;
}

static inline void give(struct world *world, const struct slot *slot)
{
    feed(world);
    if (sp_reuse_give(world->reuse, slot->start, submit(world, slot->stream)) != STARPOOL_OK)
        fail("a live block is not found");
}

static inline void list_take(struct world *world, struct slot *slot)
{
    slot->handle = sp_list_take(&world->list, slot->size_index, MIN_SIZE << slot->size_index,
                                slot->stream);
    count_operation(world);
}

static inline void list_give(struct world *world, const struct slot *slot)
{
    if (!sp_list_give(&world->list, slot->handle, slot->size_index, slot->stream))
        fail("a live block is not found");
    count_operation(world);
}

/* ---- pairs --------------------------------------------------------------------------- */

static void see_all(struct world *world)
{
    world->n_pairs = 0;
    if (is_list(world))
        sp_list_see_all(&world->list);
    else
        sp_order_see_all(&world->order);
}

/* Free any block, allocate one of any size in any stream. */
static inline void any_pair(struct world *world)
{
    struct slot *slot = &world->slots[below(world, world->n_live)];

    if (is_list(world))
        list_give(world, slot);
    else
        give(world, slot);
    slot->size_index = below(world, SP_LISTS_N_SIZES);
    slot->stream = below(world, world->n_streams);
    if (is_list(world))
        list_take(world, slot);
    else
        take(world, slot);
    if (world->way != NO_SYNC && ++world->n_pairs == SYNC_PAIRS)
        see_all(world);
}

/* Free any block, allocate one of its size in its stream. The host never waits. */
static inline void quick_pair(struct world *world)
{
    struct slot *slot = &world->slots[below(world, world->n_live)];

    give(world, slot);
    take(world, slot);
}

/* The same in the next stream, after the free has executed. */
static inline void cross_pair(struct world *world)
{
    struct slot *slot = &world->slots[below(world, world->n_live)];

    give(world, slot);
    sp_order_executed(&world->order, slot->stream, world->order.streams[slot->stream].last_seq);
    slot->stream = slot->stream + 1 == world->n_streams ? 0 : slot->stream + 1;
    take(world, slot);
}

static double time_pairs(struct world *world, uint32_t n)
{
    uint64_t begin = sp_bench_ticks();

    if (world->way == QUICK) {
        for (uint32_t i = 0; i < n; i++)
            quick_pair(world);
    } else if (world->way == CROSS) {
        for (uint32_t i = 0; i < n; i++)
            cross_pair(world);
    } else {
        for (uint32_t i = 0; i < n; i++)
            any_pair(world);
    }
    return sp_bench_ns(begin, sp_bench_ticks()) / n;
}

/* ---- a case: so many streams and live blocks, each way ------------------------------- */

static void world_init(struct world *world, enum way way, uint32_t n_streams, uint32_t n_live)
{
    memset(world, 0, sizeof(*world));
    world->way = way;
    world->n_streams = n_streams;
    world->n_live = n_live;
    world->random = 88172645463325252u;
    world->slots = zeroed(n_live * sizeof(*world->slots));
    world->end = (uintptr_t)1 << 40;
    sp_order_init(&world->order);
    for (uint32_t i = 0; i < n_streams; i++) {
        sp_slot slot;

        if (sp_order_add_stream(&world->order, &slot) != STARPOOL_OK || slot != i)
            fail("no memory");
    }
    world->records = zeroed(MAX_RECORDS);
    world->reuse = sp_reuse_init(zeroed(sp_reuse_size()), &world->order, UNIT);
    sp_reuse_policy(world->reuse)->follows_events = true;
    sp_reuse_policy(world->reuse)->is_opportunistic = true;
    if (is_list(world))
        sp_list_init(&world->list, way == FIRST_FIT, n_streams, 64 * n_live + 100000);
    for (uint32_t i = 0; i < n_live; i++) {
        world->slots[i].size_index = below(world, SP_LISTS_N_SIZES);
        world->slots[i].stream = below(world, n_streams);
        if (is_list(world))
            list_take(world, &world->slots[i]);
        else
            take(world, &world->slots[i]);
    }
}

static void release(void *memory, size_t size)
{
    (void)memory, (void)size;
}

static void world_fini(struct world *world)
{
    struct sp_chunk *chunk = sp_reuse_next_chunk(world->reuse, NULL);

    while (chunk != NULL) {
        struct sp_chunk *next = sp_reuse_next_chunk(world->reuse, chunk);

        free(chunk);
        chunk = next;
    }
    sp_reuse_fini(world->reuse, release);
    free(world->records);
    free(world->reuse);
    sp_order_fini(&world->order);
    sp_list_fini(&world->list);
    free(world->slots);
}

/* How many pairs a round has. */
static uint32_t pairs_of(const struct world *world)
{
    if (world->way == FIRST_FIT)
        return world->n_live > 1000 ? 10 : 100;
    return N_PAIRS;
}

/* What was found in a case. */
struct found {
    double ns[N_WAYS];
    double reserved[NO_SYNC + 1]; /* over the peak of used */
    double crossing[NO_SYNC + 1]; /* share of takes of what others freed */
    double metadata_bytes;        /* a live block */
};

/* What is ready has mostly been freed by other streams: all but one of `n_streams` times. */
static double crossing_of(const struct sp_reuse_stats *stats, uint32_t n_streams)
{
    double n_takes = 0.0, n_crossing;

    for (int kind = SP_EDGE_FRESH; kind <= SP_EDGE_INTERNAL; kind++)
        n_takes += (double)stats->n_takes[kind];
    n_crossing = (double)stats->n_takes[SP_EDGE_SEEN] * (n_streams - 1) / n_streams;
    n_crossing += (double)(stats->n_takes[SP_EDGE_EVENT] + stats->n_takes[SP_EDGE_EXECUTED]);
    return n_crossing / n_takes;
}

static void look_at(const struct world *world, struct found *found)
{
    struct sp_reuse_stats stats;

    sp_reuse_stats(world->reuse, &stats);
    found->reserved[world->way] =
        (double)stats.reserved_high_bytes / (double)stats.used_high_bytes;
    found->crossing[world->way] = crossing_of(&stats, world->n_streams);
    found->metadata_bytes =
        fmax(found->metadata_bytes, (double)stats.metadata_bytes / world->n_live);
}

static void print_case(struct world *worlds, size_t n_rounds, struct found *found)
{
    printf("\n%u live blocks, %u streams\n", worlds->n_live, worlds->n_streams);
    for (int way = 0; way < N_WAYS; way++) {
        struct sp_quartiles q = sp_bench_quartiles(worlds[way].ns, n_rounds);

        found->ns[way] = q.median;
        printf("    %-24s %8.1f [%.1f %.1f]\n", way_names[way], q.median, q.q1, q.q3);
    }
    for (int way = 0; way <= NO_SYNC; way++) {
        look_at(&worlds[way], found);
        printf("    %s: %.1f times (a), reserved %.2f of the peak used, %.0f %% of takes cross "
               "streams\n",
               way_names[way], found->ns[way] / found->ns[LIST], found->reserved[way],
               100 * found->crossing[way]);
    }
    printf("    %.0f bytes of records a live block\n", found->metadata_bytes);
}

static void run_case(uint32_t n_streams, uint32_t n_live, enum sp_bench_effort effort,
                     struct found *found)
{
    static struct world worlds[N_WAYS];
    size_t n_rounds = effort == SP_BENCH_CHECK ? 3 : N_ROUNDS;

    memset(found, 0, sizeof(*found));
    for (int way = 0; way < N_WAYS; way++) {
        uint32_t n_warm = way == FIRST_FIT ? 100 : 20000 + 4 * n_live;

        world_init(&worlds[way], way, n_streams, n_live);
        time_pairs(&worlds[way], effort == SP_BENCH_CHECK ? n_warm / 20 + 1 : n_warm);
    }
    for (size_t round = 0; round < n_rounds; round++) {
        for (int way = 0; way < N_WAYS; way++)
            worlds[way].ns[round] = time_pairs(&worlds[way], pairs_of(&worlds[way]));
    }
    print_case(worlds, n_rounds, found);
    for (int way = 0; way < N_WAYS; way++)
        world_fini(&worlds[way]);
}

/* ---- goals --------------------------------------------------------------------------- */

enum { LIVE_10, LIVE_1E3, LIVE_1E5 };

/* The slower of the two ways by address. */
static double by_address(const struct found *found)
{
    return fmax(found->ns[SYNC], found->ns[NO_SYNC]);
}

static void print_goals(struct found found[N_STREAMS][N_LIVE])
{
    const struct found *few = found[0], *many = found[1];
    double crossing = 1.0, reserved[NO_SYNC + 1] = {0.0, 0.0}, metadata = 0.0;

    for (size_t s = 0; s < N_STREAMS; s++) {
        metadata = fmax(metadata, found[s][LIVE_1E5].metadata_bytes);
        for (int l = LIVE_1E3; l <= LIVE_1E5; l++) {
            for (int way = SYNC; way <= NO_SYNC; way++) {
                reserved[way] = fmax(reserved[way], found[s][l].reserved[way]);
                crossing = fmin(crossing, found[s][l].crossing[way]);
            }
        }
    }
    printf("\n");
    sp_bench_goal("model_quick_hit_ns", fmax(few[LIVE_1E3].ns[QUICK], many[LIVE_1E3].ns[QUICK]),
                  SP_GOAL_AT_MOST, 60.0);
    sp_bench_goal("model_by_address_1e3_ns",
                  fmax(by_address(&few[LIVE_1E3]), by_address(&many[LIVE_1E3])),
                  SP_GOAL_AT_MOST, 125.0);
    sp_bench_goal("model_by_address_1e5_ns", by_address(&many[LIVE_1E5]), SP_GOAL_AT_MOST,
                  350.0);
    sp_bench_goal("model_growth_8_streams", by_address(&few[LIVE_1E5]) / by_address(few),
                  SP_GOAL_AT_MOST, 12.0);
    sp_bench_goal("model_growth_64_streams", by_address(&many[LIVE_1E5]) / by_address(many),
                  SP_GOAL_AT_MOST, 12.0);
    sp_bench_goal("model_reserved_synced", reserved[SYNC], SP_GOAL_AT_MOST, 1.5);
    sp_bench_goal("model_reserved_never_synced", reserved[NO_SYNC], SP_GOAL_AT_MOST, 3.0);
    sp_bench_goal("model_metadata_bytes", metadata, SP_GOAL_AT_MOST, 128.0);
    sp_bench_goal("model_crossing_share", crossing, SP_GOAL_AT_LEAST, 0.1);
}

int main(int argc, char **argv)
{
    enum sp_bench_effort effort = sp_bench_effort_of(argc, argv, what);
    static struct found found[N_STREAMS][N_LIVE];
    double list_ns = 0.0;

    sp_bench_init();
    printf("A pair of free and allocation in ns (median of rounds, quartiles). The host waits\n"
           "after every %d pairs, but where it never waits; streams execute with a delay.\n",
           SYNC_PAIRS);
    for (int try = 0; try < MAX_TRIES; try++) {
        for (size_t s = 0; s < N_STREAMS; s++) {
            for (size_t l = 0; l < N_LIVE; l++)
                run_case(streams_of[s], live_of[l], effort, &found[s][l]);
        }
        list_ns = fmax(found[0][LIVE_10].ns[LIST], found[1][LIVE_10].ns[LIST]);
        if (list_ns <= MAX_LIST_NS)
            break;
        printf("\n(a) took %.1f ns with 10 live blocks: the machine is not quiet.\n", list_ns);
    }
    print_goals(found);
    return 0;
}
