/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The example's analysis and factorisation against naive ones: elimination on a dense pattern,
 * and LAPACK's dense Cholesky. StarPU runs for all of the cases.
 */
#include "examples/cholesky/lapack.h"
#include "examples/cholesky/numeric.h"
#include "examples/cholesky/tree.h"
#include "tests/support.h"

#include <starpu.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ACCURACY     1e-13
#define MAX_RANDOM_N 80

static const struct numeric_options quarter = {.window = 0.25};

/* What a case works on; fini_problem() may be called however far the case has come. */
struct problem {
    struct matrix matrix;
    struct symbolic symbolic;
    struct factor factor;
    struct numeric_stats stats;
    struct error error;
};

static int setup(void **state)
{
    *state = calloc(1, sizeof(struct problem));
    return *state == NULL ? -1 : 0;
}

static void fini_problem(struct problem *problem)
{
    factor_fini(&problem->factor);
    symbolic_fini(&problem->symbolic);
    matrix_fini(&problem->matrix);
}

static int teardown(void **state)
{
    fini_problem(*state);
    free(*state);
    return 0;
}

/* cmocka's assertion would not say what the error was. */
static void expect(const struct problem *problem, enum status status, enum status expected)
{
    if (status != expected)
        fail_msg("status %d, not %d: %s", (int)status, (int)expected, problem->error.text);
}

/* A random pattern with up to four entries a column, and a diagonal that dominates. */
static void random_problem(struct problem *problem, uint64_t *random, int n)
{
    int rows[5 * MAX_RANDOM_N];
    int columns[5 * MAX_RANDOM_N];
    double values[5 * MAX_RANDOM_N];
    int n_links = n > 1 ? (int)sp_test_random_below(random, 4 * (size_t)n) : 0;
    int count = 0;
    int i;

    assert_true(n <= MAX_RANDOM_N);
    for (i = 0; i < n; i++) {
        rows[count] = columns[count] = i;
        values[count++] = 8.5 * n;
    }
    for (i = 0; i < n_links; i++) {
        rows[count] = (int)sp_test_random_below(random, (size_t)n);
        columns[count] = (int)sp_test_random_below(random, (size_t)n);
        values[count] = (double)sp_test_random_below(random, 2001) / 1000 - 1;
        count += rows[count] != columns[count];
    }
    expect(
        problem,
        matrix_from_entries(n, count, rows, columns, values, &problem->matrix, &problem->error),
        STATUS_OK);
}

static void analyse(struct problem *problem)
{
    expect(problem, symbolic_init(&problem->matrix, &problem->symbolic, &problem->error),
           STATUS_OK);
}

static void factorise(struct problem *problem, const struct numeric_options *options)
{
    expect(problem,
           numeric_factorise(&problem->symbolic, options, &problem->factor, &problem->stats,
                             &problem->error),
           STATUS_OK);
}

static double *dense_copy(const struct matrix *matrix)
{
    size_t n = (size_t)matrix->n;
    double *dense = calloc(n * n, sizeof(*dense));
    size_t column;
    int i;

    assert_non_null(dense);
    for (column = 0; column < n; column++) {
        for (i = matrix->start[column]; i < matrix->start[column + 1]; i++)
            dense[column * n + (size_t)matrix->rows[i]] = matrix->values[i];
    }
    return dense;
}

/* Eliminate on a dense pattern: filled[j * n + i] says whether entry (i, j) of the factor is
 * there. Numbers do not matter, so nothing cancels. */
static bool *naive_pattern(const struct matrix *matrix)
{
    int n = matrix->n;
    bool *filled = calloc((size_t)n * (size_t)n, sizeof(*filled));
    int i;
    int j;
    int k;

    assert_non_null(filled);
    for (j = 0; j < n; j++) {
        for (i = matrix->start[j]; i < matrix->start[j + 1]; i++)
            filled[j * n + matrix->rows[i]] = true;
    }
    for (k = 0; k < n; k++) {
        for (j = k + 1; j < n; j++) {
            for (i = j; i < n && filled[k * n + j]; i++)
                filled[j * n + i] |= filled[k * n + i];
        }
    }
    return filled;
}

static void check_tree(struct problem *problem, const struct matrix *matrix)
{
    int n = matrix->n;
    bool *filled = naive_pattern(matrix);
    int *parent = malloc(2 * (size_t)n * sizeof(*parent));
    int *counts = parent + n;
    int i;
    int j;

    assert_non_null(parent);
    expect(problem, tree_parents(matrix, parent, &problem->error), STATUS_OK);
    expect(problem, tree_counts(matrix, parent, counts, &problem->error), STATUS_OK);
    for (j = 0; j < n; j++) {
        int first = -1;
        int count = 0;

        for (i = n - 1; i >= j; i--) {
            count += filled[j * n + i];
            if (i > j && filled[j * n + i])
                first = i;
        }
        assert_int_equal(parent[j], first);
        assert_int_equal(counts[j], count);
    }
    free(parent);
    free(filled);
}

/* Every row of every column is in its front, and the front has no row that no column has. */
static void check_fronts(const struct symbolic *symbolic)
{
    const struct matrix *matrix = &symbolic->matrix;
    bool *filled = naive_pattern(matrix);
    uint64_t n_factor = 0;
    int number;
    int i;
    int j;

    for (number = 0; number < symbolic->n_supernodes; number++) {
        const struct supernode *supernode = &symbolic->supernodes[number];
        const int *rows = symbolic->rows + supernode->rows_start;
        int place = 0;

        for (i = supernode->first; i < matrix->n; i++) {
            bool is_wanted = i < supernode->first + supernode->n_columns;

            for (j = supernode->first; j < supernode->first + supernode->n_columns; j++)
                is_wanted |= j <= i && filled[j * matrix->n + i];
            if (is_wanted)
                assert_int_equal(rows[place++], i);
        }
        assert_int_equal(place, supernode->n_rows);
    }
    for (i = 0; i < matrix->n * matrix->n; i++)
        n_factor += filled[i];
    assert_int_equal(symbolic->n_factor, n_factor);
    free(filled);
}

/* One column of a panel against a column of the dense factor. */
static void check_column(const struct problem *problem, int number, int column,
                         const double *dense, double tolerance)
{
    const struct supernode *supernode = &problem->symbolic.supernodes[number];
    const double *ours =
        problem->factor.panels[number] + (size_t)column * (size_t)supernode->n_rows;
    const int *rows = problem->symbolic.rows + supernode->rows_start;
    int i;

    for (i = column; i < supernode->n_rows; i++) {
        if (!(fabs(ours[i] - dense[rows[i]]) <= tolerance))
            fail_msg("L(%d, %d) is %g, not %g", rows[i], supernode->first + column, ours[i],
                     dense[rows[i]]);
    }
}

/* The panels against LAPACK's factor of the whole, relative to its largest entry. */
static void check_factor(const struct problem *problem)
{
    const struct symbolic *symbolic = &problem->symbolic;
    int n = symbolic->matrix.n;
    double *dense = dense_copy(&symbolic->matrix);
    double largest = 0;
    int number;
    int info;
    int i;

    dpotrf_("L", &n, dense, &n, &info);
    assert_int_equal(info, 0);
    for (i = 0; i < n; i++)
        largest = fmax(largest, dense[i * n + i]);
    for (number = 0; number < symbolic->n_supernodes; number++) {
        const struct supernode *supernode = &symbolic->supernodes[number];

        for (i = 0; i < supernode->n_columns; i++)
            check_column(problem, number, i, dense + (size_t)(supernode->first + i) * (size_t)n,
                         ACCURACY * largest);
    }
    free(dense);
}

static void check_solution(struct problem *problem)
{
    size_t n = (size_t)problem->matrix.n;
    double *b = malloc(3 * n * sizeof(*b));
    double *residual = b + 2 * n;
    double *x = b + n;
    size_t i;

    assert_non_null(b);
    for (i = 0; i < n; i++)
        b[i] = (double)(i % 7) - 2;
    expect(problem, factor_solve(&problem->factor, b, x, &problem->error), STATUS_OK);
    assert_true(matrix_backward_error(&problem->matrix, x, b, residual) < ACCURACY);
    /* In place as well. */
    memcpy(x, b, n * sizeof(*b));
    expect(problem, factor_solve(&problem->factor, x, x, &problem->error), STATUS_OK);
    assert_true(matrix_backward_error(&problem->matrix, x, b, residual) < ACCURACY);
    free(b);
}

static void load_bcsstk01(struct problem *problem)
{
    const char *folder = getenv("srcdir");
    char path[1024];

    snprintf(path, sizeof(path), "%s/examples/data/bcsstk01.mtx", folder ? folder : ".");
    expect(problem, matrix_read(path, &problem->matrix, &problem->error), STATUS_OK);
}

static void random_matrices_agree_with_naive_elimination(void **state)
{
    struct problem *problem = *state;
    uint64_t random = sp_test_seed();
    size_t n_rounds = sp_test_scaled(150);
    size_t i;

    for (i = 0; i < n_rounds; i++) {
        random_problem(problem, &random, 1 + (int)sp_test_random_below(&random, 60));
        analyse(problem);
        check_tree(problem, &problem->symbolic.matrix);
        check_fronts(&problem->symbolic);
        fini_problem(problem);
    }
}

static void random_matrices_agree_with_dense_cholesky(void **state)
{
    struct problem *problem = *state;
    uint64_t random = sp_test_seed();
    size_t n_rounds = sp_test_scaled(40);
    size_t i;

    for (i = 0; i < n_rounds; i++) {
        random_problem(problem, &random, 1 + (int)sp_test_random_below(&random, 80));
        analyse(problem);
        factorise(problem, &quarter);
        check_factor(problem);
        check_solution(problem);
        fini_problem(problem);
    }
}

static void bcsstk01_agrees_with_naive_elimination_and_dense_cholesky(void **state)
{
    struct problem *problem = *state;

    load_bcsstk01(problem);
    analyse(problem);
    check_tree(problem, &problem->symbolic.matrix);
    check_fronts(&problem->symbolic);
    factorise(problem, &quarter);
    check_factor(problem);
    check_solution(problem);
}

static void a_postorder_lists_each_subtree_in_one_run(void **state)
{
    /* Two trees: 5 over 3 and 0, 3 over 1; 6 over 4 and 2. */
    static const int parent[] = {5, 3, 6, 5, 6, -1, -1};
    static const int expected[] = {0, 1, 3, 5, 2, 4, 6};
    struct problem *problem = *state;
    int order[7];

    expect(problem, tree_postorder(7, parent, order, &problem->error), STATUS_OK);
    assert_memory_equal(order, expected, sizeof(order));
}

static void a_tree_as_deep_as_the_matrix_is_walked(void **state)
{
    struct problem *problem = *state;
    int n = 200000;
    int *parent = malloc(2 * (size_t)n * sizeof(*parent));
    int *order = parent + n;
    int i;

    assert_non_null(parent);
    for (i = 0; i < n; i++)
        parent[i] = i + 1 < n ? i + 1 : -1;
    expect(problem, tree_postorder(n, parent, order, &problem->error), STATUS_OK);
    for (i = 0; i < n; i++)
        assert_int_equal(order[i], i);
    free(parent);
}

static void a_diagonal_matrix_has_a_front_for_each_tree(void **state)
{
    static const int places[] = {0, 1, 2, 3, 4};
    static const double values[] = {1, 4, 9, 16, 25};
    struct problem *problem = *state;

    expect(problem,
           matrix_from_entries(5, 5, places, places, values, &problem->matrix, &problem->error),
           STATUS_OK);
    analyse(problem);
    assert_int_equal(problem->symbolic.n_supernodes, 5);
    assert_int_equal(problem->symbolic.n_factor, 5);
    factorise(problem, &quarter);
    assert_int_equal(problem->stats.n_temporaries, 5);
    check_factor(problem);
    check_solution(problem);
}

static void the_window_bounds_the_live_fronts(void **state)
{
    struct problem *problem = *state;

    expect(problem, matrix_laplacian(2, 60, &problem->matrix, &problem->error), STATUS_OK);
    analyse(problem);
    factorise(problem, &quarter);
    assert_true(problem->stats.peak_live_bytes <= problem->symbolic.front_bytes / 4);
    assert_true(problem->stats.n_panels == (uint64_t)problem->symbolic.n_supernodes);
    assert_true(problem->stats.n_temporaries > problem->stats.n_panels);
    check_solution(problem);
}

static void a_window_smaller_than_one_front_does_not_starve(void **state)
{
    const struct numeric_options narrow = {.window = 1e-9};
    struct problem *problem = *state;

    expect(problem, matrix_laplacian(3, 8, &problem->matrix, &problem->error), STATUS_OK);
    analyse(problem);
    factorise(problem, &narrow);
    check_solution(problem);
}

static void the_factor_does_not_depend_on_timing_or_window(void **state)
{
    const struct numeric_options all = {.window = 1};
    struct problem *problem = *state;
    struct factor first;
    int i;

    expect(problem, matrix_laplacian(3, 9, &problem->matrix, &problem->error), STATUS_OK);
    analyse(problem);
    factorise(problem, &quarter);
    first = problem->factor;
    factorise(problem, &all);
    for (i = 0; i < problem->symbolic.n_supernodes; i++) {
        size_t size = supernode_panel_bytes(&problem->symbolic.supernodes[i]);
        const struct supernode *supernode = &problem->symbolic.supernodes[i];
        int j;

        /* The corner above the diagonal is LAPACK's and may hold anything. */
        for (j = 0; j < supernode->n_columns; j++) {
            size_t offset = (size_t)j * (size_t)supernode->n_rows + (size_t)j;

            assert_true(offset * sizeof(double) < size);
            assert_memory_equal(first.panels[i] + offset, problem->factor.panels[i] + offset,
                                (size_t)(supernode->n_rows - j) * sizeof(double));
        }
    }
    factor_fini(&first);
}

static void the_column_without_a_positive_pivot_is_named(void **state)
{
    struct problem *problem = *state;
    char expected[64];
    int column = 0;
    int i;

    expect(problem, matrix_laplacian(2, 30, &problem->matrix, &problem->error), STATUS_OK);
    /* With this diagonal entry the neighbours' share alone makes the pivot negative, once
     * they are eliminated; two of them, so that the answer could depend on timing. */
    problem->matrix.values[problem->matrix.start[217]] = 1e-3;
    problem->matrix.values[problem->matrix.start[644]] = 1e-3;
    for (i = 0; i < 20; i++) {
        enum status status;

        analyse(problem);
        status = numeric_factorise(&problem->symbolic, &quarter, &problem->factor,
                                   &problem->stats, &problem->error);
        expect(problem, status, STATUS_NUMERIC);
        assert_null(problem->factor.panels);
        if (i == 0) {
            const char *text = strstr(problem->error.text, "column ");

            assert_non_null(text);
            column = (int)strtol(text + strlen("column "), NULL, 10);
            assert_true(column >= 1 && column <= problem->matrix.n);
            snprintf(expected, sizeof(expected), "not positive definite: column %d ", column);
        }
        assert_non_null(strstr(problem->error.text, expected));
        symbolic_fini(&problem->symbolic);
    }
}

/* A dense indefinite matrix is eliminated in one front, in a known place of it. */
static void the_named_column_is_the_one_dense_cholesky_stops_at(void **state)
{
    struct problem *problem = *state;
    uint64_t random = sp_test_seed();
    size_t n_rounds = sp_test_scaled(30);
    enum status status;
    char expected[64];
    double *dense;
    size_t i;
    int info;
    int n;

    for (i = 0; i < n_rounds; i++) {
        n = 2 + (int)sp_test_random_below(&random, 40);
        random_problem(problem, &random, n);
        problem->matrix
            .values[problem->matrix.start[sp_test_random_below(&random, (size_t)n)]] = -1;
        analyse(problem);
        dense = dense_copy(&problem->symbolic.matrix);
        dpotrf_("L", &n, dense, &n, &info);
        free(dense);
        assert_true(info > 0);
        snprintf(expected, sizeof(expected), "column %d of the matrix (number %d to be",
                 problem->symbolic.permutation[info - 1] + 1, info);
        status = numeric_factorise(&problem->symbolic, &quarter, &problem->factor,
                                   &problem->stats, &problem->error);
        expect(problem, status, STATUS_NUMERIC);
        if (strstr(problem->error.text, expected) == NULL)
            fail_msg("'%s' is not in: %s", expected, problem->error.text);
        fini_problem(problem);
    }
}

static void a_failed_factorisation_leaves_starpu_usable(void **state)
{
    struct problem *problem = *state;
    struct matrix *matrix = &problem->matrix;
    double diagonal;
    int middle;

    expect(problem, matrix_laplacian(3, 10, matrix, &problem->error), STATUS_OK);
    middle = matrix->start[500];
    diagonal = matrix->values[middle];
    matrix->values[middle] = -diagonal;
    analyse(problem);
    expect(problem,
           numeric_factorise(&problem->symbolic, &quarter, &problem->factor, &problem->stats,
                             &problem->error),
           STATUS_NUMERIC);
    symbolic_fini(&problem->symbolic);
    matrix->values[middle] = diagonal;
    analyse(problem);
    factorise(problem, &quarter);
    check_solution(problem);
}

static int start_starpu(void **state)
{
    (void)state;
    return starpu_init(NULL) == 0 ? 0 : -1;
}

static int stop_starpu(void **state)
{
    (void)state;
    starpu_shutdown();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(random_matrices_agree_with_naive_elimination, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(random_matrices_agree_with_dense_cholesky, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(
            bcsstk01_agrees_with_naive_elimination_and_dense_cholesky, setup, teardown),
        cmocka_unit_test_setup_teardown(a_postorder_lists_each_subtree_in_one_run, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_tree_as_deep_as_the_matrix_is_walked, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_diagonal_matrix_has_a_front_for_each_tree, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(the_window_bounds_the_live_fronts, setup, teardown),
        cmocka_unit_test_setup_teardown(a_window_smaller_than_one_front_does_not_starve, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(the_factor_does_not_depend_on_timing_or_window, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(the_column_without_a_positive_pivot_is_named, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(the_named_column_is_the_one_dense_cholesky_stops_at,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_failed_factorisation_leaves_starpu_usable, setup,
                                        teardown),
    };

    return cmocka_run_group_tests_name("cholesky", tests, start_starpu, stop_starpu);
}
