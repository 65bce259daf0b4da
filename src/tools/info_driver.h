/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `starpool info`: which driver serves devices, or why none does, and what serves which memory.
 * No context is made. */
#ifndef SP_INFO_DRIVER_H
#define SP_INFO_DRIVER_H

#include "src/driver/features.h"
#include "src/util/json.h"

struct sp_info_driver {
    const struct sp_driver *driver; /* NULL if none serves */
    const char *reason;             /* then: why not */
    struct sp_features features;
};

void sp_info_ask_driver(struct sp_info_driver *info_out);
void sp_info_show_driver(const struct sp_info_driver *info);
void sp_info_write_driver(struct sp_json *json, const struct sp_info_driver *info);

#endif /* SP_INFO_DRIVER_H */
