/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Frees of an address that is no live block. */
#ifndef SP_WRONG_H
#define SP_WRONG_H

#include <stdbool.h>

#include <starpool/pool.h>

struct sp_capture;
struct sp_owned;

/* True if two frees of one block at the same moment must be told apart (STARPOOL_CHECKS). */
extern bool sp_wrong_is_race_proof;

void sp_wrong_setup(void);

/* Say what is wrong with a free, and count it. True if the address is in a pool's memory; a
 * foreign one is a mistake, and said to be one, only if `must_be_ours`. */
bool sp_wrong_free(void *ptr, bool must_be_ours);

/* A free of what a captured graph has, and why it is refused; a free in a capture that the pool
 * does not take. */
void sp_wrong_owned(const struct sp_owned *owned, const char *why);
void sp_wrong_captured(const void *ptr, const struct starpool_pool *pool,
                       const struct sp_capture *capture);

#endif /* SP_WRONG_H */
