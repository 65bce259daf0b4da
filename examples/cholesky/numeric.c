/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The factorisation as StarPU tasks. For each supernode in turn, children before parents: its
 * front is registered without a home node, so that StarPU allocates it when the first task
 * runs; it is filled, takes in its children's updates, and is factorised. The panel is given
 * up at once, its columns having been copied into the factor; the update is given up when the
 * parent has taken it in. What is submitted ahead is bounded by a window of bytes.
 */
#include "numeric.h"
#include "front.h"

#include <starpu.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

struct numeric;

/* What the tasks of one supernode are told. */
struct work {
    struct numeric *numeric;
    int number;                  /* of the supernode */
    starpu_data_handle_t panel;  /* NULL unless registered and not yet given up */
    starpu_data_handle_t update; /* as `panel`, and NULL where no row is left */
};

/* `mutex` guards all fields below it; live_bytes <= peak_live_bytes. */
struct numeric {
    const struct symbolic *symbolic;
    struct work *works;    /* [n_supernodes] */
    double **panels;       /* [n_supernodes] */
    uint64_t window_bytes; /* wait before exceeding this */
    struct numeric_stats stats;
    pthread_mutex_t mutex;
    pthread_cond_t has_room;
    uint64_t live_bytes;    /* of parts registered, whose last task is not done */
    uint64_t wake_below;    /* live_bytes at which the waiting submitter goes on */
    unsigned n_outstanding; /* submitted tasks that will give up bytes */
    int failed_column;      /* smallest column without a positive pivot, or -1 */
};

static struct front front_of(void *const *panel, void *const *update)
{
    struct front front = {
        .panel = (double *)STARPU_MATRIX_GET_PTR(*panel),
        .panel_ld = STARPU_MATRIX_GET_LD(*panel),
    };

    if (update != NULL) {
        front.update = (double *)STARPU_MATRIX_GET_PTR(*update);
        front.update_ld = STARPU_MATRIX_GET_LD(*update);
    }
    return front;
}

static bool has_update(const struct supernode *supernode)
{
    return supernode->n_rows > supernode->n_columns;
}

/* Buffers: W panel, W update where there is one. */
static void init_task(void **buffers, void *argument)
{
    const struct work *work = argument;
    const struct symbolic *symbolic = work->numeric->symbolic;
    const struct supernode *supernode = &symbolic->supernodes[work->number];
    struct front front = front_of(buffers, has_update(supernode) ? buffers + 1 : NULL);

    front_init(symbolic, work->number, &front);
}

/* Buffers: R the child's update, RW the parent's panel, RW its update where there is one. */
static void assemble_task(void **buffers, void *argument)
{
    const struct work *child = argument;
    const struct symbolic *symbolic = child->numeric->symbolic;
    int parent = symbolic->supernodes[child->number].parent;
    bool has_more = has_update(&symbolic->supernodes[parent]);
    struct front front = front_of(buffers + 1, has_more ? buffers + 2 : NULL);

    front_assemble(symbolic, child->number, (const double *)STARPU_MATRIX_GET_PTR(buffers[0]),
                   STARPU_MATRIX_GET_LD(buffers[0]), &front);
}

/* Buffers: RW panel, RW update where there is one. */
static void factorise_task(void **buffers, void *argument)
{
    const struct work *work = argument;
    struct numeric *numeric = work->numeric;
    const struct supernode *supernode = &numeric->symbolic->supernodes[work->number];
    struct front front = front_of(buffers, has_update(supernode) ? buffers + 1 : NULL);
    int column;
    bool is_void;

    /* A failure further down spoils this front. One further up does not, and going on then
     * makes the smallest column at fault the one reported, however the tasks are timed. */
    pthread_mutex_lock(&numeric->mutex);
    is_void = numeric->failed_column != -1 && numeric->failed_column < supernode->first;
    pthread_mutex_unlock(&numeric->mutex);
    if (is_void)
        return;

    column = front_factorise(supernode, &front, numeric->panels[work->number]);
    if (column == 0)
        return;
    column += supernode->first - 1;
    pthread_mutex_lock(&numeric->mutex);
    if (numeric->failed_column == -1 || column < numeric->failed_column)
        numeric->failed_column = column;
    pthread_mutex_unlock(&numeric->mutex);
}

static struct starpu_codelet init_codelet = {
    .cpu_funcs = {init_task},
    .cpu_funcs_name = {"init_task"},
    .nbuffers = STARPU_VARIABLE_NBUFFERS,
    .name = "front_init",
};

static struct starpu_codelet assemble_codelet = {
    .cpu_funcs = {assemble_task},
    .cpu_funcs_name = {"assemble_task"},
    .nbuffers = STARPU_VARIABLE_NBUFFERS,
    .name = "front_assemble",
};

static struct starpu_codelet factorise_codelet = {
    .cpu_funcs = {factorise_task},
    .cpu_funcs_name = {"factorise_task"},
    .nbuffers = STARPU_VARIABLE_NBUFFERS,
    .name = "front_factorise",
};

static void give_up_bytes(struct numeric *numeric, size_t bytes)
{
    pthread_mutex_lock(&numeric->mutex);
    numeric->live_bytes -= bytes;
    numeric->n_outstanding--;
    if (numeric->live_bytes <= numeric->wake_below || numeric->n_outstanding == 0)
        pthread_cond_signal(&numeric->has_room);
    pthread_mutex_unlock(&numeric->mutex);
}

/* StarPU calls these two when the last task on a part is done. */
static void panel_is_done(void *argument)
{
    const struct work *work = argument;
    const struct symbolic *symbolic = work->numeric->symbolic;

    give_up_bytes(work->numeric, supernode_panel_bytes(&symbolic->supernodes[work->number]));
}

static void update_is_done(void *argument)
{
    const struct work *work = argument;
    const struct symbolic *symbolic = work->numeric->symbolic;

    give_up_bytes(work->numeric, supernode_update_bytes(&symbolic->supernodes[work->number]));
}

/*
 * Wait until the bytes fit into the window, then count them as live. Updates whose parent is
 * yet to be submitted cannot go away by waiting: once no task is left that could give up
 * something, go on. Once full, an eighth of the window is let run empty, since waking up for
 * each small front would cost more than the front.
 */
static void take_bytes(struct numeric *numeric, size_t bytes)
{
    uint64_t target = numeric->window_bytes - numeric->window_bytes / 8;

    pthread_mutex_lock(&numeric->mutex);
    if (numeric->live_bytes + bytes > numeric->window_bytes) {
        numeric->wake_below = target > bytes ? target - bytes : 0;
        while (numeric->n_outstanding > 0 && numeric->live_bytes > numeric->wake_below)
            pthread_cond_wait(&numeric->has_room, &numeric->mutex);
        numeric->wake_below = 0;
    }
    numeric->live_bytes += bytes;
    if (numeric->live_bytes > numeric->stats.peak_live_bytes)
        numeric->stats.peak_live_bytes = numeric->live_bytes;
    pthread_mutex_unlock(&numeric->mutex);
}

static bool has_failed(struct numeric *numeric)
{
    bool failed;

    pthread_mutex_lock(&numeric->mutex);
    failed = numeric->failed_column != -1;
    pthread_mutex_unlock(&numeric->mutex);
    return failed;
}

/* Submit one task on up to three handles; a last one that is NULL is left out. */
static bool submit(struct starpu_codelet *codelet, struct work *work,
                   const starpu_data_handle_t handles[3],
                   const enum starpu_data_access_mode modes[3], void (*callback)(void *))
{
    struct numeric *numeric = work->numeric;
    struct starpu_task *task = starpu_task_create();

    task->cl = codelet;
    task->cl_arg = work;
    task->callback_func = callback;
    task->callback_arg = work;
    while (task->nbuffers < 3 && handles[task->nbuffers] != NULL) {
        task->handles[task->nbuffers] = handles[task->nbuffers];
        task->modes[task->nbuffers] = modes[task->nbuffers];
        task->nbuffers++;
    }
    pthread_mutex_lock(&numeric->mutex);
    numeric->n_outstanding += callback != NULL;
    pthread_mutex_unlock(&numeric->mutex);
    if (starpu_task_submit(task) == 0) {
        numeric->stats.n_tasks++;
        return true;
    }
    task->destroy = 0;
    starpu_task_destroy(task);
    if (callback != NULL)
        give_up_bytes(numeric, 0);
    return false;
}

static void register_front(struct numeric *numeric, struct work *work)
{
    const struct supernode *supernode = &numeric->symbolic->supernodes[work->number];
    uint32_t n_columns = (uint32_t)supernode->n_columns;
    uint32_t n_rows = (uint32_t)supernode->n_rows;
    uint32_t n_update = n_rows - n_columns;

    starpu_matrix_data_register(&work->panel, -1, 0, n_rows, n_rows, n_columns, sizeof(double));
    numeric->stats.n_temporaries++;
    if (n_update == 0)
        return;
    starpu_matrix_data_register(&work->update, -1, 0, n_update, n_update, n_update,
                                sizeof(double));
    numeric->stats.n_temporaries++;
}

static bool submit_children(struct numeric *numeric, struct work *work)
{
    const struct supernode *supernodes = numeric->symbolic->supernodes;
    const enum starpu_data_access_mode modes[3] = {STARPU_R, STARPU_RW, STARPU_RW};
    struct work *child;
    int i;

    for (i = supernodes[work->number].first_child; i != -1; i = supernodes[i].next_sibling) {
        child = &numeric->works[i];
        if (!submit(&assemble_codelet, child,
                    (starpu_data_handle_t[3]){child->update, work->panel, work->update}, modes,
                    update_is_done))
            return false;
        starpu_data_unregister_submit(child->update);
        child->update = NULL;
    }
    return true;
}

static enum status submit_supernode(struct numeric *numeric, int number, struct error *error)
{
    const struct supernode *supernode = &numeric->symbolic->supernodes[number];
    const enum starpu_data_access_mode written[3] = {STARPU_W, STARPU_W};
    const enum starpu_data_access_mode changed[3] = {STARPU_RW, STARPU_RW};
    struct work *work = &numeric->works[number];
    void *panel = NULL;

    if (starpu_malloc(&panel, supernode_panel_bytes(supernode)) != 0)
        return error_no_memory(error, "the factor");
    numeric->panels[number] = panel;
    numeric->stats.n_panels++;

    take_bytes(numeric, supernode_panel_bytes(supernode) + supernode_update_bytes(supernode));
    register_front(numeric, work);
    if (!submit(&init_codelet, work, (starpu_data_handle_t[3]){work->panel, work->update},
                written, NULL) ||
        !submit_children(numeric, work) ||
        !submit(&factorise_codelet, work, (starpu_data_handle_t[3]){work->panel, work->update},
                changed, panel_is_done))
        return error_set(
            error, STATUS_SYSTEM,
            "StarPU refuses a task; give it at least one CPU worker (STARPU_NCPU)");
    starpu_data_unregister_submit(work->panel);
    work->panel = NULL;
    return STATUS_OK;
}

/* Wait for what was submitted and drop what a failure has left behind. */
static void finish(struct numeric *numeric)
{
    int i;

    starpu_task_wait_for_all();
    for (i = 0; i < numeric->symbolic->n_supernodes; i++) {
        if (numeric->works[i].panel != NULL)
            starpu_data_unregister_no_coherency(numeric->works[i].panel);
        if (numeric->works[i].update != NULL)
            starpu_data_unregister_no_coherency(numeric->works[i].update);
    }
}

static enum status run(struct numeric *numeric, const struct numeric_options *options,
                       struct error *error)
{
    const struct symbolic *symbolic = numeric->symbolic;
    enum status status = STATUS_OK;
    uint64_t n_submitted = 0;
    int column;
    int i;

    for (i = 0; i < symbolic->n_supernodes && status == STATUS_OK && !has_failed(numeric);
         i++) {
        numeric->works[i] = (struct work){.numeric = numeric, .number = i};
        status = submit_supernode(numeric, i, error);
        n_submitted += supernode_panel_bytes(&symbolic->supernodes[i]) / sizeof(double);
        if (options->progress != NULL)
            options->progress((double)n_submitted / (double)symbolic->n_stored,
                              options->progress_argument);
    }
    finish(numeric);
    if (status != STATUS_OK || numeric->failed_column == -1)
        return status;
    column = symbolic->permutation[numeric->failed_column];
    return error_set(error, STATUS_NUMERIC,
                     "not positive definite: column %d of the matrix (number %d to be "
                     "eliminated) has no positive pivot; this solver needs a symmetric "
                     "positive definite matrix",
                     column + 1, numeric->failed_column + 1);
}

enum status numeric_factorise(const struct symbolic *symbolic,
                              const struct numeric_options *options, struct factor *factor_out,
                              struct numeric_stats *stats_out, struct error *error)
{
    size_t n_supernodes = (size_t)symbolic->n_supernodes;
    struct numeric numeric = {
        .symbolic = symbolic,
        .works = calloc(n_supernodes, sizeof(*numeric.works)),
        .panels = calloc(n_supernodes, sizeof(*numeric.panels)),
        .window_bytes = (uint64_t)(options->window * (double)symbolic->front_bytes),
        .mutex = PTHREAD_MUTEX_INITIALIZER,
        .has_room = PTHREAD_COND_INITIALIZER,
        .failed_column = -1,
    };
    struct factor factor = {.symbolic = symbolic, .panels = numeric.panels};
    enum status status;

    if (numeric.works == NULL || numeric.panels == NULL)
        status = error_no_memory(error, "the list of fronts");
    else
        status = run(&numeric, options, error);
    free(numeric.works);
    pthread_cond_destroy(&numeric.has_room);
    pthread_mutex_destroy(&numeric.mutex);
    if (status != STATUS_OK) {
        factor_fini(&factor);
        return status;
    }
    *factor_out = factor;
    *stats_out = numeric.stats;
    return STATUS_OK;
}
