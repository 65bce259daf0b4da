/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Memory of the host that the driver knows, so that devices copy from and to it directly. */
#ifndef SP_PINNING_H
#define SP_PINNING_H

#include "numa/segment.h"

/* Registers with the driver of this process, in a primary context that there is already, if
 * there is one. */
extern const struct sp_pin_ops sp_pin_by_driver;

#endif /* SP_PINNING_H */
