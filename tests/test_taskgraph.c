/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Iterations without StarPU: what a scripted sequence of requests and frees becomes, and what
 * a replay makes of the same sequence, of another, and of several threads. */
#include "config.h"

#include "tests/taskgraph_fixture.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "src/starpu/taskgraph_table.h"

#define MAX_LIVE  160
#define N_THREADS 4

static struct {
    struct sp_tg_table table;
    bool has_table;
    char *memory; /* of the first arena */
} replay;

static int setup(void **state)
{
    (void)state;
    begin_world();
    memset(&replay, 0, sizeof(replay));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    end_world();
    if (replay.has_table)
        sp_tg_table_fini(&replay.table);
    free(replay.memory);
    return 0;
}

/* A table for what is recorded, at the addresses of `offsets`, with memory of its own. */
static void make_table(const uint64_t *offsets)
{
    uint32_t arenas[MAX_LIVE] = {0};
    struct sp_tg_layout layout = {offsets, arenas, 1, 256};

    assert_ok(sp_tg_table_init(&replay.table, &world.record, &layout));
    replay.has_table = true;
    replay.memory = aligned_alloc(4096, 16 * KIB * KIB);
    assert_non_null(replay.memory);
    assert_true(sp_tg_arena_get(&replay.table.arenas[0]));
    sp_tg_arena_set(&replay.table.arenas[0], replay.memory);
    sp_tg_table_begin(&replay.table);
}

static void *take(uint64_t size)
{
    struct sp_tg_request request = {.size = size};
    void *ptr = NULL;

    return sp_tg_table_take(&replay.table, &request, 0, &ptr) ? ptr : NULL;
}

static enum sp_tg_given give(void *ptr)
{
    void *arena;

    return sp_tg_table_give(&replay.table, ptr, &arena);
}

static void end_and_begin(void)
{
    sp_tg_table_end(&replay.table);
    sp_tg_table_begin(&replay.table);
}

/* ---- records -------------------------------------------------------------------------- */

static void a_block_lives_from_its_request_to_its_free(void **state)
{
    (void)state;
    log_alloc(100, 0x1000);
    log_alloc(200, 0x2000);
    log_free(0x1000);
    make_record();
    assert_int_equal(world.record.n_blocks, 2);
    assert_int_equal(world.record.blocks[0].lower, 0);
    assert_int_equal(world.record.blocks[0].upper, 2);
    assert_false(world.record.blocks[0].is_output);
    assert_int_equal(world.record.blocks[1].upper, 3);
    assert_true(world.record.blocks[1].is_output);
    sp_tg_log_end(&world.log);
    log_free(0x2000);
    make_record();
    assert_true(world.record.blocks[1].is_output);
}

static void an_address_that_comes_again_is_another_block(void **state)
{
    (void)state;
    log_alloc(100, 0x1000);
    log_free(0x1000);
    log_alloc(100, 0x1000);
    log_free(0x1000);
    make_record();
    assert_int_equal(world.record.n_blocks, 2);
    assert_int_equal(world.record.blocks[0].upper, 1);
    assert_int_equal(world.record.blocks[1].lower, 2);
    assert_int_equal(world.record.blocks[1].number, 1);
}

static void node_and_size_and_door_tell_requests_apart(void **state)
{
    struct sp_tg_request requests[] = {{100, 0, 0}, {100, 1, 0}, {100, 0, 1}, {101, 0, 0}};
    size_t i;

    (void)state;
    for (i = 0; i < 4; i++)
        sp_tg_log_alloc(&world.log, &requests[i], (void *)(0x1000 * (i + 1)), SP_TG_NONE);
    make_record();
    assert_int_equal(world.record.keys.n, 4);
    for (i = 0; i < 4; i++)
        assert_int_equal(sp_tg_keys_find(&world.record.keys, &requests[i]), i);
}

static void hashes_know_the_order_and_the_counts(void **state)
{
    uint64_t order, counts;

    (void)state;
    log_alloc(100, 0x1000);
    log_alloc(200, 0x2000);
    make_record();
    order = world.record.order_hash;
    counts = world.record.counts_hash;
    sp_tg_log_begin(&world.log, 0);
    log_alloc(200, 0x5000);
    log_alloc(100, 0x6000);
    make_record();
    assert_true(world.record.order_hash != order);
    assert_true(world.record.counts_hash == counts);
    sp_tg_log_begin(&world.log, 0);
    log_alloc(100, 0x7000);
    log_alloc(200, 0x8000);
    make_record();
    assert_true(world.record.order_hash == order);
}

static void many_frees_in_a_row_find_room(void **state)
{
    const uintptr_t n = 3 * SP_TG_CHUNK_ENTRIES;
    uintptr_t i;

    (void)state;
    for (i = 1; i <= n; i++)
        log_alloc(i % 7 + 1, i * 4096);
    for (i = 1; i <= n; i++)
        log_free(i * 4096);
    make_record();
    assert_int_equal(world.record.n_blocks, n);
    for (i = 0; i < n; i++)
        assert_int_equal(world.record.blocks[i].upper, n + i);
}

static void frees_of_many_older_blocks_find_room(void **state)
{
    const uintptr_t n = 3 * SP_TG_CHUNK_ENTRIES;
    uintptr_t i;

    (void)state;
    sp_tg_log_begin(&world.log, n);
    for (i = 1; i <= n; i++)
        log_free(i * 4096);
    log_alloc(100, 0x1000);
    make_record();
    assert_int_equal(world.record.n_blocks, 1);
    assert_int_equal(world.record.blocks[0].lower, n);
}

/* ---- replay --------------------------------------------------------------------------- */

/* Two blocks one after the other at one place, and one beside them. */
static void record_three(void)
{
    static const uint64_t offsets[] = {0, 1024, 0};

    log_alloc(1000, 0x1000);
    log_alloc(300, 0x2000);
    log_free(0x1000);
    log_alloc(1001, 0x3000);
    log_free(0x3000);
    log_free(0x2000);
    make_record();
    make_table(offsets);
}

static void the_same_sequence_is_served_at_the_planned_places(void **state)
{
    char *a, *b, *c;

    (void)state;
    record_three();
    a = take(1000);
    b = take(300);
    assert_ptr_equal(a, replay.memory);
    assert_ptr_equal(b, replay.memory + 1024);
    assert_int_equal(give(a), SP_TG_GIVEN);
    c = take(1001);
    assert_ptr_equal(c, replay.memory);
    assert_int_equal(give(c), SP_TG_GIVEN);
    assert_int_equal(give(b), SP_TG_GIVEN);
    assert_int_equal(replay.table.n_served, 3);
    assert_int_equal(replay.table.arenas[0].high, 1024 + 512);
}

static void a_range_in_use_is_not_given_again(void **state)
{
    void *a;

    (void)state;
    record_three();
    a = take(1000);
    assert_null(take(1001));
    assert_int_equal(replay.table.n_deviations[SP_TG_BUSY], 1);
    assert_int_equal(give(a), SP_TG_GIVEN);
    assert_null(take(1001));
    assert_int_equal(replay.table.n_deviations[SP_TG_BEYOND], 1);
}

static void what_comes_out_of_order_keeps_its_place_from_the_other(void **state)
{
    void *c;

    (void)state;
    record_three();
    c = take(1001);
    assert_ptr_equal(c, replay.memory);
    assert_null(take(1000));
    assert_int_equal(replay.table.n_deviations[SP_TG_BUSY], 1);
    assert_int_equal(give(c), SP_TG_GIVEN);
}

/* The large block's flags are in several words, and only the last of its range is in use. */
static void a_refused_range_leaves_no_flag_behind(void **state)
{
    uint64_t offsets[MAX_LIVE];
    void *last;
    unsigned i;

    (void)state;
    for (i = 0; i < MAX_LIVE - 1; i++) {
        log_alloc(i < MAX_LIVE - 2 ? 256 : 255, 0x1000 * (uintptr_t)(i + 1));
        offsets[i] = 256 * (uint64_t)i;
    }
    log_alloc(256 * (MAX_LIVE - 1), 0x1000 * (uintptr_t)MAX_LIVE);
    offsets[MAX_LIVE - 1] = 0;
    make_record();
    make_table(offsets);
    last = take(255);
    assert_null(take(256 * (MAX_LIVE - 1)));
    for (i = 0; i < MAX_LIVE - 2; i++)
        assert_ptr_equal(take(256), replay.memory + 256 * (size_t)i);
    assert_int_equal(give(last), SP_TG_GIVEN);
}

static void another_of_the_size_serves_where_the_own_place_is_in_use(void **state)
{
    static const uint64_t offsets[] = {0, 0, 1024, 0};
    char *a;

    (void)state;
    log_alloc(4000, 0x1000);
    log_free(0x1000);
    log_alloc(1000, 0x2000);
    log_alloc(1000, 0x3000);
    make_record();
    make_table(offsets);
    a = take(1000);
    assert_ptr_equal(a, replay.memory);
    assert_ptr_equal(take(1000), replay.memory + 1024);
    assert_int_equal(give(a), SP_TG_GIVEN);
    end_and_begin();
    assert_ptr_equal(take(1000), replay.memory);
    assert_int_equal(replay.table.n_moved, 0);
    assert_null(take(1000));
}

static void a_block_of_an_earlier_iteration_keeps_its_range(void **state)
{
    void *a;

    (void)state;
    record_three();
    a = take(1000);
    end_and_begin();
    assert_null(take(1000));
    assert_null(take(1001));
    assert_int_equal(replay.table.n_deviations[SP_TG_BUSY], 2);
    assert_int_equal(give(a), SP_TG_GIVEN);
    end_and_begin();
    assert_ptr_equal(take(1000), replay.memory);
}

static void unknown_requests_are_counted_by_cause(void **state)
{
    struct sp_tg_request request = {.size = 300};
    void *ptr = NULL;

    (void)state;
    record_three();
    assert_null(take(7));
    assert_int_equal(replay.table.n_deviations[SP_TG_UNKNOWN], 1);
    assert_false(sp_tg_table_take(&replay.table, &request, 4096, &ptr));
    assert_int_equal(replay.table.n_deviations[SP_TG_UNALIGNED], 1);
    assert_null(ptr);
}

static void nothing_is_served_outside_an_iteration(void **state)
{
    (void)state;
    record_three();
    sp_tg_table_end(&replay.table);
    assert_null(take(1000));
    sp_tg_table_begin(&replay.table);
    assert_int_equal(replay.table.n_requests, 0);
}

static void wrong_frees_are_told_from_right_ones(void **state)
{
    char *a;

    (void)state;
    record_three();
    a = take(1000);
    assert_int_equal(give(a + 8), SP_TG_WRONG);
    assert_int_equal(give(replay.memory + 1024), SP_TG_WRONG);
    assert_int_equal(give(replay.memory + replay.table.arenas[0].size), SP_TG_ELSEWHERE);
    assert_int_equal(give(a), SP_TG_GIVEN);
    assert_int_equal(give(a), SP_TG_WRONG);
}

static void an_arena_goes_back_when_it_is_neither_replayed_nor_in_use(void **state)
{
    struct sp_tg_arena *arena;
    void *a, *back;

    (void)state;
    record_three();
    arena = &replay.table.arenas[0];
    a = take(1000);
    sp_tg_table_end(&replay.table);
    assert_null(sp_tg_arena_put(arena));
    assert_int_equal(sp_tg_table_give(&replay.table, a, &back), SP_TG_GIVEN);
    assert_ptr_equal(back, replay.memory);
    assert_int_equal(give(a), SP_TG_ELSEWHERE);
    assert_true(sp_tg_arena_get(arena));
    sp_tg_arena_set(arena, NULL);
    sp_tg_table_begin(&replay.table);
    assert_null(take(1000));
    assert_int_equal(replay.table.n_deviations[SP_TG_NO_ARENA], 1);
}

static void a_range_that_was_let_go_serves_only_while_a_block_lives(void **state)
{
    static const uint64_t offsets[] = {0, 1024, 2048};
    struct sp_tg_arena *arena;
    void *a, *b, *back;

    (void)state;
    log_alloc(1000, 0x1000);
    log_alloc(1000, 0x2000);
    log_alloc(1000, 0x3000);
    make_record();
    make_table(offsets);
    arena = &replay.table.arenas[0];
    /* As a thread sees it that comes while another puts the last reference. */
    atomic_store(&arena->refs, 0);
    assert_null(take(1000));
    atomic_store(&arena->refs, 1);
    end_and_begin();
    a = take(1000);
    assert_true(sp_tg_table_let_go(&replay.table));
    assert_false(sp_tg_table_let_go(&replay.table));
    assert_null(sp_tg_arena_put(arena));
    b = take(1000);
    assert_ptr_equal(b, replay.memory + 1024);
    assert_int_equal(give(a), SP_TG_GIVEN);
    assert_int_equal(sp_tg_table_give(&replay.table, b, &back), SP_TG_GIVEN);
    assert_ptr_equal(back, replay.memory);
    assert_null(take(1000));
    assert_int_equal(replay.table.n_deviations[SP_TG_NO_ARENA], 1);
}

/* ---- threads -------------------------------------------------------------------------- */

/* What a thread got, and whether it found anybody else's mark in it. */
struct worker {
    uint64_t seed;
    unsigned char mark;
    unsigned n_rounds;
    unsigned n_served, n_spoiled;
};

static void *work(void *arg)
{
    struct worker *worker = arg;
    unsigned i, byte;

    for (i = 0; i < worker->n_rounds; i++) {
        uint64_t size = 256 * (1 + sp_test_random_below(&worker->seed, 4));
        unsigned char *block = take(size);

        if (block == NULL)
            continue;
        worker->n_served++;
        memset(block, worker->mark, size);
        for (byte = 0; byte < size; byte += 64)
            worker->n_spoiled += block[byte] != worker->mark;
        give(block);
    }
    return NULL;
}

/* Run all of them at once; the sum of what they were served. */
static unsigned run_workers(void *(*body)(void *), struct worker *workers)
{
    pthread_t threads[N_THREADS];
    unsigned n_served = 0;
    unsigned i;

    for (i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, body, &workers[i]), 0);
    for (i = 0; i < N_THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(workers[i].n_spoiled, 0);
        n_served += workers[i].n_served;
    }
    return n_served;
}

static void threads_never_share_a_range(void **state)
{
    struct worker workers[N_THREADS];
    uint64_t offsets[MAX_LIVE];
    unsigned n_served = 0;
    unsigned i, round;

    (void)state;
    /* All places overlap some others. */
    for (i = 0; i < MAX_LIVE; i++) {
        log_alloc(256 * (1 + i % 4), 0x1000 * (i + 1));
        offsets[i] = 256 * (uint64_t)(i % 5);
    }
    make_record();
    make_table(offsets);
    for (round = 0; round < sp_test_scaled(200); round++) {
        end_and_begin();
        for (i = 0; i < N_THREADS; i++)
            workers[i] = (struct worker){.seed = sp_test_seed() + 31 * round + i,
                                         .mark = (unsigned char)(i + 1),
                                         .n_rounds = 16};
        n_served += run_workers(work, workers);
    }
    assert_true(n_served > 0);
    /* Whatever was refused meanwhile, no flag is left. */
    for (i = 0; i <= replay.table.n_cells / 64; i++)
        assert_true(replay.table.busy[i] == 0);
}

/* Each lets go of the range while others take from it: its memory comes back exactly once. */
static void *work_and_let_go(void *arg)
{
    struct worker *worker = arg;
    void *block = take(256);
    void *back = NULL;

    if (sp_tg_table_let_go(&replay.table))
        worker->n_served += sp_tg_arena_put(&replay.table.arenas[0]) != NULL;
    if (block != NULL)
        sp_tg_table_give(&replay.table, block, &back);
    worker->n_served += back != NULL;
    return NULL;
}

static void a_range_goes_back_once_whoever_lets_go_of_it(void **state)
{
    static const uint64_t offsets[N_THREADS] = {0, 256, 512, 768};
    unsigned i, round;

    (void)state;
    for (i = 0; i < N_THREADS; i++)
        log_alloc(256, 0x1000 * (i + 1));
    make_record();
    make_table(offsets);
    for (round = 0; round < sp_test_scaled(200); round++) {
        struct worker workers[N_THREADS] = {{0}};

        assert_int_equal(run_workers(work_and_let_go, workers), 1);
        sp_tg_table_end(&replay.table);
        assert_true(sp_tg_arena_get(&replay.table.arenas[0]));
        sp_tg_arena_set(&replay.table.arenas[0], replay.memory);
        sp_tg_table_begin(&replay.table);
    }
}

static _Atomic bool is_over;

static void *write_entries(void *arg)
{
    uintptr_t address = (uintptr_t)arg;
    unsigned n = 0;

    while (!atomic_load(&is_over)) {
        log_alloc(100, address);
        log_free(address);
        /* The reader must come to its turn before the log is long. */
        if (++n % 64 == 0)
            sched_yield();
    }
    return NULL;
}

/* A thread that has seen an iteration may be late: what it writes then is in none. */
static void late_threads_do_not_disturb_what_is_read(void **state)
{
    pthread_t threads[N_THREADS];
    unsigned i, round;

    (void)state;
    for (i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, write_entries,
                                        (void *)(uintptr_t)(4096 * (i + 1))),
                         0);
    for (round = 0; round < sp_test_scaled(200); round++) {
        sp_tg_log_begin(&world.log, 0);
        while (sp_tg_log_n_entries(&world.log) < 100)
            sched_yield();
        sp_tg_log_end(&world.log);
        make_record();
        if (world.record.n_blocks != atomic_load(&world.log.n_allocs))
            break;
    }
    atomic_store(&is_over, true);
    for (i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(round, sp_test_scaled(200));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_block_lives_from_its_request_to_its_free),
        CASE(an_address_that_comes_again_is_another_block),
        CASE(node_and_size_and_door_tell_requests_apart),
        CASE(hashes_know_the_order_and_the_counts),
        CASE(many_frees_in_a_row_find_room),
        CASE(frees_of_many_older_blocks_find_room),
        CASE(the_same_sequence_is_served_at_the_planned_places),
        CASE(a_range_in_use_is_not_given_again),
        CASE(what_comes_out_of_order_keeps_its_place_from_the_other),
        CASE(a_refused_range_leaves_no_flag_behind),
        CASE(another_of_the_size_serves_where_the_own_place_is_in_use),
        CASE(a_block_of_an_earlier_iteration_keeps_its_range),
        CASE(unknown_requests_are_counted_by_cause),
        CASE(nothing_is_served_outside_an_iteration),
        CASE(wrong_frees_are_told_from_right_ones),
        CASE(an_arena_goes_back_when_it_is_neither_replayed_nor_in_use),
        CASE(a_range_that_was_let_go_serves_only_while_a_block_lives),
        CASE(threads_never_share_a_range),
        CASE(a_range_goes_back_once_whoever_lets_go_of_it),
        CASE(late_threads_do_not_disturb_what_is_read),
    };

    return cmocka_run_group_tests_name("taskgraph", tests, NULL, NULL);
}
