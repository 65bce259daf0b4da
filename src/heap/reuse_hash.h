/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The hash table of live blocks: chains of links. */
#ifndef SP_REUSE_HASH_H
#define SP_REUSE_HASH_H

#include "src/heap/reuse_impl.h"

/* The chain that an address is in. */
static inline struct sp_reuse_link *sp_reuse_hash_chain(const struct sp_reuse *reuse,
                                                        uintptr_t start)
{
    struct sp_reuse_link *chains = reuse->hash.items;

    /* Fibonacci hashing: the golden ratio spreads neighbours. */
    return &chains[(start >> reuse->unit_shift) * 0x9e3779b97f4a7c15 >> reuse->hash_shift];
}

static inline void sp_reuse_hash_add(struct sp_reuse *reuse, uint32_t ref)
{
    struct sp_reuse_range *range = sp_reuse_at(reuse, ref);
    struct sp_reuse_link *chain = sp_reuse_hash_chain(reuse, range->start);

    range->next_in_hash = *chain;
    *chain = (struct sp_reuse_link){ref, (uint32_t)(range->start >> reuse->unit_shift)};
}

/* A block that begins there will be added soon. */
static inline void sp_reuse_hash_prefetch(const struct sp_reuse *reuse, uintptr_t start)
{
    __builtin_prefetch(sp_reuse_hash_chain(reuse, start), 1);
}

/* The link to the live block that begins at `start`; NULL if there is none. */
static inline struct sp_reuse_link *sp_reuse_hash_find(const struct sp_reuse *reuse,
                                                       uintptr_t start)
{
    uint32_t units = (uint32_t)(start >> reuse->unit_shift);
    struct sp_reuse_link *link;

    if (SP_UNLIKELY(reuse->hash.items == NULL))
        return NULL;
    for (link = sp_reuse_hash_chain(reuse, start); link->ref != 0;
         link = &sp_reuse_at(reuse, link->ref)->next_in_hash) {
        if (link->units == units && SP_LIKELY(sp_reuse_at(reuse, link->ref)->start == start))
            return link;
    }
    return NULL;
}

#endif /* SP_REUSE_HASH_H */
