/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What programs may link to and nobody has written: each says so, and is listed at exit on
 * request. The arguments are not looked at. */
#include "config.h"

#include "src/sim/runtime.h"

#define X(name) STARPOOL_API int name(void);
#include "src/sim/runtime_missing.def"
#undef X

#define X(name)                           \
    int name(void)                        \
    {                                     \
        return sp_runtime_missing(#name); \
    }
#include "src/sim/runtime_missing.def"
