/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds StarPU's functions: the next definition after the plugin's own, or else the one in the
 * libstarpu that is loaded, wherever it is. A slot of a global offset table is never taken for
 * a function: while it is bound lazily, a call through it would write the slot anew. */
#include "config.h"

#include "src/starpu/real.h"

#include <dlfcn.h>
#include <stddef.h>

#include "src/starpu/got.h"

struct sp_real sp_real;

static const struct {
    const char *name;
    size_t offset; /* in struct sp_real */
    bool is_needed;
} functions[] = {
#define FUNCTION(name, result, parameters, needed) \
    {"starpu_" #name, offsetof(struct sp_real, name), needed},
    SP_REAL_MAP(FUNCTION)
#undef FUNCTION
};

static void *find(void *libstarpu, const char *name)
{
    void *function = dlsym(RTLD_NEXT, name);

    /* A library that was opened with dlopen has no next one. */
    if (function == NULL)
        function = dlsym(libstarpu, name);
    if (function == NULL)
        function = dlsym(RTLD_DEFAULT, name);
    return sp_got_is_own(function) ? NULL : function;
}

bool sp_real_load(const char **missing_out)
{
    const char *path = sp_got_find_starpu();
    struct sp_real found = {0};
    void *libstarpu;
    size_t i;

    *missing_out = NULL;
    if (path == NULL)
        return false;
    /* The handle is kept: our hooks must not outlive the library that they are set in. */
    libstarpu = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    if (libstarpu == NULL)
        return false;
    for (i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        void *function = find(libstarpu, functions[i].name);

        if (function == NULL && functions[i].is_needed)
            *missing_out = functions[i].name;
        *(void **)((char *)&found + functions[i].offset) = function;
    }
    /* What there is serves to pass calls through, also when something is missing. */
    sp_real = found;
    return *missing_out == NULL;
}
