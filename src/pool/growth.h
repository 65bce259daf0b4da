/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where blocks come from that no cache has, and where they go: the store, growth, pieces, and
 * what becomes of them when a device is reset. */
#ifndef SP_GROWTH_H
#define SP_GROWTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <starpool/base.h>

#include "src/pool/front.h"

struct sp_ordered_request;
struct sp_piece;
struct starpool_pool;

/* ---- slow paths (slow.c) ---------------------------------------------------------------- */

/* Take a block from the depot or the store, growing if need be. It is LIVE. */
enum starpool_status sp_pool_take(struct starpool_pool *pool, size_t size, size_t align,
                                  struct sp_cached *block_out);

/* Give a block back past a cache that would not keep it, unless the device was reset since
 * there were `n_resets`. Makes no system call. */
void sp_pool_give(struct starpool_pool *pool, struct sp_range *range, uint64_t n_resets);

/* Free a block that may go at any time (SP_SLOT_FLEETING); false if no live one begins there.
 */
bool sp_pool_give_fleeting(void *ptr);

/* ---- growth (growth.c) ------------------------------------------------------------------ */

/* Everything that can be done for a block that the store has not; the ladder of the failure
 * rule ends here, with a refusal that is counted and said. */
enum starpool_status sp_pool_climb(struct starpool_pool *pool, size_t size, size_t align,
                                   struct sp_cached *block_out);

/* The same for a stream, from what the engine cannot serve on. */
enum starpool_status sp_pool_climb_ordered(struct starpool_pool *pool,
                                           struct sp_ordered_request *ordered);

/* With the lock and a stocked store: a block from the store, counted and LIVE; false if there
 * is none. */
bool sp_pool_take_locked(struct starpool_pool *pool, size_t size, size_t align,
                         struct sp_cached *block_out);

/* What other pools keep of the same memory goes back to it. Returns how many bytes. */
uint64_t sp_pool_trim_others(struct starpool_pool *pool, enum starpool_status status);

/* Reserve at least `bytes` more. */
enum starpool_status sp_pool_grow_initial(struct starpool_pool *pool, size_t bytes);

/* Count a refusal, and now and then say why. `stream` is the number of the one that asked. */
void sp_pool_note_refusal(struct starpool_pool *pool, size_t size, uint64_t stream,
                          enum starpool_status status);

/* ---- pieces (pieces.c) ------------------------------------------------------------------ */

/* Lock the pool with a store that cannot run out of records; ENOMEM, and not locked, if there
 * is no memory for them. */
enum starpool_status sp_pool_lock_stocked(struct starpool_pool *pool);

/* With the lock: add a piece to the store. */
void sp_pool_add_piece(struct starpool_pool *pool, struct sp_piece *piece);

/* With the growth lock: give a piece back that is not in the store. False if it stays. */
bool sp_pool_put_back(struct starpool_pool *pool, struct sp_piece *piece);

/* Bytes reserved now. */
uint64_t sp_pool_reserved(struct starpool_pool *pool);

/* Release whole pieces until no more than `keep` bytes are reserved. Returns what went. The
 * second is for who has the growth lock. */
uint64_t sp_pool_trim(struct starpool_pool *pool, uint64_t keep);
uint64_t sp_pool_trim_locked(struct starpool_pool *pool, uint64_t keep);

/* With the lock: stop if the store is broken, while that is checked (STARPOOL_CHECKS). */
void sp_pool_check(const struct starpool_pool *pool);

/* With both locks: take a piece out of the store and the list, if nothing of it is in use. */
bool sp_pool_cut_piece(struct starpool_pool *pool, struct sp_piece *piece);

/* ---- resets (forget.c) ------------------------------------------------------------------- */

/* What a pool of a device begins a growth and a trim with: if the device was reset, and nobody
 * said so, its memory is forgotten. No lock is held. */
void sp_pool_notice_reset(struct starpool_pool *pool);

/* Whether a block went with its device, and its user only frees it now: told once. */
bool sp_pool_free_lost(const void *ptr);

/* The pool of the live block of a store that begins at an address, referenced, or NULL. With
 * its lock: take the block out of its user's hands, if it is that pool's still; or NULL. */
struct starpool_pool *sp_pool_get_live(const void *ptr);
struct sp_range *sp_pool_take_back_locked(struct starpool_pool *pool, const void *ptr);

/* Hold the list of lost blocks still around a fork. */
void sp_lost_freeze(void);
void sp_lost_thaw(void);

/* ---- caches (drain.c) ------------------------------------------------------------------- */

/* With the growth lock: empty every cache and the depot into the store. */
void sp_pool_drain(struct starpool_pool *pool);

/* With the growth lock: close every cache and wait until its owner is out; open them again,
 * unless they are shut. One that joins meanwhile stays open. */
void sp_pool_close_fronts(struct starpool_pool *pool);
void sp_pool_open_fronts(struct starpool_pool *pool);
bool sp_pool_has_open_front(struct starpool_pool *pool);

#endif /* SP_GROWTH_H */
