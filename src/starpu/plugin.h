/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The life of the plugin: dormant until a shared libstarpu is there, then active or inert for
 * good. */
#ifndef SP_PLUGIN_H
#define SP_PLUGIN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

enum sp_phase {
    SP_DORMANT,   /* no shared libstarpu has been seen yet */
    SP_ATTACHING, /* a thread is at it; others treat the plugin as inert meanwhile */
    SP_ACTIVE,    /* the hooks are installed */
    SP_INERT,     /* another version of something, or another copy serves */
};

/* How calls of starpu_malloc_on_node_flags() reach the plugin. */
enum sp_mechanism {
    SP_MECHANISM_NONE,    /* they do not: the hooks alone serve */
    SP_MECHANISM_PRELOAD, /* LD_PRELOAD puts the plugin in front of libstarpu */
    SP_MECHANISM_LINK,    /* so does the order in which the program was linked */
    SP_MECHANISM_GOT,     /* the callers' global offset tables were patched */
};

/* Written by the thread that attaches, before `phase` becomes SP_ACTIVE, unless said otherwise.
 */
struct sp_plugin {
    _Atomic int phase;         /* an enum sp_phase */
    _Atomic bool is_detached;  /* serve no allocation for now; any thread */
    _Atomic bool was_detached; /* StarPU may hold blocks of plain malloc(); any thread, once */
    _Atomic pid_t starter;     /* the process whose StarPU is served, or that loaded the plugin:
                                  the one that speaks at its end */
    _Atomic bool was_started;  /* starpu_init() was seen; any thread */
    bool is_second;            /* inert because another copy of the plugin serves */
    enum sp_mechanism mechanism;
    int version[3]; /* libstarpu's */
    char why[160];  /* what stands in the way of a better mechanism; may be "" */
};

extern struct sp_plugin sp_plugin;

/* Attach if that has become possible: libstarpu may have come by dlopen. For every call that
 * finds the plugin not active. */
void sp_plugin_wake(void);

/* StarPU is being started: patch what has been loaded since, and note whose StarPU it is. */
void sp_plugin_note_init(void);

static inline bool sp_plugin_is_active(void)
{
    return atomic_load_explicit(&sp_plugin.phase, memory_order_acquire) == SP_ACTIVE;
}

static inline bool sp_plugin_is_serving(void)
{
    return sp_plugin_is_active() &&
           !atomic_load_explicit(&sp_plugin.is_detached, memory_order_relaxed);
}

/* "preload", "link", "got" or "none". */
const char *sp_plugin_mechanism_name(enum sp_mechanism mechanism);

#endif /* SP_PLUGIN_H */
