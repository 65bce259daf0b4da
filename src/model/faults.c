/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Failures on demand: what has been asked for, and when each is due. What a failure does is
 * decided where it happens. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "src/model/private.h"
#include "src/util/options.h"
#include "src/util/util.h"

#define MAX_WORD 64

enum fault_kind {
    FAULT_CALL,   /* CALL@N=CODE: the n-th call from now answers that */
    FAULT_MEMORY, /* memory:D=SIZE: the device is that large */
    FAULT_STALL,  /* stall:ID@SEQ=MS: the stream's operation waits for so long */
    FAULT_ASYNC,  /* fault:ID@SEQ=CODE: the stream's operation fails */
};

struct fault {
    enum fault_kind kind;
    uint64_t what;     /* entry point, device, stream's id */
    uint64_t number;   /* calls that are left; the operation's number */
    uint64_t value;    /* result, bytes, milliseconds (UINT64_MAX: for ever) */
    uint64_t since_ns; /* of a stall that has begun; else 0 */
    struct fault *next;
};

/* Behind the model's lock. */
static struct {
    struct fault *first;
} faults;

/* ---- reading ------------------------------------------------------------------------- */

static bool parse_number(const char *text, uint64_t *number_out)
{
    char *end;

    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    *number_out = strtoull(text, &end, 10);
    return *end == '\0' && errno == 0;
}

/* A number, or a name with or without CUDA_ERROR_ in front. */
static bool parse_result(const char *text, uint64_t *result_out)
{
    static const struct {
        const char *name;
        int number;
    } results[] = {
#define SP_RESULT_ROW(name, number) {#name, number},
        SP_CU_RESULT_MAP(SP_RESULT_ROW)
#undef SP_RESULT_ROW
    };

    if (strncmp(text, "CUDA_ERROR_", 11) == 0)
        text += 11;
    for (size_t i = 0; i < SP_ARRAY_SIZE(results); i++) {
        if (strcmp(results[i].name, text) == 0) {
            *result_out = (uint64_t)results[i].number;
            return true;
        }
    }
    return parse_number(text, result_out) && *result_out <= INT32_MAX;
}

static bool parse_call(const char *text, uint64_t *call_out)
{
    static const char *const names[] = {
#define X(name, symbol, version, parameters) #name,
#include "src/driver/calls.def"
#undef X
    };

    for (size_t i = 0; i < SP_ARRAY_SIZE(names); i++) {
        if (strcmp(names[i], text) == 0) {
            *call_out = i;
            return true;
        }
    }
    return false;
}

/* `word` is split in place: KIND:WHAT@NUMBER=VALUE. */
static bool parse_fault(char *word, struct fault *fault)
{
    char *what = strchr(word, ':'), *number = strchr(word, '@'), *value = strchr(word, '=');

    if (value == NULL)
        return false;
    *value++ = '\0';
    if (number != NULL)
        *number++ = '\0';
    if (what != NULL)
        *what++ = '\0';
    if (number != NULL && (!parse_number(number, &fault->number) || fault->number == 0))
        return false;
    if (what == NULL) {
        fault->kind = FAULT_CALL;
        return number != NULL && parse_call(word, &fault->what) &&
               parse_result(value, &fault->value);
    }
    if (!parse_number(what, &fault->what))
        return false;
    if (strcmp(word, "memory") == 0) {
        fault->kind = FAULT_MEMORY;
        return number == NULL && sp_parse_size(value, &fault->value) &&
               fault->what < (uint64_t)sp_model_n_devices();
    }
    if (strcmp(word, "stall") == 0) {
        fault->kind = FAULT_STALL;
        fault->value = UINT64_MAX;
        return number != NULL &&
               (strcmp(value, "forever") == 0 || parse_number(value, &fault->value));
    }
    fault->kind = FAULT_ASYNC;
    return strcmp(word, "fault") == 0 && number != NULL && parse_result(value, &fault->value);
}

static void free_list(struct fault *list)
{
    while (list != NULL) {
        struct fault *next = list->next;

        free(list);
        list = next;
    }
}

/* All of them, or none. */
static bool parse_list(const char *text, struct fault **list_out)
{
    struct fault *list = NULL;

    for (size_t length; *text != '\0'; text += length + (text[length] == ',')) {
        struct fault *fault = calloc(1, sizeof(*fault));
        char word[MAX_WORD];

        length = strcspn(text, ",");
        if (fault != NULL) {
            fault->next = list;
            list = fault;
        }
        snprintf(word, sizeof(word), "%.*s", (int)length, text);
        if (fault == NULL || length >= sizeof(word) || !parse_fault(word, fault)) {
            free_list(list);
            return false;
        }
    }
    *list_out = list;
    return true;
}

/* ---- adding -------------------------------------------------------------------------- */

static void add_list(struct fault *list)
{
    while (list != NULL) {
        struct fault *fault = list;

        list = fault->next;
        if (fault->kind == FAULT_MEMORY) {
            sp_model_device_resize((int)fault->what, fault->value);
            free(fault);
        } else {
            fault->next = faults.first;
            faults.first = fault;
        }
    }
}

void sp_model_faults_reset(void)
{
    const char *text = sp_option(SP_OPTION_MODEL_FAULTS)->value;
    struct fault *list;

    free_list(faults.first);
    faults.first = NULL;
    if (parse_list(text, &list))
        add_list(list);
    else
        sp_log(SP_LOG_WARN, "STARPOOL_MODEL_FAULTS=%s: not understood", text);
}

enum starpool_status starpool_model_inject(const char *text)
{
    enum starpool_status status = STARPOOL_OK;
    struct fault *list = NULL;

    if (sp_model_is_forked())
        return STARPOOL_EINVAL;
    sp_lock_take(sp_model_lock());
    sp_model_make_ready();
    if (text == NULL) {
        free_list(faults.first);
        faults.first = NULL;
    } else if (parse_list(text, &list)) {
        add_list(list);
    } else {
        status = STARPOOL_EINVAL;
    }
    sp_model_run_wake_all();
    sp_lock_give(sp_model_lock());
    return status;
}

/* ---- asking -------------------------------------------------------------------------- */

static void remove_fault(struct fault *fault)
{
    struct fault **link = &faults.first;

    while (*link != fault)
        link = &(*link)->next;
    *link = fault->next;
    free(fault);
}

sp_cu_result sp_model_fault_at(int call)
{
    sp_cu_result result = SP_CU_SUCCESS;
    struct fault *next;

    for (struct fault *fault = faults.first; fault != NULL; fault = next) {
        next = fault->next;
        if (fault->kind != FAULT_CALL || fault->what != (uint64_t)call || --fault->number > 0)
            continue;
        result = (sp_cu_result)fault->value;
        remove_fault(fault);
    }
    return result;
}

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static struct fault *find_at(enum fault_kind kind, uint64_t stream_id, uint64_t number)
{
    for (struct fault *fault = faults.first; fault != NULL; fault = fault->next) {
        if (fault->kind == kind && fault->what == stream_id && fault->number == number)
            return fault;
    }
    return NULL;
}

bool sp_model_is_stalled(uint64_t stream_id, uint64_t number)
{
    struct fault *stall = find_at(FAULT_STALL, stream_id, number);

    if (stall == NULL)
        return false;
    if (stall->value == UINT64_MAX)
        return true;
    if (stall->since_ns == 0)
        stall->since_ns = now_ns();
    if (now_ns() - stall->since_ns < stall->value * 1000000U)
        return true;
    remove_fault(stall);
    return false;
}

sp_cu_result sp_model_fault_of(uint64_t stream_id, uint64_t number)
{
    struct fault *fault = find_at(FAULT_ASYNC, stream_id, number);
    sp_cu_result result = SP_CU_SUCCESS;

    if (fault != NULL) {
        result = (sp_cu_result)fault->value;
        remove_fault(fault);
    }
    return result;
}
