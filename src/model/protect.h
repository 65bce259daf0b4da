/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Device memory that the host cannot touch: what is mapped at the addresses that programs see
 * cannot be read or written there, and the model uses the same pages at a private alias. What
 * is freed there is filled, so that who still reads it finds no old data. */
#ifndef SP_MODEL_PROTECT_H
#define SP_MODEL_PROTECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <starpool/base.h>

#include "src/driver/driver.h"
#include "src/heap/order.h"

struct sp_model_block;
struct sp_model_stream;

/* Where the model reads and writes what is at an address: the alias if it is protected, else
 * the address itself. Threads: any, with or without the model's lock. */
STARPOOL_API void *sp_model_alias(uintptr_t address);

/* While a stand-in runs for a kernel, it uses its arguments at the addresses that programs see:
 * open the mapping around each, and close it again. Counted, so that kernels may run at once.
 * Addresses of anything else are let be. With the model's lock. */
void sp_model_expose(uintptr_t address);
void sp_model_conceal(uintptr_t address);

/* Everything below is called with the model's lock. */

/* ---- ranges and mappings (protect.c) ------------------------------------------------- */

/* As the configuration says: memory that is mapped from now on is protected, and the host's
 * accesses are explained before they end as they would without. Starting over ends both. */
void sp_model_protect_start(void);
void sp_model_protect_reset(void);

/* A device has got its range of addresses: aliases for it, if there is protection. False if
 * there are none. And it has lost it. */
bool sp_model_protect_open(int device, uintptr_t base, size_t size);
void sp_model_protect_close(int device);

/* Whether an address is in a range that has aliases. Threads: any, without the lock. */
bool sp_model_protect_has(uintptr_t address);

/* The device of that range, or -1. Threads: any, without the lock. */
int sp_model_protect_device(uintptr_t address);

/* Map memory there, and for the model at its alias: a new file of its own, or (file >= 0) a
 * part of that one. False without memory. */
bool sp_model_protect_map(uintptr_t base, size_t size, int file, uint64_t offset);

/* Managed memory is the host's, too: it is mapped there, and open from now on. */
void sp_model_protect_share(uintptr_t base, size_t size);

/* ---- what has been freed (protect_freed.c) ------------------------------------------- */

/* Memory of a device that has been freed, for who asks what was at an address. */
struct sp_model_freed {
    uintptr_t start;
    size_t size;
    uint64_t id; /* buffer id */
    bool is_pooled;
    struct sp_point at; /* the free */
};

/* A block is freed at a point, of a pool or plain. Without memory it is forgotten. */
void sp_model_freed_add(uintptr_t start, size_t size, uint64_t id, bool is_pooled,
                        struct sp_point at);

/* The latest that was freed around an address, or NULL. */
const struct sp_model_freed *sp_model_freed_find(uintptr_t address);

/* Widen a range by all that is freed around an address and whose free has not executed. */
void sp_model_freed_widen(uintptr_t address, uintptr_t *first, uintptr_t *end);

void sp_model_freed_reset(void);

/* ---- accesses by the host (protect_fault.c) ------------------------------------------ */

/* Explain accesses of the host from now on, and no more. */
void sp_model_fault_watch(void);
void sp_model_fault_unwatch(void);

/* Any thread, without the lock: a stand-in runs in the calling thread, or has ended. */
void sp_model_fault_in_kernel(bool is_in_kernel);

/* ---- poison (poison.c) --------------------------------------------------------------- */

#define SP_MODEL_POISON 0xdd

/*
 * Poison costs a free as much as a memset of the block, in the thread that executes the free,
 * and a fresh allocation one of SP_MODEL_POISON_FRESH bytes at most. It is on with protection,
 * and with CHECKS=2.
 */
#define SP_MODEL_POISON_FRESH ((size_t)1 << 20)

/* Memory of a device that nothing has been written to yet: its beginning is filled, if poison
 * is on. */
void sp_model_poison_fresh(uintptr_t start, size_t size);

/* The block is freed now, in no stream's order, and all its uses have executed: it is filled,
 * if poison is on. */
void sp_model_poison_now(uintptr_t start, size_t size);

/* The stream's next operation frees a block that was allocated at `alloc`: the block is filled
 * when that executes, if poison is on and the order keeps the allocation and all uses before
 * it. Who gets the memory next comes after the free, and so after that. OUT_OF_MEMORY. */
sp_cu_result sp_model_submit_free(struct sp_model_stream *stream,
                                  const struct sp_model_block *block, struct sp_point alloc,
                                  uintptr_t start, size_t size, struct sp_point *at_out);

#endif /* SP_MODEL_PROTECT_H */
