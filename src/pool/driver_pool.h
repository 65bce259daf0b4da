/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Pools that the driver serves: every call goes to its table, and its answer is the status. */
#ifndef SP_DRIVER_POOL_H
#define SP_DRIVER_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include <starpool/pool.h>
#include <starpool/stats.h>

#include "src/driver/driver.h"
#include "src/heap/order.h"
#include "src/pool/context.h"
#include "src/pool/shadow.h"

struct sp_driver_block;

/* What a pool is to the driver. Never changes but for `stream` and the shadow. */
struct sp_driver_pool {
    const struct sp_driver *driver;
    sp_cu_pool handle;
    int device;       /* the ordinal whose primary context calls are made in if there is none */
    bool is_owned;    /* the driver's pool is destroyed with it */
    bool is_imported; /* from another process: serves imported blocks only */
    struct sp_hidden_stream stream; /* for what is ordered by the host; the pool's lock */
    struct sp_shadow *shadow;       /* NULL: none; the pool's lock */
    bool has_lost_shadow;           /* there was no memory for it; the pool's lock */
};

/* The driver, for a location: EDEVICE before anything is made for a device that there is not.
 */
STARPOOL_CHECK enum starpool_status sp_driver_pool_start(struct starpool_location location,
                                                         const struct sp_driver **driver_out);

/* Make a pool of a valid configuration. */
enum starpool_status sp_driver_pool_create(const struct starpool_pool_config *config,
                                           struct starpool_pool **pool_out);

/* The default or the current pool of a location, referenced. */
enum starpool_status sp_driver_pool_get(struct starpool_location location,
                                        enum starpool_memory memory, bool wants_current,
                                        struct starpool_pool **pool_out);

/* Make it current at its location. `*is_done_out` says whether the driver has such a thing as a
 * current pool there. */
enum starpool_status sp_driver_pool_set_current(struct starpool_pool *pool, bool *is_done_out);

/* Enter a pool of the driver in the registry: `handle` is destroyed on failure if it is owned.
 */
enum starpool_status sp_driver_pool_wrap(const struct starpool_pool_config *config,
                                         const struct sp_driver_pool *given, bool is_default,
                                         struct starpool_pool **pool_out);

/* The user destroys it; the last of it goes. Both for any pool. */
void sp_driver_pool_close(struct starpool_pool *pool);
void sp_driver_pool_drop(struct starpool_pool *pool);

enum starpool_status sp_driver_pool_enter(const struct starpool_pool *pool,
                                          struct sp_context *context_out);

/* ---- attributes (driver_attributes.c) ---------------------------------------------------- */

enum starpool_status sp_driver_pool_trim(struct starpool_pool *pool, uint64_t keep);
enum starpool_status sp_driver_pool_get_attribute(struct starpool_pool *pool,
                                                  enum starpool_pool_attribute attribute,
                                                  uint64_t *value_out);
enum starpool_status sp_driver_pool_set_attribute(struct starpool_pool *pool,
                                                  enum starpool_pool_attribute attribute,
                                                  uint64_t value);
enum starpool_status sp_driver_pool_reset_peaks(struct starpool_pool *pool);
enum starpool_status sp_driver_pool_collect(struct starpool_pool *pool,
                                            struct starpool_stats *stats_out);

/* ---- blocks (driver_blocks.c) ------------------------------------------------------------ */

enum starpool_status sp_driver_pool_alloc(struct starpool_pool *pool, size_t size,
                                          starpool_stream stream, void **ptr_out);

/* False if no live block of any pool of the driver begins there; else `*status_out` says how it
 * went. */
bool sp_driver_pool_free(void *ptr, starpool_stream stream, enum starpool_status *status_out);

/* A live block that nobody finds from then on, or NULL; till it is found again, or freed. */
struct sp_driver_block *sp_driver_pool_claim(const void *ptr, struct starpool_pool **pool_out,
                                             size_t *size_out);
void sp_driver_pool_unclaim(struct sp_driver_block *block);
enum starpool_status sp_driver_pool_free_claimed(struct sp_driver_block *block,
                                                 starpool_stream stream);

/* The live block around an address; false if there is none. */
bool sp_driver_pool_find(const void *ptr, struct starpool_block_info *info_out);

/* A block that an address lies in. */
struct sp_driver_place {
    uint32_t pool_id;
    bool is_live; /* false: it was freed, not long ago */
    uintptr_t start;
    size_t size;
};

bool sp_driver_pool_locate(const void *ptr, struct sp_driver_place *place_out);

/* Where the live block that begins there was allocated. */
bool sp_driver_pool_find_alloc(const void *ptr, struct sp_point *alloc_out);

/* A block that another process has made. */
enum starpool_status sp_driver_pool_add_block(struct starpool_pool *pool, void *ptr,
                                              size_t size);

/* Hold the table of blocks still around a fork. */
void sp_driver_pool_freeze(void);
void sp_driver_pool_thaw(void);

#endif /* SP_DRIVER_POOL_H */
