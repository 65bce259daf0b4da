/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The simulated cuBLAS on vectors, against loops. */
#include "config.h"

#include "tests/sim_blas_fixture.h"

#include <math.h>
#include <string.h>

#define V2(prefix, family) sp_blas_name(prefix, family "_v2")

static const char *const types[] = {"S", "D", "C", "Z"};

enum { N = 9, ROOM = 1 + 3 * (N - 1) };

static const int increments[][2] = {{1, 1}, {2, 3}, {-1, 2}, {3, -2}};

enum { N_INCREMENTS = sizeof(increments) / sizeof(increments[0]) };

/* Two vectors and a number; a case of every type and increment. */
struct pair {
    char type;
    int incx, incy;
    struct sp_array x, y;
    double complex alpha;
    char number[16];
};

static struct pair pair_new(size_t type, size_t increment)
{
    struct pair pair = {.type = types[type][0]};

    pair.incx = increments[increment][0];
    pair.incy = increments[increment][1];
    pair.x = sp_array_new(pair.type, ROOM);
    pair.y = sp_array_new(pair.type, ROOM);
    pair.alpha = sp_random_number(pair.type);
    sp_number(pair.type, pair.alpha, pair.number);
    return pair;
}

static void pair_free(struct pair *pair)
{
    sp_array_check(&pair->x, "x");
    sp_array_check(&pair->y, "y");
    sp_array_free(&pair->x);
    sp_array_free(&pair->y);
}

static double complex *x_at(struct pair *pair, size_t i)
{
    return &pair->x.at[sp_place(i, N, pair->incx)];
}

static double complex *y_at(struct pair *pair, size_t i)
{
    return &pair->y.at[sp_place(i, N, pair->incy)];
}

/* For each type and increment: a pair `v`, whose arrays are checked at the end. */
#define EACH_PAIR(v, t)                                                     \
    for (size_t t = 0; t < 4; t++)                                          \
        for (size_t i_ = 0; i_ < N_INCREMENTS; i_++)                        \
            for (struct pair v = pair_new(t, i_), *end_ = &v; end_ != NULL; \
                 pair_free(end_), end_ = NULL)

static void axpy_adds_a_multiple(void **state)
{
    (void)state;
    EACH_PAIR(p, t)
    {
        assert_int_equal(0, CALL(V2(types[t], "axpy"), N, (intptr_t)p.number, (intptr_t)p.x.ptr,
                                 p.incx, (intptr_t)p.y.ptr, p.incy));
        for (size_t i = 0; i < N; i++)
            *y_at(&p, i) += p.alpha * *x_at(&p, i);
    }
}

static void copy_and_swap_move_elements(void **state)
{
    (void)state;
    EACH_PAIR(p, t)
    {
        assert_int_equal(0, CALL(V2(types[t], "swap"), N, (intptr_t)p.x.ptr, p.incx,
                                 (intptr_t)p.y.ptr, p.incy));
        for (size_t i = 0; i < N; i++) {
            const double complex x = *x_at(&p, i);

            *x_at(&p, i) = *y_at(&p, i);
            *y_at(&p, i) = x;
        }
        sp_array_check(&p.x, "swapped x");
        sp_array_check(&p.y, "swapped y");
        assert_int_equal(0, CALL(V2(types[t], "copy"), N, (intptr_t)p.x.ptr, p.incx,
                                 (intptr_t)p.y.ptr, p.incy));
        for (size_t i = 0; i < N; i++)
            *y_at(&p, i) = *x_at(&p, i);
    }
}

static void scal_multiplies_also_by_real_numbers(void **state)
{
    (void)state;
    EACH_PAIR(p, t)
    {
        const bool is_complex = t >= 2;
        const int inc = p.incx < 0 ? -p.incx : p.incx;
        char real[16];

        assert_int_equal(
            0, CALL(V2(types[t], "scal"), N, (intptr_t)p.number, (intptr_t)p.x.ptr, inc));
        sp_number(sp_real_of(p.type), 0.5, real);
        if (is_complex)
            assert_int_equal(0, CALL(V2(t == 2 ? "Cs" : "Zd", "scal"), N, (intptr_t)real,
                                     (intptr_t)p.x.ptr, inc));
        for (size_t i = 0; i < N; i++)
            p.x.at[i * (size_t)inc] *= p.alpha * (is_complex ? 0.5 : 1);
    }
}

/* The result of a routine on the host, once through the pointer mode of the device, too. */
static double complex result_of(const char *name, char type, size_t n_args, intptr_t *args)
{
    char number[16] = {0}, again[16] = {0};
    sp_cu_ptr ptr;

    args[n_args - 1] = (intptr_t)number;
    assert_int_equal(0, sp_blas_call(name, n_args, args));
    assert_int_equal(SP_CU_SUCCESS, sp_blas.cu->cuMemAlloc(&ptr, sizeof(again)));
    args[n_args - 1] = (intptr_t)ptr;
    assert_int_equal(0, CALL("SetPointerMode_v2", 1));
    assert_int_equal(0, sp_blas_call(name, n_args, args));
    assert_int_equal(0, CALL("SetPointerMode_v2", 0));
    assert_int_equal(SP_CU_SUCCESS, sp_blas.cu->cuStreamSynchronize(sp_blas.stream));
    assert_int_equal(SP_CU_SUCCESS, sp_blas.cu->cuMemcpyDtoH(again, ptr, sizeof(again)));
    assert_int_equal(SP_CU_SUCCESS, sp_blas.cu->cuMemFree(ptr));
    assert_true(sp_number_value(type, number) == sp_number_value(type, again));
    return sp_number_value(type, number);
}

static void check_number(char type, double complex expected, double complex value)
{
    if (!(cabs(value - expected) <= sp_tolerance(type) * (1 + cabs(expected))))
        fail_msg("%c: (%g, %g), not (%g, %g)", type, creal(value), cimag(value),
                 creal(expected), cimag(expected));
}

static void dot_products_go_to_the_host_or_the_device(void **state)
{
    (void)state;
    EACH_PAIR(p, t)
    {
        for (int is_conjugated = 0; is_conjugated <= (t >= 2); is_conjugated++) {
            const char *family = t < 2 ? "dot_v2" : is_conjugated ? "dotc_v2" : "dotu_v2";
            intptr_t args[] = {(intptr_t)sp_blas.handle,
                               N,
                               (intptr_t)p.x.ptr,
                               p.incx,
                               (intptr_t)p.y.ptr,
                               p.incy,
                               0};
            double complex sum = 0;

            for (size_t i = 0; i < N; i++)
                sum += sp_op(is_conjugated ? 2 : 0, *x_at(&p, i)) * *y_at(&p, i);
            check_number(p.type, sum,
                         result_of(sp_blas_name(types[t], family), p.type, 7, args));
        }
    }
}

static void norms_and_sums_are_real(void **state)
{
    static const char *const prefixes[] = {"S", "D", "Sc", "Dz"};

    (void)state;
    EACH_PAIR(p, t)
    {
        const char real = sp_real_of(p.type);
        const int inc = p.incx < 0 ? -p.incx : p.incx;
        intptr_t args[] = {(intptr_t)sp_blas.handle, N, (intptr_t)p.x.ptr, inc, 0};
        double squares = 0, sum = 0;

        for (size_t i = 0; i < N; i++) {
            const double complex x = p.x.at[i * (size_t)inc];

            squares += creal(x * conj(x));
            sum += fabs(creal(x)) + fabs(cimag(x));
        }
        check_number(real, sqrt(squares), result_of(V2(prefixes[t], "nrm2"), real, 5, args));
        check_number(real, sum, result_of(V2(prefixes[t], "asum"), real, 5, args));
    }
}

static void places_of_extremes_count_from_1(void **state)
{
    static const char *const prefixes[] = {"Is", "Id", "Ic", "Iz"};

    (void)state;
    EACH_PAIR(p, t)
    {
        const int inc = p.incx < 0 ? -p.incx : p.incx;
        int largest, smallest;
        int64_t wide = -1;

        for (size_t i = 0; i < N; i++)
            p.x.at[i * (size_t)inc] = 0.5;
        p.x.at[5 * (size_t)inc] = t < 2 ? -0.75 : sp_complex(0.25, -0.5);
        p.x.at[3 * (size_t)inc] = t < 2 ? 0.25 : sp_complex(-0.125, 0.125);
        sp_array_upload(&p.x);
        assert_int_equal(
            0, CALL(V2(prefixes[t], "amax"), N, (intptr_t)p.x.ptr, inc, (intptr_t)&largest));
        assert_int_equal(
            0, CALL(V2(prefixes[t], "amin"), N, (intptr_t)p.x.ptr, inc, (intptr_t)&smallest));
        assert_int_equal(6, largest);
        assert_int_equal(4, smallest);
        assert_int_equal(0, CALL(sp_blas_name(prefixes[t], "amax_v2_64"), N, (intptr_t)p.x.ptr,
                                 inc, (intptr_t)&wide));
        assert_int_equal(6, wide);
        wide = -1;
        assert_int_equal(0, CALL(sp_blas_name(prefixes[t], "amin_v2_64"), N, (intptr_t)p.x.ptr,
                                 inc, (intptr_t)&wide));
        assert_int_equal(4, wide);
    }
}

/* x' = c x + s y, y' = c y - conj(s) x; s is real in Csrot and Zdrot. */
static void check_rot(const char *name, struct pair *p, bool is_s_real)
{
    const double c = 0.6;
    const double complex s = is_s_real ? 0.8 : sp_complex(0.48, 0.64);
    char c_number[16], s_number[16];

    sp_number(sp_real_of(p->type), c, c_number);
    sp_number(is_s_real ? sp_real_of(p->type) : p->type, s, s_number);
    assert_int_equal(0, CALL(name, N, (intptr_t)p->x.ptr, p->incx, (intptr_t)p->y.ptr, p->incy,
                             (intptr_t)c_number, (intptr_t)s_number));
    for (size_t i = 0; i < N; i++) {
        const double complex x = *x_at(p, i), y = *y_at(p, i);

        *x_at(p, i) = c * x + s * y;
        *y_at(p, i) = c * y - conj(s) * x;
    }
    sp_array_check(&p->x, name);
    sp_array_check(&p->y, name);
}

static void rotations_turn_pairs(void **state)
{
    (void)state;
    EACH_PAIR(p, t)
    {
        check_rot(V2(types[t], "rot"), &p, t < 2);
        if (t >= 2)
            check_rot(V2(t == 2 ? "Cs" : "Zd", "rot"), &p, true);
    }
}

/* [c s; -conj(s) c] (a, b) = (r, 0), and r is in a afterwards. */
static void rotg_makes_the_second_number_vanish(void **state)
{
    (void)state;
    for (size_t t = 0; t < 4; t++) {
        const char type = types[t][0], real = sp_real_of(type);
        const double complex a = sp_random_number(type) + 2, b = sp_random_number(type) - 2;
        char a_number[16], b_number[16], c_number[16] = {0}, s_number[16] = {0};
        double complex c, s;

        sp_number(type, a, a_number);
        sp_number(type, b, b_number);
        assert_int_equal(0, CALL(V2(types[t], "rotg"), (intptr_t)a_number, (intptr_t)b_number,
                                 (intptr_t)c_number, (intptr_t)s_number));
        c = sp_number_value(real, c_number);
        s = sp_number_value(type, s_number);
        check_number(type, 1, c * c + s * conj(s));
        check_number(type, 0, c * b - conj(s) * a);
        check_number(type, sp_number_value(type, a_number), c * a + s * b);
    }
}

/* A flag of -1 says that all of H is in the parameters: flag h11 h21 h12 h22. */
static void rotm_applies_a_matrix_and_rotmg_makes_one(void **state)
{
    const double h[] = {-1, 0.5, -0.25, 2, 1.5};

    (void)state;
    EACH_PAIR(p, t)
    {
        char param[40], made[40], d1[16], d2[16], x1[16], y1[16];
        const size_t size = t == 0 ? 4 : 8;

        if (t >= 2)
            continue;
        for (size_t i = 0; i < 5; i++)
            sp_number(p.type, h[i], param + i * size);
        assert_int_equal(0, CALL(V2(types[t], "rotm"), N, (intptr_t)p.x.ptr, p.incx,
                                 (intptr_t)p.y.ptr, p.incy, (intptr_t)param));
        for (size_t i = 0; i < N; i++) {
            const double complex x = *x_at(&p, i), y = *y_at(&p, i);

            *x_at(&p, i) = h[1] * x + h[3] * y;
            *y_at(&p, i) = h[2] * x + h[4] * y;
        }
        sp_number(p.type, 2, d1);
        sp_number(p.type, 3, d2);
        sp_number(p.type, 1, x1);
        sp_number(p.type, 0, y1);
        assert_int_equal(0, CALL(V2(types[t], "rotmg"), (intptr_t)d1, (intptr_t)d2,
                                 (intptr_t)x1, (intptr_t)y1, (intptr_t)made));
        check_number(p.type, -2, sp_number_value(p.type, made)); /* nothing to rotate */
    }
}

static void a_vector_of_no_elements_is_left_alone(void **state)
{
    float alpha = 2, sum = 1;
    int place = 7;

    (void)state;
    assert_int_equal(0, CALL("Saxpy_v2", 0, (intptr_t)&alpha, 0, 1, 0, 1));
    assert_int_equal(0, CALL("Sasum_v2", -3, 0, 1, (intptr_t)&sum));
    assert_true(sum == 0);
    assert_int_equal(0, CALL("Isamin_v2", 0, 0, 1, (intptr_t)&place));
    assert_int_equal(0, place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(axpy_adds_a_multiple),
        cmocka_unit_test(copy_and_swap_move_elements),
        cmocka_unit_test(scal_multiplies_also_by_real_numbers),
        cmocka_unit_test(dot_products_go_to_the_host_or_the_device),
        cmocka_unit_test(norms_and_sums_are_real),
        cmocka_unit_test(places_of_extremes_count_from_1),
        cmocka_unit_test(rotations_turn_pairs),
        cmocka_unit_test(rotg_makes_the_second_number_vanish),
        cmocka_unit_test(rotm_applies_a_matrix_and_rotmg_makes_one),
        cmocka_unit_test(a_vector_of_no_elements_is_left_alone),
    };

    return cmocka_run_group_tests_name("sim_blas_vectors", tests, sp_blas_setup,
                                       sp_blas_teardown);
}
