/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sparse vector clocks over streams. What the host has seen finished is before everything, so
 * that clocks need no entry for it: such entries are left out whenever a clock is merged or
 * copied, and never make a difference where they still stand. The tables come from realloc().
 */
#include "config.h"

#include "src/heap/order.h"

#include <stdlib.h>
#include <string.h>

#include "src/heap/checker.h"
#include "src/util/util.h"

#define MIN_ROOM 8

void sp_order_init(struct sp_order *order)
{
    memset(order, 0, sizeof(*order));
    order->newest = SP_SLOT_HOST;
}

void sp_order_fini(struct sp_order *order)
{
    for (sp_slot slot = 0; slot < order->n_slots; slot++)
        free(order->streams[slot].known.points);
    free(order->streams);
    free(order->scratch.points);
    memset(order, 0, sizeof(*order));
}

static inline struct sp_order_stream *stream_at(const struct sp_order *order, sp_slot slot)
{
    SP_ASSERT(slot < order->n_slots);
    return &order->streams[slot];
}

/* ---- clocks -------------------------------------------------------------------------- */

static bool reserve(struct sp_clock *clock, size_t n_points)
{
    struct sp_point *points;
    size_t room = sp_max(MIN_ROOM, clock->room);

    if (n_points <= clock->room)
        return true;
    while (room < n_points)
        room *= 2;
    points = realloc(clock->points, room * sizeof(*points));
    if (points == NULL)
        return false;
    clock->points = points;
    clock->room = (uint32_t)room;
    return true;
}

/* The index of the first entry that is not below a slot. */
static inline uint32_t lower_bound(const struct sp_clock *clock, sp_slot slot)
{
    uint32_t first = 0, n = clock->n_points;

    while (n > 0) {
        uint32_t half = n / 2;

        if (clock->points[first + half].slot < slot) {
            first += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return first;
}

/* 0 if the clock has no entry. */
static inline uint64_t clock_seq(const struct sp_clock *clock, sp_slot slot)
{
    uint32_t i = lower_bound(clock, slot);

    return i < clock->n_points && clock->points[i].slot == slot ? clock->points[i].seq : 0;
}

/* There is room for one entry more. */
static void clock_raise(struct sp_clock *clock, struct sp_point point)
{
    uint32_t i = lower_bound(clock, point.slot);

    if (i < clock->n_points && clock->points[i].slot == point.slot) {
        if (clock->points[i].seq < point.seq)
            clock->points[i].seq = point.seq;
        return;
    }
    memmove(&clock->points[i + 1], &clock->points[i],
            (clock->n_points - i) * sizeof(*clock->points));
    clock->points[i] = point;
    clock->n_points++;
}

/* Whether an entry says more in the clock of `slot` than the host and the stream itself do. */
static inline bool is_worth_keeping(const struct sp_order *order, sp_slot slot,
                                    struct sp_point point)
{
    const struct sp_order_stream *stream = stream_at(order, point.slot);

    return point.seq > stream->seen_seq &&
           !(point.slot == slot && point.seq > stream->first_seq);
}

static void prune(const struct sp_order *order, sp_slot slot)
{
    struct sp_clock *clock = &order->streams[slot].known;
    uint32_t n = 0;

    for (uint32_t i = 0; i < clock->n_points; i++) {
        if (is_worth_keeping(order, slot, clock->points[i]))
            clock->points[n++] = clock->points[i];
    }
    clock->n_points = n;
}

/* Merge a clock into that of `slot`, through the scratch clock, which has room. */
static void clock_merge(struct sp_order *order, sp_slot slot, const struct sp_clock *from)
{
    struct sp_clock *known = &order->streams[slot].known, merged = order->scratch;
    uint32_t a = 0, b = 0;

    merged.n_points = 0;
    while (a < known->n_points || b < from->n_points) {
        struct sp_point point;

        if (b == from->n_points ||
            (a < known->n_points && known->points[a].slot < from->points[b].slot)) {
            point = known->points[a++];
        } else if (a == known->n_points || known->points[a].slot > from->points[b].slot) {
            point = from->points[b++];
        } else {
            point = known->points[a++];
            if (point.seq < from->points[b].seq)
                point.seq = from->points[b].seq;
            b++;
        }
        if (is_worth_keeping(order, slot, point))
            merged.points[merged.n_points++] = point;
    }
    order->scratch = *known;
    *known = merged;
}

/* ---- streams ------------------------------------------------------------------------- */

static bool is_reusable(const struct sp_order_stream *stream)
{
    if (stream->is_open)
        return false;
    return stream->seen_seq == stream->last_seq ||
           (stream->done_seq == stream->last_seq && stream->n_holds == 0);
}

static bool find_slot(struct sp_order *order, sp_slot *slot_out)
{
    struct sp_order_stream *streams;
    uint32_t room;

    for (sp_slot slot = 0; slot < order->n_slots; slot++) {
        if (is_reusable(&order->streams[slot])) {
            *slot_out = slot;
            return true;
        }
    }
    if (order->n_slots == order->room) {
        room = order->room == 0 ? MIN_ROOM : 2 * order->room;
        streams = realloc(order->streams, room * sizeof(*streams));
        if (streams == NULL)
            return false;
        order->streams = streams;
        order->room = room;
    }
    *slot_out = order->n_slots++;
    order->streams[*slot_out] =
        (struct sp_order_stream){.newer = SP_SLOT_HOST, .older = SP_SLOT_HOST};
    return true;
}

enum starpool_status sp_order_add_stream(struct sp_order *order, sp_slot *slot_out)
{
    struct sp_order_stream *stream;
    sp_slot slot;

    if (!find_slot(order, &slot))
        return STARPOOL_ENOMEM;
    stream = &order->streams[slot];
    stream->id = ++order->last_id;
    stream->is_open = true;
    stream->first_seq = stream->last_seq;
    stream->has_waited = false;
    stream->known.n_points = 0;
    if (order->checker != NULL)
        sp_checker_stream(order->checker, slot, stream->id);
    *slot_out = slot;
    return STARPOOL_OK;
}

void sp_order_remove_stream(struct sp_order *order, sp_slot slot)
{
    struct sp_order_stream *stream = stream_at(order, slot);

    SP_ASSERT(stream->is_open);
    stream->is_open = false;
}

/* ---- marks and waits ----------------------------------------------------------------- */

/* What a stream's next operation would know, as a mark that borrows the stream's clock. */
static struct sp_mark end_of(const struct sp_order_stream *stream, sp_slot slot)
{
    return (struct sp_mark){
        /* Without an operation of its own the stream knows nothing of its slot's last one. */
        .at = {slot, stream->last_seq > stream->first_seq ? stream->last_seq : 0},
        .known = stream->known,
        .has_waited = stream->has_waited,
    };
}

enum starpool_status sp_order_record(struct sp_order *order, sp_slot slot,
                                     struct sp_mark *mark_out)
{
    struct sp_mark mark = end_of(stream_at(order, slot), slot);

    if (mark.known.n_points > 0) {
        prune(order, slot);
        mark.known = (struct sp_clock){.n_points = order->streams[slot].known.n_points};
        mark.known.room = mark.known.n_points;
    }
    if (mark.known.n_points == 0) {
        mark.known = (struct sp_clock){.points = NULL};
    } else {
        size_t bytes = mark.known.n_points * sizeof(*mark.known.points);

        mark.known.points = malloc(bytes);
        if (mark.known.points == NULL)
            return STARPOOL_ENOMEM;
        memcpy(mark.known.points, order->streams[slot].known.points, bytes);
    }
    *mark_out = mark;
    return STARPOOL_OK;
}

void sp_mark_fini(struct sp_mark *mark)
{
    free(mark->known.points);
    memset(mark, 0, sizeof(*mark));
}

/* The checker knows by itself what an operation knew when it was submitted, but not what its
 * stream waited for between that operation and the mark. */
static void tell_wait(const struct sp_order *order, sp_slot slot, const struct sp_mark *mark)
{
    if (mark->at.seq != 0)
        sp_checker_wait(order->checker, slot, mark->at.slot, mark->at.seq);
    for (uint32_t i = 0; mark->has_waited && i < mark->known.n_points; i++) {
        const struct sp_point *point = &mark->known.points[i];

        sp_checker_wait(order->checker, slot, point->slot, point->seq);
    }
}

enum starpool_status sp_order_wait(struct sp_order *order, sp_slot slot,
                                   const struct sp_mark *mark)
{
    struct sp_order_stream *stream = stream_at(order, slot);
    size_t n_most = (size_t)stream->known.n_points + mark->known.n_points + 1;

    if (mark->known.n_points > 0) {
        if (!reserve(&order->scratch, n_most))
            return STARPOOL_ENOMEM;
        clock_merge(order, slot, &mark->known);
    } else if (!reserve(&stream->known, n_most)) {
        return STARPOOL_ENOMEM;
    }
    if (mark->at.seq != 0 && is_worth_keeping(order, slot, mark->at))
        clock_raise(&stream->known, mark->at);
    stream->has_waited = true;
    if (SP_UNLIKELY(order->checker != NULL))
        tell_wait(order, slot, mark);
    return STARPOOL_OK;
}

enum starpool_status sp_order_wait_points(struct sp_order *order, sp_slot slot,
                                          const struct sp_point *points, size_t n_points)
{
    struct sp_order_stream *stream = stream_at(order, slot);

    if (!reserve(&stream->known, stream->known.n_points + n_points))
        return STARPOOL_ENOMEM;
    for (size_t i = 0; i < n_points; i++) {
        if (is_worth_keeping(order, slot, points[i]))
            clock_raise(&stream->known, points[i]);
        if (order->checker != NULL)
            sp_checker_wait(order->checker, slot, points[i].slot, points[i].seq);
    }
    stream->has_waited = true;
    return STARPOOL_OK;
}

enum starpool_status sp_order_join(struct sp_order *order, sp_slot slot, sp_slot other)
{
    struct sp_mark mark = end_of(stream_at(order, other), other);

    return slot == other ? STARPOOL_OK : sp_order_wait(order, slot, &mark);
}

/* ---- what has executed and what the host has seen ------------------------------------ */

/* Make the stream the one with the latest news. */
static void note_news(struct sp_order *order, sp_slot slot)
{
    struct sp_order_stream *stream = &order->streams[slot];

    stream->epoch = ++order->epoch;
    if (order->newest == slot)
        return;
    if (stream->newer != SP_SLOT_HOST)
        order->streams[stream->newer].older = stream->older;
    if (stream->older != SP_SLOT_HOST)
        order->streams[stream->older].newer = stream->newer;
    stream->newer = SP_SLOT_HOST;
    stream->older = order->newest;
    if (order->newest != SP_SLOT_HOST)
        order->streams[order->newest].newer = slot;
    order->newest = slot;
}

void sp_order_executed(struct sp_order *order, sp_slot slot, uint64_t seq)
{
    struct sp_order_stream *stream = stream_at(order, slot);

    SP_ASSERT(seq <= stream->last_seq);
    if (seq <= stream->done_seq)
        return;
    stream->done_seq = seq;
    note_news(order, slot);
    if (SP_UNLIKELY(order->checker != NULL))
        sp_checker_executed(order->checker, slot, seq);
}

static void see_point(struct sp_order *order, struct sp_point point)
{
    struct sp_order_stream *stream = stream_at(order, point.slot);

    SP_ASSERT(point.seq <= stream->last_seq);
    if (point.seq <= stream->seen_seq)
        return;
    stream->seen_seq = point.seq;
    if (stream->done_seq < point.seq)
        stream->done_seq = point.seq;
    note_news(order, point.slot);
    order->seen_epoch = order->epoch;
    if (SP_UNLIKELY(order->checker != NULL))
        sp_checker_see(order->checker, point.slot, point.seq);
}

void sp_order_see(struct sp_order *order, const struct sp_mark *mark)
{
    for (uint32_t i = 0; i < mark->known.n_points; i++)
        see_point(order, mark->known.points[i]);
    if (mark->at.seq != 0)
        see_point(order, mark->at);
}

void sp_order_see_stream(struct sp_order *order, sp_slot slot)
{
    struct sp_mark mark = end_of(stream_at(order, slot), slot);

    sp_order_see(order, &mark);
    order->streams[slot].known.n_points = 0;
}

void sp_order_see_all(struct sp_order *order)
{
    for (sp_slot slot = 0; slot < order->n_slots; slot++) {
        see_point(order, (struct sp_point){slot, order->streams[slot].last_seq});
        order->streams[slot].known.n_points = 0;
    }
}

/* ---- questions ----------------------------------------------------------------------- */

bool sp_order_is_before(const struct sp_order *order, struct sp_point point, sp_slot slot)
{
    const struct sp_order_stream *stream;

    if (point.slot == SP_SLOT_HOST)
        return true;
    if (point.seq <= stream_at(order, point.slot)->seen_seq)
        return true;
    if (slot == SP_SLOT_HOST)
        return false;
    /* A gone stream's had executed when its place was given to another. */
    if (point.seq <= stream_at(order, point.slot)->first_seq)
        return true;
    stream = stream_at(order, slot);
    if (point.slot == slot && point.seq > stream->first_seq)
        return point.seq <= stream->last_seq;
    return point.seq <= clock_seq(&stream->known, point.slot);
}

uint64_t sp_order_known(const struct sp_order *order, sp_slot slot, sp_slot other)
{
    const struct sp_order_stream *stream = stream_at(order, slot);
    uint64_t seq;

    if (other == slot && stream->last_seq > stream->first_seq)
        seq = stream->last_seq;
    else
        seq = clock_seq(&stream->known, other);
    return seq > stream_at(order, other)->seen_seq ? seq : 0;
}

/* ---- invariants ---------------------------------------------------------------------- */

static bool clock_is_valid(const struct sp_order *order, const struct sp_clock *clock)
{
    if (clock->n_points > clock->room)
        return false;
    for (uint32_t i = 0; i < clock->n_points; i++) {
        struct sp_point point = clock->points[i];

        if (point.slot >= order->n_slots || point.seq == 0 ||
            point.seq > order->streams[point.slot].last_seq)
            return false;
        if (i > 0 && clock->points[i - 1].slot >= point.slot)
            return false;
    }
    return true;
}

/* Every stream that has news is in the list once, later news first. */
static bool news_are_valid(const struct sp_order *order)
{
    uint32_t n = 0, n_listed = 0;
    sp_slot newer = SP_SLOT_HOST;
    uint64_t epoch = order->epoch + 1;

    for (sp_slot slot = 0; slot < order->n_slots; slot++)
        n += order->streams[slot].epoch != 0;
    for (sp_slot slot = order->newest; slot != SP_SLOT_HOST;
         slot = order->streams[slot].older) {
        if (slot >= order->n_slots || order->streams[slot].newer != newer ||
            order->streams[slot].epoch >= epoch || order->streams[slot].epoch == 0)
            return false;
        epoch = order->streams[slot].epoch;
        newer = slot;
        n_listed++;
    }
    return n == n_listed;
}

bool sp_order_is_valid(const struct sp_order *order)
{
    if (order->n_slots > order->room)
        return false;
    for (sp_slot slot = 0; slot < order->n_slots; slot++) {
        const struct sp_order_stream *stream = &order->streams[slot];

        if (stream->seen_seq > stream->done_seq || stream->done_seq > stream->last_seq ||
            stream->first_seq > stream->last_seq || stream->id == 0 ||
            stream->id > order->last_id)
            return false;
        if (!clock_is_valid(order, &stream->known))
            return false;
    }
    return news_are_valid(order);
}
