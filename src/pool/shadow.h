/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a pool of the driver must hold, counted beside it: the engine of our own pools over
 * addresses at which nothing is. It does what the driver is asked to do, and tells used bytes,
 * and whether a request would fit, without asking the driver. */
#ifndef SP_SHADOW_H
#define SP_SHADOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sp_shadow;
struct sp_shadow_food; /* memory for its records */

/*
 * To the shadow every free is over at once, whatever its stream: it is not told how far streams
 * come, which programs ask the driver past us. So used bytes are the driver's as soon as the
 * driver has noticed the frees, and reserved bytes are the least that the driver could do with:
 * what it has beyond that waits for streams, or was not put together.
 *
 * NULL without memory. The pool's lock guards it.
 */
struct sp_shadow *sp_shadow_create(void);
void sp_shadow_destroy(struct sp_shadow *shadow);

/* Mirror an allocation: where it is in the shadow, which is never 0. False: first feed the
 * shadow what it wants, which is got without the lock, then try again. */
bool sp_shadow_take(struct sp_shadow *shadow, size_t size, uintptr_t *place_out);
void sp_shadow_give(struct sp_shadow *shadow, uintptr_t place);

/* Whether it must be fed before it can take, and what: [bytes] for sp_shadow_make_food(), which
 * is NULL without memory. Food is fed whether it is wanted still or not. */
bool sp_shadow_is_hungry(const struct sp_shadow *shadow, size_t *size_out);
struct sp_shadow_food *sp_shadow_make_food(size_t size);
void sp_shadow_feed(struct sp_shadow *shadow, struct sp_shadow_food *food);
void sp_shadow_discard(struct sp_shadow_food *food);

/* Mirror a trim. */
void sp_shadow_trim(struct sp_shadow *shadow, uint64_t keep);

/* [bytes] The largest request that the pool could serve without growing. */
size_t sp_shadow_largest(struct sp_shadow *shadow);

uint64_t sp_shadow_used_bytes(const struct sp_shadow *shadow);
uint64_t sp_shadow_reserved_bytes(const struct sp_shadow *shadow);

#endif /* SP_SHADOW_H */
