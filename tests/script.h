/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A scripted backing: pools of memory that a test hands out or refuses as it likes, with a
 * journal of what was asked of it. Also the messages of a piece of code, as text. */
#ifndef SP_SCRIPT_H
#define SP_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>

#include <starpool/pool.h>

#include "src/pool/pool_ops.h"
#include "src/util/util.h"

/* True if the program was built with a sanitizer, whose run time has habits of its own. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SP_HAS_SANITIZER true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SP_HAS_SANITIZER true
#else
#define SP_HAS_SANITIZER false
#endif
#else
#define SP_HAS_SANITIZER false
#endif

/* What every scripted backing's pieces are cut from, each from an arena of its own. */
#define SP_SCRIPT_ARENA  (64 * SP_MIB)
#define SP_SCRIPT_PIECES 64

enum sp_script_call {
    SP_SCRIPT_GROW,   /* served */
    SP_SCRIPT_REFUSE, /* a growth that was not */
    SP_SCRIPT_SHRINK,
    SP_SCRIPT_DROP,
    SP_SCRIPT_DESTROY,
};

/* One entry of the journal that all backings share. */
struct sp_script_entry {
    const struct sp_script *script;
    enum sp_script_call call;
    size_t size; /* [bytes] GROW, REFUSE and SHRINK */
};

/* Guarded by the pool's growth lock; a test sets members while no other thread runs. */
struct sp_script {
    struct sp_backing backing; /* first */
    size_t granule;            /* [bytes] */
    size_t most;               /* [bytes] larger pieces are refused with `refusal` */
    unsigned n_refusals;       /* so many growths are refused with `refusal` */
    enum starpool_status refusal;
    bool is_scattered;  /* each piece is a region of its own, apart from the others */
    bool is_surprising; /* pieces come elsewhere than next_piece() says */
    uintptr_t arena;
    struct sp_region region; /* of pieces that may touch */
    size_t n_in_region;
    struct sp_piece pieces[SP_SCRIPT_PIECES]; /* `size` 0: not in use */
    struct sp_region own_regions[SP_SCRIPT_PIECES];
};

/* A backing that refuses nothing, with granules of 1 MiB, for one pool. */
void sp_script_init(struct sp_script *script);

/* Give the arena back; its pool is gone. */
void sp_script_fini(struct sp_script *script);

/* A pool on an initialised backing, of location HOST with the given maximum (0: none). */
struct starpool_pool *sp_script_pool(struct sp_script *script, uint64_t maximum);

/* Bytes that the backing has out. */
size_t sp_script_bytes(const struct sp_script *script);

/* Forget the journal; read it. Entries beyond its room are counted, and lost. */
void sp_script_clear(void);
size_t sp_script_n_entries(void);
const struct sp_script_entry *sp_script_entry(size_t index);

/* Catch what is written to stderr from here on. Nothing may be asserted until the end. */
void sp_script_stderr_begin(void);

/* What was written, as a string that stays until the next call; stderr is as before. */
const char *sp_script_stderr_end(void);

/* The file of this program, to be started again. */
const char *sp_script_self(void);

/* How often `needle`, not empty, stands in `text`. */
size_t sp_script_n_times(const char *text, const char *needle);

#endif /* SP_SCRIPT_H */
