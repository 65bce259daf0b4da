/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Live blocks that are out of their users' hands: they are given back, or live again. */
#ifndef SP_CLAIM_H
#define SP_CLAIM_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <starpool/base.h>

#include "src/pool/streams.h"

struct sp_driver_block;
struct starpool_pool;

/* A block of the store has a range, one of the driver a block; one in the order of streams has
 * neither, and stays live to its engine. Its pool stays as long as it. */
struct sp_claim {
    struct starpool_pool *pool;
    void *ptr;
    size_t size;
    struct sp_range *range;
    struct sp_driver_block *block;
    uint64_t n_resets; /* of the pool's device when it was taken */
    /* What must be over before it is given back, of one that its user has freed (late.c). */
    bool is_counted;       /* in the pool's bytes that are held for graphs */
    struct sp_point after; /* slot SP_SLOT_HOST: nothing */
    bool is_captured;      /* it was freed in a capture of `stream`, which must have ended */
    starpool_stream stream;
    pthread_t thread; /* that freed it then: some handles mean each thread's own stream */
    struct sp_claim *next;
    struct sp_claim *more; /* that wait for the end of the same capture */
};

/* Take a live block. EINVAL: no live block begins there, or another has it; ENOMEM. A block in
 * the order of streams may be taken twice. */
STARPOOL_CHECK enum starpool_status sp_claim_take(void *ptr, struct sp_claim **claim_out);

/* Its user has it again. The claim is no more. */
void sp_claim_return(struct sp_claim *claim);

/* Nothing uses it any more, and it is free. False, and the claim as it was, if the driver
 * refuses. */
bool sp_claim_free(struct sp_claim *claim);

/* ---- later (late.c) ---------------------------------------------------------------------- */

/* Free it, once what must be over is over. */
void sp_late_add(struct sp_claim *claim);

/* The same for a block that a thread has freed in a capture of a stream, which must have ended;
 * it is counted as held. */
void sp_late_add_captured(struct sp_claim *claim, starpool_stream stream, pthread_t thread);

/* Free what can be freed by now. No lock is held. */
void sp_late_settle(void);

/* Whether anything waits; read without a lock. */
bool sp_late_is_any(void);

void sp_late_freeze(void);
void sp_late_thaw(void);

#endif /* SP_CLAIM_H */
