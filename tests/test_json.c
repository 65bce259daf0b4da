/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* JSON, byte for byte: commas, quotes, indentation. */
#include "config.h"

#include "tests/support.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/util/json.h"
#include "tests/script.h"

static struct {
    struct sp_json json;
    FILE *out;
    char *text;
    size_t size;
} fixture;

static struct sp_json *const json = &fixture.json;

static int setup(void **state)
{
    (void)state;
    memset(&fixture, 0, sizeof(fixture));
    fixture.out = open_memstream(&fixture.text, &fixture.size);
    sp_json_begin(json, fixture.out);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    fclose(fixture.out);
    free(fixture.text);
    return 0;
}

static void assert_document(const char *expected)
{
    sp_json_finish(json);
    fflush(fixture.out);
    assert_string_equal(fixture.text, expected);
}

static void empty_document_is_an_empty_object(void **state)
{
    (void)state;
    assert_document("{}\n");
}

static void members_are_parted_by_commas(void **state)
{
    (void)state;
    sp_json_string(json, "name", "pool");
    sp_json_number(json, "bytes", 5);
    sp_json_flag(json, "yes", true);
    sp_json_flag(json, "no", false);
    assert_document("{\n  \"name\": \"pool\",\n  \"bytes\": 5,\n  \"yes\": true,\n"
                    "  \"no\": false\n}\n");
}

static void numbers_are_whole_to_their_ends(void **state)
{
    (void)state;
    sp_json_number(json, "most", UINT64_MAX);
    sp_json_number(json, "least", 0);
    sp_json_signed(json, "low", INT64_MIN);
    sp_json_signed(json, "high", INT64_MAX);
    assert_document("{\n  \"most\": 18446744073709551615,\n  \"least\": 0,\n"
                    "  \"low\": -9223372036854775808,\n  \"high\": 9223372036854775807\n}\n");
}

static void quotes_backslashes_and_controls_are_escaped(void **state)
{
    (void)state;
    sp_json_string(json, "a\"b", "\\ \" \n \t \x01 \x1f \x7f \xc3\xa9");
    sp_json_string(json, "", "");
    assert_document(
        "{\n  \"a\\\"b\": \"\\\\ \\\" \\u000a \\u0009 \\u0001 \\u001f \x7f \xc3\xa9\",\n"
        "  \"\": \"\"\n}\n");
}

static void assert_quoted(const char *value, const char *expected)
{
    struct sp_json document;
    char text[128] = "";
    char whole[128];
    FILE *out = fmemopen(text, sizeof(text), "w");

    assert_non_null(out);
    sp_json_begin(&document, out);
    sp_json_string(&document, "a", value);
    sp_json_finish(&document);
    fclose(out);
    snprintf(whole, sizeof(whole), "{\n  \"a\": \"%s\"\n}\n", expected);
    assert_string_equal(text, whole);
}

#define REPLACED "\xef\xbf\xbd"

static void bytes_that_are_no_utf8_are_replaced(void **state)
{
    (void)state;
    assert_quoted("\xff", REPLACED);
    assert_quoted("caf\xe9.json", "caf" REPLACED ".json");
    assert_quoted("\x80 \xbf", REPLACED " " REPLACED);
    /* Cut short, by the end or by another character. */
    assert_quoted("\xc3", REPLACED);
    assert_quoted("\xe2\x82", REPLACED REPLACED);
    assert_quoted("\xf0\x9f\x98\"", REPLACED REPLACED REPLACED "\\\"");
    /* Longer than needed, surrogates, above U+10FFFF. */
    assert_quoted("\xc0\xaf", REPLACED REPLACED);
    assert_quoted("\xe0\x80\xaf", REPLACED REPLACED REPLACED);
    assert_quoted("\xf0\x80\x80\xaf", REPLACED REPLACED REPLACED REPLACED);
    assert_quoted("\xed\xa0\x80", REPLACED REPLACED REPLACED);
    assert_quoted("\xf4\x90\x80\x80", REPLACED REPLACED REPLACED REPLACED);
}

static void utf8_is_kept(void **state)
{
    /* The first and last characters of two, three and four bytes, and those beside gaps. */
    static const char *const kept[] = {
        "\xc2\x80",     "\xdf\xbf",     "\xe0\xa0\x80",     "\xed\x9f\xbf",
        "\xee\x80\x80", "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++)
        assert_quoted(kept[i], kept[i]);
}

static void objects_and_arrays_nest(void **state)
{
    (void)state;
    sp_json_array_begin(json, "list");
    sp_json_number(json, NULL, 1);
    sp_json_object_begin(json, NULL);
    sp_json_flag(json, "x", true);
    sp_json_end(json);
    sp_json_array_begin(json, NULL);
    sp_json_end(json);
    sp_json_end(json);
    sp_json_object_begin(json, "empty");
    sp_json_end(json);
    assert_document("{\n  \"list\": [\n    1,\n    {\n      \"x\": true\n    },\n    []\n  ],\n"
                    "  \"empty\": {}\n}\n");
}

static void finish_closes_what_is_open_in_order(void **state)
{
    (void)state;
    sp_json_array_begin(json, "a");
    sp_json_object_begin(json, NULL);
    sp_json_array_begin(json, "b");
    assert_document("{\n  \"a\": [\n    {\n      \"b\": []\n    }\n  ]\n}\n");
}

static void depth_is_bounded(void **state)
{
    int status = 0;
    pid_t child;

    (void)state;
    for (int i = 1; i < SP_JSON_DEPTH; i++)
        sp_json_array_begin(json, i == 1 ? "deep" : NULL);
    sp_script_stderr_begin();
    child = fork();
    if (child == 0) {
        sp_json_array_begin(json, NULL);
        _exit(0);
    }
    waitpid(child, &status, 0);
    (void)sp_script_stderr_end();
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
    sp_json_finish(json);
    fflush(fixture.out);
    assert_int_equal(sp_script_n_times(fixture.text, "["), SP_JSON_DEPTH - 1);
    assert_int_equal(sp_script_n_times(fixture.text, "]"), SP_JSON_DEPTH - 1);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(empty_document_is_an_empty_object),
        CASE(members_are_parted_by_commas),
        CASE(numbers_are_whole_to_their_ends),
        CASE(quotes_backslashes_and_controls_are_escaped),
        CASE(bytes_that_are_no_utf8_are_replaced),
        CASE(utf8_is_kept),
        CASE(objects_and_arrays_nest),
        CASE(finish_closes_what_is_open_in_order),
        CASE(depth_is_bounded),
    };

    return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
