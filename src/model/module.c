/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Modules, libraries, and the kernels that programs look up in them. An image is code for a
 * device and is not looked at: a kernel is there if a function of the host stands in for it,
 * and variables are not there. */
#include "config.h"

#include <stdlib.h>
#include <unistd.h>

#include "src/model/kernels.h"
#include "src/model/nodes.h"
#include "src/model/private.h"
#include "src/model/tickets.h"
#include "src/util/util.h"

/* [bytes] What a block may have of dynamic shared memory, unless the program asks for more. */
#define SHARED_BYTES 49152

/* A value of cuModuleGetLoadingMode(). */
enum { EAGER_LOADING = 1 };

/* Behind the model's lock. */
static struct {
    struct sp_tickets handles, functions;
    struct sp_model_module *all;
} modules = {.handles = {.kind = SP_TICKET_MODULE}, .functions = {.kind = SP_TICKET_FUNCTION}};

/* ---- finding ------------------------------------------------------------------------- */

struct sp_model_function *sp_model_function_find(sp_cu_function handle)
{
    struct sp_model_function *function = sp_tickets_find(&modules.functions, handle);

    if (function == NULL && sp_tickets_is_stale(&modules.functions, handle))
        sp_model_violation("the handle %p is of a kernel whose module has been unloaded",
                           (void *)handle);
    return function;
}

static struct sp_model_module *find_module(const void *handle)
{
    struct sp_model_module *module = sp_tickets_find(&modules.handles, handle);

    if (module == NULL && sp_tickets_is_stale(&modules.handles, handle))
        sp_model_violation("the handle %p is of a module that has been unloaded", handle);
    return module;
}

/* Libraries only. */
static struct sp_model_module *find_library(sp_cu_library handle)
{
    struct sp_model_module *module = find_module(handle);

    return module != NULL && module->context == NULL ? module : NULL;
}

/* ---- beginning and end --------------------------------------------------------------- */

/* NULL without memory. */
static struct sp_model_module *open_module(struct sp_model_context *context)
{
    struct sp_model_module *module = calloc(1, sizeof(*module));

    if (module == NULL)
        return NULL;
    module->handle = sp_tickets_add(&modules.handles, module);
    if (module->handle == NULL) {
        free(module);
        return NULL;
    }
    module->context = context;
    module->next = modules.all;
    module->link = &modules.all;
    if (module->next != NULL)
        module->next->link = &module->next;
    modules.all = module;
    return module;
}

static void close_module(struct sp_model_module *module)
{
    while (module->functions != NULL) {
        struct sp_model_function *function = module->functions;

        module->functions = function->next;
        sp_tickets_remove(&modules.functions, function->handle);
        free(function);
    }
    sp_tickets_remove(&modules.handles, module->handle);
    *module->link = module->next;
    if (module->next != NULL)
        module->next->link = module->link;
    free(module);
}

void sp_model_modules_drop(struct sp_model_context *context)
{
    struct sp_model_module *next;

    for (struct sp_model_module *module = modules.all; module != NULL; module = next) {
        next = module->next;
        if (module->context == context)
            close_module(module);
    }
}

void sp_model_modules_reset(void)
{
    while (modules.all != NULL)
        close_module(modules.all);
    sp_tickets_fini(&modules.handles);
    sp_tickets_fini(&modules.functions);
}

/* ---- looking up ---------------------------------------------------------------------- */

static struct sp_model_function *find_function(const struct sp_model_module *module,
                                               const struct sp_model_stand_in *stand_in)
{
    struct sp_model_function *function = module->functions;

    while (function != NULL && function->stand_in != stand_in)
        function = function->next;
    return function;
}

static struct sp_model_function *new_function(struct sp_model_module *module,
                                              const struct sp_model_stand_in *stand_in)
{
    struct sp_model_function *function = calloc(1, sizeof(*function));

    if (function == NULL)
        return NULL;
    function->handle = sp_tickets_add(&modules.functions, function);
    if (function->handle == NULL) {
        free(function);
        return NULL;
    }
    function->stand_in = stand_in;
    function->module = module;
    function->max_shared_bytes = SHARED_BYTES;
    function->carveout = -1;
    function->next = module->functions;
    module->functions = function;
    return function;
}

static sp_cu_result look_up(struct sp_model_module *module, const char *name,
                            sp_cu_function *function_out)
{
    const struct sp_model_stand_in *stand_in = sp_model_stand_in_find(name);
    struct sp_model_function *function;

    if (stand_in == NULL)
        return SP_CU_NOT_FOUND;
    function = find_function(module, stand_in);
    if (function == NULL)
        function = new_function(module, stand_in);
    if (function == NULL)
        return SP_CU_OUT_OF_MEMORY;
    *function_out = function->handle;
    return SP_CU_SUCCESS;
}

/* ---- modules ------------------------------------------------------------------------- */

/* What every row that loads a module does, between entering and leaving. */
static sp_cu_result load(sp_cu_module *module_out, const void *image)
{
    struct sp_model_context *context;
    struct sp_model_module *module;
    sp_cu_result result = sp_model_context_get(&context);

    if (result != SP_CU_SUCCESS)
        return result;
    if (module_out == NULL || image == NULL)
        return SP_CU_INVALID_VALUE;
    module = open_module(context);
    if (module == NULL)
        return SP_CU_OUT_OF_MEMORY;
    *module_out = module->handle;
    return SP_CU_SUCCESS;
}

sp_cu_result sp_model_cuModuleLoad(sp_cu_module *module_out, const char *path)
{
    SP_MODEL_ENTER(cuModuleLoad);
    if (path != NULL && access(path, R_OK) != 0)
        return sp_model_leave(SP_CU_FILE_NOT_FOUND);
    return sp_model_leave(load(module_out, path));
}

sp_cu_result sp_model_cuModuleLoadData(sp_cu_module *module_out, const void *image)
{
    SP_MODEL_ENTER(cuModuleLoadData);
    return sp_model_leave(load(module_out, image));
}

/* Options are for the compiler of the driver, which has nothing to do here. */
sp_cu_result sp_model_cuModuleLoadDataEx(sp_cu_module *module_out, const void *image,
                                         unsigned n_options, int *options, void **values)
{
    SP_MODEL_ENTER(cuModuleLoadDataEx);
    if (n_options > 0 && (options == NULL || values == NULL))
        return sp_model_leave(SP_CU_INVALID_VALUE);
    return sp_model_leave(load(module_out, image));
}

sp_cu_result sp_model_cuModuleLoadFatBinary(sp_cu_module *module_out, const void *image)
{
    SP_MODEL_ENTER(cuModuleLoadFatBinary);
    return sp_model_leave(load(module_out, image));
}

/* Launches of its kernels that have been called are not touched. */
sp_cu_result sp_model_cuModuleUnload(sp_cu_module handle)
{
    struct sp_model_module *module;

    SP_MODEL_ENTER(cuModuleUnload);
    module = find_module(handle);
    if (module == NULL || module->context == NULL)
        return sp_model_leave(SP_CU_INVALID_HANDLE);
    close_module(module);
    return sp_model_leave(SP_CU_SUCCESS);
}

sp_cu_result sp_model_cuModuleGetFunction(sp_cu_function *function_out, sp_cu_module handle,
                                          const char *name)
{
    struct sp_model_module *module;

    SP_MODEL_ENTER(cuModuleGetFunction);
    if (function_out == NULL || name == NULL)
        return sp_model_leave(SP_CU_INVALID_VALUE);
    module = find_module(handle);
    return sp_model_leave(module == NULL ? SP_CU_INVALID_HANDLE
                                         : look_up(module, name, function_out));
}

sp_cu_result sp_model_cuModuleGetGlobal(sp_cu_ptr *ptr_out, size_t *size_out,
                                        sp_cu_module handle, const char *name)
{
    SP_MODEL_ENTER(cuModuleGetGlobal);
    if (name == NULL || (ptr_out == NULL && size_out == NULL))
        return sp_model_leave(SP_CU_INVALID_VALUE);
    return sp_model_leave(find_module(handle) == NULL ? SP_CU_INVALID_HANDLE : SP_CU_NOT_FOUND);
}

sp_cu_result sp_model_cuModuleGetLoadingMode(int *mode_out)
{
    SP_MODEL_ENTER(cuModuleGetLoadingMode);
    if (mode_out == NULL)
        return sp_model_leave(SP_CU_INVALID_VALUE);
    *mode_out = EAGER_LOADING;
    return sp_model_leave(SP_CU_SUCCESS);
}

/* ---- libraries ----------------------------------------------------------------------- */

sp_cu_result sp_model_cuLibraryLoadData(sp_cu_library *library_out, const void *image,
                                        int *options, void **values, unsigned n_options,
                                        int *library_options, void **library_values,
                                        unsigned n_library_options)
{
    struct sp_model_module *module;

    SP_MODEL_ENTER(cuLibraryLoadData);
    (void)values;
    (void)library_values;
    if (library_out == NULL || image == NULL || (n_options > 0 && options == NULL) ||
        (n_library_options > 0 && library_options == NULL))
        return sp_model_leave(SP_CU_INVALID_VALUE);
    module = open_module(NULL);
    if (module == NULL)
        return sp_model_leave(SP_CU_OUT_OF_MEMORY);
    *library_out = module->handle;
    return sp_model_leave(SP_CU_SUCCESS);
}

sp_cu_result sp_model_cuLibraryUnload(sp_cu_library handle)
{
    struct sp_model_module *module;

    SP_MODEL_ENTER(cuLibraryUnload);
    module = find_library(handle);
    if (module == NULL)
        return sp_model_leave(SP_CU_INVALID_HANDLE);
    close_module(module);
    return sp_model_leave(SP_CU_SUCCESS);
}

sp_cu_result sp_model_cuLibraryGetKernel(sp_cu_kernel *kernel_out, sp_cu_library handle,
                                         const char *name)
{
    struct sp_model_module *module;
    sp_cu_function function;
    sp_cu_result result;

    SP_MODEL_ENTER(cuLibraryGetKernel);
    if (kernel_out == NULL || name == NULL)
        return sp_model_leave(SP_CU_INVALID_VALUE);
    module = find_library(handle);
    if (module == NULL)
        return sp_model_leave(SP_CU_INVALID_HANDLE);
    result = look_up(module, name, &function);
    if (result == SP_CU_SUCCESS)
        *kernel_out = (sp_cu_kernel)function;
    return sp_model_leave(result);
}

/* The library is its own module, in every context. */
sp_cu_result sp_model_cuLibraryGetModule(sp_cu_module *module_out, sp_cu_library handle)
{
    const struct sp_model_module *module;
    struct sp_model_context *context;
    sp_cu_result result;

    SP_MODEL_ENTER(cuLibraryGetModule);
    result = sp_model_context_get(&context);
    if (result != SP_CU_SUCCESS)
        return sp_model_leave(result);
    module = find_library(handle);
    if (module_out == NULL || module == NULL)
        return sp_model_leave(module_out == NULL ? SP_CU_INVALID_VALUE : SP_CU_INVALID_HANDLE);
    *module_out = module->handle;
    return sp_model_leave(SP_CU_SUCCESS);
}
