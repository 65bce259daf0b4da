/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The out-of-memory report: who holds the bytes, the largest hole, what would help. */
#ifndef SP_WHY_H
#define SP_WHY_H

#include <stddef.h>

#include <starpool/base.h>
#include <starpool/pool.h>

#define SP_WHY_SIZE 512

/* One line, without a newline, on why `pool` refused `size` bytes with `status`. Returns
 * `text`. Takes the pool's lock. */
STARPOOL_API char *sp_pool_why(struct starpool_pool *pool, size_t size,
                               enum starpool_status status, char *text, size_t text_size);

#endif /* SP_WHY_H */
