/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What pools did, recorded in a file and read back. */
#ifndef STARPOOL_TRACE_H
#define STARPOOL_TRACE_H

#include <starpool/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Every kind of event, once: name, number in the file, word in CSV and JSON. Other numbers come
 * from a later version; a reader gets them as they are. What is not named below is 0.
 *
 * Each has time and thread. POOL_CREATE: pool, location, size (its maximum), name, is_earlier.
 * POOL_DESTROY: pool. STREAM_CREATE: stream, location. STREAM_DESTROY: stream. ALLOC: pool,
 * address, size, stream, point, edge. REFUSE: pool, size, stream, status. FREE: pool, address,
 * size, stream, point. GROW, RELEASE: pool, address, size. TRIM: pool, size (what was to be
 * kept). RECORD: stream, point. WAIT: stream, other, point (of `other`). EXECUTED: stream,
 * point, known to be executed though nobody waited. SYNCHRONIZE: stream (0: all of them),
 * point; the host knows everything up to there to be executed. Of these two, point 0 is all
 * that was submitted, waits at the end included. END: the last of a whole trace; n_lost.
 */
#define STARPOOL_TRACE_MAP(X)              \
    X(POOL_CREATE, 1, "pool-create")       \
    X(POOL_DESTROY, 2, "pool-destroy")     \
    X(STREAM_CREATE, 3, "stream-create")   \
    X(STREAM_DESTROY, 4, "stream-destroy") \
    X(ALLOC, 5, "alloc")                   \
    X(REFUSE, 6, "refuse")                 \
    X(FREE, 7, "free")                     \
    X(GROW, 8, "grow")                     \
    X(RELEASE, 9, "release")               \
    X(TRIM, 10, "trim")                    \
    X(RECORD, 11, "record")                \
    X(WAIT, 12, "wait")                    \
    X(EXECUTED, 13, "executed")            \
    X(SYNCHRONIZE, 14, "synchronize")      \
    X(END, 255, "end")

/** The kind of an event; see STARPOOL_TRACE_MAP. */
enum starpool_trace_kind {
#define STARPOOL_TRACE_ENUM(name, number, word) STARPOOL_TRACE_##name = number,
    STARPOOL_TRACE_MAP(STARPOOL_TRACE_ENUM)
#undef STARPOOL_TRACE_ENUM
};

/** In place of a stream's number: ordered by the host, see STARPOOL_STREAM_HOST. */
#define STARPOOL_TRACE_HOST ((uint64_t)0)

/** What made a block's memory free for its stream. */
enum starpool_trace_edge {
    STARPOOL_TRACE_EDGE_NONE,     /**< it is not known */
    STARPOOL_TRACE_EDGE_FRESH,    /**< nothing had been there since the pool grew */
    STARPOOL_TRACE_EDGE_STREAM,   /**< it was freed in the same stream */
    STARPOOL_TRACE_EDGE_SEEN,     /**< the host had seen the free executed */
    STARPOOL_TRACE_EDGE_EVENT,    /**< the stream waits for the free, directly or not */
    STARPOOL_TRACE_EDGE_EXECUTED, /**< the free had executed, though nobody had waited for it */
    STARPOOL_TRACE_EDGE_INTERNAL, /**< a wait for the free was added */
    STARPOOL_TRACE_N_EDGES
};

/** One event. */
struct starpool_trace_record {
    int kind;         /**< an enum starpool_trace_kind, or a number of a later version */
    uint64_t time_ns; /**< [ns] since the trace began */
    uint32_t thread;  /**< threads are numbered from 1 in the order of their first events */
    uint32_t pool;    /**< pools are numbered from 1 in the order of their creation */
    uint64_t stream;  /**< unique in the process; STARPOOL_TRACE_HOST: none */
    uint64_t other;   /**< the stream that is waited for */
    uint64_t point;   /**< the operation's number in its stream; 0: not known */
    uint64_t address; /**< where a block or a piece of memory begins */
    uint64_t size;    /**< [bytes] */
    enum starpool_status status;       /**< why a request was refused */
    enum starpool_trace_edge edge;     /**< why a block's memory could be taken */
    struct starpool_location location; /**< of a new pool or stream */
    bool is_earlier;                   /**< the pool was there when the trace began */
    uint64_t n_lost;  /**< events that were not recorded, because they came too fast */
    const char *name; /**< of a new pool, else ""; valid until the next call */
};

/**
 * Record into a file from now on what every pool does.
 *
 * An event takes some nanoseconds of the thread that causes it; a thread of the library's
 * writes the file. A thread whose events come faster than they are written never waits: the
 * events are lost and counted. The file is whole after starpool_trace_end() or a normal end of
 * the process; after a crash it can be read up to what had been written. A forked child records
 * nothing. The option STARPOOL_TRACE calls this at the start of the program.
 *
 * @param path  the file, made or replaced, readable by its owner only; %p stands for the
 * process number, %% for a percent sign; links are not followed
 *
 * @retval STARPOOL_OK      recording
 * @retval STARPOOL_EINVAL  `path` is NULL, empty or too long
 * @retval STARPOOL_EBUSY   a trace is being recorded already
 * @retval STARPOOL_EIO     the file cannot be made; the reason is logged
 * @retval STARPOOL_ENOMEM  no memory, or no thread
 *
 * Threads: any, at once.
 */
STARPOOL_API STARPOOL_CHECK enum starpool_status starpool_trace_begin(const char *path);

/**
 * Stop recording, and finish the file.
 *
 * What other threads do at the same moment may or may not be in it. Lost events are logged
 * once.
 *
 * @retval STARPOOL_OK       the file is whole
 * @retval STARPOOL_ENOTINIT nothing is being recorded
 * @retval STARPOOL_EIO      the file could not be written; it has what came before
 *
 * Threads: any, at once.
 */
STARPOOL_API enum starpool_status starpool_trace_end(void);

struct starpool_trace; /* opaque; made by starpool_trace_open() */

/**
 * Open a trace for reading.
 *
 * Only whether the file can be read is told here. What is wrong inside is told when
 * starpool_trace_next() comes to it, so that starpool_trace_error() can say where.
 *
 * @param path        the file; it may still be growing, and is read as it is now
 * @param reader_out  written only on STARPOOL_OK; to be closed
 *
 * @retval STARPOOL_OK       `*reader_out` is set
 * @retval STARPOOL_EINVAL   an argument is NULL
 * @retval STARPOOL_EIO      there is no such file, or it cannot be read
 * @retval STARPOOL_ENOTPERM it is not readable for this process
 * @retval STARPOOL_ENOMEM   no memory for the reader's own data
 *
 * Threads: any, at once.
 */
STARPOOL_API STARPOOL_CHECK enum starpool_status
starpool_trace_open(const char *path, struct starpool_trace **reader_out);

/**
 * The next event, in the order of time.
 *
 * The last event of a whole trace is STARPOOL_TRACE_END; it comes again if more is asked for.
 * So does an error.
 *
 * @param reader      from starpool_trace_open()
 * @param record_out  written only on STARPOOL_OK
 *
 * @retval STARPOOL_OK       `*record_out` is set
 * @retval STARPOOL_EINVAL   a pointer is NULL, the file is no trace, or it is damaged
 * @retval STARPOOL_ENOTSUP  the trace is of a later version
 * @retval STARPOOL_EIO      the trace has no end (the program is running, or has crashed), or
 * the file cannot be read; all that is there has been given
 *
 * Threads: one at a time for each reader.
 */
STARPOOL_API STARPOOL_CHECK enum starpool_status
starpool_trace_next(struct starpool_trace *reader, struct starpool_trace_record *record_out);

/**
 * Why starpool_trace_next() answered an error, and where in the file.
 *
 * @param reader      from starpool_trace_open()
 * @param offset_out  [bytes] from the file's beginning; NULL if not wanted
 * @return            in words; "" if there was no error; valid until the reader is closed
 *
 * Threads: one at a time for each reader.
 */
STARPOOL_API const char *starpool_trace_error(const struct starpool_trace *reader,
                                              uint64_t *offset_out);

/**
 * Close a reader.
 *
 * @param reader  invalid afterwards; NULL is left alone
 *
 * Threads: any; not while another thread uses the reader.
 */
STARPOOL_API void starpool_trace_close(struct starpool_trace *reader);

#ifdef __cplusplus
}
#endif

#endif /* STARPOOL_TRACE_H */
