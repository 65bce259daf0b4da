/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The stand-in for cuBLAS. Each routine runs the system's BLAS on the model's memory, as a
 * kernel of the stream, so that order, capture, protection and races are those of the model. */
#ifndef SP_SIM_BLAS_H
#define SP_SIM_BLAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/driver/driver.h"

/* cublasStatus_t */
enum {
    SP_BLAS_SUCCESS = 0,
    SP_BLAS_NOT_INITIALIZED = 1,
    SP_BLAS_ALLOC_FAILED = 3,
    SP_BLAS_INVALID_VALUE = 7,
    SP_BLAS_ARCH_MISMATCH = 8,
    SP_BLAS_MAPPING_ERROR = 11,
    SP_BLAS_EXECUTION_FAILED = 13,
    SP_BLAS_INTERNAL_ERROR = 14,
    SP_BLAS_NOT_SUPPORTED = 15,
    SP_BLAS_LICENSE_ERROR = 16,
};

enum { SP_BLAS_POINTER_HOST = 0, SP_BLAS_POINTER_DEVICE = 1 };

/* A cublasHandle_t. Used by one thread at a time, as cuBLAS asks for. */
struct sp_blas_handle {
    sp_cu_stream stream; /* NULL: the legacy default stream */
    int pointer_mode, atomics_mode, math_mode, sm_count_target;
};

enum {
    SP_BLAS_MAX_PARAMETERS = 18,
    SP_BLAS_MAX_ADDRESSES = 5, /* of one call */
};

struct sp_blas_run;

/* One routine of one type, a row of blas_calls.txt. */
struct sp_blas_routine {
    const char *name;   /* without _v2 and _64 */
    const char *symbol; /* of the BLAS; NULL: `own` does it */
    void (*own)(struct sp_blas_run *run);
    /*
     * One letter a parameter: t an operation, T H one that may not conjugate, may not only
     * transpose; u d l a triangle, a diagonal, a side; n b a size, a count; h i a leading
     * dimension, an increment; j an integer that may be any; o a stride; s e a number, of the
     * type or real; a p an array, an array of addresses; r what is read and written, or a
     * result, on the host or the device.
     */
    const char *kinds;
    char type;   /* S D C Z */
    char result; /* what the BLAS's function returns: S D, or I for an int; 0: nothing */
};

/* A parameter as the program gave it. */
struct sp_blas_arg {
    int64_t number, least; /* of a size, a leading dimension ... */
    const void *address;   /* of a number, an array, a result */
};

/* What an own routine works on: each parameter by its place in `kinds`. */
struct sp_blas_run {
    const struct sp_blas_routine *routine;
    int64_t number[SP_BLAS_MAX_PARAMETERS];
    void *address[SP_BLAS_MAX_PARAMETERS]; /* readable now, also of what is a number */
};

/* All rows, NULL at the end; blas_calls.c. */
extern const struct sp_blas_routine *const sp_blas_routines[];

/* ---- blas_run.c ---------------------------------------------------------------------- */

/* Check a call's parameters, one for each letter, and launch it. */
int sp_blas_call(const struct sp_blas_handle *handle, const struct sp_blas_routine *routine,
                 const struct sp_blas_arg *args);

/* Let the model know every routine, once a process: false, and one line, if that fails or the
 * machine has no BLAS. */
bool sp_blas_start(void);

/* Do what a run says, now, by the BLAS or the routine itself. */
void sp_blas_run(struct sp_blas_run *run);

/* The row of that name, or NULL. */
const struct sp_blas_routine *sp_blas_find(const char *name);

int sp_blas_status(sp_cu_result result);

/* ---- blas_system.c ------------------------------------------------------------------- */

/* Load the BLAS: false, and one line, if there is none. */
bool sp_blas_system_open(void);

/*
 * Call a routine of it. `address` has one element a parameter, then one of value 1 for each
 * that is a character, as Fortran wants; the rest is NULL. What a function returns goes to
 * `result`; `type` is that of struct sp_blas_routine's `result`.
 */
void sp_blas_system_call(const char *symbol, void *const address[SP_BLAS_MAX_PARAMETERS],
                         char type, void *result);

/* ---- blas_first.c -------------------------------------------------------------------- */

/* The handle of the first interface, which has none: what cublasInit() began; NULL without. */
struct sp_blas_handle *sp_blas_first(void);

/* A call of the first interface: its status is for cublasGetError(). */
void sp_blas_call_first(const struct sp_blas_routine *routine, const struct sp_blas_arg *args);

/* The second interface's number for a character of the first: -1 if it means nothing. */
int sp_blas_operation(char letter);
int sp_blas_triangle(char letter);
int sp_blas_diagonal(char letter);
int sp_blas_side(char letter);

/* ---- blas_own.c, blas_many.c --------------------------------------------------------- */

void sp_blas_dotu(struct sp_blas_run *run);
void sp_blas_dotc(struct sp_blas_run *run);
void sp_blas_amin(struct sp_blas_run *run);
void sp_blas_rot(struct sp_blas_run *run);
void sp_blas_symv(struct sp_blas_run *run);
void sp_blas_syr(struct sp_blas_run *run);
void sp_blas_syr2(struct sp_blas_run *run);
void sp_blas_syrkx(struct sp_blas_run *run);
void sp_blas_herkx(struct sp_blas_run *run);
void sp_blas_trmm(struct sp_blas_run *run);
void sp_blas_geam(struct sp_blas_run *run);
void sp_blas_dgmm(struct sp_blas_run *run);
void sp_blas_tpttr(struct sp_blas_run *run);
void sp_blas_trttp(struct sp_blas_run *run);
void sp_blas_gemm_batched(struct sp_blas_run *run);
void sp_blas_gemm_strided(struct sp_blas_run *run);
void sp_blas_gemv_batched(struct sp_blas_run *run);
void sp_blas_gemv_strided(struct sp_blas_run *run);
void sp_blas_trsm_batched(struct sp_blas_run *run);

#endif /* SP_SIM_BLAS_H */
