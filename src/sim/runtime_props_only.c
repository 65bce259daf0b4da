/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The properties of a device in the one form that 11 has, and 13. */
#include "config.h"

#include "src/sim/runtime.h"

int cudaGetDeviceProperties(void *props_out, int device)
{
    return SP_RUNTIME_START(sp_runtime_props(props_out, SIZE_MAX, device));
}
