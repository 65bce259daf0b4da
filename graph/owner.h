/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What captured graphs have of ours: one record a capture, and one an address. The driver tells
 * when a graph, its executables and their launches are gone. */
#ifndef SP_OWNER_H
#define SP_OWNER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <starpool/base.h>

#include "graph/capture.h"
#include "graph/lineage.h"
#include "src/heap/order.h"
#include "src/util/lock.h"
#include "src/util/util.h"

struct sp_arena;
struct sp_hold;
struct sp_loose_free;

/*
 * A graph that was captured with something of ours in it. `is_gone` is set by the destructor of
 * a user object that the graph and its executables hold, on a thread of the driver's that may
 * do nothing else.
 *
 * `lock` guards lineage, arenas and loose frees. It is held while the driver is asked for nodes
 * of the graph, and is taken for captured allocations and frees only. The lock of the table of
 * all owners guards the rest.
 */
struct sp_owner {
    const struct sp_driver *driver;
    uint64_t id;         /* the capture's */
    sp_cu_graph graph;   /* for messages: the handle may be another's by now */
    sp_cu_stream stream; /* one that was captured, as it was called */
    _Atomic bool is_gone;
    bool is_spare; /* another one stands for the capture */
    struct sp_lock lock;
    struct sp_lineage lineage;
    struct sp_arena *arenas;
    struct sp_loose_free *loose_frees;
    struct sp_hold *holds;
    unsigned n_references;    /* of calls that use it now */
    size_t n_buckets_dropped; /* sp_owner_drop_owned() has come so far */
    struct sp_owner *next;
};

/* The record of a capture, which is made at the first time; to be put. ENOTSUP: the driver has
 * no user objects, or tells no graphs. */
STARPOOL_CHECK enum starpool_status sp_owner_get(const struct sp_driver *driver,
                                                 const struct sp_capture *capture,
                                                 struct sp_owner **owner_out);
void sp_owner_put(struct sp_owner *owner);

/* A record whose graph has gone, taken out of the table, with its holds and what is recorded of
 * its addresses still there; NULL if there is none. Then it is destroyed, with what it has of
 * its own. */
struct sp_owner *sp_owner_take_gone(void);
void sp_owner_destroy(struct sp_owner *owner);

/* The next record of all but spare ones, referenced, instead of `owner`, which is put; NULL:
 * the first, and that was the last. */
struct sp_owner *sp_owner_next(struct sp_owner *owner);

/* Whether a graph with something of ours may still be under construction. */
bool sp_owner_is_capturing(void);

/* How many graphs have gone that nobody has taken; read without a lock. */
extern _Atomic unsigned sp_owners_gone;

/* ---- addresses --------------------------------------------------------------------------- */

enum sp_owned_kind {
    SP_OWNED_NODE,  /* of an allocation node: the driver's */
    SP_OWNED_ARENA, /* in an arena of the graph */
    SP_OWNED_HELD,  /* a block of a pool that a captured node may name */
};

/* What begins at an address. */
struct sp_owned {
    uintptr_t start; /* [address] */
    size_t size;     /* [bytes] */
    enum sp_owned_kind kind;
    void *pool; /* it was allocated from; opaque here, and of a NODE perhaps gone */
    struct starpool_location location; /* of the pool */
    struct sp_owner *owner; /* NULL: the graph has gone; of a held block the latest */
    uint64_t capture_id;
    sp_cu_graph graph;
    bool is_freed; /* NODE: by a node of its graph; HELD: by its user */
    void *what;    /* ARENA: the chunk; HELD: how it is given back, or NULL */
    unsigned n_holds;
    struct sp_point after; /* HELD, freed: what must be over then */
};

/* The device that calls of the driver about it are made for. */
static inline int sp_owned_device(const struct sp_owned *owned)
{
    return owned->location.kind == STARPOOL_DEVICE ? owned->location.id : 0;
}

/* How many addresses there are; read without a lock, so that who owns nothing pays nothing. */
extern _Atomic size_t sp_owned_count;

static inline bool sp_owned_is_any(void)
{
    return SP_UNLIKELY(atomic_load_explicit(&sp_owned_count, memory_order_acquire) != 0);
}

/* Enter a copy. ENOMEM; EINVAL: something of a pool is known to begin there. */
STARPOOL_CHECK enum starpool_status sp_owned_add(const struct sp_owned *owned);

/* A copy of what begins at an address, or lies around it; false if there is nothing. */
bool sp_owned_find(uintptr_t start, struct sp_owned *owned_out);
bool sp_owned_around(uintptr_t address, struct sp_owned *owned_out);

/* The chunk of an arena that an address lies in, as if it were a block that was freed; false if
 * there is none. */
bool sp_owner_find_chunk(uintptr_t address, struct sp_owned *owned_out);

/* Forget what begins there, if it is of that kind. False if there is nothing. */
bool sp_owned_remove(uintptr_t start, enum sp_owned_kind kind, struct sp_owned *owned_out);

/* Note that it is freed, once `after` is over. False if it is already. */
bool sp_owned_free(uintptr_t start, struct sp_point after);

/* A graph holds a block that is HELD; once is enough. ENOMEM; EINVAL: it is not held. */
STARPOOL_CHECK enum starpool_status sp_owned_hold(struct sp_owner *owner, uintptr_t start);

/* One hold less of a graph that has gone: true if there was one. If it was the block's last,
 * the block is forgotten, and `is_last_out` says so. With the lock of the table `give_up` is
 * told of one that its user has not freed: who frees it finds it here, or finds it live. */
bool sp_owner_drop_hold(struct sp_owner *owner, struct sp_owned *owned_out, bool *is_last_out,
                        void (*give_up)(const struct sp_owned *owned));

/* The next of the allocations of a graph that has gone, forgotten if it is of the arena or
 * freed, and else nobody's from then on; false if there is none. */
bool sp_owner_drop_owned(struct sp_owner *owner, struct sp_owned *owned_out);

/* Hold the table still around a fork. */
void sp_owners_freeze(void);
void sp_owners_thaw(void);

#endif /* SP_OWNER_H */
