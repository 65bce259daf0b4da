/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Counts refusals by node and size. StarPU retries a request for host memory for ever and tells
 * nobody: the third refusal of a size is where that is said. */
#include "config.h"

#include "src/starpu/refusals.h"

#include <stdatomic.h>
#include <stdio.h>

#include "src/pool/private.h"
#include "src/starpu/counters.h"
#include "src/util/diag.h"

/* Refusals of a size before a line is printed. */
#define PATIENCE 3

/* Sizes that are told apart on a node; what comes beyond is not counted. */
#define N_SIZES 16

/* size == 0: free. A row's size never changes once it is set. */
struct row {
    _Atomic size_t size;
    _Atomic unsigned n;
};

static struct {
    struct row rows[SP_MAX_STARPU_NODES][N_SIZES];
} refusals;

/* The row of a size on a node, or NULL if there are too many sizes. */
static struct row *find_row(unsigned node, size_t size)
{
    unsigned i;

    for (i = 0; i < N_SIZES; i++) {
        struct row *row = &refusals.rows[node][i];
        size_t found = 0;

        if (atomic_compare_exchange_strong(&row->size, &found, size) || found == size)
            return row;
    }
    return NULL;
}

void sp_refusals_note(unsigned node, int numa, size_t size, enum starpool_status status,
                      struct starpool_pool *pool)
{
    struct row *row = node < SP_MAX_STARPU_NODES ? find_row(node, size) : NULL;
    char place[32] = "HOST";
    char bytes[32];
    char why[SP_WHY_SIZE] = "";

    if (row == NULL || atomic_fetch_add(&row->n, 1) + 1 != PATIENCE)
        return;
    if (numa >= 0)
        snprintf(place, sizeof(place), "NUMA %d", numa);
    if (pool != NULL)
        sp_pool_why(pool, size, status, why, sizeof(why));
    else
        snprintf(why, sizeof(why), "%s", starpool_status_text(status));
    sp_log(SP_LOG_WARN, "StarPU node %u (%s) was refused %s %d times, and will ask again: %s",
           node, place, sp_bytes_text(bytes, sizeof(bytes), size), PATIENCE, why);
}
