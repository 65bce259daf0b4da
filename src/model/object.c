/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* User objects: who holds how many references, and the thread on which destructors run. Nothing
 * of the model waits for one. */
#include "config.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "src/model/graph.h"
#include "src/model/private.h"
#include "src/model/tickets.h"
#include "src/util/util.h"

/*
 * Its destructor is due, once, when nobody holds it any more:
 *
 *   is valid == n_program + n_graphs > 0
 */
struct sp_model_object {
    sp_cu_object handle;
    sp_cu_host_fn destroy;
    void *arg;
    uint64_t n_program; /* references of the program's own */
    uint64_t n_graphs;  /* of graphs, executables and launches */
    bool is_abandoned;  /* the model has started over: the destructor is not due any more */
    struct sp_model_object *next, **link; /* in the list of all, or of those that are due */
};

/* Behind the model's lock. The thread is started with the first object. */
static struct {
    struct sp_tickets handles;
    struct sp_model_object *all;
    struct sp_model_object *due, **due_end;
    pthread_t thread;
    pthread_cond_t wake;
    bool is_running, is_quitting;
} objects = {
    .handles = {.kind = SP_TICKET_OBJECT},
    .due_end = &objects.due,
    .wake = PTHREAD_COND_INITIALIZER,
};

static __thread bool is_destructor;

/* ---- destructors ----------------------------------------------------------------------- */

bool sp_model_is_destructor(void)
{
    if (!is_destructor)
        return false;
    sp_lock_take(sp_model_lock());
    sp_model_violation("a user object's destructor calls the driver");
    sp_lock_give(sp_model_lock());
    return true;
}

/* The first that is due; the lock is given meanwhile. */
static void run_destructor(void)
{
    struct sp_model_object *object = objects.due;

    objects.due = object->next;
    if (objects.due == NULL)
        objects.due_end = &objects.due;
    sp_lock_give(sp_model_lock());
    object->destroy(object->arg);
    free(object);
    sp_lock_take(sp_model_lock());
}

static void *destructor_main(void *arg)
{
    (void)arg;
    is_destructor = true;
    sp_model_run_dress("sp-objects");
    sp_lock_take(sp_model_lock());
    while (objects.due != NULL || !objects.is_quitting) {
        if (objects.due != NULL)
            run_destructor();
        else
            pthread_cond_wait(&objects.wake, &sp_model_lock()->mutex);
    }
    sp_lock_give(sp_model_lock());
    return NULL;
}

/* No signal of the program's is handled there. */
static bool start_thread(void)
{
    sigset_t all, before;

    if (objects.is_running)
        return true;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    objects.is_running = pthread_create(&objects.thread, NULL, destructor_main, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return objects.is_running;
}

/* ---- references ------------------------------------------------------------------------ */

static struct sp_model_object *find(sp_cu_object handle)
{
    struct sp_model_object *object = sp_tickets_find(&objects.handles, handle);

    if (object == NULL && sp_tickets_is_stale(&objects.handles, handle))
        sp_model_violation("the handle %p is of a user object without references",
                           (void *)handle);
    return object;
}

static void unlink_object(struct sp_model_object *object)
{
    *object->link = object->next;
    if (object->next != NULL)
        object->next->link = object->link;
    object->next = NULL;
}

/* References have been given back; the last ones make the destructor due. */
static void settle(struct sp_model_object *object)
{
    if (object->n_program + object->n_graphs > 0)
        return;
    unlink_object(object);
    if (object->is_abandoned) {
        free(object);
        return;
    }
    sp_tickets_remove(&objects.handles, object->handle);
    *objects.due_end = object;
    objects.due_end = &object->next;
    pthread_cond_signal(&objects.wake);
}

/* The program gives away references of its own. More than it has is undefined. */
static bool take_from_program(struct sp_model_object *object, unsigned count)
{
    if (object->n_program < count) {
        sp_model_violation("%u references of a user object are given away, and %llu are held",
                           count, (unsigned long long)object->n_program);
        return false;
    }
    object->n_program -= count;
    return true;
}

/* ---- holders --------------------------------------------------------------------------- */

/* The record of an object in a list, or the end of it. */
static struct sp_model_held **find_held(struct sp_model_held **held,
                                        const struct sp_model_object *object)
{
    while (*held != NULL && (*held)->object != object)
        held = &(*held)->next;
    return held;
}

static bool hold(struct sp_model_held **held, struct sp_model_object *object, uint64_t count)
{
    struct sp_model_held **link = find_held(held, object);

    if (*link == NULL) {
        *link = calloc(1, sizeof(**link));
        if (*link == NULL)
            return false;
        (*link)->object = object;
    }
    (*link)->count += count;
    object->n_graphs += count;
    return true;
}

bool sp_model_held_copy(struct sp_model_held **held_out, const struct sp_model_held *from)
{
    struct sp_model_held *held = NULL;

    for (; from != NULL; from = from->next) {
        if (!hold(&held, from->object, from->count)) {
            sp_model_held_put(&held);
            return false;
        }
    }
    *held_out = held;
    return true;
}

static void put_first(struct sp_model_held **link)
{
    struct sp_model_held *held = *link;

    *link = held->next;
    held->object->n_graphs -= held->count;
    settle(held->object);
    free(held);
}

void sp_model_held_put(struct sp_model_held **held)
{
    while (*held != NULL)
        put_first(held);
}

/* ---- starting over --------------------------------------------------------------------- */

static void end_thread(void)
{
    if (!objects.is_running)
        return;
    objects.is_quitting = true;
    pthread_cond_signal(&objects.wake);
    sp_lock_give(sp_model_lock());
    pthread_join(objects.thread, NULL);
    sp_lock_take(sp_model_lock());
    objects.is_running = objects.is_quitting = false;
}

/* What the last start had left, and nobody came for since, is held by nobody that is alive. */
void sp_model_objects_reset(void)
{
    struct sp_model_object *next;

    end_thread();
    for (struct sp_model_object *object = objects.all; object != NULL; object = next) {
        next = object->next;
        if (object->is_abandoned)
            object->n_graphs = 0;
        object->is_abandoned = true;
        object->n_program = 0;
        settle(object);
    }
    sp_tickets_fini(&objects.handles);
}

/* ---- entry points ---------------------------------------------------------------------- */

static bool is_count(unsigned count)
{
    return count > 0 && count <= INT_MAX;
}

static sp_cu_result create(sp_cu_object *object_out, void *arg, sp_cu_host_fn destroy,
                           unsigned initial)
{
    struct sp_model_object *object = calloc(1, sizeof(*object));

    if (object == NULL)
        return SP_CU_OUT_OF_MEMORY;
    object->handle = sp_tickets_add(&objects.handles, object);
    if (object->handle == NULL) {
        free(object);
        return SP_CU_OUT_OF_MEMORY;
    }
    object->destroy = destroy;
    object->arg = arg;
    object->n_program = initial;
    object->next = objects.all;
    object->link = &objects.all;
    if (object->next != NULL)
        object->next->link = &object->next;
    objects.all = object;
    *object_out = object->handle;
    return SP_CU_SUCCESS;
}

/* That nothing waits for the destructor is not a choice: the flag must be there. */
sp_cu_result sp_model_cuUserObjectCreate(sp_cu_object *object_out, void *arg,
                                         sp_cu_host_fn destroy, unsigned initial,
                                         unsigned flags)
{
    SP_MODEL_ENTER(cuUserObjectCreate);
    if (object_out == NULL || destroy == NULL || !is_count(initial) ||
        flags != SP_CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
        return sp_model_leave(SP_CU_INVALID_VALUE);
    if (!start_thread())
        return sp_model_leave(SP_CU_OUT_OF_MEMORY);
    return sp_model_leave(create(object_out, arg, destroy, initial));
}

sp_cu_result sp_model_cuUserObjectRetain(sp_cu_object handle, unsigned count)
{
    struct sp_model_object *object;

    SP_MODEL_ENTER(cuUserObjectRetain);
    object = find(handle);
    if (object == NULL || !is_count(count))
        return sp_model_leave(SP_CU_INVALID_VALUE);
    object->n_program += count;
    return sp_model_leave(SP_CU_SUCCESS);
}

sp_cu_result sp_model_cuUserObjectRelease(sp_cu_object handle, unsigned count)
{
    struct sp_model_object *object;

    SP_MODEL_ENTER(cuUserObjectRelease);
    object = find(handle);
    if (object == NULL || !is_count(count) || !take_from_program(object, count))
        return sp_model_leave(SP_CU_INVALID_VALUE);
    settle(object);
    return sp_model_leave(SP_CU_SUCCESS);
}

static sp_cu_result retain(struct sp_model_graph *graph, struct sp_model_object *object,
                           unsigned count, unsigned flags)
{
    bool is_move = flags == SP_CU_GRAPH_USER_OBJECT_MOVE;

    if (graph == NULL || object == NULL || !is_count(count) || (flags != 0 && !is_move))
        return SP_CU_INVALID_VALUE;
    if (is_move && !take_from_program(object, count))
        return SP_CU_INVALID_VALUE;
    if (hold(&graph->held, object, count))
        return SP_CU_SUCCESS;
    if (is_move)
        object->n_program += count;
    return SP_CU_OUT_OF_MEMORY;
}

sp_cu_result sp_model_cuGraphRetainUserObject(sp_cu_graph graph, sp_cu_object object,
                                              unsigned count, unsigned flags)
{
    SP_MODEL_ENTER(cuGraphRetainUserObject);
    return sp_model_leave(retain(sp_model_graph_find(graph), find(object), count, flags));
}

/* A graph cannot give back what it has not. */
static sp_cu_result release(struct sp_model_graph *graph, struct sp_model_object *object,
                            unsigned count)
{
    struct sp_model_held **link;

    if (graph == NULL || object == NULL || !is_count(count))
        return SP_CU_INVALID_VALUE;
    link = find_held(&graph->held, object);
    if (*link == NULL || (*link)->count < count)
        return SP_CU_INVALID_VALUE;
    if ((*link)->count == count) {
        put_first(link);
        return SP_CU_SUCCESS;
    }
    (*link)->count -= count;
    object->n_graphs -= count;
    return SP_CU_SUCCESS;
}

sp_cu_result sp_model_cuGraphReleaseUserObject(sp_cu_graph graph, sp_cu_object object,
                                               unsigned count)
{
    SP_MODEL_ENTER(cuGraphReleaseUserObject);
    return sp_model_leave(release(sp_model_graph_find(graph), find(object), count));
}
