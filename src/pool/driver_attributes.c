/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Attributes and counters of a pool that the driver serves: read from the driver at each
 * question, so that they are right whoever uses the pool. */
#include "config.h"

#include "src/pool/driver_pool.h"

#include "src/pool/pool.h"

/* The driver's attribute, and whether it is a flag, in an int, or bytes. */
static int attribute_of(enum starpool_pool_attribute attribute, bool *is_flag_out)
{
    *is_flag_out = false;
    switch (attribute) {
    case STARPOOL_ATTR_RELEASE_THRESHOLD:
        return SP_CU_POOL_RELEASE_THRESHOLD;
    case STARPOOL_ATTR_RESERVED_CURRENT:
        return SP_CU_POOL_RESERVED_MEM_CURRENT;
    case STARPOOL_ATTR_RESERVED_HIGH:
        return SP_CU_POOL_RESERVED_MEM_HIGH;
    case STARPOOL_ATTR_USED_CURRENT:
        return SP_CU_POOL_USED_MEM_CURRENT;
    case STARPOOL_ATTR_USED_HIGH:
        return SP_CU_POOL_USED_MEM_HIGH;
    case STARPOOL_ATTR_FOLLOWS_EVENTS:
    case STARPOOL_ATTR_OPPORTUNISTIC:
    case STARPOOL_ATTR_INTERNAL_WAITS:
        *is_flag_out = true;
        return attribute == STARPOOL_ATTR_FOLLOWS_EVENTS
                   ? SP_CU_POOL_REUSE_FOLLOW_EVENT_DEPENDENCIES
               : attribute == STARPOOL_ATTR_OPPORTUNISTIC
                   ? SP_CU_POOL_REUSE_ALLOW_OPPORTUNISTIC
                   : SP_CU_POOL_REUSE_ALLOW_INTERNAL_DEPENDENCIES;
    case STARPOOL_ATTR_MAXIMUM:
        break;
    }
    return 0;
}

/* The driver trims no pool that can be shared. */
static void trim_shadow(struct starpool_pool *pool, uint64_t keep)
{
    sp_lock_take(&pool->lock);
    if (pool->driver->shadow != NULL && pool->config.handle_types == 0)
        sp_shadow_trim(pool->driver->shadow, keep);
    sp_lock_give(&pool->lock);
}

enum starpool_status sp_driver_pool_trim(struct starpool_pool *pool, uint64_t keep)
{
    struct sp_context context;
    enum starpool_status status = sp_driver_pool_enter(pool, &context);

    if (status != STARPOOL_OK)
        return status;
    status = sp_driver_status(
        pool->driver->driver->cuMemPoolTrimTo(pool->driver->handle, (size_t)keep),
        "cuMemPoolTrimTo");
    sp_context_leave(&context);
    if (status == STARPOOL_OK)
        trim_shadow(pool, keep);
    return status;
}

enum starpool_status sp_driver_pool_get_attribute(struct starpool_pool *pool,
                                                  enum starpool_pool_attribute attribute,
                                                  uint64_t *value_out)
{
    struct sp_context context;
    uint64_t bytes = 0;
    int flag = 0;
    bool is_flag;
    int number = attribute_of(attribute, &is_flag);
    enum starpool_status status;

    if (attribute == STARPOOL_ATTR_MAXIMUM) {
        *value_out = pool->maximum;
        return STARPOOL_OK;
    }
    if (number == 0)
        return STARPOOL_EINVAL;
    status = sp_driver_pool_enter(pool, &context);
    if (status != STARPOOL_OK)
        return status;
    status = sp_driver_status(
        pool->driver->driver->cuMemPoolGetAttribute(pool->driver->handle, number,
                                                    is_flag ? (void *)&flag : (void *)&bytes),
        "cuMemPoolGetAttribute");
    sp_context_leave(&context);
    if (status == STARPOOL_OK)
        *value_out = is_flag ? flag != 0 : bytes;
    return status;
}

/* With the driver's consent: what stands in the pool itself follows. */
static void follow(struct starpool_pool *pool, enum starpool_pool_attribute attribute,
                   uint64_t value)
{
    sp_lock_take(&pool->lock);
    if (attribute == STARPOOL_ATTR_RELEASE_THRESHOLD)
        pool->release_threshold = value;
    else if (attribute == STARPOOL_ATTR_USED_HIGH)
        sp_pool_reset_used_high(pool);
    else if (attribute == STARPOOL_ATTR_FOLLOWS_EVENTS)
        pool->policy.follows_events = value != 0;
    else if (attribute == STARPOOL_ATTR_OPPORTUNISTIC)
        pool->policy.is_opportunistic = value != 0;
    else if (attribute == STARPOOL_ATTR_INTERNAL_WAITS)
        pool->policy.allows_internal_wait = value != 0;
    sp_lock_give(&pool->lock);
}

enum starpool_status sp_driver_pool_set_attribute(struct starpool_pool *pool,
                                                  enum starpool_pool_attribute attribute,
                                                  uint64_t value)
{
    struct sp_context context;
    int flag = (int)value;
    bool is_flag;
    int number = attribute_of(attribute, &is_flag);
    enum starpool_status status;

    if (number == 0 || (is_flag && value > 1))
        return STARPOOL_EINVAL;
    status = sp_driver_pool_enter(pool, &context);
    if (status != STARPOOL_OK)
        return status;
    status = sp_driver_status(
        pool->driver->driver->cuMemPoolSetAttribute(pool->driver->handle, number,
                                                    is_flag ? (void *)&flag : (void *)&value),
        "cuMemPoolSetAttribute");
    sp_context_leave(&context);
    if (status == STARPOOL_OK)
        follow(pool, attribute, value);
    return status;
}

/* What is counted here starts again only with both of the driver's. */
enum starpool_status sp_driver_pool_reset_peaks(struct starpool_pool *pool)
{
    enum starpool_status status =
        sp_driver_pool_set_attribute(pool, STARPOOL_ATTR_RESERVED_HIGH, 0);

    if (status == STARPOOL_OK)
        status = sp_driver_pool_set_attribute(pool, STARPOOL_ATTR_USED_HIGH, 0);
    return status;
}

/* With the pool's lock. What the threshold does not keep goes when the driver next looks, which
 * is not long after the frees are over. */
static void collect_shadow(struct starpool_pool *pool, struct starpool_stats *stats)
{
    struct sp_shadow *shadow = pool->driver->shadow;

    if (shadow == NULL)
        return;
    sp_shadow_trim(shadow, pool->release_threshold);
    stats->shadow_used_bytes = sp_shadow_used_bytes(shadow);
    stats->shadow_reserved_bytes = sp_shadow_reserved_bytes(shadow);
    stats->largest_hole_bytes = sp_shadow_largest(shadow);
}

enum starpool_status sp_driver_pool_collect(struct starpool_pool *pool,
                                            struct starpool_stats *stats_out)
{
    struct starpool_stats stats;
    enum starpool_status status;

    sp_lock_take(&pool->lock);
    sp_pool_collect(pool, &stats);
    collect_shadow(pool, &stats);
    sp_lock_give(&pool->lock);
    status = sp_driver_pool_get_attribute(pool, STARPOOL_ATTR_RESERVED_CURRENT,
                                          &stats.reserved_bytes);
    if (status == STARPOOL_OK)
        status = sp_driver_pool_get_attribute(pool, STARPOOL_ATTR_RESERVED_HIGH,
                                              &stats.reserved_high_bytes);
    if (status == STARPOOL_OK)
        status =
            sp_driver_pool_get_attribute(pool, STARPOOL_ATTR_USED_CURRENT, &stats.used_bytes);
    if (status == STARPOOL_OK)
        status =
            sp_driver_pool_get_attribute(pool, STARPOOL_ATTR_USED_HIGH, &stats.used_high_bytes);
    if (status == STARPOOL_OK)
        *stats_out = stats;
    return status;
}
