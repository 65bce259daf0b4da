/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CHOLESKY_SYMBOLIC_H
#define CHOLESKY_SYMBOLIC_H

#include "matrix.h"

#include <stddef.h>
#include <stdint.h>

/*
 * A supernode: consecutive columns of the factor that are treated as having the same rows, and
 * therefore live in one dense front. Its first n_columns rows are those columns themselves;
 * the rows after them are what its update (contribution block) adds to the parent's front.
 *
 * n_columns <= n_rows; a root has n_columns == n_rows, any other has a parent > its own number.
 */
struct supernode {
    int first;         /* its first column */
    int n_columns;     /* columns eliminated here */
    int n_rows;        /* order of the front */
    int parent;        /* supernode that takes the update, or -1 */
    int first_child;   /* or -1 */
    int next_sibling;  /* next child of the parent, or -1 */
    size_t rows_start; /* where its rows begin in symbolic.rows and symbolic.places */
};

/*
 * All that is known before the first number is touched. Columns are renumbered: AMD's order,
 * then a postorder of the elimination tree. Children come before their parents.
 */
struct symbolic {
    int *permutation;     /* [n] old number of each new column */
    struct matrix matrix; /* the matrix in the new order */
    int n_supernodes;
    struct supernode *supernodes; /* [n_supernodes] */
    int *rows;                    /* [n_rows of each supernode] row numbers, ascending */
    int *places;       /* [as rows] beyond n_columns: index of the row in the parent's front */
    uint64_t n_factor; /* entries of the factor, diagonal included */
    uint64_t n_stored; /* entries the panels hold: with the zeros amalgamation lets in, and
                        * with the square corner above the diagonal */
    uint64_t front_bytes; /* of all fronts together */
};

/* A front is held in two parts: the panel, n_rows by n_columns, and the update, a square. */
size_t supernode_panel_bytes(const struct supernode *supernode);
size_t supernode_update_bytes(const struct supernode *supernode);

/**
 * Order the matrix and find out how it is to be factorised.
 *
 * @param symbolic_out  give it to symbolic_fini() afterwards; does not refer to `matrix`
 *
 * @retval STATUS_INPUT   more numbers than 62 bits count
 * @retval STATUS_SYSTEM  no memory
 */
enum status symbolic_init(const struct matrix *matrix, struct symbolic *symbolic_out,
                          struct error *error);

void symbolic_fini(struct symbolic *symbolic);

#endif /* CHOLESKY_SYMBOLIC_H */
