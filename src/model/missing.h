/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What programs have called of the simulated libraries that is not there. */
#ifndef SP_MISSING_H
#define SP_MISSING_H

#include <stdint.h>

#include <starpool/base.h>

/* A stub of `library` has answered that it is not supported. Listed at exit if the option
 * SIM_MISSING says so. Threads: any, at once. */
STARPOOL_API void sp_model_note_missing(const char *library, const char *name);

/* How often that has been noted; for tests. */
uint64_t sp_model_n_missing(const char *library, const char *name);

#endif /* SP_MISSING_H */
