/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* ATTR: attributes and statistics of pools. */
#include "config.h"

#include "tests/conformance.h"

#include <inttypes.h>
#include <string.h>

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)

static const int flags[] = {
    SP_CU_POOL_REUSE_FOLLOW_EVENT_DEPENDENCIES,
    SP_CU_POOL_REUSE_ALLOW_OPPORTUNISTIC,
    SP_CU_POOL_REUSE_ALLOW_INTERNAL_DEPENDENCIES,
};
#define N_FLAGS (sizeof(flags) / sizeof(flags[0]))

/* What a pool counts at one moment. */
struct counts {
    uint64_t reserved, reserved_high, used, used_high;
};

static struct counts counts_of(sp_cu_pool pool)
{
    return (struct counts){
        .reserved = sp_case_bytes(pool, SP_CU_POOL_RESERVED_MEM_CURRENT),
        .reserved_high = sp_case_bytes(pool, SP_CU_POOL_RESERVED_MEM_HIGH),
        .used = sp_case_bytes(pool, SP_CU_POOL_USED_MEM_CURRENT),
        .used_high = sp_case_bytes(pool, SP_CU_POOL_USED_MEM_HIGH),
    };
}

static void assert_same_counts(struct counts one, struct counts other)
{
    assert_int_equal(one.reserved, other.reserved);
    assert_int_equal(one.reserved_high, other.reserved_high);
    assert_int_equal(one.used, other.used);
    assert_int_equal(one.used_high, other.used_high);
}

static sp_cu_result set_bytes(sp_cu_pool pool, int attribute, uint64_t value)
{
    return cu->cuMemPoolSetAttribute(pool, attribute, &value);
}

/* ---- types and values ------------------------------------------------------------------ */

static void attr_01_attributes_are_1_to_8(void)
{
    sp_cu_pool pool = sp_case_pool(0);
    uint64_t value;

    _Static_assert(SP_CU_POOL_REUSE_FOLLOW_EVENT_DEPENDENCIES == 1, "first");
    _Static_assert(SP_CU_POOL_REUSE_ALLOW_OPPORTUNISTIC == 2, "second");
    _Static_assert(SP_CU_POOL_REUSE_ALLOW_INTERNAL_DEPENDENCIES == 3, "third");
    _Static_assert(SP_CU_POOL_RELEASE_THRESHOLD == 4, "fourth");
    _Static_assert(SP_CU_POOL_RESERVED_MEM_CURRENT == 5, "fifth");
    _Static_assert(SP_CU_POOL_RESERVED_MEM_HIGH == 6, "sixth");
    _Static_assert(SP_CU_POOL_USED_MEM_CURRENT == 7, "seventh");
    _Static_assert(SP_CU_POOL_USED_MEM_HIGH == 8, "eighth");
    for (int attribute = 1; attribute <= 8; attribute++)
        assert_success(cu->cuMemPoolGetAttribute(pool, attribute, &value));
    assert_cu(SP_CU_INVALID_VALUE, cu->cuMemPoolGetAttribute(pool, 0, &value));
}

static void attr_02_flags_are_an_int_and_the_others_64_bits(void)
{
    sp_cu_pool pool = sp_case_pool(0);
    unsigned char bytes[16], guard[16];

    memset(guard, 0xa5, sizeof(guard));
    for (int attribute = 1; attribute <= 8; attribute++) {
        size_t size = attribute <= 3 ? sizeof(int) : sizeof(uint64_t);

        memset(bytes, 0xa5, sizeof(bytes));
        assert_success(cu->cuMemPoolGetAttribute(pool, attribute, bytes));
        assert_memory_equal(bytes + size, guard, sizeof(bytes) - size);
        assert_memory_not_equal(bytes, guard, size);
    }
}

static void attr_02_what_lies_behind_the_int_is_not_read(void)
{
    sp_cu_pool pool = sp_case_pool(0);
    int pair[2] = {0, -1};

    for (size_t i = 0; i < N_FLAGS; i++) {
        assert_success(cu->cuMemPoolSetAttribute(pool, flags[i], pair));
        assert_int_equal(sp_case_flag(pool, flags[i]), 0);
    }
}

static void assert_has_defaults(sp_cu_pool pool)
{
    for (size_t i = 0; i < N_FLAGS; i++)
        assert_int_equal(sp_case_flag(pool, flags[i]), 1);
    assert_int_equal(sp_case_bytes(pool, SP_CU_POOL_RELEASE_THRESHOLD), 0);
}

static void attr_03_fresh_pools_reuse_in_every_way_and_keep_nothing(void)
{
    assert_has_defaults(sp_case_pool(0));
    for (int device = 0; device < sp_case_n_devices(); device++)
        assert_has_defaults(sp_case_default_pool(device));
}

static void attr_04_flags_and_threshold_read_back_what_was_set(void)
{
    static const uint64_t thresholds[] = {
        1, 512, (uint64_t)1 << 32, (uint64_t)INT64_MAX + 1, UINT64_MAX - 1, UINT64_MAX, 0};
    sp_cu_pool pool = sp_case_pool(0);

    for (size_t i = 0; i < N_FLAGS; i++) {
        sp_case_set_flag(pool, flags[i], 0);
        for (size_t j = 0; j < N_FLAGS; j++)
            assert_int_equal(sp_case_flag(pool, flags[j]), j != i);
        sp_case_set_flag(pool, flags[i], 1);
        assert_int_equal(sp_case_flag(pool, flags[i]), 1);
    }
    for (size_t i = 0; i < sizeof(thresholds) / sizeof(thresholds[0]); i++) {
        sp_case_set_threshold(pool, thresholds[i]);
        assert_int_equal(sp_case_bytes(pool, SP_CU_POOL_RELEASE_THRESHOLD), thresholds[i]);
    }
}

/* Set a flag that is 0 to 7 and to -1; if that is taken, it reads as 1. */
static sp_cu_result set_strange_flags(void *pool)
{
    static const int values[] = {7, -1};
    sp_cu_result result = SP_CU_SUCCESS;

    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        int value = values[i];

        sp_case_set_flag(pool, flags[1], 0);
        result = cu->cuMemPoolSetAttribute(pool, flags[1], &value);
        value = sp_case_flag(pool, flags[1]);
        sp_case_observe("ATTR-05", "a flag set to %d reads %d", values[i], value);
        if (cu->is_model)
            assert_int_equal(value, result == SP_CU_SUCCESS);
    }
    return result;
}

static void attr_05_flag_that_is_neither_0_nor_1(void)
{
    static const struct sp_choice choices[] = {
        {"normalize", SP_CU_SUCCESS},
        {"invalid-value", SP_CU_INVALID_VALUE},
    };

    sp_case_choose("ATTR-05", "flag_not_bool", choices, 2, set_strange_flags, sp_case_pool(0));
}

/* ---- what cannot be set ---------------------------------------------------------------- */

static void attr_06_current_statistics_cannot_be_set(void)
{
    static const uint64_t values[] = {0, 512, UINT64_MAX};
    sp_cu_stream stream = sp_case_stream();
    sp_cu_pool pool = sp_case_pool(0);
    sp_cu_ptr ptr = sp_case_alloc(pool, 512, stream);
    struct counts before = counts_of(pool);

    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        assert_cu(SP_CU_INVALID_VALUE,
                  set_bytes(pool, SP_CU_POOL_RESERVED_MEM_CURRENT, values[i]));
        assert_cu(SP_CU_INVALID_VALUE, set_bytes(pool, SP_CU_POOL_USED_MEM_CURRENT, values[i]));
    }
    assert_same_counts(counts_of(pool), before);
    sp_case_free(ptr, stream);
}

static void attr_07_watermark_can_only_be_set_to_0(void)
{
    static const uint64_t values[] = {1, 512, UINT64_MAX};
    sp_cu_stream stream = sp_case_stream();
    sp_cu_pool pool = sp_case_pool(0);
    sp_cu_ptr ptr = sp_case_alloc(pool, 512, stream);
    struct counts before = counts_of(pool);

    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        assert_cu(SP_CU_INVALID_VALUE,
                  set_bytes(pool, SP_CU_POOL_RESERVED_MEM_HIGH, values[i]));
        assert_cu(SP_CU_INVALID_VALUE, set_bytes(pool, SP_CU_POOL_USED_MEM_HIGH, values[i]));
    }
    assert_same_counts(counts_of(pool), before);
    sp_case_free(ptr, stream);
}

static void attr_08_watermark_begins_again_at_what_is_there_now(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_pool pool = sp_case_pool(0);
    sp_cu_ptr kept = sp_case_alloc(pool, 4 * KIB, stream);
    sp_cu_ptr gone = sp_case_alloc(pool, 64 * MIB, stream);
    struct counts counts;

    sp_case_free(gone, stream);
    sp_case_finish(stream);
    counts = counts_of(pool);
    assert_int_equal(counts.used, 4 * KIB);
    assert_true(counts.used_high >= 64 * MIB + 4 * KIB);
    if (cu->is_model) /* which gives the larger chunk back; a driver may keep it */
        assert_true(counts.reserved_high > counts.reserved);
    assert_success(set_bytes(pool, SP_CU_POOL_USED_MEM_HIGH, 0));
    assert_success(set_bytes(pool, SP_CU_POOL_RESERVED_MEM_HIGH, 0));
    counts = counts_of(pool);
    assert_int_equal(counts.used, 4 * KIB);
    assert_int_equal(counts.used_high, counts.used);
    assert_true(counts.reserved > 0);
    assert_int_equal(counts.reserved_high, counts.reserved);
    sp_case_free(kept, stream);
}

/* ---- what is counted ------------------------------------------------------------------- */

#define N_LIVE 16

/* One random step: trim, reset the watermarks, allocate or free. */
static void step(sp_cu_pool pool, sp_cu_stream stream, sp_cu_ptr *live, uint64_t *random,
                 struct counts *least)
{
    size_t i = sp_test_random_below(random, N_LIVE);

    switch (sp_test_random_below(random, 8)) {
    case 0:
        assert_success(cu->cuMemPoolTrimTo(pool, sp_test_random_below(random, 64) * MIB));
        break;
    case 1:
        assert_success(set_bytes(pool, SP_CU_POOL_USED_MEM_HIGH, 0));
        assert_success(set_bytes(pool, SP_CU_POOL_RESERVED_MEM_HIGH, 0));
        least->used_high = least->reserved_high = 0;
        break;
    default:
        if (live[i] != 0) {
            sp_case_free(live[i], stream);
            live[i] = 0;
        } else {
            live[i] = sp_case_alloc(pool, 1 + sp_test_random_below(random, 4 * MIB), stream);
        }
        break;
    }
}

static void check_invariants(sp_cu_pool pool, struct counts *least)
{
    struct counts counts = counts_of(pool);

    assert_true(counts.used <= counts.reserved);
    assert_true(counts.used <= counts.used_high);
    assert_true(counts.reserved <= counts.reserved_high);
    assert_true(counts.used_high >= least->used_high);
    assert_true(counts.reserved_high >= least->reserved_high);
    *least = counts;
}

static void attr_09_used_is_within_reserved_and_both_within_their_watermarks(void)
{
    uint64_t random = sp_test_seed();
    sp_cu_stream stream = sp_case_stream();
    sp_cu_pool pool = sp_case_pool(0);
    sp_cu_ptr live[N_LIVE] = {0};
    struct counts least = {0};

    sp_case_set_threshold(pool, 40 * MIB);
    for (size_t i = sp_test_scaled(300); i > 0; i--) {
        step(pool, stream, live, &random, &least);
        sp_case_finish(stream);
        check_invariants(pool, &least);
    }
    for (size_t i = 0; i < N_LIVE; i++) {
        if (live[i] != 0)
            sp_case_free(live[i], stream);
    }
}

static void attr_10_watermark_keeps_the_peak(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_pool pool = sp_case_pool(0);
    sp_cu_ptr base = sp_case_alloc(pool, 512, stream);
    uint64_t start = sp_case_used(pool);
    sp_cu_ptr one = sp_case_alloc(pool, 64 * KIB, stream);
    sp_cu_ptr other = sp_case_alloc(pool, MIB, stream);

    sp_case_free(one, stream);
    sp_case_free(other, stream);
    sp_case_finish(stream);
    assert_int_equal(sp_case_used(pool), start);
    assert_true(sp_case_bytes(pool, SP_CU_POOL_USED_MEM_HIGH) >= start + 64 * KIB + MIB);
    sp_case_free(base, stream);
}

static void attr_11_unknown_attributes_and_missing_pools_are_refused(void)
{
    static const int unknown[] = {0, 9, 10, 15, 99, -1};
    sp_cu_pool pool = sp_case_pool(0);
    uint64_t value = 0;

    for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
        assert_cu(SP_CU_INVALID_VALUE, cu->cuMemPoolGetAttribute(pool, unknown[i], &value));
        assert_cu(SP_CU_INVALID_VALUE, cu->cuMemPoolSetAttribute(pool, unknown[i], &value));
    }
    for (int attribute = 1; attribute <= 8; attribute++) {
        assert_cu(SP_CU_INVALID_VALUE, cu->cuMemPoolGetAttribute(NULL, attribute, &value));
        assert_cu(SP_CU_INVALID_VALUE, cu->cuMemPoolSetAttribute(NULL, attribute, &value));
        assert_cu(SP_CU_INVALID_VALUE, cu->cuMemPoolGetAttribute(pool, attribute, NULL));
    }
}

static void attr_11_attribute_cannot_be_set_to_nothing(void)
{
    sp_cu_pool pool = sp_case_pool(0);

    for (int attribute = 1; attribute <= 8; attribute++)
        assert_cu(SP_CU_INVALID_VALUE, cu->cuMemPoolSetAttribute(pool, attribute, NULL));
}

static uint64_t used_by(size_t size, sp_cu_stream stream)
{
    sp_cu_pool pool = sp_case_pool(0);
    sp_cu_ptr ptr = sp_case_alloc(pool, size, stream);
    uint64_t used = sp_case_used(pool);

    sp_case_free(ptr, stream);
    sp_case_finish(stream);
    assert_int_equal(sp_case_used(pool), 0);
    return used;
}

static void attr_12_multiples_of_512_bytes_are_counted_as_they_are(void)
{
    static const size_t sizes[] = {512,     2 * 512,  4 * 512, 4 * KIB,
                                   8 * KIB, 64 * KIB, MIB,     4 * MIB + 512};
    sp_cu_stream stream = sp_case_stream();

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        assert_int_equal(used_by(sizes[i], stream), sizes[i]);
}

static void attr_12_other_sizes_are_rounded_up(void)
{
    sp_cu_stream stream = sp_case_stream();

    if (!sp_case_switch("size_granule", "512")) {
        uint64_t one = used_by(1, stream), more = used_by(513, stream);

        sp_case_observe("ATTR-12", "1 byte counts %" PRIu64 ", 513 count %" PRIu64, one, more);
        sp_case_settle("size_granule", one == 512 && more == 1024  ? "512"
                                       : one == 256 && more == 768 ? "256"
                                                                   : "");
        return;
    }
    assert_int_equal(used_by(1, stream), 512);
    assert_int_equal(used_by(513, stream), 1024);
    assert_true(sp_case_switch("size_granule", "256"));
    assert_int_equal(used_by(1, stream), 256);
    assert_int_equal(used_by(513, stream), 768);
    assert_int_equal(used_by(1024, stream), 1024);
}

/* ---- when it is counted ---------------------------------------------------------------- */

static void attr_13_used_falls_at_the_free_in_an_idle_stream(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_pool pool = sp_case_pool(0);
    sp_cu_ptr ptr = sp_case_alloc(pool, 4 * KIB, stream);

    sp_case_finish(stream);
    assert_int_equal(sp_case_used(pool), 4 * KIB);
    sp_case_free(ptr, stream);
    assert_int_equal(sp_case_used(pool), 0);
}

/* What is used while a free waits in a busy stream; nothing is once it has executed. */
static uint64_t used_while_busy(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_pool pool = sp_case_pool(0);
    sp_cu_ptr ptr = sp_case_alloc(pool, 4 * KIB, stream);
    int stall = sp_case_stall(stream);
    uint64_t used;

    sp_case_free(ptr, stream);
    used = sp_case_used(pool);
    sp_case_release(stall);
    sp_case_finish(stream);
    assert_int_equal(sp_case_used(pool), 0);
    return used;
}

static void attr_13_used_falls_at_the_call_or_at_its_execution(void)
{
    if (!sp_case_switch("used_falls", "at-call")) {
        uint64_t used = used_while_busy();

        sp_case_observe("ATTR-13", "%" PRIu64 " of 4096 bytes used while the stream is busy",
                        used);
        sp_case_settle("used_falls", used == 0 ? "at-call" : "at-execution");
        return;
    }
    assert_int_equal(used_while_busy(), 0);
    assert_true(sp_case_switch("used_falls", "at-execution"));
    assert_int_equal(used_while_busy(), 4 * KIB);
    assert_true(sp_case_switch("used_falls", "at-call"));
}

static void attr_14_statistics_are_the_pool_s_own(void)
{
    sp_cu_stream stream = sp_case_stream();
    sp_cu_pool pool = sp_case_pool(0);
    sp_cu_pool other = sp_case_pool(0);
    sp_cu_ptr kept = sp_case_alloc(pool, 512, stream);
    sp_cu_ptr elsewhere, plain;
    struct counts before;

    sp_case_set_threshold(pool, UINT64_MAX);
    before = counts_of(pool);
    elsewhere = sp_case_alloc(other, MIB, stream);
    assert_success(cu->cuMemAlloc(&plain, MIB));
    assert_same_counts(counts_of(pool), before);
    sp_case_free(elsewhere, stream);
    assert_success(cu->cuMemFree(plain));
    assert_same_counts(counts_of(pool), before);
    sp_case_free(kept, stream);
}

/* What a small allocation makes a pool reserve; more that fits does not change it. */
static uint64_t reserved_for_a_little(sp_cu_stream stream)
{
    sp_cu_pool pool = sp_case_pool(0);
    sp_cu_ptr first = sp_case_alloc(pool, 512, stream);
    uint64_t reserved = sp_case_reserved(pool);

    assert_true(reserved >= 512);
    for (size_t i = 0; i < 8; i++) {
        sp_cu_ptr ptr = sp_case_alloc(pool, 64 * KIB, stream);

        assert_int_equal(sp_case_reserved(pool), reserved);
        sp_case_free(ptr, stream);
        assert_int_equal(sp_case_reserved(pool), reserved);
    }
    sp_case_free(first, stream);
    assert_int_equal(sp_case_reserved(pool), reserved);
    return reserved;
}

static void attr_15_reserved_grows_in_coarse_steps(void)
{
    sp_cu_stream stream = sp_case_stream();
    uint64_t reserved = reserved_for_a_little(stream);

    if (!cu->is_model) {
        sp_case_observe("ATTR-15", "512 bytes reserve %" PRIu64, reserved);
        sp_case_settle("pool_granule", reserved == 32 * MIB   ? "32M"
                                       : reserved == 2 * MIB  ? "2M"
                                       : reserved == 64 * MIB ? "64M"
                                                              : "");
        return;
    }
    assert_int_equal(reserved, 32 * MIB);
    assert_true(sp_case_switch("pool_granule", "2M"));
    assert_int_equal(reserved_for_a_little(stream), 2 * MIB);
    assert_true(sp_case_switch("pool_granule", "64M"));
    assert_int_equal(reserved_for_a_little(stream), 64 * MIB);
}

static const struct sp_case cases[] = {
    SP_CASE(attr_01_attributes_are_1_to_8, 0),
    SP_CASE(attr_02_flags_are_an_int_and_the_others_64_bits, 0),
    SP_CASE(attr_02_what_lies_behind_the_int_is_not_read, 0),
    SP_CASE(attr_03_fresh_pools_reuse_in_every_way_and_keep_nothing, 0),
    SP_CASE(attr_04_flags_and_threshold_read_back_what_was_set, 0),
    SP_CASE(attr_05_flag_that_is_neither_0_nor_1, 0),
    SP_CASE(attr_06_current_statistics_cannot_be_set, 0),
    SP_CASE(attr_07_watermark_can_only_be_set_to_0, 0),
    SP_CASE(attr_08_watermark_begins_again_at_what_is_there_now, 0),
    SP_CASE(attr_09_used_is_within_reserved_and_both_within_their_watermarks, 0),
    SP_CASE(attr_10_watermark_keeps_the_peak, 0),
    SP_CASE(attr_11_unknown_attributes_and_missing_pools_are_refused, 0),
    SP_CASE(attr_11_attribute_cannot_be_set_to_nothing, SP_TAG_MODEL),
    SP_CASE(attr_12_multiples_of_512_bytes_are_counted_as_they_are, 0),
    SP_CASE(attr_12_other_sizes_are_rounded_up, 0),
    SP_CASE(attr_13_used_falls_at_the_free_in_an_idle_stream, 0),
    SP_CASE(attr_13_used_falls_at_the_call_or_at_its_execution, SP_TAG_STALL),
    SP_CASE(attr_14_statistics_are_the_pool_s_own, 0),
    SP_CASE(attr_15_reserved_grows_in_coarse_steps, 0),
};

const struct sp_case_group sp_cases_attr = SP_CASE_GROUP("ATTR", cases);
