/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which driver serves this process: decided at the first question, by the option DRIVER or by a
 * program that has chosen the model, and the same from then on. */
#include "config.h"

#include "src/driver/driver.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "src/model/model.h"
#include "src/util/diag.h"
#include "src/util/options.h"

/* The values of the option DRIVER, in the order of options.def. */
enum choice { CHOICE_AUTO, CHOICE_CUDA, CHOICE_MODEL, CHOICE_NONE };

/* `chosen` is written once, under `lock`, and read without it; the rest is guarded by it.
 *   chosen != NULL => is_decided */
static struct {
    pthread_mutex_t lock;
    _Atomic(const struct sp_driver *) chosen;
    bool is_decided;  /* refusals count: what is not there is not tried again */
    bool wants_model; /* the program has said so */
    char reason[320]; /* of the refusal; "" if there was none */
} process = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The real driver, if it starts and has a device; else the reason is set. */
static enum starpool_status start_cuda_locked(const struct sp_driver **driver_out)
{
    const struct sp_driver *driver;
    sp_cu_result result;
    int n_devices = 0;

    if (sp_driver_cuda(&driver) != STARPOOL_OK) {
        (void)snprintf(process.reason, sizeof(process.reason), "%s", sp_driver_cuda_error());
        return STARPOOL_ENOTINIT;
    }
    result = driver->cuInit(0);
    if (sp_driver_status(result, "cuInit") != STARPOOL_OK) {
        (void)snprintf(process.reason, sizeof(process.reason), "cuInit() answers %d (%s)",
                       result, sp_driver_result_name(result));
        return STARPOOL_ENOTINIT;
    }
    result = driver->cuDeviceGetCount(&n_devices);
    if (sp_driver_status(result, "cuDeviceGetCount") != STARPOOL_OK || n_devices < 1) {
        (void)snprintf(process.reason, sizeof(process.reason), "the driver has no device");
        return STARPOOL_ENOTINIT;
    }
    *driver_out = driver;
    return STARPOOL_OK;
}

static enum starpool_status start_model_locked(const struct sp_driver **driver_out)
{
    const struct sp_driver *driver = sp_model_driver();
    sp_cu_result result = driver->cuInit(0);

    if (sp_driver_status(result, "cuInit") != STARPOOL_OK) {
        (void)snprintf(process.reason, sizeof(process.reason),
                       "cuInit() of the model answers %d (%s)", result,
                       sp_driver_result_name(result));
        return STARPOOL_ENOTINIT;
    }
    *driver_out = driver;
    return STARPOOL_OK;
}

/* The driver, or the model where a library of ours stands in the driver's place: then the
 * program that is served uses that model, too. */
static enum starpool_status start_whatever_locked(const struct sp_driver **driver_out)
{
    enum starpool_status status = start_cuda_locked(driver_out);

    if (status == STARPOOL_OK)
        return STARPOOL_OK;
    if (!sp_driver_cuda_is_model()) {
        sp_log(SP_LOG_INFO, "no device is served: %s", process.reason);
        return status;
    }
    sp_log(SP_LOG_INFO, "%s: its devices are served", process.reason);
    process.reason[0] = '\0';
    return start_model_locked(driver_out);
}

static enum starpool_status start_locked(const struct sp_driver **driver_out)
{
    enum choice choice =
        process.wants_model ? CHOICE_MODEL : sp_option_number(SP_OPTION_DRIVER);
    enum starpool_status status = STARPOOL_ENOTINIT;

    process.reason[0] = '\0';
    switch (choice) {
    case CHOICE_AUTO:
        status = start_whatever_locked(driver_out);
        break;
    case CHOICE_CUDA:
        status = start_cuda_locked(driver_out);
        if (status != STARPOOL_OK)
            sp_log(
                SP_LOG_ERROR,
                "STARPOOL_DRIVER=cuda, but %s: install or repair NVIDIA's driver, or take the "
                "CPU model (STARPOOL_DRIVER=model)",
                process.reason);
        break;
    case CHOICE_MODEL:
        status = start_model_locked(driver_out);
        break;
    case CHOICE_NONE:
        (void)snprintf(process.reason, sizeof(process.reason), "STARPOOL_DRIVER=none");
        break;
    }
    return status;
}

enum starpool_status sp_driver_get(const struct sp_driver **driver_out)
{
    const struct sp_driver *driver =
        atomic_load_explicit(&process.chosen, memory_order_acquire);

    if (driver == NULL) {
        pthread_mutex_lock(&process.lock);
        driver = atomic_load_explicit(&process.chosen, memory_order_relaxed);
        if (driver == NULL && !process.is_decided) {
            process.is_decided = true;
            if (start_locked(&driver) == STARPOOL_OK)
                atomic_store_explicit(&process.chosen, driver, memory_order_release);
        }
        pthread_mutex_unlock(&process.lock);
    }
    if (driver == NULL)
        return STARPOOL_ENOTINIT;
    *driver_out = driver;
    return STARPOOL_OK;
}

const char *sp_driver_why_none(void)
{
    return process.reason;
}

bool sp_driver_is_chosen(void)
{
    return atomic_load_explicit(&process.chosen, memory_order_acquire) != NULL;
}

enum starpool_status sp_driver_choose_model(void)
{
    enum starpool_status status = STARPOOL_EBUSY;

    pthread_mutex_lock(&process.lock);
    if (!sp_driver_is_chosen()) {
        process.wants_model = true;
        process.is_decided = false;
        status = STARPOOL_OK;
    }
    pthread_mutex_unlock(&process.lock);
    return status;
}

void sp_driver_use(const struct sp_driver *driver)
{
    pthread_mutex_lock(&process.lock);
    atomic_store_explicit(&process.chosen, driver, memory_order_release);
    process.is_decided = true;
    pthread_mutex_unlock(&process.lock);
}

void sp_driver_reset(void)
{
    pthread_mutex_lock(&process.lock);
    atomic_store_explicit(&process.chosen, NULL, memory_order_relaxed);
    process.is_decided = false;
    process.wants_model = false;
    process.reason[0] = '\0';
    sp_driver_cuda_reset();
    pthread_mutex_unlock(&process.lock);
}
