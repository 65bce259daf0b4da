/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A handle is made of a low bit that no pointer to a struct has, the table's kind, the index of
 * an entry and how often that has been given. What a program passes as one is never
 * dereferenced. */
#include "config.h"

#include "src/model/tickets.h"

#include <stdlib.h>

#include "src/util/util.h"

#define TAG_BITS   4 /* the low bit, and the kind */
#define INDEX_BITS 28

#define FIRST_ROOM 64 /* entries; each growth doubles them */

struct sp_ticket {
    void *object;        /* NULL if it is not given */
    size_t next;         /* that is not given, plus one; 0 if none is */
    uint32_t generation; /* how often it has been given */
};

static uintptr_t tag_of(const struct sp_tickets *tickets)
{
    return (uintptr_t)tickets->kind << 1 | 1;
}

static void *handle_of(const struct sp_tickets *tickets, size_t index, uint32_t generation)
{
    uintptr_t value = ((uintptr_t)generation << INDEX_BITS | index) << TAG_BITS;

    return (void *)(value | tag_of(tickets));
}

/* The entry that a handle names, in whichever generation; NULL if it can be none of the
 * table's. */
static struct sp_ticket *entry_of(const struct sp_tickets *tickets, const void *handle)
{
    uintptr_t value = (uintptr_t)handle;
    size_t index = (value >> TAG_BITS) & (((size_t)1 << INDEX_BITS) - 1);

    if ((value & ((1U << TAG_BITS) - 1)) != tag_of(tickets) || index >= tickets->n_entries)
        return NULL;
    return &tickets->entries[index];
}

static uint32_t generation_of(const void *handle)
{
    return (uint32_t)((uintptr_t)handle >> (INDEX_BITS + TAG_BITS));
}

static bool grow(struct sp_tickets *tickets)
{
    size_t room = tickets->room == 0 ? FIRST_ROOM : 2 * tickets->room;
    struct sp_ticket *entries;

    if (room > (size_t)1 << INDEX_BITS)
        return false;
    entries = realloc(tickets->entries, room * sizeof(*entries));
    if (entries == NULL)
        return false;
    tickets->entries = entries;
    tickets->room = room;
    return true;
}

void *sp_tickets_add(struct sp_tickets *tickets, void *object)
{
    struct sp_ticket *entry;

    if (tickets->free == 0) {
        if (tickets->n_entries == tickets->room && !grow(tickets))
            return NULL;
        tickets->entries[tickets->n_entries++] = (struct sp_ticket){0};
        tickets->free = tickets->n_entries;
    }
    entry = &tickets->entries[tickets->free - 1];
    tickets->free = entry->next;
    entry->object = object;
    entry->generation++;
    return handle_of(tickets, (size_t)(entry - tickets->entries), entry->generation);
}

void *sp_tickets_find(const struct sp_tickets *tickets, const void *handle)
{
    const struct sp_ticket *entry = entry_of(tickets, handle);

    return entry == NULL || entry->generation != generation_of(handle) ? NULL : entry->object;
}

bool sp_tickets_is_stale(const struct sp_tickets *tickets, const void *handle)
{
    const struct sp_ticket *entry = entry_of(tickets, handle);
    uint32_t generation = generation_of(handle);

    return entry != NULL && generation > 0 &&
           (generation < entry->generation ||
            (generation == entry->generation && entry->object == NULL));
}

/* An entry whose generations are used up is not given again. */
void sp_tickets_remove(struct sp_tickets *tickets, const void *handle)
{
    struct sp_ticket *entry = entry_of(tickets, handle);

    SP_ASSERT(entry != NULL && entry->object != NULL &&
              entry->generation == generation_of(handle));
    entry->object = NULL;
    if (entry->generation == UINT32_MAX)
        return;
    entry->next = tickets->free;
    tickets->free = (size_t)(entry - tickets->entries) + 1;
}

void sp_tickets_fini(struct sp_tickets *tickets)
{
    free(tickets->entries);
    *tickets = (struct sp_tickets){.kind = tickets->kind};
}
