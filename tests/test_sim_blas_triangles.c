/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The simulated cuBLAS on a matrix and vectors (level 2), against loops over dense matrices:
 * general, banded and packed ones, symmetric, Hermitian and triangular ones. */
#include "config.h"

#include "tests/sim_blas_fixture.h"

static const char *const types[] = {"S", "D", "C", "Z"};

enum { N = 6, BAND = 2, LD = N + 2, INC_X = 2, INC_Y = -1, ROOM = LD * N };

/* How a triangle is stored: full, as a band, packed. */
struct shape {
    char storage; /* f b p */
    int uplo;     /* 0 lower, 1 upper */
};

static double complex dense[N][N]; /* [row][column] */

/* Where an element of the triangle is; -1: it is not stored, and 0. */
static int place(const struct shape *shape, int i, int j)
{
    if (shape->uplo == 0 ? i < j : i > j)
        return -1;
    if (shape->storage == 'f')
        return i + j * LD;
    if (shape->storage == 'p')
        return shape->uplo == 0 ? i + j * (2 * N - j - 1) / 2 : i + j * (j + 1) / 2;
    if (i - j > BAND || j - i > BAND)
        return -1;
    return (shape->uplo == 0 ? i - j : BAND + i - j) + j * LD;
}

/* Fill `dense`: kind s symmetric, h Hermitian, t triangular, u with ones on the diagonal. */
static void expand(const struct shape *shape, const struct sp_array *a, char kind)
{
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++) {
            const int here = place(shape, i, j), there = place(shape, j, i);

            dense[i][j] = here >= 0 ? a->at[here] : 0;
            if (here < 0 && there >= 0 && kind != 't' && kind != 'u')
                dense[i][j] = kind == 'h' ? conj(a->at[there]) : a->at[there];
            if (i == j && kind == 'h')
                dense[i][j] = creal(dense[i][j]);
            if (i == j && kind == 'u')
                dense[i][j] = 1;
        }
    }
}

/* An element of op(dense). */
static double complex dense_op(int operation, int i, int j)
{
    return operation == 0 ? dense[i][j] : sp_op(operation, dense[j][i]);
}

static const struct shape shapes[] = {{'f', 0}, {'f', 1}, {'b', 0},
                                      {'b', 1}, {'p', 0}, {'p', 1}};

enum { N_SHAPES = sizeof(shapes) / sizeof(shapes[0]) };

/* ---- calls, whose parameters depend on the storage ------------------------------------ */

struct call {
    intptr_t args[18];
    size_t n;
};

static void add(struct call *call, intptr_t arg)
{
    call->args[call->n++] = arg;
}

/* The matrix, with a leading dimension unless it is packed. */
static void add_matrix(struct call *call, const struct shape *shape, const struct sp_array *a)
{
    add(call, (intptr_t)a->ptr);
    if (shape->storage != 'p')
        add(call, LD);
}

static void add_vector(struct call *call, const struct sp_array *x, int increment)
{
    add(call, (intptr_t)x->ptr);
    add(call, increment);
}

static struct call begin(const struct shape *shape)
{
    struct call call = {.args = {(intptr_t)sp_blas.handle, shape->uplo}, .n = 2};

    return call;
}

static void run(const struct call *call, const char *name)
{
    const int status = sp_blas_call(name, call->n, call->args);

    if (status != 0)
        fail_msg("%s: status %d", name, status);
}

/* ---- symmetric and Hermitian matrices -------------------------------------------------- */

static void check_mv(size_t t, const struct shape *shape, const char *family, char kind)
{
    const char type = types[t][0];
    struct sp_array a = sp_array_new(type, ROOM), x = sp_array_new(type, ROOM);
    struct sp_array y = sp_array_new(type, ROOM);
    const double complex alpha = sp_random_number(type), beta = sp_random_number(type);
    char alpha_number[16], beta_number[16];
    struct call call = begin(shape);

    add(&call, N);
    if (shape->storage == 'b')
        add(&call, BAND);
    add(&call, (intptr_t)sp_number(type, alpha, alpha_number));
    add_matrix(&call, shape, &a);
    add_vector(&call, &x, INC_X);
    add(&call, (intptr_t)sp_number(type, beta, beta_number));
    add_vector(&call, &y, INC_Y);
    run(&call, sp_blas_name(types[t], family));
    expand(shape, &a, kind);
    for (int i = 0; i < N; i++) {
        double complex sum = 0;

        for (int j = 0; j < N; j++)
            sum += dense[i][j] * x.at[sp_place((size_t)j, N, INC_X)];
        y.at[sp_place((size_t)i, N, INC_Y)] =
            alpha * sum + beta * y.at[sp_place((size_t)i, N, INC_Y)];
    }
    sp_array_check(&y, family);
    sp_array_check(&a, "the matrix");
    sp_array_free(&a);
    sp_array_free(&x);
    sp_array_free(&y);
}

static void symmetric_matrices_multiply_vectors(void **state)
{
    (void)state;
    for (size_t s = 0; s < N_SHAPES; s++) {
        const char storage = shapes[s].storage;

        for (size_t t = 0; t < 4; t++) {
            if (t < 2 || storage == 'f')
                check_mv(t, &shapes[s],
                         storage == 'f'   ? "symv_v2"
                         : storage == 'b' ? "sbmv_v2"
                                          : "spmv_v2",
                         's');
            if (t >= 2)
                check_mv(t, &shapes[s],
                         storage == 'f'   ? "hemv_v2"
                         : storage == 'b' ? "hbmv_v2"
                                          : "hpmv_v2",
                         'h');
        }
    }
}

/* What an element of the triangle gets: alpha x x', or alpha x y' + alpha y x'. */
static double complex product(char kind, double complex alpha, const struct sp_array *x,
                              const struct sp_array *y, int i, int j)
{
    const int op = kind == 'h' ? 2 : 0;
    const double complex xi = x->at[sp_place((size_t)i, N, INC_X)];
    const double complex xj = x->at[sp_place((size_t)j, N, INC_X)];
    double complex yi, yj;

    if (y == NULL)
        return alpha * xi * sp_op(op, xj);
    yi = y->at[sp_place((size_t)i, N, INC_Y)];
    yj = y->at[sp_place((size_t)j, N, INC_Y)];
    return alpha * xi * sp_op(op, yj) + sp_op(op, alpha) * yi * sp_op(op, xj);
}

static void check_update(size_t t, const struct shape *shape, const char *family, char kind,
                         bool is_two)
{
    const char type = types[t][0];
    const char alpha_type = kind == 'h' && !is_two ? sp_real_of(type) : type;
    struct sp_array a = sp_array_new(type, ROOM), x = sp_array_new(type, ROOM);
    struct sp_array y = sp_array_new(type, ROOM);
    const double complex alpha = sp_random_number(alpha_type);
    char alpha_number[16];
    struct call call = begin(shape);

    add(&call, N);
    add(&call, (intptr_t)sp_number(alpha_type, alpha, alpha_number));
    add_vector(&call, &x, INC_X);
    if (is_two)
        add_vector(&call, &y, INC_Y);
    add_matrix(&call, shape, &a);
    run(&call, sp_blas_name(types[t], family));
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++) {
            const int here = place(shape, i, j);

            if (here < 0)
                continue;
            /* Without a product the BLAS leaves all as it is. */
            if (alpha != 0 && kind == 'h' && i == j)
                a.at[here] = creal(a.at[here]);
            a.at[here] += product(kind, alpha, &x, is_two ? &y : NULL, i, j);
        }
    }
    sp_array_check(&a, family);
    sp_array_free(&a);
    sp_array_free(&x);
    sp_array_free(&y);
}

static void products_of_vectors_are_added_to_a_triangle(void **state)
{
    (void)state;
    for (size_t s = 0; s < N_SHAPES; s++) {
        const bool is_packed = shapes[s].storage == 'p';

        if (shapes[s].storage == 'b')
            continue;
        for (size_t t = 0; t < 4; t++) {
            if (t < 2 || !is_packed) {
                check_update(t, &shapes[s], is_packed ? "spr_v2" : "syr_v2", 's', false);
                check_update(t, &shapes[s], is_packed ? "spr2_v2" : "syr2_v2", 's', true);
            }
            if (t >= 2) {
                check_update(t, &shapes[s], is_packed ? "hpr_v2" : "her_v2", 'h', false);
                check_update(t, &shapes[s], is_packed ? "hpr2_v2" : "her2_v2", 'h', true);
            }
        }
    }
}

/* ---- triangular matrices --------------------------------------------------------------- */

/* x = op(T) x for "mv"; "sv" finds x again from op(T) x. */
static void check_triangle(size_t t, const struct shape *shape, int operation, int diag,
                           bool is_solved)
{
    static const char *const families[2][3] = {{"trmv_v2", "tbmv_v2", "tpmv_v2"},
                                               {"trsv_v2", "tbsv_v2", "tpsv_v2"}};
    const char *family = families[is_solved][shape->storage == 'f'   ? 0
                                             : shape->storage == 'b' ? 1
                                                                     : 2];
    const char type = types[t][0];
    struct sp_array a = sp_array_new(type, ROOM), x = sp_array_new(type, ROOM);
    struct sp_array product = sp_array_new(type, ROOM);
    struct call call = begin(shape);

    for (int i = 0; i < N; i++)
        a.at[place(shape, i, i)] += 3; /* far from singular */
    sp_array_upload(&a);
    expand(shape, &a, diag ? 'u' : 't');
    for (size_t i = 0; i < ROOM; i++)
        product.at[i] = x.at[i];
    for (int i = 0; i < N; i++) {
        double complex sum = 0;

        for (int j = 0; j < N; j++)
            sum += dense_op(operation, i, j) * x.at[sp_place((size_t)j, N, INC_Y)];
        product.at[sp_place((size_t)i, N, INC_Y)] = sum;
    }
    sp_array_upload(&product);
    add(&call, operation);
    add(&call, diag);
    add(&call, N);
    if (shape->storage == 'b')
        add(&call, BAND);
    add_matrix(&call, shape, &a);
    add_vector(&call, is_solved ? &product : &x, INC_Y);
    run(&call, sp_blas_name(types[t], family));
    for (size_t i = 0; i < ROOM; i++)
        *(is_solved ? &product.at[i] : &x.at[i]) = is_solved ? x.at[i] : product.at[i];
    sp_array_check(is_solved ? &product : &x, family);
    sp_array_free(&a);
    sp_array_free(&x);
    sp_array_free(&product);
}

static void triangles_multiply_and_are_solved(void **state)
{
    (void)state;
    for (size_t s = 0; s < N_SHAPES; s++)
        for (size_t t = 0; t < 4; t++)
            for (int operation = 0; operation <= 2; operation++)
                for (int choice = 0; choice < 4; choice++)
                    check_triangle(t, &shapes[s], operation, choice % 2, choice / 2 == 1);
}

/* ---- general matrices ------------------------------------------------------------------ */

enum { M = 5, KL = 1, KU = 2 };

/* Where a matrix of M rows has an element: -1 outside its band. */
static int general_place(bool is_band, int i, int j)
{
    if (!is_band)
        return i + j * LD;
    return i - j > KL || j - i > KU ? -1 : KU + i - j + j * LD;
}

static void check_gemv(size_t t, int operation, bool is_band)
{
    const char type = types[t][0];
    struct sp_array a = sp_array_new(type, ROOM), x = sp_array_new(type, ROOM);
    struct sp_array y = sp_array_new(type, ROOM);
    const double complex alpha = sp_random_number(type), beta = sp_random_number(type);
    char alpha_number[16], beta_number[16];
    const int n_rows = operation == 0 ? M : N, n_columns = operation == 0 ? N : M;
    struct call call = {.args = {(intptr_t)sp_blas.handle, operation, M, N}, .n = 4};

    if (is_band) {
        add(&call, KL);
        add(&call, KU);
    }
    add(&call, (intptr_t)sp_number(type, alpha, alpha_number));
    add(&call, (intptr_t)a.ptr);
    add(&call, LD);
    add_vector(&call, &x, INC_X);
    add(&call, (intptr_t)sp_number(type, beta, beta_number));
    add_vector(&call, &y, INC_Y);
    run(&call, sp_blas_name(types[t], is_band ? "gbmv_v2" : "gemv_v2"));
    for (int i = 0; i < n_rows; i++) {
        double complex sum = 0, *at = &y.at[sp_place((size_t)i, (size_t)n_rows, INC_Y)];

        for (int j = 0; j < n_columns; j++) {
            const int here =
                operation == 0 ? general_place(is_band, i, j) : general_place(is_band, j, i);

            if (here >= 0)
                sum += sp_op(operation, a.at[here]) *
                       x.at[sp_place((size_t)j, (size_t)n_columns, INC_X)];
        }
        *at = alpha * sum + beta * *at;
    }
    sp_array_check(&y, is_band ? "gbmv" : "gemv");
    sp_array_free(&a);
    sp_array_free(&x);
    sp_array_free(&y);
}

static void general_matrices_multiply_vectors(void **state)
{
    (void)state;
    for (size_t t = 0; t < 4; t++)
        for (int operation = 0; operation <= 2; operation++)
            for (int is_band = 0; is_band <= 1; is_band++)
                check_gemv(t, operation, is_band == 1);
}

static void check_ger(size_t t, const char *family, int operation)
{
    const char type = types[t][0];
    struct sp_array a = sp_array_new(type, ROOM), x = sp_array_new(type, ROOM);
    struct sp_array y = sp_array_new(type, ROOM);
    const double complex alpha = sp_random_number(type);
    char number[16];

    assert_int_equal(0, CALL(sp_blas_name(types[t], family), M, N,
                             (intptr_t)sp_number(type, alpha, number), (intptr_t)x.ptr, INC_X,
                             (intptr_t)y.ptr, INC_Y, (intptr_t)a.ptr, LD));
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++)
            a.at[i + j * LD] += alpha * x.at[sp_place((size_t)i, M, INC_X)] *
                                sp_op(operation, y.at[sp_place((size_t)j, N, INC_Y)]);
    sp_array_check(&a, family);
    sp_array_free(&a);
    sp_array_free(&x);
    sp_array_free(&y);
}

static void ger_adds_a_product_of_vectors(void **state)
{
    (void)state;
    for (size_t t = 0; t < 4; t++)
        check_ger(t, t < 2 ? "ger_v2" : "geru_v2", 0);
    for (size_t t = 2; t < 4; t++)
        check_ger(t, "gerc_v2", 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(symmetric_matrices_multiply_vectors),
        cmocka_unit_test(products_of_vectors_are_added_to_a_triangle),
        cmocka_unit_test(triangles_multiply_and_are_solved),
        cmocka_unit_test(general_matrices_multiply_vectors),
        cmocka_unit_test(ger_adds_a_product_of_vectors),
    };

    return cmocka_run_group_tests_name("sim_blas_triangles", tests, sp_blas_setup,
                                       sp_blas_teardown);
}
