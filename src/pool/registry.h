/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which pools there are: the list of them, by location, by what the driver calls them. */
#ifndef SP_REGISTRY_H
#define SP_REGISTRY_H

#include <starpool/pool.h>

#include "src/driver/driver.h"

/* Enter a pool in the registry's list, with one reference, and give it a slot. The last
 * sp_registry_put() takes it out and frees it. */
void sp_registry_add(struct starpool_pool *pool);

/* The user destroys the pool: the default one is current again if this one was, and nobody
 * finds it by what the driver calls it. */
void sp_registry_forget(struct starpool_pool *pool);

/* Walk over all pools: NULL gives the first. Each is referenced until the next is asked for;
 * end early with sp_registry_put(). */
struct starpool_pool *sp_registry_next(struct starpool_pool *pool);
void sp_registry_put(struct starpool_pool *pool);

/* The pool, referenced, if it is one that there is; NULL if not. */
struct starpool_pool *sp_registry_get(const struct starpool_pool *wanted);

/* The first pool that stands for one of the driver's, referenced; NULL if there is none. */
struct starpool_pool *sp_registry_find_driver(sp_cu_pool handle);

/* starpool_pool_current(), referenced: to be put when done. */
enum starpool_status sp_registry_get_current(struct starpool_location location,
                                             enum starpool_memory memory,
                                             struct starpool_pool **pool_out);

#endif /* SP_REGISTRY_H */
