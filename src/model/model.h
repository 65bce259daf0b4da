/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The CPU model of the CUDA driver from the inside. All of its state is behind one lock, which
 * is given while an operation runs. The order of streams is src/heap/order's, the pools are
 * src/heap/reuse's; here are the driver's words around them. */
#ifndef SP_MODEL_H
#define SP_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <starpool/base.h>
#include <starpool/model.h>

#include "src/driver/driver.h"
#include "src/heap/order.h"
#include "src/heap/reuse.h"
#include "src/model/memory.h"
#include "src/model/races.h"
#include "src/model/streams.h"

#define SP_MODEL_MAX_DEVICES 16

struct sp_model_pool;
struct sp_model_stream;

/* ---- the whole (model.c) ------------------------------------------------------------- */

/* The table of the model. Always the same. */
STARPOOL_API const struct sp_driver *sp_model_driver(void);

/* As if the process had just started: streams are drained and their threads ended, everything
 * is released, configuration and switches are read again. For tests; no other thread is in a
 * call. */
STARPOOL_API void sp_model_reset(void);

/* True if starpool_model_configure() has made the model the process's driver. */
STARPOOL_API bool sp_model_is_chosen(void);

/* The process has chosen its driver, whichever: from now on starpool_model_configure() refuses.
 */
STARPOOL_API void sp_model_seal(void);

/* Every entry point begins with this and, unless the answer is success, ends with it at once:
 * forked children, cuInit() missing, calls from within host functions, faults on demand, sticky
 * errors. It takes the lock; sp_model_leave() gives it and passes the result on. Entry points
 * that work before cuInit() say so. */
sp_cu_result sp_model_enter(int call, bool needs_init);
sp_cu_result sp_model_leave(sp_cu_result result);
#define SP_MODEL_ENTER(call)                                         \
    do {                                                             \
        sp_cu_result entered = sp_model_enter(SP_CALL_##call, true); \
        if (entered != SP_CU_SUCCESS)                                \
            return entered; /* the lock is not held */               \
    } while (0)

/* With the lock: give it, wait until something has executed or `ns` have passed, take it. */
void sp_model_wait_progress(uint64_t ns);

/* The one order of all streams of the model. */
struct sp_order *sp_model_order(void);

/* ---- switches and faults (switches.c) ------------------------------------------------ */

/* Every driver-dependent rule: X(NAME, RULE, VALUES, TEXT); the first value is the default. */
enum sp_model_switch_id {
#define X(name, rule, values, text) SP_SWITCH_##name,
#include "src/model/switches.def"
#undef X
    SP_N_SWITCHES
};

/* The index of the switch's value in its list. */
unsigned sp_model_switch(enum sp_model_switch_id id);

/* The number of the IMEX channel if the switch `imex` is channel=N, else -1. */
int sp_model_imex_channel(void);

/* With the lock: the fault that is due at this call of an entry point, or success. */
sp_cu_result sp_model_fault_at(int call);

/* Something undefined was done: the first few are said, all are counted, the first is kept in
 * words. */
void sp_model_violation(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- devices and contexts (device.c, context.c) -------------------------------------- */

/* Its address is its handle, which is not used again. */
struct sp_model_context {
    int device;
    bool is_primary, is_alive;
    unsigned n_retains; /* of a primary context */
    unsigned flags;
    struct sp_model_stream *legacy;  /* its default stream; made at the first use */
    struct sp_model_stream *gate;    /* has what new streams wait for; NULL: nothing */
    uint32_t peers;                  /* bit d: access to device d enabled */
    sp_cu_result fault;              /* an asynchronous error, reported by later calls */
    struct sp_model_stream *streams; /* that have not ended */
    struct sp_clock ended;           /* where streams ended that the host has not seen end */
    unsigned n_drops;                /* how often all of its streams have gone */
    uint64_t id;                     /* unique for the life of the process */
    size_t limits[SP_CU_N_LIMITS];   /* SP_CU_LIMIT_...; kept, and of no effect */
    int cache_config;                /* SP_CU_CACHE_...; the same */
    struct sp_model_context *next;
};

int sp_model_n_devices(void);
bool sp_model_is_device(int device);
bool sp_model_can_access_peer(int device, int peer);

/* The memory of a device is counted, and reserved addresses are its own. `bytes` are taken or
 * given back; false if there is no room. */
bool sp_model_device_take(int device, size_t bytes);
void sp_model_device_give(int device, size_t bytes);
size_t sp_model_device_free(int device);

/* With the lock: the current context of this thread, or NULL. */
struct sp_model_context *sp_model_current(void);

/* ---- pools (mempool.c, mempool_attr.c, access.c, ipc.c) ------------------------------ */

/* As sp_model_use() below, for who knows what the operation does there. */
sp_cu_result sp_model_use_as(struct sp_model_stream *stream, struct sp_point at,
                             uintptr_t address, size_t size, enum sp_model_use_kind kind);

/*
 * Accesses of stream operations to pool memory: [address, address + size) is used by operation
 * `at` of `stream`. Violations (not allocated, freed, not ordered after the allocation) are
 * said here; the use is kept for the check of the free. Called by every copy and memset, before
 * it is queued. INVALID_VALUE if part of the range is in no mapping and `address` is in one or
 * in a device's range of addresses; other addresses are the host's own and are let through.
 * What the operation does there is not known, as of a kernel's arguments: see
 * src/model/races.h.
 */
sp_cu_result sp_model_use(struct sp_model_stream *stream, struct sp_point at, uintptr_t address,
                          size_t size);

/* What sp_model_use() would answer. Nothing is said or kept. */
sp_cu_result sp_model_can_use(const struct sp_model_stream *stream, uintptr_t address,
                              size_t size);

/* The host has waited: thresholds release memory, destroyed pools go. */
void sp_model_pools_seen(void);

/* The host has asked and been told that something is over: only destroyed pools go, unless the
 * switch query_releases says more. */
void sp_model_pools_queried(void);

/* Give back pool memory that nobody uses so that `bytes` of a device get free; true if any was.
 */
bool sp_model_pools_reclaim(int device, size_t bytes);

/* A pool's block freed by cuMemFree(): at once, in no stream's order. INVALID_VALUE if none
 * begins there. */
sp_cu_result sp_model_pool_free_now(uintptr_t address);

/* The live block of a pool, or the imported one, around an address, as cuMemGetAddressRange()
 * reports it (the switch address_range); false if there is none. */
bool sp_model_pool_range(uintptr_t address, uintptr_t *base_out, size_t *size_out);

void sp_model_pools_reset(void);

/* Every row of calls.def: sp_model_cuMemAllocAsync() and so on. */
#define X(name, symbol, version, parameters) sp_cu_result sp_model_##name parameters;
#include "src/driver/calls.def"
#undef X

#endif /* SP_MODEL_H */
