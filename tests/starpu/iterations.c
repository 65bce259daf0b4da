/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Iterations of a program on real StarPU, marked and by calls: iterations CASE. */
#include "case.h"

#include <pthread.h>
#include <stdint.h>

#include <starpool/block.h>

#define N_BLOCKS  6
#define N_THREADS 4
#define N_ROUNDS  50
#define KEPT_SIZE 300000 /* [bytes] of a block that outlives its iteration */

static void fill_task(void **buffers, void *arg)
{
    (void)arg;
    memset((void *)STARPU_VECTOR_GET_PTR(buffers[0]), 1, STARPU_VECTOR_GET_NX(buffers[0]));
}

static void check_task(void **buffers, void *arg)
{
    const char *bytes = (const char *)STARPU_VECTOR_GET_PTR(buffers[0]);
    unsigned i;

    (void)arg;
    for (i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++)
        CHECK(bytes[i] == 1);
}

static struct starpu_codelet fill_codelet = {
    .cpu_funcs = {fill_task}, .nbuffers = 1, .modes = {STARPU_W}, .name = "fill"};
static struct starpu_codelet check_codelet = {
    .cpu_funcs = {check_task}, .nbuffers = 1, .modes = {STARPU_R}, .name = "check"};

/* A temporary of each size, all of them live together. */
static void submit_temporaries(void)
{
    starpu_data_handle_t handles[N_BLOCKS];
    unsigned i;

    for (i = 0; i < N_BLOCKS; i++) {
        starpu_vector_data_register(&handles[i], -1, 0, 100000 + 1000 * i, 1);
        CHECK(starpu_task_insert(&fill_codelet, STARPU_W, handles[i], 0) == 0);
    }
    for (i = 0; i < N_BLOCKS; i++) {
        CHECK(starpu_task_insert(&check_codelet, STARPU_R, handles[i], 0) == 0);
        starpu_data_unregister_submit(handles[i]);
    }
}

static void marked(void)
{
    unsigned long i;

    start();
    for (i = 0; i < 4; i++) {
        starpu_iteration_push(i);
        submit_temporaries();
        starpu_task_wait_for_all();
        starpu_iteration_pop();
    }
    starpu_shutdown();
}

/* The wait comes after the mark. */
static void in_flight(void)
{
    unsigned long i;

    start();
    for (i = 0; i < 3; i++) {
        starpu_iteration_push(i);
        starpu_pause();
        submit_temporaries();
        starpu_iteration_pop();
        starpu_resume();
        starpu_task_wait_for_all();
    }
    starpu_shutdown();
}

/* Marks inside of marks are part of the iteration. */
static void nested(void)
{
    unsigned long i;

    start();
    for (i = 0; i < 3; i++) {
        starpu_iteration_push(i);
        starpu_iteration_push(100);
        submit_temporaries();
        starpu_iteration_pop();
        submit_temporaries();
        starpu_task_wait_for_all();
        starpu_iteration_pop();
    }
    starpu_shutdown();
}

static char mark_of(unsigned long iteration, unsigned block)
{
    return (char)(10 * iteration + block);
}

static void make_kept(char *kept[N_BLOCKS], unsigned long iteration)
{
    unsigned i;

    for (i = 0; i < N_BLOCKS; i++) {
        CHECK(starpu_malloc((void **)&kept[i], KEPT_SIZE) == 0);
        memset(kept[i], mark_of(iteration, i), KEPT_SIZE);
    }
}

static void free_kept(char *kept[N_BLOCKS], unsigned long iteration)
{
    unsigned i;

    for (i = 0; i < N_BLOCKS; i++) {
        CHECK(kept[i][0] == mark_of(iteration, i));
        CHECK(kept[i][KEPT_SIZE - 1] == mark_of(iteration, i));
        starpu_free_flags(kept[i], KEPT_SIZE, STARPU_MALLOC_PINNED);
    }
}

/* Each iteration frees the blocks of the one before, after it has made its own. */
static void outlives(void)
{
    char *kept[2][N_BLOCKS];
    unsigned long i;

    start();
    for (i = 0; i < 6; i++) {
        starpu_iteration_push(i);
        make_kept(kept[i % 2], i);
        if (i > 0)
            free_kept(kept[(i - 1) % 2], i - 1);
        submit_temporaries();
        starpu_task_wait_for_all();
        starpu_iteration_pop();
    }
    starpu_shutdown();
    free_kept(kept[1], 5);
}

static void *allocate(void *arg)
{
    unsigned char mark = *(const unsigned char *)arg;
    unsigned i, k;

    for (i = 0; i < N_ROUNDS; i++) {
        size_t size = 5000 + 1000 * (i % 5);
        unsigned char *block =
            (unsigned char *)starpu_malloc_on_node_flags(STARPU_MAIN_RAM, size, USUAL_FLAGS);

        CHECK(block != NULL);
        memset(block, mark, size);
        for (k = 0; k < size; k += 500)
            CHECK(block[k] == mark);
        starpu_free_on_node_flags(STARPU_MAIN_RAM, (uintptr_t)block, size, USUAL_FLAGS);
    }
    return NULL;
}

/* Threads that are no workers ask for memory, too. With a limit StarPU keeps what the first
 * iteration made in its cache; from then on the budget stays the same. */
static void threads(void)
{
    static const unsigned char marks[N_THREADS] = {1, 2, 3, 4};
    pthread_t thread[N_THREADS];
    starpu_ssize_t available = 0;
    unsigned long i;
    unsigned k;

    start();
    for (i = 0; i < 5; i++) {
        starpu_iteration_push(i);
        submit_temporaries();
        for (k = 0; k < N_THREADS; k++)
            CHECK(pthread_create(&thread[k], NULL, allocate, (void *)(uintptr_t)&marks[k]) ==
                  0);
        for (k = 0; k < N_THREADS; k++)
            CHECK(pthread_join(thread[k], NULL) == 0);
        starpu_task_wait_for_all();
        starpu_iteration_pop();
        if (i == 0)
            available = starpu_memory_get_available(STARPU_MAIN_RAM);
        CHECK(starpu_memory_get_available(STARPU_MAIN_RAM) == available);
    }
    starpu_shutdown();
}

/* One iteration as it should be. */
static void iterate(unsigned long number)
{
    starpu_iteration_push(number);
    submit_temporaries();
    starpu_task_wait_for_all();
    starpu_iteration_pop();
}

/* StarPU is shut down in the middle of an iteration that is captured, and of one replayed. */
static void unended(void)
{
    unsigned life;

    for (life = 0; life < 3; life++) {
        start();
        if (life > 0) {
            iterate(0);
            iterate(1);
        }
        starpu_iteration_push(2);
        submit_temporaries();
        starpu_shutdown();
    }
}

/* Nodes are others in StarPU's second life; in its third they are as in the first. */
static void other_nodes(void)
{
    unsigned life;

    for (life = 0; life < 3; life++) {
        CHECK(setenv("STARPU_USE_NUMA", life == 1 ? "0" : "1", 1) == 0);
        start();
        iterate(0);
        iterate(1);
        starpu_shutdown();
    }
}

/* StarPU frees an argument that a program has left with a task, called or not. */
static void arguments(void)
{
    starpu_data_handle_t handle;

    start();
    starpu_iteration_push(0);
    starpu_vector_data_register(&handle, -1, 0, 1000, 1);
    CHECK(starpu_task_insert(&fill_codelet, STARPU_W, handle, STARPU_PROLOGUE_CALLBACK_POP_ARG,
                             malloc(8), 0) == 0);
    starpu_task_wait_for_all();
    starpu_data_unregister(handle);
    starpu_iteration_pop();
    starpu_shutdown();
}

static size_t one_byte(starpu_data_handle_t handle)
{
    (void)handle;
    return 1;
}

/* Data of a kind that says what it takes, and not its size. */
static void sizeless(void)
{
    struct starpu_data_interface_ops ops = starpu_interface_vector_ops;
    starpu_data_handle_t handle;
    struct starpu_vector_interface vector = {
        .id = STARPU_VECTOR_INTERFACE_ID, .nx = 1, .elemsize = 1, .allocsize = 1};

    ops.get_size = NULL;
    ops.get_alloc_size = one_byte;
    start();
    starpu_iteration_push(0);
    starpu_data_register(&handle, -1, &vector, &ops);
    CHECK(starpu_task_insert(&fill_codelet, STARPU_W, handle, 0) == 0);
    starpu_task_wait_for_all();
    starpu_data_unregister(handle);
    starpu_iteration_pop();
    starpu_shutdown();
}

/* Ask for memory as interfaces do, and free it. */
static void borrow(size_t size)
{
    uintptr_t block = starpu_malloc_on_node_flags(STARPU_MAIN_RAM, size, USUAL_FLAGS);

    CHECK(block != 0);
    starpu_free_on_node_flags(STARPU_MAIN_RAM, block, size, USUAL_FLAGS);
}

/* With a limit of 8 MiB there is room for what was captured, or for something else, not for
 * both. */
static void at_limit(void)
{
    unsigned long i;

    start();
    for (i = 0; i < 4; i++) {
        starpu_iteration_push(i);
        if (i < 2)
            borrow(5 * MIB);
        else
            borrow(6 * MIB);
        starpu_iteration_pop();
    }
    starpu_shutdown();
}

/* ---- by calls ------------------------------------------------------------------------- */

#define FUNCTION(result, name, ...) \
    ((result(*)(__VA_ARGS__))(uintptr_t)starpool("starpool_" #name))

static void calls(void)
{
    struct starpool_starpu_replay_summary summary = {.struct_size = sizeof(summary)};
    struct starpool_graph *graph = NULL;
    struct starpool_plan_config config;
    struct starpool_plan *plan = NULL;
    unsigned i;

    CHECK(FUNCTION(enum starpool_status, starpu_capture_begin, const char *)("early") ==
          STARPOOL_ENOTINIT);
    start();
    CHECK(FUNCTION(enum starpool_status, starpu_replay_begin,
                   const struct starpool_plan *)(NULL) == STARPOOL_ENOTREADY);
    CHECK(FUNCTION(enum starpool_status, starpu_capture_end, struct starpool_graph **)(NULL) ==
          STARPOOL_ENOTREADY);
    CHECK(FUNCTION(enum starpool_status, starpu_capture_begin, const char *)("calls") ==
          STARPOOL_OK);
    CHECK(FUNCTION(enum starpool_status, starpu_capture_begin, const char *)("again") ==
          STARPOOL_EBUSY);
    submit_temporaries();
    CHECK(FUNCTION(enum starpool_status, starpu_capture_end,
                   struct starpool_graph **)(&graph) == STARPOOL_OK);
    FUNCTION(void, plan_config_init, struct starpool_plan_config *)(&config);
    CHECK(FUNCTION(enum starpool_status, plan, const struct starpool_graph *,
                   const struct starpool_plan_config *,
                   struct starpool_plan **)(graph, &config, &plan) == STARPOOL_OK);
    for (i = 0; i < 4; i++) {
        CHECK(FUNCTION(enum starpool_status, starpu_replay_begin,
                       const struct starpool_plan *)(i < 2 ? NULL : plan) == STARPOOL_OK);
        submit_temporaries();
        CHECK(FUNCTION(enum starpool_status, starpu_replay_end,
                       struct starpool_starpu_replay_summary *)(&summary) == STARPOOL_OK);
        CHECK(summary.n_requests == N_BLOCKS);
        CHECK(summary.high_bytes <= summary.predicted_bytes);
        /* All blocks live apart in the plan of the tasks, which knows of no waits. */
        CHECK(i < 2 || summary.n_served == N_BLOCKS);
    }
    FUNCTION(void, plan_destroy, struct starpool_plan *)(plan);
    FUNCTION(void, graph_destroy, struct starpool_graph *)(graph);
    starpu_shutdown();
}

/* The program's starpool_starpu_detach() comes between a mark and its other. */
static void detached(void)
{
    start();
    iterate(0);
    starpu_iteration_push(1);
    submit_temporaries();
    FUNCTION(void, starpu_detach, void)();
    starpu_task_wait_for_all();
    starpu_iteration_pop();
    CHECK(FUNCTION(enum starpool_status, starpu_attach,
                   const struct starpool_starpu_config *)(NULL) == STARPOOL_OK);
    iterate(2);
    starpu_shutdown();
}

static void capture(unsigned n_times, struct starpool_graph **graph_out)
{
    CHECK(FUNCTION(enum starpool_status, starpu_capture_begin, const char *)(NULL) ==
          STARPOOL_OK);
    while (n_times-- > 0)
        submit_temporaries();
    CHECK(FUNCTION(enum starpool_status, starpu_capture_end,
                   struct starpool_graph **)(graph_out) == STARPOOL_OK);
}

static struct starpool_plan *plan_of(struct starpool_graph *graph)
{
    struct starpool_plan_config config;
    struct starpool_plan *plan;

    FUNCTION(void, plan_config_init, struct starpool_plan_config *)(&config);
    CHECK(FUNCTION(enum starpool_status, plan, const struct starpool_graph *,
                   const struct starpool_plan_config *,
                   struct starpool_plan **)(graph, &config, &plan) == STARPOOL_OK);
    FUNCTION(void, graph_destroy, struct starpool_graph *)(graph);
    return plan;
}

static void replay(const struct starpool_plan *plan, unsigned n_times,
                   enum starpool_status expected)
{
    CHECK(FUNCTION(enum starpool_status, starpu_replay_begin,
                   const struct starpool_plan *)(plan) == expected);
    if (expected != STARPOOL_OK)
        return;
    while (n_times-- > 0)
        submit_temporaries();
    CHECK(FUNCTION(enum starpool_status, starpu_replay_end,
                   struct starpool_starpu_replay_summary *)(NULL) == STARPOOL_OK);
}

/* Plans of the last capture are taken, also after the observed one has been made anew, and
 * whatever the alignment; others are not. */
static void plans(void)
{
    struct starpool_graph *graph;
    struct starpool_plan *large, *small;

    start();
    starpu_malloc_set_align(4096);
    capture(2, &graph);
    large = plan_of(graph);
    replay(large, 2, STARPOOL_OK);
    capture(1, &graph);
    small = plan_of(graph);
    replay(large, 1, STARPOOL_EINVAL);
    replay(NULL, 3, STARPOOL_OK);
    replay(NULL, 3, STARPOOL_OK);
    replay(small, 1, STARPOOL_OK);
    FUNCTION(void, plan_destroy, struct starpool_plan *)(large);
    FUNCTION(void, plan_destroy, struct starpool_plan *)(small);
    starpu_shutdown();
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {
        {"marked", marked},     {"in_flight", in_flight},     {"nested", nested},
        {"outlives", outlives}, {"threads", threads},         {"calls", calls},
        {"unended", unended},   {"other_nodes", other_nodes}, {"arguments", arguments},
        {"sizeless", sizeless}, {"at_limit", at_limit},       {"detached", detached},
        {"plans", plans},
    };

    return run_case(cases, sizeof(cases) / sizeof(cases[0]), argc > 1 ? argv[1] : NULL);
}
