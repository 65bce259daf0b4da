/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The functions of libcusparse that are not supported, made by src/sim/stubs.awk of
 * sparse_missing.txt when the library is built. */
#include "config.h"

#include <src/sim/sparse_missing.inc>
