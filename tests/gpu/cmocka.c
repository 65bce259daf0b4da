/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs cases one after the other; a failed assertion jumps out of its case. */
#include "cmocka.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { RUNS, FAILED = 1, SKIPPED = 2 };

/* Of the one case that runs; its thread is the only one that asserts. */
static jmp_buf end_of_case;

void print_message(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    (void)vprintf(format, arguments);
    va_end(arguments);
}

void print_error(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    (void)vfprintf(stderr, format, arguments);
    va_end(arguments);
}

void _fail(const char *file, int line)
{
    printf("# %s:%d: failed\n", file, line);
    longjmp(end_of_case, FAILED);
}

void _skip(const char *file, int line)
{
    (void)file, (void)line;
    longjmp(end_of_case, SKIPPED);
}

void sp_cmocka_true(int holds, const char *text, const char *file, int line)
{
    if (holds)
        return;
    printf("# %s\n", text);
    _fail(file, line);
}

void sp_cmocka_equal(uintmax_t left, uintmax_t right, int is_equal, const char *file, int line)
{
    if ((left == right) == is_equal)
        return;
    printf("# %#" PRIxMAX " %s %#" PRIxMAX "\n", left, is_equal ? "!=" : "==", right);
    _fail(file, line);
}

void sp_cmocka_string(const char *left, const char *right, int is_equal, const char *file,
                      int line)
{
    if ((strcmp(left, right) == 0) == is_equal)
        return;
    printf("# \"%s\" %s \"%s\"\n", left, is_equal ? "!=" : "==", right);
    _fail(file, line);
}

void sp_cmocka_memory(const void *left, const void *right, size_t size, int is_equal,
                      const char *file, int line)
{
    if ((memcmp(left, right, size) == 0) == is_equal)
        return;
    printf("# %zu bytes are %s\n", size, is_equal ? "different" : "alike");
    _fail(file, line);
}

/* FAILED, SKIPPED or RUNS, which here means that it has run to its end. */
static int run(const struct CMUnitTest *test, void **state)
{
    int result = setjmp(end_of_case);

    if (result != 0)
        return result;
    test->test_func(state);
    return RUNS;
}

static int run_whole(const struct CMUnitTest *test)
{
    void *state = test->initial_state;
    int result;

    if (test->setup_func != NULL && test->setup_func(&state) != 0) {
        printf("# the setup failed\n");
        return FAILED;
    }
    result = run(test, &state);
    if (test->teardown_func != NULL && test->teardown_func(&state) != 0) {
        printf("# the teardown failed\n");
        return FAILED;
    }
    return result;
}

int _cmocka_run_group_tests(const char *group, const struct CMUnitTest *tests, size_t n_tests,
                            CMFixtureFunction setup, CMFixtureFunction teardown)
{
    void *state = NULL;
    int n_failed = 0;

    (void)group;
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    printf("1..%zu\n", n_tests);
    if (setup != NULL && setup(&state) != 0) {
        printf("Bail out! the setup failed\n");
        return (int)n_tests;
    }
    for (size_t i = 0; i < n_tests; i++) {
        int result = run_whole(&tests[i]);

        n_failed += result == FAILED;
        if (result == SKIPPED)
            printf("not ok %zu # SKIP %s\n", i + 1, tests[i].name);
        else
            printf("%sok %zu - %s\n", result == FAILED ? "not " : "", i + 1, tests[i].name);
    }
    if (teardown != NULL && teardown(&state) != 0)
        n_failed++;
    return n_failed;
}
