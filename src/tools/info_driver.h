/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `starpool info`: which driver serves devices, or why none does. No context is made. */
#ifndef SP_INFO_DRIVER_H
#define SP_INFO_DRIVER_H

#include <stdbool.h>
#include <stddef.h>

#include "src/driver/driver.h"
#include "src/util/json.h"

#define SP_INFO_MAX_DEVICES 64

struct sp_info_device {
    char name[128];
    char uuid[48]; /* as nvidia-smi writes it */
    size_t memory_bytes;
    bool has_pools;
};

struct sp_info_driver {
    const struct sp_driver *driver; /* NULL if none serves */
    const char *reason;             /* then: why not */
    int version;                    /* as CUDA_VERSION counts */
    int n_devices;                  /* at most SP_INFO_MAX_DEVICES */
    struct sp_info_device devices[SP_INFO_MAX_DEVICES];
};

void sp_info_ask_driver(struct sp_info_driver *info_out);
void sp_info_show_driver(const struct sp_info_driver *info);
void sp_info_write_driver(struct sp_json *json, const struct sp_info_driver *info);

#endif /* SP_INFO_DRIVER_H */
