/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The functions of libnvidia-ml that are not supported, made by src/sim/stubs.awk of
 * nvml_missing.txt when the library is built. */
#include "config.h"

#include <src/sim/nvml_missing.inc>
