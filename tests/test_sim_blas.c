/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What surrounds the routines of the simulated cuBLAS: handles, refused parameters, the order
 * of streams, capture, the first interface, copies. */
#include "config.h"

#include "tests/sim_blas_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 8, SUCCESS = 0, NOT_INITIALIZED = 1, INVALID_VALUE = 7, NOT_SUPPORTED = 15 };

#define assert_cu(call) assert_int_equal(SP_CU_SUCCESS, sp_blas.cu->call)

static const float half = 0.5F, one = 1, two = 2;

/* ---- handles ----------------------------------------------------------------------------- */

static void a_handle_keeps_its_settings(void **state)
{
    sp_cu_stream stream = NULL;
    int value = -1;

    (void)state;
    assert_int_equal(SUCCESS, CALL("GetStream_v2", (intptr_t)&stream));
    assert_ptr_equal(sp_blas.stream, stream);
    assert_int_equal(SUCCESS, CALL("GetPointerMode_v2", (intptr_t)&value));
    assert_int_equal(0, value);
    assert_int_equal(INVALID_VALUE, CALL("SetPointerMode_v2", 2));
    assert_int_equal(SUCCESS, CALL("SetMathMode", 3));
    assert_int_equal(SUCCESS, CALL("GetMathMode", (intptr_t)&value));
    assert_int_equal(3, value);
    assert_int_equal(SUCCESS, CALL("SetAtomicsMode", 1));
    assert_int_equal(SUCCESS, CALL("GetAtomicsMode", (intptr_t)&value));
    assert_int_equal(1, value);
    assert_int_equal(SUCCESS, CALL("SetWorkspace_v2", 0, 0));
}

static void without_a_handle_nothing_is_initialized(void **state)
{
    float x = 0;

    (void)state;
    assert_int_equal(NOT_INITIALIZED, sp_blas_call("Sscal_v2", BLAS_ARGS(0, 1, (intptr_t)&two,
                                                                         (intptr_t)&x, 1)));
    assert_int_equal(NOT_INITIALIZED, sp_blas_call("SetStream_v2", BLAS_ARGS(0, 0)));
    assert_int_equal(NOT_INITIALIZED, sp_blas_call("Destroy_v2", BLAS_ARGS(0)));
}

/* A program of the runtime may create its handle before anything else. */
static void creating_a_handle_makes_a_context_current(void **state)
{
    sp_cu_context context = NULL;
    void *handle = NULL;

    (void)state;
    assert_cu(cuCtxSetCurrent(NULL));
    assert_int_equal(SUCCESS, sp_blas_call("Create_v2", BLAS_ARGS((intptr_t)&handle)));
    assert_cu(cuCtxGetCurrent(&context));
    assert_non_null(context);
    assert_int_equal(SUCCESS, sp_blas_call("Destroy_v2", BLAS_ARGS((intptr_t)handle)));
    assert_cu(cuDevicePrimaryCtxReset(0));
    assert_cu(cuCtxSetCurrent(sp_blas.context));
}

static void each_major_says_which_it_is(void **state)
{
    static const struct {
        const char *cuda, *name;
        int major, version;
    } libraries[] = {{"cuda-11", "libcublas.so.11", 11, 11000},
                     {"cuda-12", "libcublas.so.12", 12, 120000},
                     {"cuda-13", "libcublas.so.13", 13, 130000}};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        void *library = sp_sim_open(libraries[i].cuda, libraries[i].name), *symbol;
        int (*get_property)(int type, int *value_out);
        int (*get_version)(void *handle, int *version_out);
        int value = 0;

        assert_non_null(library);
        symbol = sp_sim_symbol(library, "cublasGetProperty");
        memcpy(&get_property, &symbol, sizeof(symbol));
        assert_int_equal(SUCCESS, get_property(0, &value));
        assert_int_equal(libraries[i].major, value);
        symbol = sp_sim_symbol(library, "cublasGetVersion_v2");
        memcpy(&get_version, &symbol, sizeof(symbol));
        assert_int_equal(SUCCESS, get_version(sp_blas.handle, &value));
        assert_int_equal(libraries[i].version, value);
    }
}

static void statuses_have_names(void **state)
{
    const char *(*name)(int status);
    void *symbol = sp_sim_symbol(sp_blas.library, "cublasGetStatusName");

    (void)state;
    memcpy(&name, &symbol, sizeof(symbol));
    assert_string_equal("CUBLAS_STATUS_SUCCESS", name(SUCCESS));
    assert_string_equal("CUBLAS_STATUS_NOT_SUPPORTED", name(NOT_SUPPORTED));
    assert_non_null(name(-5));
}

/* What a program of that environment does: its exit status is that of the call. */
static int create_without_blas(void)
{
    void *handle;

    sp_blas.library = sp_sim_open("cuda-13", "libcublas.so.13");
    if (sp_blas.library == NULL)
        return 99;
    return sp_blas_call("Create_v2", BLAS_ARGS((intptr_t)&handle));
}

/* This program again, where what is found as libblas.so.3 is no library; what it says. */
static int run_without_blas(const char *self, const char *dir, char *text, size_t size)
{
    const char *path = getenv("LD_LIBRARY_PATH");
    char command[1024];
    size_t length;
    FILE *output;

    snprintf(command, sizeof(command), "LD_LIBRARY_PATH=%s:%s exec %s no-blas 2>&1 </dev/null",
             dir, path == NULL ? "" : path, self);
    output = popen(command, "r"); /* NOLINT(cert-env33-c): both words are ours */
    assert_non_null(output);
    length = fread(text, 1, size - 1, output);
    text[length] = '\0';
    return pclose(output);
}

static void a_machine_without_a_BLAS_is_told_so_in_one_line(void **state)
{
    char dir[] = "/tmp/sim_blas.XXXXXX", file[64], self[512], text[1024], *line;
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    FILE *blas;
    int status;

    (void)state;
    assert_true(length > 0);
    self[length] = '\0';
    assert_non_null(mkdtemp(dir));
    snprintf(file, sizeof(file), "%s/libblas.so.3", dir);
    blas = fopen(file, "w");
    assert_non_null(blas);
    fputs("no library, and longer than the header of one would be: "
          "what loads it reads all of that header before it looks\n",
          blas);
    fclose(blas);
    status = run_without_blas(self, dir, text, sizeof(text));
    unlink(file);
    rmdir(dir);
    assert_true(WIFEXITED(status));
    assert_int_equal(NOT_INITIALIZED, WEXITSTATUS(status));
    line = strstr(text, "starpool: the simulated cuBLAS needs libblas.so.3");
    assert_non_null(line);
    assert_non_null(strchr(line, '\n'));
    assert_null(strstr(line + 1, "starpool:"));
}

/* ---- refused ----------------------------------------------------------------------------- */

/* A BLAS would end the program. */
static void wrong_parameters_are_refused_and_nothing_is_computed(void **state)
{
    struct sp_array a = sp_array_new('S', N * N), c = sp_array_new('C', N * N);
    const intptr_t p = (intptr_t)a.ptr, alpha = (intptr_t)&one, z = (intptr_t)c.ptr;
    const float number[2] = {1, 0};
    const intptr_t w = (intptr_t)number;

    (void)state;
#define GEMM(...) assert_int_equal(INVALID_VALUE, CALL("Sgemm_v2", __VA_ARGS__))
    GEMM(3, 0, 2, 2, 2, alpha, p, 2, p, 2, alpha, p, 2); /* no such operation */
    GEMM(0, -1, 2, 2, 2, alpha, p, 2, p, 2, alpha, p, 2);
    GEMM(0, 0, -1, 2, 2, alpha, p, 2, p, 2, alpha, p, 2); /* a negative size */
    GEMM(0, 0, 4, 2, 2, alpha, p, 3, p, 2, alpha, p, 4);  /* A has 4 rows */
    GEMM(1, 0, 2, 2, 4, alpha, p, 3, p, 4, alpha, p, 2);  /* A has 4 columns */
    GEMM(0, 1, 2, 4, 2, alpha, p, 2, p, 3, alpha, p, 2);  /* B has 4 columns */
    GEMM(0, 0, 4, 2, 2, alpha, p, 4, p, 2, alpha, p, 3);  /* C has 4 rows */
    GEMM(0, 0, 0, 0, 0, alpha, p, 0, p, 1, alpha, p, 1);  /* 0 is none for nothing, either */
    GEMM(0, 0, 2, 2, 2, 0, p, 2, p, 2, alpha, p, 2);      /* no alpha */
    GEMM(0, 0, 2, 2, 2, alpha, 0, 2, p, 2, alpha, p, 2);  /* no A */
#undef GEMM
    assert_int_equal(INVALID_VALUE,
                     CALL("Sgemv_v2", 0, 2, 2, alpha, p, 2, p, 0, alpha, p, 1)); /* incx */
    assert_int_equal(INVALID_VALUE, CALL("Strsv_v2", 2, 0, 0, 2, p, 2, p, 1));   /* uplo */
    assert_int_equal(INVALID_VALUE, CALL("Strsv_v2", 0, 0, 2, 2, p, 2, p, 1));   /* diag */
    assert_int_equal(INVALID_VALUE,
                     CALL("Strsm_v2", 2, 0, 0, 0, 2, 2, alpha, p, 2, p, 2)); /* side */
    assert_int_equal(INVALID_VALUE, CALL("Csyrk_v2", 0, 2, 2, 2, w, z, 2, w, z, 2));
    assert_int_equal(INVALID_VALUE, CALL("Cherk_v2", 0, 1, 2, 2, w, z, 2, w, z, 2));
    assert_int_equal(NOT_SUPPORTED, CALL("Sscal_v2_64", INT64_C(1) << 40, alpha, p, 1));
    sp_array_check(&a, "refused");
    sp_array_check(&c, "refused");
    sp_array_free(&a);
    sp_array_free(&c);
}

static void routines_that_are_not_there_are_not_supported(void **state)
{
    (void)state;
    assert_int_equal(NOT_SUPPORTED, CALL("SgetrfBatched", 1, 0, 1, 0, 0, 1));
    assert_int_equal(NOT_SUPPORTED, CALL("Hgemm", 0));
}

/* ---- order ------------------------------------------------------------------------------- */

/* Memory of the host that streams wait for: until it is 1. */
static uint32_t *new_gate(void)
{
    void *gate;

    assert_cu(cuMemHostAlloc(&gate, sizeof(uint32_t), SP_CU_HOST_ALLOC_DEVICEMAP));
    *(volatile uint32_t *)gate = 0;
    return gate;
}

static void wait_for(sp_cu_stream stream, uint32_t *gate)
{
    assert_cu(cuStreamWaitValue32(stream, (sp_cu_ptr)(uintptr_t)gate, 1, SP_CU_WAIT_VALUE_EQ));
}

static void open_gate(uint32_t *gate)
{
    __atomic_store_n(gate, 1, __ATOMIC_SEQ_CST);
}

static void calls_are_in_the_order_of_two_streams(void **state)
{
    struct sp_array x = sp_array_new('S', N);
    uint32_t *gate = new_gate();
    sp_cu_stream other;
    sp_cu_event event;

    (void)state;
    assert_cu(cuStreamCreate(&other, SP_CU_STREAM_NON_BLOCKING));
    assert_cu(cuEventCreate(&event, SP_CU_EVENT_DISABLE_TIMING));
    wait_for(sp_blas.stream, gate);
    assert_int_equal(
        SUCCESS, CALL("Saxpy_v2", N, (intptr_t)&one, (intptr_t)x.ptr, 1, (intptr_t)x.ptr, 1));
    assert_cu(cuEventRecord(event, sp_blas.stream));
    assert_cu(cuStreamWaitEvent(other, event, 0));
    assert_int_equal(SUCCESS, CALL("SetStream_v2", (intptr_t)other));
    assert_int_equal(SUCCESS, CALL("Sscal_v2", N, (intptr_t)&half, (intptr_t)x.ptr, 1));
    /* 2 x, then a half of it: the other way round it would be x / 2 and then x. */
    assert_int_equal(SP_CU_NOT_READY, sp_blas.cu->cuStreamQuery(other));
    open_gate(gate);
    assert_cu(cuStreamSynchronize(other));
    sp_array_check(&x, "twice and half");
    assert_int_equal(SUCCESS, CALL("SetStream_v2", (intptr_t)sp_blas.stream));
    assert_cu(cuStreamDestroy(other));
    assert_cu(cuEventDestroy(event));
    assert_cu(cuMemFreeHost(gate));
    sp_array_free(&x);
}

/* A number on the host is the one at the call; one on the device, the one when it runs. */
static void numbers_are_read_at_the_call_or_on_the_device(void **state)
{
    struct sp_array x = sp_array_new('S', N), y = sp_array_new('S', N);
    uint32_t *gate = new_gate();
    float number = 2;
    sp_cu_ptr alpha;

    (void)state;
    assert_cu(cuMemAlloc(&alpha, sizeof(float)));
    assert_cu(cuMemcpyHtoD(alpha, &two, sizeof(two)));
    wait_for(sp_blas.stream, gate);
    assert_int_equal(SUCCESS, CALL("Sscal_v2", N, (intptr_t)&number, (intptr_t)x.ptr, 1));
    number = 100;
    assert_cu(cuMemcpyDtoDAsync(alpha, x.ptr, sizeof(float), sp_blas.stream));
    assert_int_equal(SUCCESS, CALL("SetPointerMode_v2", 1));
    assert_int_equal(SUCCESS, CALL("Sscal_v2", N, (intptr_t)alpha, (intptr_t)y.ptr, 1));
    assert_int_equal(SUCCESS, CALL("SetPointerMode_v2", 0));
    open_gate(gate);
    for (size_t i = 0; i < N; i++)
        x.at[i] *= 2;
    for (size_t i = 0; i < N; i++)
        y.at[i] *= x.at[0];
    sp_array_check(&x, "times 2");
    sp_array_check(&y, "times what the device had written");
    assert_cu(cuMemFree(alpha));
    assert_cu(cuMemFreeHost(gate));
    sp_array_free(&x);
    sp_array_free(&y);
}

/* ---- capture ----------------------------------------------------------------------------- */

static void captured_calls_run_at_each_launch(void **state)
{
    struct sp_array a = sp_array_new('D', N * N), x = sp_array_new('D', N);
    struct sp_array y = sp_array_new('D', N);
    const double alpha = 0.25, zero = 0, unit = 1;
    sp_cu_graph graph;
    sp_cu_exec exec;

    (void)state;
    assert_cu(cuStreamBeginCapture(sp_blas.stream, SP_CU_CAPTURE_MODE_THREAD_LOCAL));
    assert_int_equal(SUCCESS, CALL("Dgemv_v2", 0, N, N, (intptr_t)&alpha, (intptr_t)a.ptr, N,
                                   (intptr_t)x.ptr, 1, (intptr_t)&zero, (intptr_t)y.ptr, 1));
    assert_int_equal(
        SUCCESS, CALL("Daxpy_v2", N, (intptr_t)&unit, (intptr_t)y.ptr, 1, (intptr_t)x.ptr, 1));
    assert_cu(cuStreamEndCapture(sp_blas.stream, &graph));
    sp_array_check(&x, "while capturing");
    sp_array_check(&y, "while capturing");
    assert_cu(cuGraphInstantiate(&exec, graph, 0));
    for (int launch = 0; launch < 3; launch++) {
        assert_cu(cuGraphLaunch(exec, sp_blas.stream));
        for (int i = 0; i < N; i++) {
            y.at[i] = 0;
            for (int j = 0; j < N; j++)
                y.at[i] += alpha * a.at[i + j * N] * x.at[j];
        }
        for (int i = 0; i < N; i++)
            x.at[i] += y.at[i];
        sp_array_check(&y, "y of a launch");
        sp_array_check(&x, "x of a launch");
    }
    assert_cu(cuGraphExecDestroy(exec));
    assert_cu(cuGraphDestroy(graph));
    sp_array_free(&a);
    sp_array_free(&x);
    sp_array_free(&y);
}

/* It would have to wait for the stream. */
static void a_result_for_the_host_cannot_be_captured(void **state)
{
    struct sp_array x = sp_array_new('S', N);
    sp_cu_graph graph = NULL;
    float sum = -1;

    (void)state;
    assert_cu(cuStreamBeginCapture(sp_blas.stream, SP_CU_CAPTURE_MODE_THREAD_LOCAL));
    assert_int_not_equal(SUCCESS, CALL("Sasum_v2", N, (intptr_t)x.ptr, 1, (intptr_t)&sum));
    assert_int_equal(SP_CU_STREAM_CAPTURE_INVALIDATED,
                     sp_blas.cu->cuStreamEndCapture(sp_blas.stream, &graph));
    assert_true(sum == -1);
    sp_array_free(&x);
}

/* ---- the first interface ----------------------------------------------------------------- */

static int (*first_function(const char *name))(void)
{
    void *symbol = sp_sim_symbol(sp_blas.library, name);
    int (*function)(void);

    memcpy(&function, &symbol, sizeof(symbol));
    return function;
}

static void the_first_interface_needs_no_handle(void **state)
{
    struct sp_array a = sp_array_new('S', N * N), x = sp_array_new('S', N);
    void (*gemm)(char, char, int, int, int, float, const void *, int, const void *, int, float,
                 void *, int);
    float (*dot)(int, const void *, int, const void *, int);
    int (*set_stream)(sp_cu_stream);
    void *symbol = sp_sim_symbol(sp_blas.library, "cublasSgemm");
    double complex sum = 0, product[N] = {0};

    (void)state;
    memcpy(&gemm, &symbol, sizeof(symbol));
    symbol = sp_sim_symbol(sp_blas.library, "cublasSdot");
    memcpy(&dot, &symbol, sizeof(symbol));
    symbol = sp_sim_symbol(sp_blas.library, "cublasSetKernelStream");
    memcpy(&set_stream, &symbol, sizeof(symbol));
    gemm('n', 'N', N, 1, N, 1, (void *)a.ptr, N, (void *)x.ptr, N, 0, (void *)x.ptr, N);
    assert_int_equal(NOT_INITIALIZED, first_function("cublasGetError")());
    assert_int_equal(SUCCESS, first_function("cublasGetError")());
    assert_int_equal(SUCCESS, first_function("cublasInit")());
    assert_int_equal(SUCCESS, set_stream(sp_blas.stream));
    gemm('t', 'N', N, 1, N, 2, (void *)a.ptr, N, (void *)a.ptr, N, 0.5F, (void *)x.ptr, N);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            product[i] += 2 * a.at[j + i * N] * a.at[j];
    for (int i = 0; i < N; i++)
        x.at[i] = product[i] + 0.5 * x.at[i];
    sp_array_check(&x, "cublasSgemm");
    for (int i = 0; i < N; i++)
        sum += x.at[i] * x.at[i];
    assert_float_equal(creal(sum), dot(N, (void *)x.ptr, 1, (void *)x.ptr, 1), 1e-2);
    gemm('x', 'N', N, 1, N, 2, (void *)a.ptr, N, (void *)a.ptr, N, 0.5F, (void *)x.ptr, N);
    assert_int_equal(INVALID_VALUE, first_function("cublasGetError")());
    assert_int_equal(SUCCESS, first_function("cublasShutdown")());
    assert_int_equal(NOT_INITIALIZED, first_function("cublasShutdown")());
    sp_array_free(&a);
    sp_array_free(&x);
}

/* cuComplex and cuDoubleComplex are passed and returned as the complex types of C are. */
static void the_first_interface_passes_complex_numbers_by_value(void **state)
{
    struct sp_array x = sp_array_new('C', N), z = sp_array_new('Z', N);
    void (*scal)(int, float complex, void *, int);
    float complex (*dotc)(int, const void *, int, const void *, int);
    double complex (*dotu)(int, const void *, int, const void *, int);
    int (*amax)(int, const void *, int);
    void (*rotg)(void *, float complex, float *, void *);
    float complex a = sp_complex_float(3, 0), sine = 0;
    float cosine = 0;
    double complex conjugated = 0, plain = 0;
    void *symbol = sp_sim_symbol(sp_blas.library, "cublasCscal");

    (void)state;
    memcpy(&scal, &symbol, sizeof(symbol));
    symbol = sp_sim_symbol(sp_blas.library, "cublasCdotc");
    memcpy(&dotc, &symbol, sizeof(symbol));
    symbol = sp_sim_symbol(sp_blas.library, "cublasZdotu");
    memcpy(&dotu, &symbol, sizeof(symbol));
    symbol = sp_sim_symbol(sp_blas.library, "cublasIzamax");
    memcpy(&amax, &symbol, sizeof(symbol));
    symbol = sp_sim_symbol(sp_blas.library, "cublasCrotg");
    memcpy(&rotg, &symbol, sizeof(symbol));
    assert_int_equal(SUCCESS, first_function("cublasInit")());
    rotg(&a, sp_complex_float(0, 4), &cosine, &sine);
    assert_float_equal(0.6, cosine, 1e-5);
    assert_true(cabsf(a - 5) < 1e-5F && cabsf(sine - sp_complex_float(0, -0.8F)) < 1e-5F);
    scal(N, sp_complex_float(0.5F, -2), (void *)x.ptr, 1);
    z.at[5] = sp_complex(3, -3);
    sp_array_upload(&z);
    for (int i = 0; i < N; i++) {
        x.at[i] *= sp_complex(0.5, -2);
        conjugated += conj(x.at[i]) * x.at[i];
        plain += z.at[i] * z.at[i];
    }
    assert_true(cabs(dotc(N, (void *)x.ptr, 1, (void *)x.ptr, 1) - conjugated) < 1e-3);
    assert_true(cabs(dotu(N, (void *)z.ptr, 1, (void *)z.ptr, 1) - plain) < 1e-9);
    assert_int_equal(6, amax(N, (void *)z.ptr, 1));
    assert_int_equal(SUCCESS, first_function("cublasGetError")());
    assert_int_equal(SUCCESS, first_function("cublasShutdown")());
    assert_cu(cuCtxSynchronize());
    sp_array_check(&x, "cublasCscal");
    sp_array_free(&x);
    sp_array_free(&z);
}

/* ---- copies ------------------------------------------------------------------------------ */

static void matrices_and_vectors_are_copied_with_gaps(void **state)
{
    struct sp_array a = sp_array_new('S', N * N);
    float host[N * N], back[N * N] = {0};

    (void)state;
    for (int i = 0; i < N * N; i++)
        host[i] = (float)i;
    /* 3 rows and 4 columns, at the host 5 apart, on the device 7. */
    assert_int_equal(SUCCESS,
                     sp_blas_call("SetMatrix", BLAS_ARGS(3, 4, sizeof(float), (intptr_t)host, 5,
                                                         (intptr_t)a.ptr, 7)));
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 4; j++)
            a.at[i + j * 7] = host[i + j * 5];
    sp_array_check(&a, "SetMatrix");
    assert_int_equal(
        SUCCESS,
        sp_blas_call("GetMatrixAsync", BLAS_ARGS(3, 4, sizeof(float), (intptr_t)a.ptr, 7,
                                                 (intptr_t)back, 5, (intptr_t)sp_blas.stream)));
    assert_cu(cuStreamSynchronize(sp_blas.stream));
    for (int i = 0; i < 5 * 4; i++)
        assert_true(back[i] == (i % 5 < 3 ? host[i] : 0));
    assert_int_equal(SUCCESS,
                     sp_blas_call("SetVector_64", BLAS_ARGS(5, sizeof(float), (intptr_t)host, 2,
                                                            (intptr_t)a.ptr, 3)));
    for (int i = 0; i < 5; i++)
        a.at[3 * i] = host[2 * i];
    sp_array_check(&a, "SetVector");
    assert_int_equal(SUCCESS,
                     sp_blas_call("GetVector", BLAS_ARGS(N, sizeof(float), (intptr_t)a.ptr, 1,
                                                         (intptr_t)back, 1)));
    for (int i = 0; i < N; i++)
        assert_true(back[i] == (float)creal(a.at[i]));
    assert_int_equal(INVALID_VALUE,
                     sp_blas_call("SetMatrix", BLAS_ARGS(3, 4, sizeof(float), (intptr_t)host, 2,
                                                         (intptr_t)a.ptr, 7)));
    sp_array_free(&a);
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, sp_blas_setup, sp_blas_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_handle_keeps_its_settings),
        TEST(without_a_handle_nothing_is_initialized),
        TEST(creating_a_handle_makes_a_context_current),
        TEST(each_major_says_which_it_is),
        TEST(statuses_have_names),
        cmocka_unit_test(a_machine_without_a_BLAS_is_told_so_in_one_line),
        TEST(wrong_parameters_are_refused_and_nothing_is_computed),
        TEST(routines_that_are_not_there_are_not_supported),
        TEST(calls_are_in_the_order_of_two_streams),
        TEST(numbers_are_read_at_the_call_or_on_the_device),
        TEST(captured_calls_run_at_each_launch),
        TEST(a_result_for_the_host_cannot_be_captured),
        TEST(the_first_interface_needs_no_handle),
        TEST(the_first_interface_passes_complex_numbers_by_value),
        TEST(matrices_and_vectors_are_copied_with_gaps),
    };

    if (argc > 1 && strcmp(argv[1], "no-blas") == 0)
        return create_without_blas();
    return cmocka_run_group_tests_name("sim_blas", tests, NULL, NULL);
}
