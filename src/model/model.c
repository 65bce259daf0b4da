/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The model as a whole: its table, the lock, how every entry point begins and ends, and
 * starting over. */
#include "config.h"

#include "src/model/private.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "src/heap/checker.h"
#include "src/model/capture.h"
#include "src/model/graph.h"
#include "src/model/kernels.h"
#include "src/model/protect.h"
#include "src/model/races.h"
#include "src/util/options.h"
#include "src/util/util.h"

static const struct sp_driver table = {
    .name = "model",
    .is_model = true,
#define X(name, symbol, version, parameters) .name = sp_model_##name,
#include "src/driver/calls.def"
#undef X
};

/* Behind the lock, except the atomics. */
static struct {
    struct sp_lock lock;
    pthread_once_t once;
    atomic_bool is_forked;
    _Atomic uint64_t generation;
    bool is_ready; /* the configuration has been read */
    bool is_initialized, is_chosen, is_sealed;
    struct starpool_model_config config;
    struct sp_order order;
} model = {.lock = SP_LOCK_INITIALIZER(SP_RANK_MODEL), .once = PTHREAD_ONCE_INIT};

struct sp_lock *sp_model_lock(void)
{
    return &model.lock;
}

struct sp_order *sp_model_order(void)
{
    return &model.order;
}

const struct starpool_model_config *sp_model_config(void)
{
    return &model.config;
}

bool sp_model_is_inline(void)
{
    return model.config.exec == STARPOOL_MODEL_INLINE;
}

bool sp_model_is_forked(void)
{
    return atomic_load_explicit(&model.is_forked, memory_order_relaxed);
}

uint64_t sp_model_generation(void)
{
    return atomic_load_explicit(&model.generation, memory_order_relaxed);
}

void sp_model_set_initialized(void)
{
    model.is_initialized = true;
}

/* ---- configuration ------------------------------------------------------------------- */

/* A list such as "0,2-3" as bits; false if it is none. */
static bool parse_list(const char *text, uint64_t *bits_out)
{
    uint64_t bits = 0;

    while (*text != '\0') {
        char *end;
        unsigned long first = strtoul(text, &end, 10), last = first;

        if (end == text)
            return false;
        if (*end == '-') {
            text = end + 1;
            last = strtoul(text, &end, 10);
            if (end == text)
                return false;
        }
        if (first > last || last > 63 || (*end != ',' && *end != '\0'))
            return false;
        for (; first <= last; first++)
            bits |= (uint64_t)1 << first;
        text = *end == ',' ? end + 1 : end;
    }
    *bits_out = bits;
    return true;
}

static uint64_t peers_from_option(void)
{
    const char *text = sp_option(SP_OPTION_MODEL_PEERS)->value;
    uint64_t peers = UINT64_MAX;

    if (strcmp(text, "none") == 0)
        return 0;
    if (strcmp(text, "all") != 0 && !parse_list(text, &peers))
        sp_log(SP_LOG_WARN, "STARPOOL_MODEL_PEERS=%s: not understood, all are used", text);
    return peers;
}

/* How many of the devices CUDA_VISIBLE_DEVICES leaves, as the driver reads it: all of them
 * without it, else those of a list of ordinals up to the first that there is not; a list that
 * names one twice leaves none. The devices are alike, and are counted from 0 again. */
static unsigned n_visible(unsigned n_devices)
{
    const char *text = getenv("CUDA_VISIBLE_DEVICES");
    uint64_t seen = 0;
    unsigned n = 0;
    char *end;

    if (text == NULL)
        return n_devices;
    for (;; text = end + 1) {
        unsigned long ordinal = strtoul(text, &end, 10);

        if (end == text || (*end != ',' && *end != '\0') || ordinal >= n_devices)
            return n;
        if (seen >> ordinal & 1)
            return 0;
        seen |= (uint64_t)1 << ordinal;
        n++;
        if (*end == '\0')
            return n;
    }
}

void starpool_model_config_init(struct starpool_model_config *config)
{
    uint64_t n_devices = sp_option_number(SP_OPTION_MODEL_DEVICES);

    *config = (struct starpool_model_config){
        .struct_size = sizeof(*config),
        .n_devices = n_visible((unsigned)sp_min(n_devices, SP_MODEL_MAX_DEVICES)),
        .device_memory = sp_option_number(SP_OPTION_MODEL_MEMORY),
        .peers = peers_from_option(),
        .exec = sp_option_number(SP_OPTION_MODEL_EXEC) == 0 ? STARPOOL_MODEL_THREADS
                                                            : STARPOOL_MODEL_INLINE,
        .cost = sp_option_number(SP_OPTION_MODEL_COST) == 0 ? STARPOOL_MODEL_COST_NONE
                                                            : STARPOOL_MODEL_COST_STARPU,
        .has_delays = sp_option_number(SP_OPTION_MODEL_DELAYS) != 0,
        .is_protected = sp_option_number(SP_OPTION_MODEL_PROTECT) != 0,
        .finds_races = sp_option_number(SP_OPTION_MODEL_RACES) != 0,
    };
}

void sp_model_make_ready(void)
{
    if (model.is_ready)
        return;
    model.is_ready = true;
    if (!model.is_chosen)
        starpool_model_config_init(&model.config);
    sp_order_init(&model.order);
    if (sp_option_number(SP_OPTION_CHECKS) >= 2)
        model.order.checker = sp_checker_create();
    sp_model_protect_start();
    sp_model_devices_reset();
    sp_model_switches_reset();
    sp_model_faults_reset();
}

/* What every program's struct has; members behind it came with later versions. */
#define FIRST_SIZE offsetof(struct starpool_model_config, cost)

/* What the program has of the members; the options say the rest. False if it is not valid. */
static bool read_config(const struct starpool_model_config *config,
                        struct starpool_model_config *read_out)
{
    if (config == NULL || config->struct_size < FIRST_SIZE)
        return false;
    starpool_model_config_init(read_out);
    memcpy(read_out, config,
           config->struct_size < sizeof(*config) ? FIRST_SIZE : sizeof(*config));
    read_out->struct_size = sizeof(*read_out);
    return read_out->n_devices <= SP_MODEL_MAX_DEVICES &&
           read_out->device_memory <= SIZE_MAX / 64 &&
           (read_out->exec == STARPOOL_MODEL_THREADS ||
            read_out->exec == STARPOOL_MODEL_INLINE) &&
           (read_out->cost == STARPOOL_MODEL_COST_NONE ||
            read_out->cost == STARPOOL_MODEL_COST_STARPU);
}

enum starpool_status starpool_model_configure(const struct starpool_model_config *config)
{
    enum starpool_status status = STARPOOL_OK;
    struct starpool_model_config read;

    if (!read_config(config, &read))
        return STARPOOL_EINVAL;
    if (sp_model_is_forked())
        return STARPOOL_EBUSY;
    sp_lock_take(&model.lock);
    sp_model_make_ready();
    if (model.is_sealed || model.is_initialized) {
        status = STARPOOL_EBUSY;
    } else {
        model.config = read;
        model.is_chosen = true;
        sp_model_protect_start();
        sp_model_devices_reset();
        sp_model_faults_reset();
    }
    sp_lock_give(&model.lock);
    return status;
}

bool sp_model_is_chosen(void)
{
    bool is_chosen;

    sp_lock_take(&model.lock);
    is_chosen = model.is_chosen;
    sp_lock_give(&model.lock);
    return is_chosen;
}

void sp_model_seal(void)
{
    sp_lock_take(&model.lock);
    model.is_sealed = true;
    sp_lock_give(&model.lock);
}

/* ---- forks --------------------------------------------------------------------------- */

/* As with the driver, nothing of the model can be used in the child. The lock may have been
 * held by a thread that is not there: what it guards is left alone from now on. */
static void in_child(void)
{
    sp_lock_init(&model.lock, SP_RANK_MODEL);
    if (model.is_initialized)
        atomic_store_explicit(&model.is_forked, true, memory_order_relaxed);
}

static void setup(void)
{
    pthread_atfork(NULL, NULL, in_child);
}

/* ---- entry points -------------------------------------------------------------------- */

const struct sp_driver *sp_model_driver(void)
{
    return &table;
}

/* Calls that belong to no context, or that are how a program gets rid of one that has failed.
 */
static bool is_beyond_faults(int call)
{
    return call <= SP_CALL_cuCtxGetDevice;
}

static sp_cu_result begin(int call, bool needs_init)
{
    const struct sp_model_context *context;
    sp_cu_result result;

    sp_model_make_ready();
    if (needs_init && !model.is_initialized)
        return SP_CU_NOT_INITIALIZED;
    sp_model_run_pump();
    result = sp_model_fault_at(call);
    if (result != SP_CU_SUCCESS || is_beyond_faults(call))
        return result;
    context = sp_model_current();
    if (context != NULL && context->fault != SP_CU_SUCCESS)
        return context->fault;
    return sp_model_capture_call(call);
}

sp_cu_result sp_model_enter(int call, bool needs_init)
{
    sp_cu_result result;

    if (sp_model_is_forked())
        return SP_CU_NOT_INITIALIZED;
    if (sp_model_is_in_function() || sp_model_is_destructor())
        return SP_CU_NOT_PERMITTED;
    pthread_once(&model.once, setup);
    sp_lock_take(&model.lock);
    result = begin(call, needs_init);
    if (result != SP_CU_SUCCESS)
        sp_lock_give(&model.lock);
    return result;
}

sp_cu_result sp_model_leave(sp_cu_result result)
{
    sp_lock_give(&model.lock);
    return result;
}

/* ---- starting over ------------------------------------------------------------------- */

void sp_model_reset(void)
{
    if (sp_model_is_forked())
        return;
    sp_lock_take(&model.lock);
    if (model.is_ready) {
        sp_model_run_reset();
        sp_model_objects_reset();
        sp_model_captures_reset();
        sp_model_execs_reset();
        sp_model_graphs_reset();
        sp_model_graph_memory_reset();
        sp_model_modules_reset();
        sp_model_events_reset();
        sp_model_pools_reset();
        sp_model_memory_reset();
        sp_model_protect_reset();
        sp_model_races_reset();
        sp_model_streams_reset();
        sp_model_contexts_reset();
        if (model.order.checker != NULL)
            sp_checker_destroy(model.order.checker);
        sp_order_fini(&model.order);
    }
    atomic_fetch_add_explicit(&model.generation, 1, memory_order_relaxed);
    model.is_ready = model.is_initialized = model.is_chosen = model.is_sealed = false;
    sp_model_make_ready();
    sp_lock_give(&model.lock);
}
