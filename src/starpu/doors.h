/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The ways in which StarPU asks for memory and gives it back. */
#ifndef SP_DOORS_H
#define SP_DOORS_H

#include <stdbool.h>
#include <stddef.h>

#include "src/starpu/got.h"

/* Install StarPU's malloc hooks. `is_late`: StarPU may have given out memory before; if
 * `was_numa` it had several host nodes then. */
void sp_doors_open(bool is_late, bool was_numa);

/* The functions that stand in front of StarPU's, for sp_got_apply(). */
const struct sp_got_patch *sp_doors_patches(size_t *n_out);

/* True if the application has set hooks of its own. */
bool sp_doors_has_app_hooks(void);

#endif /* SP_DOORS_H */
