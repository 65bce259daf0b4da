/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CHOLESKY_TREE_H
#define CHOLESKY_TREE_H

#include "matrix.h"

/*
 * The elimination tree: the parent of column j is the row of the first entry below the
 * diagonal in column j of the factor, or -1 for a root. A parent has the larger number.
 */

/**
 * Find the elimination tree.
 *
 * @param parent_out  [n]
 *
 * @retval STATUS_SYSTEM  no memory
 *
 * Source: J. W. H. Liu, "The role of elimination trees in sparse factorization", SIAM J.
 *         Matrix Anal. Appl. 11 (1990).
 */
enum status tree_parents(const struct matrix *matrix, int *parent_out, struct error *error);

/**
 * Put the columns in postorder: each subtree is a run of consecutive columns.
 *
 * @param order_out  [n] `order_out[k]` is the column that comes at place k
 *
 * @retval STATUS_SYSTEM  no memory
 */
enum status tree_postorder(int n, const int *parent, int *order_out, struct error *error);

/**
 * Count the entries of each column of the factor, diagonal included, without making them.
 *
 * @param parent      [n] a tree whose numbering is a postorder already
 * @param counts_out  [n]
 *
 * @retval STATUS_SYSTEM  no memory
 *
 * Source: J. R. Gilbert, E. G. Ng, B. W. Peyton, "An efficient algorithm to compute row and
 *         column counts for sparse Cholesky factorization", SIAM J. Matrix Anal. Appl. 15
 *         (1994).
 */
enum status tree_counts(const struct matrix *matrix, const int *parent, int *counts_out,
                        struct error *error);

#endif /* CHOLESKY_TREE_H */
