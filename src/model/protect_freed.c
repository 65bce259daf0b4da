/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What was where on the devices and has been freed: all whose free has not executed, and the
 * last ones before. Kept only with protection. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/model/mempool.h"
#include "src/model/private.h"
#include "src/model/protect.h"
#include "src/util/util.h"

/* So many are kept though their free has executed. */
#define N_KEPT ((size_t)64)

/* Behind the model's lock. */
static struct {
    struct sp_model_freed *all; /* [n] the oldest first */
    size_t n, room;
} freed;

/* Leave out those whose free has executed, but for the last ones. */
static void compact(void)
{
    size_t n = 0;

    for (size_t i = 0; i < freed.n; i++) {
        if (i + N_KEPT >= freed.n || !sp_model_point_has_run(freed.all[i].at))
            freed.all[n++] = freed.all[i];
    }
    freed.n = n;
}

static bool make_room(void)
{
    size_t room = freed.room == 0 ? 4 * N_KEPT : 2 * freed.room;
    struct sp_model_freed *all;

    if (freed.n < freed.room)
        return true;
    compact();
    if (freed.n <= freed.room / 2 && freed.room > 0)
        return true;
    all = realloc(freed.all, room * sizeof(*all));
    if (all == NULL)
        return freed.n < freed.room;
    freed.all = all;
    freed.room = room;
    return true;
}

void sp_model_freed_add(uintptr_t start, size_t size, uint64_t id, bool is_pooled,
                        struct sp_point at)
{
    if (!sp_model_protect_has(start) || !make_room())
        return;
    freed.all[freed.n++] = (struct sp_model_freed){start, size, id, is_pooled, at};
}

const struct sp_model_freed *sp_model_freed_find(uintptr_t address)
{
    for (size_t i = freed.n; i-- > 0;) {
        if (address - freed.all[i].start < freed.all[i].size)
            return &freed.all[i];
    }
    return NULL;
}

void sp_model_freed_widen(uintptr_t address, uintptr_t *first, uintptr_t *end)
{
    for (size_t i = 0; i < freed.n; i++) {
        const struct sp_model_freed *one = &freed.all[i];

        if (address - one->start >= one->size || sp_model_point_has_run(one->at))
            continue;
        *first = sp_min(*first, one->start);
        *end = sp_max(*end, one->start + one->size);
    }
}

void sp_model_freed_reset(void)
{
    free(freed.all);
    memset(&freed, 0, sizeof(freed));
}
