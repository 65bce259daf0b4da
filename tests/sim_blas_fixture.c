/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/sim_blas_fixture.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/model/model.h"

struct sp_blas_world sp_blas;

void *sp_sim_open(const char *cuda, const char *name)
{
    const char *dir = getenv("STARPOOL_TEST_SIM");
    char path[512];
    void *library;

    snprintf(path, sizeof(path), "%s/%s/%s", dir == NULL ? "sim" : dir, cuda, name);
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        print_error("%s\n", dlerror());
    return library;
}

void *sp_sim_symbol(void *library, const char *name)
{
    void *symbol = dlsym(library, name);

    if (symbol == NULL)
        fail_msg("there is no %s", name);
    return symbol;
}

/* ---- one world a test ---------------------------------------------------------------- */

int sp_blas_setup(void **state)
{
    (void)state;
    if (sp_blas.random == 0)
        sp_blas.random = sp_test_seed();
    sp_blas.cu = sp_model_driver();
    if (sp_blas.library == NULL)
        sp_blas.library = sp_sim_open("cuda-13", "libcublas.so.13");
    if (sp_blas.library == NULL || sp_blas.cu->cuInit(0) != SP_CU_SUCCESS ||
        sp_blas.cu->cuCtxCreate(&sp_blas.context, 0, 0) != SP_CU_SUCCESS ||
        sp_blas.cu->cuStreamCreate(&sp_blas.stream, SP_CU_STREAM_NON_BLOCKING) != SP_CU_SUCCESS)
        return -1;
    if (sp_blas_call("Create_v2", BLAS_ARGS((intptr_t)&sp_blas.handle)) != 0)
        return -1;
    return CALL("SetStream_v2", (intptr_t)sp_blas.stream);
}

int sp_blas_teardown(void **state)
{
    (void)state;
    if (CALL("Destroy_v2", 0) != 0)
        return -1;
    return sp_blas.cu->cuCtxDestroy(sp_blas.context);
}

/* ---- calls --------------------------------------------------------------------------- */

int sp_blas_call(const char *name, size_t n_args, const intptr_t *args)
{
    /* As many as the longest has. */
    int (*function)(intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t,
                    intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t,
                    intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t,
                    intptr_t, intptr_t);
    intptr_t a[23] = {0};
    char full[64];
    void *symbol;

    assert_true(n_args <= 23);
    memcpy(a, args, n_args * sizeof(*args));
    snprintf(full, sizeof(full), "cublas%s", name);
    symbol = sp_sim_symbol(sp_blas.library, full);
    memcpy(&function, &symbol, sizeof(symbol));
    return function(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11],
                    a[12], a[13], a[14], a[15], a[16], a[17], a[18], a[19], a[20], a[21],
                    a[22]);
}

const char *sp_blas_name(const char *prefix, const char *family)
{
    static char name[64];

    snprintf(name, sizeof(name), "%s%s", prefix, family);
    return name;
}

/* ---- numbers ------------------------------------------------------------------------- */

static size_t size_of(char type)
{
    return type == 'S' ? 4 : type == 'D' || type == 'C' ? 8 : 16;
}

char sp_real_of(char type)
{
    return type == 'S' || type == 'C' ? 'S' : 'D';
}

double sp_tolerance(char type)
{
    return sp_real_of(type) == 'S' ? 2e-4 : 1e-11;
}

void *sp_number(char type, double complex value, void *out)
{
    const float single[2] = {(float)creal(value), (float)cimag(value)};
    const double twice[2] = {creal(value), cimag(value)};

    memcpy(out, sp_real_of(type) == 'S' ? (const void *)single : (const void *)twice,
           size_of(type));
    return out;
}

double complex sp_number_value(char type, const void *number)
{
    float single[2] = {0};
    double twice[2] = {0};

    if (sp_real_of(type) == 'S') {
        memcpy(single, number, size_of(type));
        return sp_complex(single[0], single[1]);
    }
    memcpy(twice, number, size_of(type));
    return sp_complex(twice[0], twice[1]);
}

/* From -1 to 1 in steps that single precision has, so that it is the same for all. */
static double random_real(void)
{
    return (double)sp_test_random_below(&sp_blas.random, 2001) / 1024 - 1;
}

double complex sp_random_number(char type)
{
    const double real = random_real();

    return type == 'S' || type == 'D' ? real : sp_complex(real, random_real());
}

/* ---- arrays -------------------------------------------------------------------------- */

void sp_array_upload(const struct sp_array *array)
{
    const size_t size = size_of(array->type);
    char *bytes = malloc(array->n * size);

    assert_non_null(bytes);
    for (size_t i = 0; i < array->n; i++)
        sp_number(array->type, array->at[i], bytes + i * size);
    assert_int_equal(SP_CU_SUCCESS,
                     sp_blas.cu->cuMemcpyHtoD(array->ptr, bytes, array->n * size));
    free(bytes);
}

struct sp_array sp_array_new(char type, size_t n)
{
    struct sp_array array = {.type = type, .n = n, .at = calloc(n, sizeof(double complex))};

    assert_non_null(array.at);
    assert_int_equal(SP_CU_SUCCESS, sp_blas.cu->cuMemAlloc(&array.ptr, n * size_of(type)));
    for (size_t i = 0; i < n; i++)
        array.at[i] = sp_random_number(type);
    sp_array_upload(&array);
    return array;
}

void sp_array_free(struct sp_array *array)
{
    assert_int_equal(SP_CU_SUCCESS, sp_blas.cu->cuMemFree(array->ptr));
    free(array->at);
}

void sp_array_check(const struct sp_array *array, const char *what)
{
    const size_t size = size_of(array->type);
    char *bytes = malloc(array->n * size);

    assert_non_null(bytes);
    assert_int_equal(SP_CU_SUCCESS, sp_blas.cu->cuStreamSynchronize(sp_blas.stream));
    assert_int_equal(SP_CU_SUCCESS,
                     sp_blas.cu->cuMemcpyDtoH(bytes, array->ptr, array->n * size));
    for (size_t i = 0; i < array->n; i++) {
        const double complex value = sp_number_value(array->type, bytes + i * size);

        if (!(cabs(value - array->at[i]) <=
              sp_tolerance(array->type) * (1 + cabs(array->at[i]))))
            fail_msg("%s: element %zu is (%g, %g), not (%g, %g)", what, i, creal(value),
                     cimag(value), creal(array->at[i]), cimag(array->at[i]));
    }
    free(bytes);
}

/* ---- what arrays stand for ----------------------------------------------------------- */

size_t sp_place(size_t i, size_t n, int increment)
{
    const ptrdiff_t step = increment;

    return (size_t)(step >= 0 ? (ptrdiff_t)i * step : ((ptrdiff_t)i - (ptrdiff_t)n + 1) * step);
}

double complex sp_op(int operation, double complex value)
{
    return operation == 2 ? conj(value) : value;
}

double complex sp_element(const struct sp_array *a, int ld, int operation, int i, int j)
{
    return operation == 0 ? a->at[i + j * ld] : sp_op(operation, a->at[j + i * ld]);
}
