/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The functions of libcublas that compute, made by src/sim/blas.awk of blas_calls.txt when the
 * library is built. */
#include "config.h"

#include <src/sim/blas_calls.inc>
