/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Host memory that CUDA devices copy from and to: registered with the driver, or why not. */
#ifndef SP_PIN_H
#define SP_PIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/starpu/got.h"

/* True if StarPU would pin what it allocates on its host nodes now. */
bool sp_pin_is_wanted(void);

/* The functions that stand in front of StarPU's, for sp_got_apply(). */
const struct sp_got_patch *sp_pin_patches(size_t *n_out);

/* Requests to pin or unpin what a pool has registered: nothing was done. */
uint64_t sp_pin_n_spared(void);

#endif /* SP_PIN_H */
