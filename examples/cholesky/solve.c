/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The two triangular solves with a finished factor. They take little beside the factorisation,
 * so they run where they are called, without tasks.
 */
#include "lapack.h"
#include "numeric.h"

#include <starpu.h>

#include <stdlib.h>
#include <string.h>

static const int stride = 1;
static const double one = 1;

/* x := L^-1 x, one supernode after another; `gathered` is room for the rows below one. */
static void solve_forward(const struct factor *factor, double *x, double *gathered)
{
    const struct symbolic *symbolic = factor->symbolic;
    const double minus_one = -1;
    const double zero = 0;
    int number;
    int i;

    for (number = 0; number < symbolic->n_supernodes; number++) {
        const struct supernode *supernode = &symbolic->supernodes[number];
        const double *panel = factor->panels[number];
        const int *rows = symbolic->rows + supernode->rows_start + supernode->n_columns;
        const int n_below = supernode->n_rows - supernode->n_columns;

        dtrsv_("L", "N", "N", &supernode->n_columns, panel, &supernode->n_rows,
               x + supernode->first, &stride);
        if (n_below == 0)
            continue;
        dgemv_("N", &n_below, &supernode->n_columns, &minus_one, panel + supernode->n_columns,
               &supernode->n_rows, x + supernode->first, &stride, &zero, gathered, &stride);
        for (i = 0; i < n_below; i++)
            x[rows[i]] += gathered[i];
    }
}

/* x := L^-T x, from the last supernode to the first. */
static void solve_backward(const struct factor *factor, double *x, double *gathered)
{
    const struct symbolic *symbolic = factor->symbolic;
    const double minus_one = -1;
    int number;
    int i;

    for (number = symbolic->n_supernodes - 1; number >= 0; number--) {
        const struct supernode *supernode = &symbolic->supernodes[number];
        const double *panel = factor->panels[number];
        const int *rows = symbolic->rows + supernode->rows_start + supernode->n_columns;
        const int n_below = supernode->n_rows - supernode->n_columns;

        for (i = 0; i < n_below; i++)
            gathered[i] = x[rows[i]];
        if (n_below > 0)
            dgemv_("T", &n_below, &supernode->n_columns, &minus_one,
                   panel + supernode->n_columns, &supernode->n_rows, gathered, &stride, &one,
                   x + supernode->first, &stride);
        dtrsv_("L", "T", "N", &supernode->n_columns, panel, &supernode->n_rows,
               x + supernode->first, &stride);
    }
}

enum status factor_solve(const struct factor *factor, const double *b, double *x_out,
                         struct error *error)
{
    const int *permutation = factor->symbolic->permutation;
    size_t n = (size_t)factor->symbolic->matrix.n;
    double *room = malloc(2 * n * sizeof(*room));
    double *x = room;
    size_t i;

    if (room == NULL)
        return error_no_memory(error, "the solution");
    for (i = 0; i < n; i++)
        x[i] = b[permutation[i]];
    solve_forward(factor, x, room + n);
    solve_backward(factor, x, room + n);
    for (i = 0; i < n; i++)
        x_out[permutation[i]] = x[i];
    free(room);
    return STATUS_OK;
}

/* FNV-1a, by words of 64 bits. */
static uint64_t hash_column(uint64_t hash, const double *column, int count)
{
    uint64_t bits;
    int i;

    for (i = 0; i < count; i++) {
        memcpy(&bits, &column[i], sizeof(bits));
        hash = (hash ^ bits) * UINT64_C(0x100000001b3);
    }
    return hash;
}

uint64_t factor_hash(const struct factor *factor)
{
    const struct symbolic *symbolic = factor->symbolic;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    int column;
    int i;

    for (i = 0; i < symbolic->n_supernodes; i++) {
        const struct supernode *supernode = &symbolic->supernodes[i];

        /* What is above the diagonal means nothing. */
        for (column = 0; column < supernode->n_columns; column++)
            hash = hash_column(
                hash, factor->panels[i] + (size_t)column * (size_t)supernode->n_rows + column,
                supernode->n_rows - column);
    }
    return hash;
}

void factor_fini(struct factor *factor)
{
    const struct symbolic *symbolic = factor->symbolic;
    int i;

    if (factor->panels == NULL)
        return;
    for (i = 0; i < symbolic->n_supernodes; i++) {
        /* starpu_free() is deprecated in 1.4, this says the same in both. */
        if (factor->panels[i] != NULL)
            starpu_free_flags(factor->panels[i],
                              supernode_panel_bytes(&symbolic->supernodes[i]),
                              STARPU_MALLOC_PINNED);
    }
    free(factor->panels);
    factor->panels = NULL;
}
