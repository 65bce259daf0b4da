/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tables of cells. A handle is looked up by its address alone, so that whatever a program
 * passes as one is never dereferenced. */
#include "config.h"

#include "src/model/handles.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "src/util/util.h"

/* Cells of the first chunk; each further one has twice as many, so that there are few. */
#define FIRST_CELLS 128

struct sp_handle_cell {
    void *object; /* NULL if free */
    struct sp_handle_cell *next;
};

struct sp_handle_chunk {
    struct sp_handle_chunk *next;
    size_t n_cells;
    struct sp_handle_cell cells[];
};

static struct sp_handle_cell *find_cell(const struct sp_handles *handles, const void *handle)
{
    uintptr_t address = (uintptr_t)handle;

    for (struct sp_handle_chunk *chunk = handles->chunks; chunk != NULL; chunk = chunk->next) {
        uintptr_t offset = address - (uintptr_t)chunk->cells;

        if (offset < chunk->n_cells * sizeof(chunk->cells[0]) &&
            offset % sizeof(chunk->cells[0]) == 0)
            return &chunk->cells[offset / sizeof(chunk->cells[0])];
    }
    return NULL;
}

static void put_free(struct sp_handles *handles, struct sp_handle_cell *cell)
{
    cell->object = NULL;
    cell->next = handles->free;
    handles->free = cell;
}

static bool add_chunk(struct sp_handles *handles)
{
    size_t n = handles->chunks == NULL ? FIRST_CELLS : 2 * handles->chunks->n_cells;
    struct sp_handle_chunk *chunk = calloc(1, sizeof(*chunk) + n * sizeof(chunk->cells[0]));

    if (chunk == NULL)
        return false;
    chunk->n_cells = n;
    chunk->next = handles->chunks;
    handles->chunks = chunk;
    for (size_t i = n; i-- > 0;)
        put_free(handles, &chunk->cells[i]);
    return true;
}

void *sp_handles_add(struct sp_handles *handles, void *object)
{
    struct sp_handle_cell *cell;

    if (handles->free == NULL && !add_chunk(handles))
        return NULL;
    cell = handles->free;
    SP_ASSERT(cell != NULL);
    handles->free = cell->next;
    cell->object = object;
    return cell;
}

void *sp_handles_find(const struct sp_handles *handles, const void *handle)
{
    struct sp_handle_cell *cell = find_cell(handles, handle);

    return cell == NULL ? NULL : cell->object;
}

void sp_handles_remove(struct sp_handles *handles, void *handle)
{
    put_free(handles, find_cell(handles, handle));
}

void sp_handles_fini(struct sp_handles *handles)
{
    while (handles->chunks != NULL) {
        struct sp_handle_chunk *chunk = handles->chunks;

        handles->chunks = chunk->next;
        free(chunk);
    }
    *handles = (struct sp_handles){0};
}
