/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where the records and tables of a stream-ordered heap live: in lines, cut off the memory that
 * it is fed. Memory that a table has outgrown is used for records. */
#include "config.h"

#include "src/heap/reuse_impl.h"

#include <string.h>

#include "src/heap/reuse_hash.h"

#define MIN_FEED ((size_t)64 << 10)

/* The smallest rooms of the tables. */
#define MIN_HASH    256U
#define MIN_STREAMS 16U
#define MIN_CHUNKS  16U
#define MIN_BLOCKS  64U

/* No call takes more lines than that, without the tables: for what is cut off a range or a
 * chunk's first range, and for a stream. */
#define CALL_LINES (2 + sizeof(struct sp_reuse_stream) / SP_REUSE_LINE)

/* Each piece adds an eighth to what has been fed: few pieces, little of it idle. */
#define FEED_SHIFT 3

static inline uint32_t lines_of(size_t bytes)
{
    return (uint32_t)((bytes + SP_REUSE_LINE - 1) / SP_REUSE_LINE);
}

/* ---- lines --------------------------------------------------------------------------- */

/* Lines that follow one another become spare. */
static void recycle(struct sp_reuse *reuse, uint32_t ref, uint32_t n_lines)
{
    struct sp_reuse_range *spare;

    if (n_lines == 0)
        return;
    spare = sp_reuse_at(reuse, ref);
    spare->state = SP_REUSE_SPARE;
    spare->size = n_lines;
    spare->next = reuse->spares;
    reuse->spares = ref;
}

uint32_t sp_reuse_new_record(struct sp_reuse *reuse)
{
    uint32_t ref = reuse->spares;
    struct sp_reuse_range *spare;

    if (SP_UNLIKELY(ref == 0)) {
        SP_ASSERT(reuse->rest < reuse->rest_end);
        return reuse->rest++;
    }
    spare = sp_reuse_at(reuse, ref);
    if (spare->size == 1)
        reuse->spares = spare->next;
    else
        ref += (uint32_t)--spare->size;
    return ref;
}

void sp_reuse_drop_record(struct sp_reuse *reuse, uint32_t ref)
{
    recycle(reuse, ref, 1);
}

/* Zeroed lines that follow one another. */
static uint32_t new_lines(struct sp_reuse *reuse, uint32_t n_lines)
{
    uint32_t ref = reuse->rest;

    SP_ASSERT(reuse->rest_end - reuse->rest >= n_lines);
    reuse->rest += n_lines;
    return ref;
}

/* ---- tables -------------------------------------------------------------------------- */

/* The room that a table needs for `n` items: what it has, or twice as much as often as needed.
 */
static uint32_t room_for(const struct sp_reuse_table *table, uint32_t n, uint32_t min_room)
{
    uint32_t room = table->room != 0 ? table->room : min_room;

    while (room < n)
        room *= 2;
    return room;
}

/* The lines that growing takes; 0 if the table has room. */
static uint32_t growth(const struct sp_reuse_table *table, uint32_t n, uint32_t min_room,
                       size_t item_size)
{
    uint32_t room = room_for(table, n, min_room);

    return room == table->room ? 0 : lines_of(room * item_size);
}

/* Move a table to zeroed lines with more room. */
static void move_table(struct sp_reuse *reuse, struct sp_reuse_table *table, uint32_t room,
                       uint32_t ref, size_t item_size, void *items)
{
    struct sp_reuse_table old = *table;

    if (old.room != 0)
        memcpy(items, old.items, old.room * item_size);
    table->items = items;
    table->room = room;
    table->ref = ref;
    recycle(reuse, old.ref, lines_of(old.room * item_size));
}

static void grow_table(struct sp_reuse *reuse, struct sp_reuse_table *table, uint32_t n,
                       uint32_t min_room, size_t item_size)
{
    uint32_t room = room_for(table, n, min_room), ref;

    if (room == table->room)
        return;
    ref = new_lines(reuse, lines_of(room * item_size));
    move_table(reuse, table, room, ref, item_size, sp_reuse_at(reuse, ref));
}

/* How many chains there must be for one block more: 5 for 2 blocks at least, so that chains are
 * short. */
static uint32_t n_chains(const struct sp_reuse *reuse)
{
    return ((uint32_t)reuse->stats.n_live / 2 + 1) * 5;
}

void sp_reuse_grow_hash(struct sp_reuse *reuse)
{
    struct sp_reuse_table *hash = &reuse->hash;
    struct sp_reuse_table old = *hash;
    const struct sp_reuse_link *chains = old.items;

    if (SP_LIKELY(reuse->stats.n_live < reuse->hash_limit))
        return;
    hash->room = room_for(&old, n_chains(reuse), MIN_HASH);
    hash->ref = new_lines(reuse, lines_of(hash->room * sizeof(*chains)));
    hash->items = sp_reuse_at(reuse, hash->ref);
    reuse->hash_shift = 64 - sp_log2(hash->room);
    reuse->hash_limit = hash->room / 5 * 2;
    for (uint32_t i = 0; i < old.room; i++) {
        for (uint32_t ref = chains[i].ref, next; ref != 0; ref = next) {
            next = sp_reuse_at(reuse, ref)->next_in_hash.ref;
            sp_reuse_hash_add(reuse, ref);
        }
    }
    recycle(reuse, old.ref, lines_of(old.room * sizeof(*chains)));
}

void sp_reuse_make_stream(struct sp_reuse *reuse, sp_slot slot)
{
    struct sp_reuse_stream **streams;
    uint32_t ref;

    grow_table(reuse, &reuse->streams, slot + 1, MIN_STREAMS, sizeof(struct sp_reuse_stream *));
    streams = reuse->streams.items;
    ref = new_lines(reuse, lines_of(sizeof(**streams)));
    /* Lines follow one another in memory within a piece, whatever their blocks. */
    streams[slot] = (struct sp_reuse_stream *)(void *)sp_reuse_at(reuse, ref);
}

/* ---- chunks by address --------------------------------------------------------------- */

/* How many chunks begin at or below an address. */
static uint32_t n_chunks_up_to(const struct sp_reuse *reuse, uintptr_t address)
{
    struct sp_chunk *const *chunks = reuse->chunks.items;
    uint32_t first = 0, n = reuse->chunks.n;

    while (n > 0) {
        uint32_t half = n / 2;

        if (chunks[first + half]->base <= address) {
            first += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return first;
}

struct sp_chunk *sp_reuse_chunk_of(const struct sp_reuse *reuse, uintptr_t address)
{
    struct sp_chunk *const *chunks = reuse->chunks.items;
    uint32_t i = n_chunks_up_to(reuse, address);

    if (i == 0 || address - chunks[i - 1]->base >= chunks[i - 1]->size)
        return NULL;
    return chunks[i - 1];
}

void sp_reuse_list_chunk(struct sp_reuse *reuse, struct sp_chunk *chunk)
{
    struct sp_chunk **chunks;
    uint32_t i;

    grow_table(reuse, &reuse->chunks, reuse->chunks.n + 1, MIN_CHUNKS,
               sizeof(struct sp_chunk *));
    chunks = reuse->chunks.items;
    i = n_chunks_up_to(reuse, chunk->base);
    memmove(&chunks[i + 1], &chunks[i], (reuse->chunks.n - i) * sizeof(struct sp_chunk *));
    chunks[i] = chunk;
    reuse->chunks.n++;
    chunk->prev = NULL;
    chunk->next = reuse->first_chunk;
    if (chunk->next != NULL)
        chunk->next->prev = chunk;
    reuse->first_chunk = chunk;
}

void sp_reuse_unlist_chunk(struct sp_reuse *reuse, struct sp_chunk *chunk)
{
    struct sp_chunk **chunks = reuse->chunks.items;
    uint32_t i = n_chunks_up_to(reuse, chunk->base);

    reuse->chunks.n--;
    memmove(&chunks[i - 1], &chunks[i],
            (reuse->chunks.n - (i - 1)) * sizeof(struct sp_chunk *));
    if (chunk->prev != NULL)
        chunk->prev->next = chunk->next;
    else
        reuse->first_chunk = chunk->next;
    if (chunk->next != NULL)
        chunk->next->prev = chunk->prev;
    chunk->prev = chunk->next = NULL;
}

/* ---- what users call ----------------------------------------------------------------- */

size_t sp_reuse_size(void)
{
    return sizeof(struct sp_reuse);
}

struct sp_reuse *sp_reuse_init(void *memory, struct sp_order *order, size_t unit)
{
    struct sp_reuse *reuse = memory;

    SP_ASSERT(sp_is_power_of_two(unit) && unit >= 256);
    reuse->order = order;
    reuse->unit = unit;
    reuse->unit_shift = sp_log2(unit);
    reuse->epoch = order->epoch;
    reuse->stats.metadata_bytes = sizeof(*reuse);
    return reuse;
}

void sp_reuse_fini(struct sp_reuse *reuse, void (*release)(void *memory, size_t size))
{
    struct sp_reuse_piece *piece = reuse->pieces;

    for (struct sp_chunk *chunk = reuse->first_chunk; chunk != NULL; chunk = chunk->next) {
        if (reuse->order->checker != NULL)
            sp_checker_forget(reuse->order->checker, chunk->base, chunk->size);
    }
    for (sp_slot slot = 0; slot < reuse->streams.room; slot++) {
        const struct sp_reuse_stream *stream = sp_reuse_stream_at(reuse, slot);

        if (stream != NULL && stream->bytes != 0)
            sp_order_release(reuse->order, slot);
    }
    while (piece != NULL) {
        struct sp_reuse_piece *next = piece->next;

        release(piece, piece->size);
        piece = next;
    }
    memset(reuse, 0, sizeof(*reuse));
}

/* What must be fed so that the next call has its lines and every table room. */
static __attribute__((noinline)) size_t count_wants(const struct sp_reuse *reuse)
{
    size_t n_lines = CALL_LINES, fed, size;
    uint32_t n_blocks;

    if (reuse->stats.n_live >= reuse->hash_limit)
        n_lines +=
            growth(&reuse->hash, n_chains(reuse), MIN_HASH, sizeof(struct sp_reuse_link));
    n_lines += growth(&reuse->streams, reuse->order->n_slots, MIN_STREAMS, sizeof(void *));
    n_lines += growth(&reuse->chunks, reuse->chunks.n + 1, MIN_CHUNKS, sizeof(void *));
    if (reuse->rest_end - reuse->rest >= n_lines)
        return 0;
    fed = reuse->stats.metadata_bytes - sizeof(*reuse);
    size = sp_max(n_lines * SP_REUSE_LINE, fed >> FEED_SHIFT) + MIN_FEED;
    /* The table of blocks grows within the piece that makes it grow. */
    n_blocks = reuse->blocks.n + (uint32_t)(size / MIN_FEED) + 1;
    size += SP_REUSE_LINE * growth(&reuse->blocks, n_blocks, MIN_BLOCKS, sizeof(void *));
    return sp_round_down(size, MIN_FEED);
}

size_t sp_reuse_wants(const struct sp_reuse *reuse)
{
    if (SP_LIKELY(reuse->rest_end - reuse->rest >= CALL_LINES &&
                  reuse->stats.n_live < reuse->hash_limit &&
                  reuse->order->n_slots <= reuse->streams.room &&
                  reuse->chunks.n < reuse->chunks.room))
        return 0;
    return count_wants(reuse);
}

_Static_assert(sizeof(struct sp_reuse_piece) <= offsetof(struct sp_reuse_range, seq),
               "line 0, which is a piece's first, has no stamp");

void sp_reuse_feed(struct sp_reuse *reuse, void *memory, size_t size)
{
    struct sp_reuse_piece *piece = memory;
    uint32_t n_lines = (uint32_t)(size / SP_REUSE_LINE);
    uint32_t n_blocks = (n_lines + SP_REUSE_BLOCK - 1) / SP_REUSE_BLOCK;
    uint32_t first = reuse->blocks.n * SP_REUSE_BLOCK, used = 1;
    uint32_t room = room_for(&reuse->blocks, reuse->blocks.n + n_blocks, MIN_BLOCKS);
    struct sp_reuse_range *lines = memory, **blocks;

    SP_ASSERT((uintptr_t)memory % SP_REUSE_LINE == 0);
    piece->size = size;
    piece->next = reuse->pieces;
    reuse->pieces = piece;
    reuse->stats.metadata_bytes += size;
    recycle(reuse, reuse->rest, reuse->rest_end - reuse->rest);
    if (room != reuse->blocks.room) {
        move_table(reuse, &reuse->blocks, room, first + used, sizeof(struct sp_reuse_range *),
                   lines + used);
        used += lines_of(room * sizeof(struct sp_reuse_range *));
    }
    blocks = reuse->blocks.items;
    for (uint32_t i = 0; i < n_blocks; i++)
        blocks[reuse->blocks.n++] = lines + (size_t)i * SP_REUSE_BLOCK;
    SP_ASSERT(used <= n_lines);
    reuse->rest = first + used;
    reuse->rest_end = first + n_lines;
}
