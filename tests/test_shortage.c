/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a pool does when it is short, step by step, on a backing that refuses as it is told:
 * caches, growth, other pools, the user's callback, refusal. */
#include "config.h"

#include "tests/support.h"

#include <string.h>

#include "src/pool/pool.h"
#include "src/pool/private.h"
#include "tests/script.h"

static struct {
    struct sp_script script, other_script;
    struct starpool_pool *pool, *other;
    unsigned n_calls;     /* of the callback */
    unsigned n_tries;     /* it says true so often */
    void *to_free;        /* by the callback, at its first call */
    size_t sizes[8];      /* that it was told */
    unsigned attempts[8]; /* likewise */
    enum starpool_status status;
    void *unused;
} fixture;

static bool on_oom(struct starpool_pool *pool, size_t size, unsigned attempt, void *arg)
{
    (void)pool;
    (void)arg;
    if (fixture.n_calls < SP_ARRAY_SIZE(fixture.sizes)) {
        fixture.sizes[fixture.n_calls] = size;
        fixture.attempts[fixture.n_calls] = attempt;
    }
    fixture.n_calls++;
    if (fixture.to_free != NULL)
        starpool_free(fixture.to_free, STARPOOL_STREAM_HOST);
    fixture.to_free = NULL;
    return fixture.n_calls <= fixture.n_tries;
}

/* Two pools of the location HOST; `other` holds nothing. */
static int setup(void **state)
{
    struct starpool_pool_config config;

    (void)state;
    memset(&fixture, 0, sizeof(fixture));
    sp_script_init(&fixture.script);
    sp_script_init(&fixture.other_script);
    starpool_pool_config_init(&config);
    config.on_oom = on_oom;
    config.name = "short pool";
    assert_ok(sp_pool_create_on(&config, &fixture.script.backing, &fixture.pool));
    fixture.other = sp_script_pool(&fixture.other_script, 0);
    sp_script_clear();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    starpool_pool_destroy(fixture.pool);
    starpool_pool_destroy(fixture.other);
    sp_script_fini(&fixture.script);
    sp_script_fini(&fixture.other_script);
    return 0;
}

static void *alloc_from(struct starpool_pool *pool, size_t size)
{
    void *ptr = NULL;

    assert_ok(starpool_alloc(pool, size, STARPOOL_STREAM_HOST, &ptr));
    return ptr;
}

static void *alloc(size_t size)
{
    return alloc_from(fixture.pool, size);
}

static void give(void *ptr)
{
    assert_ok(starpool_free(ptr, STARPOOL_STREAM_HOST));
}

static struct starpool_stats stats_of(struct starpool_pool *pool)
{
    struct starpool_stats stats = {.struct_size = sizeof(stats)};

    assert_ok(starpool_pool_stats(pool, &stats));
    return stats;
}

/* A refused allocation, which leaves everything but the number of refusals as it was. */
static void assert_refused(enum starpool_status status, size_t size)
{
    struct starpool_stats before = stats_of(fixture.pool), after;
    void *ptr = &fixture;

    sp_script_stderr_begin();
    {
        enum starpool_status answer =
            starpool_alloc(fixture.pool, size, STARPOOL_STREAM_HOST, &ptr);

        (void)sp_script_stderr_end();
        assert_status(status, answer);
    }
    assert_ptr_equal(ptr, &fixture);
    after = stats_of(fixture.pool);
    assert_int_equal(after.n_refused, before.n_refused + 1);
    assert_int_equal(after.n_allocs, before.n_allocs);
    assert_int_equal(after.n_live, before.n_live);
    assert_int_equal(after.used_bytes, before.used_bytes);
    assert_int_equal(after.reserved_bytes, before.reserved_bytes);
    assert_int_equal(after.reserved_high_bytes, before.reserved_high_bytes);
}

static void assert_entry(size_t index, const struct sp_script *script, enum sp_script_call call,
                         size_t size)
{
    const struct sp_script_entry *entry;

    assert_true(index < sp_script_n_entries());
    entry = sp_script_entry(index);
    assert_ptr_equal(entry->script, script);
    assert_int_equal(entry->call, call);
    assert_int_equal(entry->size, size);
}

/* ---- caches and growth --------------------------------------------------------------- */

static void blocks_in_the_caches_merge_before_the_pool_grows(void **state)
{
    void *a = alloc(512 * SP_KIB), *b = alloc(512 * SP_KIB);

    (void)state;
    give(a);
    give(b);
    assert_int_equal(stats_of(fixture.pool).cached_bytes, SP_MIB);
    give(alloc(SP_MIB));
    assert_int_equal(sp_script_n_entries(), 1);
    assert_entry(0, &fixture.script, SP_SCRIPT_GROW, SP_MIB);
    assert_int_equal(fixture.n_calls, 0);
}

static void growth_backs_off_from_generous_to_granule_to_exact(void **state)
{
    void *large = alloc(32 * SP_MIB);

    (void)state;
    fixture.script.most = 300 * SP_KIB;
    sp_script_clear();
    give(alloc(300 * SP_KIB));
    assert_int_equal(sp_script_n_entries(), 3);
    /* A sixteenth of what is reserved, the granule, the block. */
    assert_entry(0, &fixture.script, SP_SCRIPT_REFUSE, 2 * SP_MIB);
    assert_entry(1, &fixture.script, SP_SCRIPT_REFUSE, SP_MIB);
    assert_entry(2, &fixture.script, SP_SCRIPT_GROW, 300 * SP_KIB);
    give(large);
}

static void free_memory_before_the_new_piece_counts(void **state)
{
    void *a = alloc(3 * SP_MIB / 2), *b;

    (void)state;
    assert_int_equal(sp_script_bytes(&fixture.script), 2 * SP_MIB);
    fixture.script.most = 512 * SP_KIB;
    b = alloc(SP_MIB); /* half of it lies in the first piece */
    assert_int_equal((uintptr_t)b - (uintptr_t)a, 3 * SP_MIB / 2);
    assert_int_equal(sp_script_bytes(&fixture.script), 5 * SP_MIB / 2);
    memset(b, 1, SP_MIB);
    give(a);
    give(b);
}

static void piece_that_comes_elsewhere_is_followed_by_a_whole_one(void **state)
{
    void *a, *b;

    (void)state;
    fixture.script.is_surprising = true;
    a = alloc(3 * SP_MIB / 2);
    sp_script_clear();
    b = alloc(5 * SP_MIB / 4);
    assert_int_equal(sp_script_n_entries(), 2);
    assert_entry(0, &fixture.script, SP_SCRIPT_GROW, SP_MIB);
    assert_entry(1, &fixture.script, SP_SCRIPT_GROW, 2 * SP_MIB);
    give(a);
    give(b);
}

static void pieces_apart_serve_too(void **state)
{
    void *blocks[4];

    (void)state;
    fixture.script.is_scattered = true;
    for (size_t i = 0; i < 4; i++)
        blocks[i] = alloc(700 * SP_KIB);
    assert_int_equal(stats_of(fixture.pool).n_segments, 4);
    for (size_t i = 0; i < 4; i++)
        give(blocks[i]);
    assert_ok(starpool_pool_trim(fixture.pool, 0));
    assert_int_equal(sp_script_bytes(&fixture.script), 0);
}

/* ---- the maximum --------------------------------------------------------------------- */

static void set_maximum(uint64_t maximum)
{
    assert_ok(starpool_pool_set_attribute(fixture.pool, STARPOOL_ATTR_MAXIMUM, maximum));
}

static void growth_at_the_limit_is_exact_and_nothing_above_it_is_tried(void **state)
{
    void *a, *b;

    (void)state;
    set_maximum(32 * SP_MIB + 300 * SP_KIB);
    a = alloc(32 * SP_MIB);
    sp_script_clear();
    b = alloc(300 * SP_KIB);
    assert_int_equal(sp_script_n_entries(), 1);
    assert_entry(0, &fixture.script, SP_SCRIPT_GROW, 300 * SP_KIB);
    assert_refused(STARPOOL_ENOMEM, 1);
    assert_int_equal(sp_script_n_entries(), 1);
    give(a);
    give(b);
}

static void pool_takes_exactly_its_maximum_and_not_a_page_more(void **state)
{
    (void)state;
    set_maximum(SP_MIB);
    assert_refused(STARPOOL_ENOMEM, SP_MIB + 1);
    give(alloc(SP_MIB));
    assert_int_equal(sp_script_bytes(&fixture.script), SP_MIB);
    set_maximum(SP_MIB - 1);
    assert_refused(STARPOOL_ENOMEM, SP_MIB + SP_PAGE);
}

static void maximum_below_what_is_reserved_stops_growth_and_serves_what_is_there(void **state)
{
    void *a = alloc(3 * SP_MIB);

    (void)state;
    give(a);
    set_maximum(SP_MIB);
    assert_refused(STARPOOL_ENOMEM, 4 * SP_MIB);
    a = alloc(3 * SP_MIB);
    give(a);
    set_maximum(0);
    give(alloc(4 * SP_MIB));
}

static void random_requests_never_pass_the_maximum(void **state)
{
    uint64_t random = sp_test_seed();
    uint64_t maximum = 9 * SP_MIB + 40 * SP_KIB;
    void *blocks[64] = {NULL};
    size_t n_rounds = sp_test_scaled(3000), most = 0;
    bool is_within = true;

    (void)state;
    set_maximum(maximum);
    sp_script_stderr_begin();
    for (size_t round = 0; round < n_rounds; round++) {
        void **block = &blocks[sp_test_random_below(&random, 64)];

        if (*block != NULL)
            starpool_free(*block, STARPOOL_STREAM_HOST);
        *block = NULL;
        if (starpool_alloc(fixture.pool, 1 + sp_test_random_below(&random, SP_MIB),
                           STARPOOL_STREAM_HOST, block) != STARPOOL_OK)
            *block = NULL;
        is_within = is_within && sp_script_bytes(&fixture.script) <= maximum;
        most = sp_max(most, sp_script_bytes(&fixture.script));
    }
    (void)sp_script_stderr_end();
    for (size_t i = 0; i < 64; i++) {
        if (blocks[i] != NULL)
            give(blocks[i]);
    }
    assert_true(is_within);
    assert_int_equal(stats_of(fixture.pool).reserved_high_bytes, most);
    assert_true(stats_of(fixture.pool).n_refused > 0);
}

/* ---- other pools --------------------------------------------------------------------- */

static void other_pools_are_trimmed_before_the_callback(void **state)
{
    (void)state;
    give(alloc_from(fixture.other, SP_MIB));
    fixture.script.n_refusals = 2;
    sp_script_clear();
    give(alloc(100 * SP_KIB));
    assert_int_equal(sp_script_n_entries(), 5);
    assert_entry(0, &fixture.script, SP_SCRIPT_REFUSE, SP_MIB);
    assert_entry(1, &fixture.script, SP_SCRIPT_REFUSE, 100 * SP_KIB);
    assert_entry(2, &fixture.other_script, SP_SCRIPT_SHRINK, SP_MIB);
    assert_entry(3, &fixture.other_script, SP_SCRIPT_DROP, 0);
    assert_entry(4, &fixture.script, SP_SCRIPT_GROW, SP_MIB);
    assert_int_equal(fixture.n_calls, 0);
}

static void other_pools_keep_what_is_live(void **state)
{
    void *live = alloc_from(fixture.other, SP_MIB);

    (void)state;
    fixture.script.most = 0;
    assert_refused(STARPOOL_ENOMEM, 1);
    assert_int_equal(sp_script_bytes(&fixture.other_script), SP_MIB);
    memset(live, 1, SP_MIB);
    give(live);
}

/* What others hold is no help against the pool's own limit, and a program may ask for ever. */
static void refusal_by_the_own_maximum_trims_no_other_pool(void **state)
{
    (void)state;
    give(alloc_from(fixture.other, SP_MIB));
    assert_ok(starpool_pool_set_attribute(fixture.pool, STARPOOL_ATTR_MAXIMUM, SP_MIB));
    sp_script_stderr_begin();
    fixture.status =
        starpool_alloc(fixture.pool, 2 * SP_MIB, STARPOOL_STREAM_HOST, &fixture.unused);
    (void)sp_script_stderr_end();
    assert_status(STARPOOL_ENOMEM, fixture.status);
    assert_int_equal(sp_script_bytes(&fixture.other_script), SP_MIB);
}

/* A span is more than such a pool may have; a page is not. */
static void small_block_takes_a_page_where_no_span_fits(void **state)
{
    char *first, *second;
    uint64_t reserved;

    (void)state;
    assert_ok(starpool_pool_set_attribute(fixture.pool, STARPOOL_ATTR_MAXIMUM, 128 * SP_KIB));
    first = alloc(300);
    second = alloc(300);
    assert_ok(
        starpool_pool_get_attribute(fixture.pool, STARPOOL_ATTR_RESERVED_CURRENT, &reserved));
    assert_in_range(reserved, 2 * 4096, 128 * SP_KIB);
    assert_true(first + 300 <= second || second + 300 <= first);
    give(first);
    give(second);
}

static void pool_of_another_node_is_not_trimmed(void **state)
{
    struct sp_script scripts[2];
    struct starpool_pool *pools[2];
    struct starpool_pool_config config;
    void *ptr = NULL;
    enum starpool_status status;

    (void)state;
    starpool_pool_config_init(&config);
    for (int i = 0; i < 2; i++) {
        config.location = (struct starpool_location){STARPOOL_HOST_NUMA, i};
        sp_script_init(&scripts[i]);
        assert_ok(sp_pool_create_on(&config, &scripts[i].backing, &pools[i]));
    }
    give(alloc_from(pools[0], SP_MIB));
    give(alloc(SP_MIB));
    scripts[1].most = 0;
    scripts[1].refusal = STARPOOL_ENODE;
    sp_script_stderr_begin();
    status = starpool_alloc(pools[1], 1, STARPOOL_STREAM_HOST, &ptr);
    (void)sp_script_stderr_end();
    assert_status(STARPOOL_ENODE, status);
    assert_int_equal(sp_script_bytes(&scripts[0]), SP_MIB);
    assert_int_equal(sp_script_bytes(&fixture.script), 0); /* HOST may be on any node */
    for (int i = 0; i < 2; i++) {
        starpool_pool_destroy(pools[i]);
        sp_script_fini(&scripts[i]);
    }
}

/* ---- the callback and the refusal ---------------------------------------------------- */

static void callback_is_told_size_and_attempt_until_it_gives_up(void **state)
{
    (void)state;
    fixture.script.most = 0;
    fixture.n_tries = 2;
    assert_refused(STARPOOL_ENOMEM, 4 * SP_PAGE * 8);
    assert_int_equal(fixture.n_calls, 3);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(fixture.attempts[i], i);
        assert_int_equal(fixture.sizes[i], 4 * SP_PAGE * 8);
    }
}

static void block_that_the_callback_frees_serves_the_request(void **state)
{
    (void)state;
    set_maximum(SP_MIB);
    fixture.to_free = alloc(SP_MIB);
    fixture.n_tries = 1;
    sp_script_clear();
    give(alloc(SP_MIB));
    assert_int_equal(fixture.n_calls, 1);
    assert_int_equal(sp_script_n_entries(), 0);
}

static void every_shortage_passes_through_unchanged(void **state)
{
    static const enum starpool_status statuses[] = {STARPOOL_ENOMEM, STARPOOL_ENODE,
                                                    STARPOOL_ECGROUP, STARPOOL_EMEMLOCK};

    (void)state;
    fixture.script.most = 0;
    for (size_t i = 0; i < SP_ARRAY_SIZE(statuses); i++) {
        fixture.script.refusal = statuses[i];
        assert_refused(statuses[i], SP_MIB);
        assert_int_equal(fixture.n_calls, i + 1);
    }
}

static void status_that_is_no_shortage_is_not_argued_with(void **state)
{
    (void)state;
    give(alloc_from(fixture.other, SP_MIB));
    fixture.script.most = 0;
    fixture.script.refusal = STARPOOL_EDEVICE;
    assert_refused(STARPOOL_EDEVICE, SP_MIB);
    assert_int_equal(fixture.n_calls, 0);
    assert_int_equal(sp_script_bytes(&fixture.other_script), SP_MIB);
}

static void refusals_are_told_at_the_first_second_fourth(void **state)
{
    const char *text;
    void *ptr;

    (void)state;
    set_maximum(SP_MIB);
    sp_script_stderr_begin();
    for (int i = 0; i < 7; i++)
        (void)!starpool_alloc(fixture.pool, 2 * SP_MIB, STARPOOL_STREAM_HOST, &ptr);
    text = sp_script_stderr_end();
    assert_int_equal(sp_script_n_times(text, "\n"), 3);
    assert_int_equal(sp_script_n_times(text, "short pool refused 2 MiB (ENOMEM)"), 3);
    assert_int_equal(sp_script_n_times(text, "limit 1 MiB"), 3);
    assert_int_equal(sp_script_n_times(text, "raise the pool's maximum"), 3);
}

static void sizes_near_the_top_are_refused(void **state)
{
    (void)state;
    assert_refused(STARPOOL_ENOMEM, SIZE_MAX - SP_PAGE + 1);
    assert_refused(STARPOOL_ENOMEM, SIZE_MAX - SP_MIB);
    assert_refused(STARPOOL_ENOMEM, (size_t)1 << 63);
    assert_int_equal(sp_script_bytes(&fixture.script), 0);
}

/* ---- giving back to the system ------------------------------------------------------- */

/* Three pieces of 1 MiB without a live block. */
static void reserve_three(void)
{
    void *blocks[3];

    for (size_t i = 0; i < 3; i++)
        blocks[i] = alloc(SP_MIB);
    for (size_t i = 0; i < 3; i++)
        give(blocks[i]);
    assert_int_equal(stats_of(fixture.pool).n_segments, 3);
    sp_script_clear();
}

static void trim_keeps_at_least_what_it_is_told(void **state)
{
    (void)state;
    reserve_three();
    assert_ok(starpool_pool_trim(fixture.pool, UINT64_MAX));
    assert_int_equal(sp_script_bytes(&fixture.script), 3 * SP_MIB);
    assert_ok(starpool_pool_trim(fixture.pool, 2 * SP_MIB + 1));
    assert_int_equal(sp_script_bytes(&fixture.script), 3 * SP_MIB);
    assert_ok(starpool_pool_trim(fixture.pool, 2 * SP_MIB));
    assert_int_equal(sp_script_bytes(&fixture.script), 2 * SP_MIB);
    assert_ok(starpool_pool_trim(fixture.pool, 0));
    assert_int_equal(sp_script_bytes(&fixture.script), 0);
    assert_int_equal(stats_of(fixture.pool).reserved_bytes, 0);
    assert_int_equal(stats_of(fixture.pool).n_releases, 3);
    assert_int_equal(stats_of(fixture.pool).reserved_high_bytes, 3 * SP_MIB);
}

static void trim_leaves_pieces_with_a_live_block(void **state)
{
    void *blocks[3];

    (void)state;
    for (size_t i = 0; i < 3; i++)
        blocks[i] = alloc(SP_MIB);
    give(blocks[0]);
    give(blocks[2]);
    assert_ok(starpool_pool_trim(fixture.pool, 0));
    assert_int_equal(sp_script_bytes(&fixture.script), SP_MIB);
    memset(blocks[1], 1, SP_MIB);
    give(blocks[1]);
}

static void free_beyond_the_threshold_goes_back_when_the_pool_next_grows(void **state)
{
    (void)state;
    assert_ok(
        starpool_pool_set_attribute(fixture.pool, STARPOOL_ATTR_RELEASE_THRESHOLD, SP_MIB));
    reserve_three();
    assert_int_equal(sp_script_n_entries(), 0); /* frees give nothing back */
    fixture.script.is_surprising = true;        /* so that what is kept is of no use */
    give(alloc(4 * SP_MIB));
    assert_int_equal(sp_script_entry(0)->call, SP_SCRIPT_SHRINK);
    assert_int_equal(sp_script_entry(1)->call, SP_SCRIPT_SHRINK);
    assert_int_equal(sp_script_entry(2)->call, SP_SCRIPT_GROW);
    assert_int_equal(stats_of(fixture.pool).n_releases, 2);
}

static void unlimited_threshold_keeps_everything(void **state)
{
    (void)state;
    reserve_three();
    give(alloc(4 * SP_MIB));
    assert_int_equal(stats_of(fixture.pool).n_releases, 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(blocks_in_the_caches_merge_before_the_pool_grows),
        CASE(growth_backs_off_from_generous_to_granule_to_exact),
        CASE(free_memory_before_the_new_piece_counts),
        CASE(piece_that_comes_elsewhere_is_followed_by_a_whole_one),
        CASE(pieces_apart_serve_too),
        CASE(growth_at_the_limit_is_exact_and_nothing_above_it_is_tried),
        CASE(pool_takes_exactly_its_maximum_and_not_a_page_more),
        CASE(maximum_below_what_is_reserved_stops_growth_and_serves_what_is_there),
        CASE(random_requests_never_pass_the_maximum),
        CASE(other_pools_are_trimmed_before_the_callback),
        CASE(other_pools_keep_what_is_live),
        CASE(refusal_by_the_own_maximum_trims_no_other_pool),
        CASE(small_block_takes_a_page_where_no_span_fits),
        CASE(pool_of_another_node_is_not_trimmed),
        CASE(callback_is_told_size_and_attempt_until_it_gives_up),
        CASE(block_that_the_callback_frees_serves_the_request),
        CASE(every_shortage_passes_through_unchanged),
        CASE(status_that_is_no_shortage_is_not_argued_with),
        CASE(refusals_are_told_at_the_first_second_fourth),
        CASE(sizes_near_the_top_are_refused),
        CASE(trim_keeps_at_least_what_it_is_told),
        CASE(trim_leaves_pieces_with_a_live_block),
        CASE(free_beyond_the_threshold_goes_back_when_the_pool_next_grows),
        CASE(unlimited_threshold_keeps_everything),
    };

    return cmocka_run_group_tests_name("shortage", tests, NULL, NULL);
}
