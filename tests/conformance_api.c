/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The MODEL rules of the specification, on the public API: what the CPU-only pool does without
 * a driver, and what pools of the driver answer. The latter run on the CPU model. */
#include "config.h"

#include "tests/support.h"

#include <stdlib.h>
#include <string.h>

#include <starpool.h>

#include "src/driver/driver.h"
#include "src/util/util.h"

static const struct starpool_location device0 = {STARPOOL_DEVICE, 0};

static struct {
    struct starpool_pool *pool;
    starpool_stream a, b;
} cpu;

static struct starpool_pool_config cpu_config(void)
{
    struct starpool_pool_config config;

    starpool_pool_config_init(&config);
    config.location = device0;
    config.backend = STARPOOL_BACKEND_CPU;
    return config;
}

static int setup_with(const char *driver)
{
    struct starpool_pool_config config = cpu_config();

    sp_driver_reset();
    if (strcmp(driver, "model") == 0 && sp_driver_choose_model() != STARPOOL_OK)
        return -1;
    if (starpool_pool_create(&config, &cpu.pool) != STARPOOL_OK ||
        starpool_stream_create(device0, &cpu.a) != STARPOOL_OK ||
        starpool_stream_create(device0, &cpu.b) != STARPOOL_OK)
        return -1;
    return 0;
}

static int setup(void **state)
{
    (void)state;
    return setup_with("none");
}

static int setup_model(void **state)
{
    (void)state;
    return setup_with("model");
}

static int teardown(void **state)
{
    (void)state;
    starpool_stream_destroy(cpu.a);
    starpool_stream_destroy(cpu.b);
    starpool_pool_destroy(cpu.pool);
    return 0;
}

static void *alloc_on(starpool_stream stream, size_t size)
{
    void *ptr = NULL;

    assert_ok(starpool_alloc(cpu.pool, size, stream, &ptr));
    return ptr;
}

static uint64_t record(starpool_stream stream)
{
    uint64_t point = 0;

    assert_ok(starpool_stream_record(stream, &point));
    return point;
}

static struct starpool_stats stats(void)
{
    struct starpool_stats stats = {.struct_size = sizeof(stats)};

    assert_ok(starpool_pool_stats(cpu.pool, &stats));
    return stats;
}

/* ---- making pools ------------------------------------------------------------------------ */

static void assert_creation(enum starpool_status expected,
                            const struct starpool_pool_config *config)
{
    struct starpool_pool *pool = cpu.pool;

    assert_status(expected, starpool_pool_create(config, &pool));
    if (expected == STARPOOL_OK)
        starpool_pool_destroy(pool);
    else
        assert_ptr_equal(pool, cpu.pool);
}

static void model_01_cpu_pool_needs_no_driver_but_a_valid_configuration(void **state)
{
    struct starpool_pool_config config = cpu_config();

    (void)state;
    config.location.id = 7;
    assert_creation(STARPOOL_OK, &config);
    config.location.id = -1;
    assert_creation(STARPOOL_EINVAL, &config);
    config = cpu_config();
    config.initial = 2 * SP_MIB;
    assert_creation(STARPOOL_OK, &config);
    config.maximum = 2 * SP_MIB;
    assert_creation(STARPOOL_OK, &config);
    config.maximum--;
    assert_creation(STARPOOL_EINVAL, &config);
    config.initial = 0;
    config.release_threshold = config.maximum;
    assert_creation(STARPOOL_OK, &config);
    config.release_threshold++;
    assert_creation(STARPOOL_EINVAL, &config);
    config.maximum = 0;
    assert_creation(STARPOOL_OK, &config);
}

static void model_02_pool_of_a_driver_that_is_not_there_is_refused_whole(void **state)
{
    struct starpool_pool_config config;
    struct starpool_pool *pool = cpu.pool;

    (void)state;
    starpool_pool_config_init(&config);
    config.location = device0;
    assert_creation(STARPOOL_ENOTINIT, &config);
    config.backend = STARPOOL_BACKEND_DRIVER;
    assert_creation(STARPOOL_ENOTINIT, &config);
    assert_status(STARPOOL_ENOTINIT, starpool_pool_default(device0, STARPOOL_PINNED, &pool));
    assert_status(STARPOOL_ENOTINIT, starpool_pool_current(device0, STARPOOL_PINNED, &pool));
    assert_ptr_equal(pool, cpu.pool);
}

static void model_03_negative_device_is_refused_before_any_driver_is_asked(void **state)
{
    static const struct starpool_location negative = {STARPOOL_DEVICE, -1};
    struct starpool_pool *pool = cpu.pool;

    (void)state;
    assert_status(STARPOOL_EINVAL, starpool_pool_default(negative, STARPOOL_PINNED, &pool));
    assert_false(sp_driver_is_chosen());
    assert_ptr_equal(pool, cpu.pool);
}

static void model_03_default_pool_outlives_what_stands_for_it(void **state)
{
    struct starpool_location location = device0;
    struct starpool_pool *pool = NULL, *again = NULL;
    void *ptr = NULL;

    (void)state;
    location.id = 16;
    assert_status(STARPOOL_EDEVICE, starpool_pool_default(location, STARPOOL_PINNED, &pool));
    assert_ok(starpool_pool_default(device0, STARPOOL_PINNED, &pool));
    starpool_pool_destroy(pool);
    assert_ok(starpool_pool_default(device0, STARPOOL_PINNED, &again));
    assert_ok(starpool_alloc(again, 1000, STARPOOL_STREAM_HOST, &ptr));
    assert_ok(starpool_free(ptr, STARPOOL_STREAM_HOST));
}

/* ---- blocks ------------------------------------------------------------------------------ */

static void model_04_size_0_is_refused(void **state)
{
    void *ptr = &cpu;

    (void)state;
    assert_status(STARPOOL_EINVAL, starpool_alloc(cpu.pool, 0, cpu.a, &ptr));
    assert_status(STARPOOL_EINVAL, starpool_alloc(cpu.pool, 0, STARPOOL_STREAM_HOST, &ptr));
    assert_ptr_equal(ptr, &cpu);
}

static void model_05_what_would_pass_the_maximum_is_refused_and_nothing_changes(void **state)
{
    struct starpool_stats before;
    void *block = alloc_on(cpu.a, SP_MIB), *ptr = &cpu;

    (void)state;
    assert_ok(starpool_pool_set_attribute(cpu.pool, STARPOOL_ATTR_MAXIMUM, 2 * SP_MIB));
    assert_ok(starpool_stream_synchronize(cpu.a));
    before = stats();
    assert_status(STARPOOL_ENOMEM, starpool_alloc(cpu.pool, SP_MIB + 1, cpu.a, &ptr));
    assert_ptr_equal(ptr, &cpu);
    assert_int_equal(stats().used_bytes, before.used_bytes);
    assert_int_equal(stats().reserved_bytes, before.reserved_bytes);
    assert_int_equal(stats().n_allocs, before.n_allocs);
    assert_ok(starpool_stream_query(cpu.a));
    ptr = alloc_on(cpu.a, SP_MIB);
    assert_ok(starpool_free(ptr, cpu.a));
    assert_ok(starpool_free(block, cpu.a));
}

static void model_06_block_that_is_not_live_cannot_be_freed(void **state)
{
    void *block = alloc_on(cpu.a, 1000);
    int foreign = 0;

    (void)state;
    assert_ok(starpool_free(block, cpu.a));
    assert_status(STARPOOL_EINVAL, starpool_free(block, cpu.a));
    assert_status(STARPOOL_EINVAL, starpool_free(block, STARPOOL_STREAM_HOST));
    assert_status(STARPOOL_EINVAL, starpool_free(&foreign, cpu.a));
    assert_int_equal(stats().n_frees, 1);
}

static void model_06_block_of_the_driver_is_freed_once(void **state)
{
    struct starpool_pool *pool = NULL;
    void *ptr = NULL;

    (void)state;
    assert_ok(starpool_pool_default(device0, STARPOOL_PINNED, &pool));
    assert_ok(starpool_alloc(pool, 1000, STARPOOL_STREAM_HOST, &ptr));
    assert_ok(starpool_free(ptr, STARPOOL_STREAM_HOST));
    assert_status(STARPOOL_EINVAL, starpool_free(ptr, STARPOOL_STREAM_HOST));
}

/* ---- order ------------------------------------------------------------------------------- */

static void model_07_block_is_ready_when_its_stream_has_executed_past_it(void **state)
{
    void *first = alloc_on(cpu.a, 1000), *second;

    (void)state;
    assert_false(starpool_is_ready(first));
    assert_ok(starpool_stream_synchronize(cpu.b));
    assert_false(starpool_is_ready(first));
    assert_ok(starpool_stream_synchronize(cpu.a));
    second = alloc_on(cpu.a, 1000);
    assert_true(starpool_is_ready(first));
    assert_false(starpool_is_ready(second));
    assert_ok(starpool_free(first, cpu.a));
    assert_false(starpool_is_ready(first));
    assert_ok(starpool_free(second, cpu.a));
}

static void model_08_block_is_ready_on_what_comes_after_its_allocation(void **state)
{
    uint64_t before = record(cpu.a), after;
    void *block = alloc_on(cpu.a, 1000);

    (void)state;
    after = record(cpu.a);
    assert_true(starpool_is_ready_on(block, cpu.a, 0));
    assert_false(starpool_is_ready_on(block, cpu.b, before));
    assert_true(starpool_is_ready_on(block, cpu.b, after));
    assert_true(starpool_is_ready_on(block, cpu.b, record(cpu.a)));
    assert_false(starpool_is_ready(block)); /* Order is not execution. */
    assert_ok(starpool_free(block, cpu.a));
    assert_false(starpool_is_ready_on(block, cpu.b, after));
    assert_false(starpool_is_ready_on(block, cpu.a, after));
}

static void model_09_point_covers_what_was_submitted_before(void **state)
{
    void *block = alloc_on(cpu.a, 1000), *later;
    uint64_t point = record(cpu.a);

    (void)state;
    later = alloc_on(cpu.a, 1000);
    assert_true(starpool_is_ready_on(block, cpu.b, point));
    assert_false(starpool_is_ready_on(later, cpu.b, point));
    assert_ok(starpool_stream_wait(cpu.b, cpu.a, point));
    assert_ok(starpool_stream_synchronize(cpu.b));
    assert_true(starpool_is_ready(block));
    assert_false(starpool_is_ready(later));
    assert_ok(starpool_free(block, cpu.a));
    assert_ok(starpool_free(later, cpu.a));
}

static void model_10_synchronising_completes_everything_and_reclaims_frees(void **state)
{
    void *kept = alloc_on(cpu.a, 1000), *block = alloc_on(cpu.a, 4 * SP_MIB);

    (void)state;
    assert_ok(starpool_free(block, cpu.a));
    assert_status(STARPOOL_ENOTREADY, starpool_stream_query(cpu.a));
    assert_int_equal(stats().ordered_pending_bytes, 4 * SP_MIB);
    assert_ok(starpool_stream_synchronize(cpu.a));
    assert_ok(starpool_stream_query(cpu.a));
    assert_true(starpool_is_ready(kept));
    assert_int_equal(stats().ordered_pending_bytes, 0);
    assert_ptr_equal(alloc_on(cpu.b, 4 * SP_MIB), block);
    assert_ok(starpool_free(block, cpu.b));
    assert_ok(starpool_free(kept, cpu.a));
}

/* ---- counting ---------------------------------------------------------------------------- */

static void model_11_trim_succeeds_and_that_of_the_driver_needs_one(void **state)
{
    void *block = alloc_on(cpu.a, SP_MIB);

    (void)state;
    assert_ok(starpool_pool_trim(cpu.pool, 0));
    assert_ok(starpool_free(block, cpu.a));
    assert_ok(starpool_stream_synchronize(cpu.a));
    assert_ok(starpool_pool_trim(cpu.pool, UINT64_MAX));
    assert_true(stats().reserved_bytes > 0);
    assert_ok(starpool_pool_trim(cpu.pool, 0));
    assert_int_equal(stats().reserved_bytes, 0);
    assert_status(STARPOOL_ENOTSUP, starpool_pool_trim_driver(cpu.pool, 0));
    assert_status(STARPOOL_EINVAL, starpool_pool_trim_driver(NULL, 0));
}

static void model_11_reserved_bytes_are_read_again_after_a_driver_trim(void **state)
{
    struct starpool_pool_config config;
    struct starpool_pool *pool = NULL;
    uint64_t reserved = 0;
    void *ptr = NULL;

    (void)state;
    starpool_pool_config_init(&config);
    config.location = device0;
    assert_ok(starpool_pool_create(&config, &pool));
    assert_ok(starpool_alloc(pool, SP_MIB, STARPOOL_STREAM_HOST, &ptr));
    assert_ok(starpool_free(ptr, STARPOOL_STREAM_HOST));
    assert_ok(starpool_pool_get_attribute(pool, STARPOOL_ATTR_RESERVED_CURRENT, &reserved));
    assert_true(reserved >= SP_MIB);
    assert_ok(starpool_pool_trim_driver(pool, 0));
    assert_ok(starpool_pool_get_attribute(pool, STARPOOL_ATTR_RESERVED_CURRENT, &reserved));
    starpool_pool_destroy(pool);
    assert_int_equal(reserved, 0);
}

static void
model_12_reserved_is_live_reusable_and_pending_and_peaks_start_together(void **state)
{
    void *a = alloc_on(cpu.a, SP_MIB), *b = alloc_on(cpu.a, SP_MIB / 2);
    struct starpool_stats now;

    (void)state;
    assert_ok(starpool_free(a, cpu.a));
    now = stats();
    assert_int_equal(now.used_bytes, SP_MIB / 2);
    assert_int_equal(now.ordered_pending_bytes, SP_MIB);
    assert_int_equal(now.reserved_bytes,
                     now.used_bytes + now.ordered_pending_bytes + now.ordered_ready_bytes);
    assert_int_equal(now.used_high_bytes, SP_MIB + SP_MIB / 2);
    assert_int_equal(now.n_live, 1);
    assert_int_equal(now.n_live_high, 2);
    assert_ok(starpool_pool_reset_peaks(cpu.pool));
    assert_int_equal(stats().used_high_bytes, SP_MIB / 2);
    assert_int_equal(stats().n_live_high, 1);
    assert_ok(starpool_free(b, cpu.a));
}

static void model_13_only_what_may_be_set_can_be_set(void **state)
{
    static const enum starpool_pool_attribute facts[] = {STARPOOL_ATTR_RESERVED_CURRENT,
                                                         STARPOOL_ATTR_USED_CURRENT};
    uint64_t value = 0;

    (void)state;
    for (size_t i = 0; i < SP_ARRAY_SIZE(facts); i++)
        assert_status(STARPOOL_EINVAL, starpool_pool_set_attribute(cpu.pool, facts[i], 0));
    assert_ok(starpool_pool_set_attribute(cpu.pool, STARPOOL_ATTR_RELEASE_THRESHOLD, 4096));
    assert_ok(starpool_pool_get_attribute(cpu.pool, STARPOOL_ATTR_RELEASE_THRESHOLD, &value));
    assert_int_equal(value, 4096);
}

static void model_13_attribute_that_the_driver_refuses_stays_as_it_was(void **state)
{
    struct starpool_pool_config config;
    struct starpool_pool *pool = NULL;
    uint64_t value = 7;
    enum starpool_status refused, set;

    (void)state;
    starpool_pool_config_init(&config);
    config.location = device0;
    config.release_threshold = SP_MIB;
    assert_ok(starpool_pool_create(&config, &pool));
    assert_ok(starpool_model_inject("cuMemPoolSetAttribute@1=999"));
    refused = starpool_pool_set_attribute(pool, STARPOOL_ATTR_RELEASE_THRESHOLD, 4096);
    assert_status(STARPOOL_EDRIVER, refused);
    config.struct_size = sizeof(config);
    assert_ok(starpool_pool_get_config(pool, &config));
    assert_int_equal(config.release_threshold, SP_MIB);
    assert_ok(starpool_pool_get_attribute(pool, STARPOOL_ATTR_RELEASE_THRESHOLD, &value));
    assert_int_equal(value, SP_MIB);
    set = starpool_pool_set_attribute(pool, STARPOOL_ATTR_RELEASE_THRESHOLD, 4096);
    assert_ok(set);
    assert_ok(starpool_pool_get_config(pool, &config));
    assert_int_equal(config.release_threshold, 4096);
    starpool_pool_destroy(pool);
}

static void model_14_own_device_is_no_peer_and_the_configuration_is_as_given(void **state)
{
    struct starpool_pool_config given = cpu_config(), config = {.struct_size = sizeof(config)};
    struct starpool_location other = {STARPOOL_DEVICE, 1};
    enum starpool_access access = STARPOOL_ACCESS_READ;
    struct starpool_pool *pool;

    (void)state;
    assert_status(STARPOOL_EDEVICE,
                  starpool_pool_set_access(cpu.pool, device0, STARPOOL_ACCESS_READWRITE));
    assert_status(STARPOOL_EDEVICE,
                  starpool_pool_set_access(cpu.pool, device0, STARPOOL_ACCESS_NONE));
    assert_status(STARPOOL_ENOTSUP,
                  starpool_pool_set_access(cpu.pool, other, STARPOOL_ACCESS_READWRITE));
    assert_ok(starpool_pool_get_access(cpu.pool, device0, &access));
    assert_int_equal(access, STARPOOL_ACCESS_READWRITE);
    assert_ok(starpool_pool_get_access(cpu.pool, other, &access));
    assert_int_equal(access, STARPOOL_ACCESS_NONE);
    given.maximum = 32 * SP_MIB;
    given.release_threshold = 3;
    given.allows_internal_waits = false;
    assert_ok(starpool_pool_create(&given, &pool));
    assert_ok(starpool_pool_get_config(pool, &config));
    assert_int_equal(config.location.kind, STARPOOL_DEVICE);
    assert_int_equal(config.maximum, given.maximum);
    assert_int_equal(config.release_threshold, 3);
    assert_int_equal(config.backend, STARPOOL_BACKEND_CPU);
    assert_true(config.follows_events);
    assert_false(config.allows_internal_waits);
    starpool_pool_destroy(pool);
}

static void model_14_own_device_of_the_drivers_pool_is_no_peer(void **state)
{
    struct starpool_pool *pool = NULL;

    (void)state;
    assert_ok(starpool_pool_default(device0, STARPOOL_PINNED, &pool));
    assert_status(STARPOOL_EDEVICE,
                  starpool_pool_set_access(pool, device0, STARPOOL_ACCESS_READWRITE));
    assert_status(STARPOOL_EDEVICE,
                  starpool_pool_set_access(pool, device0, STARPOOL_ACCESS_NONE));
}

#define CASE(name)       cmocka_unit_test_setup_teardown(name, setup, teardown)
#define MODEL_CASE(name) cmocka_unit_test_setup_teardown(name, setup_model, teardown)

static const struct CMUnitTest tests[] = {
    CASE(model_01_cpu_pool_needs_no_driver_but_a_valid_configuration),
    CASE(model_02_pool_of_a_driver_that_is_not_there_is_refused_whole),
    CASE(model_03_negative_device_is_refused_before_any_driver_is_asked),
    CASE(model_04_size_0_is_refused),
    CASE(model_05_what_would_pass_the_maximum_is_refused_and_nothing_changes),
    CASE(model_06_block_that_is_not_live_cannot_be_freed),
    CASE(model_07_block_is_ready_when_its_stream_has_executed_past_it),
    CASE(model_08_block_is_ready_on_what_comes_after_its_allocation),
    CASE(model_09_point_covers_what_was_submitted_before),
    CASE(model_10_synchronising_completes_everything_and_reclaims_frees),
    CASE(model_11_trim_succeeds_and_that_of_the_driver_needs_one),
    CASE(model_12_reserved_is_live_reusable_and_pending_and_peaks_start_together),
    CASE(model_13_only_what_may_be_set_can_be_set),
    CASE(model_14_own_device_is_no_peer_and_the_configuration_is_as_given),
    MODEL_CASE(model_03_default_pool_outlives_what_stands_for_it),
    MODEL_CASE(model_06_block_of_the_driver_is_freed_once),
    MODEL_CASE(model_11_reserved_bytes_are_read_again_after_a_driver_trim),
    MODEL_CASE(model_13_attribute_that_the_driver_refuses_stays_as_it_was),
    MODEL_CASE(model_14_own_device_of_the_drivers_pool_is_no_peer),
};

int main(void)
{
    if (setenv("STARPOOL_DRIVER", "none", 1) != 0)
        return 99;
    return cmocka_run_group_tests_name("conformance_api", tests, NULL, NULL);
}
