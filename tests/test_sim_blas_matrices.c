/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The simulated cuBLAS on matrices (level 3, what only cuBLAS has, many at once), against
 * triple loops. */
#include "config.h"

#include "tests/sim_blas_fixture.h"

static const char *const types[] = {"S", "D", "C", "Z"};

enum { M = 5, N = 4, K = 3, COUNT = 3 };

/* Each matrix has a leading dimension of its own. */
enum { LDA = 7, LDB = 6, LDC = 8, ROOM = LDC * 6 };

/* Three matrices and two numbers of a type. */
struct world {
    char type;
    struct sp_array a, b, c;
    double complex alpha, beta;
    char alpha_number[16], beta_number[16];
};

static struct world world_new(size_t t)
{
    struct world w = {.type = types[t][0]};

    w.a = sp_array_new(w.type, ROOM);
    w.b = sp_array_new(w.type, ROOM);
    w.c = sp_array_new(w.type, ROOM);
    w.alpha = sp_random_number(w.type);
    w.beta = sp_random_number(w.type);
    sp_number(w.type, w.alpha, w.alpha_number);
    sp_number(w.type, w.beta, w.beta_number);
    return w;
}

static void world_free(struct world *w, const char *what)
{
    sp_array_check(&w->a, what);
    sp_array_check(&w->b, what);
    sp_array_check(&w->c, what);
    sp_array_free(&w->a);
    sp_array_free(&w->b);
    sp_array_free(&w->c);
}

static bool is_stored(int uplo, int i, int j)
{
    return uplo == 0 ? i >= j : i <= j;
}

/* An element of a matrix of which one triangle is stored: s symmetric, h Hermitian. */
static double complex mirrored(const struct sp_array *a, char kind, int uplo, int i, int j)
{
    if (kind == 'h' && i == j)
        return creal(a->at[i + i * LDA]);
    if (is_stored(uplo, i, j))
        return a->at[i + j * LDA];
    return sp_op(kind == 'h' ? 2 : 0, a->at[j + i * LDA]);
}

/* An element of a triangular matrix, with an operation. */
static double complex triangular(const struct sp_array *a, int uplo, int operation, int diag,
                                 int i, int j)
{
    const int row = operation == 0 ? i : j, column = operation == 0 ? j : i;

    if (!is_stored(uplo, row, column))
        return 0;
    return row == column && diag ? 1 : sp_op(operation, a->at[row + column * LDA]);
}

/* ---- products ---------------------------------------------------------------------------- */

static void multiply(struct world *w, int transa, int transb)
{
    for (int i = 0; i < M; i++) {
        for (int j = 0; j < N; j++) {
            double complex sum = 0;

            for (int k = 0; k < K; k++)
                sum +=
                    sp_element(&w->a, LDA, transa, i, k) * sp_element(&w->b, LDB, transb, k, j);
            w->c.at[i + j * LDC] = w->alpha * sum + w->beta * w->c.at[i + j * LDC];
        }
    }
}

static void gemm_multiplies_with_any_operations(void **state)
{
    (void)state;
    for (size_t t = 0; t < 4; t++) {
        for (int choice = 0; choice < 9; choice++) {
            struct world w = world_new(t);
            const int transa = choice % 3, transb = choice / 3;

            assert_int_equal(0, CALL(sp_blas_name(types[t], "gemm_v2"), transa, transb, M, N, K,
                                     (intptr_t)w.alpha_number, (intptr_t)w.a.ptr, LDA,
                                     (intptr_t)w.b.ptr, LDB, (intptr_t)w.beta_number,
                                     (intptr_t)w.c.ptr, LDC));
            multiply(&w, transa, transb);
            sp_array_check(&w.c, "gemm");
            assert_int_equal(0, CALL(sp_blas_name(types[t], "gemm_v2_64"), transa, transb, M, N,
                                     K, (intptr_t)w.alpha_number, (intptr_t)w.a.ptr, LDA,
                                     (intptr_t)w.b.ptr, LDB, (intptr_t)w.beta_number,
                                     (intptr_t)w.c.ptr, LDC));
            multiply(&w, transa, transb);
            world_free(&w, "gemm_64");
        }
    }
}

/* cudaDataType_t and cublasComputeType_t of each type. */
static void gemm_takes_types_as_parameters(void **state)
{
    static const int data[] = {0, 1, 4, 5}, compute[] = {68, 70, 77, 71};

    (void)state;
    for (size_t t = 0; t < 4; t++) {
        struct world w = world_new(t);

        assert_int_equal(0, CALL("GemmEx", 0, 1, M, N, K, (intptr_t)w.alpha_number,
                                 (intptr_t)w.a.ptr, data[t], LDA, (intptr_t)w.b.ptr, data[t],
                                 LDB, (intptr_t)w.beta_number, (intptr_t)w.c.ptr, data[t], LDC,
                                 compute[t], -1));
        multiply(&w, 0, 1);
        sp_array_check(&w.c, "GemmEx");
        /* Half precision, or a mix, is not there: nothing is computed. */
        assert_int_equal(15,
                         CALL("GemmEx", 0, 1, M, N, K, (intptr_t)w.alpha_number,
                              (intptr_t)w.a.ptr, 2, LDA, (intptr_t)w.b.ptr, 2, LDB,
                              (intptr_t)w.beta_number, (intptr_t)w.c.ptr, 2, LDC, compute[t]));
        assert_int_equal(15,
                         CALL("GemmEx", 0, 1, M, N, K, (intptr_t)w.alpha_number,
                              (intptr_t)w.a.ptr, data[t], LDA, (intptr_t)w.b.ptr, data[t], LDB,
                              (intptr_t)w.beta_number, (intptr_t)w.c.ptr, data[t], LDC, 64));
        world_free(&w, "GemmEx");
    }
}

static void check_symm(size_t t, const char *family, char kind, int side, int uplo)
{
    struct world w = world_new(t);

    assert_int_equal(0,
                     CALL(sp_blas_name(types[t], family), side, uplo, M, N,
                          (intptr_t)w.alpha_number, (intptr_t)w.a.ptr, LDA, (intptr_t)w.b.ptr,
                          LDB, (intptr_t)w.beta_number, (intptr_t)w.c.ptr, LDC));
    for (int i = 0; i < M; i++) {
        for (int j = 0; j < N; j++) {
            double complex sum = 0;

            for (int k = 0; k < (side == 0 ? M : N); k++)
                sum += side == 0 ? mirrored(&w.a, kind, uplo, i, k) * w.b.at[k + j * LDB]
                                 : w.b.at[i + k * LDB] * mirrored(&w.a, kind, uplo, k, j);
            w.c.at[i + j * LDC] = w.alpha * sum + w.beta * w.c.at[i + j * LDC];
        }
    }
    world_free(&w, family);
}

static void symm_and_hemm_multiply_from_both_sides(void **state)
{
    (void)state;
    for (size_t t = 0; t < 4; t++) {
        for (int choice = 0; choice < 4; choice++) {
            check_symm(t, "symm_v2", 's', choice % 2, choice / 2);
            if (t >= 2)
                check_symm(t, "hemm_v2", 'h', choice % 2, choice / 2);
        }
    }
}

/* ---- updates of a triangle --------------------------------------------------------------- */

struct update {
    const char *family;
    char kind;                /* s h */
    bool has_b, is_symmetric; /* A B' + B A' and not A B' */
};

/* A matrix of the two that are multiplied. */
static double complex factor(const struct world *w, bool is_b, int operation, int i, int j)
{
    return is_b ? sp_element(&w->b, LDB, operation, i, j)
                : sp_element(&w->a, LDA, operation, i, j);
}

/* The sum over k of op(X)[i,k] op(Y)[j,k], the latter conjugated if Hermitian. */
static double complex sum_of(const struct world *w, bool is_x_b, bool is_y_b, char kind,
                             int operation, int i, int j)
{
    double complex sum = 0;

    for (int k = 0; k < K; k++)
        sum += factor(w, is_x_b, operation, i, k) *
               sp_op(kind == 'h' ? 2 : 0, factor(w, is_y_b, operation, j, k));
    return sum;
}

static double complex updated(const struct world *w, const struct update *u, int operation,
                              int i, int j)
{
    double complex sum = w->alpha * sum_of(w, false, u->has_b, u->kind, operation, i, j);
    double complex old = w->c.at[i + j * LDC];

    if (u->is_symmetric)
        sum += sp_op(u->kind == 'h' ? 2 : 0, w->alpha) *
               sum_of(w, true, false, u->kind, operation, i, j);
    if (u->kind == 'h' && i == j)
        old = creal(old);
    return sum + w->beta * old;
}

static void check_update(size_t t, const struct update *u, int uplo, int is_transposed)
{
    struct world w = world_new(t);
    const char real = sp_real_of(w.type);
    const int operation = !is_transposed ? 0 : u->kind == 'h' ? 2 : 1;
    intptr_t args[18] = {(intptr_t)sp_blas.handle, uplo, operation, N, K};
    size_t n = 5;

    if (u->kind == 'h')
        sp_number(real, w.beta = creal(w.beta), w.beta_number);
    if (u->kind == 'h' && !u->has_b)
        sp_number(real, w.alpha = creal(w.alpha), w.alpha_number);
    /* What is Hermitian but for rounding has a real diagonal. */
    if (u->kind == 'h' && u->has_b && !u->is_symmetric) {
        for (int i = 0; i < LDB; i++)
            for (int j = 0; j < LDB; j++)
                w.b.at[i + j * LDB] = w.a.at[i + j * LDA];
        sp_array_upload(&w.b);
        sp_number(w.type, w.alpha = creal(w.alpha), w.alpha_number);
        for (int i = 0; i < N; i++)
            w.c.at[i + i * LDC] = creal(w.c.at[i + i * LDC]);
        sp_array_upload(&w.c);
    }
    args[n++] = (intptr_t)w.alpha_number;
    args[n++] = (intptr_t)w.a.ptr;
    args[n++] = LDA;
    if (u->has_b) {
        args[n++] = (intptr_t)w.b.ptr;
        args[n++] = LDB;
    }
    args[n++] = (intptr_t)w.beta_number;
    args[n++] = (intptr_t)w.c.ptr;
    args[n++] = LDC;
    assert_int_equal(0, sp_blas_call(sp_blas_name(types[t], u->family), n, args));
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            if (is_stored(uplo, i, j))
                w.c.at[i + j * LDC] = updated(&w, u, operation, i, j);
    world_free(&w, u->family);
}

static void products_update_a_triangle(void **state)
{
    static const struct update updates[] = {
        {"syrk_v2", 's', false, false}, {"syr2k_v2", 's', true, true},
        {"syrkx", 's', true, false},    {"herk_v2", 'h', false, false},
        {"her2k_v2", 'h', true, true},  {"herkx", 'h', true, false},
    };

    (void)state;
    for (size_t u = 0; u < sizeof(updates) / sizeof(updates[0]); u++)
        for (size_t t = updates[u].kind == 'h' ? 2 : 0; t < 4; t++)
            for (int choice = 0; choice < 4; choice++)
                check_update(t, &updates[u], choice % 2, choice / 2);
}

/* ---- triangular matrices ------------------------------------------------------------------
 */

/* The product of op(A) and `from`, or of `from` and op(A), times alpha, in `to`. */
static void multiply_triangle(const struct world *w, const struct sp_array *from,
                              struct sp_array *to, const int choice[4], double complex alpha)
{
    for (int i = 0; i < M; i++) {
        for (int j = 0; j < N; j++) {
            double complex sum = 0;

            for (int k = 0; k < (choice[0] == 0 ? M : N); k++)
                sum += choice[0] == 0
                           ? triangular(&w->a, choice[1], choice[2], choice[3], i, k) *
                                 from->at[k + j * LDB]
                           : from->at[i + k * LDB] *
                                 triangular(&w->a, choice[1], choice[2], choice[3], k, j);
            to->at[i + j * LDC] = alpha * sum;
        }
    }
}

/* side uplo transa diag: C = alpha op(A) B out of place, then trsm takes it back. */
static void check_triangle(size_t t, const int choice[4])
{
    struct world w = world_new(t);

    w.alpha += 2;
    sp_number(w.type, w.alpha, w.alpha_number);
    for (int i = 0; i < M; i++)
        w.a.at[i + i * LDA] += 4; /* far from singular */
    sp_array_upload(&w.a);
    assert_int_equal(0, CALL(sp_blas_name(types[t], "trmm_v2"), choice[0], choice[1], choice[2],
                             choice[3], M, N, (intptr_t)w.alpha_number, (intptr_t)w.a.ptr, LDA,
                             (intptr_t)w.b.ptr, LDB, (intptr_t)w.c.ptr, LDC));
    multiply_triangle(&w, &w.b, &w.c, choice, w.alpha);
    sp_array_check(&w.c, "trmm");
    assert_int_equal(0, CALL(sp_blas_name(types[t], "trsm_v2"), choice[0], choice[1], choice[2],
                             choice[3], M, N, (intptr_t)w.alpha_number, (intptr_t)w.a.ptr, LDA,
                             (intptr_t)w.c.ptr, LDC));
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++)
            w.c.at[i + j * LDC] = w.alpha * w.alpha * w.b.at[i + j * LDB];
    world_free(&w, "trsm");
}

static void trmm_multiplies_and_trsm_solves(void **state)
{
    (void)state;
    for (size_t t = 0; t < 4; t++) {
        for (int number = 0; number < 24; number++) {
            const int choice[4] = {number % 2, number / 2 % 2, number / 4 % 3, number / 12};

            check_triangle(t, choice);
        }
    }
}

/* ---- what only cuBLAS has -----------------------------------------------------------------
 */

static void geam_adds_and_dgmm_scales(void **state)
{
    (void)state;
    for (size_t t = 0; t < 4; t++) {
        for (int choice = 0; choice < 9; choice++) {
            struct world w = world_new(t);
            const int transa = choice % 3, transb = choice / 3, side = choice % 2;

            assert_int_equal(0, CALL(sp_blas_name(types[t], "geam"), transa, transb, M, N,
                                     (intptr_t)w.alpha_number, (intptr_t)w.a.ptr, LDA,
                                     (intptr_t)w.beta_number, (intptr_t)w.b.ptr, LDB,
                                     (intptr_t)w.c.ptr, LDC));
            for (int i = 0; i < M; i++)
                for (int j = 0; j < N; j++)
                    w.c.at[i + j * LDC] = w.alpha * sp_element(&w.a, LDA, transa, i, j) +
                                          w.beta * sp_element(&w.b, LDB, transb, i, j);
            sp_array_check(&w.c, "geam");
            assert_int_equal(0,
                             CALL(sp_blas_name(types[t], "dgmm"), side, M, N, (intptr_t)w.a.ptr,
                                  LDA, (intptr_t)w.b.ptr, 2, (intptr_t)w.c.ptr, LDC));
            for (int i = 0; i < M; i++)
                for (int j = 0; j < N; j++)
                    w.c.at[i + j * LDC] = w.a.at[i + j * LDA] * w.b.at[2 * (side == 0 ? i : j)];
            world_free(&w, "dgmm");
        }
    }
}

static void check_packing(size_t t, int uplo)
{
    struct world w = world_new(t);
    int n = 0;

    assert_int_equal(0, CALL(sp_blas_name(types[t], "trttp"), uplo, N, (intptr_t)w.a.ptr, LDA,
                             (intptr_t)w.b.ptr));
    assert_int_equal(0, CALL(sp_blas_name(types[t], "tpttr"), uplo, N, (intptr_t)w.b.ptr,
                             (intptr_t)w.c.ptr, LDC));
    for (int j = 0; j < N; j++) {
        for (int i = 0; i < N; i++) {
            if (!is_stored(uplo, i, j))
                continue;
            w.b.at[n++] = w.a.at[i + j * LDA];
            w.c.at[i + j * LDC] = w.a.at[i + j * LDA];
        }
    }
    world_free(&w, "trttp and tpttr");
}

static void packed_triangles_are_copied_both_ways(void **state)
{
    (void)state;
    for (size_t t = 0; t < 4; t++)
        for (int uplo = 0; uplo < 2; uplo++)
            check_packing(t, uplo);
}

/* ---- many at once --------------------------------------------------------------------------
 */

/* On the device, the addresses of an array from several places on. */
static sp_cu_ptr addresses_of(const struct sp_array *array, size_t size, size_t stride)
{
    uint64_t addresses[COUNT];
    sp_cu_ptr ptr;

    for (size_t i = 0; i < COUNT; i++)
        addresses[i] = array->ptr + i * stride * size;
    assert_int_equal(SP_CU_SUCCESS, sp_blas.cu->cuMemAlloc(&ptr, sizeof(addresses)));
    assert_int_equal(SP_CU_SUCCESS,
                     sp_blas.cu->cuMemcpyHtoD(ptr, addresses, sizeof(addresses)));
    return ptr;
}

enum { ONE = 2, STRIDE = 4 }; /* matrices of 2 x 2, side by side */

static void multiply_many(struct world *w)
{
    for (int at = 0; at < COUNT * STRIDE; at += STRIDE) {
        for (int i = 0; i < ONE; i++) {
            for (int j = 0; j < ONE; j++) {
                double complex *c = &w->c.at[at + i + j * ONE];

                *c *= w->beta;
                for (int k = 0; k < ONE; k++)
                    *c += w->alpha * w->a.at[at + i + k * ONE] * w->b.at[at + j + k * ONE];
            }
        }
    }
}

static void many_products_are_one_call(void **state)
{
    (void)state;
    for (size_t t = 0; t < 4; t++) {
        struct world w = world_new(t);
        const size_t size = t == 0 ? 4 : t < 3 ? 8 : 16;
        const sp_cu_ptr a = addresses_of(&w.a, size, STRIDE),
                        b = addresses_of(&w.b, size, STRIDE),
                        c = addresses_of(&w.c, size, STRIDE);

        assert_int_equal(0, CALL(sp_blas_name(types[t], "gemmBatched"), 0, 1, ONE, ONE, ONE,
                                 (intptr_t)w.alpha_number, (intptr_t)a, ONE, (intptr_t)b, ONE,
                                 (intptr_t)w.beta_number, (intptr_t)c, ONE, COUNT));
        multiply_many(&w);
        sp_array_check(&w.c, "gemmBatched");
        assert_int_equal(0, CALL(sp_blas_name(types[t], "gemmStridedBatched"), 0, 1, ONE, ONE,
                                 ONE, (intptr_t)w.alpha_number, (intptr_t)w.a.ptr, ONE, STRIDE,
                                 (intptr_t)w.b.ptr, ONE, STRIDE, (intptr_t)w.beta_number,
                                 (intptr_t)w.c.ptr, ONE, STRIDE, COUNT));
        multiply_many(&w);
        assert_int_equal(SP_CU_SUCCESS, sp_blas.cu->cuStreamSynchronize(sp_blas.stream));
        assert_int_equal(SP_CU_SUCCESS, sp_blas.cu->cuMemFree(a));
        assert_int_equal(SP_CU_SUCCESS, sp_blas.cu->cuMemFree(b));
        assert_int_equal(SP_CU_SUCCESS, sp_blas.cu->cuMemFree(c));
        world_free(&w, "gemmStridedBatched");
    }
}

static void many_products_take_types_as_parameters(void **state)
{
    static const int data[] = {0, 1, 4, 5}, compute[] = {68, 70, 69, 71};

    (void)state;
    for (size_t t = 0; t < 4; t++) {
        struct world w = world_new(t);
        const size_t size = t == 0 ? 4 : t < 3 ? 8 : 16;
        const sp_cu_ptr a = addresses_of(&w.a, size, STRIDE),
                        b = addresses_of(&w.b, size, STRIDE),
                        c = addresses_of(&w.c, size, STRIDE);

        assert_int_equal(0, CALL("GemmBatchedEx", 0, 1, ONE, ONE, ONE, (intptr_t)w.alpha_number,
                                 (intptr_t)a, data[t], ONE, (intptr_t)b, data[t], ONE,
                                 (intptr_t)w.beta_number, (intptr_t)c, data[t], ONE, COUNT,
                                 compute[t], -1));
        multiply_many(&w);
        sp_array_check(&w.c, "GemmBatchedEx");
        assert_int_equal(0,
                         CALL("GemmStridedBatchedEx", 0, 1, ONE, ONE, ONE,
                              (intptr_t)w.alpha_number, (intptr_t)w.a.ptr, data[t], ONE, STRIDE,
                              (intptr_t)w.b.ptr, data[t], ONE, STRIDE, (intptr_t)w.beta_number,
                              (intptr_t)w.c.ptr, data[t], ONE, STRIDE, COUNT, compute[t], -1));
        multiply_many(&w);
        world_free(&w, "GemmStridedBatchedEx");
        assert_int_equal(SP_CU_SUCCESS, sp_blas.cu->cuMemFree(a));
        assert_int_equal(SP_CU_SUCCESS, sp_blas.cu->cuMemFree(b));
        assert_int_equal(SP_CU_SUCCESS, sp_blas.cu->cuMemFree(c));
    }
}

/* y = alpha A x + beta y for each; x has gaps. */
static void multiply_vectors(struct world *w)
{
    for (int at = 0; at < COUNT * STRIDE; at += STRIDE)
        for (int i = 0; i < ONE; i++)
            w->c.at[at + i] = w->beta * w->c.at[at + i] +
                              w->alpha * (w->a.at[at + i] * w->b.at[at] +
                                          w->a.at[at + i + ONE] * w->b.at[at + 2]);
}

static void check_vectors(size_t t, struct world *w)
{
    const size_t size = t == 0 ? 4 : t < 3 ? 8 : 16;
    const sp_cu_ptr a = addresses_of(&w->a, size, STRIDE),
                    b = addresses_of(&w->b, size, STRIDE),
                    c = addresses_of(&w->c, size, STRIDE);

    assert_int_equal(0, CALL(sp_blas_name(types[t], "gemvStridedBatched"), 0, ONE, ONE,
                             (intptr_t)w->alpha_number, (intptr_t)w->a.ptr, ONE, STRIDE,
                             (intptr_t)w->b.ptr, 2, STRIDE, (intptr_t)w->beta_number,
                             (intptr_t)w->c.ptr, 1, STRIDE, COUNT));
    multiply_vectors(w);
    sp_array_check(&w->c, "gemvStridedBatched");
    assert_int_equal(0, CALL(sp_blas_name(types[t], "gemvBatched"), 0, ONE, ONE,
                             (intptr_t)w->alpha_number, (intptr_t)a, ONE, (intptr_t)b, 2,
                             (intptr_t)w->beta_number, (intptr_t)c, 1, COUNT));
    multiply_vectors(w);
    sp_array_check(&w->c, "gemvBatched");
    /* A's lower triangle with ones on the diagonal is taken off y, as a matrix of one column.
     */
    assert_int_equal(0, CALL(sp_blas_name(types[t], "trsmBatched"), 0, 0, 0, 1, ONE, 1,
                             (intptr_t)w->alpha_number, (intptr_t)a, ONE, (intptr_t)c, ONE,
                             COUNT));
    for (int at = 0; at < COUNT * STRIDE; at += STRIDE) {
        w->c.at[at] *= w->alpha;
        w->c.at[at + 1] = w->alpha * w->c.at[at + 1] - w->a.at[at + 1] * w->c.at[at];
    }
    sp_array_check(&w->c, "trsmBatched");
    assert_int_equal(SP_CU_SUCCESS, sp_blas.cu->cuMemFree(a));
    assert_int_equal(SP_CU_SUCCESS, sp_blas.cu->cuMemFree(b));
    assert_int_equal(SP_CU_SUCCESS, sp_blas.cu->cuMemFree(c));
}

static void many_vectors_and_triangles_are_one_call(void **state)
{
    (void)state;
    for (size_t t = 0; t < 4; t++) {
        struct world w = world_new(t);

        check_vectors(t, &w);
        world_free(&w, "many vectors");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gemm_multiplies_with_any_operations),
        cmocka_unit_test(gemm_takes_types_as_parameters),
        cmocka_unit_test(symm_and_hemm_multiply_from_both_sides),
        cmocka_unit_test(products_update_a_triangle),
        cmocka_unit_test(trmm_multiplies_and_trsm_solves),
        cmocka_unit_test(geam_adds_and_dgmm_scales),
        cmocka_unit_test(packed_triangles_are_copied_both_ways),
        cmocka_unit_test(many_products_are_one_call),
        cmocka_unit_test(many_products_take_types_as_parameters),
        cmocka_unit_test(many_vectors_and_triangles_are_one_call),
    };

    return cmocka_run_group_tests_name("sim_blas_matrices", tests, sp_blas_setup,
                                       sp_blas_teardown);
}
