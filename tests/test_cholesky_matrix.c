/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The example's matrices: what files it reads, what it says about files it cannot read, and
 * whether its Laplacians and norms are right. StarPU is not needed here.
 */
#include "examples/cholesky/matrix.h"
#include "examples/cholesky/options.h"
#include "tests/support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define HEADER  "%%MatrixMarket matrix coordinate real symmetric\n"
#define GENERAL "%%MatrixMarket matrix coordinate real general\n"

struct fixture {
    char path[256]; /* of a file of our own */
    struct matrix matrix;
    struct error error;
};

static int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    const char *folder = getenv("TMPDIR");
    int file;

    if (fixture == NULL)
        return -1;
    snprintf(fixture->path, sizeof(fixture->path), "%s/test_cholesky.XXXXXX",
             folder != NULL ? folder : "/tmp");
    file = mkstemp(fixture->path);
    if (file == -1) {
        free(fixture);
        return -1;
    }
    close(file);
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;

    unlink(fixture->path);
    matrix_fini(&fixture->matrix);
    free(fixture);
    return 0;
}

static void write_file(const struct fixture *fixture, const void *bytes, size_t size)
{
    FILE *file = fopen(fixture->path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static enum status read_text(struct fixture *fixture, const char *text)
{
    write_file(fixture, text, strlen(text));
    return matrix_read(fixture->path, &fixture->matrix, &fixture->error);
}

static double entry(const struct matrix *matrix, int row, int column)
{
    int left = row < column ? row : column;
    int i;

    for (i = matrix->start[left]; i < matrix->start[left + 1]; i++) {
        if (matrix->rows[i] == row + column - left)
            return matrix->values[i];
    }
    return 0;
}

static void a_symmetric_file_is_read_in_any_order(void **state)
{
    struct fixture *fixture = *state;
    const struct matrix *matrix = &fixture->matrix;

    assert_int_equal(read_text(fixture, HEADER "% words\n\n3 3 5\n3 1 -1e0\n 2 2 4\n1 1 2.5\n"
                                               "\n3 3 7\n3 2 0.25"),
                     STATUS_OK);
    assert_int_equal(matrix->n, 3);
    assert_int_equal(matrix->start[3], 5);
    assert_int_equal(matrix_n_entries(matrix), 7);
    assert_true(entry(matrix, 0, 0) == 2.5 && entry(matrix, 1, 1) == 4);
    assert_true(entry(matrix, 0, 2) == -1 && entry(matrix, 2, 1) == 0.25);
    assert_true(entry(matrix, 2, 2) == 7 && entry(matrix, 1, 0) == 0);
}

static void entries_at_one_place_are_added_up(void **state)
{
    struct fixture *fixture = *state;

    assert_int_equal(read_text(fixture, HEADER "1 1 2\n1 1 3\n1 1 4\n"), STATUS_OK);
    assert_true(entry(&fixture->matrix, 0, 0) == 7);
}

static void a_general_file_is_read_if_it_is_symmetric(void **state)
{
    struct fixture *fixture = *state;

    assert_int_equal(read_text(fixture, GENERAL
                               "3 3 7\n1 2 -1\n1 1 4\n2 2 4\n2 1 -1\n3 3 9\n2 3 5\n3 2 5\n"),
                     STATUS_OK);
    assert_int_equal(fixture->matrix.start[3], 5);
    assert_true(entry(&fixture->matrix, 2, 1) == 5 && entry(&fixture->matrix, 0, 1) == -1);
}

static void a_matrix_that_is_not_symmetric_is_refused(void **state)
{
    static const char *const texts[] = {
        GENERAL "2 2 4\n1 1 4\n2 2 4\n1 2 -1\n2 1 -2\n",
        GENERAL "2 2 3\n1 1 4\n2 2 4\n1 2 -1\n",
        GENERAL "2 2 3\n1 1 4\n2 2 4\n2 1 -1\n",
        GENERAL "3 3 5\n1 1 4\n2 2 4\n3 3 4\n2 1 -1\n1 3 -1\n",
    };
    struct fixture *fixture = *state;
    size_t i;

    for (i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        assert_int_equal(read_text(fixture, texts[i]), STATUS_INPUT);
        assert_non_null(strstr(fixture->error.text, "not symmetric: entries"));
        assert_non_null(strstr(fixture->error.text, "(2, 1)"));
    }
}

static void a_malformed_file_is_refused_with_line_and_reason(void **state)
{
    static const struct {
        const char *text;
        const char *line;
        const char *reason;
    } cases[] = {
        {"", ":1:", "empty"},
        {"1 1 1\n1 1 1\n", ":1:", "%%MatrixMarket"},
        {"%%MatrixMarket vector coordinate real symmetric\n1 1 1\n", ":1:", "%%MatrixMarket"},
        {"%%MatrixMarket matrix array real symmetric\n1 1 1\n", ":1:", "coordinate"},
        {"%%MatrixMarket matrix coordinate complex symmetric\n1 1 1\n", ":1:", "real"},
        {"%%MatrixMarket matrix coordinate pattern symmetric\n1 1 1\n", ":1:", "real"},
        {"%%MatrixMarket matrix coordinate real skew-symmetric\n1 1 1\n", ":1:", "symmetric"},
        {"%%MatrixMarket matrix coordinate real\n1 1 1\n", ":1:", "symmetric"},
        {HEADER, ":2:", "size line"},
        {HEADER "% only words\n", ":3:", "size line"},
        {HEADER "2 2\n1 1 1\n", ":2:", "three whole numbers"},
        {HEADER "2 2 2 2\n1 1 1\n", ":2:", "three whole numbers"},
        {HEADER "2 two 2\n1 1 1\n", ":2:", "three whole numbers"},
        {HEADER "2.5 2.5 2\n1 1 1\n", ":2:", "three whole numbers"},
        {HEADER "99999999999999999999 2 2\n", ":2:", "three whole numbers"},
        {HEADER "2 3 2\n1 1 1\n", ":2:", "not square"},
        {HEADER "0 0 0\n", ":2:", "a size is"},
        {HEADER "-1 -1 1\n", ":2:", "a size is"},
        {HEADER "2 2 -1\n", ":2:", "a size is"},
        {HEADER "999999999 999999999 999999999\n", ":2:", "a size is"},
        {HEADER "2 2 9999999999\n", ":2:", "a size is"},
        {HEADER "200000000 200000000 1\n1 1 1\n", ":2:", "cannot fill the diagonal"},
        {HEADER "2 2 2\n1 1 1\n3 1 1\n", ":4:", "(3, 1) is outside"},
        {HEADER "2 2 2\n1 1 1\n0 1 1\n", ":4:", "(0, 1) is outside"},
        {HEADER "2 2 2\n1 1 1\n4294967297 1 1\n", ":4:", "is outside"},
        {HEADER "2 2 2\n1 1 1\n2 -1 1\n", ":4:", "is outside"},
        {HEADER "2 2 2\n1 1 1\n1 2 1\n", ":4:", "above the diagonal"},
        {HEADER "2 2 2\n1 1 nan\n2 2 1\n", ":3:", "not finite"},
        {HEADER "2 2 2\n1 1 -inf\n2 2 1\n", ":3:", "not finite"},
        {HEADER "2 2 2\n1 1 1e999\n2 2 1\n", ":3:", "not finite"},
        {HEADER "2 2 2\n1 1\n2 2 1\n", ":3:", "one value"},
        {HEADER "2 2 2\n1 1 1 1\n2 2 1\n", ":3:", "one value"},
        {HEADER "2 2 2\n1 1 1.0x\n2 2 1\n", ":3:", "one value"},
        {HEADER "2 2 2\none 1 1\n2 2 1\n", ":3:", "two whole numbers"},
        {HEADER "2 2 2\n1.5 1 1\n2 2 1\n", ":3:", "two whole numbers"},
        {HEADER "2 2 2\n1 1 1\n", ":4:", "after 1 of 2 entries; it is truncated"},
        {HEADER "2 2 2147483647\n1 1 1\n", ":4:", "truncated"},
        {HEADER "1 1 1\n1 1 1\n1 1 1\n", ":4:", "more entries"},
    };
    struct fixture *fixture = *state;
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        assert_int_equal(read_text(fixture, cases[i].text), STATUS_INPUT);
        if (strstr(fixture->error.text, cases[i].line) == NULL ||
            strstr(fixture->error.text, cases[i].reason) == NULL)
            fail_msg("case %zu says: %s", i, fixture->error.text);
        assert_non_null(strstr(fixture->error.text, fixture->path));
        assert_null(strchr(fixture->error.text, '\n'));
        assert_null(fixture->matrix.start);
    }
}

static void long_lines_and_zero_bytes_are_refused(void **state)
{
    struct fixture *fixture = *state;
    char text[4096] = HEADER;

    memset(text + strlen(HEADER), ' ', sizeof(text) - strlen(HEADER));
    write_file(fixture, text, sizeof(text));
    assert_int_equal(matrix_read(fixture->path, &fixture->matrix, &fixture->error),
                     STATUS_INPUT);
    assert_non_null(strstr(fixture->error.text, ":2: a line is too long"));

    write_file(fixture, HEADER "1 1 1\n1 1\0 1\n", strlen(HEADER) + 13);
    assert_int_equal(matrix_read(fixture->path, &fixture->matrix, &fixture->error),
                     STATUS_INPUT);
    assert_non_null(strstr(fixture->error.text, ":3: a line is too long"));
}

static void missing_files_and_folders_are_refused(void **state)
{
    struct fixture *fixture = *state;

    assert_int_equal(matrix_read("/nonexistent.mtx", &fixture->matrix, &fixture->error),
                     STATUS_INPUT);
    assert_non_null(strstr(fixture->error.text, "/nonexistent.mtx: No such file"));
    assert_int_equal(matrix_read("/tmp", &fixture->matrix, &fixture->error), STATUS_INPUT);
    assert_non_null(strstr(fixture->error.text, "directory"));
}

static void a_gzip_file_is_read_and_a_damaged_one_refused(void **state)
{
    struct fixture *fixture = *state;
    char text[20000] = HEADER "1000 1000 1000\n";
    size_t size = strlen(text);
    gzFile file;
    int i;

    for (i = 1; i <= 1000; i++)
        size += (size_t)snprintf(text + size, sizeof(text) - size, "%d %d %d\n", i, i, i);
    file = gzopen(fixture->path, "wb");
    assert_non_null(file);
    assert_int_equal(gzwrite(file, text, (unsigned)size), size);
    assert_int_equal(gzclose(file), Z_OK);
    assert_int_equal(matrix_read(fixture->path, &fixture->matrix, &fixture->error), STATUS_OK);
    assert_true(entry(&fixture->matrix, 999, 999) == 1000);
    matrix_fini(&fixture->matrix);

    assert_int_equal(truncate(fixture->path, 1000), 0);
    assert_int_equal(matrix_read(fixture->path, &fixture->matrix, &fixture->error),
                     STATUS_INPUT);
    assert_non_null(strstr(fixture->error.text, "damaged"));
}

static void a_diagonal_that_is_not_positive_is_named(void **state)
{
    struct fixture *fixture = *state;

    assert_int_equal(read_text(fixture, HEADER "3 3 3\n1 1 1\n3 3 1\n3 2 5\n"), STATUS_OK);
    assert_int_equal(matrix_check_diagonal(&fixture->matrix, "file", &fixture->error),
                     STATUS_NUMERIC);
    assert_non_null(strstr(fixture->error.text, "file: not positive definite"));
    assert_non_null(strstr(fixture->error.text, "column 2 "));
}

static void laplacians_have_the_neighbours_of_the_grid(void **state)
{
    struct fixture *fixture = *state;
    const struct matrix *matrix = &fixture->matrix;
    int dimensions;
    int row;
    int column;

    for (dimensions = 2; dimensions <= 3; dimensions++) {
        assert_int_equal(matrix_laplacian(dimensions, 4, &fixture->matrix, &fixture->error),
                         STATUS_OK);
        assert_int_equal(matrix->n, dimensions == 2 ? 16 : 64);
        for (row = 0; row < matrix->n; row++) {
            for (column = 0; column < matrix->n; column++) {
                int distance = abs(row % 4 - column % 4) + abs(row / 4 % 4 - column / 4 % 4) +
                               abs(row / 16 - column / 16);
                double expected = distance == 0 ? 2 * dimensions : distance == 1 ? -1 : 0;

                assert_true(entry(matrix, row, column) == expected);
            }
        }
        matrix_fini(&fixture->matrix);
    }
}

static void laplacians_without_or_with_too_many_rows_are_refused(void **state)
{
    struct fixture *fixture = *state;

    assert_int_equal(matrix_laplacian(2, 0, &fixture->matrix, &fixture->error), STATUS_INPUT);
    assert_int_equal(matrix_laplacian(3, -1, &fixture->matrix, &fixture->error), STATUS_INPUT);
    assert_int_equal(matrix_laplacian(2, 20000, &fixture->matrix, &fixture->error),
                     STATUS_INPUT);
    assert_int_equal(matrix_laplacian(3, INT32_MAX, &fixture->matrix, &fixture->error),
                     STATUS_INPUT);
}

static void a_single_point_is_a_laplacian(void **state)
{
    struct fixture *fixture = *state;

    assert_int_equal(matrix_laplacian(3, 1, &fixture->matrix, &fixture->error), STATUS_OK);
    assert_int_equal(fixture->matrix.n, 1);
    assert_true(fixture->matrix.values[0] == 6);
}

static void the_backward_error_is_scaled_and_never_hides_a_nan(void **state)
{
    struct fixture *fixture = *state;
    double residual[2];
    double zero[2] = {0, 0};
    double b[2] = {1, 3};
    double x[2] = {1, 1};

    /* |A| = 5, |x| = 1, |b| = 3, A x = (1, 4): the residual is (0, -1). */
    assert_int_equal(read_text(fixture, HEADER "2 2 3\n1 1 2\n2 1 -1\n2 2 5\n"), STATUS_OK);
    assert_true(matrix_backward_error(&fixture->matrix, x, b, residual) == 1.0 / 9);
    assert_true(residual[0] == 0 && residual[1] == -1);
    assert_true(matrix_backward_error(&fixture->matrix, zero, zero, residual) == 0);
    x[1] = NAN;
    assert_true(isnan(matrix_backward_error(&fixture->matrix, x, b, residual)));
    x[1] = INFINITY;
    assert_true(isnan(matrix_backward_error(&fixture->matrix, x, b, residual)));
}

static void options_are_read_and_bad_ones_refused(void **state)
{
    static char *good[] = {"cholesky", "--laplacian", "3d:7", "-n",  "4", "-w",
                           "0.5",      "-s",          "9",    "-rj", NULL};
    static const char *const bad[][2] = {
        {"--laplacian", "4d:7"}, {"--laplacian", "2d:0"}, {"--laplacian", "2d:9x"},
        {"--repeat", "0"},       {"--repeat", "1e3"},     {"--repeat", "99999999999"},
        {"--window", "0"},       {"--window", "nan"},     {"--window", "1.5"},
        {"--window", "-1"},      {"--seed", "-1"},        {"--seed", "99999999999999999999"},
        {"--accuracy", "zero"},  {"--colour", "blue"},    {"one.mtx", "two.mtx"},
    };
    struct fixture *fixture = *state;
    struct options options;
    size_t i;

    assert_int_equal(options_parse(10, good, &options, &fixture->error), STATUS_OK);
    assert_true(options.dimensions == 3 && options.side == 7 && options.n_repeats == 4);
    assert_true(options.window == 0.5 && options.has_seed && options.seed == 9);
    assert_true(options.refine && options.json && options.path == NULL);

    for (i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        char *arguments[] = {"cholesky", (char *)bad[i][0], (char *)bad[i][1], NULL};

        assert_int_equal(options_parse(3, arguments, &options, &fixture->error), STATUS_INPUT);
        assert_non_null(strstr(fixture->error.text, "see --help"));
        assert_int_equal(options.n_repeats, 4);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_symmetric_file_is_read_in_any_order, setup, teardown),
        cmocka_unit_test_setup_teardown(entries_at_one_place_are_added_up, setup, teardown),
        cmocka_unit_test_setup_teardown(a_general_file_is_read_if_it_is_symmetric, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_matrix_that_is_not_symmetric_is_refused, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_malformed_file_is_refused_with_line_and_reason, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(long_lines_and_zero_bytes_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(missing_files_and_folders_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(a_gzip_file_is_read_and_a_damaged_one_refused, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_diagonal_that_is_not_positive_is_named, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(laplacians_have_the_neighbours_of_the_grid, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(laplacians_without_or_with_too_many_rows_are_refused,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_single_point_is_a_laplacian, setup, teardown),
        cmocka_unit_test_setup_teardown(the_backward_error_is_scaled_and_never_hides_a_nan,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(options_are_read_and_bad_ones_refused, setup, teardown),
    };

    return cmocka_run_group_tests_name("cholesky_matrix", tests, NULL, NULL);
}
