/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The harness of the conformance suite: the list of the groups, what is done before and after a
 * case, and the program's main(). */
#include "config.h"

#include "tests/conformance_private.h"

#include <fnmatch.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/model/model.h"

static const struct sp_case_group *const groups[] = {
    &sp_cases_pool,       &sp_cases_def,     &sp_cases_attr,   &sp_cases_order,
    &sp_cases_trim,       &sp_cases_destroy, &sp_cases_access, &sp_cases_ipc,
    &sp_cases_inter,      &sp_cases_cap,     &sp_cases_gnode,  &sp_cases_gnode_limits,
    &sp_cases_gnode_life, &sp_cases_gmem,    &sp_cases_pit,    &sp_cases_pit_memory,
    &sp_cases_gobj,
};
#define N_GROUPS (sizeof(groups) / sizeof(groups[0]))

struct sp_harness sp_harness;
const struct sp_driver *cu;

/* ---- the driver ------------------------------------------------------------------------ */

struct starpool_model_config sp_case_config(void)
{
    struct starpool_model_config config;

    config.struct_size = sizeof(config);
    starpool_model_config_init(&config);
    config.n_devices = SP_CASE_MAX_DEVICES;
    config.device_memory = (uint64_t)1 << 30;
    config.peers = UINT64_MAX;
    config.exec =
        sp_harness.mode == SP_CONFORM_INLINE ? STARPOOL_MODEL_INLINE : STARPOOL_MODEL_THREADS;
    return config;
}

void sp_harness_shape(const struct starpool_model_config *config)
{
    sp_model_reset();
    sp_driver_reset();
    if (starpool_model_configure(config) != STARPOOL_OK) {
        fprintf(stderr, "the model cannot be shaped\n");
        abort();
    }
    cu = sp_harness.library.handle != NULL ? &sp_harness.library.table : sp_model_driver();
}

/* The model's table as programs see it that load the library. */
static bool load_simulated(const char **reason_out)
{
    const char *builddir = getenv("builddir");
    char path[4096];

    if (sp_harness.library.handle != NULL)
        return true;
    if (sp_harness.load != NULL)
        return sp_harness.load(&sp_harness.library, reason_out);
    (void)snprintf(path, sizeof(path), "%s/sim/cuda-13/libcuda.so.1",
                   builddir != NULL ? builddir : ".");
    *reason_out = sp_harness.library.error;
    return sp_driver_load(path, &sp_harness.library) == STARPOOL_OK;
}

/* The file that stands in for the driver where that is tried out; it is treated as a real one,
 * whose switches are not to be set. */
static bool load_named(const char *file, const char **reason_out)
{
    struct sp_driver_library *library = &sp_harness.library;

    if (library->handle == NULL && sp_driver_load(file, library) != STARPOOL_OK) {
        *reason_out = library->error;
        return false;
    }
    library->table.is_model = false;
    cu = &library->table;
    return true;
}

bool sp_harness_load_cuda(const char **reason_out)
{
    const char *file = getenv("STARPOOL_TEST_LIBCUDA");

    if (file != NULL && *file != '\0')
        return load_named(file, reason_out);
    *reason_out = "";
    if (sp_driver_cuda(&cu) == STARPOOL_OK)
        return true;
    *reason_out = sp_driver_cuda_error();
    return false;
}

const struct sp_driver_call *sp_harness_calls(void)
{
    return sp_harness.library.handle != NULL ? sp_harness.library.calls
                                             : sp_driver_cuda_calls();
}

static bool choose_cuda(const char **reason_out)
{
    int n_devices = 0;

    if (!sp_harness_load_cuda(reason_out))
        return false;
    if (cu->cuInit(0) != SP_CU_SUCCESS || cu->cuDeviceGetCount(&n_devices) != SP_CU_SUCCESS ||
        n_devices == 0) {
        *reason_out = "the driver does not start or has no device";
        return false;
    }
    return true;
}

bool sp_harness_choose_table(const char **reason_out)
{
    struct starpool_model_config config;

    if (sp_harness.mode == SP_CONFORM_CUDA)
        return choose_cuda(reason_out);
    if (sp_harness.mode == SP_CONFORM_SIM_CUDA && !load_simulated(reason_out))
        return false;
    config = sp_case_config();
    sp_harness_shape(&config);
    return true;
}

/* ---- before a case --------------------------------------------------------------------- */

static void make_flags(void)
{
    void *memory;

    assert_success(cu->cuMemHostAlloc(&memory, SP_CASE_MAX_STALLS * sizeof(*sp_harness.flags),
                                      SP_CU_HOST_ALLOC_PORTABLE | SP_CU_HOST_ALLOC_DEVICEMAP));
    memset(memory, 0, SP_CASE_MAX_STALLS * sizeof(*sp_harness.flags));
    sp_harness.flags = memory;
    sp_harness.n_stalls = 0;
}

static void note_what_is_there(void)
{
    for (int device = 0; device < sp_harness.n_used; device++) {
        sp_case_device(device);
        assert_success(cu->cuCtxSynchronize());
        sp_harness.free_before[device] = sp_case_device_free();
        sp_harness.used_before[device] = sp_case_used(sp_case_default_pool(device));
    }
    sp_harness.violations_before = cu->is_model ? starpool_model_violations(NULL) : 0;
    sp_harness.n_violations_expected = 0;
    sp_case_device(0);
}

void sp_case_start(void)
{
    assert_success(cu->cuInit(0));
    assert_success(cu->cuDeviceGetCount(&sp_harness.n_devices));
    assert_true(sp_harness.n_devices >= 1);
    sp_harness.is_started = true;
    sp_harness.n_used = 0;
    while (sp_harness.n_used < sp_harness.n_devices &&
           sp_harness.n_used < SP_CASE_MAX_DEVICES) {
        assert_success(cu->cuDevicePrimaryCtxRetain(&sp_harness.contexts[sp_harness.n_used],
                                                    sp_harness.n_used));
        sp_harness.n_used++;
    }
    sp_case_device(0);
    make_flags();
    note_what_is_there();
}

static void need_attribute(int attribute, const char *what)
{
    int value = 0;

    if (cu->cuDeviceGetAttribute(&value, attribute, 0) != SP_CU_SUCCESS || value == 0)
        sp_case_skip("device 0 has no %s", what);
}

static void need_peers(void)
{
    int can = 0;

    assert_success(cu->cuDeviceCanAccessPeer(&can, 0, 1));
    if (!can)
        sp_case_skip("devices 0 and 1 cannot be peers");
}

/* Before anything is started: a case about what is undefined must not begin on a real driver.
 */
static void skip_by_kind(unsigned tags)
{
    const char *slow = getenv("STARPOOL_TEST_SLOW");

    if (sp_harness.mode != SP_CONFORM_CUDA)
        return;
    if (tags & SP_TAG_UB)
        sp_case_skip("undefined behaviour, never on a real driver");
    if (tags & SP_TAG_MODEL)
        sp_case_skip("about the model only");
    if ((tags & SP_TAG_SLOW) && (slow == NULL || strcmp(slow, "1") != 0))
        sp_case_skip("takes most of the device (STARPOOL_TEST_SLOW=1 runs it)");
}

static void skip_by_device(unsigned tags)
{
    if ((tags & (SP_TAG_GPU2 | SP_TAG_P2P)) && sp_harness.n_used < 2)
        sp_case_skip("there is one device");
    if (tags & SP_TAG_P2P)
        need_peers();
    if (tags & SP_TAG_HOST) {
        need_attribute(SP_CU_DEVICE_HOST_MEMORY_POOLS_SUPPORTED, "HOST pools");
        need_attribute(SP_CU_DEVICE_HOST_NUMA_MEMORY_POOLS_SUPPORTED, "HOST_NUMA pools");
    }
    if (tags & SP_TAG_MNG)
        need_attribute(SP_CU_DEVICE_CONCURRENT_MANAGED_ACCESS, "concurrent managed access");
}

/* ---- after a case ---------------------------------------------------------------------- */

static void destroy_things(void)
{
    for (size_t i = 0; i < sp_harness.n_pools; i++) {
        if (sp_case_used(sp_harness.pools[i]) != 0)
            fail_msg("the case leaves memory of its pool %zu in use", i);
        assert_success(cu->cuMemPoolDestroy(sp_harness.pools[i]));
    }
    for (size_t i = 0; i < sp_harness.n_events; i++)
        assert_success(cu->cuEventDestroy(sp_harness.events[i]));
    for (size_t i = 0; i < sp_harness.n_streams; i++)
        assert_success(cu->cuStreamDestroy(sp_harness.streams[i]));
    sp_harness.n_pools = sp_harness.n_events = sp_harness.n_streams = 0;
}

/* A real device's free memory is also other processes'. */
static void check_device(int device)
{
    sp_cu_pool pool;

    sp_case_device(device);
    assert_success(cu->cuCtxSynchronize());
    assert_success(cu->cuDeviceGetMemPool(&pool, device));
    assert_ptr_equal(pool, sp_case_default_pool(device));
    assert_int_equal(sp_case_used(pool), sp_harness.used_before[device]);
    if (cu->is_model)
        assert_int_equal(sp_case_device_free(), sp_harness.free_before[device]);
}

static void check_violations(void)
{
    const char *first = "";
    uint64_t n;

    if (!cu->is_model)
        return;
    n = starpool_model_violations(&first) - sp_harness.violations_before;
    if (n != sp_harness.n_violations_expected)
        fail_msg("%llu violations, not %llu; the first: %s", (unsigned long long)n,
                 (unsigned long long)sp_harness.n_violations_expected, first);
}

void sp_harness_check_end(void)
{
    sp_case_release_all();
    for (int device = 0; device < sp_harness.n_used; device++) {
        sp_case_device(device);
        assert_success(cu->cuCtxSynchronize());
    }
    check_violations();
    destroy_things();
    for (int device = 0; device < sp_harness.n_used; device++)
        check_device(device);
    sp_case_device(0);
}

/* What a failed case has left on a real driver: as much of it as the driver still takes back.
 */
static void let_go(void)
{
    int mode = SP_CU_CAPTURE_MODE_GLOBAL;

    (void)cu->cuThreadExchangeStreamCaptureMode(&mode);
    for (int device = 0; device < sp_harness.n_used; device++) {
        (void)cu->cuCtxSetCurrent(sp_harness.contexts[device]);
        (void)cu->cuCtxSynchronize();
    }
    (void)cu->cuCtxSetCurrent(sp_harness.contexts[0]);
    for (size_t i = 0; i < sp_harness.n_pools; i++)
        (void)cu->cuMemPoolDestroy(sp_harness.pools[i]);
    for (size_t i = 0; i < sp_harness.n_events; i++)
        (void)cu->cuEventDestroy(sp_harness.events[i]);
    for (size_t i = 0; i < sp_harness.n_streams; i++)
        (void)cu->cuStreamDestroy(sp_harness.streams[i]);
    if (sp_harness.flags != NULL)
        (void)cu->cuMemFreeHost((void *)sp_harness.flags);
    for (int device = 0; device < sp_harness.n_used; device++)
        (void)cu->cuDevicePrimaryCtxRelease(device);
}

void sp_harness_clean(void)
{
    sp_harness_kill_children();
    sp_case_release_all();
    if (sp_harness.is_started)
        let_go();
    sp_harness.n_pools = sp_harness.n_events = sp_harness.n_streams = 0;
    sp_harness.flags = NULL;
    sp_harness.n_used = 0;
    sp_harness.is_started = false;
    if (sp_harness.mode != SP_CONFORM_CUDA)
        sp_model_reset();
}

/* ---- main ------------------------------------------------------------------------------ */

static void run_case(void **state)
{
    const char *reason = "";

    /* cmocka goes on after a crash; the model's lock may be held then, and nothing would end.
     */
    (void)signal(SIGSEGV, SIG_DFL);
    (void)signal(SIGBUS, SIG_DFL);
    sp_harness.current = *state;
    skip_by_kind(sp_harness.current->tags);
    if (!sp_harness_choose_table(&reason))
        fail_msg("%s", reason);
    sp_case_start();
    skip_by_device(sp_harness.current->tags);
    sp_harness.current->run();
    sp_harness_check_end();
}

static int clean_up(void **state)
{
    (void)state;
    sp_harness_clean();
    return 0;
}

const struct sp_case *sp_harness_find(const char *name)
{
    for (size_t i = 0; i < N_GROUPS; i++) {
        for (size_t j = 0; j < groups[i]->n_cases; j++) {
            if (strcmp(groups[i]->cases[j].name, name) == 0)
                return &groups[i]->cases[j];
        }
    }
    return NULL;
}

static bool is_wanted(const char *name, int n_patterns, char **patterns)
{
    if (sp_harness.is_omitted != NULL && sp_harness.is_omitted(name))
        return false;
    for (int i = 0; i < n_patterns; i++) {
        if (fnmatch(patterns[i], name, 0) == 0)
            return true;
    }
    return n_patterns == 0;
}

static int run_cases(int n_patterns, char **patterns)
{
    struct CMUnitTest *tests;
    size_t n_tests = 0;
    int n_failed;

    for (size_t i = 0; i < N_GROUPS; i++)
        n_tests += groups[i]->n_cases;
    tests = calloc(n_tests, sizeof(*tests));
    if (tests == NULL)
        return 99;
    n_tests = 0;
    for (size_t i = 0; i < N_GROUPS; i++) {
        for (size_t j = 0; j < groups[i]->n_cases; j++) {
            const struct sp_case *it = &groups[i]->cases[j];

            if (is_wanted(it->name, n_patterns, patterns))
                tests[n_tests++] = (struct CMUnitTest){
                    it->name, run_case, NULL, clean_up, (void *)(uintptr_t)it,
                };
        }
    }
    n_failed = _cmocka_run_group_tests("conformance", tests, n_tests, NULL, NULL);
    free(tests);
    return n_failed;
}

static void list_cases(void)
{
    for (size_t i = 0; i < N_GROUPS; i++) {
        for (size_t j = 0; j < groups[i]->n_cases; j++)
            printf("%s\n", groups[i]->cases[j].name);
    }
}

/* What is under test, for people. */
static void describe(void)
{
    int version = 0;
    int n_devices = 0;

    (void)cu->cuDriverGetVersion(&version);
    (void)cu->cuInit(0);
    (void)cu->cuDeviceGetCount(&n_devices);
    printf("driver %s, CUDA %d.%d\n", cu->name, version / 1000, version % 1000 / 10);
    for (int device = 0; device < n_devices; device++) {
        char name[128] = "";
        size_t bytes = 0;

        (void)cu->cuDeviceGetName(name, sizeof(name), device);
        (void)cu->cuDeviceTotalMem(&bytes, device);
        printf("device %d %s, %zu MiB\n", device, name, bytes >> 20);
    }
    for (int call = 0; sp_harness.mode == SP_CONFORM_CUDA && call < SP_N_CALLS; call++) {
        if (sp_harness_calls()[call].is_absent)
            printf("absent %s\n", sp_harness_calls()[call].symbol);
    }
}

int sp_conformance_main(enum sp_conformance_mode mode, int argc, char **argv)
{
    const char *reason = "";

    sp_harness.mode = mode;
    /* What has been said before a case that ends the program is not lost. */
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    /* On the model the checker follows every case: what it finds is one violation more. */
    if (setenv("STARPOOL_CHECKS", "2", 1) != 0)
        return 99;
    if (argc == 5 && strcmp(argv[1], "--child") == 0)
        return sp_harness_child_main(argv[2], argv[3], (int)strtol(argv[4], NULL, 10));
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        list_cases();
        return 0;
    }
    if (!sp_harness_choose_table(&reason)) {
        printf("# %s\n", reason);
        return 77;
    }
    if (argc == 2 && strcmp(argv[1], "--describe") == 0) {
        describe();
        return 0;
    }
    return run_cases(argc - 1, argv + 1);
}
