/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Requests that were refused: said once StarPU has shown that it will not stop asking. */
#ifndef SP_REFUSALS_H
#define SP_REFUSALS_H

#include <stddef.h>

#include <starpool/pool.h>

/*
 * Note a refusal. The third one of a size on a node prints one line: the node, the size, who
 * holds the bytes and what would help.
 *
 * `numa` is the node's OS index, or -1; `pool` is its pool, or NULL. Threads: any, at once.
 */
void sp_refusals_note(unsigned node, int numa, size_t size, enum starpool_status status,
                      struct starpool_pool *pool);

#endif /* SP_REFUSALS_H */
