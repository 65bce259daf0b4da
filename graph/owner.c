/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which captured graph has which addresses of ours, and which graphs are gone. A graph holds a
 * user object, as do its executables and launches; when the last of them goes, the object's
 * destructor sets a flag, and the next who allocates or makes progress cleans up. */
#include "config.h"

#include "graph/owner.h"

#include <stdlib.h>

#include "graph/arena.h"
#include "graph/memnode.h"

#define N_BUCKETS 4096

struct entry {
    struct sp_owned owned;
    struct entry *next; /* in its bucket */
};

/* A block that a graph holds. */
struct sp_hold {
    uintptr_t start;
    struct sp_hold *next;
};

_Atomic unsigned sp_owners_gone;
_Atomic size_t sp_owned_count;

static struct {
    struct sp_lock lock;
    struct sp_owner *all;
    struct entry *buckets[N_BUCKETS];
} owners = {.lock = SP_LOCK_INITIALIZER(SP_RANK_POOL)};

/* ---- owners ------------------------------------------------------------------------------ */

/* On a thread of the driver, which may do no more. */
static void note_gone(void *arg)
{
    struct sp_owner *owner = arg;

    atomic_store_explicit(&owner->is_gone, true, memory_order_release);
    atomic_fetch_add_explicit(&sp_owners_gone, 1, memory_order_release);
}

/* Let the graph hold an object that tells when it goes. */
static enum starpool_status tie(struct sp_owner *owner, sp_cu_graph graph)
{
    const struct sp_driver *driver = owner->driver;
    struct sp_capture_guard guard;
    sp_cu_object object;
    enum starpool_status status;

    sp_capture_guard_begin(driver, &guard);
    status = sp_driver_status(driver->cuUserObjectCreate(&object, owner, note_gone, 1,
                                                         SP_CU_USER_OBJECT_NO_DESTRUCTOR_SYNC),
                              "cuUserObjectCreate");
    if (status == STARPOOL_OK) {
        status = sp_driver_status(
            driver->cuGraphRetainUserObject(graph, object, 1, SP_CU_GRAPH_USER_OBJECT_MOVE),
            "cuGraphRetainUserObject");
        /* Its destructor runs then, and leaves the record to the next who cleans up. */
        if (status != STARPOOL_OK)
            (void)driver->cuUserObjectRelease(object, 1);
    } else {
        note_gone(owner);
    }
    sp_capture_guard_end(&guard);
    return status;
}

static struct sp_owner *make(const struct sp_driver *driver, const struct sp_capture *capture)
{
    struct sp_owner *owner = calloc(1, sizeof(*owner));

    if (owner == NULL)
        return NULL;
    owner->driver = driver;
    owner->id = capture->id;
    owner->graph = capture->graph;
    owner->stream = capture->stream;
    sp_lock_init(&owner->lock, SP_RANK_CAPTURE);
    return owner;
}

/* With the lock: the record of a capture, referenced; NULL: there is none. */
static struct sp_owner *find_owner(uint64_t id)
{
    struct sp_owner *owner = owners.all;

    while (owner != NULL &&
           (owner->id != id || owner->is_spare || atomic_load(&owner->is_gone)))
        owner = owner->next;
    if (owner != NULL)
        owner->n_references++;
    return owner;
}

/* A record that the graph knows, or does not, becomes known to others. Where another thread was
 * quicker it is spare: it only waits for its object to go. */
static struct sp_owner *publish(struct sp_owner *made, bool is_tied)
{
    struct sp_owner *owner;

    sp_lock_take(&owners.lock);
    owner = is_tied ? find_owner(made->id) : NULL;
    made->is_spare = !is_tied || owner != NULL;
    made->n_references = made->is_spare ? 0 : 1;
    made->next = owners.all;
    owners.all = made;
    sp_lock_give(&owners.lock);
    return owner != NULL ? owner : made;
}

enum starpool_status sp_owner_get(const struct sp_driver *driver,
                                  const struct sp_capture *capture, struct sp_owner **owner_out)
{
    struct sp_owner *owner;
    enum starpool_status status;

    if (capture->graph == NULL)
        return STARPOOL_ENOTSUP;
    sp_lock_take(&owners.lock);
    owner = find_owner(capture->id);
    sp_lock_give(&owners.lock);
    if (owner == NULL) {
        owner = make(driver, capture);
        if (owner == NULL)
            return STARPOOL_ENOMEM;
        status = tie(owner, capture->graph);
        owner = publish(owner, status == STARPOOL_OK);
        if (status != STARPOOL_OK)
            return status;
    }
    *owner_out = owner;
    return STARPOOL_OK;
}

void sp_owner_put(struct sp_owner *owner)
{
    sp_lock_take(&owners.lock);
    owner->n_references--;
    sp_lock_give(&owners.lock);
}

struct sp_owner *sp_owner_take_gone(void)
{
    struct sp_owner **link, *owner;

    sp_lock_take(&owners.lock);
    link = &owners.all;
    while ((owner = *link) != NULL &&
           (owner->n_references > 0 ||
            !atomic_load_explicit(&owner->is_gone, memory_order_acquire)))
        link = &owner->next;
    if (owner != NULL) {
        *link = owner->next;
        atomic_fetch_sub(&sp_owners_gone, 1);
    }
    sp_lock_give(&owners.lock);
    return owner;
}

struct sp_owner *sp_owner_next(struct sp_owner *owner)
{
    struct sp_owner *next;

    sp_lock_take(&owners.lock);
    next = owner == NULL ? owners.all : owner->next;
    while (next != NULL && next->is_spare)
        next = next->next;
    if (next != NULL)
        next->n_references++;
    if (owner != NULL)
        owner->n_references--;
    sp_lock_give(&owners.lock);
    return next;
}

/* Where the stream is another thread's, or no more, nobody can say. */
static bool may_be_capturing(const struct sp_owner *owner)
{
    struct sp_capture capture;

    if (atomic_load(&owner->is_gone))
        return false;
    return owner->stream == STARPOOL_STREAM_PER_THREAD ||
           sp_capture_query(owner->driver, owner->stream, &capture) != STARPOOL_OK ||
           (capture.is_active && capture.id == owner->id);
}

bool sp_owner_is_capturing(void)
{
    struct sp_owner *owner = sp_owner_next(NULL);

    while (owner != NULL && !may_be_capturing(owner))
        owner = sp_owner_next(owner);
    if (owner == NULL)
        return false;
    sp_owner_put(owner);
    return true;
}

/* With the owner's lock. */
static bool find_in_arena(const struct sp_owner *owner, const struct sp_arena *arena,
                          uintptr_t address, struct sp_owned *owned_out)
{
    const struct sp_arena_chunk *chunk = arena->chunks;

    while (chunk != NULL && address - chunk->start >= chunk->size)
        chunk = chunk->next;
    if (chunk == NULL)
        return false;
    *owned_out = (struct sp_owned){
        .start = chunk->start,
        .size = chunk->size,
        .kind = SP_OWNED_ARENA,
        .pool = arena->pool,
        .capture_id = owner->id,
        .graph = owner->graph,
        .is_freed = true,
    };
    return true;
}

bool sp_owner_find_chunk(uintptr_t address, struct sp_owned *owned_out)
{
    struct sp_owner *owner = NULL;
    bool is_found = false;

    while (!is_found && (owner = sp_owner_next(owner)) != NULL) {
        sp_lock_take(&owner->lock);
        for (const struct sp_arena *arena = owner->arenas; arena != NULL && !is_found;
             arena = arena->next)
            is_found = find_in_arena(owner, arena, address, owned_out);
        sp_lock_give(&owner->lock);
    }
    if (owner != NULL)
        sp_owner_put(owner);
    return is_found;
}

void sp_owner_destroy(struct sp_owner *owner)
{
    sp_lineage_fini(&owner->lineage);
    sp_arenas_fini(owner);
    sp_memnode_fini(owner);
    sp_lock_fini(&owner->lock);
    free(owner);
}

/* ---- addresses; find_entry() with the lock ----------------------------------------------- */

static struct entry **bucket_of(uintptr_t start)
{
    return &owners.buckets[((start >> 8) * 0x9e3779b97f4a7c15u) >> 52];
}

static struct entry **find_entry(uintptr_t start)
{
    struct entry **link = bucket_of(start);

    while (*link != NULL && (*link)->owned.start != start)
        link = &(*link)->next;
    return link;
}

static void drop_entry(struct entry **link)
{
    struct entry *entry = *link;

    *link = entry->next;
    free(entry);
    atomic_fetch_sub_explicit(&sp_owned_count, 1, memory_order_release);
}

enum starpool_status sp_owned_add(const struct sp_owned *owned)
{
    struct entry *entry = malloc(sizeof(*entry)), **link;
    enum starpool_status status = STARPOOL_OK;

    if (entry == NULL)
        return STARPOOL_ENOMEM;
    sp_lock_take(&owners.lock);
    link = find_entry(owned->start);
    if (*link == NULL) {
        *entry = (struct entry){.owned = *owned};
        *link = entry;
        entry = NULL;
        atomic_fetch_add_explicit(&sp_owned_count, 1, memory_order_release);
    } else if ((*link)->owned.kind == SP_OWNED_NODE) {
        /* The driver gives the address anew: the last allocation there is no more. */
        (*link)->owned = *owned;
    } else {
        status = STARPOOL_EINVAL;
    }
    sp_lock_give(&owners.lock);
    free(entry);
    return status;
}

bool sp_owned_find(uintptr_t start, struct sp_owned *owned_out)
{
    const struct entry *entry;

    sp_lock_take(&owners.lock);
    entry = *find_entry(start);
    if (entry != NULL)
        *owned_out = entry->owned;
    sp_lock_give(&owners.lock);
    return entry != NULL;
}

bool sp_owned_around(uintptr_t address, struct sp_owned *owned_out)
{
    bool is_found = false;

    sp_lock_take(&owners.lock);
    for (size_t i = 0; i < N_BUCKETS && !is_found; i++) {
        const struct entry *entry = owners.buckets[i];

        while (entry != NULL && address - entry->owned.start >= entry->owned.size)
            entry = entry->next;
        is_found = entry != NULL;
        if (is_found)
            *owned_out = entry->owned;
    }
    sp_lock_give(&owners.lock);
    return is_found;
}

bool sp_owned_remove(uintptr_t start, enum sp_owned_kind kind, struct sp_owned *owned_out)
{
    struct entry **link;
    bool is_found;

    sp_lock_take(&owners.lock);
    link = find_entry(start);
    is_found = *link != NULL && (*link)->owned.kind == kind;
    if (is_found) {
        *owned_out = (*link)->owned;
        drop_entry(link);
    }
    sp_lock_give(&owners.lock);
    return is_found;
}

bool sp_owned_free(uintptr_t start, struct sp_point after)
{
    struct entry *entry;
    bool is_first;

    sp_lock_take(&owners.lock);
    entry = *find_entry(start);
    is_first = entry != NULL && !entry->owned.is_freed;
    if (is_first) {
        entry->owned.is_freed = true;
        entry->owned.after = after;
    }
    sp_lock_give(&owners.lock);
    return is_first;
}

/* ---- holds ------------------------------------------------------------------------------- */

/* With the lock. */
static bool holds(const struct sp_owner *owner, const struct sp_owned *owned)
{
    const struct sp_hold *hold = owner->holds;

    if (owned->n_holds == 0 || owned->owner == owner)
        return owned->n_holds > 0;
    while (hold != NULL && hold->start != owned->start)
        hold = hold->next;
    return hold != NULL;
}

enum starpool_status sp_owned_hold(struct sp_owner *owner, uintptr_t start)
{
    struct sp_hold *hold = malloc(sizeof(*hold));
    enum starpool_status status = STARPOOL_OK;
    struct entry *entry;

    if (hold == NULL)
        return STARPOOL_ENOMEM;
    sp_lock_take(&owners.lock);
    entry = *find_entry(start);
    if (entry == NULL || entry->owned.kind != SP_OWNED_HELD) {
        status = STARPOOL_EINVAL;
    } else if (!holds(owner, &entry->owned)) {
        *hold = (struct sp_hold){start, owner->holds};
        owner->holds = hold;
        hold = NULL;
        entry->owned.n_holds++;
        entry->owned.owner = owner;
        entry->owned.capture_id = owner->id;
        entry->owned.graph = owner->graph;
    }
    sp_lock_give(&owners.lock);
    free(hold);
    return status;
}

bool sp_owner_drop_hold(struct sp_owner *owner, struct sp_owned *owned_out, bool *is_last_out,
                        void (*give_up)(const struct sp_owned *owned))
{
    struct sp_hold *hold;
    struct entry **link;

    sp_lock_take(&owners.lock);
    hold = owner->holds;
    if (hold != NULL) {
        owner->holds = hold->next;
        link = find_entry(hold->start);
        SP_ASSERT(*link != NULL); /* A block that a graph holds is known. */
        *is_last_out = --(*link)->owned.n_holds == 0;
        if ((*link)->owned.owner == owner)
            (*link)->owned.owner = NULL;
        *owned_out = (*link)->owned;
        if (*is_last_out)
            drop_entry(link);
        if (*is_last_out && !owned_out->is_freed)
            give_up(owned_out);
    }
    sp_lock_give(&owners.lock);
    free(hold);
    return hold != NULL;
}

/* With the lock: an allocation of a graph in a bucket. */
static struct entry **find_of(struct entry **link, const struct sp_owner *owner)
{
    while (*link != NULL &&
           ((*link)->owned.owner != owner || (*link)->owned.kind == SP_OWNED_HELD))
        link = &(*link)->next;
    return link;
}

bool sp_owner_drop_owned(struct sp_owner *owner, struct sp_owned *owned_out)
{
    struct entry **link = NULL;
    bool is_found = false;

    sp_lock_take(&owners.lock);
    while (owner->n_buckets_dropped < N_BUCKETS && !is_found) {
        link = find_of(&owners.buckets[owner->n_buckets_dropped], owner);
        is_found = *link != NULL;
        owner->n_buckets_dropped += !is_found;
    }
    if (is_found) {
        *owned_out = (*link)->owned;
        if (owned_out->kind == SP_OWNED_ARENA || owned_out->is_freed)
            drop_entry(link);
        else
            (*link)->owned.owner = NULL;
    }
    sp_lock_give(&owners.lock);
    return is_found;
}

/* ---- forks ------------------------------------------------------------------------------- */

void sp_owners_freeze(void)
{
    sp_lock_take_all(&owners.lock);
}

void sp_owners_thaw(void)
{
    sp_lock_give_all(&owners.lock);
}
