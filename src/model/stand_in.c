/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Functions of the host that stand in for kernels, by the kernels' names. They are registered
 * by the program itself or by shared objects that an option names, and stay for the life of the
 * process. */
#include "config.h"

#include "src/model/kernels.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "src/model/private.h"
#include "src/util/options.h"
#include "src/util/util.h"

/* [bytes] Of all arguments together, as CUDA has it since 12.1. */
#define MAX_ARG_BYTES 32764

/* A kernel without a stand-in, which has been said. */
struct missing {
    struct missing *next;
    char name[];
};

/* Behind the model's lock, except what is done once. */
static struct {
    struct sp_model_stand_in *all;
    struct missing *missing;
    pthread_once_t once;
} stand_ins = {.once = PTHREAD_ONCE_INIT};

/* ---- registering --------------------------------------------------------------------- */

static bool are_sizes_valid(const size_t *sizes, size_t n)
{
    size_t left = MAX_ARG_BYTES;

    if (n > 0 && sizes == NULL)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (sizes[i] == 0 || sizes[i] > left)
            return false;
        left -= sizes[i];
    }
    return true;
}

enum starpool_status starpool_model_add_kernel(const char *name, const size_t *arg_sizes,
                                               size_t n_args, starpool_kernel_fn run)
{
    struct sp_model_stand_in *stand_in;

    if (name == NULL || name[0] == '\0' || run == NULL || !are_sizes_valid(arg_sizes, n_args))
        return STARPOOL_EINVAL;
    stand_in = malloc(sizeof(*stand_in) + n_args * sizeof(stand_in->sizes[0]));
    if (stand_in == NULL)
        return STARPOOL_ENOMEM;
    stand_in->name = strdup(name);
    if (stand_in->name == NULL) {
        free(stand_in);
        return STARPOOL_ENOMEM;
    }
    stand_in->run = run;
    stand_in->n_args = n_args;
    for (size_t i = 0; i < n_args; i++)
        stand_in->sizes[i] = arg_sizes[i];
    sp_lock_take(sp_model_lock());
    stand_in->next = stand_ins.all;
    stand_ins.all = stand_in;
    sp_lock_give(sp_model_lock());
    return STARPOOL_OK;
}

/* ---- loading ------------------------------------------------------------------------- */

static void load(const char *path)
{
    const char *reason;

    if (dlopen(path, RTLD_NOW | RTLD_LOCAL) != NULL)
        return;
    reason = dlerror();
    sp_log(SP_LOG_WARN, "STARPOOL_MODEL_KERNELS: %s", reason != NULL ? reason : path);
}

/* The objects are never closed: what they registered is called later. */
static void load_all(void)
{
    char *paths = strdup(sp_option(SP_OPTION_MODEL_KERNELS)->value), *rest = paths;
    const char *path;

    while (paths != NULL && (path = strsep(&rest, ":")) != NULL) {
        if (path[0] != '\0')
            load(path);
    }
    free(paths);
}

void sp_model_kernels_load(void)
{
    if (!sp_model_is_forked())
        pthread_once(&stand_ins.once, load_all);
}

/* ---- finding ------------------------------------------------------------------------- */

static bool is_said(const char *name)
{
    for (const struct missing *missing = stand_ins.missing; missing != NULL;
         missing = missing->next) {
        if (strcmp(missing->name, name) == 0)
            return true;
    }
    return false;
}

/* Without memory it is said again. */
static void say_missing(const char *name)
{
    size_t size = strlen(name) + 1;
    struct missing *missing;

    if (is_said(name))
        return;
    sp_log(SP_LOG_WARN,
           "the model has no stand-in for the kernel %s: register a function with "
           "starpool_model_add_kernel(), in the program or in a shared object that "
           "STARPOOL_MODEL_KERNELS names",
           name);
    missing = malloc(sizeof(*missing) + size);
    if (missing == NULL)
        return;
    memcpy(missing->name, name, size);
    missing->next = stand_ins.missing;
    stand_ins.missing = missing;
}

const struct sp_model_stand_in *sp_model_stand_in_find(const char *name)
{
    const struct sp_model_stand_in *stand_in = stand_ins.all;

    while (stand_in != NULL && strcmp(stand_in->name, name) != 0)
        stand_in = stand_in->next;
    if (stand_in == NULL)
        say_missing(name);
    return stand_in;
}
