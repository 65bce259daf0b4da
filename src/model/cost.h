/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How long things take: on the virtual clock, and really if that is wanted. All of it is called
 * with the model's lock. */
#ifndef SP_MODEL_COST_H
#define SP_MODEL_COST_H

#include <stddef.h>
#include <stdint.h>

#include "src/model/model.h"

struct sp_model_op;

/* What calls of the host itself cost. */
enum sp_model_call_cost {
    SP_COST_DEVICE_ALLOC, /* cuMemAlloc(), cuMemAllocManaged() */
    SP_COST_DEVICE_FREE,  /* cuMemFree() of such memory, but for waiting */
    SP_COST_PINNING,      /* of `bytes`: cuMemHostAlloc(), cuMemHostRegister() */
};

/* The host spends the time of a call: what it queues afterwards begins later. With delays it
 * really does, and the lock is given meanwhile. */
void sp_model_spend(enum sp_model_call_cost cost, size_t bytes);

/* The stream's next operation uses memory at an address. */
void sp_model_cost_use(struct sp_model_stream *stream, uintptr_t address);

/* With delays: an operation begins, and then it has been carried out but its time is not over:
 * wait for that, with the lock given meanwhile. Not where calls of the program execute it. */
void sp_model_delay_begin(struct sp_model_stream *stream, const struct sp_model_op *op);
void sp_model_delay_end(const struct sp_model_stream *stream, const struct sp_model_op *op);

/* When an operation is queued, on the system's clock; 0 without delays. */
uint64_t sp_model_delay_now(void);

#endif /* SP_MODEL_COST_H */
