/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is made of traces: sums, checks, other forms; of any bytes whatever, too. */
#include "config.h"

#include "tests/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/trace/check.h"
#include "src/trace/clock.h"
#include "src/trace/export.h"
#include "src/trace/map.h"
#include "src/trace/summary.h"
#include "src/util/util.h"
#include "tests/trace_case.h"

#define ROOM 64

/* A trace in the making; times rise by 10 us, more than clocks can be apart. */
static struct {
    struct sp_trace_entry entries[ROOM];
    size_t n;
    uint64_t ns;
    unsigned thread;
} made;

static struct sp_trace_check check;

static int setup(void **state)
{
    (void)state;
    memset(&made, 0, sizeof(made));
    made.thread = 1;
    return 0;
}

static int begin_group(void **state)
{
    (void)state;
    sp_trace_case_begin();
    return 0;
}

static int end_group(void **state)
{
    (void)state;
    sp_trace_case_end();
    return 0;
}

static void put(unsigned kind, unsigned detail, uint64_t address, uint64_t size,
                uint64_t stream, uint64_t point)
{
    made.ns += 10 * SP_TRACE_SKEW_NS;
    made.entries[made.n++] = (struct sp_trace_entry){
        .ticks = made.ns,
        .who = sp_trace_who(kind, detail, made.thread, 1),
        .address = address,
        .size = size,
        .stream = stream,
        .point = point,
    };
}

static void put_pool(bool is_earlier)
{
    put(STARPOOL_TRACE_POOL_CREATE, 0, (uint64_t)STARPOOL_HOST << 32, 0, 0, is_earlier);
}

static void put_alloc(uint64_t address, uint64_t size)
{
    put(STARPOOL_TRACE_ALLOC, STARPOOL_TRACE_EDGE_NONE, address, size, 0, 0);
}

static void put_free(uint64_t address, uint64_t size)
{
    put(STARPOOL_TRACE_FREE, 0, address, size, 0, 0);
}

static struct starpool_trace *open_made(void)
{
    struct starpool_trace *reader;

    assert_true(sp_trace_case_write(sp_trace_case_path("made"), made.entries, made.n));
    assert_ok(starpool_trace_open(sp_trace_case_path("made"), &reader));
    return reader;
}

static void run_check(void)
{
    struct starpool_trace *reader = open_made();

    assert_ok(sp_trace_check(reader, &check));
    starpool_trace_close(reader);
}

static void assert_sound(void)
{
    run_check();
    assert_string_equal(check.problems[0], "");
    assert_int_equal(check.n_problems, 0);
}

static void assert_problem(const char *words)
{
    run_check();
    assert_int_equal(check.n_problems, 1);
    assert_non_null(strstr(check.problems[0], words));
}

/* ---- checks of addresses ---------------------------------------------------------------- */

static void sound_trace_has_no_problem(void **state)
{
    (void)state;
    put_pool(false);
    put(STARPOOL_TRACE_GROW, 0, 0x10000, 0x10000, 0, 0);
    put_alloc(0x10000, 256);
    put_alloc(0x10100, 256);
    put_free(0x10000, 256);
    put_alloc(0x10000, 256);
    put_free(0x10100, 256);
    put_free(0x10000, 256);
    put(STARPOOL_TRACE_RELEASE, 0, 0x10000, 0x10000, 0, 0);
    assert_sound();
    assert_int_equal(check.n_allocs, 3);
    assert_int_equal(check.n_frees, 3);
}

static void second_free_of_a_block_is_found(void **state)
{
    (void)state;
    put_pool(false);
    put_alloc(0x10000, 256);
    put_free(0x10000, 256);
    put_free(0x10000, 256);
    assert_problem("no live block begins there");
}

static void free_inside_a_block_is_found(void **state)
{
    (void)state;
    put_pool(false);
    put_alloc(0x10000, 512);
    put_free(0x10100, 256);
    assert_problem("no live block begins there");
}

static void free_of_another_size_is_found(void **state)
{
    (void)state;
    put_pool(false);
    put_alloc(0x10000, 512);
    put_free(0x10000, 256);
    assert_problem("is freed with 256 bytes");
}

static void overlap_of_two_live_blocks_is_found(void **state)
{
    (void)state;
    put_pool(false);
    put_alloc(0x10000, 512);
    put_alloc(0x10100, 512);
    assert_problem("overlaps the live block");
}

static void release_under_a_live_block_is_found(void **state)
{
    (void)state;
    put_pool(false);
    put(STARPOOL_TRACE_GROW, 0, 0x10000, 0x10000, 0, 0);
    put_alloc(0x10000, 512);
    put(STARPOOL_TRACE_RELEASE, 0, 0x10000, 0x10000, 0, 0);
    assert_problem("released under a live block");
}

static void more_in_use_than_reserved_is_found(void **state)
{
    (void)state;
    put_pool(false);
    put(STARPOOL_TRACE_GROW, 0, 0x10000, 256, 0, 0);
    put_alloc(0x10000, 512);
    assert_problem("512 bytes are in use of 256");
}

static void blocks_from_before_the_trace_are_no_problem(void **state)
{
    (void)state;
    put_pool(true);
    put_free(0x10000, 256);
    assert_sound();
    assert_int_equal(check.n_unknown_frees, 1);
}

/* ---- checks of order -------------------------------------------------------------------- */

static void put_edge(enum starpool_trace_edge edge, uint64_t stream, uint64_t point)
{
    put(STARPOOL_TRACE_ALLOC, edge, 0x10000, 256, stream, point);
}

/* Stream 1 has and frees a block; a point of it comes after. */
static void put_first_use(void)
{
    put_pool(false);
    put_edge(STARPOOL_TRACE_EDGE_FRESH, 1, 1);
    put(STARPOOL_TRACE_FREE, 0, 0x10000, 256, 1, 2);
    put(STARPOOL_TRACE_RECORD, 0, 0, 0, 1, 3);
}

static void reuse_without_order_is_found(void **state)
{
    (void)state;
    put_first_use();
    put_edge(STARPOOL_TRACE_EDGE_EVENT, 2, 1);
    assert_problem("is taken, and its last free need not be over");
}

static void reuse_by_the_host_that_has_not_waited_is_found(void **state)
{
    (void)state;
    put_first_use();
    put_edge(STARPOOL_TRACE_EDGE_SEEN, 0, 0);
    assert_problem("is taken, and its last free need not be over");
}

static void reuse_after_a_wait_is_sound(void **state)
{
    (void)state;
    put_first_use();
    put(STARPOOL_TRACE_WAIT, 0, 1, 0, 2, 3);
    put_edge(STARPOOL_TRACE_EDGE_EVENT, 2, 1);
    assert_sound();
    assert_int_equal(check.n_ordered, 2);
}

static void reuse_after_a_wait_for_too_little_is_found(void **state)
{
    (void)state;
    put_pool(false);
    put(STARPOOL_TRACE_RECORD, 0, 0, 0, 1, 1);
    put_edge(STARPOOL_TRACE_EDGE_FRESH, 1, 2);
    put(STARPOOL_TRACE_FREE, 0, 0x10000, 256, 1, 3);
    put(STARPOOL_TRACE_WAIT, 0, 1, 0, 2, 1);
    put_edge(STARPOOL_TRACE_EDGE_EVENT, 2, 1);
    assert_problem("is taken, and its last free need not be over");
}

static void reuse_of_what_has_executed_is_sound(void **state)
{
    (void)state;
    put_first_use();
    put(STARPOOL_TRACE_EXECUTED, 0, 0, 0, 1, 2);
    put_edge(STARPOOL_TRACE_EDGE_EXECUTED, 2, 1);
    assert_sound();
}

static void reuse_after_the_host_has_waited_is_sound(void **state)
{
    (void)state;
    put_first_use();
    put(STARPOOL_TRACE_SYNCHRONIZE, 0, 0, 0, 1, 0);
    put_edge(STARPOOL_TRACE_EDGE_SEEN, 0, 0);
    put_free(0x10000, 256);
    put_edge(STARPOOL_TRACE_EDGE_SEEN, 2, 1);
    assert_sound();
}

/* Stream 2 has done nothing itself; whoever waits for it waits for the free. */
static void what_a_stream_waits_for_is_over_when_the_stream_is(void **state)
{
    (void)state;
    put_first_use();
    put(STARPOOL_TRACE_WAIT, 0, 1, 0, 2, 3);
    put(STARPOOL_TRACE_SYNCHRONIZE, 0, 0, 0, 2, 0);
    put_edge(STARPOOL_TRACE_EDGE_SEEN, 0, 0);
    assert_sound();
}

static void driver_that_does_not_say_why_is_believed(void **state)
{
    (void)state;
    put_first_use();
    put_edge(STARPOOL_TRACE_EDGE_NONE, 2, 1);
    assert_sound();
}

static void more_streams_than_can_be_checked_are_told(void **state)
{
    struct sp_trace_entry *entries = calloc(2000, sizeof(*entries));
    struct starpool_trace *reader;

    (void)state;
    assert_non_null(entries);
    for (size_t i = 0; i < 2000; i++)
        entries[i] = (struct sp_trace_entry){
            .ticks = i, .who = sp_trace_who(STARPOOL_TRACE_RECORD, 0, 1, 0), .stream = i + 1};
    assert_true(sp_trace_case_write(sp_trace_case_path("streams"), entries, 2000));
    free(entries);
    assert_ok(starpool_trace_open(sp_trace_case_path("streams"), &reader));
    assert_ok(sp_trace_check(reader, &check));
    starpool_trace_close(reader);
    assert_true(check.has_too_many_streams);
    assert_int_equal(check.n_records, 2000);
}

/* ---- clocks that differ ----------------------------------------------------------------- */

/* Thread 2 takes what thread 1 has freed, by its clock `ns` before. */
static void put_early_alloc(uint64_t ns)
{
    put_pool(false);
    put_alloc(0x10000, 512);
    put_free(0x10000, 512);
    made.thread = 2;
    put_alloc(0x10100, 256);
    made.entries[made.n - 1].ticks = made.entries[made.n - 2].ticks - ns;
    put_free(0x10100, 256);
}

static void clocks_that_differ_a_little_are_no_problem(void **state)
{
    (void)state;
    put_early_alloc(SP_TRACE_SKEW_NS);
    assert_sound();
}

static void clocks_that_differ_too_much_are(void **state)
{
    (void)state;
    put_early_alloc(SP_TRACE_SKEW_NS + 1);
    run_check();
    assert_true(check.n_problems > 0);
}

/* ---- sums ------------------------------------------------------------------------------- */

static void sums_are_those_of_the_events(void **state)
{
    struct starpool_trace *reader;
    struct sp_summary summary;
    const struct sp_summary_pool *pool;

    (void)state;
    put_pool(false);
    put(STARPOOL_TRACE_GROW, 0, 0x10000, 0x10000, 0, 0);
    put_alloc(0x10000, 256);
    put_alloc(0x11000, 1024);
    put(STARPOOL_TRACE_REFUSE, (unsigned)-STARPOOL_ENODE, 0, 1 << 30, 0, 0);
    put_free(0x10000, 256);
    put(STARPOOL_TRACE_TRIM, 0, 0, 0, 0, 0);
    put_free(0x99000, 256);
    reader = open_made();
    assert_ok(sp_summary_read(reader, &summary));
    starpool_trace_close(reader);
    assert_int_equal(summary.n_records, made.n);
    assert_int_equal(summary.n_pools, 1);
    pool = &summary.pools[0];
    assert_string_equal(pool->name, "pool 1");
    assert_int_equal(pool->n_allocs, 2);
    assert_int_equal(pool->n_frees, 2);
    assert_int_equal(pool->n_unknown_frees, 1);
    assert_int_equal(pool->n_refused, 1);
    assert_int_equal(pool->n_refused_by[-STARPOOL_ENODE], 1);
    assert_int_equal(pool->used_high_bytes, 1280);
    assert_int_equal(pool->used_bytes, 1024);
    assert_int_equal(pool->n_live, 1);
    assert_int_equal(pool->n_live_high, 2);
    assert_int_equal(pool->reserved_high_bytes, 0x10000);
    assert_int_equal(pool->size_octaves[8], 1);
    assert_int_equal(pool->size_octaves[10], 1);
    assert_int_equal(pool->life_sum_ns, 30 * SP_TRACE_SKEW_NS);
    assert_int_equal(pool->longest[0].address, 0x11000);
    assert_true(pool->longest[0].is_live);
    assert_int_equal(pool->longest[1].address, 0x10000);
    assert_int_equal(pool->longest[2].address, 0);
    sp_summary_fini(&summary);
}

/* ---- other forms ------------------------------------------------------------------------ */

static const char *written(enum starpool_status (*write)(struct starpool_trace *, FILE *))
{
    static char text[8192];
    struct starpool_trace *reader = open_made();
    FILE *out = fmemopen(text, sizeof(text), "w");

    assert_non_null(out);
    assert_ok(write(reader, out));
    fclose(out);
    starpool_trace_close(reader);
    return text;
}

static void csv_has_a_line_an_event(void **state)
{
    (void)state;
    put_alloc(0x10000, 256);
    put(STARPOOL_TRACE_REFUSE, (unsigned)-STARPOOL_ENOMEM, 0, 512, 4, 0);
    assert_string_equal(
        written(sp_trace_write_csv),
        "time_ns,thread,number,kind,pool,stream,other,point,address,size,status,edge,place,"
        "place_id,name,lost\n"
        "10000,1,5,alloc,1,0,0,0,0x10000,256,,unknown,,,,\n"
        "20000,1,6,refuse,1,4,0,0,0x0,512,ENOMEM,,,,,\n"
        "0,0,255,end,0,0,0,0,0x0,0,,,,,,0\n");
}

static void csv_fields_are_quoted_where_they_must(void **state)
{
    char text[64] = "";
    FILE *out = fmemopen(text, sizeof(text), "w");

    (void)state;
    sp_trace_write_field(out, "plain");
    putc(' ', out);
    sp_trace_write_field(out, "a,\"b\"");
    fclose(out);
    assert_string_equal(text, "plain \"a,\"\"b\"\"\"");
}

static void json_has_an_object_an_event(void **state)
{
    const char *text;

    (void)state;
    put_pool(true);
    put_alloc(0x10000, 256);
    text = written(sp_trace_write_json);
    assert_non_null(strstr(text, "\"kind\": \"pool-create\""));
    assert_non_null(strstr(text, "\"is_earlier\": true"));
    assert_non_null(strstr(text, "\"address\": 65536"));
    assert_non_null(strstr(text, "\"is_whole\": true"));
}

/* ---- any bytes -------------------------------------------------------------------------- */

/* Whatever the file says, every way of reading it ends. */
static void use_in_all_ways(const char *path)
{
    struct starpool_trace *reader;
    struct sp_summary summary;
    FILE *out = fopen("/dev/null", "we");

    assert_non_null(out);
    for (int way = 0; way < 4; way++) {
        enum starpool_status status = STARPOOL_OK;

        assert_ok(starpool_trace_open(path, &reader));
        if (way == 0) {
            status = sp_summary_read(reader, &summary);
            sp_summary_fini(&summary);
        } else if (way == 1) {
            status = sp_trace_check(reader, &check);
        } else {
            status = (way == 2 ? sp_trace_write_csv : sp_trace_write_json)(reader, out);
        }
        assert_true(status == STARPOOL_OK || strlen(starpool_trace_error(reader, NULL)) > 0);
        starpool_trace_close(reader);
    }
    fclose(out);
}

/* A random entry, with values from few that meet. */
static struct sp_trace_entry random_entry(uint64_t *random)
{
    static const uint64_t odd[] = {0, 1, 255, 1ULL << 63, UINT64_MAX, UINT64_MAX - 255};
    uint64_t values[5];

    for (size_t i = 0; i < SP_ARRAY_SIZE(values); i++)
        values[i] = sp_test_random_below(random, 8) == 0
                        ? odd[sp_test_random_below(random, SP_ARRAY_SIZE(odd))]
                        : sp_test_random_below(random, 12) * 256;
    return (struct sp_trace_entry){
        .ticks = sp_test_random(random) >> sp_test_random_below(random, 64),
        .who = sp_trace_who((unsigned)sp_test_random_below(random, 16),
                            (unsigned)sp_test_random_below(random, 9),
                            (unsigned)sp_test_random_below(random, 4),
                            (unsigned)sp_test_random_below(random, 3)),
        .address = values[0],
        .size = values[1],
        .stream = values[2] >> (values[2] < 4096 ? 8 : 0),
        .point = values[3],
    };
}

static void any_entries_are_read_to_an_end(void **state)
{
    uint64_t random = sp_test_seed();

    (void)state;
    for (size_t round = 0; round < sp_test_scaled(400); round++) {
        size_t n = sp_test_random_below(&random, ROOM);

        for (size_t i = 0; i < n; i++)
            made.entries[i] = random_entry(&random);
        assert_true(sp_trace_case_write(sp_trace_case_path("any"), made.entries, n));
        use_in_all_ways(sp_trace_case_path("any"));
    }
}

static void any_bytes_are_read_to_an_end(void **state)
{
    static unsigned char bytes[8192];
    uint64_t random = sp_test_seed() + 1;
    size_t size;

    (void)state;
    for (size_t round = 0; round < sp_test_scaled(400); round++) {
        for (size_t i = 0; i < 20; i++)
            made.entries[i] = random_entry(&random);
        assert_true(sp_trace_case_write(sp_trace_case_path("bytes"), made.entries, 20));
        size = sp_trace_case_load(sp_trace_case_path("bytes"), bytes, sizeof(bytes));
        for (size_t n = 1 + sp_test_random_below(&random, 8); n > 0; n--)
            bytes[sp_test_random_below(&random, size)] = (unsigned char)sp_test_random(&random);
        size -= sp_test_random_below(&random, 3) == 0 ? sp_test_random_below(&random, size) : 0;
        /* And bytes without any form. */
        for (size_t i = 0; round % 8 == 0 && i < size; i++)
            bytes[i] = (unsigned char)sp_test_random(&random);
        assert_true(sp_trace_case_save(sp_trace_case_path("bytes"), bytes, size));
        use_in_all_ways(sp_trace_case_path("bytes"));
    }
}

/* ---- the table -------------------------------------------------------------------------- */

static void table_agrees_with_an_array(void **state)
{
    enum { N_KEYS = 300 };
    uint64_t random = sp_test_seed() + 2, expected[N_KEYS] = {0}, n_used = 0;
    const struct sp_map_slot *slot;
    struct sp_map map = {NULL, 0, 0};
    size_t index = 0;

    (void)state;
    for (size_t i = 0; i < sp_test_scaled(20000); i++) {
        size_t key = sp_test_random_below(&random, N_KEYS);
        const uint64_t *value = sp_map_find(&map, key << 12);

        assert_int_equal(value == NULL ? 0 : *value, expected[key]);
        if (sp_test_random_below(&random, 2) == 0) {
            assert_true(sp_map_put(&map, key << 12, i + 1));
            expected[key] = i + 1;
        } else {
            assert_int_equal(sp_map_remove(&map, key << 12, NULL), expected[key] != 0);
            expected[key] = 0;
        }
    }
    for (size_t key = 0; key < N_KEYS; key++)
        n_used += expected[key] != 0;
    assert_int_equal(map.n_used, n_used);
    while ((slot = sp_map_next(&map, &index)) != NULL) {
        assert_int_equal(slot->value, expected[slot->key >> 12]);
        n_used--;
    }
    assert_int_equal(n_used, 0);
    sp_map_fini(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(sound_trace_has_no_problem, setup),
        cmocka_unit_test_setup(second_free_of_a_block_is_found, setup),
        cmocka_unit_test_setup(free_inside_a_block_is_found, setup),
        cmocka_unit_test_setup(free_of_another_size_is_found, setup),
        cmocka_unit_test_setup(overlap_of_two_live_blocks_is_found, setup),
        cmocka_unit_test_setup(release_under_a_live_block_is_found, setup),
        cmocka_unit_test_setup(more_in_use_than_reserved_is_found, setup),
        cmocka_unit_test_setup(blocks_from_before_the_trace_are_no_problem, setup),
        cmocka_unit_test_setup(reuse_without_order_is_found, setup),
        cmocka_unit_test_setup(reuse_by_the_host_that_has_not_waited_is_found, setup),
        cmocka_unit_test_setup(reuse_after_a_wait_is_sound, setup),
        cmocka_unit_test_setup(reuse_after_a_wait_for_too_little_is_found, setup),
        cmocka_unit_test_setup(reuse_of_what_has_executed_is_sound, setup),
        cmocka_unit_test_setup(reuse_after_the_host_has_waited_is_sound, setup),
        cmocka_unit_test_setup(what_a_stream_waits_for_is_over_when_the_stream_is, setup),
        cmocka_unit_test_setup(driver_that_does_not_say_why_is_believed, setup),
        cmocka_unit_test_setup(more_streams_than_can_be_checked_are_told, setup),
        cmocka_unit_test_setup(clocks_that_differ_a_little_are_no_problem, setup),
        cmocka_unit_test_setup(clocks_that_differ_too_much_are, setup),
        cmocka_unit_test_setup(sums_are_those_of_the_events, setup),
        cmocka_unit_test_setup(csv_has_a_line_an_event, setup),
        cmocka_unit_test_setup(csv_fields_are_quoted_where_they_must, setup),
        cmocka_unit_test_setup(json_has_an_object_an_event, setup),
        cmocka_unit_test_setup(any_entries_are_read_to_an_end, setup),
        cmocka_unit_test_setup(any_bytes_are_read_to_an_end, setup),
        cmocka_unit_test_setup(table_agrees_with_an_array, setup),
    };

    return cmocka_run_group_tests_name("trace_use", tests, begin_group, end_group);
}
