/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What has come through StarPU's doors, by node. Each thread counts for itself. */
#ifndef SP_COUNTERS_H
#define SP_COUNTERS_H

#include <stddef.h>
#include <stdint.h>

/* StarPU's nodes that are told apart; the largest build of StarPU has fewer host nodes. */
#define SP_MAX_STARPU_NODES 32

enum sp_counter {
    SP_N_INTERPOSER,     /* requests that came by the interposer */
    SP_N_HOOK,           /* requests that came by the malloc hook */
    SP_BYTES_INTERPOSER, /* [bytes] what those of them that were served asked for */
    SP_BYTES_HOOK,       /* [bytes] */
    SP_FREES_INTERPOSER, /* blocks of ours that came back */
    SP_FREES_HOOK,
    SP_N_REFUSALS,  /* requests that were not served */
    SP_N_OVERFLOWS, /* requests that the node's pool refused and the overflow pool served */
    SP_N_FOREIGN,   /* frees of memory that is not ours, left to whom it belongs */
    SP_N_KEPT,      /* frees in the hook whose origin is unknown: kept */
    SP_N_PASSED,    /* requests for memory that has no pool, left to StarPU */
    SP_N_WAITS,     /* times that a pool of the driver waited for its own, idle stream */
    SP_NS_WAITS,    /* [ns] what requests took that did */
    SP_N_COUNTERS
};

/* Add to a counter of a node (any number). Allocates the thread's counters at its first call;
 * sp_counters_add_quick() never does, for use under StarPU's spinlocks.
 * Threads: any, at once. */
void sp_counters_add(unsigned node, enum sp_counter counter, uint64_t n);
void sp_counters_add_quick(unsigned node, enum sp_counter counter, uint64_t n);

/* Count a request and its bytes. */
void sp_counters_add_served(unsigned node, enum sp_counter requests, enum sp_counter bytes,
                            uint64_t size);

/* The sum over threads; exact while none of them is counting. */
uint64_t sp_counters_sum(unsigned node, enum sp_counter counter);

#endif /* SP_COUNTERS_H */
