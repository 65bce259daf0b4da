/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads how much may still be touched. A file that is missing or malformed means: no limit from
 * this source. Swap is not counted: pages that have to be swapped in are no use to a pool. */
#include "config.h"

#include "numa/room.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "numa/cgroup.h"
#include "numa/procfile.h"
#include "numa/topo.h"
#include "src/util/options.h"
#include "src/util/util.h"

/* Nodes that one question can name; the room of those beyond is left out. */
#define MAX_NODES 256

/* What a node keeps at least: programs that run, slab that is in use, and free pages that the
 * CPUs' own lists and other processes take between our question and the touch. */
#define KEPT_FILE (8 * SP_MIB)
#define KEPT_SLAB (16 * SP_MIB)
#define KEPT_FREE (2 * SP_MIB)

/* The reserve that nobody has asked for takes no more than this part of little memory. */
#define DEFAULT_PART 16

/* CAP_IPC_LOCK of linux/capability.h: the limit of locked memory does not hold. */
#define CAPABILITY_IPC_LOCK 14

/* What a node has, in bytes. */
struct node_memory {
    size_t total, free, file, unclean, slab;
};

static bool read_node(const char *root, int node, struct node_memory *memory_out)
{
    struct node_memory memory = {0};
    struct sp_lines lines;
    char path[64], *line;
    bool has_free = false;

    (void)snprintf(path, sizeof(path), "sys/devices/system/node/node%d/meminfo", node);
    if (!sp_lines_open(&lines, root, path))
        return false;
    while ((line = sp_lines_next(&lines)) != NULL) {
        uint64_t number;

        /* "Node 0 MemFree:  123 kB": the two first words are the same everywhere. */
        line = strchr(line, ' ');
        line = line != NULL ? strchr(line + 1, ' ') : NULL;
        if (line == NULL)
            continue;
        if (sp_line_number(line, "MemTotal:", &number)) {
            memory.total = sp_scaled(number, SP_KIB);
        } else if (sp_line_number(line, "MemFree:", &number)) {
            memory.free = sp_scaled(number, SP_KIB);
            has_free = true;
        } else if (sp_line_number(line, "Active(file):", &number) ||
                   sp_line_number(line, "Inactive(file):", &number)) {
            memory.file = sp_plus(memory.file, sp_scaled(number, SP_KIB));
        } else if (sp_line_number(line, "Dirty:", &number) ||
                   sp_line_number(line, "Writeback:", &number)) {
            memory.unclean = sp_plus(memory.unclean, sp_scaled(number, SP_KIB));
        } else if (sp_line_number(line, "SReclaimable:", &number)) {
            memory.slab = sp_scaled(number, SP_KIB);
        }
    }
    sp_lines_close(&lines);
    memory.file = sp_less(memory.file, memory.unclean);
    *memory_out = memory;
    return has_free;
}

/* Pages that the kernel keeps for itself in one zone, and those of one node. */
struct zone {
    bool is_wanted; /* it belongs to the node */
    uint64_t high, protection, managed;
};

struct watermarks {
    size_t reserve; /* [bytes] high watermarks and what lower zones keep */
    size_t low;     /* [bytes] low watermarks */
};

/* The greatest of "protection: (0, 2991, 4000, 4000)". */
static uint64_t greatest(const char *list)
{
    uint64_t best = 0, number;

    for (list = strchr(list, '('); list != NULL; list = strchr(list, ',')) {
        list++;
        if (sp_line_number(list, "", &number) && number > best)
            best = number;
    }
    return best;
}

static void end_zone(struct zone *zone, struct watermarks *watermarks, size_t page_size)
{
    uint64_t kept = sp_min(sp_plus(zone->high, zone->protection), zone->managed);

    if (zone->is_wanted)
        watermarks->reserve = sp_plus(watermarks->reserve, sp_scaled(kept, page_size));
    *zone = (struct zone){0};
}

/*
 * What the kernel keeps back on a node, as si_mem_available() of mm/show_mem.c reckons: in each
 * zone its high watermark and the most that it holds for lower allocations, but no more than
 * the zone has.
 */
static struct watermarks read_watermarks(const char *root, int node)
{
    struct watermarks watermarks = {0};
    size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
    struct zone zone = {0};
    struct sp_lines lines;
    const char *line;

    if (!sp_lines_open(&lines, root, "proc/zoneinfo"))
        return watermarks;
    while ((line = sp_lines_next(&lines)) != NULL) {
        uint64_t number;

        if (sp_line_number(line, "Node", &number)) { /* "Node 0, zone   Normal" */
            end_zone(&zone, &watermarks, page_size);
            zone.is_wanted = number == (uint64_t)node;
        } else if (!zone.is_wanted) {
            continue;
        } else if (sp_line_number(line, "low", &number)) {
            watermarks.low = sp_plus(watermarks.low, sp_scaled(number, page_size));
        } else if (sp_line_number(line, "high", &number)) {
            zone.high = number;
        } else if (sp_line_number(line, "managed", &number)) {
            zone.managed = number;
        } else if (strstr(line, "protection: (") != NULL) {
            zone.protection = greatest(line);
        }
    }
    end_zone(&zone, &watermarks, page_size);
    sp_lines_close(&lines);
    return watermarks;
}

/*
 * Room of one node, or SP_UNKNOWN. Of the page cache, as for MemAvailable, half is taken not to
 * be reclaimable, or the low watermark if that is less. The kernel's own number for reclaimable
 * slab promises too much: a system in memory was killed with all of 9 MiB of it still there
 * (Linux 6.1), so that no more than half of it counts.
 */
static size_t node_room(const char *root, int node, const struct sp_reserve *reserve)
{
    struct node_memory memory;
    struct watermarks watermarks;
    size_t room;

    if (!read_node(root, node, &memory))
        return SP_UNKNOWN;
    watermarks = read_watermarks(root, node);
    room = sp_less(memory.file, sp_max(sp_min(memory.file / 2, watermarks.low), KEPT_FILE));
    room = sp_plus(room, sp_less(memory.slab, sp_max(memory.slab / 2, KEPT_SLAB)));
    room = sp_plus(room, memory.free);
    room = sp_less(sp_less(room, KEPT_FREE), watermarks.reserve);
    return sp_less(room, sp_reserve_of(reserve, memory.total));
}

/* A line of /proc/meminfo such as "MemAvailable:  123 kB", or SP_UNKNOWN. */
static size_t meminfo(const char *root, const char *key)
{
    struct sp_lines lines;
    size_t bytes = SP_UNKNOWN;
    const char *line;
    uint64_t number;

    if (!sp_lines_open(&lines, root, "proc/meminfo"))
        return SP_UNKNOWN;
    while (bytes == SP_UNKNOWN && (line = sp_lines_next(&lines)) != NULL) {
        if (sp_line_number(line, key, &number))
            bytes = sp_scaled(number, SP_KIB);
    }
    sp_lines_close(&lines);
    return bytes;
}

/* Kernels and containers without files for each node answer for the machine. */
static size_t nodes_room(const struct sp_room_question *question)
{
    size_t sum = 0;
    bool is_known = false;

    for (int i = 0; i < question->n_nodes; i++) {
        size_t room = node_room(question->root, question->nodes[i], &question->reserve);

        if (room == SP_UNKNOWN)
            continue;
        is_known = true;
        sum = sp_plus(sum, room);
    }
    if (is_known)
        return sum;
    return sp_less(meminfo(question->root, "MemAvailable:"),
                   sp_reserve_of(&question->reserve, meminfo(question->root, "MemTotal:")));
}

/* What /proc/self/status says that matters to limits. */
struct self {
    size_t mapped, locked;
    bool may_lock;
};

static struct self read_self(const char *root)
{
    struct self self = {0};
    struct sp_lines lines;
    const char *line;

    if (!sp_lines_open(&lines, root, "proc/self/status"))
        return self;
    while ((line = sp_lines_next(&lines)) != NULL) {
        uint64_t number;

        if (sp_line_number(line, "VmSize:", &number))
            self.mapped = sp_scaled(number, SP_KIB);
        else if (sp_line_number(line, "VmLck:", &number))
            self.locked = sp_scaled(number, SP_KIB);
        else if (strncmp(line, "CapEff:", 7) == 0)
            self.may_lock = (strtoull(line + 7, NULL, 16) >> CAPABILITY_IPC_LOCK & 1) != 0;
    }
    sp_lines_close(&lines);
    return self;
}

/* The soft limits; "unlimited" is no number and stays SP_UNKNOWN. */
static void read_limits(const char *root, size_t *address_out, size_t *memlock_out)
{
    struct sp_lines lines;
    const char *line;
    uint64_t number;

    *address_out = *memlock_out = SP_UNKNOWN;
    if (!sp_lines_open(&lines, root, "proc/self/limits"))
        return;
    while ((line = sp_lines_next(&lines)) != NULL) {
        if (sp_line_number(line, "Max address space", &number))
            *address_out = sp_scaled(number, 1);
        else if (sp_line_number(line, "Max locked memory", &number))
            *memlock_out = sp_scaled(number, 1);
    }
    sp_lines_close(&lines);
}

static void read_process(const struct sp_room_question *question,
                         struct sp_room_sources *sources)
{
    size_t address, memlock;
    struct self self;

    if (question->is_mapped && !question->is_locking)
        return;
    read_limits(question->root, &address, &memlock);
    if (address == SP_UNKNOWN && (memlock == SP_UNKNOWN || !question->is_locking))
        return;
    self = read_self(question->root);
    if (!question->is_mapped)
        sources->bytes[SP_ROOM_ADDRESS] = sp_less(address, self.mapped);
    if (question->is_locking && !self.may_lock)
        sources->bytes[SP_ROOM_MEMLOCK] = sp_less(memlock, self.locked);
}

static size_t commit_room(const char *root)
{
    uint64_t mode;
    size_t used;

    if (!sp_file_number(root, "proc/sys/vm/overcommit_memory", &mode) || mode != 2)
        return SP_UNKNOWN;
    used = meminfo(root, "Committed_AS:");
    return used == SP_UNKNOWN ? SP_UNKNOWN : sp_less(meminfo(root, "CommitLimit:"), used);
}

void sp_room_read(const struct sp_room_question *question, struct sp_room_sources *sources_out)
{
    for (int i = 0; i < SP_ROOM_N_CAUSES; i++)
        sources_out->bytes[i] = SP_UNKNOWN;
    sources_out->bytes[SP_ROOM_NODE] = nodes_room(question);
    sources_out->bytes[SP_ROOM_CGROUP] = sp_cgroup_room(question->root, &question->reserve);
    read_process(question, sources_out);
    if (!question->is_mapped)
        sources_out->bytes[SP_ROOM_COMMIT] = commit_room(question->root);
}

struct sp_room sp_room_least(const struct sp_room_sources *sources)
{
    struct sp_room room = {.bytes = SP_UNKNOWN, .cause = SP_ROOM_NONE};

    for (int i = 0; i < SP_ROOM_N_CAUSES; i++) {
        if (sources->bytes[i] < room.bytes)
            room = (struct sp_room){.bytes = sources->bytes[i], .cause = (enum sp_room_cause)i};
    }
    return room;
}

/* The OS indexes that `node` stands for; none if the topology does not describe this machine.
 */
static int collect_nodes(int node, int *nodes)
{
    const struct sp_topo *topo;
    int n_nodes = 0;

    if (sp_topo_get(&topo) != STARPOOL_OK || !sp_topo_is_real(topo))
        return 0;
    for (int i = 0; i < sp_topo_n_nodes(topo) && n_nodes < MAX_NODES; i++) {
        const struct starpool_node *candidate = sp_topo_node(topo, i);

        if (node == SP_NODE_HOST ? candidate->serves_host : candidate->os_index == node)
            nodes[n_nodes++] = candidate->os_index;
    }
    return n_nodes;
}

void sp_room_query_sources(int node, bool is_locking, bool is_mapped,
                           struct sp_room_sources *sources_out)
{
    const struct sp_option *option = sp_option(SP_OPTION_HOST_RESERVE);
    int nodes[MAX_NODES];
    struct sp_room_question question = {
        .root = "",
        .nodes = nodes,
        .n_nodes = collect_nodes(node, nodes),
        .reserve = {.bytes = (size_t)option->number,
                    .part = option->origin == SP_ORIGIN_ENVIRONMENT ? 0 : DEFAULT_PART},
        .is_locking = is_locking,
        .is_mapped = is_mapped,
    };

    sp_room_read(&question, sources_out);
}

void sp_room_query(int node, bool is_locking, struct sp_room *room_out)
{
    struct sp_room_sources sources;

    sp_room_query_sources(node, is_locking, false, &sources);
    *room_out = sp_room_least(&sources);
}

enum starpool_status sp_room_status(enum sp_room_cause cause)
{
    switch (cause) {
    case SP_ROOM_NODE:
        return STARPOOL_ENODE;
    case SP_ROOM_CGROUP:
        return STARPOOL_ECGROUP;
    case SP_ROOM_MEMLOCK:
        return STARPOOL_EMEMLOCK;
    case SP_ROOM_ADDRESS:
    case SP_ROOM_COMMIT:
    case SP_ROOM_N_CAUSES:
        break;
    }
    return STARPOOL_ENOMEM;
}

const char *sp_room_cause_text(enum sp_room_cause cause)
{
    switch (cause) {
    case SP_ROOM_NODE:
        return "the NUMA node's free and reclaimable memory";
    case SP_ROOM_CGROUP:
        return "the limit of a memory control group";
    case SP_ROOM_MEMLOCK:
        return "the limit of locked memory (ulimit -l)";
    case SP_ROOM_ADDRESS:
        return "the limit of the address space (ulimit -v)";
    case SP_ROOM_COMMIT:
        return "the commit limit (vm.overcommit_memory is 2)";
    case SP_ROOM_N_CAUSES:
        break;
    }
    return "no known limit";
}
