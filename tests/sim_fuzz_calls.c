/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The entry points that random calls are made of: names and parameters in words, as the lists
 * have them that the libraries are compiled from. */
#include "config.h"

#include "tests/sim_fuzz.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct row {
    const char *symbol, *parameters;
    bool is_runtime;
} rows[] = {
#define X(name, symbol, version, parameters) {#symbol, #parameters, false},
#include "src/driver/calls.def"
#include "src/sim/driver_made.def"
#undef X
#define X(name, parameters)                   {#name, #parameters, true},
#define Z(name, parameters, arguments)        X(name, parameters) X(name##_ptsz, parameters)
#define D(name, parameters, async, arguments) X(name, parameters) X(name##_ptds, parameters)
#include "src/sim/runtime_calls.def"
#undef X
#undef Z
#undef D
};
enum { N_ROWS = sizeof(rows) / sizeof(rows[0]) };

/* These wait for what nobody writes, keep parts of the stack or of what is freed, or have a
 * partner without which they do nothing. */
static const char *const left_out[] = {
    "cuStreamWaitValue32_v2",     "cuStreamWaitValue64_v2", "cuStreamBatchMemOp_v2",
    "cuMemHostRegister_v2",       "cudaHostRegister",       "cuCtxPushCurrent_v2",
    "__cudaPopCallConfiguration",
};

static const char *const kinds[] = {
    [SP_FUZZ_CONTEXT] = "sp_cu_context",
    [SP_FUZZ_STREAM] = "sp_cu_stream",
    [SP_FUZZ_EVENT] = "sp_cu_event",
    [SP_FUZZ_POOL] = "sp_cu_pool",
    [SP_FUZZ_GRAPH] = "sp_cu_graph",
    [SP_FUZZ_NODE] = "sp_cu_node",
    [SP_FUZZ_EXEC] = "sp_cu_exec",
    [SP_FUZZ_OBJECT] = "sp_cu_object",
    [SP_FUZZ_MODULE] = "sp_cu_module",
    [SP_FUZZ_FUNCTION] = "sp_cu_function",
    [SP_FUZZ_LIBRARY] = "sp_cu_library",
    [SP_FUZZ_KERNEL] = "sp_cu_kernel",
    [SP_FUZZ_CONDITIONAL] = "sp_cu_conditional",
    [SP_FUZZ_PTR] = "sp_cu_ptr",
};

static struct {
    void *driver, *runtime;
    struct sp_fuzz_call calls[N_ROWS];
    size_t n;
} loaded;

/* ---- parameters in words ------------------------------------------------------------- */

static enum sp_fuzz_kind kind_of(const char *type)
{
    for (unsigned i = 0; i <= SP_FUZZ_PTR; i++) {
        if (strcmp(type, kinds[i]) == 0)
            return (enum sp_fuzz_kind)i;
    }
    return SP_FUZZ_NO_KIND;
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), end_length = strlen(end);

    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* These have several elements, as many as another parameter says. */
static bool is_array(const char *name)
{
    static const char *const arrays[] = {"nodes", "edges", "values", "graphs", "from_", "to_"};

    for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++) {
        if (strstr(name, arrays[i]) != NULL)
            return true;
    }
    return false;
}

/* "const struct sp_cu_location *location": the name is what is behind the last space or star.
 */
static void read_parameter(char *text, struct sp_fuzz_parameter *parameter)
{
    static const char *const prefixes[] = {"const ", "struct ", "union "};
    char *name = text + strlen(text), *end;

    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
        if (starts_with(text, prefixes[i]))
            text += strlen(prefixes[i]);
    }
    while (name > text && name[-1] != ' ' && name[-1] != '*')
        name--;
    (void)snprintf(parameter->name, sizeof(parameter->name), "%s", name);
    for (end = name; end > text && (end[-1] == ' ' || end[-1] == '*'); end--)
        parameter->n_stars += end[-1] == '*';
    *end = '\0';
    (void)snprintf(parameter->type, sizeof(parameter->type), "%s", text);
    parameter->kind = kind_of(parameter->type);
    parameter->is_output = parameter->n_stars > 0 && ends_with(parameter->name, "_out") &&
                           strcmp(parameter->name, "values_out") != 0;
    parameter->is_array = is_array(parameter->name);
}

static void read_parameters(const char *words, struct sp_fuzz_call *call)
{
    char text[1024], *rest, *part;

    (void)snprintf(text, sizeof(text), "%s", words + 1);
    text[strlen(text) - 1] = '\0'; /* the parentheses */
    for (part = strtok_r(text, ",", &rest); part != NULL; part = strtok_r(NULL, ",", &rest)) {
        struct sp_fuzz_parameter *parameter = &call->parameters[call->n_parameters];

        part += strspn(part, " ");
        if (strcmp(part, "void") == 0)
            return;
        read_parameter(part, parameter);
        if (parameter->n_stars == 1 && !parameter->is_output &&
            strcmp(parameter->type, "void") == 0)
            call->has_host = true;
        call->n_parameters++;
    }
}

/* ---- loading ------------------------------------------------------------------------- */

static void *open_library(const char *name)
{
    const char *builddir = getenv("builddir");
    char path[4096];
    void *handle;

    (void)snprintf(path, sizeof(path), "%s/sim/cuda-13/%s", builddir != NULL ? builddir : ".",
                   name);
    handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL)
        print_error("%s\n", dlerror());
    return handle;
}

static bool is_left_out(const char *symbol)
{
    for (size_t i = 0; i < sizeof(left_out) / sizeof(left_out[0]); i++) {
        if (strcmp(symbol, left_out[i]) == 0)
            return true;
    }
    return false;
}

bool sp_fuzz_load(void)
{
    loaded.driver = open_library("libcuda.so.1");
    loaded.runtime = open_library("libcudart.so.13");
    if (loaded.driver == NULL || loaded.runtime == NULL)
        return false;
    for (size_t i = 0; i < N_ROWS; i++) {
        struct sp_fuzz_call *call = &loaded.calls[loaded.n];

        if (is_left_out(rows[i].symbol))
            continue;
        call->symbol = rows[i].symbol;
        call->is_runtime = rows[i].is_runtime;
        sp_fuzz_find(call->symbol, &call->function);
        if (call->function == NULL)
            return false;
        read_parameters(rows[i].parameters, call);
        loaded.n++;
    }
    return true;
}

const struct sp_fuzz_call *sp_fuzz_calls(size_t *n_out)
{
    *n_out = loaded.n;
    return loaded.calls;
}

void sp_fuzz_find(const char *symbol, void *function_out)
{
    bool is_drivers = symbol[0] == 'c' && symbol[1] == 'u' && symbol[2] != 'd';
    void *found = dlsym(is_drivers ? loaded.driver : loaded.runtime, symbol);

    if (found == NULL)
        print_error("there is no %s\n", symbol);
    memcpy(function_out, &found, sizeof(found));
}

bool sp_fuzz_is_result(int result)
{
    static const int results[] = {
#define X(name, number, ...) number,
        SP_CU_RESULT_MAP(X)
#include "src/sim/runtime_errors.def"
#undef X
    };

    for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++) {
        if (result == results[i])
            return true;
    }
    return false;
}
