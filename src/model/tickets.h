/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Handles that a table gives once only: an index and a generation, so that a stale one names
 * nothing and can be told from what never was one. A table that has been emptied begins anew.
 */
#ifndef SP_TICKETS_H
#define SP_TICKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sp_ticket;

/* All zero but for the kind: an empty table. */
struct sp_tickets {
    unsigned kind; /* 0 to 7, another one in each table: handles of one are none of another */
    struct sp_ticket *entries; /* [n_entries], of `room` */
    size_t n_entries, room;
    size_t free; /* the entry that is given next, plus one; 0 if all are given */
};

/* A handle for an object, which is not NULL; NULL if there is no memory. */
void *sp_tickets_add(struct sp_tickets *tickets, void *object);

/* The object that a handle stands for; NULL if it stands for none. */
void *sp_tickets_find(const struct sp_tickets *tickets, const void *handle);

/* Whether a handle that stands for none did so once, since the table was last emptied. */
bool sp_tickets_is_stale(const struct sp_tickets *tickets, const void *handle);

/* The handle is valid, and is no more. */
void sp_tickets_remove(struct sp_tickets *tickets, const void *handle);

/* Empty the table. What it gave means nothing any more, and is given again in the same order,
 * so that the model is the same after each reset. */
void sp_tickets_fini(struct sp_tickets *tickets);

#endif /* SP_TICKETS_H */
