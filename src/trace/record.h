/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where pools and streams say what they do. While nothing is recorded, each call is one branch
 * that is predicted. None of them waits, fails, or makes a system call, but for a thread's
 * first event. */
#ifndef SP_TRACE_RECORD_H
#define SP_TRACE_RECORD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <starpool/trace.h>

#include "src/trace/format.h"
#include "src/util/util.h"

/* True while a trace is being recorded. */
extern _Atomic bool sp_trace_is_on;

/* Begin the trace that the option TRACE wants; once a process, before pools look whether a
 * trace is on and before they see to forks: in a child traces must be off first. */
void sp_trace_setup(void);

/* When pools are told of a trace. */
enum sp_trace_moment {
    SP_TRACE_BEGINS,    /* nothing is recorded yet: make all further operations come here */
    SP_TRACE_HAS_BEGUN, /* announce the pools that there are */
    SP_TRACE_HAS_ENDED,
};

/* Call a function at these moments, in any thread, with no lock held. Between the first and the
 * last of them no other trace begins or ends. */
void sp_trace_set_watch(void (*watch)(enum sp_trace_moment moment));

/* Append an event to the calling thread's ring. `about` is from sp_trace_who(), without a
 * thread; the time is filled in. */
void sp_trace_add(uint64_t about, uint64_t address, uint64_t size, uint64_t stream,
                  uint64_t point);

/* Append a pool's name. */
void sp_trace_add_name(uint32_t pool, const char *name);

static inline bool sp_trace_wants(void)
{
    return SP_UNLIKELY(atomic_load_explicit(&sp_trace_is_on, memory_order_acquire));
}

static inline uint64_t sp_trace_about(unsigned kind, unsigned detail, uint32_t pool)
{
    return sp_trace_who(kind, detail, 0,
                        pool < SP_TRACE_MAX_NUMBER ? pool : SP_TRACE_MAX_NUMBER);
}

static inline uint64_t sp_trace_location(struct starpool_location location)
{
    return (uint64_t)(unsigned)location.kind << 32 | (uint32_t)location.id;
}

/* ---- pools ------------------------------------------------------------------------------ */

/* A pool has been made, or (`is_earlier`) was there when the trace began. */
static inline void sp_trace_pool_create(uint32_t pool, struct starpool_location location,
                                        uint64_t maximum, const char *name, bool is_earlier)
{
    if (!sp_trace_wants())
        return;
    sp_trace_add_name(pool, name);
    sp_trace_add(sp_trace_about(STARPOOL_TRACE_POOL_CREATE, 0, pool),
                 sp_trace_location(location), maximum, 0, is_earlier);
}

/* A pool has been given up by its user. */
static inline void sp_trace_pool_destroy(uint32_t pool)
{
    if (sp_trace_wants())
        sp_trace_add(sp_trace_about(STARPOOL_TRACE_POOL_DESTROY, 0, pool), 0, 0, 0, 0);
}

/* A block has been taken, at operation `point` of a stream; 0 and 0 for the host. */
static inline void sp_trace_alloc_at(uint32_t pool, const void *ptr, size_t size,
                                     uint64_t stream, uint64_t point,
                                     enum starpool_trace_edge edge)
{
    if (sp_trace_wants())
        sp_trace_add(sp_trace_about(STARPOOL_TRACE_ALLOC, edge, pool), (uintptr_t)ptr, size,
                     stream, point);
}

/* The same without a point, or a refusal. */
static inline void sp_trace_alloc(uint32_t pool, const void *ptr, size_t size, uint64_t stream,
                                  enum starpool_status status)
{
    if (status == STARPOOL_OK)
        sp_trace_alloc_at(pool, ptr, size, stream, 0, STARPOOL_TRACE_EDGE_NONE);
    else if (sp_trace_wants())
        sp_trace_add(sp_trace_about(STARPOOL_TRACE_REFUSE, (unsigned)-status, pool), 0, size,
                     stream, 0);
}

/* A live block is given back: to be called before anybody else can take its memory. */
static inline void sp_trace_free(uint32_t pool, const void *ptr, size_t size, uint64_t stream,
                                 uint64_t point)
{
    if (sp_trace_wants())
        sp_trace_add(sp_trace_about(STARPOOL_TRACE_FREE, 0, pool), (uintptr_t)ptr, size, stream,
                     point);
}

/* Memory has become a pool's; memory has gone back to the system. */
static inline void sp_trace_grow(uint32_t pool, uint64_t address, uint64_t size)
{
    if (sp_trace_wants())
        sp_trace_add(sp_trace_about(STARPOOL_TRACE_GROW, 0, pool), address, size, 0, 0);
}

static inline void sp_trace_release(uint32_t pool, uint64_t address, uint64_t size)
{
    if (sp_trace_wants())
        sp_trace_add(sp_trace_about(STARPOOL_TRACE_RELEASE, 0, pool), address, size, 0, 0);
}

/* The user has asked for a trim. */
static inline void sp_trace_trim(uint32_t pool, uint64_t keep)
{
    if (sp_trace_wants())
        sp_trace_add(sp_trace_about(STARPOOL_TRACE_TRIM, 0, pool), 0, keep, 0, 0);
}

/* ---- streams ---------------------------------------------------------------------------- */

static inline void sp_trace_stream_create(uint64_t stream, struct starpool_location location)
{
    if (sp_trace_wants())
        sp_trace_add(sp_trace_about(STARPOOL_TRACE_STREAM_CREATE, 0, 0),
                     sp_trace_location(location), 0, stream, 0);
}

/* Nothing of a stream is under way any more. */
static inline void sp_trace_stream_destroy(uint64_t stream)
{
    if (sp_trace_wants())
        sp_trace_add(sp_trace_about(STARPOOL_TRACE_STREAM_DESTROY, 0, 0), 0, 0, stream, 0);
}

/* A point was recorded; a stream waits for a point of another, whoever asked for it; a stream
 * is known to have executed so far; the host has waited for a stream (0: for all) or found it
 * to have executed, up to a point (0: all that was submitted). */
static inline void sp_trace_point(uint64_t stream, uint64_t point)
{
    if (sp_trace_wants())
        sp_trace_add(sp_trace_about(STARPOOL_TRACE_RECORD, 0, 0), 0, 0, stream, point);
}

static inline void sp_trace_wait(uint64_t stream, uint64_t other, uint64_t point)
{
    if (sp_trace_wants())
        sp_trace_add(sp_trace_about(STARPOOL_TRACE_WAIT, 0, 0), other, 0, stream, point);
}

static inline void sp_trace_executed(uint64_t stream, uint64_t point)
{
    if (sp_trace_wants())
        sp_trace_add(sp_trace_about(STARPOOL_TRACE_EXECUTED, 0, 0), 0, 0, stream, point);
}

static inline void sp_trace_synchronize(uint64_t stream, uint64_t point)
{
    if (sp_trace_wants())
        sp_trace_add(sp_trace_about(STARPOOL_TRACE_SYNCHRONIZE, 0, 0), 0, 0, stream, point);
}

#endif /* SP_TRACE_RECORD_H */
