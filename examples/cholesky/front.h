/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CHOLESKY_FRONT_H
#define CHOLESKY_FRONT_H

#include "symbolic.h"

/*
 * The three steps on one front, on plain memory by columns. `panel` is n_rows by n_columns
 * with leading dimension panel_ld; `update` is the square of the rows beyond, of which only
 * the lower triangle is used, and is not touched where it has no rows.
 */
struct front {
    double *panel;
    double *update;
    size_t panel_ld;
    size_t update_ld;
};

/* Zero the front and put the matrix's columns into its panel. */
void front_init(const struct symbolic *symbolic, int number, const struct front *front);

/* Add the update of supernode `child` into its parent's front. */
void front_assemble(const struct symbolic *symbolic, int child, const double *update,
                    size_t update_ld, const struct front *parent);

/**
 * Eliminate the panel's columns and take their share off the update.
 *
 * @param factor_panel  [n_rows, n_columns] receives the finished columns, without gaps
 *
 * @retval 0 on success, else the number, from 1, of the panel's column whose pivot is not
 *         positive; the front is then unfinished
 */
int front_factorise(const struct supernode *supernode, const struct front *front,
                    double *factor_panel);

#endif /* CHOLESKY_FRONT_H */
