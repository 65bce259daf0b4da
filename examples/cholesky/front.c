/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The arithmetic of the multifrontal method on one front at a time. It knows neither StarPU
 * nor who allocated the memory.
 */
#include "front.h"
#include "lapack.h"

#include <stdlib.h>
#include <string.h>

static int ascending(const void *left, const void *right)
{
    int a = *(const int *)left;
    int b = *(const int *)right;

    return (a > b) - (a < b);
}

/* Which row of the front is row `row` of the matrix? It is there by construction. */
static size_t find_row(const struct symbolic *symbolic, const struct supernode *supernode,
                       int row)
{
    const int *rows = symbolic->rows + supernode->rows_start;
    const int *found;

    if (row < supernode->first + supernode->n_columns)
        return (size_t)(row - supernode->first);
    found =
        bsearch(&row, rows + supernode->n_columns,
                (size_t)(supernode->n_rows - supernode->n_columns), sizeof(*rows), ascending);
    return (size_t)(found - rows);
}

void front_init(const struct symbolic *symbolic, int number, const struct front *front)
{
    const struct supernode *supernode = &symbolic->supernodes[number];
    const struct matrix *matrix = &symbolic->matrix;
    size_t n_update = (size_t)(supernode->n_rows - supernode->n_columns);
    size_t n_columns = (size_t)supernode->n_columns;
    double *column;
    size_t j;
    int i;

    for (j = 0; j < n_columns; j++) {
        column = front->panel + j * front->panel_ld;
        memset(column, 0, (size_t)supernode->n_rows * sizeof(*column));
        for (i = matrix->start[supernode->first + (int)j];
             i < matrix->start[supernode->first + (int)j + 1]; i++)
            column[find_row(symbolic, supernode, matrix->rows[i])] = matrix->values[i];
    }
    for (j = 0; j < n_update; j++)
        memset(front->update + j * front->update_ld + j, 0,
               (n_update - j) * sizeof(*front->update));
}

void front_assemble(const struct symbolic *symbolic, int child, const double *update,
                    size_t update_ld, const struct front *parent)
{
    const struct supernode *supernode = &symbolic->supernodes[child];
    size_t n_columns = (size_t)symbolic->supernodes[supernode->parent].n_columns;
    size_t n_update = (size_t)(supernode->n_rows - supernode->n_columns);
    const int *places = symbolic->places + supernode->rows_start + supernode->n_columns;
    size_t i;
    size_t j;

    /* Places ascend, so a lower triangle falls into a lower triangle: what lands in a column
     * of the parent's update lands in its rows too. */
    for (j = 0; j < n_update; j++) {
        const double *from = update + j * update_ld;
        size_t column = (size_t)places[j];
        size_t skipped = 0;
        double *to;

        if (column < n_columns) {
            to = parent->panel + column * parent->panel_ld;
        } else {
            to = parent->update + (column - n_columns) * parent->update_ld;
            skipped = n_columns;
        }
        for (i = j; i < n_update; i++)
            to[(size_t)places[i] - skipped] += from[i];
    }
}

int front_factorise(const struct supernode *supernode, const struct front *front,
                    double *factor_panel)
{
    const int n_columns = supernode->n_columns;
    const int n_update = supernode->n_rows - n_columns;
    const int panel_ld = (int)front->panel_ld;
    const int update_ld = (int)front->update_ld;
    const double minus_one = -1;
    const double one = 1;
    double *below = front->panel + n_columns;
    int failed_column;
    size_t j;

    dpotrf_("L", &n_columns, front->panel, &panel_ld, &failed_column);
    if (failed_column != 0)
        return failed_column;
    if (n_update > 0) {
        dtrsm_("R", "L", "T", "N", &n_update, &n_columns, &one, front->panel, &panel_ld, below,
               &panel_ld);
        dsyrk_("L", "N", &n_update, &n_columns, &minus_one, below, &panel_ld, &one,
               front->update, &update_ld);
    }
    for (j = 0; j < (size_t)n_columns; j++)
        memcpy(factor_panel + j * (size_t)supernode->n_rows, front->panel + j * front->panel_ld,
               (size_t)supernode->n_rows * sizeof(*factor_panel));
    return 0;
}
