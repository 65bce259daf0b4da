/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The functions that libcuda.so.1 exports, and the table that cuGetProcAddress() looks them up
 * in: made by src/sim/exports.awk when the library is built. */
#include "config.h"

#include "src/sim/driver_made.h"

#include "src/sim/table.h"

#include <src/sim/driver_exports.inc>
