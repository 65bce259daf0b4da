/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Messages: one line each, within the level, never longer than a line may be; statuses and
 * bytes as text. */
#include "config.h"

#include "tests/support.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/util/diag.h"
#include "src/util/util.h"
#include "tests/script.h"

/* As diag.c has it. */
#define LINE_SIZE 1024

static int setup(void **state)
{
    (void)state;
    sp_log_set_level(SP_LOG_WARN);
    return 0;
}

static void message_is_one_line_with_our_name(void **state)
{
    const char *text;

    (void)state;
    sp_script_stderr_begin();
    sp_log(SP_LOG_WARN, "%d blocks of %s", 3, "a pool");
    text = sp_script_stderr_end();
    assert_string_equal(text, "starpool: 3 blocks of a pool\n");
}

static void levels_above_the_one_set_are_silent(void **state)
{
    (void)state;
    for (int set = SP_LOG_ERROR; set <= SP_LOG_DEBUG; set++) {
        const char *text;

        sp_log_set_level((enum sp_log_level)set);
        sp_script_stderr_begin();
        for (int level = SP_LOG_ERROR; level <= SP_LOG_DEBUG; level++)
            sp_log((enum sp_log_level)level, "level");
        text = sp_script_stderr_end();
        assert_int_equal(sp_script_n_times(text, "\n"), set + 1);
    }
}

static void long_message_is_cut_and_still_ends_its_line(void **state)
{
    char message[3 * LINE_SIZE];
    const size_t n_fitting = LINE_SIZE - strlen("starpool: ") - 2;

    (void)state;
    for (size_t n = n_fitting - 2; n <= n_fitting + 3; n++) {
        const char *text;

        memset(message, 'm', n);
        message[n] = '\0';
        sp_script_stderr_begin();
        sp_log(SP_LOG_WARN, "%s", message);
        text = sp_script_stderr_end();
        assert_int_equal(strlen(text), strlen("starpool: ") + sp_min(n, n_fitting) + 1);
        assert_int_equal(text[strlen(text) - 1], '\n');
        assert_int_equal(sp_script_n_times(text, "\n"), 1);
    }
}

static void bytes_are_told_in_the_unit_that_fits(void **state)
{
    static const struct {
        unsigned long long bytes;
        const char *text;
    } cases[] = {
        {0, "0 bytes"},        {1023, "1023 bytes"},    {1024, "1 KiB"},
        {1536, "1.5 KiB"},     {64ULL << 20, "64 MiB"}, {1ULL << 30, "1 GiB"},
        {1ULL << 40, "1 TiB"}, {3ULL << 50, "3 PiB"},   {UINT64_MAX, "16 EiB"},
    };
    char text[32];

    (void)state;
    for (size_t i = 0; i < SP_ARRAY_SIZE(cases); i++)
        assert_string_equal(sp_bytes_text(text, sizeof(text), cases[i].bytes), cases[i].text);
}

static void every_status_has_a_name_and_a_sentence(void **state)
{
    static const enum starpool_status statuses[] = {
#define STATUS(name, value, text) STARPOOL_##name,
        STARPOOL_STATUS_MAP(STATUS)
#undef STATUS
    };

    (void)state;
    assert_string_equal(starpool_status_name(STARPOOL_OK), "OK");
    assert_string_equal(starpool_status_name(STARPOOL_ECGROUP), "ECGROUP");
    for (size_t i = 0; i < SP_ARRAY_SIZE(statuses); i++) {
        const char *text = starpool_status_text(statuses[i]);

        assert_int_equal(statuses[i], -(int)i); /* 0 is success, all others negative */
        assert_string_not_equal(starpool_status_name(statuses[i]), "unknown");
        assert_int_not_equal(text[strlen(text) - 1], '.');
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(text, starpool_status_text(statuses[j]));
    }
    assert_string_equal(starpool_status_name((enum starpool_status)1), "unknown");
    assert_string_equal(starpool_status_name((enum starpool_status) - 99), "unknown");
    assert_string_equal(starpool_status_text((enum starpool_status)1),
                        "not a status of starpool");
}

static void broken_invariant_says_where_and_aborts(void **state)
{
    int status = 0;
    const char *text;
    pid_t child;

    (void)state;
    sp_script_stderr_begin();
    child = fork();
    if (child == 0) {
        SP_ASSERT(1 + 1 == 3);
        _exit(0);
    }
    waitpid(child, &status, 0);
    text = sp_script_stderr_end();
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
    assert_int_equal(sp_script_n_times(text, "broken invariant: 1 + 1 == 3"), 1);
    assert_int_equal(sp_script_n_times(text, "test_diag.c:"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(message_is_one_line_with_our_name, setup),
        cmocka_unit_test_setup(levels_above_the_one_set_are_silent, setup),
        cmocka_unit_test_setup(long_message_is_cut_and_still_ends_its_line, setup),
        cmocka_unit_test_setup(bytes_are_told_in_the_unit_that_fits, setup),
        cmocka_unit_test_setup(every_status_has_a_name_and_a_sentence, setup),
        cmocka_unit_test_setup(broken_invariant_says_where_and_aborts, setup),
    };

    return cmocka_run_group_tests_name("diag", tests, NULL, NULL);
}
