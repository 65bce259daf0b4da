/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Launches of kernels on the model: stand-ins are run in the order of streams with what was
 * given at the call, and what no device could do is refused. */
#include "config.h"

#include "tests/kernel_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <starpool/kernel.h>

#define N_CELLS 1000

/* ---- stand-ins --------------------------------------------------------------------------- */

static void do_nothing(const struct starpool_kernel_launch *launch)
{
    (void)launch;
}

static void add_is_registered_only_with_what_it_needs(void **state)
{
    const size_t sizes[] = {8, 0}, large[] = {32764, 1};

    (void)state;
    assert_status(STARPOOL_EINVAL, starpool_model_add_kernel(NULL, NULL, 0, do_nothing));
    assert_status(STARPOOL_EINVAL, starpool_model_add_kernel("", NULL, 0, do_nothing));
    assert_status(STARPOOL_EINVAL, starpool_model_add_kernel("a", NULL, 0, NULL));
    assert_status(STARPOOL_EINVAL, starpool_model_add_kernel("a", NULL, 1, do_nothing));
    assert_status(STARPOOL_EINVAL, starpool_model_add_kernel("a", sizes, 2, do_nothing));
    assert_status(STARPOOL_EINVAL, starpool_model_add_kernel("a", large, 2, do_nothing));
    assert_ok(starpool_model_add_kernel("test_large", large, 1, do_nothing));
}

/* What is written to stderr meanwhile. */
static void look_up_with_output(sp_cu_module module, const char *name, char *text, size_t size)
{
    sp_cu_function function = (sp_cu_function)text;
    FILE *file = tmpfile();
    int saved = dup(STDERR_FILENO);
    size_t length;

    assert_non_null(file);
    assert_true(saved >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0);
    assert_result(SP_CU_NOT_FOUND, cuModuleGetFunction(&function, module, name));
    assert_true(dup2(saved, STDERR_FILENO) >= 0);
    close(saved);
    rewind(file);
    length = fread(text, 1, size - 1, file);
    text[length] = '\0';
    fclose(file);
    assert_ptr_equal(function, text);
}

static void a_kernel_without_a_stand_in_is_named_once(void **state)
{
    static int n_tests;
    sp_cu_module module = sp_test_module();
    char name[40], text[400];

    (void)state;
    (void)snprintf(name, sizeof(name), "_Z5scalePf%d", n_tests++);
    look_up_with_output(module, name, text, sizeof(text));
    assert_non_null(strstr(text, name));
    assert_non_null(strstr(text, "starpool_model_add_kernel()"));
    assert_non_null(strstr(text, "STARPOOL_MODEL_KERNELS"));
    look_up_with_output(module, name, text, sizeof(text));
    assert_string_equal(text, "");
}

static void count(const struct starpool_kernel_launch *launch)
{
    (**(int *const *)launch->args[0])++;
}

static void a_name_that_is_registered_again_is_the_new_function(void **state)
{
    static const size_t sizes[] = {sizeof(int *)};
    sp_cu_module module = sp_test_module();
    sp_cu_function before, after;
    sp_cu_ptr cells = sp_test_cells(1);
    void *args[] = {&cells};

    (void)state;
    assert_ok(starpool_model_add_kernel("test_again", sizes, 1, do_nothing));
    before = sp_test_function(module, "test_again");
    assert_ptr_equal(sp_test_function(module, "test_again"), before);
    assert_ok(starpool_model_add_kernel("test_again", sizes, 1, count));
    after = sp_test_function(module, "test_again");
    assert_ptr_not_equal(after, before);
    assert_done(cuLaunchKernel(before, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL));
    sp_test_assert_cells(cells, 1, 0, NULL);
    assert_done(cuLaunchKernel(after, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL));
    sp_test_assert_cells(cells, 1, 1, NULL);
}

static void kernels_of_an_object_that_the_option_names_are_found(void **state)
{
    sp_cu_function function = sp_test_function(sp_test_module(), "test_loaded");
    sp_cu_ptr cells = sp_test_cells(1);
    void *args[] = {&cells};

    (void)state;
    assert_done(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL));
    sp_test_assert_cells(cells, 1, 7, NULL);
}

/* ---- order and arguments ----------------------------------------------------------------- */

static void launches_run_in_their_streams_order(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_function add = sp_test_function(sp_test_module(), "test_add");
    sp_cu_ptr cells = sp_test_cells(N_CELLS);

    (void)state;
    sp_test_hold(stream);
    assert_done(cuMemsetD32Async(cells, 5, N_CELLS, stream));
    sp_test_launch_add(add, cells, N_CELLS, 2, stream);
    assert_done(cuMemcpyDtoDAsync(cells, cells + N_CELLS * 2, N_CELLS * 2, stream));
    sp_test_launch_add(add, cells, N_CELLS, 30, stream);
    assert_result(SP_CU_NOT_READY, cuStreamQuery(stream));
    assert_int_equal(*(volatile int *)sp_test_bytes(cells), 0);
    sp_test_release();
    sp_test_assert_cells(cells, N_CELLS, 37, stream);
    sp_test_assert_no_violations();
}

static void launches_follow_events_of_other_streams(void **state)
{
    sp_cu_stream first = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_stream second = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_function move = sp_test_function(sp_test_module(), "test_move");
    sp_cu_function add = sp_test_function(sp_test_module(), "test_add");
    sp_cu_ptr source = sp_test_cells(N_CELLS), target = sp_test_cells(N_CELLS);
    sp_cu_event event = sp_test_event();
    int n = N_CELLS;
    void *args[] = {&target, &source, &n};

    (void)state;
    sp_test_hold(first);
    assert_done(cuMemsetD32Async(source, 3, N_CELLS, first));
    sp_test_launch_add(add, source, N_CELLS, 4, first);
    assert_done(cuEventRecord(event, first));
    assert_done(cuStreamWaitEvent(second, event, 0));
    assert_done(cuLaunchKernel(move, 1, 1, 1, 1, 1, 1, 0, second, args, NULL));
    assert_done(cuEventRecord(event, second));
    assert_done(cuStreamWaitEvent(first, event, 0));
    assert_done(cuMemsetD32Async(source, 9, N_CELLS, first));
    sp_test_release();
    sp_test_assert_cells(target, N_CELLS, 7, second);
    sp_test_assert_cells(source, N_CELLS, 9, first);
}

static void arguments_are_copied_at_the_call(void **state)
{
    sp_cu_stream stream = sp_test_stream(SP_CU_STREAM_NON_BLOCKING);
    sp_cu_function add = sp_test_function(sp_test_module(), "test_add");
    sp_cu_ptr cells = sp_test_cells(N_CELLS), ptr = cells;
    int n = N_CELLS, value = 6;
    void *args[] = {&ptr, &n, &value};

    (void)state;
    sp_test_hold(stream);
    assert_done(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, stream, args, NULL));
    ptr = 0;
    n = value = -1;
    memset(args, 0, sizeof(args));
    sp_test_release();
    sp_test_assert_cells(cells, N_CELLS, 6, stream);
}

/* Arguments in one piece, as the compiler would lay them out. */
static void arguments_may_come_in_one_piece(void **state)
{
    sp_cu_function add = sp_test_function(sp_test_module(), "test_add");
    sp_cu_ptr cells = sp_test_cells(N_CELLS);
    struct {
        sp_cu_ptr cells;
        int n, value;
    } piece = {cells, N_CELLS, 8};
    size_t size = sizeof(piece), offset = 99, arg_size;
    void *extra[] = {(void *)SP_CU_LAUNCH_BUFFER_POINTER, &piece,
                     (void *)SP_CU_LAUNCH_BUFFER_SIZE, &size, (void *)SP_CU_LAUNCH_END};
    void *args[] = {&piece.cells, &piece.n, &piece.value};

    (void)state;
    assert_done(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra));
    sp_test_assert_cells(cells, N_CELLS, 8, NULL);
    assert_done(cuFuncGetParamInfo(add, 2, &offset, &arg_size));
    assert_int_equal(offset, 12);
    assert_int_equal(arg_size, sizeof(int));
    assert_result(SP_CU_INVALID_VALUE, cuFuncGetParamInfo(add, 3, &offset, &arg_size));
    assert_int_equal(offset, 12);

    assert_result(SP_CU_INVALID_VALUE,
                  cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, NULL, args, extra));
    size = 12;
    assert_result(SP_CU_INVALID_VALUE,
                  cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra));
    extra[2] = (void *)3;
    assert_result(SP_CU_INVALID_VALUE,
                  cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra));
    sp_test_assert_cells(cells, N_CELLS, 8, NULL);
}

/* ---- shapes of launches ------------------------------------------------------------------ */

static sp_cu_result launch(sp_cu_function function, const unsigned shape[7], sp_cu_ptr out)
{
    void *args[] = {&out};

    return sp_model.driver->cuLaunchKernel(function, shape[0], shape[1], shape[2], shape[3],
                                           shape[4], shape[5], shape[6], NULL, args, NULL);
}

static void the_stand_in_is_told_the_launch(void **state)
{
    sp_cu_function shape = sp_test_function(sp_test_module(), "test_shape");
    const unsigned wanted[7] = {5, 6, 7, 8, 9, 10, 11}, *found;
    sp_cu_ptr cells = sp_test_cells(7);

    (void)state;
    assert_int_equal(launch(shape, wanted, cells), SP_CU_SUCCESS);
    assert_done(cuCtxSynchronize());
    found = (const unsigned *)(uintptr_t)sp_test_bytes(cells);
    assert_memory_equal(found, wanted, sizeof(wanted));
}

static void launches_that_no_device_could_do_are_refused(void **state)
{
    sp_cu_function shape = sp_test_function(sp_test_module(), "test_shape");
    sp_cu_ptr cells = sp_test_cells(7);
    static const unsigned refused[][7] = {
        {0, 1, 1, 1, 1, 1, 0},     {1, 0, 1, 1, 1, 1, 0},     {1, 1, 0, 1, 1, 1, 0},
        {1, 1, 1, 0, 1, 1, 0},     {1, 1, 1, 1, 0, 1, 0},     {1, 1, 1, 1, 1, 0, 0},
        {1, 65536, 1, 1, 1, 1, 0}, {1, 1, 65536, 1, 1, 1, 0}, {1U << 31, 1, 1, 1, 1, 1, 0},
        {1, 1, 1, 1025, 1, 1, 0},  {1, 1, 1, 1, 1025, 1, 0},  {1, 1, 1, 1, 1, 65, 0},
        {1, 1, 1, 32, 33, 1, 0},   {1, 1, 1, 1, 1, 1, 49153},
    };
    static const unsigned accepted[][7] = {{INT32_MAX, 65535, 65535, 1024, 1, 1, 49152},
                                           {1, 1, 1, 2, 8, 64, 0}};

    (void)state;
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
        assert_int_equal(launch(shape, refused[i], cells), SP_CU_INVALID_VALUE);
    sp_test_assert_cells(cells, 7, 0, NULL);
    for (size_t i = 0; i < sizeof(accepted) / sizeof(accepted[0]); i++)
        assert_int_equal(launch(shape, accepted[i], cells), SP_CU_SUCCESS);
    assert_int_equal(launch(NULL, accepted[1], cells), SP_CU_INVALID_VALUE);
    assert_int_equal(launch((sp_cu_function)&cells, accepted[1], cells), SP_CU_INVALID_HANDLE);
    assert_result(SP_CU_INVALID_VALUE,
                  cuLaunchKernel(shape, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    assert_done(cuFuncSetAttribute(shape, SP_CU_FUNCTION_MAX_DYNAMIC_SHARED_SIZE_BYTES, 65536));
    assert_int_equal(launch(shape, (const unsigned[7]){1, 1, 1, 1, 1, 1, 65536}, cells),
                     SP_CU_SUCCESS);
}

static void cooperative_launches_must_fit_at_once(void **state)
{
    sp_cu_function shape = sp_test_function(sp_test_module(), "test_shape");
    sp_cu_ptr cells = sp_test_cells(7);
    void *args[] = {&cells};
    struct sp_cu_launch_attribute attribute = {.id = SP_CU_LAUNCH_COOPERATIVE,
                                               .value = {.number = 1}};
    struct sp_cu_launch_config config = {.grid = {216, 1, 1},
                                         .block = {1024, 1, 1},
                                         .attributes = &attribute,
                                         .n_attributes = 1};

    (void)state;
    assert_done(cuLaunchCooperativeKernel(shape, 216, 1, 1, 1024, 1, 1, 0, NULL, args));
    assert_result(SP_CU_COOPERATIVE_LAUNCH_TOO_LARGE,
                  cuLaunchCooperativeKernel(shape, 217, 1, 1, 1024, 1, 1, 0, NULL, args));
    assert_done(cuLaunchKernelEx(&config, shape, args, NULL));
    config.grid[0] = 217;
    assert_result(SP_CU_COOPERATIVE_LAUNCH_TOO_LARGE,
                  cuLaunchKernelEx(&config, shape, args, NULL));
    attribute.value.number = 0;
    assert_done(cuLaunchKernelEx(&config, shape, args, NULL));
}

static void attributes_of_launches_are_looked_at(void **state)
{
    static const struct {
        int id, number;
        sp_cu_result result;
    } cases[] = {
        {SP_CU_LAUNCH_IGNORE, 0, SP_CU_SUCCESS},
        {SP_CU_LAUNCH_PRIORITY, -1, SP_CU_SUCCESS},
        {SP_CU_LAUNCH_PROGRAMMATIC_STREAM_SERIALIZATION, 1, SP_CU_SUCCESS},
        {SP_CU_LAUNCH_CLUSTER_DIMENSION, 2, SP_CU_NOT_SUPPORTED},
        {SP_CU_LAUNCH_PROGRAMMATIC_EVENT, 0, SP_CU_NOT_SUPPORTED},
        {SP_CU_LAUNCH_DEVICE_UPDATABLE_KERNEL_NODE, 1, SP_CU_NOT_SUPPORTED},
        {1000, 0, SP_CU_INVALID_VALUE},
    };
    sp_cu_function shape = sp_test_function(sp_test_module(), "test_shape");
    sp_cu_ptr cells = sp_test_cells(7);
    void *args[] = {&cells};
    struct sp_cu_launch_attribute attribute = {.id = 0};
    struct sp_cu_launch_config config = {
        .grid = {1, 1, 1}, .block = {1, 1, 1}, .attributes = &attribute, .n_attributes = 1};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        attribute.id = cases[i].id;
        attribute.value.number = cases[i].number;
        assert_result(cases[i].result, cuLaunchKernelEx(&config, shape, args, NULL));
    }
    assert_result(SP_CU_INVALID_VALUE, cuLaunchKernelEx(NULL, shape, args, NULL));
}

/* ---- modules ----------------------------------------------------------------------------- */

static void modules_belong_to_their_context(void **state)
{
    sp_cu_module module = sp_test_module();
    sp_cu_function add = sp_test_function(module, "test_add");
    sp_cu_ptr cells = sp_test_cells(1);
    sp_cu_context other;
    struct sp_test_add_args args;
    struct sp_cu_kernel_params params = sp_test_add_params(&args, add, cells, 1, 1);

    (void)state;
    assert_done(cuCtxCreate(&other, 0, 1));
    assert_result(SP_CU_INVALID_HANDLE,
                  cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, NULL, params.args, NULL));
    assert_done(cuCtxDestroy(other));
    assert_done(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, NULL, params.args, NULL));
    sp_test_assert_cells(cells, 1, 1, NULL);
    sp_test_assert_no_violations();
    assert_done(cuModuleUnload(module));
    assert_result(SP_CU_INVALID_HANDLE,
                  cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, NULL, params.args, NULL));
    assert_int_equal(starpool_model_violations(NULL), 1);
    assert_result(SP_CU_INVALID_HANDLE, cuModuleUnload(module));
    assert_result(SP_CU_INVALID_HANDLE, cuModuleGetFunction(&add, module, "test_add"));
}

static void a_contexts_modules_go_with_it(void **state)
{
    sp_cu_function add;
    sp_cu_context other;
    const char *name;

    (void)state;
    assert_done(cuCtxCreate(&other, 0, 1));
    add = sp_test_function(sp_test_module(), "test_add");
    assert_done(cuFuncGetName(&name, add));
    assert_string_equal(name, "test_add");
    assert_done(cuCtxDestroy(other));
    assert_result(SP_CU_INVALID_HANDLE, cuFuncGetName(&name, add));
}

static void kernels_of_libraries_run_in_every_context(void **state)
{
    sp_cu_library library;
    sp_cu_kernel kernel;
    sp_cu_function add;
    sp_cu_module module, same;
    sp_cu_context contexts[2] = {sp_model.context};
    const char *name;

    (void)state;
    assert_done(cuLibraryLoadData(&library, "code", NULL, NULL, 0, NULL, NULL, 0));
    assert_done(cuLibraryGetKernel(&kernel, library, "test_add"));
    assert_done(cuKernelGetName(&name, kernel));
    assert_string_equal(name, "test_add");
    assert_done(cuCtxCreate(&contexts[1], 0, 1));
    for (int i = 0; i < 2; i++) {
        sp_cu_ptr cells;

        assert_done(cuCtxSetCurrent(contexts[i]));
        cells = sp_test_cells(10);
        assert_done(cuKernelGetFunction(&add, kernel));
        sp_test_launch_add(add, cells, 10, 3 + i, NULL);
        sp_test_launch_add((sp_cu_function)kernel, cells, 10, 10, NULL);
        sp_test_assert_cells(cells, 10, 13 + i, NULL);
    }
    assert_done(cuLibraryGetModule(&module, library));
    assert_done(cuFuncGetModule(&same, add));
    assert_ptr_equal(module, same);
    assert_result(SP_CU_INVALID_HANDLE, cuModuleUnload(module));
    assert_done(cuLibraryUnload(library));
    assert_result(SP_CU_INVALID_HANDLE, cuLibraryGetKernel(&kernel, library, "test_add"));
}

static void any_image_loads_and_no_image_does_not(void **state)
{
    sp_cu_module module = NULL;
    sp_cu_ptr ptr;
    int mode;

    (void)state;
    assert_result(SP_CU_INVALID_VALUE, cuModuleLoadData(&module, NULL));
    assert_result(SP_CU_INVALID_VALUE, cuModuleLoad(&module, NULL));
    assert_result(SP_CU_FILE_NOT_FOUND, cuModuleLoad(&module, "/nowhere/kernels.cubin"));
    assert_null(module);
    assert_done(cuModuleLoad(&module, "/proc/self/exe"));
    assert_done(cuModuleUnload(module));
    assert_done(cuModuleLoadFatBinary(&module, "fat"));
    assert_done(cuModuleLoadDataEx(&module, "ptx", 0, NULL, NULL));
    assert_result(SP_CU_NOT_FOUND, cuModuleGetGlobal(&ptr, NULL, module, "constants"));
    assert_done(cuModuleGetLoadingMode(&mode));
    assert_int_equal(mode, 1);
}

/* ---- main -------------------------------------------------------------------------------- */

/* Where the build has put the object. */
static void name_object(void)
{
    const char *builddir = getenv("builddir");
    char path[4096];

    (void)snprintf(path, sizeof(path), "%s/tests/kernels_object.so",
                   builddir != NULL ? builddir : ".");
    (void)setenv("STARPOOL_MODEL_KERNELS", path, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SP_TEST_BOTH(add_is_registered_only_with_what_it_needs),
        SP_TEST_BOTH(a_kernel_without_a_stand_in_is_named_once),
        SP_TEST_BOTH(a_name_that_is_registered_again_is_the_new_function),
        SP_TEST_BOTH(kernels_of_an_object_that_the_option_names_are_found),
        SP_TEST_BOTH(launches_run_in_their_streams_order),
        SP_TEST_BOTH(launches_follow_events_of_other_streams),
        SP_TEST_BOTH(arguments_are_copied_at_the_call),
        SP_TEST_BOTH(arguments_may_come_in_one_piece),
        SP_TEST_BOTH(the_stand_in_is_told_the_launch),
        SP_TEST_BOTH(launches_that_no_device_could_do_are_refused),
        SP_TEST_BOTH(cooperative_launches_must_fit_at_once),
        SP_TEST_BOTH(attributes_of_launches_are_looked_at),
        SP_TEST_BOTH(modules_belong_to_their_context),
        SP_TEST_BOTH(a_contexts_modules_go_with_it),
        SP_TEST_BOTH(kernels_of_libraries_run_in_every_context),
        SP_TEST_BOTH(any_image_loads_and_no_image_does_not),
    };

    name_object();
    sp_test_kernels();
    return cmocka_run_group_tests_name("model_kernel", tests, NULL, NULL);
}
