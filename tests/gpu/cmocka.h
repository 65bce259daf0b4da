/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What our tests use of cmocka, for machines that have a GPU and no cmocka: tests/gpu_check.sh
 * compiles them with this folder in front. Results are TAP; a crash ends the program. */
#ifndef SP_GPU_CMOCKA_H
#define SP_GPU_CMOCKA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

typedef int (*CMFixtureFunction)(void **state);

struct CMUnitTest {
    const char *name;
    void (*test_func)(void **state);
    CMFixtureFunction setup_func, teardown_func;
    void *initial_state;
};

#define cmocka_unit_test_setup_teardown(function, setup, teardown) \
    {                                                              \
#function, function, setup, teardown, NULL                 \
    }
#define cmocka_unit_test(function) cmocka_unit_test_setup_teardown(function, NULL, NULL)
#define cmocka_unit_test_setup(function, setup) \
    cmocka_unit_test_setup_teardown(function, setup, NULL)
#define cmocka_unit_test_teardown(function, teardown) \
    cmocka_unit_test_setup_teardown(function, NULL, teardown)

/* The number of cases that failed. */
int _cmocka_run_group_tests(const char *group, const struct CMUnitTest *tests, size_t n_tests,
                            CMFixtureFunction setup, CMFixtureFunction teardown);
#define cmocka_run_group_tests_name(group, tests, setup, teardown) \
    _cmocka_run_group_tests(group, tests, sizeof(tests) / sizeof((tests)[0]), setup, teardown)
#define cmocka_run_group_tests(tests, setup, teardown) \
    cmocka_run_group_tests_name(#tests, tests, setup, teardown)

void print_message(const char *format, ...) __attribute__((format(printf, 1, 2)));
void print_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* End the case: failed, or skipped. */
void _fail(const char *file, int line) __attribute__((noreturn));
void _skip(const char *file, int line) __attribute__((noreturn));
#define fail() _fail(__FILE__, __LINE__)
#define skip() _skip(__FILE__, __LINE__)
#define fail_msg(...)                    \
    do {                                 \
        print_message("# " __VA_ARGS__); \
        print_message("\n");             \
        fail();                          \
    } while (0)

void sp_cmocka_true(int holds, const char *text, const char *file, int line);
void sp_cmocka_equal(uintmax_t left, uintmax_t right, int is_equal, const char *file, int line);
void sp_cmocka_string(const char *left, const char *right, int is_equal, const char *file,
                      int line);
void sp_cmocka_memory(const void *left, const void *right, size_t size, int is_equal,
                      const char *file, int line);

#define assert_true(expr)    sp_cmocka_true(!!(expr), #expr, __FILE__, __LINE__)
#define assert_false(expr)   sp_cmocka_true(!(expr), "!(" #expr ")", __FILE__, __LINE__)
#define assert_null(ptr)     sp_cmocka_true((ptr) == NULL, #ptr " == NULL", __FILE__, __LINE__)
#define assert_non_null(ptr) sp_cmocka_true((ptr) != NULL, #ptr " != NULL", __FILE__, __LINE__)
#define SP_NUMBER(value)     ((uintmax_t)(uintptr_t)(value))
#define assert_int_equal(left, right) \
    sp_cmocka_equal((uintmax_t)(left), (uintmax_t)(right), 1, __FILE__, __LINE__)
#define assert_int_not_equal(left, right) \
    sp_cmocka_equal((uintmax_t)(left), (uintmax_t)(right), 0, __FILE__, __LINE__)
#define assert_ptr_equal(left, right) \
    sp_cmocka_equal(SP_NUMBER(left), SP_NUMBER(right), 1, __FILE__, __LINE__)
#define assert_ptr_not_equal(left, right) \
    sp_cmocka_equal(SP_NUMBER(left), SP_NUMBER(right), 0, __FILE__, __LINE__)
#define assert_in_range(value, least, most)                     \
    sp_cmocka_true((uintmax_t)(value) >= (uintmax_t)(least) &&  \
                       (uintmax_t)(value) <= (uintmax_t)(most), \
                   #value " is in " #least " to " #most, __FILE__, __LINE__)
#define assert_string_equal(left, right) sp_cmocka_string(left, right, 1, __FILE__, __LINE__)
#define assert_string_not_equal(left, right) \
    sp_cmocka_string(left, right, 0, __FILE__, __LINE__)
#define assert_memory_equal(left, right, size) \
    sp_cmocka_memory(left, right, size, 1, __FILE__, __LINE__)
#define assert_memory_not_equal(left, right, size) \
    sp_cmocka_memory(left, right, size, 0, __FILE__, __LINE__)

#endif /* SP_GPU_CMOCKA_H */
