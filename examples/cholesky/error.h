/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CHOLESKY_ERROR_H
#define CHOLESKY_ERROR_H

/* What a step of the solver answers; also the exit status of the program. */
enum status {
    STATUS_OK = 0,
    STATUS_NUMERIC = 1, /* not positive definite, or the solution is not accurate */
    STATUS_INPUT = 2,   /* a bad option, or a missing or malformed file */
    STATUS_SYSTEM = 3,  /* no memory, or StarPU does not work here */
};

/* One line for the user: where, what is wrong, what to do about it. Written only on failure. */
struct error {
    char text[512];
};

/* Write the line, cut off where the room ends. */
void error_write(struct error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/**
 * Write the line and hand back the status, so that a failure is one statement. A macro, so that
 * a static analyser sees which status it is.
 *
 * @param error   receives the line
 * @param status  what to return
 */
#define error_set(error, status, ...) (error_write((error), __VA_ARGS__), (status))

/* The same words wherever malloc() fails. */
static inline enum status error_no_memory(struct error *error, const char *purpose)
{
    return error_set(error, STATUS_SYSTEM,
                     "out of memory for %s; use a smaller matrix or free some memory", purpose);
}

#endif /* CHOLESKY_ERROR_H */
