/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the files of liveness share. */
#ifndef SP_LIVENESS_PRIVATE_H
#define SP_LIVENESS_PRIVATE_H

#include "graph/liveness.h"

/* How many nodes of a chain, from its beginning on, precede a node. */
uint32_t sp_liveness_count(const struct sp_liveness *liveness, uint32_t node, uint32_t chain);

/* Each block's firsts and lasts, once the nodes have rows. EINVAL: a block's nodes are in a
 * wrong order. */
STARPOOL_CHECK enum starpool_status sp_liveness_find_ends(struct sp_liveness *liveness);

#endif /* SP_LIVENESS_PRIVATE_H */
