/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The CPU model of the CUDA driver: choosing it, shaping it, making it fail. */
#ifndef STARPOOL_MODEL_H
#define STARPOOL_MODEL_H

#include <starpool/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How the model's streams execute. */
enum starpool_model_exec {
    STARPOOL_MODEL_THREADS, /**< each in a thread of its own, as a device would */
    STARPOOL_MODEL_INLINE,  /**< inside the calls that come after what they wait for */
};

/** How long work takes on the model's virtual clock, which events tell the time of. */
enum starpool_model_cost {
    STARPOOL_MODEL_COST_NONE,   /**< no time */
    STARPOOL_MODEL_COST_STARPU, /**< what StarPU takes a GPU to need (see starpool-model(7)) */
};

/** What the model is like. Fill it with starpool_model_config_init(). */
struct starpool_model_config {
    size_t struct_size;            /**< [bytes] sizeof(struct starpool_model_config) */
    unsigned n_devices;            /**< 0 to 16 */
    uint64_t device_memory;        /**< [bytes] of each device */
    uint64_t peers;                /**< bit d: device d can be the peer of the others that have
                                        their bit; all by default */
    enum starpool_model_exec exec; /**< STARPOOL_MODEL_THREADS by default */
    enum starpool_model_cost cost; /**< STARPOOL_MODEL_COST_NONE by default */
    bool has_delays;               /**< work really takes that time, too */
    bool is_protected; /**< the host cannot touch the devices' memory, which is filled
                            when it is freed */
    bool finds_races;  /**< uses of memory that are not ordered are violations */
};

/**
 * Set every member to what the options STARPOOL_MODEL_... say.
 *
 * @param config  [out] written whole
 *
 * Threads: any, at once.
 */
STARPOOL_API void starpool_model_config_init(struct starpool_model_config *config);

/**
 * Make the model this process's driver, and shape it.
 *
 * Only before anything has used a driver: afterwards pools and streams would belong to another.
 *
 * @param config  what the model should be like; not kept
 *
 * @retval STARPOOL_OK      the model is the driver
 * @retval STARPOOL_EINVAL  `config` is NULL or a member has no such value
 * @retval STARPOOL_EBUSY   a driver is in use already
 *
 * Threads: any, at once.
 */
STARPOOL_API STARPOOL_CHECK enum starpool_status
starpool_model_configure(const struct starpool_model_config *config);

/**
 * Choose how the model behaves where the driver's documents leave it open.
 *
 * @param name   a switch; `STARPOOL_DRIVER=model starpool info` lists them with their values
 * @param value  one of its values
 *
 * @retval STARPOOL_OK      set; calls from now on obey it
 * @retval STARPOOL_EINVAL  no such switch or value
 *
 * Threads: any, at once.
 */
STARPOOL_API STARPOOL_CHECK enum starpool_status starpool_model_set_switch(const char *name,
                                                                           const char *value);

/**
 * Read a switch.
 *
 * @param name       a switch
 * @param value_out  a constant string; written only on STARPOOL_OK
 *
 * @retval STARPOOL_OK      `*value_out` is set
 * @retval STARPOOL_EINVAL  no such switch, or `value_out` is NULL
 *
 * Threads: any, at once.
 */
STARPOOL_API STARPOOL_CHECK enum starpool_status
starpool_model_get_switch(const char *name, const char **value_out);

/**
 * Make the model fail, for tests.
 *
 * @param faults  one or several, separated by commas, as the option STARPOOL_MODEL_FAULTS takes
 *                them (see starpool-model(7)); NULL removes those that have not happened yet
 *
 * @retval STARPOOL_OK      they will happen
 * @retval STARPOOL_EINVAL  not understood; none of them was added
 *
 * Threads: any, at once.
 */
STARPOOL_API STARPOOL_CHECK enum starpool_status starpool_model_inject(const char *faults);

/**
 * How often the program did what the driver leaves undefined: using memory that is not ordered
 * after its allocation or that has been freed, freeing what later work uses, stale handles, and
 * races where the configuration looks for them.
 *
 * @param first_out  the first of them in words, "" if none, valid as long as the process; NULL
 * if not wanted
 * @return           how many there were
 *
 * Threads: any, at once.
 */
STARPOOL_API uint64_t starpool_model_violations(const char **first_out);

#ifdef __cplusplus
}
#endif

#endif /* STARPOOL_MODEL_H */
