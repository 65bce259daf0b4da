/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The simulated cuBLAS of the build tree, called by name, and arrays on its device whose
 * elements the tests know as complex numbers of double precision. */
#ifndef SP_SIM_BLAS_FIXTURE_H
#define SP_SIM_BLAS_FIXTURE_H

#include "tests/support.h"

#include <complex.h>

#include "src/driver/driver.h"

/* What a test uses; made anew for each by sp_blas_setup(). */
struct sp_blas_world {
    const struct sp_driver *cu; /* the model's */
    void *library, *handle;     /* libcublas, a cublasHandle_t */
    sp_cu_context context;
    sp_cu_stream stream; /* the handle's; of its own, not blocking */
    uint64_t random;
};
extern struct sp_blas_world sp_blas;

/* CMPLX() and CMPLXF() of the C library, which has them for gcc only. */
static inline double complex sp_complex(double real, double imaginary)
{
    return __builtin_complex(real, imaginary);
}

static inline float complex sp_complex_float(float real, float imaginary)
{
    return __builtin_complex(real, imaginary);
}

int sp_blas_setup(void **state);
int sp_blas_teardown(void **state);

/* Where a library of the build tree is: DIR/cuda-13/NAME, DIR from STARPOOL_TEST_SIM or "sim".
 */
void *sp_sim_open(const char *cuda, const char *name);

/* A function of a library; fails the test if there is none. */
void *sp_sim_symbol(void *library, const char *name);

/* ---- calls --------------------------------------------------------------------------- */

/* Any function of the second interface: all that it takes is integers and addresses. */
int sp_blas_call(const char *name, size_t n_args, const intptr_t *args);

#define BLAS_ARGS(...) \
    (sizeof((intptr_t[]){__VA_ARGS__}) / sizeof(intptr_t)), ((intptr_t[]){__VA_ARGS__})

/* CALL("Sgemm_v2", ...): the status; the handle comes by itself. */
#define CALL(name, ...) sp_blas_call((name), BLAS_ARGS((intptr_t)sp_blas.handle, __VA_ARGS__))

/* The name of a routine: its type's letter, or a prefix of two, and the family. */
const char *sp_blas_name(const char *prefix, const char *family);

/* ---- arrays -------------------------------------------------------------------------- */

/* An array on the device: random at first. `at` is what the device shall hold. */
struct sp_array {
    char type; /* S D C Z */
    size_t n;
    sp_cu_ptr ptr;
    double complex *at; /* [n] */
};

struct sp_array sp_array_new(char type, size_t n);
void sp_array_free(struct sp_array *array);
void sp_array_upload(const struct sp_array *array);

/* Fail unless the device holds `at`, every element of it. Waits for the handle's stream. */
void sp_array_check(const struct sp_array *array, const char *what);

/* A number as a routine of that type takes it, on the host; `out` has room for 16 bytes. */
void *sp_number(char type, double complex value, void *out);

/* What a number of that type is. */
double complex sp_number_value(char type, const void *number);

/* The type of a routine's real numbers. */
char sp_real_of(char type);

double complex sp_random_number(char type);

/* How far results may be off. */
double sp_tolerance(char type);

/* ---- what arrays stand for ----------------------------------------------------------- */

/* The place of a vector's element. */
size_t sp_place(size_t i, size_t n, int increment);

/* An operation: 0 none, 1 transposed, 2 conjugated too. */
double complex sp_op(int operation, double complex value);

/* An element of op(A), A by columns. */
double complex sp_element(const struct sp_array *a, int ld, int operation, int i, int j);

#endif /* SP_SIM_BLAS_FIXTURE_H */
