/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Counts refusals by node and size. StarPU retries a request that it lets a task wait for, for
 * ever, and tells nobody: the third refusal of a size is where that is said. Any other one the
 * caller sees at once, and so it is said at once. */
#include "config.h"

#include "src/starpu/refusals.h"

#include <stdatomic.h>
#include <stdio.h>
#include <sys/resource.h>

#include "src/pool/private.h"
#include "src/starpu/counters.h"
#include "src/util/diag.h"
#include "src/util/util.h"

/* Refusals of a size before a line is printed. */
#define PATIENCE 3

/* Sizes that are told apart on a node; what comes beyond is counted together. */
#define N_SIZES 16

/* size == 0: free, or the last row. A row's size never changes once it is set. */
struct row {
    _Atomic size_t size;
    _Atomic unsigned n;
    _Atomic bool has_told;
};

static struct {
    struct row rows[SP_MAX_STARPU_NODES][N_SIZES + 1];
    _Atomic bool has_told_overflow;
    _Atomic bool has_told_lock;
} refusals;

/* The row of a size on a node; the last one if there are too many sizes. */
static struct row *find_row(unsigned node, size_t size)
{
    struct row *rows = refusals.rows[node];
    unsigned i;

    for (i = 0; i < N_SIZES; i++) {
        size_t found = 0;

        if (atomic_compare_exchange_strong(&rows[i].size, &found, size) || found == size)
            return &rows[i];
    }
    return &rows[N_SIZES];
}

/* True if the refusal that has just been counted is to be told. */
static bool is_due(struct row *row, unsigned n, bool is_final)
{
    /* Which size of many is asked for again and again is not known: told ever more rarely. */
    if (atomic_load_explicit(&row->size, memory_order_relaxed) == 0)
        return n % PATIENCE == 0 && sp_is_power_of_two(n / PATIENCE);
    return (is_final || n >= PATIENCE) && !atomic_exchange(&row->has_told, true);
}

static const char *place_text(const struct sp_refusal *refusal, char *text, size_t text_size)
{
    if (refusal->place.kind == STARPOOL_HOST_NUMA)
        snprintf(text, text_size, "NUMA %d", refusal->place.id);
    else if (refusal->place.kind == STARPOOL_DEVICE)
        snprintf(text, text_size, "CUDA %d", refusal->place.id);
    else
        snprintf(text, text_size, "HOST");
    return text;
}

static const char *why_text(const struct sp_refusal *refusal, char *text, size_t text_size)
{
    if (refusal->pool == NULL)
        return starpool_status_text(refusal->status);
    return sp_pool_why(refusal->pool, refusal->size, refusal->status, text, text_size);
}

void sp_refusals_note(const struct sp_refusal *refusal)
{
    char place[32], bytes[32], times[48] = "", why[SP_WHY_SIZE];
    struct row *row;
    unsigned n;

    if (refusal->node >= SP_MAX_STARPU_NODES)
        return;
    row = find_row(refusal->node, refusal->size);
    n = atomic_fetch_add(&row->n, 1) + 1;
    if (!is_due(row, n, refusal->is_final))
        return;
    if (atomic_load_explicit(&row->size, memory_order_relaxed) == 0)
        snprintf(times, sizeof(times), " (refusal %u of many sizes)", n);
    else if (!refusal->is_final)
        snprintf(times, sizeof(times), " %u times, and will ask again", n);
    sp_log(SP_LOG_WARN, "StarPU node %u (%s) was refused %s%s: %s", refusal->node,
           place_text(refusal, place, sizeof(place)),
           sp_bytes_text(bytes, sizeof(bytes), refusal->size), times,
           why_text(refusal, why, sizeof(why)));
}

/* The limit of locked memory, for people. */
static const char *locked_limit_text(char *text, size_t text_size)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0)
        return "unknown";
    if (limit.rlim_cur == RLIM_INFINITY)
        return "none";
    return sp_bytes_text(text, text_size, limit.rlim_cur);
}

void sp_refusals_note_overflow(const struct sp_refusal *refusal, bool is_strict)
{
    char place[32], limit[32], why[SP_WHY_SIZE];

    if (refusal->status == STARPOOL_EMEMLOCK) {
        if (!atomic_exchange(&refusals.has_told_lock, true))
            sp_log(SP_LOG_WARN,
                   "locking was asked for, the limit is %s (ulimit -l): memory is served "
                   "unlocked",
                   locked_limit_text(limit, sizeof(limit)));
        return;
    }
    if (atomic_exchange(&refusals.has_told_overflow, true))
        return;
    sp_log(SP_LOG_WARN,
           "StarPU node %u (%s): what goes beyond its pool is served without limit and "
           "counted; %s: %s",
           refusal->node, place_text(refusal, place, sizeof(place)),
           is_strict ? "what StarPU's hooks ask for is never refused"
                     : "STARPOOL_NUMA_POLICY=strict refuses it",
           why_text(refusal, why, sizeof(why)));
}
