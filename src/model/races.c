/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A happens-before race detector: for each range of memory the last write, and the last read of
 * each stream since. The order of streams says of a remembered use whether it comes before what
 * a stream gets next. What the host has seen comes before everything and is forgotten. */
#include "config.h"

#include "src/model/races.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "src/model/private.h"
#include "src/util/util.h"

/* So many ranges are remembered; with more, all are forgotten, and races with those are not
 * found. */
#define MAX_SPANS ((size_t)1 << 16)

/* What an operation did to a range. */
struct use {
    struct sp_point at;
    uint64_t stream_id;
    enum sp_model_use_kind kind;
    uintptr_t start; /* of all that it used */
    size_t size;
    struct use *next;
};

/* A range whose every byte has the same uses: at most one write, and reads that are not known
 * to come before it, one a stream. */
struct span {
    uintptr_t start, end;
    struct use *uses;
};

/* Behind the model's lock. */
static struct {
    struct span *spans; /* [n] sorted, disjoint, none without uses */
    size_t n, room;
    bool has_told;        /* that all was forgotten once */
    struct sp_point told; /* the last operation that a race was told of */
} races;

static bool is_on(void)
{
    return sp_model_config()->finds_races;
}

static bool is_write(enum sp_model_use_kind kind)
{
    return kind == SP_USE_COPY_WRITE || kind == SP_USE_SET;
}

/* ---- uses ---------------------------------------------------------------------------- */

static void free_uses(struct use *use)
{
    while (use != NULL) {
        struct use *next = use->next;

        free(use);
        use = next;
    }
}

/* Without memory, some are missing. */
static struct use *copy_uses(const struct use *use)
{
    struct use *first = NULL, **link = &first;

    for (; use != NULL; use = use->next) {
        struct use *copy = malloc(sizeof(*copy));

        if (copy == NULL)
            break;
        *copy = *use;
        copy->next = NULL;
        *link = copy;
        link = &copy->next;
    }
    return first;
}

static bool is_seen(struct sp_point point)
{
    return sp_order_is_before(sp_model_order(), point, SP_SLOT_HOST);
}

static void drop_seen(struct span *span)
{
    struct use **link = &span->uses, *use;

    while ((use = *link) != NULL) {
        if (!is_seen(use->at)) {
            link = &use->next;
            continue;
        }
        *link = use->next;
        free(use);
    }
}

static bool is_same(const struct use *a, const struct use *b)
{
    while (a != NULL && b != NULL && a->at.slot == b->at.slot && a->at.seq == b->at.seq &&
           a->kind == b->kind) {
        a = a->next;
        b = b->next;
    }
    return a == b;
}

/* ---- spans --------------------------------------------------------------------------- */

/* The first span that ends above an address. */
static size_t find_span(uintptr_t address)
{
    size_t low = 0, high = races.n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (races.spans[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void forget_all(void)
{
    for (size_t i = 0; i < races.n; i++)
        free_uses(races.spans[i].uses);
    races.n = 0;
}

/* Room for so many spans more; false without memory. */
static bool reserve(size_t n)
{
    size_t room = sp_max(2 * races.room, races.n + n);
    struct span *spans;

    if (races.n + n <= races.room)
        return true;
    spans = realloc(races.spans, room * sizeof(*spans));
    if (spans == NULL)
        return false;
    races.spans = spans;
    races.room = room;
    return true;
}

/* There is room. */
static void insert(size_t at, struct span span)
{
    memmove(races.spans + at + 1, races.spans + at, (races.n - at) * sizeof(span));
    races.spans[at] = span;
    races.n++;
}

/* Let no span go over an address; there is room for one more. */
static void split(uintptr_t address)
{
    size_t i = find_span(address);
    struct span *span = &races.spans[i];
    struct span rest;

    if (i == races.n || span->start >= address)
        return;
    rest = (struct span){address, span->end, copy_uses(span->uses)};
    span->end = address;
    insert(i + 1, rest);
}

/* Merge what is alike and drop what is over, from a span on, up to the first one that begins
 * above `end`. */
static void tidy(size_t first, uintptr_t end)
{
    size_t kept = first, i = first;

    for (; i < races.n && races.spans[i].start <= end; i++) {
        struct span *span = &races.spans[i], *before = kept > 0 ? span - (i - kept) - 1 : NULL;

        drop_seen(span);
        if (span->uses == NULL)
            continue;
        if (before != NULL && before->end == span->start && is_same(before->uses, span->uses)) {
            before->end = span->end;
            free_uses(span->uses);
            continue;
        }
        races.spans[kept++] = *span;
    }
    memmove(races.spans + kept, races.spans + i, (races.n - i) * sizeof(*races.spans));
    races.n -= i - kept;
}

/* ---- one use ------------------------------------------------------------------------- */

static const char *name_of(enum sp_model_use_kind kind)
{
    static const char *const names[] = {
        [SP_USE_COPY_READ] = "a copy from",
        [SP_USE_COPY_WRITE] = "a copy to",
        [SP_USE_SET] = "a memset of",
        [SP_USE_KERNEL] = "a kernel with an argument to",
        [SP_USE_VALUE] = "a value's operation",
    };

    return names[kind];
}

/* Does a use of the span race with the new one? */
static bool is_race(const struct use *use, const struct use *now)
{
    bool is_own = use->at.slot == now->at.slot && use->at.seq == now->at.seq;

    return !is_own && (is_write(use->kind) || is_write(now->kind)) &&
           !sp_order_is_before(sp_model_order(), use->at, now->at.slot);
}

/* Of each operation one race is told, whatever it uses. */
static void tell_race(const struct span *span, const struct use *now)
{
    const struct use *use = span->uses;

    if (races.told.slot == now->at.slot && races.told.seq == now->at.seq)
        return;
    while (use != NULL && !is_race(use, now))
        use = use->next;
    if (use == NULL)
        return;
    races.told = now->at;
    sp_model_violation("race: %s %zu bytes at 0x%" PRIxPTR " in stream %" PRIu64
                       " (its operation %" PRIu64 ") is not ordered after %s %zu bytes at "
                       "0x%" PRIxPTR " in stream %" PRIu64 " (operation %" PRIu64 ")",
                       name_of(now->kind), now->size, now->start, now->stream_id, now->at.seq,
                       name_of(use->kind), use->size, use->start, use->stream_id, use->at.seq);
}

/* A write covers all uses: what comes after it comes after what it comes after. A read covers
 * the earlier ones of its stream. Without memory the new one is forgotten. */
static void enter(struct span *span, const struct use *now)
{
    struct use *use = span->uses, *copy;

    if (is_write(now->kind)) {
        free_uses(span->uses);
        span->uses = NULL;
        use = NULL;
    }
    while (use != NULL && (is_write(use->kind) || use->at.slot != now->at.slot))
        use = use->next;
    if (use != NULL) {
        copy = use->next;
        *use = *now;
        use->next = copy;
        return;
    }
    copy = malloc(sizeof(*copy));
    if (copy == NULL)
        return;
    *copy = *now;
    copy->next = span->uses;
    span->uses = copy;
}

/* Spans for all of a range, which begin and end with it; there is room for all that this may
 * need, since each gap has a span behind it, or is the last. */
static void cover(uintptr_t start, uintptr_t end)
{
    size_t i;

    split(start);
    split(end);
    for (i = find_span(start); start < end; i++) {
        uintptr_t next = i < races.n ? sp_min(races.spans[i].start, end) : end;

        if (next > start)
            insert(i, (struct span){start, next, NULL});
        start = races.spans[i].end;
    }
}

/* A range of n spans needs as many more, one for each gap, and three at its ends. */
static bool make_room(uintptr_t start, uintptr_t end)
{
    if (races.n >= MAX_SPANS) {
        tidy(0, UINTPTR_MAX);
        if (races.n >= MAX_SPANS / 2) {
            if (!races.has_told)
                sp_log(SP_LOG_WARN, "races: too many uses of memory at a time, so that some "
                                    "may not be found");
            races.has_told = true;
            forget_all();
        }
    }
    return reserve(find_span(end) - find_span(start) + 4);
}

void sp_model_races_use(const struct sp_model_stream *stream, struct sp_point at,
                        uintptr_t address, size_t size, enum sp_model_use_kind kind)
{
    struct use now = {at, stream->id, kind, address, size, NULL};
    uintptr_t end = address + size;
    size_t first;

    if (!is_on() || kind == SP_USE_VALUE || size == 0 || !make_room(address, end))
        return;
    cover(address, end);
    first = find_span(address);
    for (size_t i = first; i < races.n && races.spans[i].start < end; i++) {
        tell_race(&races.spans[i], &now);
        enter(&races.spans[i], &now);
    }
    tidy(first > 0 ? first - 1 : 0, end);
}

void sp_model_races_forget(uintptr_t base, size_t size)
{
    size_t first, last;

    if (races.n == 0 || !reserve(2))
        return;
    split(base);
    split(base + size);
    first = last = find_span(base);
    while (last < races.n && races.spans[last].start < base + size)
        free_uses(races.spans[last++].uses);
    memmove(races.spans + first, races.spans + last, (races.n - last) * sizeof(*races.spans));
    races.n -= last - first;
}

/* ---- launches ------------------------------------------------------------------------ */

void sp_model_races_note_end(const struct sp_model_stream *stream, struct sp_mark *end)
{
    if (!is_on())
        return;
    sp_mark_fini(end);
    (void)!sp_order_record(sp_model_order(), stream->slot, end);
}

void sp_model_races_follow(const struct sp_model_stream *stream, const struct sp_mark *end)
{
    if (is_on() && end->at.seq != 0)
        (void)!sp_order_wait(sp_model_order(), stream->slot, end);
}

/* ---- starting over ------------------------------------------------------------------- */

void sp_model_races_reset(void)
{
    forget_all();
    free(races.spans);
    memset(&races, 0, sizeof(races));
}

size_t sp_model_races_count(void)
{
    return races.n;
}
