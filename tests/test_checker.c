/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The happens-before checker: each way in which a block may follow another is legal, and what
 * looks like it but is none is found. */
#include "config.h"

#include "tests/support.h"

#include <stdio.h>
#include <string.h>

#include "src/heap/checker.h"
#include "src/util/util.h"

/* No memory is behind these addresses. */
#define BASE ((uintptr_t)1 << 40)
#define SIZE ((size_t)4096)
#define HOST UINT32_MAX

/* Slots of three streams, whose ids are 11, 12 and 13. */
enum { A, B, C };

static struct {
    struct sp_checker *checker;
    uint64_t last[8]; /* operation of each slot */
} fixture;

static int setup(void **state)
{
    (void)state;
    memset(&fixture, 0, sizeof(fixture));
    fixture.checker = sp_checker_create();
    for (uint32_t slot = A; fixture.checker != NULL && slot <= C; slot++)
        sp_checker_stream(fixture.checker, slot, 11 + slot);
    return fixture.checker == NULL;
}

static int teardown(void **state)
{
    (void)state;
    sp_checker_destroy(fixture.checker);
    return 0;
}

static uint64_t submit(uint32_t slot)
{
    if (slot == HOST)
        return 0;
    sp_checker_submit(fixture.checker, slot, ++fixture.last[slot]);
    return fixture.last[slot];
}

static bool alloc_at(uint32_t slot, uintptr_t start, size_t size)
{
    return sp_checker_alloc(fixture.checker, start, size, slot, submit(slot));
}

static bool free_at(uint32_t slot, uintptr_t start)
{
    return sp_checker_free(fixture.checker, start, slot, submit(slot));
}

/* `slot` waits for all that `other` has been given. */
static void wait_for(uint32_t slot, uint32_t other)
{
    sp_checker_wait(fixture.checker, slot, other, fixture.last[other]);
}

static struct sp_checker_report report(void)
{
    struct sp_checker_report report;

    sp_checker_report(fixture.checker, &report);
    return report;
}

/* A block of stream A at BASE, which A has freed. */
static void free_one_in_a(void)
{
    assert_true(alloc_at(A, BASE, SIZE));
    assert_true(free_at(A, BASE));
}

/* ---- reuse ------------------------------------------------------------------------------- */

static void same_stream_may_reuse_at_once(void **state)
{
    (void)state;
    free_one_in_a();
    assert_true(alloc_at(A, BASE, SIZE));
    assert_int_equal(report().n_checked, 2);
    assert_int_equal(report().n_violations, 0);
    assert_string_equal(report().first, "");
}

static void other_stream_may_not_reuse_without_order(void **state)
{
    (void)state;
    free_one_in_a();
    assert_false(alloc_at(B, BASE, SIZE));
    assert_int_equal(report().n_violations, 1);
}

static void live_block_may_not_be_handed_out_again(void **state)
{
    (void)state;
    assert_true(alloc_at(A, BASE, SIZE));
    assert_false(alloc_at(A, BASE, SIZE));
    assert_false(alloc_at(HOST, BASE, SIZE));
    assert_int_equal(report().n_violations, 2);
}

static void stream_that_waited_for_the_free_may_reuse(void **state)
{
    (void)state;
    free_one_in_a();
    wait_for(B, A);
    assert_true(alloc_at(B, BASE, SIZE));
}

static void wait_for_an_operation_before_the_free_is_not_enough(void **state)
{
    (void)state;
    assert_true(alloc_at(A, BASE, SIZE));
    wait_for(B, A);
    assert_true(free_at(A, BASE));
    assert_false(alloc_at(B, BASE, SIZE));
}

static void wait_is_transitive(void **state)
{
    (void)state;
    free_one_in_a();
    wait_for(B, A);
    submit(B);
    wait_for(C, B);
    assert_true(alloc_at(C, BASE, SIZE));
}

static void wait_brings_only_what_the_operation_knew(void **state)
{
    (void)state;
    free_one_in_a();
    submit(B);
    /* What B waits for after that operation does not come before it. */
    wait_for(B, A);
    sp_checker_wait(fixture.checker, C, B, 1);
    submit(B);
    sp_checker_wait(fixture.checker, C, B, 1);
    assert_false(alloc_at(C, BASE, SIZE));
}

static void wait_is_not_mutual(void **state)
{
    (void)state;
    submit(B);
    wait_for(A, B);
    free_one_in_a();
    assert_false(alloc_at(B, BASE, SIZE));
}

static void old_operation_is_known_by_what_it_knew_then(void **state)
{
    (void)state;
    free_one_in_a();
    for (int i = 0; i < 20; i++) {
        submit(B);
        submit(C);
        wait_for(B, C);
    }
    wait_for(B, A);
    submit(B); /* 21 */
    for (int i = 0; i < 20; i++) {
        submit(C);
        wait_for(B, C);
        submit(B);
    }
    sp_checker_stream(fixture.checker, 3, 14);
    sp_checker_wait(fixture.checker, 3, B, 20);
    assert_false(alloc_at(3, BASE, SIZE));
    sp_checker_wait(fixture.checker, 3, B, 21);
    assert_true(free_at(3, BASE));
    assert_true(alloc_at(3, BASE, SIZE));
}

static void internal_wait_comes_before_the_allocation_it_is_for(void **state)
{
    uint64_t seq;

    (void)state;
    assert_true(alloc_at(A, BASE + SIZE, SIZE));
    assert_true(free_at(A, BASE + SIZE));
    free_one_in_a();
    seq = submit(B);
    wait_for(B, A);
    assert_true(sp_checker_alloc(fixture.checker, BASE, SIZE, B, seq));
    /* Who comes after the allocation comes after what A has done, too. */
    sp_checker_wait(fixture.checker, C, B, seq);
    assert_true(alloc_at(C, BASE + SIZE, SIZE));
}

static void host_sees_what_comes_before_what_it_sees(void **state)
{
    (void)state;
    free_one_in_a();
    wait_for(B, A);
    submit(B);
    assert_false(alloc_at(HOST, BASE, SIZE));
    assert_true(free_at(HOST, BASE));
    assert_true(alloc_at(A, BASE, SIZE));
    assert_true(free_at(A, BASE));
    wait_for(B, A);
    sp_checker_see(fixture.checker, B, submit(B));
    assert_true(alloc_at(C, BASE, SIZE));
}

static void host_takes_only_what_it_has_seen(void **state)
{
    (void)state;
    free_one_in_a();
    sp_checker_executed(fixture.checker, A, fixture.last[A]);
    assert_false(alloc_at(HOST, BASE, SIZE));
    assert_true(free_at(HOST, BASE));
    free_one_in_a();
    sp_checker_see(fixture.checker, A, fixture.last[A]);
    assert_true(alloc_at(HOST, BASE, SIZE));
}

static void executed_free_may_be_reused_anywhere(void **state)
{
    (void)state;
    free_one_in_a();
    sp_checker_executed(fixture.checker, A, fixture.last[A] - 1);
    assert_false(alloc_at(B, BASE, SIZE));
    assert_true(free_at(B, BASE));
    sp_checker_executed(fixture.checker, B, fixture.last[B]);
    assert_true(alloc_at(C, BASE, SIZE));
}

static void what_comes_before_an_executed_operation_has_executed(void **state)
{
    (void)state;
    free_one_in_a();
    wait_for(B, A);
    sp_checker_executed(fixture.checker, B, submit(B));
    assert_true(alloc_at(C, BASE, SIZE));
}

static void host_frees_for_everybody(void **state)
{
    (void)state;
    assert_true(alloc_at(A, BASE, SIZE));
    assert_true(free_at(HOST, BASE));
    assert_true(alloc_at(B, BASE, SIZE));
    assert_true(free_at(HOST, BASE));
    assert_true(alloc_at(HOST, BASE, SIZE));
}

/* ---- parts of blocks --------------------------------------------------------------------- */

static void block_on_parts_of_two_is_checked_against_both(void **state)
{
    (void)state;
    assert_true(alloc_at(A, BASE, SIZE));
    assert_true(alloc_at(B, BASE + SIZE, SIZE));
    assert_true(free_at(A, BASE));
    assert_true(free_at(B, BASE + SIZE));
    assert_false(alloc_at(A, BASE + SIZE / 2, SIZE));
    assert_non_null(strstr(report().first, "stream 12"));
}

static void what_is_left_of_a_freed_block_keeps_its_free(void **state)
{
    (void)state;
    assert_true(alloc_at(A, BASE, 3 * SIZE));
    assert_true(free_at(A, BASE));
    assert_true(alloc_at(A, BASE + SIZE, SIZE));
    assert_false(alloc_at(B, BASE, SIZE));
    assert_false(alloc_at(B, BASE + 2 * SIZE, SIZE));
    assert_int_equal(report().n_violations, 2);
    assert_true(free_at(A, BASE + SIZE));
}

static void last_byte_of_a_live_block_counts(void **state)
{
    (void)state;
    assert_true(alloc_at(A, BASE, SIZE));
    assert_true(alloc_at(A, BASE + SIZE, SIZE));
    assert_true(free_at(A, BASE + SIZE));
    assert_false(alloc_at(A, BASE + SIZE - 1, SIZE));
}

static void forgotten_memory_is_free_for_all(void **state)
{
    (void)state;
    assert_true(alloc_at(A, BASE, 4 * SIZE));
    assert_true(free_at(A, BASE));
    sp_checker_forget(fixture.checker, BASE + SIZE, 2 * SIZE);
    assert_true(alloc_at(B, BASE + SIZE, 2 * SIZE));
    assert_false(alloc_at(B, BASE, SIZE));
    assert_false(alloc_at(B, BASE + 3 * SIZE, SIZE));
}

/* ---- frees ------------------------------------------------------------------------------- */

static void only_live_blocks_are_freed_and_only_by_their_start(void **state)
{
    (void)state;
    assert_false(free_at(A, BASE));
    assert_true(alloc_at(A, BASE, SIZE));
    assert_false(free_at(A, BASE + 256));
    assert_true(free_at(A, BASE));
    assert_false(free_at(A, BASE));
    assert_false(free_at(HOST, BASE));
    assert_int_equal(report().n_violations, 4);
}

static void free_must_come_after_the_allocation(void **state)
{
    (void)state;
    assert_true(alloc_at(A, BASE, SIZE));
    assert_false(free_at(B, BASE));
    assert_true(alloc_at(A, BASE + SIZE, SIZE));
    wait_for(B, A);
    assert_true(free_at(B, BASE + SIZE));
    assert_true(alloc_at(A, BASE + 2 * SIZE, SIZE));
    sp_checker_executed(fixture.checker, A, fixture.last[A]);
    assert_true(free_at(C, BASE + 2 * SIZE));
    assert_true(alloc_at(HOST, BASE + 3 * SIZE, SIZE));
    assert_true(free_at(C, BASE + 3 * SIZE));
    assert_int_equal(report().n_violations, 1);
}

static void free_on_another_stream_is_the_one_that_counts(void **state)
{
    (void)state;
    assert_true(alloc_at(A, BASE, SIZE));
    wait_for(B, A);
    assert_true(free_at(B, BASE));
    assert_false(alloc_at(A, BASE, SIZE));
}

/* ---- streams that come and go ------------------------------------------------------------ */

static void new_stream_in_a_slot_is_not_the_old_one(void **state)
{
    (void)state;
    free_one_in_a();
    sp_checker_stream(fixture.checker, A, 14);
    assert_false(alloc_at(A, BASE, SIZE));
    assert_non_null(strstr(report().first, "stream 11"));
    assert_non_null(strstr(report().first, "stream 14"));
}

static void wait_for_a_stream_is_none_for_the_one_before_it_in_its_slot(void **state)
{
    (void)state;
    free_one_in_a();
    sp_checker_stream(fixture.checker, A, 14);
    submit(A);
    wait_for(B, A);
    assert_false(alloc_at(B, BASE, SIZE));
}

static void operations_of_a_gone_stream_still_count(void **state)
{
    (void)state;
    free_one_in_a();
    sp_checker_stream(fixture.checker, A, 14);
    submit(A);
    sp_checker_wait(fixture.checker, B, A, 2);
    assert_true(alloc_at(B, BASE, SIZE));
    assert_true(free_at(B, BASE));
    sp_checker_see(fixture.checker, B, fixture.last[B]);
    assert_true(alloc_at(C, BASE, SIZE));
}

/* So many that each place in the checker is used again and again. */
static void streams_come_and_go_without_end(void **state)
{
    (void)state;
    assert_true(alloc_at(B, BASE + SIZE, SIZE));
    for (uint64_t id = 14; id < 1000; id++) {
        free_one_in_a();
        sp_checker_stream(fixture.checker, A, id);
        if (id % 3 != 0)
            sp_checker_see(fixture.checker, A, fixture.last[A]);
        else
            wait_for(C, A);
        assert_true(alloc_at(id % 3 == 0 ? C : A, BASE, SIZE));
        assert_true(free_at(HOST, BASE));
    }
    assert_false(alloc_at(A, BASE + SIZE, SIZE));
    assert_int_equal(report().n_violations, 1);
}

/* ---- the report -------------------------------------------------------------------------- */

static void first_violation_is_told_with_both_sides(void **state)
{
    (void)state;
    free_one_in_a();
    assert_false(alloc_at(B, BASE + 256, 512));
    assert_string_equal(report().first,
                        "0x10000000100+512 allocated by operation 1 of stream 12 is on "
                        "0x10000000100+512, whose free need not be over by operation 2 of "
                        "stream 11");
    assert_false(alloc_at(C, BASE + 256, 512));
    assert_int_equal(report().n_violations, 2);
    assert_non_null(strstr(report().first, "stream 12"));
}

/* Many small blocks, so that pieces are looked through and dropped again and again. */
static void what_the_host_has_seen_is_dropped_and_the_rest_is_not(void **state)
{
    (void)state;
    for (int round = 0; round < 10; round++) {
        for (uintptr_t i = 0; i < 300; i++) {
            uint32_t slot = i % 7 == 0 ? B : A;

            assert_true(alloc_at(slot, BASE + i * SIZE, SIZE));
            assert_true(free_at(slot, BASE + i * SIZE));
        }
        sp_checker_see(fixture.checker, A, fixture.last[A]);
        for (uintptr_t i = 0; i < 300; i++) {
            bool is_legal = alloc_at(C, BASE + i * SIZE, SIZE);

            assert_int_equal(is_legal, i % 7 != 0);
            assert_true(free_at(HOST, BASE + i * SIZE));
        }
    }
    assert_int_equal(report().n_violations, 10 * 43);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(same_stream_may_reuse_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(other_stream_may_not_reuse_without_order, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(live_block_may_not_be_handed_out_again, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(stream_that_waited_for_the_free_may_reuse, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(wait_for_an_operation_before_the_free_is_not_enough,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(wait_is_transitive, setup, teardown),
        cmocka_unit_test_setup_teardown(wait_brings_only_what_the_operation_knew, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(wait_is_not_mutual, setup, teardown),
        cmocka_unit_test_setup_teardown(old_operation_is_known_by_what_it_knew_then, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(internal_wait_comes_before_the_allocation_it_is_for,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(host_sees_what_comes_before_what_it_sees, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(host_takes_only_what_it_has_seen, setup, teardown),
        cmocka_unit_test_setup_teardown(executed_free_may_be_reused_anywhere, setup, teardown),
        cmocka_unit_test_setup_teardown(what_comes_before_an_executed_operation_has_executed,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(host_frees_for_everybody, setup, teardown),
        cmocka_unit_test_setup_teardown(block_on_parts_of_two_is_checked_against_both, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_is_left_of_a_freed_block_keeps_its_free, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(last_byte_of_a_live_block_counts, setup, teardown),
        cmocka_unit_test_setup_teardown(forgotten_memory_is_free_for_all, setup, teardown),
        cmocka_unit_test_setup_teardown(only_live_blocks_are_freed_and_only_by_their_start,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(free_must_come_after_the_allocation, setup, teardown),
        cmocka_unit_test_setup_teardown(free_on_another_stream_is_the_one_that_counts, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(new_stream_in_a_slot_is_not_the_old_one, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(
            wait_for_a_stream_is_none_for_the_one_before_it_in_its_slot, setup, teardown),
        cmocka_unit_test_setup_teardown(operations_of_a_gone_stream_still_count, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(streams_come_and_go_without_end, setup, teardown),
        cmocka_unit_test_setup_teardown(first_violation_is_told_with_both_sides, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_the_host_has_seen_is_dropped_and_the_rest_is_not,
                                        setup, teardown),
    };

    return cmocka_run_group_tests_name("checker", tests, NULL, NULL);
}
