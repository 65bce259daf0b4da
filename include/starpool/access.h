/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Who may use a pool's memory: devices, and other processes. */
#ifndef STARPOOL_ACCESS_H
#define STARPOOL_ACCESS_H

#include <starpool/base.h>
#include <starpool/pool.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What a place may do with the memory of a pool. */
enum starpool_access {
    STARPOOL_ACCESS_NONE = 0,      /**< nothing */
    STARPOOL_ACCESS_READ = 1,      /**< read it */
    STARPOOL_ACCESS_READWRITE = 3, /**< read and write it */
};

/**
 * Ask what a place may do with the memory of a pool.
 *
 * @param pool        the pool
 * @param location    DEVICE, HOST or HOST_NUMA
 * @param access_out  written only on STARPOOL_OK
 *
 * @retval STARPOOL_OK      `*access_out` is set
 * @retval STARPOOL_EINVAL  a pointer is NULL, or no such place
 * @retval STARPOOL_EDRIVER anything else; starpool_driver_error() has the CUresult
 *
 * Threads: any, at once.
 * Source:  CUDA Driver API, cuMemPoolGetAccess.
 */
STARPOOL_API STARPOOL_CHECK enum starpool_status
starpool_pool_get_access(struct starpool_pool *pool, struct starpool_location location,
                         enum starpool_access *access_out);

/**
 * Let a device use the memory of a pool, or no longer: blocks that are there, and those to
 * come.
 *
 * @param pool      the pool
 * @param location  another device than the pool's
 * @param access    what it may do from now on
 *
 * @retval STARPOOL_OK       done
 * @retval STARPOOL_EINVAL   `pool` is NULL, or no such place or access
 * @retval STARPOOL_EDEVICE  it is the pool's own device, which always has access; there is no
 *                           such device, or it cannot be a peer
 * @retval STARPOOL_ENOTSUP  the pool is not the driver's
 * @retval STARPOOL_EDRIVER  anything else; starpool_driver_error() has the CUresult
 *
 * Threads: any, at once.
 * Source:  CUDA Driver API, cuMemPoolSetAccess.
 */
STARPOOL_API STARPOOL_CHECK enum starpool_status
starpool_pool_set_access(struct starpool_pool *pool, struct starpool_location location,
                         enum starpool_access access);

/** A pool on its way to another process. */
struct starpool_pool_handle {
    enum starpool_handle_type type; /**< which of the members below is set */
    int fd;                         /**< STARPOOL_HANDLE_FD: whoever has it closes it */
    unsigned char fabric[64];       /**< STARPOOL_HANDLE_FABRIC */
};

/** A block on its way to another process. */
struct starpool_block_handle {
    unsigned char bytes[64];
};

/**
 * Make a handle with which another process can open a pool.
 *
 * @param pool        a pool of the driver whose configuration has the type among its
 *                    `handle_types`
 * @param type        one type
 * @param handle_out  written only on STARPOOL_OK
 *
 * @retval STARPOOL_OK       `*handle_out` is set
 * @retval STARPOOL_EINVAL   a pointer is NULL, no such type, or not one of the pool's
 * @retval STARPOOL_ENOTSUP  the pool is not the driver's
 * @retval STARPOOL_EDRIVER  anything else; starpool_driver_error() has the CUresult
 *
 * Threads: any, at once.
 * Source:  CUDA Driver API, cuMemPoolExportToShareableHandle.
 */
STARPOOL_API STARPOOL_CHECK enum starpool_status
starpool_pool_export(struct starpool_pool *pool, enum starpool_handle_type type,
                     struct starpool_pool_handle *handle_out);

/**
 * Open a pool of another process. It serves no allocations here, only blocks that are imported.
 *
 * @param location  where its memory is, as this process counts devices
 * @param handle    from starpool_pool_export() of the other process; its descriptor is not
 * closed
 * @param pool_out  written only on STARPOOL_OK
 *
 * @retval STARPOOL_OK       `*pool_out` is set
 * @retval STARPOOL_EINVAL   a pointer is NULL, no such kind or type, or no such handle
 * @retval STARPOOL_EDEVICE  there is no such device or NUMA node
 * @retval STARPOOL_ENOTINIT there is no driver
 * @retval STARPOOL_ENOMEM   no memory for the pool's own data
 * @retval STARPOOL_EDRIVER  anything else; starpool_driver_error() has the CUresult
 *
 * Threads: any, at once. Locks: REGISTRY.
 * Source:  CUDA Driver API, cuMemPoolImportFromShareableHandle.
 */
STARPOOL_API STARPOOL_CHECK enum starpool_status
starpool_pool_import(struct starpool_location location,
                     const struct starpool_pool_handle *handle,
                     struct starpool_pool **pool_out);

/**
 * Make a handle with which another process can use a block.
 *
 * @param ptr         [address] a live block of a pool that can be exported
 * @param handle_out  written only on STARPOOL_OK
 *
 * @retval STARPOOL_OK       `*handle_out` is set
 * @retval STARPOOL_EINVAL   a pointer is NULL, `ptr` is no live block, or its pool is not
 * shared
 * @retval STARPOOL_ENOTSUP  its pool is not the driver's
 * @retval STARPOOL_EDRIVER  anything else; starpool_driver_error() has the CUresult
 *
 * Threads: any, at once.
 * Source:  CUDA Driver API, cuMemPoolExportPointer.
 */
STARPOOL_API STARPOOL_CHECK enum starpool_status
starpool_block_export(const void *ptr, struct starpool_block_handle *handle_out);

/**
 * Use a block of another process.
 *
 * The block must not be touched before its allocation has executed there. It is freed here,
 * with starpool_free(), before it is freed there.
 *
 * @param pool     from starpool_pool_import()
 * @param handle   from starpool_block_export() of the other process
 * @param ptr_out  [address] written only on STARPOOL_OK
 *
 * @retval STARPOOL_OK       `*ptr_out` is set
 * @retval STARPOOL_EINVAL   a pointer is NULL, the pool is not an imported one, or no such
 * handle
 * @retval STARPOOL_ENOTSUP  the pool is not the driver's
 * @retval STARPOOL_ENOMEM   no memory for the block's record
 * @retval STARPOOL_EDRIVER  anything else; starpool_driver_error() has the CUresult
 *
 * Threads: any, at once. Locks: POOL.
 * Source:  CUDA Driver API, cuMemPoolImportPointer.
 */
STARPOOL_API STARPOOL_CHECK enum starpool_status
starpool_block_import(struct starpool_pool *pool, const struct starpool_block_handle *handle,
                      void **ptr_out);

#ifdef __cplusplus
}
#endif

#endif /* STARPOOL_ACCESS_H */
