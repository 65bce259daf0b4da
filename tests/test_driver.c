/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The border to the driver: which symbols are called, what is said of a driver that lacks some,
 * what becomes of results, and which driver a process takes. The libcuda.so.1 here are built
 * from tests/fake_cuda.c. */
#include "config.h"

#include "tests/support.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/driver/driver.h"

/* The fake driver of the test, and its variables. */
static struct {
    void *handle;
    sp_cu_result *results; /* [SP_N_CALLS] */
    int *n_devices, *n_decoys;
    bool *is_model; /* fake_own's only */
} fake;

/* A loaded library is found by its soname, whatever its path: so libcuda.so.1 is this one. */
static void load_fake(const char *kind)
{
    const char *builddir = getenv("builddir");
    char path[4096];

    (void)snprintf(path, sizeof(path), "%s/tests/%s/libcuda.so.1",
                   builddir != NULL ? builddir : ".", kind);
    fake.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (fake.handle == NULL)
        fail_msg("%s", dlerror());
    fake.results = dlsym(fake.handle, "fake_results");
    fake.n_devices = dlsym(fake.handle, "fake_n_devices");
    fake.n_decoys = dlsym(fake.handle, "fake_n_decoys");
    fake.is_model = dlsym(fake.handle, "fake_is_model");
    assert_non_null(fake.results);
    assert_non_null(fake.n_devices);
    assert_non_null(fake.n_decoys);
}

static int setup(void **state)
{
    (void)state;
    memset(&fake, 0, sizeof(fake));
    sp_driver_reset();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    sp_driver_reset();
    if (fake.handle != NULL)
        (void)dlclose(fake.handle);
    fake.handle = NULL; /* The group ends with this, too. */
    return 0;
}

/* ---- the table ------------------------------------------------------------------------- */

/* The rows again, as data: one entry point by its index, and where its member stands. */
static const struct row {
    const char *name;
    const char *symbol;
    int version;
    size_t offset; /* bytes, in struct sp_driver */
} rows[SP_N_CALLS] = {
#define X(row, row_symbol, row_version, parameters) \
    [SP_CALL_##row] = {#row, #row_symbol, row_version, offsetof(struct sp_driver, row)},
#include "src/driver/calls.def"
#undef X
};

/* A member of the table as an address. */
static void *address_of(const void *member)
{
    void *address;

    memcpy(&address, member, sizeof(address));
    return address;
}

static void every_entry_point_is_the_symbol_of_its_row(void **state)
{
    const struct sp_driver *driver;
    const struct sp_driver_call *calls;
    size_t n_present = 0;

    (void)state;
    load_fake("fake_whole");
    assert_ok(sp_driver_cuda(&driver));
    calls = sp_driver_cuda_calls();
    assert_string_equal(driver->name, "libcuda.so.1");
    assert_false(driver->is_model);
    for (size_t row = 0; row < SP_N_CALLS; row++) {
        assert_string_equal(calls[row].name, rows[row].name);
        assert_string_equal(calls[row].symbol, rows[row].symbol);
        assert_int_equal(calls[row].version, rows[row].version);
        if (calls[row].is_absent)
            continue;
        assert_ptr_equal(address_of((const char *)driver + rows[row].offset),
                         dlsym(fake.handle, rows[row].symbol));
        n_present++;
    }
    assert_int_equal(n_present, SP_N_CALLS - 4);
}

static void symbols_of_an_older_abi_are_not_called(void **state)
{
    const struct sp_driver *driver;
    sp_cu_ptr ptr;
    size_t size;

    (void)state;
    load_fake("fake_whole");
    assert_non_null(dlsym(fake.handle, "cuMemAlloc"));
    assert_ok(sp_driver_cuda(&driver));
    assert_int_equal(driver->cuMemAlloc(&ptr, 1), 10000 + SP_CALL_cuMemAlloc);
    assert_int_equal(driver->cuMemFree(0), 10000 + SP_CALL_cuMemFree);
    assert_int_equal(driver->cuMemGetInfo(&size, &size), 10000 + SP_CALL_cuMemGetInfo);
    assert_int_equal(driver->cuCtxDestroy(NULL), 10000 + SP_CALL_cuCtxDestroy);
    assert_int_equal(driver->cuStreamDestroy(NULL), 10000 + SP_CALL_cuStreamDestroy);
    assert_int_equal(driver->cuStreamWaitValue32(NULL, 0, 0, 0),
                     10000 + SP_CALL_cuStreamWaitValue32);
    assert_int_equal(*fake.n_decoys, 0);
}

static void entry_points_that_the_driver_lacks_are_listed_and_not_supported(void **state)
{
    struct sp_cu_location location = {.type = SP_CU_LOCATION_DEVICE};
    const struct sp_driver *driver;
    const struct sp_driver_call *calls;
    unsigned long long id = 7;
    sp_cu_pool pool = NULL;

    (void)state;
    load_fake("fake_whole");
    assert_ok(sp_driver_cuda(&driver));
    calls = sp_driver_cuda_calls();
    assert_true(calls[SP_CALL_cuMemGetDefaultMemPool].is_absent);
    assert_true(calls[SP_CALL_cuMemGetMemPool].is_absent);
    assert_true(calls[SP_CALL_cuMemSetMemPool].is_absent);
    assert_true(calls[SP_CALL_cuStreamGetId].is_absent);
    assert_false(calls[SP_CALL_cuMemPoolCreate].is_absent);
    assert_int_equal(driver->cuMemGetDefaultMemPool(&pool, &location, 1), SP_CU_NOT_SUPPORTED);
    assert_int_equal(driver->cuStreamGetId(NULL, &id), SP_CU_NOT_SUPPORTED);
    assert_null(pool);
    assert_int_equal(id, 7);
}

static void the_driver_is_not_started_by_loading_it(void **state)
{
    const struct sp_driver *driver, *again;

    (void)state;
    load_fake("fake_whole");
    assert_ok(sp_driver_cuda(&driver));
    assert_ok(sp_driver_cuda(&again));
    assert_ptr_equal(driver, again);
    assert_string_equal(sp_driver_cuda_error(), "");
    assert_false(sp_driver_is_chosen());
}

static void driver_without_what_nothing_works_without_is_refused(void **state)
{
    const struct sp_driver *driver = NULL;

    (void)state;
    load_fake("fake_no_init");
    assert_status(STARPOOL_ENOTINIT, sp_driver_cuda(&driver));
    assert_null(driver);
    assert_non_null(strstr(sp_driver_cuda_error(), "cuInit"));
    assert_status(STARPOOL_ENOTINIT, sp_driver_cuda(&driver));
}

static void starpool_s_own_library_is_no_driver(void **state)
{
    const struct sp_driver *driver = NULL;

    (void)state;
    load_fake("fake_own");
    assert_status(STARPOOL_ENOTINIT, sp_driver_cuda(&driver));
    assert_null(driver);
    assert_non_null(strstr(sp_driver_cuda_error(), "starpool's own"));
    assert_false(sp_driver_cuda_is_model());
    sp_driver_reset();
    *fake.is_model = true;
    assert_status(STARPOOL_ENOTINIT, sp_driver_cuda(&driver));
    assert_true(sp_driver_cuda_is_model());
}

static void library_of_any_name_can_be_loaded_into_a_table(void **state)
{
    struct sp_driver_library *library = calloc(1, sizeof(*library));

    (void)state;
    assert_non_null(library);
    load_fake("fake_own");
    assert_ok(sp_driver_load("libcuda.so.1", library));
    assert_true(library->table.is_model);
    assert_int_equal(library->table.cuMemFree(0), 10000 + SP_CALL_cuMemFree);
    sp_driver_unload(library);
    assert_status(STARPOOL_ENOTINIT, sp_driver_load("libcuda-of-nobody.so", library));
    assert_non_null(strstr(library->error, "libcuda-of-nobody.so"));
    assert_null(library->handle);
    free(library);
}

static void without_a_library_the_reason_names_it(void **state)
{
    const struct sp_driver *driver = NULL;
    void *real = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);

    (void)state;
    if (real != NULL) {
        (void)dlclose(real);
        skip();
    }
    assert_status(STARPOOL_ENOTINIT, sp_driver_cuda(&driver));
    assert_null(driver);
    assert_non_null(strstr(sp_driver_cuda_error(), "libcuda.so.1"));
}

/* ---- results --------------------------------------------------------------------------- */

/* The statuses of those results that have one of their own. */
static const struct {
    int first, last;
    enum starpool_status status;
} statuses[] = {
    {0, 0, STARPOOL_OK},
    {1, 1, STARPOOL_EINVAL},
    {2, 2, STARPOOL_ENOMEM},
    {3, 4, STARPOOL_ENOTINIT},
    {101, 101, STARPOOL_EDEVICE},
    {600, 600, STARPOOL_ENOTREADY},
    {800, 800, STARPOOL_ENOTPERM},
    {801, 801, STARPOOL_ENOTSUP},
    {900, 900, STARPOOL_ECAPTURE_UNSUPPORTED},
    {901, 901, STARPOOL_ECAPTURE_INVALIDATED},
    {902, 902, STARPOOL_ECAPTURE_MERGE},
    {903, 903, STARPOOL_ECAPTURE_UNMATCHED},
    {904, 904, STARPOOL_ECAPTURE_UNJOINED},
    {905, 905, STARPOOL_ECAPTURE_ISOLATION},
    {906, 906, STARPOOL_ECAPTURE_IMPLICIT},
    {907, 907, STARPOOL_ECAPTURED_EVENT},
    {908, 908, STARPOOL_ECAPTURE_WRONG_THREAD},
};

static enum starpool_status status_of(int result)
{
    for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
        if (result >= statuses[i].first && result <= statuses[i].last)
            return statuses[i].status;
    }
    return STARPOOL_EDRIVER;
}

static void every_result_has_its_status_and_keeps_its_number(void **state)
{
    const char *call;

    (void)state;
    for (int result = 1; result <= 999; result++) {
        assert_status(status_of(result), sp_driver_status(result, "cuMemAlloc"));
        assert_int_equal(starpool_driver_error(&call), result);
        assert_string_equal(call, "cuMemAlloc");
    }
    assert_status(STARPOOL_EDRIVER, sp_driver_status(12345, "cuMemFree"));
    assert_status(STARPOOL_EDRIVER, sp_driver_status(-1, "cuMemFree"));
    assert_int_equal(starpool_driver_error(NULL), -1);
}

static void success_does_not_hide_the_last_error(void **state)
{
    const char *call;

    (void)state;
    assert_status(STARPOOL_ENOMEM, sp_driver_status(SP_CU_OUT_OF_MEMORY, "cuMemAllocAsync"));
    assert_ok(sp_driver_status(SP_CU_SUCCESS, "cuInit"));
    assert_int_equal(starpool_driver_error(&call), SP_CU_OUT_OF_MEMORY);
    assert_string_equal(call, "cuMemAllocAsync");
}

struct seen {
    int before, after;
    char call_before[32];
};

static void *another_thread(void *arg)
{
    struct seen *seen = arg;
    const char *call;

    seen->before = starpool_driver_error(&call);
    (void)snprintf(seen->call_before, sizeof(seen->call_before), "%s", call);
    if (sp_driver_status(SP_CU_NOT_READY, "cuStreamQuery") == STARPOOL_ENOTREADY)
        seen->after = starpool_driver_error(NULL);
    return NULL;
}

static void the_last_error_is_the_thread_s_own(void **state)
{
    struct seen seen = {.before = -1};
    const char *call;
    pthread_t thread;

    (void)state;
    assert_status(STARPOOL_EINVAL, sp_driver_status(SP_CU_INVALID_VALUE, "cuMemFreeAsync"));
    assert_int_equal(pthread_create(&thread, NULL, another_thread, &seen), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(seen.before, 0);
    assert_string_equal(seen.call_before, "");
    assert_int_equal(seen.after, SP_CU_NOT_READY);
    assert_int_equal(starpool_driver_error(&call), SP_CU_INVALID_VALUE);
    assert_string_equal(call, "cuMemFreeAsync");
}

static void results_have_names(void **state)
{
    (void)state;
    assert_string_equal(sp_driver_result_name(0), "SUCCESS");
    assert_string_equal(sp_driver_result_name(2), "OUT_OF_MEMORY");
    assert_string_equal(sp_driver_result_name(907), "CAPTURED_EVENT");
    assert_string_equal(sp_driver_result_name(998), "unknown");
    assert_string_equal(sp_driver_result_name(-1), "unknown");
}

/* ---- which driver ---------------------------------------------------------------------- */

/* What a process with an option of its own has found. Options are read once a process, and the
 * test's own must not read them. */
struct found {
    enum starpool_status status, again;
    bool is_chosen, is_model;
    enum starpool_status choose_before, choose_after;
    char why_none[200];
    char said[1000]; /* on stderr, what fits */
};

struct wish {
    const char *option; /* STARPOOL_DRIVER; NULL: not set */
    const char *log;    /* STARPOOL_LOG; NULL: not set */
    bool chooses_model;
};

static void ask(const struct wish *wish, struct found *found)
{
    const struct sp_driver *driver = NULL;

    if (wish->option != NULL)
        (void)setenv("STARPOOL_DRIVER", wish->option, 1);
    if (wish->log != NULL)
        (void)setenv("STARPOOL_LOG", wish->log, 1);
    if (wish->chooses_model)
        found->choose_before = sp_driver_choose_model();
    found->status = sp_driver_get(&driver);
    found->is_model = driver != NULL && driver->is_model;
    found->again = sp_driver_get(&driver);
    (void)snprintf(found->why_none, sizeof(found->why_none), "%s", sp_driver_why_none());
    found->is_chosen = sp_driver_is_chosen();
    found->choose_after = sp_driver_choose_model();
}

static void read_all(int file, void *bytes_out, size_t size, bool is_text)
{
    char *bytes = bytes_out;
    size_t n = 0;
    ssize_t got;

    while (n < size && (got = read(file, bytes + n, size - n)) > 0)
        n += (size_t)got;
    if (is_text)
        bytes[n < size ? n : size - 1] = '\0';
    else
        assert_int_equal(n, size);
    assert_int_equal(close(file), 0);
}

static struct found found_with(struct wish wish)
{
    struct found found = {.status = STARPOOL_OK};
    int results[2], errors[2], how;
    pid_t child;

    assert_int_equal(pipe(results), 0);
    assert_int_equal(pipe(errors), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)dup2(errors[1], STDERR_FILENO);
        ask(&wish, &found);
        _exit(write(results[1], &found, sizeof(found)) == (ssize_t)sizeof(found) ? 0 : 1);
    }
    (void)close(results[1]);
    (void)close(errors[1]);
    read_all(results[0], &found, sizeof(found), false);
    read_all(errors[0], found.said, sizeof(found.said), true);
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_int_equal(how, 0);
    return found;
}

static void auto_takes_the_driver_if_it_starts_and_has_a_device(void **state)
{
    struct found found;

    (void)state;
    load_fake("fake_whole");
    fake.results[SP_CALL_cuInit] = fake.results[SP_CALL_cuDeviceGetCount] = 0;
    found = found_with((struct wish){0});
    assert_int_equal(found.status, STARPOOL_OK);
    assert_int_equal(found.again, STARPOOL_OK);
    assert_true(found.is_chosen);
    assert_false(found.is_model);
    assert_int_equal(found.choose_after, STARPOOL_EBUSY);
    assert_string_equal(found.why_none, "");
    assert_string_equal(found.said, "");
}

static void auto_without_a_device_serves_none_and_says_nothing(void **state)
{
    struct found found;

    (void)state;
    load_fake("fake_whole");
    fake.results[SP_CALL_cuInit] = fake.results[SP_CALL_cuDeviceGetCount] = 0;
    *fake.n_devices = 0;
    found = found_with((struct wish){0});
    assert_int_equal(found.status, STARPOOL_ENOTINIT);
    assert_int_equal(found.again, STARPOOL_ENOTINIT);
    assert_false(found.is_chosen);
    assert_string_equal(found.why_none, "the driver has no device");
    assert_string_equal(found.said, "");
}

static void auto_takes_the_model_where_our_own_library_is_the_driver(void **state)
{
    struct found found;

    (void)state;
    load_fake("fake_own");
    *fake.is_model = true;
    found = found_with((struct wish){.log = "info"});
    assert_int_equal(found.status, STARPOOL_OK);
    assert_true(found.is_model);
    assert_true(found.is_chosen);
    assert_string_equal(found.why_none, "");
    assert_non_null(strstr(found.said, "starpool's own, which is the CPU model"));
    assert_ptr_equal(strchr(found.said, '\n'), found.said + strlen(found.said) - 1);
}

static void own_library_with_another_model_serves_nobody(void **state)
{
    struct found found;

    (void)state;
    load_fake("fake_own");
    found = found_with((struct wish){0});
    assert_int_equal(found.status, STARPOOL_ENOTINIT);
    assert_false(found.is_chosen);
    assert_non_null(strstr(found.why_none, "another copy of libstarpool.so"));
}

static void cuda_is_not_our_own_library(void **state)
{
    struct found found;

    (void)state;
    load_fake("fake_own");
    *fake.is_model = true;
    found = found_with((struct wish){.option = "cuda"});
    assert_int_equal(found.status, STARPOOL_ENOTINIT);
    assert_non_null(strstr(found.said, "starpool's own, which is the CPU model"));
    assert_non_null(strstr(found.said, "STARPOOL_DRIVER=model"));
}

static void cuda_that_does_not_start_is_said_once_with_a_remedy(void **state)
{
    struct found found;

    (void)state;
    load_fake("fake_whole");
    fake.results[SP_CALL_cuInit] = SP_CU_NO_DEVICE;
    found = found_with((struct wish){.option = "cuda"});
    assert_int_equal(found.status, STARPOOL_ENOTINIT);
    assert_non_null(strstr(found.said, "100 (NO_DEVICE)"));
    assert_non_null(strstr(found.said, "STARPOOL_DRIVER=model"));
    assert_ptr_equal(strchr(found.said, '\n'), found.said + strlen(found.said) - 1);
}

static void cuda_that_cannot_be_loaded_is_said_with_the_reason(void **state)
{
    struct found found;

    (void)state;
    load_fake("fake_no_init");
    found = found_with((struct wish){.option = "cuda"});
    assert_int_equal(found.status, STARPOOL_ENOTINIT);
    assert_non_null(strstr(found.said, "libcuda.so.1 has no cuInit"));
}

static void none_serves_none_though_there_is_a_driver(void **state)
{
    struct found found;

    (void)state;
    load_fake("fake_whole");
    fake.results[SP_CALL_cuInit] = fake.results[SP_CALL_cuDeviceGetCount] = 0;
    found = found_with((struct wish){.option = "none"});
    assert_int_equal(found.status, STARPOOL_ENOTINIT);
    assert_false(found.is_chosen);
    assert_string_equal(found.why_none, "STARPOOL_DRIVER=none");
    assert_string_equal(found.said, "");
}

static void model_is_taken_where_the_option_says_so(void **state)
{
    struct found found;

    (void)state;
    load_fake("fake_whole");
    found = found_with((struct wish){.option = "model"});
    assert_int_equal(found.status, STARPOOL_OK);
    assert_true(found.is_model);
    assert_true(found.is_chosen);
}

static void model_is_taken_where_the_program_says_so(void **state)
{
    struct found found;

    (void)state;
    load_fake("fake_whole");
    fake.results[SP_CALL_cuInit] = fake.results[SP_CALL_cuDeviceGetCount] = 0;
    found = found_with((struct wish){.option = "cuda", .chooses_model = true});
    assert_int_equal(found.choose_before, STARPOOL_OK);
    assert_int_equal(found.status, STARPOOL_OK);
    assert_true(found.is_model);
    assert_int_equal(found.choose_after, STARPOOL_EBUSY);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_entry_point_is_the_symbol_of_its_row),
        TEST(symbols_of_an_older_abi_are_not_called),
        TEST(entry_points_that_the_driver_lacks_are_listed_and_not_supported),
        TEST(the_driver_is_not_started_by_loading_it),
        TEST(driver_without_what_nothing_works_without_is_refused),
        TEST(starpool_s_own_library_is_no_driver),
        TEST(library_of_any_name_can_be_loaded_into_a_table),
        TEST(without_a_library_the_reason_names_it),
        TEST(every_result_has_its_status_and_keeps_its_number),
        TEST(success_does_not_hide_the_last_error),
        TEST(the_last_error_is_the_thread_s_own),
        TEST(results_have_names),
        TEST(auto_takes_the_driver_if_it_starts_and_has_a_device),
        TEST(auto_without_a_device_serves_none_and_says_nothing),
        TEST(auto_takes_the_model_where_our_own_library_is_the_driver),
        TEST(own_library_with_another_model_serves_nobody),
        TEST(cuda_is_not_our_own_library),
        TEST(cuda_that_does_not_start_is_said_once_with_a_remedy),
        TEST(cuda_that_cannot_be_loaded_is_said_with_the_reason),
        TEST(none_serves_none_though_there_is_a_driver),
        TEST(model_is_taken_where_the_option_says_so),
        TEST(model_is_taken_where_the_program_says_so),
    };

    return cmocka_run_group_tests_name("driver", tests, setup, teardown);
}
