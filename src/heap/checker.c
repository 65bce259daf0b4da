/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Decides by itself whether a block may be where it is: dense clocks of streams that are known
 * by id, and a treap of who had which addresses last. For tests, fuzzing, and programs on
 * request: it uses malloc(), and keeps all history that the host has not seen. Without memory
 * it stops checking and says so in its report. */
#include "config.h"

#include "src/heap/checker.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/heap/checker_map.h"
#include "src/util/util.h"

/* Also in place of a stream whose every operation the host has seen. */
#define HOST SP_CHECKER_HOST

#define FIRST_ROOM 8

/* Freed pieces beyond this, and beyond twice what the last sweep left, start a sweep. */
#define MIN_SWEEP 64

/* What comes before all that a stream gets after its operation `seq`, up to the next one. */
struct snapshot {
    uint64_t seq;
    uint64_t *clock; /* [room of the checker] */
};

/* Its operations are first + 1 to last; seen <= done <= last. An index is used again when the
 * slot has a younger stream and the host has seen everything. */
struct stream {
    bool is_used;
    uint32_t slot;
    uint32_t older; /* the stream that had the slot before; HOST if none is left */
    uint64_t id;
    uint64_t first, last, done, seen;
    uint64_t *clock;       /* [room of the checker] of each stream: what comes before */
    struct snapshot *past; /* by seq, those of operations that the host has not seen */
    size_t n_past, past_room;
};

struct sp_checker {
    struct stream *streams; /* [room], by index */
    uint32_t room;
    uint32_t *newest; /* [n_slots] the index of the slot's present stream, or HOST */
    uint32_t n_slots;
    struct sp_checker_map map;
    size_t sweep_at; /* how many freed pieces there may be before they are looked through */
    bool is_out_of_memory;
    bool is_told; /* of the first violation */
    struct sp_checker_report report;
};

/* ---- streams ----------------------------------------------------------------------------- */

static void give_up(struct sp_checker *checker)
{
    checker->is_out_of_memory = true;
    if (checker->report.n_violations == 0)
        snprintf(checker->report.first, sizeof(checker->report.first),
                 "not known: the checker ran out of memory and stopped");
}

/* The index of the stream that operation `seq` of the slot is of; HOST if the host has seen all
 * of that stream, or there is none. */
static uint32_t owner_of(const struct sp_checker *checker, uint32_t slot, uint64_t seq)
{
    uint32_t index = slot < checker->n_slots ? checker->newest[slot] : HOST;

    while (index != HOST && checker->streams[index].first >= seq)
        index = checker->streams[index].older;
    return index != HOST && seq <= checker->streams[index].last ? index : HOST;
}

static bool is_seen(const struct sp_checker *checker, uint32_t index, uint64_t seq)
{
    return index == HOST || checker->streams[index].seen >= seq;
}

/* Must that operation come before what stream `index` gets now, or has it executed? */
static bool is_before(const struct sp_checker *checker, uint32_t op_index, uint64_t op_seq,
                      uint32_t index)
{
    if (is_seen(checker, op_index, op_seq))
        return true;
    if (index == HOST)
        return false;
    return op_index == index || checker->streams[index].clock[op_index] >= op_seq ||
           checker->streams[op_index].done >= op_seq;
}

static void raise_to(uint64_t *value, uint64_t to)
{
    if (*value < to)
        *value = to;
}

/* What came before an operation when it was submitted; NULL: nothing that is not seen. */
static const uint64_t *clock_of(const struct stream *stream, uint64_t seq)
{
    size_t n = stream->n_past;

    while (n > 0 && stream->past[n - 1].seq >= seq)
        n--;
    return n == 0 ? NULL : stream->past[n - 1].clock;
}

/* Forget snapshots that serve only operations that the host has seen: all in them is seen. */
static void drop_past(struct stream *stream)
{
    size_t n = 0;

    while (n + 1 < stream->n_past && stream->past[n + 1].seq <= stream->seen)
        free(stream->past[n++].clock);
    stream->n_past -= n;
    if (n > 0)
        memmove(stream->past, stream->past + n, stream->n_past * sizeof(*stream->past));
}

/* Keep the stream's clock for its next operation. */
static bool keep_clock(struct sp_checker *checker, struct stream *stream)
{
    size_t bytes = checker->room * sizeof(*stream->clock);
    struct snapshot *past = stream->past;

    SP_ASSERT(bytes > 0); /* The stream has a slot. */
    if (stream->n_past == 0 || past[stream->n_past - 1].seq != stream->last) {
        if (stream->n_past == stream->past_room) {
            size_t room = stream->past_room + stream->past_room / 2 + FIRST_ROOM;

            past = realloc(past, room * sizeof(*past));
            if (past == NULL)
                return false;
            stream->past = past;
            stream->past_room = room;
        }
        past[stream->n_past].clock = malloc(bytes);
        if (past[stream->n_past].clock == NULL)
            return false;
        past[stream->n_past++].seq = stream->last;
    }
    memcpy(past[stream->n_past - 1].clock, stream->clock, bytes);
    return true;
}

static bool widen(uint64_t **clock, uint32_t from, uint32_t to)
{
    uint64_t *wide = realloc(*clock, to * sizeof(*wide));

    if (wide == NULL)
        return false;
    memset(wide + from, 0, (to - from) * sizeof(*wide));
    *clock = wide;
    return true;
}

static bool grow(struct sp_checker *checker)
{
    uint32_t room = checker->room == 0 ? FIRST_ROOM : 2 * checker->room;
    struct stream *streams = realloc(checker->streams, room * sizeof(*streams));

    if (streams == NULL)
        return false;
    checker->streams = streams;
    memset(streams + checker->room, 0, (room - checker->room) * sizeof(*streams));
    for (uint32_t i = 0; i < checker->room; i++) {
        if (!streams[i].is_used)
            continue;
        if (!widen(&streams[i].clock, checker->room, room))
            return false;
        for (size_t j = 0; j < streams[i].n_past; j++) {
            if (!widen(&streams[i].past[j].clock, checker->room, room))
                return false;
        }
    }
    checker->room = room;
    return true;
}

static void fini_stream(struct stream *stream)
{
    for (size_t i = 0; i < stream->n_past; i++)
        free(stream->past[i].clock);
    free(stream->past);
    free(stream->clock);
    memset(stream, 0, sizeof(*stream));
}

/* ---- streams that come, go and are heard of ---------------------------------------------- */

/* Nobody can ask about a stream whose slot is another's and whose operations are all seen. */
static bool is_leaving(const struct sp_checker *checker, uint32_t index)
{
    const struct stream *stream = &checker->streams[index];

    return stream->is_used && checker->newest[stream->slot] != index &&
           stream->seen == stream->last;
}

static void unlink_older(struct sp_checker *checker, uint32_t index)
{
    uint32_t *link = &checker->newest[checker->streams[index].slot];

    while (*link != index)
        link = &checker->streams[*link].older;
    *link = checker->streams[index].older;
}

static void clear_column(struct sp_checker *checker, uint32_t index)
{
    for (uint32_t i = 0; i < checker->room; i++) {
        struct stream *stream = &checker->streams[i];

        if (!stream->is_used)
            continue;
        stream->clock[index] = 0;
        for (size_t j = 0; j < stream->n_past; j++)
            stream->past[j].clock[index] = 0;
    }
}

/* A freed piece of which the host has seen the free cannot be in anybody's way. What was
 * allocated by a stream that has left is the host's from then on. */
static bool is_over(void *arg, struct sp_checker_piece *piece)
{
    const struct sp_checker *checker = arg;
    bool is_piece_seen = is_seen(checker, piece->stream, piece->seq);

    if (piece->stream != HOST && !checker->streams[piece->stream].is_used)
        piece->stream = HOST;
    return is_piece_seen;
}

static void sweep(struct sp_checker *checker)
{
    sp_checker_map_sweep(&checker->map, is_over, checker);
    checker->sweep_at = 2 * checker->map.n_freed + MIN_SWEEP;
}

/* Make room among the indices. Returns how many are free now that were not. */
static uint32_t collect(struct sp_checker *checker)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < checker->room; i++) {
        if (is_leaving(checker, i)) {
            unlink_older(checker, i);
            checker->streams[i].is_used = false;
            n++;
        }
    }
    if (n == 0)
        return 0;
    sweep(checker);
    for (uint32_t i = 0; i < checker->room; i++) {
        if (!checker->streams[i].is_used && checker->streams[i].clock != NULL) {
            clear_column(checker, i);
            fini_stream(&checker->streams[i]);
        }
    }
    return n;
}

/* An index that is not used; HOST if there is no memory. */
static uint32_t find_index(struct sp_checker *checker)
{
    for (int tries = 0; tries < 2; tries++) {
        for (uint32_t i = 0; i < checker->room; i++) {
            if (!checker->streams[i].is_used)
                return i;
        }
        /* A few that leave are not worth a sweep at every other stream. */
        if (collect(checker) < checker->room / 4 + 1 && !grow(checker))
            break;
    }
    return HOST;
}

static bool has_slot(struct sp_checker *checker, uint32_t slot)
{
    uint32_t n = slot + 1;
    uint32_t *newest;

    if (slot < checker->n_slots)
        return true;
    newest = realloc(checker->newest, n * sizeof(*newest));
    if (newest == NULL)
        return false;
    while (checker->n_slots < n)
        newest[checker->n_slots++] = HOST;
    checker->newest = newest;
    return true;
}

void sp_checker_stream(struct sp_checker *checker, uint32_t slot, uint64_t id)
{
    uint32_t index = HOST, older;
    uint64_t *clock;
    uint64_t last;

    if (checker->is_out_of_memory)
        return;
    if (has_slot(checker, slot))
        index = find_index(checker);
    clock = index == HOST ? NULL : calloc(checker->room, sizeof(*clock));
    if (clock == NULL) {
        give_up(checker);
        return;
    }
    older = checker->newest[slot];
    last = older == HOST ? 0 : checker->streams[older].last;
    checker->streams[index] = (struct stream){.is_used = true,
                                              .slot = slot,
                                              .older = older,
                                              .id = id,
                                              .first = last,
                                              .last = last,
                                              .done = last,
                                              .seen = last,
                                              .clock = clock};
    checker->newest[slot] = index;
}

void sp_checker_submit(struct sp_checker *checker, uint32_t slot, uint64_t seq)
{
    uint32_t index = slot < checker->n_slots ? checker->newest[slot] : HOST;

    if (!checker->is_out_of_memory && index != HOST)
        raise_to(&checker->streams[index].last, seq);
}

void sp_checker_wait(struct sp_checker *checker, uint32_t slot, uint32_t other, uint64_t seq)
{
    uint32_t index = slot < checker->n_slots ? checker->newest[slot] : HOST;
    uint32_t from = owner_of(checker, other, seq);
    const uint64_t *past;
    uint64_t *clock;

    if (checker->is_out_of_memory || index == HOST || from == HOST)
        return;
    past = clock_of(&checker->streams[from], seq);
    clock = checker->streams[index].clock;
    raise_to(&clock[from], seq);
    for (uint32_t i = 0; past != NULL && i < checker->room; i++)
        raise_to(&clock[i], past[i]);
    if (!keep_clock(checker, &checker->streams[index]))
        give_up(checker);
}

/* An operation, and so all before it, has executed; the host may have seen it. */
static void finish(struct sp_checker *checker, uint32_t index, uint64_t seq, bool has_seen)
{
    const uint64_t *past = clock_of(&checker->streams[index], seq);

    for (uint32_t i = 0; i < checker->room; i++) {
        struct stream *stream = &checker->streams[i];
        uint64_t to = i == index ? seq : past == NULL ? 0 : past[i];

        if (!stream->is_used)
            continue;
        raise_to(&stream->done, to);
        if (has_seen)
            raise_to(&stream->seen, to);
    }
}

void sp_checker_executed(struct sp_checker *checker, uint32_t slot, uint64_t seq)
{
    uint32_t index = owner_of(checker, slot, seq);

    if (!checker->is_out_of_memory && index != HOST)
        finish(checker, index, seq, false);
}

void sp_checker_see(struct sp_checker *checker, uint32_t slot, uint64_t seq)
{
    uint32_t index = owner_of(checker, slot, seq);

    if (checker->is_out_of_memory || index == HOST)
        return;
    finish(checker, index, seq, true);
    for (uint32_t i = 0; i < checker->room; i++)
        drop_past(&checker->streams[i]);
}

/* ---- blocks ------------------------------------------------------------------------------ */

/* An operation in words. */
static void say(const struct sp_checker *checker, uint32_t index, uint64_t seq,
                char text_out[64])
{
    if (index == HOST)
        snprintf(text_out, 64, "the host");
    else
        snprintf(text_out, 64, "operation %" PRIu64 " of stream %" PRIu64, seq,
                 checker->streams[index].id);
}

__attribute__((format(printf, 2, 3))) static bool violation(struct sp_checker *checker,
                                                            const char *format, ...)
{
    va_list args;

    if (checker->report.n_violations++ == 0) {
        va_start(args, format);
        vsnprintf(checker->report.first, sizeof(checker->report.first), format, args);
        va_end(args);
    }
    return false;
}

/* What the stream has waited for since it was given the operation comes before that, too: it
 * allocates, and waits for what it is to have. */
static void hoist_waits(struct stream *stream, uint64_t seq)
{
    struct snapshot *last;

    if (stream->n_past == 0 || seq != stream->last)
        return;
    last = &stream->past[stream->n_past - 1];
    if (last->seq != seq)
        return;
    last->seq--;
    if (stream->n_past > 1 && last[-1].seq == last->seq) {
        free(last[-1].clock);
        last[-1] = *last;
        stream->n_past--;
    }
}

/* The first piece of a treap that a block may not be put on. */
static const struct sp_checker_piece *find_obstacle(const struct sp_checker *checker,
                                                    const struct sp_checker_piece *root,
                                                    uint32_t index)
{
    const struct sp_checker_piece *found;

    if (root == NULL)
        return NULL;
    found = find_obstacle(checker, root->left, index);
    if (found != NULL)
        return found;
    if (root->is_live || !is_before(checker, root->stream, root->seq, index))
        return root;
    return find_obstacle(checker, root->right, index);
}

static bool refuse(struct sp_checker *checker, const struct sp_checker_piece *old,
                   const struct sp_checker_piece *block)
{
    char then[64], now[64];

    say(checker, old->stream, old->seq, then);
    say(checker, block->stream, block->seq, now);
    return violation(checker,
                     "0x%" PRIxPTR "+%zu allocated by %s is on 0x%" PRIxPTR "+%zu, %s by %s",
                     block->start, block->size, now, old->start, old->size,
                     old->is_live ? "live and allocated" : "whose free need not be over", then);
}

bool sp_checker_alloc(struct sp_checker *checker, uintptr_t start, size_t size, uint32_t slot,
                      uint64_t seq)
{
    uint32_t index = slot == UINT32_MAX ? HOST : owner_of(checker, slot, seq);
    struct sp_checker_piece block = {
        .start = start, .size = size, .is_live = true, .stream = index, .seq = seq};
    const struct sp_checker_piece *obstacle;
    struct sp_checker_piece *old;
    bool is_legal = true;

    if (checker->is_out_of_memory)
        return true;
    checker->report.n_checked++;
    if (index != HOST)
        hoist_waits(&checker->streams[index], seq);
    if (!sp_checker_map_cut(&checker->map, start, start + size, &old)) {
        give_up(checker);
        return true;
    }
    obstacle = find_obstacle(checker, old, index);
    if (obstacle != NULL)
        is_legal = refuse(checker, obstacle, &block);
    else if (index == HOST && slot != UINT32_MAX)
        is_legal =
            violation(checker, "0x%" PRIxPTR "+%zu is allocated by no stream", start, size);
    sp_checker_map_drop(old);
    if (!sp_checker_map_add(&checker->map, &block))
        give_up(checker);
    return is_legal;
}

/* The host vouches for what it frees: that every use is over, and so the allocation. */
static bool may_free(struct sp_checker *checker, const struct sp_checker_piece *piece,
                     uintptr_t start, uint32_t slot, uint32_t index, uint64_t seq)
{
    char then[64], now[64];

    say(checker, index, seq, now);
    if (piece == NULL || piece->start != start || !piece->is_live)
        return violation(checker,
                         "0x%" PRIxPTR " is freed by %s, and no live block begins there", start,
                         now);
    if (slot == UINT32_MAX ||
        (index != HOST && is_before(checker, piece->stream, piece->seq, index)))
        return true;
    say(checker, piece->stream, piece->seq, then);
    return violation(checker,
                     "0x%" PRIxPTR "+%zu is freed by %s, and its allocation by %s need not be "
                     "over",
                     start, piece->size, now, then);
}

bool sp_checker_free(struct sp_checker *checker, uintptr_t start, uint32_t slot, uint64_t seq)
{
    uint32_t index = slot == UINT32_MAX ? HOST : owner_of(checker, slot, seq);
    struct sp_checker_piece *piece = sp_checker_map_find(&checker->map, start);
    bool is_legal;

    if (checker->is_out_of_memory)
        return true;
    is_legal = may_free(checker, piece, start, slot, index, seq);
    if (piece == NULL || piece->start != start || !piece->is_live)
        return is_legal;
    sp_checker_map_free(&checker->map, piece, index, seq);
    if (checker->map.n_freed > checker->sweep_at)
        sweep(checker);
    return is_legal;
}

void sp_checker_forget(struct sp_checker *checker, uintptr_t start, size_t size)
{
    struct sp_checker_piece *old;

    if (checker->is_out_of_memory)
        return;
    if (sp_checker_map_cut(&checker->map, start, start + size, &old))
        sp_checker_map_drop(old);
    else
        give_up(checker);
}

/* ---- the whole --------------------------------------------------------------------------- */

struct sp_checker *sp_checker_create(void)
{
    struct sp_checker *checker = calloc(1, sizeof(*checker));

    if (checker == NULL)
        return NULL;
    checker->sweep_at = MIN_SWEEP;
    return checker;
}

void sp_checker_destroy(struct sp_checker *checker)
{
    if (checker == NULL)
        return;
    sp_checker_map_fini(&checker->map);
    for (uint32_t i = 0; i < checker->room; i++)
        fini_stream(&checker->streams[i]);
    free(checker->streams);
    free(checker->newest);
    free(checker);
}

void sp_checker_report(const struct sp_checker *checker, struct sp_checker_report *report_out)
{
    *report_out = checker->report;
}

const char *sp_checker_news(struct sp_checker *checker)
{
    if (checker->report.n_violations == 0 || checker->is_told)
        return NULL;
    checker->is_told = true;
    return checker->report.first;
}
