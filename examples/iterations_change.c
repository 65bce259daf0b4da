/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A StarPU program whose iterations change their course: up to a certain one its temporaries
 * live one after the other, from then on two at a time and in the opposite order. Run it under
 * `starpool run --capture-iterations --report`: the first iteration is captured, the next ones
 * are replayed, the change is noticed and the new course planned. It knows nothing of starpool.
 *
 * Usage: iterations_change [ITERATIONS [FIRST_CHANGED]] */
#include <starpu.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define N_TEMPORARIES 8

/* [numbers] of the smallest; each is larger than the one before. */
#define BASE_LENGTH ((uint32_t)512 << 10)

static void fill_task(void **buffers, void *arg)
{
    double *numbers = (double *)STARPU_VECTOR_GET_PTR(buffers[0]);
    uint32_t n = STARPU_VECTOR_GET_NX(buffers[0]);
    uint32_t i;

    for (i = 0; i < n; i++)
        numbers[i] = *(const int *)arg + (i % 7);
}

static void sum_task(void **buffers, void *arg)
{
    const double *numbers = (const double *)STARPU_VECTOR_GET_PTR(buffers[0]);
    double *sum = (double *)STARPU_VARIABLE_GET_PTR(buffers[1]);
    uint32_t n = STARPU_VECTOR_GET_NX(buffers[0]);
    uint32_t i;

    (void)arg;
    for (i = 0; i < n; i++)
        *sum += numbers[i];
}

static struct starpu_codelet fill_codelet = {
    .cpu_funcs = {fill_task},
    .cpu_funcs_name = {"fill_task"},
    .nbuffers = 1,
    .modes = {STARPU_W},
    .name = "fill",
};

static struct starpu_codelet sum_codelet = {
    .cpu_funcs = {sum_task},
    .cpu_funcs_name = {"sum_task"},
    .nbuffers = 2,
    .modes = {STARPU_R, STARPU_RW},
    .name = "sum",
};

static int numbers_of[N_TEMPORARIES];

static uint32_t length_of(int number)
{
    return BASE_LENGTH + 4096 * (uint32_t)number;
}

static int begin_temporary(int number, starpu_data_handle_t *handle)
{
    starpu_vector_data_register(handle, -1, 0, length_of(number), sizeof(double));
    return starpu_task_insert(&fill_codelet, STARPU_W, *handle, STARPU_CL_ARGS_NFREE,
                              &numbers_of[number], sizeof(int), 0);
}

static int end_temporary(starpu_data_handle_t handle, starpu_data_handle_t sum)
{
    int result = starpu_task_insert(&sum_codelet, STARPU_R, handle, STARPU_RW, sum, 0);

    starpu_data_unregister_submit(handle);
    return result;
}

/* One after the other: what one is over with serves the next. */
static int run_singly(starpu_data_handle_t sum)
{
    starpu_data_handle_t handle;
    int result = 0;
    int i;

    for (i = 0; i < N_TEMPORARIES && result == 0; i++) {
        result = begin_temporary(i, &handle);
        if (result == 0)
            result = end_temporary(handle, sum);
        starpu_task_wait_for_all();
    }
    return result;
}

/* The opposite order, the next one beginning before the one before is over. */
static int run_in_pairs(starpu_data_handle_t sum)
{
    starpu_data_handle_t first, second;
    int result = 0;
    int i;

    for (i = N_TEMPORARIES - 1; i > 0 && result == 0; i -= 2) {
        result = begin_temporary(i, &first);
        if (result == 0)
            result = begin_temporary(i - 1, &second);
        starpu_task_wait_for_all();
        if (result == 0)
            result = end_temporary(first, sum);
        if (result == 0)
            result = end_temporary(second, sum);
        starpu_task_wait_for_all();
    }
    return result;
}

static double expected_sum(void)
{
    double sum = 0;
    uint32_t k;
    int i;

    for (i = 0; i < N_TEMPORARIES; i++) {
        for (k = 0; k < length_of(i); k++)
            sum += i + (k % 7);
    }
    return sum;
}

static int run(int n_iterations, int first_changed)
{
    const double expected = expected_sum();
    starpu_data_handle_t handle;
    int n_wrong = 0;
    int result = 0;
    double sum;
    int i;

    for (i = 1; i <= n_iterations && result == 0; i++) {
        sum = 0;
        starpu_variable_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)&sum, sizeof(sum));
        starpu_iteration_push((unsigned long)i);
        result = i < first_changed ? run_singly(handle) : run_in_pairs(handle);
        starpu_iteration_pop();
        starpu_data_unregister(handle);
        n_wrong += sum != expected;
    }
    printf("%d iterations, changed from %d on, %d of them wrong\n", n_iterations, first_changed,
           n_wrong);
    return result != 0 || n_wrong > 0;
}

int main(int argc, char **argv)
{
    int n_iterations = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 10;
    int first_changed = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 5;
    int result;
    int i;

    for (i = 0; i < N_TEMPORARIES; i++)
        numbers_of[i] = i;
    if (starpu_init(NULL) != 0) {
        fprintf(stderr, "StarPU does not start\n");
        return 77;
    }
    result = run(n_iterations, first_changed);
    starpu_shutdown();
    return result;
}
