/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where the StarPU plugin and the simulated CUDA libraries are, and how a program gets them. */
#ifndef SP_PRELOAD_H
#define SP_PRELOAD_H

#include <limits.h>
#include <stdbool.h>

/* One plugin: a file, and the StarPU that it was built for. */
struct sp_preload {
    char path[PATH_MAX];
    char flavour[64];     /* such as "starpu-1.3" */
    char probe[PATH_MAX]; /* the program that asks StarPU; "" if it is not installed */
};

/*
 * Find the plugin of a flavour; NULL is the one that stands for itself. In a build folder that
 * is the plugin just built, else the installed one. False if there is none.
 */
bool sp_preload_find(const char *flavour, struct sp_preload *plugin);

/* Find the folder of the libraries that simulate a version of CUDA, 11 to 13; `folder` has room
 * for PATH_MAX bytes. False if there is none. */
bool sp_preload_find_cuda(unsigned version, char *folder);

/* True if this starpool was built with a plugin; one that cannot be found is not installed. */
bool sp_preload_is_built(void);

/*
 * The value for LD_PRELOAD: `first`, unless it is "", then the plugin, then what is in the
 * environment already. NULL if one of the two paths cannot stand there, because the loader
 * takes a space or a colon for an end, or if there is no memory; the caller's to free()
 * otherwise.
 */
char *sp_preload_value(const struct sp_preload *plugin, const char *first);

#endif /* SP_PRELOAD_H */
