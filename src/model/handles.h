/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Handles that can be told from any other value: addresses of cells in tables of our own. The
 * cell that was given back last is given out first, as a driver's allocator would. */
#ifndef SP_HANDLES_H
#define SP_HANDLES_H

struct sp_handle_chunk;
struct sp_handle_cell;

/* All zero: an empty table. */
struct sp_handles {
    struct sp_handle_chunk *chunks;
    struct sp_handle_cell *free;
};

/* A handle for an object, which is not NULL; NULL if there is no memory. */
void *sp_handles_add(struct sp_handles *handles, void *object);

/* The object that a handle stands for now; NULL if it stands for none. */
void *sp_handles_find(const struct sp_handles *handles, const void *handle);

/* The handle is valid, and is no more. */
void sp_handles_remove(struct sp_handles *handles, void *handle);

void sp_handles_fini(struct sp_handles *handles);

#endif /* SP_HANDLES_H */
