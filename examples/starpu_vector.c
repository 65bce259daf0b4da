/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A small StarPU program with temporaries: each round fills a vector that StarPU allocates
 * when the first task needs it (home node -1), adds it to a sum, and gives it up at once. It
 * knows nothing of starpool: run it alone, or under `starpool run`, and compare.
 */
#include <starpu.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define N_ELEMENTS 200000
#define N_ROUNDS   500
/* Tasks submitted ahead. Without a bound all of the temporaries could live at once. */
#define MAX_TASKS 16

static void fill_task(void **buffers, void *argument)
{
    double *vector = (double *)STARPU_VECTOR_GET_PTR(buffers[0]);
    uint32_t n = STARPU_VECTOR_GET_NX(buffers[0]);
    intptr_t round = (intptr_t)argument;
    uint32_t i;

    for (i = 0; i < n; i++)
        vector[i] = (double)round + (double)i;
}

static void add_task(void **buffers, void *argument)
{
    const double *vector = (const double *)STARPU_VECTOR_GET_PTR(buffers[1]);
    double *sum = (double *)STARPU_VECTOR_GET_PTR(buffers[0]);
    uint32_t n = STARPU_VECTOR_GET_NX(buffers[0]);
    uint32_t i;

    (void)argument;
    for (i = 0; i < n; i++)
        sum[i] += vector[i];
}

static struct starpu_codelet fill_codelet = {
    .cpu_funcs = {fill_task},
    .cpu_funcs_name = {"fill_task"},
    .nbuffers = 1,
    .modes = {STARPU_W},
    .name = "fill",
};

static struct starpu_codelet add_codelet = {
    .cpu_funcs = {add_task},
    .cpu_funcs_name = {"add_task"},
    .nbuffers = 2,
    .modes = {STARPU_RW, STARPU_R},
    .name = "add",
};

static int submit(struct starpu_codelet *codelet, starpu_data_handle_t first,
                  starpu_data_handle_t second, intptr_t round)
{
    struct starpu_task *task = starpu_task_create();
    int error;

    task->cl = codelet;
    task->cl_arg = (void *)round;
    task->handles[0] = first;
    task->handles[1] = second;
    error = starpu_task_submit(task);
    if (error != 0) {
        task->destroy = 0;
        starpu_task_destroy(task);
    }
    return error;
}

/* Returns what starpu_task_submit() says. The temporary is given up while its tasks may not
 * even have begun: StarPU frees it when the last of them is done. */
static int add_one_temporary(starpu_data_handle_t sum, intptr_t round)
{
    starpu_data_handle_t temporary;
    int error;

    starpu_vector_data_register(&temporary, -1, 0, N_ELEMENTS, sizeof(double));
    error = submit(&fill_codelet, temporary, NULL, round);
    if (error != 0) {
        starpu_data_unregister_no_coherency(temporary);
        return error;
    }
    error = submit(&add_codelet, sum, temporary, round);
    starpu_data_unregister_submit(temporary);
    return error;
}

/* Whole numbers below 2^53 add up exactly, in any order. */
static int count_wrong(const double *sum)
{
    const double rounds = N_ROUNDS;
    int n_wrong = 0;
    int i;

    for (i = 0; i < N_ELEMENTS; i++)
        n_wrong += sum[i] != rounds * (rounds - 1) / 2 + rounds * i;
    return n_wrong;
}

int main(void)
{
    starpu_data_handle_t handle;
    intptr_t round;
    double *sum;
    int n_wrong;
    int error = starpu_init(NULL);

    if (error != 0) {
        fprintf(stderr, "starpu_vector: StarPU does not start (error %d); check STARPU_NCPU\n",
                error);
        return 1;
    }
    sum = calloc(N_ELEMENTS, sizeof(*sum));
    if (sum == NULL) {
        fprintf(stderr, "starpu_vector: out of memory\n");
        starpu_shutdown();
        return 1;
    }

    starpu_vector_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)sum, N_ELEMENTS,
                                sizeof(*sum));
    for (round = 0; round < N_ROUNDS && error == 0; round++) {
        starpu_task_wait_for_n_submitted(MAX_TASKS);
        error = add_one_temporary(handle, round);
    }
    starpu_data_unregister(handle);
    starpu_shutdown();

    n_wrong = count_wrong(sum);
    free(sum);
    if (error != 0 || n_wrong != 0) {
        fprintf(stderr,
                "starpu_vector: %d of %d elements are wrong, the last submission says %d\n",
                n_wrong, N_ELEMENTS, error);
        return 1;
    }
    printf("starpu_vector: %d temporaries of %zu bytes, the sum is right\n", N_ROUNDS,
           N_ELEMENTS * sizeof(double));
    return 0;
}
