/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The functions of libcublas that are not supported, made by src/sim/stubs.awk of
 * blas_missing.txt when the library is built. */
#include "config.h"

#include <src/sim/blas_missing.inc>
