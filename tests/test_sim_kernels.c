/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The stand-ins for the kernels of StarPU's examples, launched as the examples do. */
#include "config.h"

#include "tests/sim_blas_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/model/model.h"

static const struct sp_driver *cu;
static sp_cu_context context;
static sp_cu_module module;

#define assert_cu(call) assert_int_equal(SP_CU_SUCCESS, cu->call)

static int open_kernels(void **state)
{
    static const char image[] = "image";
    const char *dir = getenv("STARPOOL_TEST_SIM");
    char path[512];

    (void)state;
    snprintf(path, sizeof(path), "%s/kernels-starpu.so", dir == NULL ? "sim" : dir);
    setenv("STARPOOL_MODEL_KERNELS", path, 1);
    cu = sp_model_driver();
    if (cu->cuInit(0) != SP_CU_SUCCESS || cu->cuCtxCreate(&context, 0, 0) != SP_CU_SUCCESS)
        return -1;
    return cu->cuModuleLoadData(&module, image);
}

static int close_kernels(void **state)
{
    (void)state;
    return cu->cuCtxDestroy(context);
}

/* ---- memory and launches ----------------------------------------------------------------- */

static sp_cu_ptr upload(const void *bytes, size_t size)
{
    sp_cu_ptr ptr;

    assert_cu(cuMemAlloc(&ptr, size));
    assert_cu(cuMemcpyHtoD(ptr, bytes, size));
    return ptr;
}

/* Fail unless the device holds that; the memory is freed. */
static void check_and_free(sp_cu_ptr ptr, const void *expected, size_t size)
{
    char *bytes = malloc(size);

    assert_non_null(bytes);
    assert_cu(cuMemcpyDtoH(bytes, ptr, size));
    assert_memory_equal(expected, bytes, size);
    assert_cu(cuMemFree(ptr));
    free(bytes);
}

static void launch(const char *name, void **args)
{
    sp_cu_function function;

    assert_cu(cuModuleGetFunction(&function, module, name));
    assert_cu(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL));
    assert_cu(cuCtxSynchronize());
}

#define LAUNCH(name, ...) launch((name), (void *[]){__VA_ARGS__})

/* ---- vectors and variables --------------------------------------------------------------- */

static void vectors_and_variables_are_scaled_and_added_to(void **state)
{
    float values[4] = {1, 2, 3, 4}, factor = 3, scaled[4] = {4, 6, 10, 4};
    float sum[4] = {5, 8, 13, 4};
    double a = 1.5, b = 2, both = 3.5;
    unsigned n = 3, dim3[3] = {1, 1, 1};
    int zero = 0, n_int = 3;
    float half = 0.5F;
    sp_cu_ptr x = upload(values, sizeof(values)), y, nothing = 0;
    sp_cu_ptr part = upload(&b, sizeof(b)), total = upload(&a, sizeof(a));

    (void)state;
    LAUNCH("_Z16vector_mult_cudajPff", &n, &x, &factor); /* 3 6 9 4 */
    LAUNCH("_Z16cuda_incrementerPf", &x);                /* 4 6 10 4 */
    y = upload(scaled, sizeof(scaled));
    n_int = 3;
    half = 0.25F;
    LAUNCH("_Z5saxpyifPfS_", &n_int, &half, &y, &x); /* 5 7.5 12.5 4 */
    LAUNCH("_Z13cuda_variablePf", &x);               /* 6 7.5 12.5 4 */
    half = -0.25F;
    LAUNCH("_Z17saxpy_partitioned4dim3iiPjifPfS1_", dim3, &zero, &zero, &nothing, &n_int, &half,
           &y, &x);
    sum[0] = 5, sum[1] = 6, sum[2] = 10;
    check_and_free(x, sum, sizeof(sum));
    check_and_free(y, scaled, sizeof(scaled));
    LAUNCH("_Z10cuda_reduxPdS_", &total, &part);
    check_and_free(total, &both, sizeof(both));
    check_and_free(part, &b, sizeof(b));
}

static void points_become_arrays_and_back(void **state)
{
    const float points[6] = {1, 10, 2, 20, 3, 30};
    const float x[3] = {10, 40, 90}, y[3] = {10, 20, 30};
    float arrays[20] = {0}, zeros[3] = {0}, expected[20] = {10, 40, 90};
    double reals[2] = {1, 2}, imaginary[2] = {3, 4}, none[2] = {0};
    unsigned n = 3, two = 2;
    sp_cu_ptr p = upload(points, sizeof(points)), both = upload(arrays, sizeof(arrays));
    sp_cu_ptr px = upload(zeros, sizeof(zeros)), py = upload(zeros, sizeof(zeros));
    sp_cu_ptr re = upload(reals, sizeof(reals)), im = upload(imaginary, sizeof(imaginary));
    sp_cu_ptr to_re = upload(none, sizeof(none)), to_im = upload(none, sizeof(none));

    (void)state;
    LAUNCH("_Z11custom_cudaP5pointjPfS1_", &p, &n, &px, &py);
    LAUNCH("_Z9scal_cudajPfS_", &n, &px, &py);
    check_and_free(px, x, sizeof(x));
    check_and_free(py, y, sizeof(y));
    LAUNCH("_Z16cpu_to_cuda_cudaP5pointP16struct_of_arraysj", &p, &both, &n);
    LAUNCH("_Z16multiformat_cudaP16struct_of_arraysj", &both, &n);
    memcpy(expected + 10, y, sizeof(y));
    check_and_free(both, expected, sizeof(expected));
    check_and_free(p, points, sizeof(points));
    LAUNCH("_Z17complex_copy_cudaPdS_S_S_j", &to_re, &to_im, &re, &im, &two);
    check_and_free(to_re, reals, sizeof(reals));
    check_and_free(to_im, imaginary, sizeof(imaginary));
    check_and_free(re, reals, sizeof(reals));
    check_and_free(im, imaginary, sizeof(imaginary));
}

/* ---- blocks and matrices ----------------------------------------------------------------- */

enum { NX = 4, NY = 3, NZ = 2, LDY = 5, LDZ = 17, CELLS = LDZ * NZ };

static void blocks_keep_what_is_between_their_rows(void **state)
{
    float values[CELLS];
    int numbers[CELLS], nx = NX, ny = NY, nz = NZ;
    unsigned ldy = LDY, ldz = LDZ;
    float factor = 3;
    sp_cu_ptr block, integers;

    (void)state;
    for (int i = 0; i < CELLS; i++)
        values[i] = (float)(numbers[i] = i + 1);
    block = upload(values, sizeof(values));
    integers = upload(numbers, sizeof(numbers));
    LAUNCH("_Z10cuda_blockPfiiijjf", &block, &nx, &ny, &nz, &ldy, &ldz, &factor);
    LAUNCH("_Z11fblock_cudaPiiiijjf", &integers, &nx, &ny, &nz, &ldy, &ldz, &factor);
    for (int z = 0; z < NZ; z++)
        for (int y = 0; y < NY; y++)
            for (int x = 0; x < NX; x++) {
                values[z * LDZ + y * LDY + x] *= 3;
                numbers[z * LDZ + y * LDY + x] = 3;
            }
    check_and_free(block, values, sizeof(values));
    check_and_free(integers, numbers, sizeof(numbers));
}

static void multiples_are_checked_and_doubled(void **state)
{
    int numbers[LDY * NY], nx = NX, ny = NY, start = 7, factor = 2;
    unsigned ld = LDY;
    sp_cu_ptr matrix;

    (void)state;
    for (int y = 0; y < NY; y++)
        for (int x = 0; x < LDY; x++)
            numbers[y * LDY + x] = 7 + 2 * (x + 100 * y);
    matrix = upload(numbers, sizeof(numbers));
    LAUNCH("_Z21_fmultiple_check_cudaPiiijii", &matrix, &nx, &ny, &ld, &start, &factor);
    LAUNCH("_Z27_fmultiple_check_scale_cudaPiiijii", &matrix, &nx, &ny, &ld, &start, &factor);
    for (int y = 0; y < NY; y++)
        for (int x = 0; x < NX; x++)
            numbers[y * LDY + x] *= 2;
    check_and_free(matrix, numbers, sizeof(numbers));
}

/* Two rows out of the middle of a matrix, whose indices count from its beginning. */
static void sparse_matrices_multiply_vectors(void **state)
{
    const float values[] = {2, 3, 4}, x[] = {1, 10, 100}, y[] = {302, 40};
    const uint32_t columns[] = {0, 2, 1}, rows[] = {5, 7, 8};
    float none[2] = {0};
    uint32_t n_values = 3, n_rows = 2, first = 5, nx = 3, ny = 2;
    sp_cu_ptr v = upload(values, sizeof(values)), c = upload(columns, sizeof(columns));
    sp_cu_ptr r = upload(rows, sizeof(rows)), in = upload(x, sizeof(x));
    sp_cu_ptr out = upload(none, sizeof(none));

    (void)state;
    LAUNCH("spmv_kernel_3", &n_values, &n_rows, &v, &c, &r, &first, &in, &nx, &out, &ny);
    check_and_free(out, y, sizeof(y));
    check_and_free(v, values, sizeof(values));
    check_and_free(c, columns, sizeof(columns));
    check_and_free(r, rows, sizeof(rows));
    check_and_free(in, x, sizeof(x));
}

/* ---- the stencil ------------------------------------------------------------------------- */

enum { SIDE_X = 7, SIDE_Y = 6, SIDE_Z = 5, ALL = SIDE_X * SIDE_Y * SIDE_Z };

static int cell(int x, int y, int z)
{
    return x + SIDE_X * (y + SIDE_Y * z);
}

/* Where a border cell's copy comes from. */
static int folded(int at, int side)
{
    return at == 0 ? side - 2 : at == side - 1 ? 1 : at;
}

static void a_generation_of_life_counts_8_neighbours(void **state)
{
    static const int neighbours[8][2] = {{1, 0},  {1, 1},   {0, 1},  {-1, 1},
                                         {-1, 0}, {-1, -1}, {0, -1}, {1, -1}};
    unsigned char old[ALL], new[ALL], inner[ALL];
    int bz = 0, nx = SIDE_X, ny = SIDE_Y, nz = SIDE_Z, ldy = SIDE_X, ldz = SIDE_X * SIDE_Y;
    int iteration = 1;
    uint64_t random = sp_test_seed();
    sp_cu_ptr a, b;

    (void)state;
    for (size_t i = 0; i < ALL; i++)
        inner[i] = old[i] = new[i] = (unsigned char)sp_test_random_below(&random, 2);
    a = upload(old, sizeof(old));
    b = upload(new, sizeof(new));
    LAUNCH("cuda_shadow", &bz, &a, &nx, &ny, &nz, &ldy, &ldz, &iteration);
    LAUNCH("cuda_life_update", &bz, &a, &b, &nx, &ny, &nz, &ldy, &ldz, &iteration);
    for (int i = 0; i < ALL; i++) {
        const int x = i % SIDE_X, y = i / SIDE_X % SIDE_Y, z = i / SIDE_X / SIDE_Y;

        old[i] = inner[cell(folded(x, SIDE_X), folded(y, SIDE_Y), z)];
    }
    for (int i = 0; i < ALL; i++) {
        const int x = i % SIDE_X, y = i / SIDE_X % SIDE_Y, z = i / SIDE_X / SIDE_Y;
        int n = 0;

        if (x == 0 || x == SIDE_X - 1 || y == 0 || y == SIDE_Y - 1 || z == 0 || z == SIDE_Z - 1)
            continue;
        for (int k = 0; k < 8; k++)
            n += old[cell(x, y + neighbours[k][0], z + neighbours[k][1])];
        new[i] = n == 3 || (n == 2 && old[i]);
    }
    check_and_free(a, old, sizeof(old));
    check_and_free(b, new, sizeof(new));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_and_variables_are_scaled_and_added_to),
        cmocka_unit_test(points_become_arrays_and_back),
        cmocka_unit_test(blocks_keep_what_is_between_their_rows),
        cmocka_unit_test(multiples_are_checked_and_doubled),
        cmocka_unit_test(sparse_matrices_multiply_vectors),
        cmocka_unit_test(a_generation_of_life_counts_8_neighbours),
    };

    return cmocka_run_group_tests_name("sim_kernels", tests, open_kernels, close_kernels);
}
