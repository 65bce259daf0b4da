/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The driver's own entry points for programs that ask the runtime for them: those of the
 * libcuda.so.1 that lies beside this library. */
#include "config.h"

#include "src/sim/runtime.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { SYMBOL_FOUND = 0, SYMBOL_NOT_FOUND = 1 };

typedef sp_cu_result (*get_address_fn)(const char *symbol, void **function_out, int version,
                                       uint64_t flags, int *status_out);

/* NULL if there is no driver library. The one beside this library is asked, whatever the system
 * has under its name. */
static get_address_fn find_get_address(void)
{
    get_address_fn get_address = NULL;
    char path[PATH_MAX];
    const char *slash;
    Dl_info info;
    void *library;

    if (dladdr((const void *)(uintptr_t)sp_runtime_entry_point, &info) == 0)
        return NULL;
    slash = strrchr(info.dli_fname, '/');
    if (snprintf(path, sizeof(path), "%.*slibcuda.so.1",
                 slash == NULL ? 0 : (int)(slash + 1 - info.dli_fname),
                 info.dli_fname) >= (int)sizeof(path))
        return NULL;
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library != NULL)
        *(void **)&get_address = dlsym(library, "cuGetProcAddress_v2");
    return get_address;
}

int sp_runtime_entry_point(const char *symbol, void **function_out, unsigned version,
                           unsigned long long flags, int *status_out)
{
    get_address_fn get_address = find_get_address();
    int status = SYMBOL_NOT_FOUND;
    void *function = NULL;
    int result;

    if (symbol == NULL || function_out == NULL)
        return SP_CU_INVALID_VALUE;
    if (get_address == NULL)
        return SP_CU_NOT_SUPPORTED;
    result = get_address(symbol, &function, (int)version, flags, &status);
    if (result != SP_CU_SUCCESS && result != SP_CU_NOT_FOUND)
        return result;
    *function_out = function;
    if (status_out != NULL)
        *status_out = status;
    /* A name that is not there is an error only for those who cannot be told otherwise. */
    return status != SYMBOL_FOUND && status_out == NULL ? SP_CU_NOT_FOUND : SP_CU_SUCCESS;
}
