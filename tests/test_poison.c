/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* AddressSanitizer sees pool memory as it sees malloc()'s: what is no live block must not be
 * touched. Built without it, every case is skipped. tests/test_valgrind.sh asks valgrind. */
#include "config.h"

#include "tests/support.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/pool/pool.h"
#include "src/util/poison.h"
#include "tests/fixture.h"

extern int __asan_address_is_poisoned(const volatile void *address) __attribute__((weak));

static void skip_without_asan(void)
{
    if (__asan_address_is_poisoned != NULL)
        return;
    print_message("# not built with -fsanitize=address\n");
    skip();
}

/* How many of so many bytes must not be touched. */
static size_t n_poisoned(const char *base, size_t size)
{
    size_t n = 0;

    for (size_t i = 0; i < size && __asan_address_is_poisoned != NULL; i++)
        n += __asan_address_is_poisoned(base + i) != 0;
    return n;
}

static void live_bytes_may_be_touched_and_all_others_not(void **state)
{
    const char *arena = (const char *)fixture.script.arena;
    const size_t live = 1024 + 64 * SP_KIB;
    char *small, *large;

    (void)state;
    skip_without_asan();
    assert_true(sp_poison_is_on);
    small = sp_fixture_alloc(1000);
    large = sp_fixture_alloc(64 * SP_KIB);
    assert_int_equal(n_poisoned(small, 1000), 0);
    assert_int_equal(n_poisoned(large, 64 * SP_KIB), 0);
    assert_int_equal(n_poisoned(arena, SP_MIB), SP_MIB - live);
    memset(small, 1, 1000);
    sp_fixture_give(small);
    sp_fixture_give(large);
    assert_int_equal(n_poisoned(arena, SP_MIB), SP_MIB);
}

static void freed_block_is_forbidden_in_cache_and_heap_until_it_is_live_again(void **state)
{
    static const size_t sizes[] = {1000, 300 * SP_KIB};

    (void)state;
    skip_without_asan();
    for (size_t i = 0; i < SP_ARRAY_SIZE(sizes); i++) {
        char *keeper = sp_fixture_alloc(1), *ptr = sp_fixture_alloc(sizes[i]);

        sp_fixture_give(ptr); /* to the cache */
        assert_int_equal(n_poisoned(ptr, sizes[i]), sizes[i]);
        assert_ptr_equal(sp_fixture_alloc(sizes[i]), ptr);
        assert_int_equal(n_poisoned(ptr, sizes[i]), 0);
        sp_fixture_give(ptr);
        assert_ok(starpool_pool_trim(fixture.pool, 0)); /* to the heap */
        assert_int_equal(n_poisoned(ptr, sizes[i]), sizes[i]);
        sp_fixture_give(keeper);
    }
}

static void memory_that_went_back_is_nobodys_and_may_be_touched(void **state)
{
    const char *arena = (const char *)fixture.script.arena;

    (void)state;
    skip_without_asan();
    sp_fixture_give(sp_fixture_alloc(1000));
    assert_ok(starpool_pool_trim(fixture.pool, 0));
    assert_int_equal(sp_script_bytes(&fixture.script), 0);
    assert_int_equal(n_poisoned(arena, SP_MIB), 0);
}

/* What a child says that reads a byte of a block, and how it ends. */
static const char *report_of_reading(const volatile char *byte, int *status_out)
{
    pid_t child;

    sp_script_stderr_begin();
    child = fork();
    if (child == 0)
        _exit(*byte == 0x55 ? 0 : 1);
    waitpid(child, status_out, 0);
    return sp_script_stderr_end();
}

static void program_that_touches_a_freed_block_is_stopped_with_a_report(void **state)
{
    char *ptr;
    const char *text;
    int status = -1;

    (void)state;
    skip_without_asan();
    ptr = sp_fixture_alloc(1000);
    memset(ptr, 0x55, 1000);
    text = report_of_reading(ptr + 10, &status);
    assert_string_equal(text, "");
    assert_int_equal(status, 0);
    sp_fixture_give(ptr);
    text = report_of_reading(ptr + 10, &status);
    assert_int_equal(sp_script_n_times(text, "ERROR: AddressSanitizer: use-after-poison"), 1);
    assert_int_equal(sp_script_n_times(text, "READ of size 1"), 1);
    assert_int_not_equal(status, 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, sp_fixture_setup, sp_fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(live_bytes_may_be_touched_and_all_others_not),
        CASE(freed_block_is_forbidden_in_cache_and_heap_until_it_is_live_again),
        CASE(memory_that_went_back_is_nobodys_and_may_be_touched),
        CASE(program_that_touches_a_freed_block_is_stopped_with_a_report),
    };

    return cmocka_run_group_tests_name("poison", tests, NULL, NULL);
}
