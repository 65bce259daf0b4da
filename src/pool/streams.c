/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which stream a handle means, and how far the driver's streams have come. A stream of the
 * driver is known by the id that the driver gives it once and never again. How far streams have
 * come is progress.c's business, what a program asks of them stream.c's. */
#include "config.h"

#include "src/pool/streams.h"

#include <stdlib.h>

#include "src/heap/checker.h"
#include "src/pool/context.h"
#include "src/pool/ordered.h"
#include "src/pool/pool.h"
#include "src/trace/record.h"
#include "src/util/lock.h"
#include "src/util/options.h"
#include "src/util/util.h"

#define N_BUCKETS 1024

/* `by_slot[s]` is the stream in slot s, while anybody may ask for it; NULL: its operations have
 * all executed. Guarded by `lock`, which no call of the driver is made under. */
static struct {
    struct sp_lock lock;
    struct sp_order order;
    struct sp_stream *buckets[N_BUCKETS];
    struct sp_stream **by_slot;
    uint32_t room;
    struct sp_stream *doomed; /* retired, referenced: see reap() */
    bool is_started;
} streams = {.lock = SP_LOCK_INITIALIZER(SP_RANK_ORDER)};

/* With the lock. */
static void start(void)
{
    sp_order_init(&streams.order);
    if (sp_option_number(SP_OPTION_CHECKS) >= 2)
        streams.order.checker = sp_checker_create();
    streams.is_started = true;
}

void sp_streams_lock(void)
{
    sp_lock_take(&streams.lock);
    if (SP_UNLIKELY(!streams.is_started))
        start();
}

void sp_streams_unlock(void)
{
    sp_lock_give(&streams.lock);
}

struct sp_order *sp_streams_order(void)
{
    return &streams.order;
}

struct sp_stream *sp_streams_at(sp_slot slot)
{
    return slot < streams.order.n_slots ? streams.by_slot[slot] : NULL;
}

bool sp_streams_owns(const struct sp_stream *stream, struct sp_point point)
{
    return point.slot == stream->slot &&
           point.seq > streams.order.streams[stream->slot].first_seq;
}

uint64_t sp_streams_number(struct sp_point point)
{
    return point.slot == SP_SLOT_HOST ? STARPOOL_TRACE_HOST
                                      : streams.order.streams[point.slot].id;
}

/* ---- the table; all with the lock -------------------------------------------------------- */

static struct sp_stream **bucket_of(uint64_t key)
{
    return &streams.buckets[(key * 0x9e3779b97f4a7c15u) >> 54];
}

static uint64_t key_of(const struct sp_stream *stream)
{
    return stream->id != 0 ? stream->id : (uintptr_t)stream->handle;
}

static struct sp_stream *find_own(starpool_stream handle)
{
    struct sp_stream *stream = *bucket_of((uintptr_t)handle);

    while (stream != NULL && (stream->id != 0 || stream->handle != handle))
        stream = stream->next;
    return stream;
}

static struct sp_stream *find_adopted(uint64_t id)
{
    struct sp_stream *stream = *bucket_of(id);

    while (stream != NULL && stream->id != id)
        stream = stream->next;
    return stream;
}

static void unlink_stream(struct sp_stream *stream)
{
    struct sp_stream **link = bucket_of(key_of(stream));

    while (*link != stream)
        link = &(*link)->next;
    *link = stream->next;
}

static bool has_room(uint32_t n_slots)
{
    struct sp_stream **by_slot;
    uint32_t room = streams.room == 0 ? 64 : streams.room;

    while (room <= n_slots)
        room *= 2;
    if (room == streams.room)
        return true;
    by_slot = realloc(streams.by_slot, room * sizeof(struct sp_stream *));
    if (by_slot == NULL)
        return false;
    for (uint32_t i = streams.room; i < room; i++)
        by_slot[i] = NULL;
    streams.by_slot = by_slot;
    streams.room = room;
    return true;
}

/* A retired stream may be over, which is looked at when the lock is given. */
static void doom(struct sp_stream *stream)
{
    if (stream->is_doomed)
        return;
    stream->is_doomed = true;
    stream->n_references++;
    stream->next = streams.doomed;
    streams.doomed = stream;
}

/* Enter a stream, which gets a slot. */
static enum starpool_status add(struct sp_stream *stream)
{
    struct sp_stream **bucket = bucket_of(key_of(stream));
    enum starpool_status status = STARPOOL_ENOMEM;

    if (has_room(streams.order.n_slots))
        status = sp_order_add_stream(&streams.order, &stream->slot);
    if (status != STARPOOL_OK)
        return status;
    /* Of the last stream there everything has been seen. */
    if (streams.by_slot[stream->slot] != NULL)
        doom(streams.by_slot[stream->slot]);
    /* Whatever asks for the slot's stream must find the right one: it stays until that is gone.
     */
    sp_order_hold(&streams.order, stream->slot);
    streams.by_slot[stream->slot] = stream;
    stream->n_references = 1;
    stream->next = *bucket;
    *bucket = stream;
    stream->number = streams.order.streams[stream->slot].id;
    sp_trace_stream_create(stream->number, stream->location);
    return STARPOOL_OK;
}

static struct sp_order_stream *numbers_of(const struct sp_stream *stream)
{
    return &streams.order.streams[stream->slot];
}

/* True if nothing of a retired stream is under way any more. */
static bool is_over(const struct sp_stream *stream)
{
    const struct sp_order_stream *numbers = numbers_of(stream);

    if (!stream->is_retired || stream->n_references > 0)
        return false;
    if (numbers->seen_seq >= stream->last_seq)
        return true;
    return stream->driver != NULL ? stream->events[0].seq == 0 && stream->events[1].seq == 0
                                  : numbers->done_seq >= stream->last_seq;
}

bool sp_streams_has_gone(const struct sp_stream *stream)
{
    return stream->witness != NULL && !sp_hidden_stream_lives(stream->driver, stream->witness);
}

static void free_stream(struct sp_stream *stream)
{
    bool has_events = stream->witness != NULL && !sp_streams_has_gone(stream);

    for (uint32_t i = 0; i < stream->n_marks; i++)
        sp_mark_fini(&stream->marks[i]);
    free(stream->marks);
    /* Events go with their context, also one that is not known to stay: their handles may be
     * others'. */
    for (size_t i = 0; i < SP_ARRAY_SIZE(stream->events) && has_events; i++) {
        if (stream->events[i].event != NULL)
            (void)stream->driver->cuEventDestroy(stream->events[i].event);
    }
    free(stream);
}

static void retire(struct sp_stream *stream)
{
    unlink_stream(stream);
    stream->is_retired = true;
    stream->last_seq = numbers_of(stream)->last_seq;
    sp_order_remove_stream(&streams.order, stream->slot);
}

void sp_streams_put(struct sp_stream *stream)
{
    bool is_last;

    sp_streams_lock();
    stream->n_references--;
    is_last = is_over(stream);
    if (is_last) {
        /* Not before: how far it has come is told as long as anybody asks. */
        sp_trace_stream_destroy(stream->number);
        if (streams.by_slot[stream->slot] == stream)
            streams.by_slot[stream->slot] = NULL;
        /* Behind allocations there is no event, and nothing can wait for them any more. */
        sp_order_executed(&streams.order, stream->slot, stream->last_seq);
        sp_order_release(&streams.order, stream->slot);
    }
    sp_streams_unlock();
    if (is_last)
        free_stream(stream);
}

/* Without the lock: let go of those that are over. */
static void reap(void)
{
    struct sp_stream *stream;

    do {
        sp_streams_lock();
        stream = streams.doomed;
        if (stream != NULL) {
            streams.doomed = stream->next;
            stream->is_doomed = false;
        }
        sp_streams_unlock();
        if (stream != NULL)
            sp_streams_put(stream);
    } while (stream != NULL);
}

/* ---- streams of our own ------------------------------------------------------------------ */

static bool location_is_valid(struct starpool_location location)
{
    switch (location.kind) {
    case STARPOOL_DEVICE:
        return location.id >= 0;
    case STARPOOL_HOST:
        return location.id == 0;
    case STARPOOL_HOST_NUMA:
        return location.id >= STARPOOL_ID_NEAREST;
    case STARPOOL_NONE:
    default:
        return false;
    }
}

enum starpool_status starpool_stream_create(struct starpool_location location,
                                            starpool_stream *stream_out)
{
    struct sp_stream *stream;
    enum starpool_status status;

    if (stream_out == NULL || !location_is_valid(location))
        return STARPOOL_EINVAL;
    sp_pool_setup(); /* Of a stream that comes before all pools, a trace tells, too. */
    stream = calloc(1, sizeof(*stream));
    if (stream == NULL)
        return STARPOOL_ENOMEM;
    stream->handle = (starpool_stream)stream;
    stream->location = location;
    sp_streams_lock();
    status = add(stream);
    if (status == STARPOOL_OK)
        stream->n_references = 0;
    sp_streams_unlock();
    reap();
    if (status != STARPOOL_OK) {
        free(stream);
        return status;
    }
    *stream_out = stream->handle;
    return STARPOOL_OK;
}

void starpool_stream_destroy(starpool_stream handle)
{
    struct sp_stream *stream;

    if (handle == NULL)
        return;
    sp_streams_lock();
    stream = find_own(handle);
    if (stream != NULL) {
        sp_streams_try_to_execute(stream);
        retire(stream);
        stream->n_references++;
    }
    sp_streams_unlock();
    if (stream == NULL)
        return;
    sp_streams_put(stream);
    sp_ordered_settle_all();
}

/* ---- streams of the driver --------------------------------------------------------------- */

static enum starpool_status make_events(struct sp_stream *stream)
{
    const struct sp_driver *driver = stream->driver;
    struct sp_context context;
    enum starpool_status status = sp_driver_status(
        driver->cuStreamGetCtx(stream->handle, &stream->context), "cuStreamGetCtx");

    if (status == STARPOOL_OK)
        status = sp_context_enter_as(driver, stream->context, &context);
    if (status != STARPOOL_OK)
        return status;
    status = sp_context_keep(driver, stream->context, &stream->witness);
    for (size_t i = 0; i < SP_ARRAY_SIZE(stream->events) && status == STARPOOL_OK; i++)
        status = sp_driver_status(
            driver->cuEventCreate(&stream->events[i].event, SP_CU_EVENT_DISABLE_TIMING),
            "cuEventCreate");
    sp_context_leave(&context);
    return status;
}

/* These handles mean several streams at a time. */
static bool is_special(starpool_stream handle)
{
    return handle == STARPOOL_STREAM_LEGACY || handle == STARPOOL_STREAM_PER_THREAD;
}

/* With the lock: what had the handle before has been destroyed, or the id would be the same. */
static void retire_namesake(const struct sp_stream *stream)
{
    if (is_special(stream->handle))
        return;
    for (sp_slot slot = 0; slot < streams.order.n_slots; slot++) {
        struct sp_stream *other = streams.by_slot[slot];

        if (other != NULL && other != stream && !other->is_retired && other->driver != NULL &&
            other->handle == stream->handle) {
            retire(other);
            doom(other);
        }
    }
}

static enum starpool_status adopt(const struct sp_driver *driver, starpool_stream handle,
                                  uint64_t id, struct sp_stream **stream_out)
{
    struct sp_stream *stream = calloc(1, sizeof(*stream)), *first = NULL;
    enum starpool_status status;

    if (stream == NULL)
        return STARPOOL_ENOMEM;
    stream->handle = handle;
    stream->driver = driver;
    stream->id = id;
    status = make_events(stream);
    if (status == STARPOOL_OK && sp_trace_wants())
        status = sp_streams_location(stream, &stream->location);
    if (status == STARPOOL_OK) {
        sp_streams_lock();
        first = find_adopted(id);
        if (first != NULL)
            first->n_references++;
        else
            status = add(stream);
        if (first == NULL && status == STARPOOL_OK)
            retire_namesake(stream);
        sp_streams_unlock();
        reap();
    }
    if (first != NULL || status != STARPOOL_OK)
        free_stream(stream);
    if (status == STARPOOL_OK)
        *stream_out = first != NULL ? first : stream;
    return status;
}

/* A special stream may keep its id where its context was reset, and our events are no more. */
static void replace(struct sp_stream *stream)
{
    sp_streams_lock();
    if (!stream->is_retired)
        retire(stream);
    sp_streams_unlock();
    sp_streams_put(stream);
}

/* What a stream of the driver is called, if it may be asked: while it is captured, even that
 * would end the capture. */
static enum starpool_status identify(const struct sp_driver *driver, starpool_stream handle,
                                     unsigned long long *id_out)
{
    struct sp_capture capture;
    enum starpool_status status = sp_capture_query(driver, handle, &capture);
    sp_cu_result result;

    if (status != STARPOOL_OK)
        return status;
    if (capture.is_active)
        return STARPOOL_ECAPTURE_UNSUPPORTED;
    result = driver->cuStreamGetId(handle, id_out);
    status = sp_driver_status(result, "cuStreamGetId");
    return result == SP_CU_INVALID_HANDLE ? STARPOOL_EINVAL : status;
}

static enum starpool_status get_adopted(starpool_stream handle, struct sp_stream **stream_out)
{
    const struct sp_driver *driver;
    unsigned long long id = 0;
    enum starpool_status status;
    struct sp_stream *stream;

    if (sp_driver_get(&driver) != STARPOOL_OK)
        return STARPOOL_EINVAL;
    if (handle == NULL)
        handle = STARPOOL_STREAM_LEGACY;
    status = identify(driver, handle, &id);
    if (status != STARPOOL_OK)
        return status;
    sp_streams_lock();
    stream = find_adopted(id);
    if (stream != NULL)
        stream->n_references++;
    sp_streams_unlock();
    if (stream != NULL && is_special(handle) && sp_streams_has_gone(stream)) {
        replace(stream);
        stream = NULL;
    }
    if (stream == NULL)
        return adopt(driver, handle, id, stream_out);
    *stream_out = stream;
    return STARPOOL_OK;
}

enum starpool_status sp_streams_get(starpool_stream handle, struct sp_stream **stream_out)
{
    struct sp_stream *stream;

    if (handle == STARPOOL_STREAM_HOST)
        return STARPOOL_EINVAL;
    sp_streams_lock();
    stream = find_own(handle);
    if (stream != NULL)
        stream->n_references++;
    sp_streams_unlock();
    if (stream == NULL)
        return get_adopted(handle, stream_out);
    *stream_out = stream;
    return STARPOOL_OK;
}

bool sp_streams_is_own(starpool_stream handle)
{
    bool answer;

    sp_streams_lock();
    answer = find_own(handle) != NULL;
    sp_streams_unlock();
    return answer;
}

struct sp_stream *sp_streams_get_at(struct sp_point point)
{
    struct sp_stream *stream, *again = NULL;
    struct sp_context context;

    sp_streams_lock();
    stream = sp_streams_at(point.slot);
    if (stream != NULL && (stream->driver == NULL || stream->is_retired))
        stream = NULL;
    if (stream != NULL)
        stream->n_references++;
    sp_streams_unlock();
    if (stream == NULL)
        return NULL;
    if (sp_context_enter_as(stream->driver, stream->context, &context) == STARPOOL_OK) {
        if (sp_streams_get(stream->handle, &again) != STARPOOL_OK)
            again = NULL;
        sp_context_leave(&context);
    }
    sp_streams_put(stream);
    if (again == stream || again == NULL)
        return again;
    sp_streams_put(again);
    return NULL;
}

enum starpool_status sp_streams_location(struct sp_stream *stream,
                                         struct starpool_location *location_out)
{
    struct sp_context context;
    sp_cu_device device = 0;
    enum starpool_status status;

    if (stream->driver == NULL) {
        *location_out = stream->location;
        return STARPOOL_OK;
    }
    status = sp_context_enter_as(stream->driver, stream->context, &context);
    if (status != STARPOOL_OK)
        return status;
    status = sp_driver_status(stream->driver->cuCtxGetDevice(&device), "cuCtxGetDevice");
    sp_context_leave(&context);
    if (status == STARPOOL_OK)
        *location_out = (struct starpool_location){STARPOOL_DEVICE, device};
    return status;
}

/* ---- forks ------------------------------------------------------------------------------- */

void sp_streams_freeze(void)
{
    sp_lock_take_all(&streams.lock);
}

void sp_streams_thaw(void)
{
    sp_lock_give_all(&streams.lock);
}
