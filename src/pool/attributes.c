/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Attributes of a pool, and its configuration as it is now. */
#include "config.h"

#include "src/pool/driver_pool.h"
#include "src/pool/pool.h"

/* Which of the edges an attribute allows. */
static bool *flag_of(struct starpool_pool *pool, enum starpool_pool_attribute attribute)
{
    if (attribute == STARPOOL_ATTR_FOLLOWS_EVENTS)
        return &pool->policy.follows_events;
    return attribute == STARPOOL_ATTR_OPPORTUNISTIC ? &pool->policy.is_opportunistic
                                                    : &pool->policy.allows_internal_wait;
}

/* With the pool's lock. */
static enum starpool_status set_flag(struct starpool_pool *pool,
                                     enum starpool_pool_attribute attribute, uint64_t value)
{
    if (value > 1)
        return STARPOOL_EINVAL;
    *flag_of(pool, attribute) = value == 1;
    sp_ordered_follow_policy(pool);
    return STARPOOL_OK;
}

enum starpool_status starpool_pool_get_attribute(struct starpool_pool *pool,
                                                 enum starpool_pool_attribute attribute,
                                                 uint64_t *value_out)
{
    enum starpool_status status = STARPOOL_OK;

    if (pool == NULL || value_out == NULL)
        return STARPOOL_EINVAL;
    if (pool->driver != NULL)
        return sp_driver_pool_get_attribute(pool, attribute, value_out);
    sp_lock_take(&pool->lock);
    switch (attribute) {
    case STARPOOL_ATTR_RELEASE_THRESHOLD:
        *value_out = pool->release_threshold;
        break;
    case STARPOOL_ATTR_MAXIMUM:
        *value_out = pool->maximum;
        break;
    case STARPOOL_ATTR_RESERVED_CURRENT:
        *value_out = pool->stats.reserved_bytes;
        break;
    case STARPOOL_ATTR_RESERVED_HIGH:
        *value_out = pool->stats.reserved_high_bytes;
        break;
    case STARPOOL_ATTR_USED_CURRENT:
        *value_out = sp_pool_used_bytes(pool);
        break;
    case STARPOOL_ATTR_USED_HIGH:
        *value_out = pool->used_high_bytes;
        break;
    case STARPOOL_ATTR_FOLLOWS_EVENTS:
    case STARPOOL_ATTR_OPPORTUNISTIC:
    case STARPOOL_ATTR_INTERNAL_WAITS:
        *value_out = *flag_of(pool, attribute);
        break;
    default:
        status = STARPOOL_EINVAL;
        break;
    }
    sp_lock_give(&pool->lock);
    return status;
}

enum starpool_status starpool_pool_set_attribute(struct starpool_pool *pool,
                                                 enum starpool_pool_attribute attribute,
                                                 uint64_t value)
{
    enum starpool_status status = STARPOOL_OK;

    if (pool == NULL)
        return STARPOOL_EINVAL;
    if (pool->driver != NULL)
        return sp_driver_pool_set_attribute(pool, attribute, value);
    sp_lock_take(&pool->lock);
    switch (attribute) {
    case STARPOOL_ATTR_RELEASE_THRESHOLD:
        pool->release_threshold = value;
        break;
    case STARPOOL_ATTR_MAXIMUM:
        pool->maximum = value;
        break;
    case STARPOOL_ATTR_RESERVED_HIGH:
        if (value != 0)
            status = STARPOOL_EINVAL;
        else
            pool->stats.reserved_high_bytes = pool->stats.reserved_bytes;
        break;
    case STARPOOL_ATTR_USED_HIGH:
        if (value != 0)
            status = STARPOOL_EINVAL;
        else
            sp_pool_reset_used_high(pool);
        break;
    case STARPOOL_ATTR_FOLLOWS_EVENTS:
    case STARPOOL_ATTR_OPPORTUNISTIC:
    case STARPOOL_ATTR_INTERNAL_WAITS:
        status = set_flag(pool, attribute, value);
        break;
    case STARPOOL_ATTR_RESERVED_CURRENT:
    case STARPOOL_ATTR_USED_CURRENT:
    default:
        status = STARPOOL_EINVAL;
        break;
    }
    sp_lock_give(&pool->lock);
    return status;
}

enum starpool_status starpool_pool_get_config(struct starpool_pool *pool,
                                              struct starpool_pool_config *config_out)
{
    if (pool == NULL || config_out == NULL || config_out->struct_size < sizeof(*config_out))
        return STARPOOL_EINVAL;
    sp_lock_take(&pool->lock);
    *config_out = pool->config;
    config_out->struct_size = sizeof(*config_out);
    config_out->maximum = pool->maximum;
    config_out->release_threshold = pool->release_threshold;
    config_out->follows_events = pool->policy.follows_events;
    config_out->is_opportunistic = pool->policy.is_opportunistic;
    config_out->allows_internal_waits = pool->policy.allows_internal_wait;
    sp_lock_give(&pool->lock);
    return STARPOOL_OK;
}
