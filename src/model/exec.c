/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Executables: what may be made into one, what it has of its own, and its end, which waits for
 * its launches. */
#include "config.h"

#include <stdlib.h>

#include "src/model/capture.h"
#include "src/model/exec.h"
#include "src/model/private.h"
#include "src/model/tickets.h"
#include "src/util/util.h"

#define FLAGS                                                                            \
    (uint64_t)(SP_CU_INSTANTIATE_AUTO_FREE_ON_LAUNCH | SP_CU_INSTANTIATE_DEVICE_LAUNCH | \
               SP_CU_INSTANTIATE_USE_NODE_PRIORITY)

/* Behind the model's lock. */
static struct {
    struct sp_tickets handles;
    struct sp_model_exec *all;
} execs = {.handles = {.kind = SP_TICKET_EXEC}};

struct sp_model_exec *sp_model_execs(void)
{
    return execs.all;
}

struct sp_model_exec *sp_model_exec_find(sp_cu_exec handle)
{
    struct sp_model_exec *exec = sp_tickets_find(&execs.handles, handle);

    if (exec == NULL && sp_tickets_is_stale(&execs.handles, handle))
        sp_model_violation("the handle %p is of an executable that has been destroyed",
                           (void *)handle);
    return exec;
}

/* ---- what its steps allocate --------------------------------------------------------- */

static sp_cu_result count_allocs(struct sp_model_step *step, void *arg)
{
    size_t *n = arg;

    *n += step->work.type == SP_CU_NODE_MEM_ALLOC;
    return SP_CU_SUCCESS;
}

/* A place for each segment; each allocation counts as unfreed. */
static sp_cu_result list_place(struct sp_model_step *step, void *arg)
{
    struct sp_model_exec *exec = arg;
    struct sp_model_segment *segment;

    if (step->work.type != SP_CU_NODE_MEM_ALLOC)
        return SP_CU_SUCCESS;
    step->work.alloc->free_step = SIZE_MAX;
    segment = step->work.alloc->segment;
    if (segment->place == 0) {
        exec->places[exec->n_places++].segment = segment;
        segment->place = exec->n_places;
    }
    return SP_CU_SUCCESS;
}

static sp_cu_result note_free(struct sp_model_step *step, void *arg)
{
    (void)arg;
    if (step->work.type == SP_CU_NODE_MEM_FREE)
        step->work.alloc->free_step = 0;
    return SP_CU_SUCCESS;
}

static sp_cu_result note_own(struct sp_model_step *step, void *arg)
{
    struct sp_model_exec *exec = arg;
    const struct sp_model_alloc *alloc = step->work.alloc;

    if (step->work.type == SP_CU_NODE_MEM_ALLOC && alloc->free_step == SIZE_MAX)
        exec->places[alloc->segment->place - 1].is_own = true;
    return SP_CU_SUCCESS;
}

static sp_cu_result forget_free(struct sp_model_step *step, void *arg)
{
    (void)arg;
    if (step->work.type == SP_CU_NODE_MEM_FREE)
        step->work.alloc->free_step = SIZE_MAX;
    return SP_CU_SUCCESS;
}

static struct sp_model_share *share_of(struct sp_model_exec *exec, int device)
{
    for (size_t i = 0; i < exec->n_shares; i++) {
        if (exec->shares[i].device == device)
            return &exec->shares[i];
    }
    exec->shares[exec->n_shares] = (struct sp_model_share){.device = device};
    return &exec->shares[exec->n_shares++];
}

/* Memory of the host is not counted. */
static void add_shares(struct sp_model_exec *exec)
{
    for (size_t i = 0; i < exec->n_places; i++) {
        struct sp_model_segment *segment = exec->places[i].segment;

        segment->place = 0;
        if (segment->memory.device >= 0)
            share_of(exec, segment->memory.device)->bytes +=
                exec->places[i].is_own ? 0 : segment->memory.size;
    }
}

bool sp_model_exec_place_all(struct sp_model_exec *exec)
{
    size_t n = 0;
    struct sp_model_exec_place *places;
    struct sp_model_share *shares;

    (void)sp_model_steps_visit(&exec->steps, count_allocs, &n);
    places = calloc(n + 1, sizeof(*places));
    shares = calloc(sp_min(n, SP_MODEL_MAX_DEVICES) + 1, sizeof(*shares));
    if (places == NULL || shares == NULL) {
        free(places);
        free(shares);
        return false;
    }
    free(exec->places);
    free(exec->shares);
    exec->places = places;
    exec->shares = shares;
    exec->n_places = exec->n_shares = 0;
    (void)sp_model_steps_visit(&exec->steps, list_place, exec);
    (void)sp_model_steps_visit(&exec->steps, note_free, NULL);
    (void)sp_model_steps_visit(&exec->steps, note_own, exec);
    (void)sp_model_steps_visit(&exec->steps, forget_free, NULL);
    add_shares(exec);
    return true;
}

/* ---- beginning and end --------------------------------------------------------------- */

/* The user objects of steps and of their parts are put at the end of a list. */
static struct sp_model_held **move_objects(struct sp_model_held **held,
                                           struct sp_model_steps *steps)
{
    *held = steps->held;
    steps->held = NULL;
    while (*held != NULL)
        held = &(*held)->next;
    for (size_t i = 0; i < steps->n; i++) {
        for (size_t j = 0; j < steps->all[i].n_parts; j++)
            held = move_objects(held, &steps->all[i].parts[j]);
    }
    return held;
}

void sp_model_exec_retire(struct sp_model_exec *exec, struct sp_model_steps *old)
{
    struct sp_model_held **held = &exec->held_before;

    while (*held != NULL)
        held = &(*held)->next;
    if (exec->n_in_flight > 0)
        (void)move_objects(held, old);
    sp_model_steps_fini(old);
}

/* Nothing of it is in flight any more. */
static void delete_exec(struct sp_model_exec *exec)
{
    sp_model_exec_detach(exec);
    sp_model_held_put(&exec->held_before);
    sp_model_steps_fini(&exec->steps);
    *exec->link = exec->next;
    if (exec->next != NULL)
        exec->next->link = exec->link;
    free(exec->places);
    free(exec->shares);
    sp_mark_fini(&exec->ended);
    free(exec);
}

static void link_exec(struct sp_model_exec *exec, struct sp_model_graph *graph)
{
    exec->graph = graph;
    exec->next_of_graph = graph->execs;
    graph->execs = exec;
    exec->next = execs.all;
    exec->link = &execs.all;
    if (exec->next != NULL)
        exec->next->link = &exec->next;
    execs.all = exec;
}

static void leave_graph(struct sp_model_exec *exec)
{
    struct sp_model_exec **link;

    if (exec->graph == NULL)
        return;
    link = &exec->graph->execs;
    while (*link != exec)
        link = &(*link)->next_of_graph;
    *link = exec->next_of_graph;
    exec->graph = NULL;
}

static void destroy(struct sp_model_exec *exec)
{
    sp_tickets_remove(&execs.handles, exec->handle);
    exec->handle = NULL;
    leave_graph(exec);
    if (exec->n_in_flight == 0)
        delete_exec(exec);
}

void sp_model_exec_landed(struct sp_model_exec *exec)
{
    if (--exec->n_in_flight > 0)
        return;
    sp_model_held_put(&exec->held_before);
    if (exec->handle == NULL)
        delete_exec(exec);
}

bool sp_model_exec_is_idle(const struct sp_model_exec *exec)
{
    return exec->n_in_flight == 0 && sp_model_has_executed(exec->last);
}

void sp_model_execs_orphan(struct sp_model_graph *graph)
{
    while (graph->execs != NULL)
        leave_graph(graph->execs);
}

void sp_model_execs_reset(void)
{
    while (execs.all != NULL) {
        leave_graph(execs.all);
        delete_exec(execs.all);
    }
    sp_tickets_fini(&execs.handles);
}

/* ---- instantiating ------------------------------------------------------------------- */

/* What is found wrong, for those who are told more than a result. */
struct finding {
    int result; /* SP_CU_INSTANTIATE... */
    sp_cu_node node;
};

static sp_cu_result check_flags(uint64_t flags, uint64_t known)
{
    uint64_t both = SP_CU_INSTANTIATE_AUTO_FREE_ON_LAUNCH | SP_CU_INSTANTIATE_DEVICE_LAUNCH;

    return (flags & ~known) != 0 || (flags & both) == both ? SP_CU_INVALID_VALUE
                                                           : SP_CU_SUCCESS;
}

/* Copies and memsets, beside kernels, which the model has not (GNODE-29). */
static sp_cu_result check_for_device(struct sp_model_step *step, void *arg)
{
    struct finding *finding = arg;

    if (step->work.type == SP_CU_NODE_MEMCPY || step->work.type == SP_CU_NODE_MEMSET ||
        step->work.type == SP_CU_NODE_GRAPH)
        return SP_CU_SUCCESS;
    finding->result = SP_CU_INSTANTIATE_OPERATION_NOT_SUPPORTED;
    finding->node = step->origin;
    return SP_CU_NOT_SUPPORTED;
}

static sp_cu_result check_graph(const struct sp_model_graph *graph, struct finding *finding)
{
    sp_cu_result result = sp_model_capture_instantiate(graph);

    if (graph->is_moved)
        return sp_model_moved_result();
    if (result != SP_CU_SUCCESS)
        return result;
    if (graph->is_conditional_body || (graph->has_memory && graph->execs != NULL))
        return SP_CU_NOT_SUPPORTED; /* GNODE-22 */
    for (const struct sp_model_condition *condition = graph->conditions; condition != NULL;
         condition = condition->next) {
        if (!condition->is_used) {
            finding->result = SP_CU_INSTANTIATE_CONDITIONAL_UNUSED;
            return SP_CU_INVALID_VALUE;
        }
    }
    return SP_CU_SUCCESS;
}

static sp_cu_result check_loop(struct sp_model_step *step, void *arg)
{
    (void)arg;
    if (step->work.type == SP_CU_NODE_CONDITIONAL &&
        step->work.condition.params.type == SP_CU_CONDITION_WHILE &&
        step->work.condition.value != 0)
        sp_model_violation("a conditional loop of a graph is entered and nothing ends it");
    return SP_CU_SUCCESS;
}

/* Its parts, one after another; what there is of them can be deleted at any time. */
static sp_cu_result fill(struct sp_model_exec *exec, struct sp_model_graph *graph,
                         struct finding *finding)
{
    sp_cu_result result = sp_model_steps_copy(graph, &exec->steps);

    if (result == SP_CU_INVALID_VALUE)
        finding->result = SP_CU_INSTANTIATE_INVALID_STRUCTURE;
    if (result == SP_CU_SUCCESS && (exec->flags & SP_CU_INSTANTIATE_DEVICE_LAUNCH) != 0)
        result = sp_model_steps_visit(&exec->steps, check_for_device, finding);
    if (result == SP_CU_SUCCESS)
        result = sp_model_steps_check_order(&exec->steps);
    if (result == SP_CU_SUCCESS)
        result = sp_model_steps_visit(&exec->steps, check_loop, NULL);
    if (result == SP_CU_SUCCESS && !sp_model_exec_place_all(exec))
        result = SP_CU_OUT_OF_MEMORY;
    return result;
}

static sp_cu_result make(struct sp_model_graph *graph, uint64_t flags,
                         struct sp_model_exec **exec_out, struct finding *finding)
{
    struct sp_model_exec *exec = calloc(1, sizeof(*exec));
    sp_cu_result result;

    if (exec == NULL)
        return SP_CU_OUT_OF_MEMORY;
    exec->flags = flags;
    exec->has_memory = graph->has_memory;
    exec->has_condition = graph->has_condition;
    exec->last.slot = SP_SLOT_HOST;
    link_exec(exec, graph);
    result = fill(exec, graph, finding);
    if (result == SP_CU_SUCCESS) {
        exec->handle = sp_tickets_add(&execs.handles, exec);
        result = exec->handle == NULL ? SP_CU_OUT_OF_MEMORY : SP_CU_SUCCESS;
    }
    if (result != SP_CU_SUCCESS) {
        leave_graph(exec);
        delete_exec(exec);
        return result;
    }
    *exec_out = exec;
    return SP_CU_SUCCESS;
}

static sp_cu_result instantiate(sp_cu_exec *exec_out, sp_cu_graph handle, uint64_t flags,
                                struct sp_model_stream *upload_stream, struct finding *finding)
{
    struct sp_model_graph *graph = sp_model_graph_find(handle);
    struct sp_model_exec *exec;
    sp_cu_result result;

    if (exec_out == NULL || graph == NULL)
        return SP_CU_INVALID_VALUE;
    result = check_graph(graph, finding);
    if (result == SP_CU_SUCCESS)
        result = make(graph, flags, &exec, finding);
    if (result != SP_CU_SUCCESS)
        return result;
    if (upload_stream != NULL)
        result = sp_model_exec_upload(exec, upload_stream);
    if (result == SP_CU_SUCCESS)
        *exec_out = exec->handle;
    else
        destroy(exec);
    return result;
}

sp_cu_result sp_model_cuGraphInstantiate(sp_cu_exec *exec_out, sp_cu_graph graph,
                                         unsigned long long flags)
{
    struct finding finding = {.result = SP_CU_INSTANTIATED};
    sp_cu_result result;

    SP_MODEL_ENTER(cuGraphInstantiate);
    result = check_flags(flags, FLAGS);
    if (result == SP_CU_SUCCESS)
        result = instantiate(exec_out, graph, flags, NULL, &finding);
    return sp_model_leave(result);
}

static sp_cu_result instantiate_with(sp_cu_exec *exec_out, sp_cu_graph graph,
                                     const struct sp_cu_instantiate_params *params,
                                     struct finding *finding)
{
    struct sp_model_stream *stream = NULL;
    sp_cu_result result = check_flags(params->flags, FLAGS | SP_CU_INSTANTIATE_UPLOAD);

    if (result == SP_CU_SUCCESS && (params->flags & SP_CU_INSTANTIATE_UPLOAD) != 0)
        result = sp_model_stream_get(params->upload_stream, &stream);
    return result == SP_CU_SUCCESS
               ? instantiate(exec_out, graph, params->flags, stream, finding)
               : result;
}

sp_cu_result sp_model_cuGraphInstantiateWithParams(sp_cu_exec *exec_out, sp_cu_graph graph,
                                                   struct sp_cu_instantiate_params *params)
{
    struct finding finding = {.result = SP_CU_INSTANTIATED};
    sp_cu_result result;

    SP_MODEL_ENTER(cuGraphInstantiateWithParams);
    if (params == NULL)
        return sp_model_leave(SP_CU_INVALID_VALUE);
    result = instantiate_with(exec_out, graph, params, &finding);
    if (result != SP_CU_SUCCESS && finding.result == SP_CU_INSTANTIATED)
        finding.result = SP_CU_INSTANTIATE_ERROR;
    params->result = finding.result;
    params->error_node = finding.node;
    return sp_model_leave(result);
}

/* ---- other entry points -------------------------------------------------------------- */

sp_cu_result sp_model_cuGraphExecDestroy(sp_cu_exec handle)
{
    struct sp_model_exec *exec;

    SP_MODEL_ENTER(cuGraphExecDestroy);
    exec = sp_model_exec_find(handle);
    if (exec == NULL)
        return sp_model_leave(SP_CU_INVALID_VALUE);
    destroy(exec);
    return sp_model_leave(SP_CU_SUCCESS);
}

/* As they are of use to launches: UPLOAD has been done. */
sp_cu_result sp_model_cuGraphExecGetFlags(sp_cu_exec handle, uint64_t *flags_out)
{
    const struct sp_model_exec *exec;

    SP_MODEL_ENTER(cuGraphExecGetFlags);
    exec = sp_model_exec_find(handle);
    if (exec == NULL || flags_out == NULL)
        return sp_model_leave(SP_CU_INVALID_VALUE);
    *flags_out = exec->flags & ~(uint64_t)SP_CU_INSTANTIATE_UPLOAD;
    return sp_model_leave(SP_CU_SUCCESS);
}
