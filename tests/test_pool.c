/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Pools as a user sees them: arguments, configuration, questions about blocks, the
 * current and the default pool, destruction. On a scripted backing but for the default pools.
 */
#include "config.h"

#include "tests/support.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <starpool/numa.h>

#include "src/pool/pool.h"
#include "src/pool/private.h"
#include "tests/fixture.h"

static const struct starpool_location host = {STARPOOL_HOST, 0};

/* ---- arguments ----------------------------------------------------------------------- */

static void wrong_arguments_are_refused_and_the_output_untouched(void **state)
{
    starpool_stream legacy = NULL, other = (starpool_stream)&fixture;
    void *ptr = &fixture;

    (void)state;
    assert_status(STARPOOL_EINVAL, starpool_alloc(NULL, 1, STARPOOL_STREAM_HOST, &ptr));
    assert_status(STARPOOL_EINVAL, starpool_alloc(fixture.pool, 1, STARPOOL_STREAM_HOST, NULL));
    assert_status(STARPOOL_EINVAL, starpool_alloc(fixture.pool, 0, STARPOOL_STREAM_HOST, &ptr));
    assert_status(STARPOOL_EINVAL, starpool_alloc(fixture.pool, 1, legacy, &ptr));
    assert_status(STARPOOL_EINVAL, starpool_alloc(fixture.pool, 1, other, &ptr));
    assert_status(STARPOOL_EINVAL, starpool_alloc_current(0, STARPOOL_STREAM_HOST, &ptr));
    assert_status(STARPOOL_EINVAL, starpool_alloc_current(1, legacy, &ptr));
    assert_status(STARPOOL_EINVAL, starpool_alloc_current(1, STARPOOL_STREAM_HOST, NULL));
    assert_ptr_equal(ptr, &fixture);
    assert_int_equal(sp_script_n_entries(), 0);
}

static void size_that_wraps_when_rounded_is_refused(void **state)
{
    void *ptr = &fixture;

    (void)state;
    assert_status(STARPOOL_ENOMEM,
                  starpool_alloc(fixture.pool, SIZE_MAX, STARPOOL_STREAM_HOST, &ptr));
    assert_status(STARPOOL_ENOMEM, sp_alloc_aligned(fixture.pool, SIZE_MAX, 2 * SP_MIB, &ptr));
    assert_status(STARPOOL_ENOMEM, sp_alloc_aligned(fixture.pool, SIZE_MAX, 4096, &ptr));
    assert_ptr_equal(ptr, &fixture);
    assert_int_equal(sp_fixture_stats_of(fixture.pool).used_bytes, 0);
}

static void free_on_another_stream_is_refused_and_the_block_stays(void **state)
{
    void *ptr = sp_fixture_alloc(1);

    (void)state;
    assert_status(STARPOOL_EINVAL, starpool_free(ptr, NULL));
    assert_int_equal(sp_fixture_stats_of(fixture.pool).n_live, 1);
    sp_fixture_give(ptr);
}

static void blocks_begin_where_they_are_promised_to(void **state)
{
    void *blocks[40];
    size_t n = 0;

    (void)state;
    for (size_t size = 1; size < SP_MIB; size = size * 3 / 2 + 1) {
        blocks[n] = sp_fixture_alloc(size);
        assert_int_equal((uintptr_t)blocks[n] % (size < 32 * SP_KIB ? 256 : 4096), 0);
        memset(blocks[n++], 0x5a, size);
    }
    while (n > 0)
        sp_fixture_give(blocks[--n]);
}

static void aligned_blocks_begin_at_their_multiple(void **state)
{
    (void)state;
    for (size_t align = 256; align <= 2 * SP_MIB; align *= 2) {
        static const size_t sizes[] = {0, 1, 5000, 32700, 32 * SP_KIB, 300 * SP_KIB};

        for (size_t i = 0; i < SP_ARRAY_SIZE(sizes); i++) {
            void *ptr = NULL;

            assert_ok(sp_alloc_aligned(fixture.pool, sizes[i], align, &ptr));
            assert_int_equal((uintptr_t)ptr % align, 0);
            memset(ptr, 0x5a, sizes[i]);
            sp_fixture_give(ptr);
        }
    }
}

static void alignment_that_is_no_power_of_two_is_refused(void **state)
{
    void *ptr = &fixture;

    (void)state;
    assert_status(STARPOOL_EINVAL, sp_alloc_aligned(fixture.pool, 1, 4097, &ptr));
    assert_status(STARPOOL_EINVAL, sp_alloc_aligned(fixture.pool, 1, 3 * 4096, &ptr));
    assert_status(STARPOOL_EINVAL, sp_alloc_aligned(NULL, 1, 4096, &ptr));
    assert_ptr_equal(ptr, &fixture);
}

/* ---- configuration ------------------------------------------------------------------- */

static void assert_config_refused(enum starpool_status status,
                                  const struct starpool_pool_config *config)
{
    struct starpool_pool *pool = fixture.pool;

    assert_status(status, starpool_pool_create(config, &pool));
    assert_ptr_equal(pool, fixture.pool);
}

static void configuration_is_checked_member_by_member(void **state)
{
    struct starpool_pool_config good, config;
    struct starpool_pool *pool;

    (void)state;
    starpool_pool_config_init(&good);
    assert_config_refused(STARPOOL_EINVAL, NULL);
    assert_status(STARPOOL_EINVAL, starpool_pool_create(&good, NULL));
    config = good;
    config.struct_size--;
    assert_config_refused(STARPOOL_EINVAL, &config);
    config = good;
    config.initial = 2 * SP_MIB;
    config.maximum = SP_MIB;
    assert_config_refused(STARPOOL_EINVAL, &config);
    config = good;
    config.placement = (enum starpool_placement)(STARPOOL_SPILL + 1);
    assert_config_refused(STARPOOL_EINVAL, &config);
    config = good;
    config.huge = (enum starpool_huge)(STARPOOL_HUGE_EXPLICIT + 1);
    assert_config_refused(STARPOOL_EINVAL, &config);
    config = good;
    config.memory = (enum starpool_memory)(STARPOOL_MANAGED + 1);
    assert_config_refused(STARPOOL_EINVAL, &config);
    assert_ok(starpool_pool_create(&good, &pool));
    starpool_pool_destroy(pool);
}

static void location_must_exist_and_be_served(void **state)
{
    static const struct {
        struct starpool_location location;
        enum starpool_memory memory;
        enum starpool_status status;
    } cases[] = {
        {{STARPOOL_NONE, 0}, STARPOOL_PINNED, STARPOOL_EINVAL},
        {{STARPOOL_NONE, 0}, STARPOOL_MANAGED, STARPOOL_ENOTINIT},
        {{STARPOOL_DEVICE, 0}, STARPOOL_PINNED, STARPOOL_ENOTINIT},
        {{STARPOOL_DEVICE, -1}, STARPOOL_PINNED, STARPOOL_EINVAL},
        {{STARPOOL_HOST, 1}, STARPOOL_PINNED, STARPOOL_EINVAL},
        {{STARPOOL_HOST, 0}, STARPOOL_MANAGED, STARPOOL_ENOTINIT},
        {{STARPOOL_HOST_NUMA, 0}, STARPOOL_MANAGED, STARPOOL_ENOTINIT},
        {{STARPOOL_HOST_NUMA, -2}, STARPOOL_PINNED, STARPOOL_EDEVICE},
        {{STARPOOL_HOST_NUMA, 1 << 20}, STARPOOL_PINNED, STARPOOL_EDEVICE},
        {{(enum starpool_kind)9, 0}, STARPOOL_PINNED, STARPOOL_EINVAL},
    };

    (void)state;
    for (size_t i = 0; i < SP_ARRAY_SIZE(cases); i++) {
        struct starpool_pool_config config;
        struct starpool_pool *pool = fixture.pool;

        starpool_pool_config_init(&config);
        config.location = cases[i].location;
        config.memory = cases[i].memory;
        assert_config_refused(cases[i].status, &config);
        assert_status(cases[i].status,
                      starpool_pool_default(cases[i].location, cases[i].memory, &pool));
        assert_ptr_equal(pool, fixture.pool);
    }
}

static void configuration_reads_back_as_it_is_now(void **state)
{
    struct starpool_pool_config config = {.struct_size = sizeof(config)};
    struct starpool_pool_config small = {.struct_size = sizeof(small) - 1, .maximum = 77};

    (void)state;
    assert_ok(starpool_pool_set_attribute(fixture.pool, STARPOOL_ATTR_MAXIMUM, 5 * SP_MIB));
    assert_ok(starpool_pool_set_attribute(fixture.pool, STARPOOL_ATTR_RELEASE_THRESHOLD, 123));
    assert_ok(starpool_pool_get_config(fixture.pool, &config));
    assert_int_equal(config.struct_size, sizeof(config));
    assert_int_equal(config.location.kind, STARPOOL_HOST);
    assert_int_equal(config.maximum, 5 * SP_MIB);
    assert_int_equal(config.release_threshold, 123);
    assert_string_equal(config.name, "HOST pool");
    assert_status(STARPOOL_EINVAL, starpool_pool_get_config(fixture.pool, &small));
    assert_status(STARPOOL_EINVAL, starpool_pool_get_config(NULL, &config));
    assert_status(STARPOOL_EINVAL, starpool_pool_get_config(fixture.pool, NULL));
    assert_int_equal(small.maximum, 77);
}

static void name_is_copied_and_cut_to_its_room(void **state)
{
    struct sp_script script;
    struct starpool_pool_config config;
    struct starpool_pool *pool;
    char name[2 * SP_POOL_NAME_SIZE];

    (void)state;
    memset(name, 'n', sizeof(name));
    name[sizeof(name) - 1] = '\0';
    starpool_pool_config_init(&config);
    config.name = name;
    sp_script_init(&script);
    assert_ok(sp_pool_create_on(&config, &script.backing, &pool));
    name[0] = 'X';
    assert_ok(starpool_pool_get_config(pool, &config));
    assert_int_equal(strlen(config.name), SP_POOL_NAME_SIZE - 1);
    assert_int_equal(config.name[0], 'n');
    starpool_pool_destroy(pool);
    sp_script_fini(&script);
}

static void initial_memory_is_reserved_at_once(void **state)
{
    struct sp_script script;
    struct starpool_pool_config config;
    struct starpool_pool *pool = fixture.pool;

    (void)state;
    starpool_pool_config_init(&config);
    config.initial = config.maximum = 3 * SP_MIB + SP_PAGE;
    sp_script_init(&script);
    assert_ok(sp_pool_create_on(&config, &script.backing, &pool));
    assert_int_equal(sp_script_bytes(&script), 3 * SP_MIB + SP_PAGE);
    assert_int_equal(sp_fixture_stats_of(pool).reserved_bytes, 3 * SP_MIB + SP_PAGE);
    assert_int_equal(sp_fixture_stats_of(pool).used_bytes, 0);
    starpool_pool_destroy(pool);
    sp_script_fini(&script);
}

static void initial_memory_that_is_refused_makes_no_pool(void **state)
{
    struct sp_script script;
    struct starpool_pool_config config;
    struct starpool_pool *pool = fixture.pool;
    size_t last;

    (void)state;
    starpool_pool_config_init(&config);
    config.initial = SP_MIB;
    sp_script_init(&script);
    script.most = 0;
    script.refusal = STARPOOL_ENODE;
    assert_status(STARPOOL_ENODE, sp_pool_create_on(&config, &script.backing, &pool));
    assert_ptr_equal(pool, fixture.pool);
    last = sp_script_n_entries() - 1;
    assert_int_equal(sp_script_entry(last)->call, SP_SCRIPT_DESTROY);
    sp_script_fini(&script);
}

/* ---- questions ----------------------------------------------------------------------- */

static void block_is_described_from_any_address_in_it(void **state)
{
    static const size_t sizes[] = {1, 700, 31 * SP_KIB, 32 * SP_KIB, 900 * SP_KIB};

    (void)state;
    for (size_t i = 0; i < SP_ARRAY_SIZE(sizes); i++) {
        struct starpool_block_info info = {.struct_size = sizeof(info)};
        char *base = sp_fixture_alloc(sizes[i]);
        const size_t offsets[] = {0, 1, sizes[i] / 2, sizes[i] - 1};

        for (size_t j = 0; j < SP_ARRAY_SIZE(offsets); j++) {
            assert_ok(starpool_block_info(base + sp_min(offsets[j], sizes[i] - 1), &info));
            assert_ptr_equal(info.pool, fixture.pool);
            assert_ptr_equal(info.base, base);
            assert_int_equal(info.size, sp_store_round(sizes[i]));
        }
        sp_fixture_give(base);
    }
}

static void address_outside_of_live_blocks_is_not_described(void **state)
{
    struct starpool_block_info info = {.struct_size = sizeof(info), .size = 99};
    char *base = sp_fixture_alloc(300), *large = sp_fixture_alloc(64 * SP_KIB);

    (void)state;
    assert_status(STARPOOL_EINVAL, starpool_block_info(base + 512, &info));
    assert_status(STARPOOL_EINVAL, starpool_block_info(base - 1, &info));
    assert_status(STARPOOL_EINVAL, starpool_block_info(large + 64 * SP_KIB, &info));
    assert_status(STARPOOL_EINVAL, starpool_block_info(&info, &info));
    assert_status(STARPOOL_EINVAL, starpool_block_info(NULL, &info));
    assert_status(STARPOOL_EINVAL, starpool_block_info(base, NULL));
    info.struct_size--;
    assert_status(STARPOOL_EINVAL, starpool_block_info(base, &info));
    info.struct_size++;
    sp_fixture_give(base);
    assert_status(STARPOOL_EINVAL, starpool_block_info(base, &info));
    assert_int_equal(info.size, 99);
    sp_fixture_give(large);
}

/* What a thread asks about while another takes and gives. */
static struct {
    char *base;
    size_t n_wrong;
    _Atomic bool is_over;
} asked;

static void *ask_about_any(void *arg)
{
    (void)arg;
    for (size_t i = 0; !atomic_load(&asked.is_over); i++) {
        struct starpool_block_info info = {.struct_size = sizeof(info)};
        const char *ptr = asked.base + i * 4999 % (256 * SP_KIB);

        if (starpool_block_info(ptr, &info) != STARPOOL_OK)
            continue;
        asked.n_wrong +=
            info.pool != fixture.pool || (uintptr_t)ptr - (uintptr_t)info.base >= info.size;
    }
    return NULL;
}

/* Its record may be that of another block, or of none, before the question is answered. */
static void block_that_goes_while_it_is_asked_about_is_described_or_not(void **state)
{
    char *blocks[8] = {NULL}, *keeper = sp_fixture_alloc(64 * SP_KIB);
    size_t n_rounds = sp_test_scaled(20000);
    pthread_t thread;

    (void)state;
    asked.base = keeper;
    asked.n_wrong = 0;
    atomic_store(&asked.is_over, false);
    assert_int_equal(pthread_create(&thread, NULL, ask_about_any, NULL), 0);
    for (size_t i = 0; i < n_rounds; i++) {
        char **block = &blocks[i % 8];

        if (*block != NULL)
            sp_fixture_give(*block);
        *block = sp_fixture_alloc(4096 + i * 7919 % 40000);
        if (i % 16 == 0) /* Out of the caches. */
            assert_ok(starpool_pool_trim(fixture.pool, SIZE_MAX));
    }
    atomic_store(&asked.is_over, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(asked.n_wrong, 0);
    for (size_t i = 0; i < 8; i++)
        sp_fixture_give(blocks[i]);
    sp_fixture_give(keeper);
}

static void pool_of_a_live_block_is_known_by_its_first_address(void **state)
{
    struct starpool_pool *pool = NULL;
    char *base = sp_fixture_alloc(300);

    (void)state;
    assert_ok(starpool_pool_of(base, &pool));
    assert_ptr_equal(pool, fixture.pool);
    pool = NULL;
    assert_status(STARPOOL_EINVAL, starpool_pool_of(base + 1, &pool));
    assert_status(STARPOOL_EINVAL, starpool_pool_of(base + 256, &pool));
    assert_status(STARPOOL_EINVAL, starpool_pool_of(NULL, &pool));
    assert_status(STARPOOL_EINVAL, starpool_pool_of(base, NULL));
    sp_fixture_give(base);
    assert_status(STARPOOL_EINVAL, starpool_pool_of(base, &pool));
    assert_null(pool);
}

/* ---- life ---------------------------------------------------------------------------- */

static void destroyed_pool_lives_on_until_its_last_block_is_freed(void **state)
{
    struct starpool_pool *pool = fixture.pool;
    char *a = sp_fixture_alloc(1000), *b = sp_fixture_alloc(100 * SP_KIB);
    void *ptr = &fixture;

    (void)state;
    sp_fixture_give(sp_fixture_alloc(1000));
    fixture.pool = NULL;
    starpool_pool_destroy(pool);
    memset(a, 1, 1000);
    memset(b, 1, 100 * SP_KIB);
    assert_status(STARPOOL_EINVAL, starpool_alloc(pool, 1, STARPOOL_STREAM_HOST, &ptr));
    assert_ptr_equal(ptr, &fixture);
    sp_fixture_give(b);
    assert_int_equal(sp_script_bytes(&fixture.script), SP_MIB);
    sp_fixture_give(a);
    assert_int_equal(sp_script_bytes(&fixture.script), 0);
    assert_int_equal(sp_script_entry(sp_script_n_entries() - 1)->call, SP_SCRIPT_DESTROY);
    assert_false(sp_addrmap_is_ours((uintptr_t)a));
}

static void pool_without_live_blocks_is_gone_when_destroy_returns(void **state)
{
    struct starpool_pool *pool = fixture.pool;

    (void)state;
    sp_fixture_give(sp_fixture_alloc(1000));
    fixture.pool = NULL;
    starpool_pool_destroy(pool);
    assert_int_equal(sp_script_n_entries(), 4);
    assert_int_equal(sp_script_entry(0)->call, SP_SCRIPT_GROW);
    assert_int_equal(sp_script_entry(1)->call, SP_SCRIPT_SHRINK);
    assert_int_equal(sp_script_entry(2)->call, SP_SCRIPT_DROP);
    assert_int_equal(sp_script_entry(3)->call, SP_SCRIPT_DESTROY);
    starpool_pool_destroy(NULL);
}

/* ---- default and current ------------------------------------------------------------- */

static struct starpool_pool *current(void)
{
    struct starpool_pool *pool = NULL;

    assert_ok(starpool_pool_current(host, STARPOOL_PINNED, &pool));
    return pool;
}

static struct starpool_pool *default_pool(void)
{
    struct starpool_pool *pool = NULL;

    assert_ok(starpool_pool_default(host, STARPOOL_PINNED, &pool));
    return pool;
}

static void default_pool_is_current_until_another_is_set(void **state)
{
    struct starpool_pool *pool = default_pool(), *same = NULL;
    void *ptr;

    (void)state;
    assert_ptr_equal(default_pool(), pool);
    assert_ptr_equal(current(), pool);
    assert_ok(starpool_pool_set_current(host, STARPOOL_PINNED, fixture.pool));
    assert_ptr_equal(current(), fixture.pool);
    assert_ptr_equal(default_pool(), pool);
    assert_ok(starpool_alloc_current(1, STARPOOL_STREAM_HOST, &ptr));
    assert_ok(starpool_pool_of(ptr, &same));
    assert_ptr_equal(same, fixture.pool);
    sp_fixture_give(ptr);
    assert_ok(starpool_pool_set_current(host, STARPOOL_PINNED, pool));
    assert_ptr_equal(current(), pool);
}

static void pool_is_current_of_its_own_location_only(void **state)
{
    static const struct starpool_location nearest = {STARPOOL_HOST_NUMA, STARPOOL_ID_NEAREST};
    struct starpool_pool *before = current();

    (void)state;
    assert_status(STARPOOL_EINVAL,
                  starpool_pool_set_current(nearest, STARPOOL_PINNED, fixture.pool));
    assert_status(STARPOOL_EINVAL, starpool_pool_set_current(host, STARPOOL_PINNED, NULL));
    assert_status(STARPOOL_EINVAL,
                  starpool_pool_set_current(host, STARPOOL_MANAGED, fixture.pool));
    assert_status(STARPOOL_EINVAL, starpool_pool_current(host, STARPOOL_PINNED, NULL));
    assert_ptr_equal(current(), before);
}

static void destroying_the_current_pool_makes_the_default_one_current(void **state)
{
    struct starpool_pool *pool = fixture.pool;
    char *live = sp_fixture_alloc(1);

    (void)state;
    assert_ok(starpool_pool_set_current(host, STARPOOL_PINNED, pool));
    fixture.pool = NULL;
    starpool_pool_destroy(pool);
    assert_ptr_equal(current(), default_pool());
    sp_fixture_give(live);
    assert_ptr_equal(current(), default_pool());
}

static void default_pool_cannot_be_destroyed(void **state)
{
    struct starpool_pool *pool = default_pool();
    const char *text;

    (void)state;
    sp_script_stderr_begin();
    starpool_pool_destroy(pool);
    text = sp_script_stderr_end();
    assert_int_equal(sp_script_n_times(text, "cannot be destroyed"), 1);
    assert_ptr_equal(default_pool(), pool);
    assert_int_equal(sp_fixture_stats_of(pool).n_live, 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, sp_fixture_setup, sp_fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(wrong_arguments_are_refused_and_the_output_untouched),
        CASE(size_that_wraps_when_rounded_is_refused),
        CASE(free_on_another_stream_is_refused_and_the_block_stays),
        CASE(blocks_begin_where_they_are_promised_to),
        CASE(aligned_blocks_begin_at_their_multiple),
        CASE(alignment_that_is_no_power_of_two_is_refused),
        CASE(configuration_is_checked_member_by_member),
        CASE(location_must_exist_and_be_served),
        CASE(configuration_reads_back_as_it_is_now),
        CASE(name_is_copied_and_cut_to_its_room),
        CASE(initial_memory_is_reserved_at_once),
        CASE(initial_memory_that_is_refused_makes_no_pool),
        CASE(block_is_described_from_any_address_in_it),
        CASE(address_outside_of_live_blocks_is_not_described),
        CASE(block_that_goes_while_it_is_asked_about_is_described_or_not),
        CASE(pool_of_a_live_block_is_known_by_its_first_address),
        CASE(destroyed_pool_lives_on_until_its_last_block_is_freed),
        CASE(pool_without_live_blocks_is_gone_when_destroy_returns),
        CASE(default_pool_is_current_until_another_is_set),
        CASE(pool_is_current_of_its_own_location_only),
        CASE(destroying_the_current_pool_makes_the_default_one_current),
        CASE(default_pool_cannot_be_destroyed),
    };

    /* Where there is a driver, locations that need one would be served. */
    if (setenv("STARPOOL_DRIVER", "none", 1) != 0)
        return 99;
    return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}
