/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What may not be done while something is captured: by the modes of threads and captures, by
 * what the legacy stream and whole contexts imply, and on capturing streams themselves. */
#include "config.h"

#include "src/model/capture_state.h"

/* The kinds of unsafe.def; 0 for the calls that are not there. */
enum { KIND_SAFE, KIND_MEMORY, KIND_ATTRIBUTE, KIND_MANAGEMENT, KIND_LOOKUP };

static const unsigned char kinds[SP_N_CALLS] = {
#define X(name, kind) [SP_CALL_##name] = KIND_##kind,
#include "src/model/unsafe.def"
#undef X
};

/* ---- threads ------------------------------------------------------------------------- */

/* Behind the model's lock. */
static struct {
    uint64_t last_thread;
} rules;

/* The mode is of no use once the generation is another. */
static __thread struct {
    uint64_t number; /* 0: not given yet */
    uint64_t generation;
    int mode;
} mine;

uint64_t sp_model_thread_number(void)
{
    if (mine.number == 0)
        mine.number = ++rules.last_thread;
    return mine.number;
}

int sp_model_thread_mode(void)
{
    return mine.generation == sp_model_generation() ? mine.mode : SP_CU_CAPTURE_MODE_GLOBAL;
}

void sp_model_thread_set_mode(int mode)
{
    mine.generation = sp_model_generation();
    mine.mode = mode;
}

/* ---- the rule of modes --------------------------------------------------------------- */

/* Does the capture forbid the calling thread what is potentially unsafe? */
static bool forbids(const struct sp_model_capture *capture)
{
    int mode = sp_model_thread_mode();

    if (capture->thread == sp_model_thread_number())
        return mode != SP_CU_CAPTURE_MODE_RELAXED &&
               capture->mode != SP_CU_CAPTURE_MODE_RELAXED;
    return mode == SP_CU_CAPTURE_MODE_GLOBAL && capture->mode == SP_CU_CAPTURE_MODE_GLOBAL;
}

sp_cu_result sp_model_capture_unsafe(void)
{
    sp_cu_result result = SP_CU_SUCCESS;

    for (struct sp_model_capture *capture = sp_model_captures(); capture != NULL;
         capture = capture->next) {
        if (forbids(capture)) {
            sp_model_capture_invalidate(capture);
            result = SP_CU_STREAM_CAPTURE_UNSUPPORTED;
        }
    }
    return result;
}

sp_cu_result sp_model_capture_call(int call)
{
    enum { ATTRIBUTES = 1, EVERYTHING };
    unsigned pool_calls;

    if (kinds[call] == KIND_SAFE)
        return SP_CU_SUCCESS;
    pool_calls = sp_model_switch(SP_SWITCH_pool_calls);
    switch (kinds[call]) {
    case KIND_MANAGEMENT:
        return pool_calls == ATTRIBUTES ? SP_CU_SUCCESS : sp_model_capture_unsafe();
    case KIND_LOOKUP:
        return pool_calls == EVERYTHING ? sp_model_capture_unsafe() : SP_CU_SUCCESS;
    default:
        return sp_model_capture_unsafe();
    }
}

/* ---- streams ------------------------------------------------------------------------- */

/* The first member among a context's blocking streams, from `stream` on; NULL if there is none.
 */
static struct sp_model_stream *find_blocking(struct sp_model_stream *stream)
{
    while (stream != NULL && (stream->member == NULL || !sp_model_stream_is_blocking(stream)))
        stream = stream->next;
    return stream;
}

bool sp_model_capture_is_implied(const struct sp_model_stream *stream)
{
    return sp_model_captures() != NULL && stream->is_legacy &&
           find_blocking(stream->context->streams) != NULL;
}

sp_cu_result sp_model_capture_implicit(struct sp_model_stream *stream)
{
    struct sp_model_stream *other;

    if (!sp_model_capture_is_implied(stream))
        return SP_CU_SUCCESS;
    for (other = find_blocking(stream->context->streams); other != NULL;
         other = find_blocking(other->next))
        sp_model_capture_invalidate(other->member->capture);
    return SP_CU_STREAM_CAPTURE_IMPLICIT;
}

sp_cu_result sp_model_capture_forbid(struct sp_model_stream *stream)
{
    if (stream->member == NULL)
        return sp_model_capture_implicit(stream);
    if (stream->member->capture->is_invalidated)
        return SP_CU_STREAM_CAPTURE_INVALIDATED;
    sp_model_capture_invalidate(stream->member->capture);
    return SP_CU_STREAM_CAPTURE_UNSUPPORTED;
}

/* ---- contexts ------------------------------------------------------------------------ */

/* Those of the captures in a context that are meant die. */
static sp_cu_result refuse_context(struct sp_model_context *context,
                                   bool (*is_meant)(const struct sp_model_capture *capture))
{
    sp_cu_result result = SP_CU_SUCCESS;

    for (struct sp_model_stream *stream = context->streams; stream != NULL;
         stream = stream->next) {
        if (stream->member != NULL && is_meant(stream->member->capture)) {
            sp_model_capture_invalidate(stream->member->capture);
            result = SP_CU_STREAM_CAPTURE_UNSUPPORTED;
        }
    }
    return result;
}

static bool any_capture(const struct sp_model_capture *capture)
{
    (void)capture;
    return true;
}

static bool own_or_global(const struct sp_model_capture *capture)
{
    return capture->mode == SP_CU_CAPTURE_MODE_GLOBAL ||
           capture->thread == sp_model_thread_number();
}

sp_cu_result sp_model_capture_context(struct sp_model_context *context)
{
    return refuse_context(context, any_capture);
}

sp_cu_result sp_model_capture_synchronize(struct sp_model_context *context)
{
    return refuse_context(
        context, sp_model_switch(SP_SWITCH_sync_elsewhere) == 0 ? any_capture : own_or_global);
}

/* ---- graphs -------------------------------------------------------------------------- */

sp_cu_result sp_model_capture_instantiate(const struct sp_model_graph *graph)
{
    if (!sp_model_graph_is_captured(graph))
        return SP_CU_SUCCESS;
    return sp_model_switch(SP_SWITCH_instantiate_captured) == 0 ? SP_CU_INVALID_VALUE
                                                                : SP_CU_ILLEGAL_STATE;
}
