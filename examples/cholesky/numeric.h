/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CHOLESKY_NUMERIC_H
#define CHOLESKY_NUMERIC_H

#include "symbolic.h"

/*
 * The factor: one dense panel a supernode, by columns, n_rows by n_columns, allocated with
 * starpu_malloc(). Only entries on and below the diagonal mean something.
 */
struct factor {
    const struct symbolic *symbolic; /* not owned */
    double **panels;                 /* [n_supernodes] */
};

/* What one factorisation asked of StarPU. */
struct numeric_stats {
    uint64_t n_temporaries;   /* data registered without a home node */
    uint64_t n_panels;        /* panels allocated with starpu_malloc() */
    uint64_t n_tasks;         /* tasks submitted */
    uint64_t peak_live_bytes; /* most bytes of fronts registered and not yet given up */
};

/* Called now and then while submitting; `done` runs from 0 to 1. */
typedef void (*numeric_progress_fn)(double done, void *argument);

struct numeric_options {
    double window; /* live bytes of fronts, as a share of the bytes of all fronts */
    numeric_progress_fn progress; /* or NULL */
    void *progress_argument;
};

/**
 * Factorise with StarPU, which must be running; returns when every task is done.
 *
 * The fronts alive at once stay within the window, unless a single front and the updates
 * waiting for it need more: then the tasks before it are waited for, and it goes on alone.
 * The result does not depend on the number of workers, nor on the order they work in.
 *
 * @param symbolic    must outlive the factor
 * @param factor_out  give it to factor_fini() afterwards, before StarPU ends
 * @param stats_out   counts of this factorisation
 *
 * @retval STATUS_OK       `*factor_out` and `*stats_out` are set
 * @retval STATUS_NUMERIC  not positive definite; the error names the first column at fault
 * @retval STATUS_SYSTEM   no memory, or StarPU cannot run the tasks
 *
 * Source: J. W. H. Liu, "The multifrontal method for sparse matrix solution: theory and
 *         practice", SIAM Review 34 (1992).
 */
enum status numeric_factorise(const struct symbolic *symbolic,
                              const struct numeric_options *options, struct factor *factor_out,
                              struct numeric_stats *stats_out, struct error *error);

/**
 * Solve A x = b in the numbering of the original matrix, without tasks.
 *
 * @param b      [n]
 * @param x_out  [n] may be `b` itself
 *
 * @retval STATUS_SYSTEM  no memory
 */
enum status factor_solve(const struct factor *factor, const double *b, double *x_out,
                         struct error *error);

/** A number that two factors share if they are the same in every bit, and hardly otherwise. */
uint64_t factor_hash(const struct factor *factor);

void factor_fini(struct factor *factor);

#endif /* CHOLESKY_NUMERIC_H */
