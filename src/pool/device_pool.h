/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The backing of a device's pool of our own: slabs of plain memory of the device. */
#ifndef SP_DEVICE_POOL_H
#define SP_DEVICE_POOL_H

#include <starpool/base.h>

#include "src/driver/driver.h"
#include "src/pool/pool_ops.h"

/* A backing on a device that there is. Nothing is asked of the driver before the first growth,
 * which makes the device's primary context if the program has not. ENOMEM. */
STARPOOL_CHECK enum starpool_status sp_device_backing_create(const struct sp_driver *driver,
                                                             int device,
                                                             struct sp_backing **backing_out);

#endif /* SP_DEVICE_POOL_H */
