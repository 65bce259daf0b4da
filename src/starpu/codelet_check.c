/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A debugging aid. StarPU frees a device's memory when all the work on it that it knows of is
 * over, so a pool hands it out again at once; stock StarPU's cudaFree() waits for the whole
 * device, and hides codelets that leave work behind. What is freed is filled with a pattern,
 * and must have it still when it is handed out again. All the device's work is done in a stream
 * of its own, which the host waits for, without a lock. */
#include "config.h"

#include "src/starpu/codelet_check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <starpool/stats.h>

#include "src/starpu/codelet_ranges.h"
#include "src/starpu/codelet_work.h"
#include "src/starpu/counters.h"
#include "src/starpu/cuda.h"
#include "src/starpu/real.h"
#include "src/starpu/taskgraph_map.h"
#include "src/util/diag.h"
#include "src/util/options.h"
#include "src/util/util.h"

/* Codelets that are told apart, and complaints that are remembered. */
#define MAX_CODELETS   256
#define MAX_COMPLAINTS 256

bool sp_codelet_check_on;

/* The codelet of the task that this thread has taken up last. */
static __thread uint32_t fetching __attribute__((tls_model("initial-exec")));

static struct {
    pthread_mutex_t lock; /* of all but atomics */
    struct sp_freed_ranges freed;
    struct sp_tg_map live; /* a block's address -> the codelet that it was handed out for */
    char *names[MAX_CODELETS];
    uint32_t n_names;
    struct {
        uint32_t codelet;
        size_t size;
    } complaints[MAX_COMPLAINTS];
    unsigned n_complaints;
    _Atomic uint32_t recent[SP_MAX_DEVICES][SP_N_RECENT];
    _Atomic unsigned n_recent[SP_MAX_DEVICES];
    _Atomic uint64_t n_checked;
    _Atomic uint64_t n_changed;
} check = {.lock = PTHREAD_MUTEX_INITIALIZER};

void sp_codelet_check_start(void)
{
    const struct sp_option *backend = sp_option(SP_OPTION_DEVICE_BACKEND);

    sp_codelet_check_on = sp_option_number(SP_OPTION_CODELET_CHECK) != 0;
    if (sp_codelet_check_on && strcmp(backend->value, "slab") != 0)
        sp_log(SP_LOG_WARN,
               "STARPOOL_CODELET_CHECK looks at slabs only, and finds nothing with %s=%s",
               backend->name, backend->value);
}

uint64_t sp_codelet_check_n_checked(void)
{
    return atomic_load_explicit(&check.n_checked, memory_order_relaxed);
}

uint64_t sp_codelet_check_n_changed(void)
{
    return atomic_load_explicit(&check.n_changed, memory_order_relaxed);
}

/* ---- codelets ---------------------------------------------------------------------------- */

/* The number of a codelet by its name; 0 if there are too many. */
static uint32_t number_of(const char *name)
{
    uint32_t number = 0;
    uint32_t i;

    pthread_mutex_lock(&check.lock);
    for (i = 0; i < check.n_names && number == 0; i++) {
        if (strcmp(check.names[i], name) == 0)
            number = i + 1;
    }
    if (number == 0 && check.n_names < MAX_CODELETS) {
        check.names[check.n_names] = strdup(name);
        if (check.names[check.n_names] != NULL)
            number = ++check.n_names;
    }
    pthread_mutex_unlock(&check.lock);
    return number;
}

/* Names stay. */
static const char *name_of(uint32_t codelet)
{
    const char *name = "unknown";

    pthread_mutex_lock(&check.lock);
    if (codelet != 0)
        name = check.names[codelet - 1];
    pthread_mutex_unlock(&check.lock);
    return name;
}

/* StarPU calls it in the worker that is about to fetch the task's data. */
static void note_pop(void *arg)
{
    int worker = sp_real.worker_get_id == NULL ? -1 : sp_real.worker_get_id();
    int device;
    unsigned at;

    fetching = (uint32_t)(uintptr_t)arg;
    if (worker < 0 || sp_real.worker_get_type(worker) != STARPU_CUDA_WORKER)
        return;
    device = sp_real.worker_get_devid(worker);
    if (device < 0 || device >= SP_MAX_DEVICES)
        return;
    at = atomic_fetch_add_explicit(&check.n_recent[device], 1, memory_order_relaxed);
    atomic_store_explicit(&check.recent[device][at % SP_N_RECENT], fetching,
                          memory_order_relaxed);
}

void sp_codelet_check_submit(struct starpu_task *task)
{
    const char *name = sp_real.task_get_name == NULL ? NULL : sp_real.task_get_name(task);

    /* The call and its argument are the program's where it uses them. */
    if (name == NULL || task->cl == NULL || task->prologue_callback_pop_func != NULL ||
        task->prologue_callback_pop_arg != NULL || task->prologue_callback_pop_arg_free != 0)
        return;
    task->prologue_callback_pop_func = note_pop;
    task->prologue_callback_pop_arg = (void *)(uintptr_t)number_of(name);
}

static void fill_recent(int device, uint32_t recent[SP_N_RECENT])
{
    unsigned n = atomic_load_explicit(&check.n_recent[device], memory_order_relaxed);
    unsigned i;

    for (i = 0; i < SP_N_RECENT && i < n; i++)
        recent[i] = atomic_load_explicit(&check.recent[device][(n - 1 - i) % SP_N_RECENT],
                                         memory_order_relaxed);
}

/* ---- complaints -------------------------------------------------------------------------- */

/* True at the first one about blocks of that size for that codelet. */
static bool is_new(const struct sp_block_past *past)
{
    bool is_told = false;
    unsigned i;

    pthread_mutex_lock(&check.lock);
    for (i = 0; i < check.n_complaints && !is_told; i++)
        is_told = check.complaints[i].codelet == past->codelet &&
                  check.complaints[i].size == past->size;
    is_told |= check.n_complaints == MAX_COMPLAINTS;
    if (!is_told) {
        check.complaints[check.n_complaints].codelet = past->codelet;
        check.complaints[check.n_complaints].size = past->size;
        check.n_complaints++;
    }
    pthread_mutex_unlock(&check.lock);
    return !is_told;
}

static const char *recent_text(const struct sp_block_past *past, char *text, size_t text_size)
{
    size_t length = 0;
    unsigned i;

    snprintf(text, text_size, "none that is known");
    for (i = 0; i < SP_N_RECENT && past->recent[i] != 0 && length < text_size; i++)
        length += (size_t)snprintf(text + length, text_size - length, "%s%s",
                                   i == 0 ? "" : ", ", name_of(past->recent[i]));
    return text;
}

static void complain(const struct sp_freed_range *range, const struct sp_codelet_change *change)
{
    const struct sp_block_past *past = &range->past;
    char recent[256], size[32];

    atomic_fetch_add_explicit(&check.n_changed, 1, memory_order_relaxed);
    if (!is_new(past))
        return;
    sp_log(
        SP_LOG_ERROR,
        "device memory was used after StarPU had freed it: %zu bytes from offset %zu on have "
        "changed in what was a block of %s of StarPU node %u (CUDA %d), handed out for "
        "codelet %s; codelets that the device had last when it was freed: %s; one of them "
        "leaves work behind when its task is over",
        change->n_bytes, range->start - past->start + change->offset,
        sp_bytes_text(size, sizeof(size), past->size), past->node, past->device,
        name_of(past->codelet), recent_text(past, recent, sizeof(recent)));
}

/* ---- blocks ------------------------------------------------------------------------------ */

/* The block, if one of a pool of slabs begins there: what pools of the driver do with free
 * memory is the driver's affair. */
static bool find_block(unsigned node, const void *ptr, struct starpool_block_info *info)
{
    struct starpool_pool *pool =
        sp_cuda_is_node(node) ? sp_cuda_pool(node, sp_cuda_device_of(node)) : NULL;
    struct starpool_pool_config config = {.struct_size = sizeof(config)};

    *info = (struct starpool_block_info){.struct_size = sizeof(*info)};
    return pool != NULL && starpool_block_info(ptr, info) == STARPOOL_OK && info->base == ptr &&
           info->pool == pool && starpool_pool_get_config(pool, &config) == STARPOOL_OK &&
           config.backend == STARPOOL_BACKEND_SLAB;
}

/* Pieces that the pool has given back: what is found in others' memory says nothing. */
static uint64_t n_releases(struct starpool_pool *pool)
{
    struct starpool_stats stats = {.struct_size = sizeof(stats)};

    return starpool_pool_stats(pool, &stats) == STARPOOL_OK ? stats.n_releases : 0;
}

void sp_codelet_check_freed(unsigned node, void *ptr)
{
    struct starpool_block_info info;
    struct sp_block_past past;

    if (!find_block(node, ptr, &info))
        return;
    past = (struct sp_block_past){
        .start = (uintptr_t)ptr,
        .size = info.size,
        .node = node,
        .device = sp_cuda_device_of(node),
        .n_releases = n_releases(info.pool),
    };
    fill_recent(past.device, past.recent);
    if (!sp_codelet_work_fill(past.device, ptr, info.size))
        return;
    pthread_mutex_lock(&check.lock);
    past.codelet = sp_tg_map_get(&check.live, past.start);
    if (past.codelet == UINT32_MAX)
        past.codelet = 0;
    (void)sp_tg_map_set(&check.live, past.start, 0);
    (void)sp_freed_ranges_add(&check.freed, &past);
    pthread_mutex_unlock(&check.lock);
}

static void look_at(const struct sp_freed_range *range, uint64_t releases)
{
    struct sp_codelet_change change;

    if (range->past.n_releases != releases)
        return;
    atomic_fetch_add_explicit(&check.n_checked, 1, memory_order_relaxed);
    if (!sp_codelet_work_is_filled(range->past.device, (const void *)range->start,
                                   range->end - range->start, &change))
        complain(range, &change);
}

void sp_codelet_check_taken(unsigned node, void *ptr)
{
    struct starpool_block_info info;
    struct sp_freed_range range;
    uint64_t releases;
    bool is_found;

    if (!find_block(node, ptr, &info))
        return;
    releases = n_releases(info.pool);
    do {
        pthread_mutex_lock(&check.lock);
        is_found = sp_freed_ranges_take(&check.freed, (uintptr_t)ptr,
                                        (uintptr_t)ptr + info.size, &range);
        if (!is_found)
            (void)sp_tg_map_set(&check.live, (uintptr_t)ptr, fetching);
        pthread_mutex_unlock(&check.lock);
        if (is_found)
            look_at(&range, releases);
    } while (is_found);
}

void sp_codelet_check_forget(int device)
{
    if (!sp_codelet_check_on)
        return;
    pthread_mutex_lock(&check.lock);
    sp_freed_ranges_forget(&check.freed, device);
    pthread_mutex_unlock(&check.lock);
    sp_codelet_work_forget(device);
}
