/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tools of NVTX that do not work, or are none: pools do as ever, and one line says why. Each is
 * tried in a process of its own, because a process starts one tool. */
#include "config.h"

#include "tests/support.h"

#include <stdlib.h>
#include <string.h>

#include <starpool.h>

#include "src/pool/pool.h"
#include "tests/device_case.h"
#include "tests/fake_nvtx.h"
#include "tests/script.h"

/* In the second process: blocks come and go, and one line says why nobody hears of them. */
static void pool_works_and_one_line_says_why_no_tool_hears(void **state)
{
    const char *path = getenv(SP_FAKE_NVTX_VARIABLE);
    bool is_said = path != NULL && path[0] != '\0';
    struct starpool_pool *pools[2];
    void *ptr = NULL;
    const char *text;

    (void)state;
    sp_script_stderr_begin();
    for (size_t i = 0; i < SP_ARRAY_SIZE(pools); i++)
        pools[i] = sp_device_case_pool((int)i, STARPOOL_BACKEND_SLAB, 0);
    text = sp_script_stderr_end();
    assert_int_equal(sp_script_n_times(text, "NVTX_INJECTION64_PATH cannot be loaded: ") +
                         sp_script_n_times(text, " is not told of slabs: "),
                     is_said);
    assert_int_equal(sp_script_n_times(text, "\n"), is_said);
    for (size_t i = 0; i < SP_ARRAY_SIZE(pools); i++) {
        assert_ok(starpool_alloc(pools[i], 1000, STARPOOL_STREAM_HOST, &ptr));
        assert_ok(starpool_free(ptr, STARPOOL_STREAM_HOST));
        assert_false(pools[i]->is_declared);
        assert_int_not_equal(pools[i]->slot, SP_FRONT_SLOTS); /* It has caches. */
        starpool_pool_destroy(pools[i]);
    }
}

static void tool_that_cannot_be_loaded_is_one_line(void **state)
{
    (void)state;
    assert_int_equal(
        sp_device_case_again(SP_FAKE_NVTX_VARIABLE, "/nowhere/libtool.so", "broken"), 0);
}

static void library_that_is_no_such_tool_is_one_line(void **state)
{
    (void)state;
    assert_int_equal(sp_device_case_again(SP_FAKE_NVTX_VARIABLE, "libm.so.6", "broken"), 0);
}

static void tool_that_fails_is_one_line(void **state)
{
    (void)state;
    assert_int_equal(sp_device_case_again("FAKE_NVTX", "fails", "broken"), 0);
}

static void tool_that_asks_for_nothing_is_one_line(void **state)
{
    (void)state;
    assert_int_equal(sp_device_case_again("FAKE_NVTX", "deaf", "broken"), 0);
}

static void without_a_tool_nothing_is_said_and_pools_have_caches(void **state)
{
    (void)state;
    assert_int_equal(sp_device_case_again(SP_FAKE_NVTX_VARIABLE, "", "broken"), 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(tool_that_cannot_be_loaded_is_one_line),
    cmocka_unit_test(library_that_is_no_such_tool_is_one_line),
    cmocka_unit_test(tool_that_fails_is_one_line),
    cmocka_unit_test(tool_that_asks_for_nothing_is_one_line),
    cmocka_unit_test(without_a_tool_nothing_is_said_and_pools_have_caches),
};

static const struct CMUnitTest broken[] = {
    cmocka_unit_test(pool_works_and_one_line_says_why_no_tool_hears),
};

int main(int argc, char **argv)
{
    if (!sp_device_case_init() || !sp_fake_nvtx_name())
        return 99;
    if (argc > 1 && strcmp(argv[1], "broken") == 0)
        return cmocka_run_group_tests_name("nvtx_broken", broken, NULL, NULL);
    return cmocka_run_group_tests_name("nvtx_tool", tests, NULL, NULL);
}
