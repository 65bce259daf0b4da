/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Blocks of pools: what is known of them beyond what the heap knows, and those of other
 * processes' pools. Everything here is called with the model's lock. */
#ifndef SP_BLOCKS_H
#define SP_BLOCKS_H

#include "src/model/model.h"

/* ---- records of blocks, and their uses (uses.c) -------------------------------------- */

/* What is known of a live block beyond what the heap knows: the heap's cookie of it. */
struct sp_model_block {
    size_t asked;         /* [bytes] as asked for */
    uint64_t id;          /* buffer id, unique for the life of the process */
    struct sp_clock uses; /* the last operation of each stream that used it; not sorted */
    struct sp_model_block *next, **link; /* in the pool's list, if `link` is not NULL */
};

/* A record; NULL without memory. */
struct sp_model_block *sp_model_block_new(size_t asked);
void sp_model_block_delete(struct sp_model_block *block);
void sp_model_block_join(struct sp_model_block *block, struct sp_model_pool *pool);

/* Sets of uses. Without memory a use is forgotten: checks find less. */
void sp_model_uses_add(struct sp_clock *uses, struct sp_point at);
void sp_model_uses_merge(struct sp_clock *uses, const struct sp_clock *from);
bool sp_model_uses_have_run(const struct sp_clock *uses);

/* A block is freed at the next operation of a stream: say what is not ordered before it. False
 * if anything was said. */
bool sp_model_block_check_free(const struct sp_model_block *block, struct sp_point alloc,
                               uintptr_t start, const struct sp_model_stream *stream);

/* The same for a free in no stream's order: say what has not executed. */
bool sp_model_block_check_free_now(const struct sp_model_block *block, struct sp_point alloc,
                                   uintptr_t start);

/* ---- memory that goes late (mempool_list.c) ------------------------------------------ */

/* Memory that goes once its free has executed, and all that uses it, in whatever order.
 * Embedded.
 */
struct sp_model_late_free {
    struct sp_point at;
    const struct sp_clock *uses;
    const struct sp_model_memory *memory; /* mapped until then, and in no table; or NULL */
    void (*run)(struct sp_model_late_free *late); /* releases it, `late` included */
    struct sp_model_late_free *next;
};

void sp_model_late_free_add(struct sp_model_late_free *late);

/* The memory around an address that is to go late; NULL if there is none. */
const struct sp_model_memory *sp_model_late_find(uintptr_t address);

/* Those whose time has come go now. */
void sp_model_late_frees_run(void);

/* ---- imported blocks (ipc_pointer.c) ------------------------------------------------- */

/* A block of an imported pool. memory.base is where the block begins, in the first of its
 * pages. */
struct sp_model_import {
    struct sp_model_memory memory;
    struct sp_model_late_free late;
    struct sp_model_pool *pool;
    struct sp_model_block *block;
    int device, node;   /* where it is mapped */
    unsigned n_imports; /* frees that it takes until it goes */
    struct sp_model_import *next;
};

/* The imported block that begins at an address; NULL if none does. */
struct sp_model_import *sp_model_import_find(uintptr_t start);

/* A free of an imported block at `at`: the last one takes it out of its pool, and it is
 * unmapped once that has executed. */
void sp_model_import_put(struct sp_model_import *import, struct sp_point at);

/* The same, however many frees are missing. */
void sp_model_import_drop(struct sp_model_import *import, struct sp_point at);

#endif /* SP_BLOCKS_H */
