/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Attributes of pools: what can be read of them, and set, while they are in use. */
#ifndef STARPOOL_ATTRIBUTE_H
#define STARPOOL_ATTRIBUTE_H

#include <starpool/base.h>

#ifdef __cplusplus
extern "C" {
#endif

struct starpool_pool; /* opaque; made by starpool_pool_create(), see starpool/pool.h */

/** Attributes of a pool, in bytes but for the last three. */
enum starpool_pool_attribute {
    STARPOOL_ATTR_RELEASE_THRESHOLD, /**< may be set */
    STARPOOL_ATTR_MAXIMUM, /**< may be set, also below what is reserved: then no growth;
                                0: the system's limits */
    STARPOOL_ATTR_RESERVED_CURRENT,
    STARPOOL_ATTR_RESERVED_HIGH, /**< may be set to 0: starts again from the current value */
    STARPOOL_ATTR_USED_CURRENT,
    STARPOOL_ATTR_USED_HIGH, /**< may be set to 0: starts again from the current value, and with
                                  it the peak number of blocks */
    STARPOOL_ATTR_FOLLOWS_EVENTS, /**< may be set, as the next two: 0 or 1, as the member of the
                                       configuration says */
    STARPOOL_ATTR_OPPORTUNISTIC,
    STARPOOL_ATTR_INTERNAL_WAITS,
};

/**
 * Read an attribute.
 *
 * @param pool       the pool
 * @param attribute  which one
 * @param value_out  [bytes] written only on STARPOOL_OK
 *
 * @retval STARPOOL_OK      `*value_out` is set
 * @retval STARPOOL_EINVAL  a pointer is NULL, or no such attribute
 * @retval STARPOOL_EDRIVER the driver refuses
 *
 * Threads: any, at once; used bytes are exact while no thread allocates or frees. Locks: POOL.
 * Source:  CUDA Driver API, cuMemPoolGetAttribute.
 */
STARPOOL_API STARPOOL_CHECK enum starpool_status
starpool_pool_get_attribute(struct starpool_pool *pool, enum starpool_pool_attribute attribute,
                            uint64_t *value_out);

/**
 * Set an attribute.
 *
 * @param pool       the pool
 * @param attribute  one that may be set
 * @param value      [bytes] 0 for the high-water marks
 *
 * @retval STARPOOL_OK      set
 * @retval STARPOOL_EINVAL  `pool` is NULL, no such attribute, it is read-only (as the maximum
 * of a pool of the driver is), a high-water mark is set to another value than 0, or a flag to
 * another than 0 and 1
 * @retval STARPOOL_EDRIVER the driver refuses
 *
 * Threads: any, at once. Locks: POOL. Source: CUDA Driver API, cuMemPoolSetAttribute.
 */
STARPOOL_API STARPOOL_CHECK enum starpool_status
starpool_pool_set_attribute(struct starpool_pool *pool, enum starpool_pool_attribute attribute,
                            uint64_t value);

#ifdef __cplusplus
}
#endif

#endif /* STARPOOL_ATTRIBUTE_H */
