/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Elements of arrays of any type, as complex numbers of double precision. */
#ifndef SP_SIM_BLAS_ELEMENT_H
#define SP_SIM_BLAS_ELEMENT_H

#include <complex.h>
#include <stddef.h>

static inline size_t sp_blas_element_size(char type)
{
    switch (type) {
    case 'S':
        return sizeof(float);
    case 'D':
        return sizeof(double);
    case 'C':
        return sizeof(float complex);
    default:
        return sizeof(double complex);
    }
}

static inline double complex sp_blas_get(char type, const void *array, ptrdiff_t place)
{
    switch (type) {
    case 'S':
        return ((const float *)array)[place];
    case 'D':
        return ((const double *)array)[place];
    case 'C':
        return ((const float complex *)array)[place];
    default:
        return ((const double complex *)array)[place];
    }
}

static inline void sp_blas_put(char type, void *array, ptrdiff_t place, double complex value)
{
    switch (type) {
    case 'S':
        ((float *)array)[place] = (float)creal(value);
        break;
    case 'D':
        ((double *)array)[place] = creal(value);
        break;
    case 'C':
        ((float complex *)array)[place] = (float complex)value;
        break;
    default:
        ((double complex *)array)[place] = value;
        break;
    }
}

/* The place of a vector's element: a negative increment counts from its end. */
static inline ptrdiff_t sp_blas_place(ptrdiff_t i, ptrdiff_t n, ptrdiff_t increment)
{
    return increment >= 0 ? i * increment : (i - n + 1) * increment;
}

#endif /* SP_SIM_BLAS_ELEMENT_H */
