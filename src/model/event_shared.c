/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Events that order streams of several processes: a shared page counts recordings (turns), and
 * says which of them have been executed. Whoever waits looks at it now and then. What another
 * process writes there can make a stream wait, and nothing worse. */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "src/model/event.h"
#include "src/util/util.h"

/* What the words of the page are. So many turns can be under way at once; of more, a waiter may
 * take a later one for its own. */
enum { WORD_TURN, WORD_PID, WORD_EXECUTED = 8 };
#define N_TURNS (SP_SHARED_WORDS - WORD_EXECUTED)

/* The argument of an operation. */
struct turn {
    struct sp_model_link *link;
    uint64_t number;
};

/* Behind the model's lock. */
static struct {
    struct sp_model_link *all;
} links;

static uint64_t *word(const struct sp_model_link *link, unsigned index)
{
    return &link->shared.page->words[index];
}

static uint64_t read_word(const struct sp_model_link *link, unsigned index)
{
    return __atomic_load_n(word(link, index), __ATOMIC_ACQUIRE);
}

/* ---- links --------------------------------------------------------------------------- */

static struct sp_model_link *add_link(const struct sp_shared *shared)
{
    struct sp_model_link *link = malloc(sizeof(*link));

    if (link != NULL) {
        *link = (struct sp_model_link){*shared, 1, links.all};
        links.all = link;
    }
    return link;
}

bool sp_model_link_create(struct sp_model_event *event)
{
    struct sp_shared shared;

    if (sp_shared_create(SP_SHARED_EVENT, 0, &shared) != STARPOOL_OK)
        return false;
    event->link = add_link(&shared);
    if (event->link == NULL)
        sp_shared_close(&shared);
    return event->link != NULL;
}

static void remove_link(struct sp_model_link *link)
{
    struct sp_model_link **at = &links.all;

    while (*at != link)
        at = &(*at)->next;
    *at = link->next;
    sp_shared_close(&link->shared);
    free(link);
}

void sp_model_link_put(struct sp_model_link *link)
{
    if (--link->n_users == 0)
        remove_link(link);
}

void sp_model_links_reset(void)
{
    while (links.all != NULL)
        remove_link(links.all);
}

/* ---- turns --------------------------------------------------------------------------- */

/* The process that has recorded last is gone: what it had queued will never be executed. */
static bool is_recorder_gone(const struct sp_model_link *link)
{
    pid_t pid = (pid_t)read_word(link, WORD_PID);

    return pid > 0 && kill(pid, 0) != 0 && errno == ESRCH;
}

static bool is_executed(const struct sp_model_link *link, uint64_t number)
{
    return number == 0 ||
           read_word(link, WORD_EXECUTED + (unsigned)(number % N_TURNS)) >= number ||
           is_recorder_gone(link);
}

static void *new_turn(struct sp_model_link *link, uint64_t number)
{
    struct turn *turn = malloc(sizeof(*turn));

    if (turn != NULL) {
        *turn = (struct turn){link, number};
        link->n_users++;
    }
    return turn;
}

void *sp_model_turn_begin(struct sp_model_event *event)
{
    struct turn *turn = new_turn(event->link, 0);

    if (turn == NULL)
        return NULL;
    turn->number = __atomic_add_fetch(word(event->link, WORD_TURN), 1, __ATOMIC_ACQ_REL);
    __atomic_store_n(word(event->link, WORD_PID), (uint64_t)getpid(), __ATOMIC_RELEASE);
    event->turn = turn->number;
    return turn;
}

static void say_executed(const struct sp_model_link *link, uint64_t number)
{
    unsigned index = WORD_EXECUTED + (unsigned)(number % N_TURNS);

    __atomic_store_n(word(link, index), number, __ATOMIC_RELEASE);
}

/* Executed in a stream. */
sp_cu_result sp_model_turn_end(void *arg)
{
    const struct turn *turn = arg;

    say_executed(turn->link, turn->number);
    return sp_model_turn_forget(arg);
}

void sp_model_turn_cancel(struct sp_model_event *event)
{
    say_executed(event->link, event->turn);
    sp_model_link_put(event->link);
}

void *sp_model_turn_await(struct sp_model_event *event)
{
    return new_turn(event->link, read_word(event->link, WORD_TURN));
}

bool sp_model_turn_is_over(void *arg)
{
    const struct turn *turn = arg;

    return is_executed(turn->link, turn->number);
}

/* Executed in a stream. */
sp_cu_result sp_model_turn_forget(void *arg)
{
    const struct turn *turn = arg;

    sp_lock_take(sp_model_lock());
    sp_model_link_put(turn->link);
    sp_lock_give(sp_model_lock());
    return SP_CU_SUCCESS;
}

bool sp_model_link_is_over(const struct sp_model_link *link)
{
    return is_executed(link, read_word(link, WORD_TURN));
}

bool sp_model_event_is_foreign(const struct sp_model_event *event)
{
    return event->link != NULL && read_word(event->link, WORD_TURN) != event->turn;
}

/* ---- entry points -------------------------------------------------------------------- */

sp_cu_result sp_model_cuIpcGetEventHandle(struct sp_cu_ipc_event_handle *handle_out,
                                          sp_cu_event handle)
{
    const struct sp_model_event *event;

    SP_MODEL_ENTER(cuIpcGetEventHandle);
    event = sp_model_event_find(handle);
    if (event == NULL)
        return sp_model_leave(SP_CU_INVALID_HANDLE);
    if (handle_out == NULL || event->link == NULL)
        return sp_model_leave(SP_CU_INVALID_VALUE);
    sp_shared_export(&event->link->shared, &(struct sp_shared_part){0}, handle_out->reserved);
    return sp_model_leave(SP_CU_SUCCESS);
}

/* The event of another process, as a new one of the current context. */
static sp_cu_result open_event(struct sp_model_context *context,
                               const struct sp_cu_ipc_event_handle *handle,
                               struct sp_model_event **event_out)
{
    struct sp_model_event *event;
    struct sp_shared_part part;
    struct sp_shared shared;
    enum starpool_status status =
        sp_shared_open(SP_SHARED_EVENT, handle->reserved, &part, &shared);

    if (status != STARPOOL_OK)
        return status == STARPOOL_ENOMEM ? SP_CU_OUT_OF_MEMORY : SP_CU_INVALID_HANDLE;
    event = sp_model_event_open(context, SP_CU_EVENT_INTERPROCESS | SP_CU_EVENT_DISABLE_TIMING);
    if (event != NULL)
        event->link = add_link(&shared);
    if (event == NULL || event->link == NULL) {
        sp_shared_close(&shared);
        if (event != NULL)
            sp_model_event_close(event);
        return SP_CU_OUT_OF_MEMORY;
    }
    *event_out = event;
    return SP_CU_SUCCESS;
}

sp_cu_result sp_model_cuIpcOpenEventHandle(sp_cu_event *event_out,
                                           struct sp_cu_ipc_event_handle handle)
{
    struct sp_model_context *context;
    struct sp_model_event *event;
    sp_cu_result result;

    SP_MODEL_ENTER(cuIpcOpenEventHandle);
    result = sp_model_context_get(&context);
    if (result == SP_CU_SUCCESS && event_out == NULL)
        result = SP_CU_INVALID_VALUE;
    if (result == SP_CU_SUCCESS)
        result = open_event(context, &handle, &event);
    if (result == SP_CU_SUCCESS)
        *event_out = event->handle;
    return sp_model_leave(result);
}
