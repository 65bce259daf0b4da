/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Errors: what they are called, and the last one of each thread, which is kept until somebody
 * asks for it. */
#include "config.h"

#include "src/sim/runtime.h"

#include "src/model/missing.h"
#include "src/util/util.h"

static __thread int last_error;

int sp_runtime_end(int error)
{
    /* That something is not over yet is an answer, not an error. */
    if (error != SP_CU_SUCCESS && error != SP_CU_NOT_READY)
        last_error = error;
    return error;
}

int sp_runtime_missing(const char *name)
{
    sp_model_note_missing(SP_RUNTIME_LIBRARY, name);
    return sp_runtime_end(SP_CU_NOT_SUPPORTED);
}

int cudaGetLastError(void)
{
    int error = last_error;

    last_error = SP_CU_SUCCESS;
    return error;
}

int cudaPeekAtLastError(void)
{
    return last_error;
}

/* ---- names --------------------------------------------------------------------------- */

struct error {
    int number;
    const char *name, *text;
};

static const struct error *find(int number)
{
    static const struct error errors[] = {
#define X(name, number, text) {number, "cudaError" #name, text},
#include "src/sim/runtime_errors.def"
#undef X
    };

    for (size_t i = 0; i < SP_ARRAY_SIZE(errors); i++) {
        if (errors[i].number == number)
            return &errors[i];
    }
    return NULL;
}

const char *cudaGetErrorName(int number)
{
    const struct error *error = find(number);

    if (number == SP_CU_SUCCESS)
        return "cudaSuccess";
    return error == NULL ? "unrecognized error code" : error->name;
}

const char *cudaGetErrorString(int number)
{
    const struct error *error = find(number);

    return error == NULL ? "unrecognized error code" : error->text;
}
