/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CHOLESKY_OPTIONS_H
#define CHOLESKY_OPTIONS_H

#include "error.h"

#include <stdbool.h>
#include <stdint.h>

/* What the user asked for. Either `path` is set, or `dimensions` is 2 or 3. */
struct options {
    const char *path;
    int dimensions;  /* of the Laplacian, 0 for a file */
    int side;        /* [points] of the Laplacian */
    int n_repeats;   /* factorisations in this process, at least 1 */
    double window;   /* share of the front bytes that may be live, above 0 and up to 1 */
    bool has_seed;   /* the right-hand side is random, not A times ones */
    uint64_t seed;   /* of the right-hand side */
    bool refine;     /* one step of iterative refinement */
    bool json;       /* one JSON object on the standard output */
    bool help;       /* print the help and do nothing */
    double accuracy; /* largest backward error that counts as a success */
};

extern const char options_help[];

/**
 * Read the command line.
 *
 * @retval STATUS_INPUT  an option is unknown or its value senseless; the error says which
 */
enum status options_parse(int argc, char **argv, struct options *options_out,
                          struct error *error);

#endif /* CHOLESKY_OPTIONS_H */
