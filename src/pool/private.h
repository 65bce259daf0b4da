/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the plugin and the command need beyond the public API: exported in the version node
 * STARPOOL_PRIVATE, without any promise; both check that the builds are the same. */
#ifndef SP_PRIVATE_H
#define SP_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <starpool/base.h>
#include <starpool/pool.h>

#include "src/pool/why.h"
#include "src/util/json.h"

/* The exact version this library was built as. */
STARPOOL_API const char *sp_build_version(void);

enum sp_free_result {
    SP_FREED,
    SP_FREE_FOREIGN, /* not in any pool's memory */
    SP_FREE_WRONG,   /* in a pool's memory, but no live block begins there; logged */
};

/* Free a block if it is one. Makes no system call, but to say that it is wrong. */
STARPOOL_API enum sp_free_result sp_free_if_ours(void *ptr);

/* starpool_alloc() at a multiple of `align`, a power of two; 0: the default. Size 0 is served
 * as 1. */
STARPOOL_API STARPOOL_CHECK enum starpool_status
sp_alloc_aligned(struct starpool_pool *pool, size_t size, size_t align, void **ptr_out);

/* Make a pool one that cannot be destroyed, and that says of refusals only to those who listen
 * (STARPOOL_LOG=info), because its user says it. */
STARPOOL_API void sp_pool_make_permanent(struct starpool_pool *pool);

/* A device was reset, as by cudaDeviceReset(), and not used again yet: what pools of ours had
 * on it is gone, so that the first free of a block of before comes to nothing; memory of the
 * host that was registered there is registered again. */
STARPOOL_API void sp_pool_forget_device(int device);

/* True for the first caller in this process: one plugin serves StarPU. */
STARPOOL_API bool sp_claim_starpu(void);

/* One pool in a report. */
STARPOOL_API void sp_report_pool_text(FILE *out, struct starpool_pool *pool);
STARPOOL_API void sp_report_pool_json(struct sp_json *json, struct starpool_pool *pool);

/* Put STARPOOL_ID_NEAREST into numbers; refuse what there is not. */
enum starpool_status sp_location_resolve(struct starpool_location *location,
                                         enum starpool_memory memory);

/* True if only the driver has pools of that kind, but for those on the CPU in its place. */
bool sp_location_needs_driver(struct starpool_location location, enum starpool_memory memory);

#endif /* SP_PRIVATE_H */
