/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The objects that are loaded, and their global offset tables: how a plugin that came too late
 * to stand in front of libstarpu still gets its calls. */
#ifndef SP_GOT_H
#define SP_GOT_H

#include <stdbool.h>
#include <stddef.h>

/* A function by name, and what its calls are to reach instead. */
struct sp_got_patch {
    const char *name;
    void *function;
};

struct sp_got_result {
    unsigned n_patched; /* slots that hold the new function now */
    unsigned n_failed;  /* slots whose page could not be made writable */
};

/* True if an address is in the plugin's own object. */
bool sp_got_is_own(const void *address);

/* The path of the shared libstarpu that is loaded, or NULL. Valid until the next call. */
const char *sp_got_find_starpu(void);

/* True if the plugin was loaded before libstarpu. */
bool sp_got_is_before_starpu(void);

/* The function `name` of the first library that is loaded whose file's name begins with
 * `library`; NULL if there is none, or it is the plugin's own. */
void *sp_got_find_in(const char *library, const char *name);

/* True if libstarpu calls `name` through a slot, so that the call can be reached at all. */
bool sp_got_starpu_has_slot(const char *name);

/*
 * Let every slot for one of the `n_patches` names, in every object but the system's and our
 * own, hold the new function. Idempotent. Threads: one at a time; others may be calling.
 */
struct sp_got_result sp_got_apply(const struct sp_got_patch *patches, size_t n_patches);

#endif /* SP_GOT_H */
