/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Pools of the host's memory that is registered with the driver, piece by piece: what is called
 * when, what is refused or counted, resets and forks. The driver is the CPU model behind a
 * table that counts. */
#include "config.h"

#include "tests/support.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <starpool.h>

#include "src/model/model.h"
#include "src/pool/pool.h"
#include "src/pool/private.h"
#include "tests/capture_fixture.h"
#include "tests/device_case.h"
#include "tests/fixture.h"
#include "tests/script.h"

#define WANTED_FLAGS (SP_CU_HOST_REGISTER_PORTABLE | SP_CU_HOST_REGISTER_DEVICEMAP)

/* What the driver was asked. */
static struct {
    struct sp_driver table;
    unsigned n_registers, n_unregisters;
    unsigned flags; /* of the last registration */
    int device;     /* whose context was current */
    size_t bytes;   /* registered now, as long as all are whole pieces */
    bool is_refusing;
} seen;

static sp_cu_result count_register(void *ptr, size_t size, unsigned flags)
{
    sp_cu_result result = SP_CU_OUT_OF_MEMORY;

    seen.n_registers++;
    seen.flags = flags;
    (void)sp_model_driver()->cuCtxGetDevice(&seen.device);
    if (!seen.is_refusing)
        result = sp_model_driver()->cuMemHostRegister(ptr, size, flags);
    if (result == SP_CU_SUCCESS)
        seen.bytes += size;
    return result;
}

static sp_cu_result count_unregister(void *ptr)
{
    seen.n_unregisters++;
    return sp_model_driver()->cuMemHostUnregister(ptr);
}

static void use_table(void)
{
    seen.table = *sp_model_driver();
    seen.table.cuMemHostRegister = count_register;
    seen.table.cuMemHostUnregister = count_unregister;
    assert_int_equal(seen.table.cuInit(0), SP_CU_SUCCESS);
    sp_driver_use(&seen.table);
}

static struct starpool_pool *pool; /* registered and strict */

static void configure(struct starpool_pool_config *config, enum starpool_placement placement)
{
    starpool_pool_config_init(config);
    config->is_registered = true;
    config->placement = placement;
}

static int setup(void **state)
{
    struct starpool_pool_config config;

    (void)state;
    use_table();
    if (sp_driver_fixture_setup(0, true) != 0)
        return -1;
    seen.n_registers = seen.n_unregisters = 0;
    seen.bytes = 0;
    seen.is_refusing = false;
    configure(&config, STARPOOL_STRICT);
    return starpool_pool_create(&config, &pool) == STARPOOL_OK ? 0 : -1;
}

static int teardown(void **state)
{
    starpool_pool_destroy(pool);
    return sp_driver_fixture_teardown(state);
}

static struct starpool_stats stats(void)
{
    return sp_fixture_stats_of(pool);
}

/* ---- registering ------------------------------------------------------------------------- */

/* Without the fixture: no context is current, and device 1 has one in use. */
static void context_that_is_in_use_is_taken_and_none_made(void **state)
{
    struct starpool_pool_config config;
    sp_cu_context context;

    (void)state;
    use_table();
    assert_ok(sp_driver_get(&on.driver));
    configure(&config, STARPOOL_STRICT);
    assert_ok(starpool_pool_create(&config, &pool));
    assert_false(sp_device_case_is_active(0));
    assert_cu(SUCCESS, on.driver->cuDevicePrimaryCtxRetain(&context, 1));
    sp_fixture_give(sp_fixture_alloc_from(pool, SP_MIB));
    assert_int_equal(seen.device, 1);
    assert_false(sp_device_case_is_active(0));
    assert_int_equal(stats().registered_bytes, stats().reserved_bytes);
    starpool_pool_destroy(pool);
    assert_cu(SUCCESS, on.driver->cuDevicePrimaryCtxRelease(1));
}

static void memory_is_registered_whole_for_all_contexts(void **state)
{
    char *block = sp_fixture_alloc_from(pool, 100000);
    sp_cu_ptr on_device = 0;

    (void)state;
    assert_int_equal(seen.n_registers, 1);
    assert_int_equal(seen.flags, WANTED_FLAGS);
    assert_int_equal(seen.bytes, stats().reserved_bytes);
    assert_int_equal(stats().registered_bytes, stats().reserved_bytes);
    assert_int_equal(stats().unregistered_bytes, 0);
    assert_cu(SUCCESS, on.driver->cuMemHostGetDevicePointer(&on_device, block + 50000, 0));
    memset(block, 0x5a, 100000); /* It is the host's memory as any other. */
    sp_fixture_give(block);
}

static void recycled_blocks_cost_no_call(void **state)
{
    void *small = sp_fixture_alloc_from(pool, 1000);
    void *large = sp_fixture_alloc_from(pool, 1500000);
    unsigned n_registers = seen.n_registers;

    (void)state;
    for (int i = 0; i < 1000; i++) {
        sp_fixture_give(small);
        sp_fixture_give(large);
        small = sp_fixture_alloc_from(pool, 1000);
        large = sp_fixture_alloc_from(pool, 1500000);
    }
    assert_int_equal(seen.n_registers, n_registers);
    assert_int_equal(seen.n_unregisters, 0);
    sp_fixture_give(small);
    sp_fixture_give(large);
}

static void memory_is_let_go_before_it_goes(void **state)
{
    void *block = sp_fixture_alloc_from(pool, 8 * SP_MIB);
    sp_cu_ptr on_device = 0;

    (void)state;
    sp_fixture_give(block);
    assert_ok(starpool_pool_trim(pool, 0));
    assert_int_equal(stats().reserved_bytes, 0);
    assert_int_equal(stats().registered_bytes, 0);
    assert_int_equal(seen.n_unregisters, seen.n_registers);
    assert_cu(INVALID_VALUE, on.driver->cuMemHostGetDevicePointer(&on_device, block, 0));
    block = sp_fixture_alloc_from(pool, 8 * SP_MIB); /* At the same addresses, perhaps. */
    assert_int_equal(stats().registered_bytes, stats().reserved_bytes);
    sp_fixture_give(block);
}

static void nodes_of_the_machine_are_registered_alike(void **state)
{
    struct starpool_pool_config config;
    struct starpool_pool *node;

    (void)state;
    configure(&config, STARPOOL_STRICT);
    config.location = (struct starpool_location){STARPOOL_HOST_NUMA, STARPOOL_ID_NEAREST};
    config.initial = 4 * SP_MIB;
    assert_ok(starpool_pool_create(&config, &node));
    assert_int_equal(sp_fixture_stats_of(node).registered_bytes, 4 * SP_MIB);
    starpool_pool_destroy(node);
    assert_int_equal(seen.n_unregisters, 1);
}

/* ---- what is refused --------------------------------------------------------------------- */

static void strict_pool_refuses_what_the_driver_does(void **state)
{
    const char *text, *call = "";
    void *ptr = pool;
    enum starpool_status status;

    (void)state;
    seen.is_refusing = true;
    sp_script_stderr_begin();
    status = starpool_alloc(pool, SP_MIB, STARPOOL_STREAM_HOST, &ptr);
    text = sp_script_stderr_end();
    assert_status(STARPOOL_ENOMEM, status);
    assert_ptr_equal(ptr, pool);
    assert_int_equal(starpool_driver_error(&call), SP_CU_OUT_OF_MEMORY);
    assert_string_equal(call, "cuMemHostRegister");
    assert_non_null(strstr(text, "let the pool spill"));
    assert_int_equal(stats().reserved_bytes, 0);
    assert_int_equal(stats().unregistered_bytes, 0);
    seen.is_refusing = false;
    sp_fixture_give(sp_fixture_alloc_from(pool, SP_MIB));
}

static void pool_that_spills_serves_it_and_counts(void **state)
{
    struct starpool_pool_config config;
    struct starpool_pool *spilling;
    char *first, *second;

    (void)state;
    configure(&config, STARPOOL_SPILL);
    assert_ok(starpool_pool_create(&config, &spilling));
    seen.is_refusing = true;
    first = sp_fixture_alloc_from(spilling, 2 * SP_MIB);
    memset(first, 1, 2 * SP_MIB);
    assert_int_equal(sp_fixture_stats_of(spilling).registered_bytes, 0);
    assert_int_equal(sp_fixture_stats_of(spilling).unregistered_bytes, 2 * SP_MIB);
    seen.is_refusing = false;
    second = sp_fixture_alloc_from(spilling, 4 * SP_MIB);
    assert_int_equal(sp_fixture_stats_of(spilling).registered_bytes, 4 * SP_MIB);
    assert_int_equal(sp_fixture_stats_of(spilling).unregistered_bytes, 2 * SP_MIB);
    sp_fixture_give(first);
    sp_fixture_give(second);
    starpool_pool_destroy(spilling);
    assert_int_equal(seen.n_unregisters, 1); /* What was not registered is not let go. */
}

static void configuration_that_makes_no_sense_is_refused(void **state)
{
    struct starpool_pool_config config;
    struct starpool_pool *none = pool;

    (void)state;
    configure(&config, STARPOOL_STRICT);
    config.backend = STARPOOL_BACKEND_DRIVER;
    assert_status(STARPOOL_EINVAL, starpool_pool_create(&config, &none));
    configure(&config, STARPOOL_STRICT);
    config.memory = STARPOOL_MANAGED;
    assert_status(STARPOOL_EINVAL, starpool_pool_create(&config, &none));
    configure(&config, STARPOOL_STRICT);
    config.location = (struct starpool_location){STARPOOL_DEVICE, 0};
    assert_status(STARPOOL_EINVAL, starpool_pool_create(&config, &none));
    assert_ptr_equal(none, pool);
}

/* The program again, without a driver. */
static int run_without_driver(void)
{
    struct starpool_pool_config config;
    struct starpool_pool *none = NULL;

    configure(&config, STARPOOL_SPILL);
    return starpool_pool_create(&config, &none) == STARPOOL_ENOTINIT && none == NULL ? 0 : 1;
}

static void without_a_driver_nothing_is_registered(void **state)
{
    (void)state;
    assert_int_equal(sp_device_case_again("STARPOOL_DRIVER", "none", "none"), 0);
}

/* ---- captures, resets, forks ------------------------------------------------------------- */

static void growth_leaves_captures_whole(void **state)
{
    void *block;

    (void)state;
    sp_capture_begin(on.a); /* globally */
    block = sp_fixture_alloc_from(pool, SP_MIB);
    sp_fixture_give(block);
    assert_ok(starpool_pool_trim(pool, 0));
    assert_cu(SUCCESS, on.driver->cuGraphDestroy(sp_capture_end(on.a)));
    assert_int_equal(seen.n_registers, 1);
    assert_int_equal(seen.n_unregisters, 1);
}

static void registrations_are_renewed_after_a_reset(void **state)
{
    char *block = sp_fixture_alloc_from(pool, SP_MIB);
    sp_cu_ptr on_device = 0;

    (void)state;
    memset(block, 7, SP_MIB);
    assert_cu(SUCCESS, on.driver->cuDevicePrimaryCtxReset(0));
    assert_cu(INVALID_VALUE, on.driver->cuMemHostGetDevicePointer(&on_device, block, 0));
    sp_pool_forget_device(1);
    assert_int_equal(seen.n_registers, 1); /* None of them was device 1's. */
    sp_pool_forget_device(0);
    assert_int_equal(seen.n_registers, 2);
    assert_cu(SUCCESS, on.driver->cuMemHostGetDevicePointer(&on_device, block, 0));
    assert_int_equal(stats().registered_bytes, stats().reserved_bytes);
    sp_pool_forget_device(0); /* That it is registered is as well. */
    assert_int_equal(stats().registered_bytes, stats().reserved_bytes);
    assert_int_equal(block[SP_MIB - 1], 7); /* The host's memory has stayed. */
    assert_int_equal(stats().n_lost_blocks, 0);
    sp_fixture_give(block);
    assert_cu(SUCCESS, on.driver->cuStreamCreate(&on.a, SP_CU_STREAM_NON_BLOCKING));
    assert_cu(SUCCESS, on.driver->cuStreamCreate(&on.b, SP_CU_STREAM_NON_BLOCKING));
}

static void renewal_that_is_refused_is_counted(void **state)
{
    char *block = sp_fixture_alloc_from(pool, SP_MIB);

    (void)state;
    assert_cu(SUCCESS, on.driver->cuDevicePrimaryCtxReset(0));
    seen.is_refusing = true;
    sp_pool_forget_device(0);
    assert_int_equal(stats().registered_bytes, 0);
    assert_int_equal(stats().unregistered_bytes, stats().reserved_bytes);
    sp_fixture_give(block);
    assert_ok(starpool_pool_trim(pool, 0));
    assert_int_equal(seen.n_unregisters, 0);
    assert_int_equal(stats().unregistered_bytes, 0);
    assert_cu(SUCCESS, on.driver->cuStreamCreate(&on.a, SP_CU_STREAM_NON_BLOCKING));
    assert_cu(SUCCESS, on.driver->cuStreamCreate(&on.b, SP_CU_STREAM_NON_BLOCKING));
}

static int in_child(void *block)
{
    unsigned n_registers = seen.n_registers;
    void *ptr = NULL;

    if (starpool_free(block, STARPOOL_STREAM_HOST) != STARPOOL_OK ||
        starpool_pool_trim(pool, 0) != STARPOOL_OK)
        return 1;
    if (starpool_alloc(pool, SP_MIB, STARPOOL_STREAM_HOST, &ptr) != STARPOOL_ENOTINIT)
        return 2;
    return seen.n_unregisters == 0 && seen.n_registers == n_registers ? 0 : 3;
}

static void forked_child_lets_the_driver_be(void **state)
{
    void *block = sp_fixture_alloc_from(pool, SP_MIB);
    int status = 0;
    pid_t child = fork();

    (void)state;
    if (child == 0)
        _exit(in_child(block));
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(stats().registered_bytes, stats().reserved_bytes);
    sp_fixture_give(block);
}

/* ---- random operations ------------------------------------------------------------------- */

static void random_operations_agree_with_what_the_driver_has(void **state)
{
    uint64_t random = sp_test_seed();
    char *blocks[32] = {NULL};

    (void)state;
    for (size_t n = 0; n < sp_test_scaled(1500); n++) {
        size_t i = sp_test_random_below(&random, SP_ARRAY_SIZE(blocks));
        sp_cu_ptr on_device = 0;

        if (blocks[i] != NULL) {
            assert_cu(SUCCESS, on.driver->cuMemHostGetDevicePointer(&on_device, blocks[i], 0));
            sp_fixture_give(blocks[i]);
            blocks[i] = NULL;
        } else {
            blocks[i] = sp_fixture_alloc_from(pool, 1 + sp_test_random_below(&random, SP_MIB));
        }
        if (sp_test_random_below(&random, 50) == 0)
            assert_ok(starpool_pool_trim(pool, sp_test_random_below(&random, 16 * SP_MIB)));
        assert_int_equal(stats().registered_bytes, stats().reserved_bytes);
        assert_int_equal(seen.n_registers - seen.n_unregisters, stats().n_segments);
    }
    for (size_t i = 0; i < SP_ARRAY_SIZE(blocks); i++) {
        if (blocks[i] != NULL)
            sp_fixture_give(blocks[i]);
    }
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(context_that_is_in_use_is_taken_and_none_made),
    CASE(memory_is_registered_whole_for_all_contexts),
    CASE(recycled_blocks_cost_no_call),
    CASE(memory_is_let_go_before_it_goes),
    CASE(nodes_of_the_machine_are_registered_alike),
    CASE(strict_pool_refuses_what_the_driver_does),
    CASE(pool_that_spills_serves_it_and_counts),
    CASE(configuration_that_makes_no_sense_is_refused),
    CASE(growth_leaves_captures_whole),
    CASE(registrations_are_renewed_after_a_reset),
    CASE(renewal_that_is_refused_is_counted),
    CASE(forked_child_lets_the_driver_be),
    CASE(random_operations_agree_with_what_the_driver_has),
    cmocka_unit_test(without_a_driver_nothing_is_registered),
    cmocka_unit_test(every_case_holds_where_streams_run_inside_calls),
};

int main(int argc, char **argv)
{
    if (!sp_device_case_init())
        return 99;
    if (argc > 1 && strcmp(argv[1], "none") == 0)
        return run_without_driver();
    return cmocka_run_group_tests_name("registered", tests, NULL, NULL);
}
