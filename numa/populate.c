/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Decides, step by step, whether memory may be touched and under which policy. The kernel never
 * refuses a touch: it kills instead. So the room is compared with each step first, counting
 * what other threads are about to touch, and near the end of a node pages may go elsewhere,
 * where they are found and either refused (strict) or counted. */
#include "config.h"

#include "numa/populate.h"

#include <stdatomic.h>
#include <time.h>

#include "numa/procfile.h"
#include "numa/team.h"
#include "src/util/util.h"

/* Near the end of a node: less than this part of its memory is left, within these bounds. */
#define MARGIN_PART  64
#define MARGIN_LEAST (8 * SP_MIB)
#define MARGIN_MOST  (256 * SP_MIB)

/* Memory also costs page tables, 1/512 and a few. A control group pays as well for what its
 * CPUs keep in stock (64 pages each, mm/memcontrol.c). */
#define TABLES_PART  256
#define CGROUP_STOCK SP_MIB

/* Other processes ask for the same room at the same moment. As each takes no more than this
 * share of it before it asks again, so many of them cannot take more than there is. */
#define PART_SHARE 8
#define PART_LEAST (256 * SP_KIB)

/* How long to wait for other threads' steps before judging without them. */
#define PATIENCE_MS 5000

/* Bytes that threads of this process have been granted and may not have touched yet. */
static struct {
    _Atomic size_t bytes;
} in_flight;

void sp_populate_after_fork(void)
{
    atomic_store(&in_flight.bytes, 0);
}

/* How a step is to be touched. */
struct verdict {
    enum starpool_status status;
    bool is_close; /* to the end of the node */
    size_t part;   /* [bytes] how much at once, at most */
};

static size_t margin(const struct sp_populate *what)
{
    size_t part = sp_topo_total(what->topo, what->node) / MARGIN_PART;

    return sp_min(sp_max(part, MARGIN_LEAST), MARGIN_MOST);
}

/* What a cause must have left for `size` bytes of memory. */
static size_t price(enum sp_room_cause cause, size_t size)
{
    if (cause == SP_ROOM_NODE)
        return size + size / TABLES_PART;
    return cause == SP_ROOM_CGROUP ? size + size / TABLES_PART + CGROUP_STOCK : size;
}

/* The room of everything that a spilling range may use: the node and those that serve HOST. */
static size_t spill_room(const struct sp_populate *what, size_t node_room)
{
    const struct starpool_node *node = sp_topo_find(what->topo, what->node);
    struct sp_room_sources all;

    what->os->room(SP_NODE_HOST, false, true, &all);
    if (node == NULL || node->serves_host || !what->is_bound)
        return all.bytes[SP_ROOM_NODE];
    return node_room >= SP_UNKNOWN - all.bytes[SP_ROOM_NODE]
               ? SP_UNKNOWN
               : node_room + all.bytes[SP_ROOM_NODE];
}

/* A share of the room; transparent huge pages stay whole. */
static size_t part_of(size_t room)
{
    size_t part = sp_max(room / PART_SHARE, PART_LEAST);

    return sp_round_down(part, part >= 2 * SP_MIB ? 2 * SP_MIB : PART_LEAST);
}

/* Compare `size` more bytes, and `others` that are being touched meanwhile, with the room. */
static struct verdict judge(const struct sp_populate *what, size_t size, size_t others)
{
    struct verdict verdict = {.status = STARPOOL_OK};
    bool may_spill = what->node >= 0 && (!what->is_strict || !what->is_bound);
    struct sp_room_sources room;

    what->os->room(what->node, what->is_locking, true, &room);
    if (room.bytes[SP_ROOM_NODE] != SP_UNKNOWN && what->is_bound)
        verdict.is_close = sp_less(room.bytes[SP_ROOM_NODE], others) < size + margin(what);
    if (may_spill && (verdict.is_close || !what->is_bound))
        room.bytes[SP_ROOM_NODE] = spill_room(what, room.bytes[SP_ROOM_NODE]);

    for (int i = 0; i < SP_ROOM_N_CAUSES && verdict.status == STARPOOL_OK; i++) {
        enum sp_room_cause cause = (enum sp_room_cause)i;
        /* Memory is locked only once all of it is there. */
        size_t wanted = cause == SP_ROOM_MEMLOCK ? what->size : price(cause, size);

        if (sp_less(room.bytes[i], cause == SP_ROOM_MEMLOCK ? 0 : others) < wanted)
            verdict.status = sp_room_status(cause);
    }
    /* Close to the end of a node another one helps out; nothing does for a control group. */
    verdict.part = part_of(sp_less(room.bytes[SP_ROOM_CGROUP], others));
    if (!verdict.is_close)
        verdict.part = sp_min(verdict.part, part_of(sp_less(room.bytes[SP_ROOM_NODE], others)));
    return verdict;
}

enum starpool_status sp_populate_check(const struct sp_populate *what)
{
    return judge(what, what->size, 0).status;
}

/*
 * Claim a step, of which `held` bytes, all or none, are claimed already; a refusal ends that as
 * well. If it is only the steps of other threads that make it too large, wait for them:
 * what they touch moves from `in_flight` into the system's own numbers.
 */
static struct verdict claim(const struct sp_populate *what, size_t size, size_t held)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    struct verdict verdict;

    for (int i = 0;; i++) {
        size_t others = atomic_fetch_add(&in_flight.bytes, size - held) - held;

        verdict = judge(what, size, i < PATIENCE_MS ? others : 0);
        if (verdict.status == STARPOOL_OK)
            return verdict;
        (void)atomic_fetch_sub(&in_flight.bytes, size);
        held = 0;
        if (others == 0 || i >= PATIENCE_MS || judge(what, size, 0).status != STARPOOL_OK)
            return verdict;
        (void)nanosleep(&pause, NULL);
    }
}

/* Bytes of a range that are not where they should be; SP_UNKNOWN if the system does not say. */
static size_t count_spilled(const struct sp_populate *what, const char *base, size_t size)
{
    struct starpool_pages pages;
    uint64_t n_there = 0;

    what->os->verify(what->topo, base, size, &pages);
    if (pages.n_unknown > 0)
        return SP_UNKNOWN;
    for (int i = 0; i < STARPOOL_MAX_NODES; i++) {
        const struct starpool_node *node = sp_topo_find(what->topo, i);

        if (what->node == i ||
            (what->node == SP_NODE_HOST && node != NULL && node->serves_host))
            n_there += pages.n_on_node[i];
    }
    return (size_t)(pages.n_resident - n_there) * pages.page_size;
}

/*
 * Touch a step near the end of a node: a strict range prefers the node, so that nobody is
 * killed, and is refused if that was not enough.
 */
static enum starpool_status touch_close(const struct sp_populate *what, struct sp_team *team,
                                        char *base, size_t size, size_t *spilled)
{
    bool is_strict = what->is_strict || what->node < 0;
    enum sp_policy policy = is_strict ? SP_POLICY_PREFER : SP_POLICY_SPILL;
    size_t bytes;

    if (what->os->bind(what->topo, base, size, what->node, policy) != 0)
        return STARPOOL_ENODE;
    if (sp_team_touch(team, base, size) != 0)
        return STARPOOL_ENOMEM;
    bytes = count_spilled(what, base, size);
    if (is_strict && bytes != 0 && (bytes != SP_UNKNOWN || what->node >= 0))
        return STARPOOL_ENODE;
    if (bytes != SP_UNKNOWN)
        *spilled += bytes;
    /* Pages that are swapped out and in again belong on the node as well. */
    if (is_strict)
        (void)what->os->bind(what->topo, base, size, what->node, SP_POLICY_ONLY);
    return STARPOOL_OK;
}

static enum starpool_status touch_part(const struct sp_populate *what, struct sp_team *team,
                                       char *base, size_t size, bool is_close, size_t *spilled)
{
    if (is_close)
        return touch_close(what, team, base, size, spilled);
    return sp_team_touch(team, base, size) == 0 ? STARPOOL_OK : STARPOOL_ENOMEM;
}

/* A step is claimed as a whole, against this process's threads, and touched in parts. */
static enum starpool_status touch_step(const struct sp_populate *what, struct sp_team *team,
                                       char *base, size_t size, size_t *spilled)
{
    enum starpool_status status = STARPOOL_OK;
    size_t held = 0;

    if (what->is_huge)
        return sp_team_touch(team, base, size) == 0 ? STARPOOL_OK : STARPOOL_ENODE;
    while (size > 0 && status == STARPOOL_OK) {
        struct verdict verdict = claim(what, size, held);
        size_t part = sp_min(size, verdict.part);

        if (verdict.status != STARPOOL_OK)
            return verdict.status;
        status = touch_part(what, team, base, part, verdict.is_close, spilled);
        (void)atomic_fetch_sub(&in_flight.bytes, part);
        base += part;
        size -= part;
        held = size;
    }
    (void)atomic_fetch_sub(&in_flight.bytes, held);
    return status;
}

enum starpool_status sp_populate_range(const struct sp_populate *what, size_t *spilled_out)
{
    enum starpool_status status = STARPOOL_OK;
    struct sp_team team;
    size_t spilled = 0;

    sp_team_open(&team, what->topo, what->node, what->size, what->os->populate, !what->is_huge);
    for (size_t done = 0; done < what->size && status == STARPOOL_OK; done += SP_POPULATE_STEP)
        status = touch_step(what, &team, what->base + done,
                            sp_min(SP_POPULATE_STEP, what->size - done), &spilled);
    sp_team_close(&team);
    if (status == STARPOOL_OK)
        *spilled_out = spilled;
    return status;
}
