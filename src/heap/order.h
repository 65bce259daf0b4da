/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Streams, and what is known to happen before what: each stream is a sequence of operations; a
 * mark is a point in one, with all that is known to come before it. Nothing here waits or runs
 * anything: it is told. No lock: its user holds one. */
#ifndef SP_ORDER_H
#define SP_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <starpool/base.h>

#include "src/heap/checker.h"
#include "src/util/util.h"

/* A stream's place in the table. A place is used again only when nothing of its last stream can
 * be mistaken for the new one's: sequence numbers of a place go on and never start again. */
typedef uint32_t sp_slot;

/* In place of a slot: whatever the host has seen finished. */
#define SP_SLOT_HOST ((sp_slot)UINT32_MAX)

/* A point in a stream: its operation number `seq`, and so everything before it. */
struct sp_point {
    sp_slot slot;
    uint64_t seq; /* 0: before the first operation */
};

/* A sparse vector clock: for each slot that has an entry, everything up to that point happens
 * before. Sorted by slot. */
struct sp_clock {
    struct sp_point *points; /* [n_points], room for `room` */
    uint32_t n_points, room;
};

/* A point with what is known there: what an event records. Holds memory: sp_mark_fini(). */
struct sp_mark {
    struct sp_point at;    /* seq 0 if the stream has had no operation */
    struct sp_clock known; /* without `at` itself */
    bool has_waited;       /* `known` has waits that came after the operation `at` */
};

struct sp_order_stream {
    uint64_t id;        /* unique for the life of the order */
    bool is_open;       /* not removed */
    uint32_t n_holds;   /* frees that wait in this slot; see sp_order_hold() */
    uint64_t first_seq; /* the stream's own operations are those above */
    uint64_t last_seq;  /* submitted */
    uint64_t done_seq;  /* executed */
    uint64_t seen_seq;  /* the host knows it to be executed: seen <= done <= last */
    bool has_waited;    /* since its last operation */
    struct sp_clock known;
    uint64_t epoch; /* the order's when done_seq or seen_seq last rose; 0: never */
    sp_slot newer,
        older; /* news of it is older than that of `newer`; SP_SLOT_HOST at the ends */
};

/*
 * Of the members, users read `n_slots`, `epoch`, `newest` and the streams' numbers and news;
 * the functions below are the only ones that write. Who has remembered `epoch` finds what has
 * risen since from `newest` on, by `older`, until a stream's epoch is not above that.
 */
struct sp_order {
    struct sp_order_stream *streams; /* [n_slots] */
    uint32_t n_slots, room;
    uint64_t last_id;
    uint64_t epoch;             /* rises whenever some done_seq or seen_seq does */
    uint64_t seen_epoch;        /* what it was when some seen_seq last rose */
    sp_slot newest;             /* the stream with the latest news; SP_SLOT_HOST: none */
    struct sp_clock scratch;    /* for merges */
    struct sp_checker *checker; /* NULL, or told everything */
};

void sp_order_init(struct sp_order *order);
void sp_order_fini(struct sp_order *order);

/* A new stream without operations. ENOMEM. */
STARPOOL_CHECK enum starpool_status sp_order_add_stream(struct sp_order *order,
                                                        sp_slot *slot_out);

/* The stream is destroyed: it gets no further operations, those it has may still execute. */
void sp_order_remove_stream(struct sp_order *order, sp_slot slot);

/* Its next operation. */
static inline struct sp_point sp_order_submit(struct sp_order *order, sp_slot slot)
{
    struct sp_order_stream *stream = &order->streams[slot];

    SP_ASSERT(slot < order->n_slots && stream->is_open);
    stream->last_seq++;
    stream->has_waited = false;
    if (SP_UNLIKELY(order->checker != NULL))
        sp_checker_submit(order->checker, slot, stream->last_seq);
    return (struct sp_point){slot, stream->last_seq};
}

/* What the last operation submitted to `slot` knows, as a mark. ENOMEM. */
STARPOOL_CHECK enum starpool_status sp_order_record(struct sp_order *order, sp_slot slot,
                                                    struct sp_mark *mark_out);
void sp_mark_fini(struct sp_mark *mark);

/* All that `slot` gets from now on comes after the mark. ENOMEM, and nothing changed. */
STARPOOL_CHECK enum starpool_status sp_order_wait(struct sp_order *order, sp_slot slot,
                                                  const struct sp_mark *mark);

/* The same for bare points: what comes before them is not known to come before. */
STARPOOL_CHECK enum starpool_status sp_order_wait_points(struct sp_order *order, sp_slot slot,
                                                         const struct sp_point *points,
                                                         size_t n_points);

/* The same for everything that `other` has been given up to now. */
STARPOOL_CHECK enum starpool_status sp_order_join(struct sp_order *order, sp_slot slot,
                                                  sp_slot other);

/* Everything of the slot up to `seq` has executed. A number below what is known is no news. */
void sp_order_executed(struct sp_order *order, sp_slot slot, uint64_t seq);

/* The host has waited for the mark, and so has seen it and all before it finished (they count
 * as executed from then on, too). */
void sp_order_see(struct sp_order *order, const struct sp_mark *mark);

/* The host has waited for all of a stream, or of all streams. */
void sp_order_see_stream(struct sp_order *order, sp_slot slot);
void sp_order_see_all(struct sp_order *order);

/* Does `point` come before whatever `slot` gets next? By the stream's own order, by a wait, or
 * because the host has seen it. SP_SLOT_HOST asks what the host has seen. */
bool sp_order_is_before(const struct sp_order *order, struct sp_point point, sp_slot slot);

/* The slot is not given to another stream while it is held. */
static inline void sp_order_hold(struct sp_order *order, sp_slot slot)
{
    order->streams[slot].n_holds++;
}

static inline void sp_order_release(struct sp_order *order, sp_slot slot)
{
    SP_ASSERT(order->streams[slot].n_holds > 0);
    order->streams[slot].n_holds--;
}

/* The highest number of `other` that is known to come before what `slot` gets next, without
 * what the host has seen; 0 if none is. */
uint64_t sp_order_known(const struct sp_order *order, sp_slot slot, sp_slot other);

bool sp_order_is_valid(const struct sp_order *order);

#endif /* SP_ORDER_H */
