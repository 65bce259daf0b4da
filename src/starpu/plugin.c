/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Attaching to StarPU: when, whether, and by which mechanism. Costs a process that never loads
 * StarPU a look at its list of objects and at its own file's headers. Nothing is ever unhooked:
 * frees arrive after StarPU's shutdown. */
#include "config.h"

#include "src/starpu/plugin.h"

#include <dlfcn.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <starpool/starpu.h>

#include "src/pool/private.h"
#include "src/starpu/codelet_check.h"
#include "src/starpu/cuda.h"
#include "src/starpu/doors.h"
#include "src/starpu/got.h"
#include "src/starpu/node.h"
#include "src/starpu/pin.h"
#include "src/starpu/real.h"
#include "src/starpu/report.h"
#include "src/starpu/static_exe.h"
#include "src/starpu/taskgraph_doors.h"
#include "src/starpu/taskgraph_markers.h"
#include "src/starpu/watch.h"
#include "src/util/diag.h"
#include "src/util/options.h"
#include "src/util/util.h"

/* The call that shows which mechanism is at work. */
#define DOOR "starpu_malloc_on_node_flags"

struct sp_plugin sp_plugin;

const char *sp_plugin_mechanism_name(enum sp_mechanism mechanism)
{
    switch (mechanism) {
    case SP_MECHANISM_NONE:
        return "none";
    case SP_MECHANISM_PRELOAD:
        return "preload";
    case SP_MECHANISM_LINK:
        return "link";
    case SP_MECHANISM_GOT:
        return "got";
    }
    return "none";
}

static void set_phase(enum sp_phase phase)
{
    atomic_store_explicit(&sp_plugin.phase, (int)phase, memory_order_release);
}

/* True if the plugin comes first in the scope of the whole program. */
static bool is_first_in_scope(void)
{
    void *program = dlopen(NULL, RTLD_NOW);
    bool is_first;

    if (program == NULL)
        return false;
    is_first = sp_got_is_own(dlsym(program, DOOR));
    dlclose(program);
    return is_first;
}

/* True if calls of StarPU's allocator find the plugin before libstarpu: it comes first, and it
 * was there when libstarpu was bound. */
static bool is_in_front(void)
{
    return is_first_in_scope() && sp_got_is_before_starpu();
}

/* LD_PRELOAD names the plugin's file, by whatever path. */
static bool is_preloaded(void)
{
    const char *list = secure_getenv("LD_PRELOAD");

    return list != NULL && strstr(list, "starpool_starpu") != NULL;
}

static void patch_callers(void)
{
    static const struct sp_got_patch *(*const tables[])(size_t *) = {
        sp_doors_patches, sp_taskgraph_patches, sp_pin_patches, sp_watch_patches};
    struct sp_got_result result = {0};
    size_t i;

    for (i = 0; i < SP_ARRAY_SIZE(tables); i++) {
        size_t n_patches;
        const struct sp_got_patch *patches = tables[i](&n_patches);
        struct sp_got_result more = sp_got_apply(patches, n_patches);

        result.n_patched += more.n_patched;
        result.n_failed += more.n_failed;
    }
    snprintf(sp_plugin.why, sizeof(sp_plugin.why),
             "the plugin came after libstarpu: %u calls redirected, %u could not be",
             result.n_patched, result.n_failed);
}

static void choose_mechanism(void)
{
    if (!sp_got_starpu_has_slot(DOOR)) {
        sp_plugin.mechanism = SP_MECHANISM_NONE;
        snprintf(sp_plugin.why, sizeof(sp_plugin.why),
                 "libstarpu calls %s directly (linked with -Bsymbolic?): only the hooks serve",
                 DOOR);
        sp_log(SP_LOG_WARN, "%s", sp_plugin.why);
        return;
    }
    if (is_in_front()) {
        sp_plugin.mechanism = is_preloaded() ? SP_MECHANISM_PRELOAD : SP_MECHANISM_LINK;
        return;
    }
    sp_plugin.mechanism = SP_MECHANISM_GOT;
    patch_callers();
}

static bool has_right_versions(void)
{
    int *version = sp_plugin.version;

    if (sp_real.get_version != NULL)
        sp_real.get_version(&version[0], &version[1], &version[2]);
    if (strcmp(sp_build_version(), PACKAGE_VERSION) != 0) {
        sp_log(SP_LOG_ERROR,
               "the StarPU plugin is of version %s and libstarpool of %s: StarPU is "
               "not served; install both from one build",
               PACKAGE_VERSION, sp_build_version());
        return false;
    }
    if (version[0] == STARPU_MAJOR_VERSION && version[1] == STARPU_MINOR_VERSION)
        return true;
    sp_log(SP_LOG_ERROR,
           "the program uses StarPU %d.%d and this plugin was built for %d.%d: "
           "StarPU is not served; `starpool run` picks the right plugin",
           version[0], version[1], STARPU_MAJOR_VERSION, STARPU_MINOR_VERSION);
    return false;
}

/* ENOTINIT: no shared libstarpu yet. ENOTSUP: never. EBUSY: not now. */
static enum starpool_status try_attach(const struct starpool_starpu_config *config,
                                       bool may_be_running)
{
    struct starpool_starpu_config standard;
    const char *missing;
    bool has_all, is_late;

    has_all = sp_real_load(&missing);
    if (!has_all && missing == NULL)
        return STARPOOL_ENOTINIT;
    if (!has_right_versions())
        return STARPOOL_ENOTSUP;
    if (!has_all) {
        sp_log(SP_LOG_ERROR, "libstarpu has no %s: StarPU is not served", missing);
        return STARPOOL_ENOTSUP;
    }
    if (!may_be_running && sp_real.is_initialized() != 0) {
        sp_log(SP_LOG_ERROR, "StarPU is already running and is not served: attach before "
                             "starpu_init()");
        return STARPOOL_EBUSY;
    }
    if (!sp_claim_starpu()) {
        sp_log(SP_LOG_INFO, "another copy of the plugin serves StarPU");
        sp_plugin.is_second = true;
        return STARPOOL_ENOTSUP;
    }
    if (config == NULL) {
        starpool_starpu_config_init(&standard);
        config = &standard;
    }
    sp_node_configure(config);
    sp_cuda_start();
    sp_codelet_check_start();
    sp_report_note_start();
    choose_mechanism();
    is_late = sp_plugin.mechanism == SP_MECHANISM_GOT || sp_real.is_initialized() != 0;
    sp_doors_open(is_late, sp_real.memory_nodes_get_numa_count() > 1);
    atomic_store(&sp_plugin.starter, getpid());
    return STARPOOL_OK;
}

static enum starpool_status attach(const struct starpool_starpu_config *config,
                                   bool may_be_running)
{
    enum starpool_status status;
    int phase = SP_DORMANT;

    while (!atomic_compare_exchange_strong(&sp_plugin.phase, &phase, SP_ATTACHING)) {
        if (phase == SP_ACTIVE)
            return STARPOOL_OK;
        if (phase == SP_INERT)
            return sp_plugin.is_second ? STARPOOL_OK : STARPOOL_ENOTSUP;
        /* Another thread is at it, for microseconds. */
        sched_yield();
        phase = SP_DORMANT;
    }
    status = try_attach(config, may_be_running);
    if (status == STARPOOL_OK)
        set_phase(SP_ACTIVE);
    else if (status == STARPOOL_ENOTSUP)
        set_phase(SP_INERT);
    else
        set_phase(SP_DORMANT);
    return status == STARPOOL_ENOTSUP && sp_plugin.is_second ? STARPOOL_OK : status;
}

void sp_plugin_wake(void)
{
    if (atomic_load_explicit(&sp_plugin.phase, memory_order_acquire) == SP_INERT)
        return;
    /* A call of StarPU's allocator shows that others come here too, running or not. */
    if (attach(NULL, true) != STARPOOL_OK)
        return;
}

void sp_plugin_note_init(void)
{
    if (!sp_plugin_is_active())
        sp_plugin_wake();
    if (!sp_plugin_is_active())
        return;
    atomic_store(&sp_plugin.starter, getpid());
    atomic_store(&sp_plugin.was_started, true);
    if (sp_real.is_initialized() != 0)
        return;
    sp_node_note_init();
    sp_tg_marker_note_init();
    if (sp_plugin.mechanism == SP_MECHANISM_GOT)
        patch_callers();
}

/* ---- what programs call -------------------------------------------------------------- */

void starpool_starpu_config_init(struct starpool_starpu_config *config)
{
    uint64_t limit = sp_option_number(SP_OPTION_HOST_LIMIT);

    *config = (struct starpool_starpu_config){
        .struct_size = sizeof(*config),
        .placement = (enum starpool_placement)sp_option_number(SP_OPTION_NUMA_POLICY),
        .host_limit = limit == UINT64_MAX ? 0 : limit,
    };
}

static bool is_valid_config(const struct starpool_starpu_config *config)
{
    return config->struct_size == sizeof(*config) &&
           (config->placement == STARPOOL_STRICT || config->placement == STARPOOL_SPILL);
}

enum starpool_status starpool_starpu_attach(const struct starpool_starpu_config *config)
{
    enum starpool_status status;

    if (config != NULL && !is_valid_config(config))
        return STARPOOL_EINVAL;
    /* At the program's start the constructor has attached already, by the environment. */
    if (sp_plugin_is_active()) {
        if (config != NULL && !sp_node_has_pools())
            sp_node_configure(config);
        atomic_store(&sp_plugin.is_detached, false);
        return STARPOOL_OK;
    }
    status = attach(config, false);
    return status == STARPOOL_ENOTINIT ? STARPOOL_ENOTSUP : status;
}

void starpool_starpu_detach(void)
{
    atomic_store(&sp_plugin.was_detached, true);
    atomic_store(&sp_plugin.is_detached, true);
}

enum starpool_status starpool_starpu_pool(unsigned node, struct starpool_pool **pool_out)
{
    struct starpool_pool *pool;

    if (pool_out == NULL)
        return STARPOOL_EINVAL;
    if (!sp_plugin_is_active() || sp_real.is_initialized() == 0)
        return STARPOOL_ENOTINIT;
    if (node >= sp_real.memory_nodes_get_count())
        return STARPOOL_EDEVICE;
    if (sp_node_is_host(node))
        return sp_node_pool(node, pool_out);
    pool = sp_cuda_is_node(node) ? sp_cuda_pool(node, sp_cuda_device_of(node)) : NULL;
    if (pool == NULL)
        return STARPOOL_ENOTSUP;
    *pool_out = pool;
    return STARPOOL_OK;
}

/* ---- the process's beginning and end ------------------------------------------------- */

__attribute__((constructor)) static void begin(void)
{
    enum starpool_status status = attach(NULL, false);

    atomic_store(&sp_plugin.starter, getpid());
    if (status == STARPOOL_ENOTINIT && sp_static_exe_defines(DOOR)) {
        sp_log(SP_LOG_WARN,
               "StarPU is linked into this program, where starpool cannot reach it: "
               "link the program with the shared libstarpu");
        set_phase(SP_INERT);
    }
}

/* libstarpu came later, and no call of it could lead here: where the plugin comes first, the
 * first one does. */
static bool was_passed_by(void)
{
    return atomic_load(&sp_plugin.phase) == SP_DORMANT && sp_got_find_starpu() != NULL &&
           sp_got_is_before_starpu() && !is_first_in_scope();
}

__attribute__((destructor)) static void end(void)
{
    if (atomic_load(&sp_plugin.starter) != getpid())
        return;
    if (sp_plugin_is_active())
        sp_report_at_exit();
    else if (was_passed_by())
        sp_log(SP_LOG_WARN,
               "StarPU was not served: the plugin was opened before libstarpu was loaded; open "
               "it afterwards, or with RTLD_GLOBAL, or use `starpool run`");
}
