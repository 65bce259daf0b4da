/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Not a test: what tests/test_harness.sh runs to see each way that a test can end counted. */
#include "config.h"

#include "tests/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void passes(void **state)
{
    (void)state;
}

static void fails(void **state)
{
    (void)state;
    assert_status(STARPOOL_ENOMEM, STARPOOL_OK);
}

static void skips(void **state)
{
    (void)state;
    skip();
}

static void aborts(void **state)
{
    (void)state;
    abort();
}

static void exits_early(void **state)
{
    (void)state;
    exit(0);
}

static void never_ends(void **state)
{
    (void)state;
    for (;;)
        pause();
}

static const struct {
    const char *name;
    CMUnitTestFunction function;
} endings[] = {
    {"passes", passes},
    {"fails", fails},
    {"skips", skips},
    {"aborts", aborts},
    {"exits_early", exits_early},
    {"never_ends", never_ends},
};

static int run(const char *name, CMUnitTestFunction function)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passes),
        {name, function, NULL, NULL, NULL},
        cmocka_unit_test(passes),
    };

    return cmocka_run_group_tests_name("harness", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
    size_t i;

    if (argc == 2 && strcmp(argv[1], "not_here") == 0)
        return 77;
    for (i = 0; argc == 2 && i < sizeof(endings) / sizeof(endings[0]); i++) {
        if (strcmp(argv[1], endings[i].name) == 0)
            return run(endings[i].name, endings[i].function);
    }
    fprintf(stderr, "usage: %s ENDING\n", argv[0]);
    return 2;
}
