/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How a routine runs: its parameters are checked, because a BLAS ends the program for a wrong
 * one, and a kernel is launched whose stand-in calls the BLAS. */
#include "config.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <starpool/kernel.h>

#include "src/sim/blas.h"
#include "src/sim/table.h"
#include "src/util/diag.h"
#include "src/util/util.h"

/* What a launch carries by value. A number of the program's is copied at the call, as cuBLAS
 * does, if it is on the host. */
struct launch {
    const struct sp_blas_routine *routine;
    bool is_on_host; /* the numbers */
    union {
        int64_t number;
        double scalar[2];
    } value[SP_BLAS_MAX_PARAMETERS];
};

static struct {
    pthread_once_t once;
    bool is_ready;
    sp_cu_library kernels;
} state = {.once = PTHREAD_ONCE_INIT};

/* ---- results ------------------------------------------------------------------------- */

int sp_blas_status(sp_cu_result result)
{
    switch (result) {
    case SP_CU_SUCCESS:
        return SP_BLAS_SUCCESS;
    case SP_CU_NOT_INITIALIZED:
    case SP_CU_DEINITIALIZED:
    case SP_CU_INVALID_CONTEXT:
        return SP_BLAS_NOT_INITIALIZED;
    case SP_CU_OUT_OF_MEMORY:
        return SP_BLAS_ALLOC_FAILED;
    case SP_CU_INVALID_VALUE:
        return SP_BLAS_INVALID_VALUE;
    case SP_CU_NOT_SUPPORTED:
        return SP_BLAS_NOT_SUPPORTED;
    default:
        return SP_BLAS_EXECUTION_FAILED;
    }
}

/* ---- checks -------------------------------------------------------------------------- */

static bool is_complex(const struct sp_blas_routine *routine)
{
    return routine->type == 'C' || routine->type == 'Z';
}

/* Whether a parameter that is an integer is one that a BLAS takes. */
static bool is_number_valid(const struct sp_blas_routine *routine, char kind,
                            const struct sp_blas_arg *arg)
{
    int64_t number = arg->number;

    switch (kind) {
    case 't':
        return number >= 0 && number <= 2;
    case 'T':
        return number >= 0 && number <= (is_complex(routine) ? 1 : 2);
    case 'H':
        return number == 0 || number == 2;
    case 'u':
    case 'd':
    case 'l':
        return number == 0 || number == 1;
    case 'n':
    case 'b':
        return number >= 0;
    case 'h':
        return number >= 1 && number >= arg->least;
    case 'i':
        return number != 0;
    default:
        return true;
    }
}

/* A call over nothing may name no array. */
static bool has_no_elements(const struct sp_blas_routine *routine,
                            const struct sp_blas_arg *args)
{
    for (size_t i = 0; routine->kinds[i] != '\0'; i++) {
        if (strchr("nb", routine->kinds[i]) != NULL && args[i].number == 0)
            return true;
        if (i == 0 && routine->kinds[i] == 'j' && args[i].number <= 0)
            return true;
    }
    return false;
}

static int check(const struct sp_blas_routine *routine, const struct sp_blas_arg *args)
{
    const bool may_be_null = has_no_elements(routine, args);

    for (size_t i = 0; routine->kinds[i] != '\0'; i++) {
        const char kind = routine->kinds[i];
        const bool is_array = kind == 'a' || kind == 'p';

        if (is_array || strchr("ser", kind) != NULL) {
            if (args[i].address == NULL && !(is_array && may_be_null))
                return SP_BLAS_INVALID_VALUE;
        } else if (!is_number_valid(routine, kind, &args[i])) {
            return SP_BLAS_INVALID_VALUE;
        } else if (kind != 'o' && (args[i].number > INT_MAX || args[i].number < -INT_MAX)) {
            return SP_BLAS_NOT_SUPPORTED; /* the BLAS has 32-bit integers */
        }
    }
    return SP_BLAS_SUCCESS;
}

/* ---- launching ----------------------------------------------------------------------- */

static size_t scalar_size(const struct sp_blas_routine *routine, char kind)
{
    const size_t real =
        routine->type == 'S' || routine->type == 'C' ? sizeof(float) : sizeof(double);

    return kind == 's' && is_complex(routine) ? 2 * real : real;
}

/* Whether a parameter is one of the kernel's own, so that the model knows its address. */
static bool is_kernel_address(char kind, bool is_on_host)
{
    return strchr("apr", kind) != NULL || (strchr("se", kind) != NULL && !is_on_host);
}

/* Fill a launch and its kernel's addresses. */
static void pack(struct launch *launch, uintptr_t addresses[SP_BLAS_MAX_ADDRESSES],
                 const struct sp_blas_arg *args)
{
    const struct sp_blas_routine *routine = launch->routine;
    size_t n = 0;

    for (size_t i = 0; routine->kinds[i] != '\0'; i++) {
        const char kind = routine->kinds[i];

        if (is_kernel_address(kind, launch->is_on_host)) {
            SP_ASSERT(n < SP_BLAS_MAX_ADDRESSES);
            addresses[n++] = (uintptr_t)args[i].address;
            launch->value[i].number = args[i].number;
        } else if (kind == 's' || kind == 'e') {
            memcpy(launch->value[i].scalar, args[i].address, scalar_size(routine, kind));
        } else {
            launch->value[i].number = args[i].number;
        }
    }
}

static sp_cu_result launch_kernel(struct launch *launch, uintptr_t *addresses,
                                  sp_cu_stream stream)
{
    const struct sp_driver *driver = sp_sim_driver();
    void *params[1 + SP_BLAS_MAX_ADDRESSES] = {launch};
    sp_cu_kernel kernel;
    sp_cu_result result;

    for (size_t i = 0; i < SP_BLAS_MAX_ADDRESSES; i++)
        params[1 + i] = &addresses[i];
    result = driver->cuLibraryGetKernel(&kernel, state.kernels, launch->routine->name);
    if (result != SP_CU_SUCCESS)
        return result;
    return driver->cuLaunchKernel((sp_cu_function)kernel, 1, 1, 1, 1, 1, 1, 0, stream, params,
                                  NULL);
}

int sp_blas_call(const struct sp_blas_handle *handle, const struct sp_blas_routine *routine,
                 const struct sp_blas_arg *args)
{
    struct launch launch = {.routine = routine};
    uintptr_t addresses[SP_BLAS_MAX_ADDRESSES] = {0};
    sp_cu_result result;
    int status;

    if (handle == NULL)
        return SP_BLAS_NOT_INITIALIZED;
    status = check(routine, args);
    if (status != SP_BLAS_SUCCESS)
        return status;
    launch.is_on_host = handle->pointer_mode == SP_BLAS_POINTER_HOST;
    pack(&launch, addresses, args);
    result = launch_kernel(&launch, addresses, handle->stream);
    /* A result on the host is there when the call returns. */
    if (result == SP_CU_SUCCESS && launch.is_on_host && strchr(routine->kinds, 'r') != NULL)
        result = sp_sim_driver()->cuStreamSynchronize(handle->stream);
    return sp_blas_status(result);
}

/* ---- running ------------------------------------------------------------------------- */

static char letter_of(char kind, int64_t number)
{
    switch (kind) {
    case 'u':
        return "LU"[number];
    case 'd':
        return "NU"[number];
    case 'l':
        return "LR"[number];
    default:
        return "NTC"[number];
    }
}

/* What a function of the BLAS returns. */
union answer {
    float single;
    double twice;
    int integer;
};

/* The program's integer is 64 bits wide if its call was one of those. */
static void put_answer(struct sp_blas_run *run, size_t place, const union answer *answer)
{
    void *result = run->address[place];

    SP_ASSERT(result != NULL);
    if (run->routine->result == 'S')
        *(float *)result = answer->single;
    else if (run->routine->result == 'D')
        *(double *)result = answer->twice;
    else if (run->number[place] == sizeof(int64_t))
        *(int64_t *)result = answer->integer;
    else
        *(int *)result = answer->integer;
}

/* As a Fortran routine wants its parameters. */
static void call_system(struct sp_blas_run *run)
{
    const struct sp_blas_routine *routine = run->routine;
    void *address[SP_BLAS_MAX_PARAMETERS] = {NULL};
    char letters[SP_BLAS_MAX_PARAMETERS];
    int integers[SP_BLAS_MAX_PARAMETERS];
    union answer answer = {.twice = 0};
    size_t n, n_letters = 0;

    for (n = 0; routine->kinds[n] != '\0'; n++) {
        const char kind = routine->kinds[n];

        if (strchr("tTHudl", kind) != NULL) {
            letters[n] = letter_of(kind, run->number[n]);
            address[n] = &letters[n];
            n_letters++;
        } else if (strchr("sear", kind) != NULL) {
            address[n] = run->address[n];
        } else {
            integers[n] = (int)run->number[n];
            address[n] = &integers[n];
        }
    }
    if (routine->result != 0) /* the last, which a function returns */
        address[--n] = NULL;
    for (size_t i = 0; i < n_letters; i++)
        address[n + i] = (void *)(uintptr_t)1; /* Fortran passes the length */
    sp_blas_system_call(routine->symbol, address, routine->result, &answer);
    if (routine->result != 0)
        put_answer(run, n, &answer);
}

void sp_blas_run(struct sp_blas_run *run)
{
    if (run->routine->own != NULL)
        run->routine->own(run);
    else
        call_system(run);
}

/* The stand-in of every routine's kernel. */
static void run_kernel(const struct starpool_kernel_launch *kernel)
{
    struct launch *launch = kernel->args[0];
    struct sp_blas_run run = {.routine = launch->routine};
    size_t n = 0;

    for (size_t i = 0; run.routine->kinds[i] != '\0'; i++) {
        const char kind = run.routine->kinds[i];

        run.number[i] = launch->value[i].number;
        run.address[i] = launch->value[i].scalar;
        if (is_kernel_address(kind, launch->is_on_host))
            run.address[i] = *(void **)kernel->args[1 + n++];
    }
    sp_blas_run(&run);
}

/* ---- starting ------------------------------------------------------------------------ */

const struct sp_blas_routine *sp_blas_find(const char *name)
{
    for (const struct sp_blas_routine *const *row = sp_blas_routines; *row != NULL; row++)
        if (strcmp((*row)->name, name) == 0)
            return *row;
    return NULL;
}

static bool add_kernels(void)
{
    size_t sizes[1 + SP_BLAS_MAX_ADDRESSES] = {sizeof(struct launch)};

    for (size_t i = 0; i < SP_BLAS_MAX_ADDRESSES; i++)
        sizes[1 + i] = sizeof(void *);
    for (const struct sp_blas_routine *const *row = sp_blas_routines; *row != NULL; row++) {
        const enum starpool_status status =
            starpool_model_add_kernel((*row)->name, sizes, SP_ARRAY_SIZE(sizes), run_kernel);

        if (status != STARPOOL_OK) {
            sp_log(SP_LOG_ERROR, "the simulated cuBLAS cannot add the kernel %s: %s",
                   (*row)->name, starpool_status_text(status));
            return false;
        }
    }
    return true;
}

static void start(void)
{
    static const char image[] = "cublas"; /* the model does not read it */

    if (!sp_blas_system_open() || !add_kernels())
        return;
    state.is_ready = sp_sim_driver()->cuLibraryLoadData(&state.kernels, image, NULL, NULL, 0,
                                                        NULL, NULL, 0) == SP_CU_SUCCESS;
}

bool sp_blas_start(void)
{
    pthread_once(&state.once, start);
    return state.is_ready;
}
