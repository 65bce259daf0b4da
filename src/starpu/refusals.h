/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Requests that a node's pool did not serve: said where it matters, and not every time. */
#ifndef SP_REFUSALS_H
#define SP_REFUSALS_H

#include <stdbool.h>
#include <stddef.h>

#include <starpool/pool.h>

/* A request that the pool of a StarPU node has refused. */
struct sp_refusal {
    unsigned node; /* StarPU's number */
    struct starpool_location place;
    size_t size;   /* [bytes] */
    bool is_final; /* StarPU tells the caller at once, and does not ask again */
    enum starpool_status status;
    struct starpool_pool *pool; /* the one that refused; NULL if there is none */
};

/*
 * Note a request that nothing served. One line says which node, the size, who holds the bytes
 * and what would help: at the first one of a size if it is final, else at the third, since
 * StarPU asks again for ever. Threads: any, at once.
 */
void sp_refusals_note(const struct sp_refusal *refusal);

/*
 * Note a request that the overflow pool served instead. The first one prints a line, and so
 * does the first one because of the limit of locked memory. `is_strict`: the policy would
 * refuse, were it not for the door. Threads: any, at once.
 */
void sp_refusals_note_overflow(const struct sp_refusal *refusal, bool is_strict);

#endif /* SP_REFUSALS_H */
