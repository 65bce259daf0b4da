/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The functions of libstarpu that tell of tasks and iterations. */
#ifndef SP_TASKGRAPH_DOORS_H
#define SP_TASKGRAPH_DOORS_H

#include <stddef.h>

#include "src/starpu/got.h"

/* The functions that stand in front of StarPU's, for sp_got_apply(). */
const struct sp_got_patch *sp_taskgraph_patches(size_t *n_out);

#endif /* SP_TASKGRAPH_DOORS_H */
