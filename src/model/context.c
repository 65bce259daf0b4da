/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Contexts, primary and created, and what each thread has current: a stack of contexts, and its
 * own default streams. */
#include "config.h"

#include <pthread.h>
#include <stdlib.h>

#include "src/model/kernels.h"
#include "src/model/private.h"
#include "src/util/util.h"

/* A thread's own stream of a context. */
struct own_stream {
    struct sp_model_context *context;
    unsigned n_drops; /* of the context, when the stream was made */
    struct sp_model_stream *stream;
    struct own_stream *next;
};

/* What a thread keeps; of no use once the generation is another. */
struct thread {
    uint64_t generation;
    unsigned n_stack, room;
    struct sp_model_context **stack; /* the last is current; none is NULL */
    struct own_stream *streams;
};

/* Behind the model's lock, except the key, which is made once. */
static struct {
    struct sp_model_context *all; /* also those that are no more: handles are not used again */
    struct sp_model_context *primary[SP_MODEL_MAX_DEVICES];
    unsigned primary_flags[SP_MODEL_MAX_DEVICES];
    uint64_t last_id;
    pthread_once_t once;
    pthread_key_t key;
} contexts = {.once = PTHREAD_ONCE_INIT};

static __thread struct thread *mine;

/* ---- threads ------------------------------------------------------------------------- */

/* With the lock: the stream has not gone with its context. */
static bool is_current_stream(const struct own_stream *own)
{
    return own->context->is_alive && own->n_drops == own->context->n_drops;
}

/* With the lock: forget all, and end the thread's streams if they still are. */
static void clear_thread(struct thread *thread)
{
    bool is_stale = thread->generation != sp_model_generation();

    while (thread->streams != NULL) {
        struct own_stream *own = thread->streams;

        thread->streams = own->next;
        if (!is_stale && is_current_stream(own))
            sp_model_stream_close(own->stream);
        free(own);
    }
    thread->n_stack = 0;
    thread->generation = sp_model_generation();
}

static void end_thread(void *arg)
{
    struct thread *thread = arg;

    if (sp_model_is_forked())
        return;
    sp_lock_take(sp_model_lock());
    clear_thread(thread);
    sp_lock_give(sp_model_lock());
    free(thread->stack);
    free(thread);
    mine = NULL;
}

static void make_key(void)
{
    SP_ASSERT(pthread_key_create(&contexts.key, end_thread) == 0);
}

/* This thread's; NULL if there is no memory. */
static struct thread *get_thread(void)
{
    pthread_once(&contexts.once, make_key);
    if (mine == NULL) {
        struct thread *thread = calloc(1, sizeof(*thread));

        if (thread == NULL)
            return NULL;
        thread->generation = sp_model_generation();
        if (pthread_setspecific(contexts.key, thread) != 0) {
            free(thread);
            return NULL;
        }
        mine = thread;
    }
    if (mine->generation != sp_model_generation())
        clear_thread(mine);
    return mine;
}

struct sp_model_stream *sp_model_thread_stream(struct sp_model_context *context)
{
    struct thread *thread = get_thread();
    struct own_stream *own;

    if (thread == NULL)
        return NULL;
    for (own = thread->streams; own != NULL; own = own->next) {
        if (own->context == context && is_current_stream(own))
            return own->stream;
    }
    own = calloc(1, sizeof(*own));
    if (own == NULL)
        return NULL;
    own->stream = sp_model_stream_open(context, SP_CU_STREAM_DEFAULT, false);
    if (own->stream == NULL) {
        free(own);
        return NULL;
    }
    own->context = context;
    own->n_drops = context->n_drops;
    own->next = thread->streams;
    thread->streams = own;
    return own->stream;
}

/* ---- what is current ----------------------------------------------------------------- */

static struct sp_model_context *top_of_stack(void)
{
    const struct thread *thread = mine;

    if (thread == NULL || thread->generation != sp_model_generation() || thread->n_stack == 0)
        return NULL;
    return thread->stack[thread->n_stack - 1];
}

struct sp_model_context *sp_model_current(void)
{
    struct sp_model_context *context = top_of_stack();

    return context != NULL && context->is_alive ? context : NULL;
}

sp_cu_result sp_model_context_get(struct sp_model_context **context_out)
{
    struct sp_model_context *context = top_of_stack();

    if (context == NULL)
        return SP_CU_INVALID_CONTEXT;
    if (!context->is_alive)
        return SP_CU_CONTEXT_IS_DESTROYED;
    *context_out = context;
    return SP_CU_SUCCESS;
}

static sp_cu_result push(struct sp_model_context *context)
{
    struct thread *thread = get_thread();

    if (thread == NULL)
        return SP_CU_OUT_OF_MEMORY;
    if (thread->n_stack == thread->room) {
        unsigned room = thread->room == 0 ? 4 : 2 * thread->room;
        struct sp_model_context **stack =
            realloc(thread->stack, room * sizeof(struct sp_model_context *));

        if (stack == NULL)
            return SP_CU_OUT_OF_MEMORY;
        thread->stack = stack;
        thread->room = room;
    }
    thread->stack[thread->n_stack++] = context;
    return SP_CU_SUCCESS;
}

static void pop(void)
{
    if (top_of_stack() != NULL)
        mine->n_stack--;
}

/* ---- making and ending --------------------------------------------------------------- */

struct sp_model_context *sp_model_contexts(void)
{
    return contexts.all;
}

struct sp_model_context *sp_model_context_find(sp_cu_context handle)
{
    for (struct sp_model_context *context = contexts.all; context != NULL;
         context = context->next) {
        if (context == (struct sp_model_context *)handle)
            return context->is_alive ? context : NULL;
    }
    return NULL;
}

static struct sp_model_context *open_context(int device, unsigned flags)
{
    struct sp_model_context *context = calloc(1, sizeof(*context));

    if (context == NULL)
        return NULL;
    context->device = device;
    context->flags = flags;
    context->is_alive = true;
    context->id = ++contexts.last_id;
    sp_model_context_settle(context);
    context->next = contexts.all;
    contexts.all = context;
    return context;
}

/* A stream that still has something to execute; NULL if there is none. */
static struct sp_model_stream *find_busy(const struct sp_model_context *context)
{
    struct sp_model_stream *stream = context->streams;

    while (stream != NULL && stream->first == NULL)
        stream = stream->next;
    return stream;
}

/* Everything of a context goes, after what it was given has been executed. Other threads may go
 * on using it until then, and are refused afterwards. */
static void close_context(struct sp_model_context *context)
{
    struct sp_model_stream *busy;

    (void)sp_model_context_finish(context);
    context->is_alive = false;
    sp_model_modules_drop(context);
    sp_model_events_drop(context);
    sp_model_streams_drop(context);
    while ((busy = find_busy(context)) != NULL)
        sp_model_run_wait(sp_model_stream_last(busy));
    sp_model_memory_drop(context);
    context->peers = 0;
    context->fault = SP_CU_SUCCESS;
    sp_model_context_settle(context);
}

void sp_model_contexts_reset(void)
{
    while (contexts.all != NULL) {
        struct sp_model_context *context = contexts.all;

        contexts.all = context->next;
        free(context);
    }
    for (int i = 0; i < SP_MODEL_MAX_DEVICES; i++) {
        contexts.primary[i] = NULL;
        contexts.primary_flags[i] = 0;
    }
}

/* ---- primary contexts ---------------------------------------------------------------- */

sp_cu_result sp_model_cuDevicePrimaryCtxRetain(sp_cu_context *context_out, sp_cu_device device)
{
    struct sp_model_context *context;

    SP_MODEL_ENTER(cuDevicePrimaryCtxRetain);
    if (!sp_model_is_device(device))
        return sp_model_leave(SP_CU_INVALID_DEVICE);
    if (context_out == NULL)
        return sp_model_leave(SP_CU_INVALID_VALUE);
    context = contexts.primary[device];
    if (context == NULL) {
        context = open_context(device, contexts.primary_flags[device]);
        if (context == NULL)
            return sp_model_leave(SP_CU_OUT_OF_MEMORY);
        context->is_primary = true;
        contexts.primary[device] = context;
    }
    context->n_retains++;
    *context_out = (sp_cu_context)context;
    return sp_model_leave(SP_CU_SUCCESS);
}

sp_cu_result sp_model_cuDevicePrimaryCtxRelease(sp_cu_device device)
{
    struct sp_model_context *context;

    SP_MODEL_ENTER(cuDevicePrimaryCtxRelease);
    if (!sp_model_is_device(device))
        return sp_model_leave(SP_CU_INVALID_DEVICE);
    context = contexts.primary[device];
    if (context == NULL)
        return sp_model_leave(SP_CU_INVALID_CONTEXT);
    if (--context->n_retains == 0) {
        contexts.primary[device] = NULL;
        close_context(context);
    }
    return sp_model_leave(SP_CU_SUCCESS);
}

/* Those who have retained it keep a context without streams, memory, peers and faults. */
sp_cu_result sp_model_cuDevicePrimaryCtxReset(sp_cu_device device)
{
    struct sp_model_context *context;

    SP_MODEL_ENTER(cuDevicePrimaryCtxReset);
    if (!sp_model_is_device(device))
        return sp_model_leave(SP_CU_INVALID_DEVICE);
    context = contexts.primary[device];
    if (context != NULL) {
        close_context(context);
        context->is_alive = contexts.primary[device] == context;
    }
    return sp_model_leave(SP_CU_SUCCESS);
}

sp_cu_result sp_model_cuDevicePrimaryCtxGetState(sp_cu_device device, unsigned *flags_out,
                                                 int *is_active_out)
{
    SP_MODEL_ENTER(cuDevicePrimaryCtxGetState);
    if (!sp_model_is_device(device))
        return sp_model_leave(SP_CU_INVALID_DEVICE);
    if (flags_out == NULL || is_active_out == NULL)
        return sp_model_leave(SP_CU_INVALID_VALUE);
    *flags_out = contexts.primary_flags[device];
    *is_active_out = contexts.primary[device] != NULL;
    return sp_model_leave(SP_CU_SUCCESS);
}

sp_cu_result sp_model_cuDevicePrimaryCtxSetFlags(sp_cu_device device, unsigned flags)
{
    SP_MODEL_ENTER(cuDevicePrimaryCtxSetFlags);
    if (!sp_model_is_device(device))
        return sp_model_leave(SP_CU_INVALID_DEVICE);
    if (flags > 0xff)
        return sp_model_leave(SP_CU_INVALID_VALUE);
    contexts.primary_flags[device] = flags;
    return sp_model_leave(SP_CU_SUCCESS);
}

/* ---- created contexts ---------------------------------------------------------------- */

sp_cu_result sp_model_cuCtxCreate(sp_cu_context *context_out, unsigned flags,
                                  sp_cu_device device)
{
    struct sp_model_context *context;

    SP_MODEL_ENTER(cuCtxCreate);
    if (!sp_model_is_device(device))
        return sp_model_leave(SP_CU_INVALID_DEVICE);
    if (context_out == NULL || flags > 0xff)
        return sp_model_leave(SP_CU_INVALID_VALUE);
    context = open_context(device, flags);
    if (context == NULL)
        return sp_model_leave(SP_CU_OUT_OF_MEMORY);
    if (push(context) != SP_CU_SUCCESS) {
        context->is_alive = false;
        return sp_model_leave(SP_CU_OUT_OF_MEMORY);
    }
    *context_out = (sp_cu_context)context;
    return sp_model_leave(SP_CU_SUCCESS);
}

sp_cu_result sp_model_cuCtxDestroy(sp_cu_context handle)
{
    struct sp_model_context *context;

    SP_MODEL_ENTER(cuCtxDestroy);
    context = sp_model_context_find(handle);
    if (context == NULL || context->is_primary)
        return sp_model_leave(SP_CU_INVALID_CONTEXT);
    if (top_of_stack() == context)
        pop();
    close_context(context);
    return sp_model_leave(SP_CU_SUCCESS);
}

sp_cu_result sp_model_cuCtxSetCurrent(sp_cu_context handle)
{
    struct sp_model_context *context;

    SP_MODEL_ENTER(cuCtxSetCurrent);
    if (handle == NULL) {
        pop();
        return sp_model_leave(SP_CU_SUCCESS);
    }
    context = sp_model_context_find(handle);
    if (context == NULL)
        return sp_model_leave(SP_CU_INVALID_CONTEXT);
    if (top_of_stack() == NULL)
        return sp_model_leave(push(context));
    mine->stack[mine->n_stack - 1] = context;
    return sp_model_leave(SP_CU_SUCCESS);
}

sp_cu_result sp_model_cuCtxGetCurrent(sp_cu_context *context_out)
{
    SP_MODEL_ENTER(cuCtxGetCurrent);
    if (context_out == NULL)
        return sp_model_leave(SP_CU_INVALID_VALUE);
    *context_out = (sp_cu_context)sp_model_current();
    return sp_model_leave(SP_CU_SUCCESS);
}

sp_cu_result sp_model_cuCtxPushCurrent(sp_cu_context handle)
{
    struct sp_model_context *context;

    SP_MODEL_ENTER(cuCtxPushCurrent);
    context = sp_model_context_find(handle);
    if (context == NULL)
        return sp_model_leave(SP_CU_INVALID_CONTEXT);
    return sp_model_leave(push(context));
}

sp_cu_result sp_model_cuCtxPopCurrent(sp_cu_context *context_out)
{
    struct sp_model_context *context;

    SP_MODEL_ENTER(cuCtxPopCurrent);
    context = top_of_stack();
    if (context == NULL)
        return sp_model_leave(SP_CU_INVALID_CONTEXT);
    pop();
    if (context_out != NULL)
        *context_out = (sp_cu_context)context;
    return sp_model_leave(SP_CU_SUCCESS);
}

sp_cu_result sp_model_cuCtxGetDevice(sp_cu_device *device_out)
{
    struct sp_model_context *context;
    sp_cu_result result;

    SP_MODEL_ENTER(cuCtxGetDevice);
    if (device_out == NULL)
        return sp_model_leave(SP_CU_INVALID_VALUE);
    result = sp_model_context_get(&context);
    if (result == SP_CU_SUCCESS)
        *device_out = context->device;
    return sp_model_leave(result);
}

/* ---- peers --------------------------------------------------------------------------- */

/* The two contexts of a call about peers. */
static sp_cu_result get_pair(sp_cu_context handle, struct sp_model_context **mine_out,
                             struct sp_model_context **peer_out)
{
    sp_cu_result result = sp_model_context_get(mine_out);

    if (result != SP_CU_SUCCESS)
        return result;
    *peer_out = sp_model_context_find(handle);
    return *peer_out == NULL || *peer_out == *mine_out ? SP_CU_INVALID_CONTEXT : SP_CU_SUCCESS;
}

sp_cu_result sp_model_cuCtxEnablePeerAccess(sp_cu_context handle, unsigned flags)
{
    struct sp_model_context *context, *peer;
    sp_cu_result result;

    SP_MODEL_ENTER(cuCtxEnablePeerAccess);
    result = get_pair(handle, &context, &peer);
    if (result != SP_CU_SUCCESS)
        return sp_model_leave(result);
    if (flags != 0)
        return sp_model_leave(SP_CU_INVALID_VALUE);
    if (!sp_model_can_access_peer(context->device, peer->device))
        return sp_model_leave(SP_CU_PEER_ACCESS_UNSUPPORTED);
    if ((context->peers >> peer->device & 1) != 0)
        return sp_model_leave(SP_CU_PEER_ACCESS_ALREADY_ENABLED);
    context->peers |= 1U << peer->device;
    return sp_model_leave(SP_CU_SUCCESS);
}

sp_cu_result sp_model_cuCtxDisablePeerAccess(sp_cu_context handle)
{
    struct sp_model_context *context, *peer;
    sp_cu_result result;

    SP_MODEL_ENTER(cuCtxDisablePeerAccess);
    result = get_pair(handle, &context, &peer);
    if (result != SP_CU_SUCCESS)
        return sp_model_leave(result);
    if ((context->peers >> peer->device & 1) == 0)
        return sp_model_leave(SP_CU_PEER_ACCESS_NOT_ENABLED);
    context->peers &= ~(1U << peer->device);
    return sp_model_leave(SP_CU_SUCCESS);
}
