/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The model's memory by address: what is mapped where, and mapping it. All of it is called with
 * the model's lock. */
#ifndef SP_MODEL_MEMORY_H
#define SP_MODEL_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/driver/driver.h"
#include "src/heap/order.h"
#include "src/heap/reuse.h"

struct sp_model_context;
struct sp_model_pool;
struct sp_model_stream;

enum sp_model_memory_kind {
    SP_MEMORY_DEVICE,     /* cuMemAlloc */
    SP_MEMORY_HOST,       /* cuMemHostAlloc, cuMemAllocHost */
    SP_MEMORY_REGISTERED, /* cuMemHostRegister */
    SP_MEMORY_MANAGED,    /* cuMemAllocManaged */
    SP_MEMORY_CHUNK,      /* a pool's; blocks are in pool->reuse */
    SP_MEMORY_IMPORTED,   /* a block of another process's pool */
    SP_MEMORY_OPENED,     /* cuIpcOpenMemHandle */
    SP_MEMORY_GRAPH,      /* addresses of a graph's allocations; see graph_memory.h */
};

/* A mapping that the model knows. Half-open: base <= address < base + size. */
struct sp_model_memory {
    uintptr_t base;
    size_t size;  /* [bytes] as mapped */
    size_t asked; /* [bytes] as asked for */
    enum sp_model_memory_kind kind;
    int device;                       /* or -1 */
    struct sp_model_context *context; /* NULL for what belongs to none */
    struct sp_model_pool *pool;       /* CHUNK, IMPORTED */
    struct sp_chunk chunk;            /* CHUNK */
    uint64_t offset; /* [bytes] IMPORTED, CHUNK of a shared pool: in its file */
    unsigned flags;
    bool is_going; /* somebody closes it, and waits for who still uses it */
    uint64_t id;   /* buffer id, unique for the life of the process */
    int file;      /* what it maps, or -1 */
};

/* The mapping around an address, or NULL. */
struct sp_model_memory *sp_model_memory_find(uintptr_t address);
bool sp_model_memory_add(struct sp_model_memory *memory);
void sp_model_memory_remove(struct sp_model_memory *memory);

/* Anonymous or (file >= 0) shared memory inside the device's own range of addresses, or
 * anywhere for device -1, where it is bound to the node (an OS index or SP_NODE_HOST) by numa/.
 * `offset` counts from the beginning of the file. NULL if there is none. The lock is given
 * meanwhile. */
void *sp_model_map(int device, int node, size_t size, int file, uint64_t offset);
void sp_model_unmap(void *base, size_t size, int device, int node);

/* Addresses alone, which nothing is mapped at yet, of a device or (-1) anywhere; NULL if there
 * are none. sp_model_unmap() gives them back. The lock is kept. */
void *sp_model_reserve(int device, size_t size);

/* Put memory there, which reads as 0; false without memory. Take it away again. */
bool sp_model_back(void *base, size_t size);
void sp_model_unback(void *base, size_t size);

/* Put a part of a file in the place of what is mapped there; false if that fails. */
bool sp_model_remap(void *base, size_t size, int file, uint64_t offset);

/* The device in whose own range of addresses an address is, mapped or not; else -1. */
int sp_model_device_of(uintptr_t address);

/* The host's own memory, which the driver does not know all of: it may change when a call is
 * over, and must not do so by itself afterwards. */
bool sp_model_memory_is_pageable(uintptr_t address, size_t size);

/* Memory that only devices use: the host must not touch it, and need not wait for what is done
 * there. */
bool sp_model_memory_is_device_only(uintptr_t address);

/* Whether a stream's copy is over when its call is, unless it is captured: what is not pinned
 * is written by way of memory of the driver's, and the host copies its own memory itself. */
bool sp_model_memory_is_awaited(uintptr_t target, size_t size, uintptr_t source);

/* The free of cuMemAlloc() memory in a stream's order, for cuMemFreeAsync(): INVALID_VALUE if
 * none begins there. */
sp_cu_result sp_model_plain_free_async(struct sp_model_stream *stream, uintptr_t address);

#endif /* SP_MODEL_MEMORY_H */
