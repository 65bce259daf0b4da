/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Options: sizes, choices, flags, and what is said of values and names that are none. A process
 * reads its environment once, so each case asks a process of its own: this program, with "show"
 * and an option's number. */
#include "config.h"

#include "tests/support.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/util/options.h"
#include "tests/script.h"

/* A user that owns nothing: nobody, on most systems. */
#define OTHER_USER 65534

extern char **environ;

/* ---- the other process --------------------------------------------------------------------
 */

/* "origin number rejected secure value" of an option. */
static int show(const char *number)
{
    const struct sp_option *option = sp_option((enum sp_option_id)strtol(number, NULL, 10));

    printf("%d %" PRIu64 " %u %lu %s\n", (int)option->origin, option->number,
           sp_options_n_rejected(), getauxval(AT_SECURE), option->value);
    return 0;
}

static void leave_no_option_set(void)
{
    for (char **entry = environ; *entry != NULL; entry++) {
        char name[128];

        if (strncmp(*entry, "STARPOOL_", 9) != 0)
            continue;
        snprintf(name, sizeof(name), "%.*s", (int)strcspn(*entry, "="), *entry);
        unsetenv(name);
        entry = environ - 1; /* they have moved */
    }
}

struct shown {
    int origin;
    uint64_t number;
    unsigned n_rejected;
    unsigned long is_secure;
    char value[256];
    char text[4096]; /* what it said besides */
};

static void read_shown(FILE *out, struct shown *shown)
{
    char line[512], *at = line;

    assert_non_null(fgets(line, sizeof(line), out));
    line[strcspn(line, "\n")] = '\0';
    shown->origin = (int)strtol(at, &at, 10);
    shown->number = strtoull(at, &at, 10);
    shown->n_rejected = (unsigned)strtoul(at, &at, 10);
    shown->is_secure = strtoul(at, &at, 10);
    assert_int_equal(*at, ' ');
    snprintf(shown->value, sizeof(shown->value), "%s", at + 1);
}

/* What `program` shows of an option if the environment has `assignment` (or NULL). */
static struct shown ask(const char *program, int user, enum sp_option_id id,
                        const char *assignment)
{
    struct shown shown = {.origin = -1};
    FILE *out = tmpfile();
    char number[16];
    int status = -1;
    pid_t child;

    assert_non_null(out);
    snprintf(number, sizeof(number), "%d", (int)id);
    sp_script_stderr_begin();
    child = fork();
    if (child == 0) {
        leave_no_option_set();
        dup2(fileno(out), STDOUT_FILENO);
        if ((assignment == NULL || putenv((char *)assignment) == 0) &&
            (user == 0 || setuid((uid_t)user) == 0))
            execl(program, "test_options", "show", number, (char *)NULL);
        _exit(99);
    }
    waitpid(child, &status, 0);
    snprintf(shown.text, sizeof(shown.text), "%s", sp_script_stderr_end());
    assert_int_equal(status, 0);
    rewind(out);
    read_shown(out, &shown);
    fclose(out);
    return shown;
}

static struct shown ask_self(enum sp_option_id id, const char *assignment)
{
    return ask(sp_script_self(), 0, id, assignment);
}

/* The value holds, and nothing is said. */
static void assert_accepted(enum sp_option_id id, const char *assignment, uint64_t number)
{
    struct shown shown = ask_self(id, assignment);

    assert_int_equal(shown.origin, SP_ORIGIN_ENVIRONMENT);
    assert_int_equal(shown.number, number);
    assert_int_equal(shown.n_rejected, 0);
    assert_string_equal(shown.value, strchr(assignment, '=') + 1);
    assert_string_equal(shown.text, "");
}

/* The default holds, the value is named in one line, and counted. */
static void assert_rejected(enum sp_option_id id, const char *assignment, uint64_t number,
                            const char *expected)
{
    struct shown shown = ask_self(id, assignment);

    assert_int_equal(shown.origin, SP_ORIGIN_REJECTED);
    assert_int_equal(shown.number, number);
    assert_int_equal(shown.n_rejected, 1);
    assert_int_equal(sp_script_n_times(shown.text, "\n"), 1);
    assert_non_null(strstr(shown.text, assignment));
    assert_non_null(strstr(shown.text, expected));
}

/* ---- sizes --------------------------------------------------------------------------------
 */

static void sizes_are_digits_and_a_power_of_1024(void **state)
{
    static const struct {
        const char *text;
        uint64_t size;
    } cases[] = {
        {"0", 0},
        {"1", 1},
        {"007", 7},
        {"512", 512},
        {"512B", 512},
        {"1k", 1024},
        {"1K", 1024},
        {"3M", 3 << 20},
        {"3m", 3 << 20},
        {"2G", (uint64_t)2 << 30},
        {"2GB", (uint64_t)2 << 30},
        {"2GiB", (uint64_t)2 << 30},
        {"2gib", (uint64_t)2 << 30},
        {"5T", (uint64_t)5 << 40},
        {"0T", 0},
        {"16777215T", (uint64_t)16777215 << 40},
        {"18446744073709551615", UINT64_MAX},
        {"18014398509481983K", ((uint64_t)18014398509481983) << 10},
    };

    (void)state;
    for (size_t i = 0; i < SP_ARRAY_SIZE(cases); i++) {
        uint64_t size = 99;

        assert_true(sp_parse_size(cases[i].text, &size));
        assert_int_equal(size, cases[i].size);
    }
}

static void what_is_no_size_is_refused_and_the_output_untouched(void **state)
{
    static const char *const cases[] = {
        "",
        " 1",
        "1 ",
        "+1",
        "-1",
        "0x10",
        "1.5M",
        "K",
        "M1",
        "1KK",
        "1E",
        "1P",
        "1Ki",
        "1iB",
        "1KBB",
        "1BB",
        "1MB ",
        "1kib8",
        "18446744073709551616",
        "99999999999999999999999",
        "16777216T",
        "18014398509481984K",
    };

    (void)state;
    for (size_t i = 0; i < SP_ARRAY_SIZE(cases); i++) {
        uint64_t size = 99;

        if (sp_parse_size(cases[i], &size))
            fail_msg("\"%s\" is taken for a size", cases[i]);
        assert_int_equal(size, 99);
    }
}

static void size_option_takes_a_size_or_its_word(void **state)
{
    (void)state;
    assert_accepted(SP_OPTION_HOST_LIMIT, "STARPOOL_HOST_LIMIT=512M", 512 << 20);
    assert_accepted(SP_OPTION_HOST_LIMIT, "STARPOOL_HOST_LIMIT=none", UINT64_MAX);
    assert_accepted(SP_OPTION_RELEASE, "STARPOOL_RELEASE=0", 0);
    assert_rejected(SP_OPTION_HOST_LIMIT, "STARPOOL_HOST_LIMIT=keep", UINT64_MAX, "none");
    assert_rejected(SP_OPTION_HOST_RESERVE, "STARPOOL_HOST_RESERVE=none", 64 << 20,
                    "a size such as");
}

/* ---- choices, flags, text -----------------------------------------------------------------
 */

static void choice_is_one_of_its_words(void **state)
{
    (void)state;
    assert_accepted(SP_OPTION_HUGE, "STARPOOL_HUGE=never", 0);
    assert_accepted(SP_OPTION_HUGE, "STARPOOL_HUGE=transparent", 1);
    assert_accepted(SP_OPTION_HUGE, "STARPOOL_HUGE=explicit", 2);
    assert_accepted(SP_OPTION_CHECKS, "STARPOOL_CHECKS=2", 2);
    assert_rejected(SP_OPTION_HUGE, "STARPOOL_HUGE=explici", 1, "never transparent explicit");
    assert_rejected(SP_OPTION_HUGE, "STARPOOL_HUGE=Never", 1, "never transparent explicit");
    assert_rejected(SP_OPTION_HUGE, "STARPOOL_HUGE=never transparent", 1, "one of");
    assert_rejected(SP_OPTION_CHECKS, "STARPOOL_CHECKS=3", 0, "0 1 2");
}

static void flag_is_0_or_1(void **state)
{
    (void)state;
    assert_accepted(SP_OPTION_LOCK, "STARPOOL_LOCK=0", 0);
    assert_accepted(SP_OPTION_LOCK, "STARPOOL_LOCK=1", 1);
    assert_rejected(SP_OPTION_LOCK, "STARPOOL_LOCK=yes", 0, "0 or 1");
    assert_rejected(SP_OPTION_LOCK, "STARPOOL_LOCK=2", 0, "0 or 1");
}

static void text_is_taken_as_it_is(void **state)
{
    (void)state;
    assert_accepted(SP_OPTION_REPORT, "STARPOOL_REPORT=a b=%p.json", 0);
}

static void unset_and_empty_mean_the_default(void **state)
{
    struct shown shown = ask_self(SP_OPTION_HOST_RESERVE, NULL);

    (void)state;
    assert_int_equal(shown.origin, SP_ORIGIN_DEFAULT);
    assert_int_equal(shown.number, 64 << 20);
    assert_string_equal(shown.value, "64M");
    shown = ask_self(SP_OPTION_HOST_RESERVE, "STARPOOL_HOST_RESERVE=");
    assert_int_equal(shown.origin, SP_ORIGIN_DEFAULT);
    assert_int_equal(shown.number, 64 << 20);
    assert_int_equal(shown.n_rejected, 0);
    assert_string_equal(shown.text, "");
}

static void level_of_messages_is_an_option(void **state)
{
    struct shown shown = ask_self(SP_OPTION_LOG, "STARPOOL_LOG=error");

    (void)state;
    assert_int_equal(shown.number, SP_LOG_ERROR);
    shown = ask_self(SP_OPTION_LOG, "STARPOOL_LOG=debug");
    assert_int_equal(shown.number, SP_LOG_DEBUG);
}

/* ---- names --------------------------------------------------------------------------------
 */

static void unknown_name_is_answered_with_the_nearest(void **state)
{
    static const char *const cases[][2] = {
        {"STARPOOL_HOST_LIMTI=1G", "STARPOOL_HOST_LIMTI is no option of starpool; did you mean "
                                   "STARPOOL_HOST_LIMIT?"},
        {"STARPOOL_HUG=never", "did you mean STARPOOL_HUGE?"},
        {"STARPOOL_REPORTS=1", "did you mean STARPOOL_REPORT?"},
        {"STARPOOL_NUMAPOLICY=spill", "did you mean STARPOOL_NUMA_POLICY?"},
        {"STARPOOL_=", "did you mean STARPOOL_"},
        {"STARPOOL_A_NAME_THAT_IS_MUCH_LONGER_THAN_ANY_OPTION_EVER_WILL_BE=1", "did you mean"},
    };

    (void)state;
    for (size_t i = 0; i < SP_ARRAY_SIZE(cases); i++) {
        struct shown shown = ask_self(SP_OPTION_HUGE, cases[i][0]);

        assert_int_equal(sp_script_n_times(shown.text, "\n"), 1);
        assert_int_equal(sp_script_n_times(shown.text, cases[i][1]), 1);
        assert_int_equal(shown.n_rejected, 0); /* a name is no value */
    }
}

static void names_of_the_test_suite_and_of_others_are_left_alone(void **state)
{
    (void)state;
    assert_string_equal(ask_self(SP_OPTION_HUGE, "STARPOOL_TEST_ANYTHING=1").text, "");
    assert_string_equal(ask_self(SP_OPTION_HUGE, "STARPOOLS=1").text, "");
    assert_string_equal(ask_self(SP_OPTION_HUGE, "starpool_hug=1").text, "");
}

/* ---- a program with the rights of another user --------------------------------------------
 */

/* A copy of this program that runs as its owner; false if that cannot be. */
static bool copy_self(char *path, size_t path_size)
{
    const char *folder = getenv("TMPDIR");
    struct statvfs where;
    char buffer[65536];
    int from = open(sp_script_self(), O_RDONLY), to;
    ssize_t n;

    snprintf(path, path_size, "%s/starpool-XXXXXX", folder != NULL ? folder : "/tmp");
    to = mkstemp(path);
    if (from < 0 || to < 0 || fstatvfs(to, &where) != 0 || (where.f_flag & ST_NOSUID) != 0)
        return false;
    while ((n = read(from, buffer, sizeof(buffer))) > 0) {
        if (write(to, buffer, (size_t)n) != n)
            return false;
    }
    close(from);
    return fchmod(to, 04755) == 0 && close(to) == 0;
}

static void program_with_another_users_rights_ignores_the_environment(void **state)
{
    char path[512];
    struct shown shown;

    (void)state;
    /* Only root can make such a program for another to run. */
    if (SP_HAS_SANITIZER || geteuid() != 0 || !copy_self(path, sizeof(path)))
        skip();
    shown = ask(path, OTHER_USER, SP_OPTION_HUGE, "STARPOOL_HUGE=never");
    unlink(path);
    if (shown.is_secure == 0)
        skip();
    assert_int_equal(shown.origin, SP_ORIGIN_DEFAULT);
    assert_int_equal(shown.number, 1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_digits_and_a_power_of_1024),
        cmocka_unit_test(what_is_no_size_is_refused_and_the_output_untouched),
        cmocka_unit_test(size_option_takes_a_size_or_its_word),
        cmocka_unit_test(choice_is_one_of_its_words),
        cmocka_unit_test(flag_is_0_or_1),
        cmocka_unit_test(text_is_taken_as_it_is),
        cmocka_unit_test(unset_and_empty_mean_the_default),
        cmocka_unit_test(level_of_messages_is_an_option),
        cmocka_unit_test(unknown_name_is_answered_with_the_nearest),
        cmocka_unit_test(names_of_the_test_suite_and_of_others_are_left_alone),
        cmocka_unit_test(program_with_another_users_rights_ignores_the_environment),
    };

    if (argc == 3 && strcmp(argv[1], "show") == 0)
        return show(argv[2]);
    return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
