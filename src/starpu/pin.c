/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Pinning. StarPU asks for it also where it would not do it, and looks at its own reasons only
 * after its malloc hook: they are looked at here. A pool registers its memory slab by slab, so
 * a program that pins a block of it asks for what is done. */
#include "config.h"

#include "src/starpu/pin.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include <starpool/pool.h>

#include "src/starpu/plugin.h"
#include "src/starpu/real.h"
#include "src/util/util.h"

#if HAVE_VALGRIND_MEMCHECK_H
#include <valgrind/valgrind.h>
#else
#define RUNNING_ON_VALGRIND 0
#endif

static struct {
    _Atomic uint64_t n_spared;
} pin;

/* As StarPU reads a number: what is not 0 disables. */
static bool is_disabled(void)
{
    const char *value = secure_getenv("STARPU_DISABLE_PINNING");

    return value != NULL && strtol(value, NULL, 10) != 0;
}

bool sp_pin_is_wanted(void)
{
    return sp_real.cuda_worker_get_count != NULL && sp_real.is_initialized() != 0 &&
           sp_real.cuda_worker_get_count() > 0 && !is_disabled() && RUNNING_ON_VALGRIND == 0;
}

/* The whole range lies in a live block of a pool that registers its memory. */
static bool is_registered(const void *ptr, size_t size)
{
    struct starpool_block_info info = {.struct_size = sizeof(info)};
    struct starpool_pool_config config = {.struct_size = sizeof(config)};
    size_t offset;

    if (!sp_plugin_is_active() || starpool_block_info(ptr, &info) != STARPOOL_OK ||
        info.pool == NULL || starpool_pool_get_config(info.pool, &config) != STARPOOL_OK)
        return false;
    offset = (size_t)((const char *)ptr - (const char *)info.base);
    return config.is_registered && size <= info.size - offset;
}

static bool is_spared(const void *ptr, size_t size)
{
    if (SP_UNLIKELY(!sp_plugin_is_active()))
        sp_plugin_wake();
    if (!is_registered(ptr, size))
        return false;
    atomic_fetch_add_explicit(&pin.n_spared, 1, memory_order_relaxed);
    return true;
}

uint64_t sp_pin_n_spared(void)
{
    return atomic_load_explicit(&pin.n_spared, memory_order_relaxed);
}

static int door_pin(void *ptr, size_t size)
{
    if (is_spared(ptr, size))
        return 0;
    return sp_real.memory_pin == NULL ? -ENODEV : sp_real.memory_pin(ptr, size);
}

static int door_unpin(void *ptr, size_t size)
{
    if (is_spared(ptr, size))
        return 0;
    return sp_real.memory_unpin == NULL ? -ENODEV : sp_real.memory_unpin(ptr, size);
}

/* As in doors.c. */
#define STANDS_FOR(function) STARPOOL_API __attribute__((alias(#function)))

STANDS_FOR(door_pin) int starpu_memory_pin(void *, size_t);
STANDS_FOR(door_unpin) int starpu_memory_unpin(void *, size_t);

static const struct sp_got_patch patches[] = {
    {"starpu_memory_pin", (void *)(uintptr_t)door_pin},
    {"starpu_memory_unpin", (void *)(uintptr_t)door_unpin},
};

const struct sp_got_patch *sp_pin_patches(size_t *n_out)
{
    *n_out = SP_ARRAY_SIZE(patches);
    return patches;
}
