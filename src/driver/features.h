/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the driver at hand can do, found by trying it and not by its version, and what serves
 * where it cannot. Nothing here makes a context. */
#ifndef SP_FEATURES_H
#define SP_FEATURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <starpool/base.h>

#include "src/driver/driver.h"

#define SP_FEATURES_MAX_DEVICES 64
#define SP_FEATURES_WHY         128
#define SP_FEATURES_UUID        48

/* What serves memory of a kind: all in the same order of streams. */
enum sp_mechanism {
    SP_MECHANISM_NONE,     /* nothing does: ENOTSUP */
    SP_MECHANISM_DRIVER,   /* pools of the driver */
    SP_MECHANISM_SLAB,     /* starpool's engine over plain memory of the device */
    SP_MECHANISM_SEGMENTS, /* starpool's engine over memory of the host, which may be registered
                            */
};

/* A mechanism, and in words why it is that. */
struct sp_choice {
    enum sp_mechanism mechanism;
    char why[SP_FEATURES_WHY];
};

/* Whether handles of memory can be had that other machines open: two things are needed. */
enum sp_fabric {
    SP_FABRIC_YES,
    SP_FABRIC_NO_SUPPORT, /* the driver or the machine has no fabric */
    SP_FABRIC_NO_CHANNEL, /* it has, but no IMEX channel that this user may open */
};

enum sp_compute_mode {
    SP_COMPUTE_DEFAULT = 0,
    SP_COMPUTE_EXCLUSIVE = 3, /* one process at a time has a context */
    SP_COMPUTE_PROHIBITED = 2,
    SP_COMPUTE_UNKNOWN = -1,
};

struct sp_device_features {
    char name[128];
    char uuid[SP_FEATURES_UUID]; /* as nvidia-smi and CUDA_VISIBLE_DEVICES write it */
    bool is_mig;                 /* a part of a device: no peers and no IPC are assumed */
    size_t memory_bytes;
    uint64_t mps_limit_bytes; /* 0: none. Pinned memory of the host counts, too */
    enum sp_compute_mode mode;
    unsigned handle_types; /* SP_CU_HANDLE_... that pools can be shared by */
    uint64_t peers;        /* bit d: device d may be given access */
    enum sp_fabric fabric;
    struct sp_choice pools;   /* DEVICE */
    struct sp_choice managed; /* managed memory, wherever */
};

struct sp_features {
    int version; /* as CUDA_VERSION counts; for people only */
    int n_devices;
    struct sp_device_features devices[SP_FEATURES_MAX_DEVICES];
    struct sp_choice host;       /* HOST: what a pool of the driver there would be */
    struct sp_choice host_numa;  /* HOST_NUMA, likewise */
    const char *mps;             /* what of MPS the environment names; NULL: nothing */
    const char *visible_devices; /* CUDA_VISIBLE_DEVICES, or NULL */
};

/* Ask about everything. `node` is a NUMA node that there is, by which HOST_NUMA is tried. */
STARPOOL_API void sp_features_ask(const struct sp_driver *driver, int node,
                                  struct sp_features *features_out);

/* What serves a device's memory where nobody has said. */
void sp_features_pools(const struct sp_driver *driver, int device,
                       struct sp_choice *choice_out);

/* Whether a device may be given access to another's memory. Parts of devices may not. */
bool sp_features_is_peer(const struct sp_driver *driver, int device, int peer);

/* The ordinal of the device of a UUID, or of the beginning of one that no other has, with or
 * without "GPU-" or "MIG-"; -1: none, or several. */
int sp_features_find(const struct sp_driver *driver, const char *uuid);

/* Which of the two conditions of IMEX fails, by the list of devices that the kernel has and the
 * folder of channels. */
enum sp_fabric sp_features_imex(const char *proc_devices, const char *channels);

/* The limit that MPS sets for a device, from "0=2G,1=512M"; 0: none. */
uint64_t sp_features_mps_limit(const char *limits, int device);

/* A mechanism in a word; which of the conditions fails, in words. */
STARPOOL_API const char *sp_mechanism_name(enum sp_mechanism mechanism);
STARPOOL_API const char *sp_fabric_text(enum sp_fabric fabric);

#endif /* SP_FEATURES_H */
