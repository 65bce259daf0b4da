/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the stream-ordered heap must do, written from the rules and as simple as can be: every
 * operation has the set of all that come before it, every unit of memory what was last there.
 * Nothing of the library is used, and everything takes time in the square of the operations. */
#ifndef SP_ORACLE_H
#define SP_ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SP_ORACLE_OPS     2048
#define SP_ORACLE_STREAMS 128
#define SP_ORACLE_UNITS   256
#define SP_ORACLE_CHUNKS  64

/* In place of an operation or a stream: the host, whose deeds are over when they are done. */
#define SP_ORACLE_HOST (-1)

/* A set of operations: what is true, and the part of it that the library must know. They differ
 * where an internal wait names points without what comes before those. */
struct sp_oracle_set {
    uint64_t words[SP_ORACLE_OPS / 64];
    uint64_t known[SP_ORACLE_OPS / 64];
};

struct sp_oracle_op {
    int stream;
    struct sp_oracle_set before; /* without itself */
};

struct sp_oracle_stream {
    bool is_open;
    int last;                    /* operation, or SP_ORACLE_HOST if it has none */
    struct sp_oracle_set before; /* what comes before its next operation */
};

enum sp_oracle_state {
    SP_ORACLE_NOTHING, /* not in a chunk */
    SP_ORACLE_FRESH,
    SP_ORACLE_LIVE,
    SP_ORACLE_FREED,
};

struct sp_oracle_unit {
    enum sp_oracle_state state;
    int chunk;
    int start; /* live: first unit of the block */
    int op;    /* of the allocation, or of the free */
    int stamp; /* freed: the last free of its range, when neighbours that one stream freed are
                * one range; SP_ORACLE_HOST once that was seen, at a free or before */
};

struct sp_oracle_chunk {
    int first, n; /* units; n is 0 if the chunk is gone */
};

struct sp_oracle {
    struct sp_oracle_op ops[SP_ORACLE_OPS];
    int n_ops;
    struct sp_oracle_stream streams[SP_ORACLE_STREAMS];
    int n_streams;
    struct sp_oracle_set seen, done;
    struct sp_oracle_unit units[SP_ORACLE_UNITS];
    struct sp_oracle_chunk chunks[SP_ORACLE_CHUNKS];
    int n_chunks;
    int used, used_high, reserved, reserved_high; /* units */
    int n_live, n_live_high;
};

bool sp_oracle_has(const struct sp_oracle_set *set, int op);
bool sp_oracle_knows(const struct sp_oracle_set *set, int op);
void sp_oracle_unite(struct sp_oracle_set *set, const struct sp_oracle_set *other);

void sp_oracle_init(struct sp_oracle *oracle);

/* ---- order ---- */
int sp_oracle_add_stream(struct sp_oracle *oracle);
int sp_oracle_submit(struct sp_oracle *oracle, int stream);

/* Everything that a stream has been given, with what comes before it. */
struct sp_oracle_set sp_oracle_all_of(const struct sp_oracle *oracle, int stream);

/* An operation and what comes before it. */
struct sp_oracle_set sp_oracle_up_to(const struct sp_oracle *oracle, int op);

void sp_oracle_wait(struct sp_oracle *oracle, int stream, const struct sp_oracle_set *set);

/* An internal wait: put before the stream's last operation, which is there already. */
void sp_oracle_wait_before_last(struct sp_oracle *oracle, int stream, int op);
void sp_oracle_execute(struct sp_oracle *oracle, const struct sp_oracle_set *set);
void sp_oracle_see(struct sp_oracle *oracle, const struct sp_oracle_set *set);
void sp_oracle_see_all(struct sp_oracle *oracle);

bool sp_oracle_is_seen(const struct sp_oracle *oracle, int op);
bool sp_oracle_is_done(const struct sp_oracle *oracle, int op);

/* Has the host seen it, or does it come before what the stream gets next? */
bool sp_oracle_is_before(const struct sp_oracle *oracle, int op, int stream);
bool sp_oracle_is_known(const struct sp_oracle *oracle, int op, int stream);

/* ---- memory ---- */
int sp_oracle_add_chunk(struct sp_oracle *oracle, int first, int n);
void sp_oracle_remove_chunk(struct sp_oracle *oracle, int chunk);

/* Are all these units in one chunk and not live? */
bool sp_oracle_is_free(const struct sp_oracle *oracle, int first, int n);
void sp_oracle_take(struct sp_oracle *oracle, int first, int n, int op);
void sp_oracle_give(struct sp_oracle *oracle, int start, int op);

/* Length of a block. */
int sp_oracle_length(const struct sp_oracle *oracle, int start);

/* May everybody have the unit? By what is true, and by what follows if a range is ready only as
 * a whole. */
bool sp_oracle_is_ready(const struct sp_oracle *oracle, int unit);
bool sp_oracle_is_range_ready(const struct sp_oracle *oracle, int unit);
int sp_oracle_count(const struct sp_oracle *oracle,
                    bool (*is_counted)(const struct sp_oracle *oracle, int unit));

/* The longest run within a chunk of units that are ready, by what is true or by ranges; that
 * are pending ones of a stream; that are not live. */
int sp_oracle_longest_ready(const struct sp_oracle *oracle);
int sp_oracle_longest_range_ready(const struct sp_oracle *oracle);
int sp_oracle_longest_own(const struct sp_oracle *oracle, int stream);
int sp_oracle_longest_free(const struct sp_oracle *oracle);

/* Is the whole chunk ready? */
bool sp_oracle_chunk_is(const struct sp_oracle *oracle, int chunk,
                        bool (*is_ready)(const struct sp_oracle *oracle, int unit));

#endif /* SP_ORACLE_H */
