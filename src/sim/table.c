/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The model's table, unless it is of another version than this library: a program may have
 * loaded some other libstarpool.so of the same name before. */
#include "config.h"

#include "src/sim/table.h"

#include <stdatomic.h>
#include <string.h>

#include "src/model/model.h"
#include "src/pool/private.h"
#include "src/util/diag.h"

#define SYSTEM_DRIVER_MISMATCH 803

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define X(name, symbol, version, parameters)         \
    static sp_cu_result mismatched_##name parameters \
    {                                                \
        return SYSTEM_DRIVER_MISMATCH;               \
    }
#include "src/driver/calls.def"
#undef X
#pragma GCC diagnostic pop

static const struct sp_driver mismatched = {
    .name = "model",
    .is_model = true,
#define X(name, symbol, version, parameters) .name = mismatched_##name,
#include "src/driver/calls.def"
#undef X
};

/* Decided at the first call, by every thread alike. */
static struct {
    _Atomic(const struct sp_driver *) chosen;
} table;

static const struct sp_driver *choose(void)
{
    const struct sp_driver *driver = sp_model_driver(), *none = NULL;

    if (strcmp(sp_build_version(), PACKAGE_VERSION) != 0)
        driver = &mismatched;
    if (atomic_compare_exchange_strong(&table.chosen, &none, driver) && driver == &mismatched)
        sp_log(
            SP_LOG_ERROR,
            "the simulated CUDA libraries are of version %s and libstarpool of %s: no device "
            "is served; install both from one build",
            PACKAGE_VERSION, sp_build_version());
    return driver;
}

const struct sp_driver *sp_sim_driver(void)
{
    const struct sp_driver *driver = atomic_load_explicit(&table.chosen, memory_order_relaxed);

    return driver != NULL ? driver : choose();
}
