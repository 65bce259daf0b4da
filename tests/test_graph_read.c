/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What files of graphs may look like, and that every mistake in one is told with its line. */
#include "config.h"

#include "tests/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/files.h"
#include "src/util/util.h"

/* ---- CSV -------------------------------------------------------------------------------- */

static struct starpool_graph *parse_csv(const char *text)
{
    struct starpool_graph *graph;
    struct sp_graph_error error;

    if (sp_graph_read_csv(text, strlen(text), &graph, &error) != STARPOOL_OK)
        fail_msg("line %u: %s", error.line, error.text);
    return graph;
}

static void assert_two_blocks(const char *text)
{
    struct starpool_graph *graph = parse_csv(text);

    assert_true(graph->is_timed);
    assert_int_equal(graph->n_blocks, 2);
    assert_int_equal(graph->blocks[0].lower, 2);
    assert_int_equal(graph->blocks[0].upper, 4);
    assert_int_equal(graph->blocks[0].size, 100);
    assert_int_equal(graph->blocks[0].alignment, 1);
    assert_null(graph->blocks[0].name);
    assert_int_equal(graph->blocks[1].lower, 3);
    assert_int_equal(graph->blocks[1].upper, 9);
    assert_int_equal(graph->blocks[1].size, 50);
    sp_graph_destroy(graph);
}

static void csv_has_columns_in_any_order(void **state)
{
    (void)state;
    assert_two_blocks("id,lower,upper,size\n0,2,4,100\n1,3,9,50\n");
    assert_two_blocks("size,id,upper,lower\n100,0,4,2\n50,1,9,3\n");
    assert_two_blocks("0,2,4,100\n1,3,9,50\n");
    assert_two_blocks("id,lower,upper,size,offset\n0,2,4,100,0\n1,3,9,50,100");
}

static void csv_takes_every_way_to_end_a_line(void **state)
{
    (void)state;
    assert_two_blocks("id,lower,upper,size\r\n0,2,4,100\r\n1,3,9,50\r\n");
    assert_two_blocks("id,lower,upper,size\n0,2,4,100\n1,3,9,50");
    assert_two_blocks("\n\n id , lower,upper\t,size\n\r\n0, 2,4 ,100\n \n1,3,9,50\n\n");
    assert_two_blocks("\xef\xbb\xbf"
                      "id,lower,upper,size\n0,2,4,100\n1,3,9,50\n");
    assert_two_blocks("\"id\",lower,upper,\"size\"\n\"0\",2,4,100\n1,\"3\" ,9,50\n");
}

static void csv_names_blocks_by_ids_that_are_words(void **state)
{
    struct starpool_graph *graph =
        parse_csv("id,lower,upper,size\nx,0,1,1\n1,0,1,1\n0,0,1,1\n");

    (void)state;
    assert_string_equal(graph->blocks[0].name, "x");
    assert_null(graph->blocks[1].name);
    assert_string_equal(graph->blocks[2].name, "0");
    sp_graph_destroy(graph);
}

static void csv_instances_of_others_are_read(void **state)
{
    static const struct {
        const char *name;
        uint32_t n;
    } rows[] = {{"A", 154}, {"C", 203}, {"E", 215}, {"G", 308}, {"J", 409}};
    const char *srcdir = getenv("srcdir");
    struct starpool_graph *graph;
    char file[4096], reason[200] = "";

    (void)state;
    for (size_t i = 0; i < SP_ARRAY_SIZE(rows); i++) {
        snprintf(file, sizeof(file), "%s/tests/data/dsa/%s.1048576.csv",
                 srcdir != NULL ? srcdir : ".", rows[i].name);
        if (starpool_graph_read(file, STARPOOL_GRAPH_AUTO, &graph, reason, sizeof(reason)) !=
            STARPOOL_OK)
            fail_msg("%s: %s", file, reason);
        assert_int_equal(graph->n_blocks, rows[i].n);
        sp_graph_destroy(graph);
    }
}

/* ---- what is wrong ---------------------------------------------------------------------- */

struct mistake {
    const char *text;
    unsigned line;
    const char *words;
};

typedef enum starpool_status (*read_fn)(const char *text, size_t size,
                                        struct starpool_graph **graph_out,
                                        struct sp_graph_error *error);

static void assert_mistakes(read_fn read_text, const struct mistake *mistakes, size_t n)
{
    struct starpool_graph *graph = NULL;
    struct sp_graph_error error;

    for (size_t i = 0; i < n; i++) {
        const char *text = mistakes[i].text;

        error = (struct sp_graph_error){.line = 99};
        assert_status(STARPOOL_EINVAL, read_text(text, strlen(text), &graph, &error));
        assert_null(graph);
        if (error.line != mistakes[i].line || strstr(error.text, mistakes[i].words) == NULL)
            fail_msg("%s\nis told as line %u: %s", text, error.line, error.text);
    }
}

#define HEAD "id,lower,upper,size\n"

static void csv_mistakes_are_told_with_their_lines(void **state)
{
    static const struct mistake mistakes[] = {
        {"", 0, "the file is empty"},
        {"\n \n", 0, "the file is empty"},
        {"id,lower,upper\n", 1, "column 'size' is missing"},
        {"id,lower,upper,size,size\n", 1, "column 'size' comes twice"},
        {"id,lower,upper,size,colour\n", 1, "there is no column 'colour'"},
        {HEAD "0,1,2\n", 2, "3 fields, and not 4"},
        {HEAD "0,1,2,3,4\n", 2, "5 fields, and not 4"},
        {HEAD "0,1,2,3\n\n1,1,2\n", 4, "3 fields, and not 4"},
        {"0,1,2,3,4\n", 1, "5 fields, and not 4"},
        {"0,1,2,3,4,5,6,7,8\n", 1, "more than 8 fields"},
        {HEAD "0,1,2,x\n", 2, "size 'x' is no whole number"},
        {HEAD "0,1,2,\n", 2, "size '' is no whole number"},
        {HEAD "0,1,2,-5\n", 2, "size '-5' is no whole number"},
        {HEAD "0,1,2,+5\n", 2, "size '+5' is no whole number"},
        {HEAD "0,1,2,1e3\n", 2, "size '1e3' is no whole number"},
        {HEAD "0,1,2,0x10\n", 2, "size '0x10' is no whole number"},
        {HEAD "0,1,nan,5\n", 2, "upper 'nan' is no whole number"},
        {HEAD "0,1,2.5,5\n", 2, "upper '2.5' is no whole number"},
        {HEAD "0,1,9223372036854775808,5\n", 2, "upper 9223372036854775808 is 2^63 or more"},
        {HEAD "0,1,99999999999999999999999,5\n", 2, "is 2^63 or more"},
        {HEAD "0,1,2,0\n", 2, "block 0 has no size"},
        {HEAD "0,1,2,1\n1,2,2,1\n", 3, "block 1 ends before it has begun"},
        {HEAD "0,3,2,1\n", 2, "block 0 ends before it has begun"},
        {HEAD "0,1,2,9223372036854775807\n1,1,2,1\n", 3, "2^63 bytes or more"},
        {HEAD "0,1,2,1\n1,1,2,1\n0,1,2,1\n", 4, "id '0' is that of line 2, too"},
        {HEAD ",1,2,1\n", 2, "the id is empty"},
        {HEAD "0,1,2,\"1\n1,1,2,1\n", 2, "a quote is not closed"},
        {HEAD "0,1,2,\"1\"x\n", 2, "text behind a closing quote"},
        {"id,lower,upper,size,location\n0,1,2,3,moon\n", 2, "there is no location 'moon'"},
        {"id,lower,upper,size,location\n0,1,2,3,device -1\n", 2, "there is no location"},
        {"id,lower,upper,size,location\n0,1,2,3,node 99999999999\n", 2, "there is no location"},
        {"id,lower,upper,size,alignment\n0,1,2,3,3\n", 2, "the alignment of block 0"},
        {"id,lower,upper,size,offset\n0,1,2,3,-1\n", 2, "offset '-1' is no whole number"},
        {HEAD "0,1,2,\033[31m\n", 2, "size '?[31m' is no whole number"},
    };

    (void)state;
    assert_mistakes(sp_graph_read_csv, mistakes, SP_ARRAY_SIZE(mistakes));
}

static void csv_zero_bytes_and_endless_fields_are_refused(void **state)
{
    static const char zero[] = HEAD "0,1\0,2,3\n";
    struct starpool_graph *graph;
    struct sp_graph_error error;
    char *text = malloc(20000);

    (void)state;
    assert_status(STARPOOL_EINVAL, sp_graph_read_csv(zero, sizeof(zero) - 1, &graph, &error));
    assert_int_equal(error.line, 2);
    assert_string_equal(error.text, "a zero byte");
    assert_non_null(text);
    memset(text, 'x', 20000);
    memcpy(text, HEAD, sizeof(HEAD) - 1);
    assert_status(STARPOOL_EINVAL, sp_graph_read_csv(text, 20000, &graph, &error));
    assert_int_equal(error.line, 2);
    assert_non_null(strstr(error.text, "longer than"));
    free(text);
}

static void json_may_have_its_members_in_any_order(void **state)
{
    static const char text[] = "{\"plan\": {\"offsets\": [0]},"
                               "\"uses\": [{\"node\": 1, \"block\": 0}],"
                               "\"blocks\": [{\"free\": 1, \"alloc\": 0, \"size\": 7}],"
                               "\"edges\": [{\"to\": 1, \"from\": 0}],"
                               "\"nodes\": [{\"kind\": \"alloc\"}, {\"kind\": \"free\"}],"
                               "\"starpool_graph\": 1}";
    struct starpool_graph *graph;
    struct sp_graph_error error;

    (void)state;
    assert_ok(sp_graph_read_json(text, sizeof(text) - 1, &graph, &error));
    assert_int_equal(graph->n_nodes, 2);
    assert_int_equal(graph->edges[0].to, 1);
    assert_int_equal(graph->uses[0].node, 1);
    assert_int_equal(graph->blocks[0].size, 7);
    assert_int_equal(graph->blocks[0].alignment, 256);
    assert_int_equal(graph->blocks[0].location.kind, STARPOOL_NONE);
    sp_graph_destroy(graph);
}

#define TOP "{\n\"starpool_graph\": 1,\n"

static void json_mistakes_are_told_with_their_lines(void **state)
{
    static const struct mistake mistakes[] = {
        {"", 1, "expected near end of file"},
        {"{", 1, "expected near end of file"},
        {"[]", 1, "the document is no object"},
        {"{}", 1, "'starpool_graph' is missing"},
        {TOP "\"blocks\": [],}", 3, "expected"},
        {"{\"starpool_graph\":\n2}", 2, "of another version"},
        {TOP "\"colour\": 1}", 3, "there is no key 'colour' here"},
        {TOP "\"blocks\": [],\n\"blocks\": []}", 4, "duplicate"},
        {TOP "\"blocks\": 5}", 3, "'blocks' is no array"},
        {TOP "\"plan\": 5}", 3, "'plan' is no object"},
        {TOP "\"name\": 5}", 3, "'name' is no string"},
        {TOP "\"name\": \"a\\u0000b\"}", 3, "\\u0000"},
        {TOP "\"is_timed\": 1}", 3, "'is_timed' is neither true nor false"},
        {TOP "\"capacity\": -1}", 3, "'capacity' is negative"},
        {TOP "\"capacity\": 1.5}", 3, "'capacity' is no whole number"},
        {TOP "\"capacity\": NaN}", 3, "invalid token"},
        {TOP "\"capacity\": 1e400}", 3, "real number overflow"},
        {TOP "\"capacity\": 9223372036854775808}", 3, "too big integer"},
        {TOP "\"nodes\": [\n5]}", 4, "an element is no object"},
        {TOP "\"nodes\": [\n{}]}", 4, "'kind' is missing"},
        {TOP "\"nodes\": [{\"kind\": \"host\"},\n{\"kind\":\n\"ghost\"}]}", 5,
         "no kind 'ghost'"},
        {TOP "\"nodes\": [{\"kind\": \"host\", \"x\": \"]}\", \"kin\": 1}]}", 3, "no key"},
        {TOP "\"nodes\": [{\"kind\": \"host\"}],\n\"edges\": [{\"from\": 0,\n\"to\": 1}]}", 5,
         "'to' is no index"},
        {TOP "\"edges\": [{\"from\": 0,\n\"to\": 1}]}", 3, "'from' is an index of what"},
        {TOP "\"nodes\": [\n{\"kind\": \"host\"}],\n\"edges\": [{\"from\": 0, \"to\": 0}]}", 4,
         "cycle"},
        {TOP "\"uses\": [{\"block\": 0, \"node\": 0}]}", 3, "'block' is an index of what"},
        {TOP "\"is_timed\": true, \"blocks\": [\n{\"lower\": 1, \"upper\": 2}]}", 4,
         "'size' is missing"},
        {TOP "\"is_timed\": true, \"blocks\": [\n{\"size\": 1, \"lower\": 2, \"upper\": 2}]}",
         4, "block 0 ends before"},
        {TOP "\"blocks\": [\n{\"size\": 1,\n\"location\": \"moon\"}]}", 5,
         "no location 'moon'"},
        {TOP "\"blocks\": [\n{\"size\": 1,\n\"is_input\": \"yes\"}]}", 5,
         "neither true nor false"},
        {TOP "\"blocks\": [\n{\"size\": 1}]}", 4, "no node allocates, uses or frees block 0"},
        {TOP "\"nodes\": [{\"kind\": \"host\"}]} x", 3, "end of file expected"},
    };

    (void)state;
    assert_mistakes(sp_graph_read_json, mistakes, SP_ARRAY_SIZE(mistakes));
}

static void json_of_any_depth_is_refused(void **state)
{
    static const char opener[] = "{\"a\":";
    struct starpool_graph *graph;
    struct sp_graph_error error;
    size_t size = 1000000;
    char *text = malloc(size);

    (void)state;
    assert_non_null(text);
    memset(text, '[', size);
    assert_status(STARPOOL_EINVAL, sp_graph_read_json(text, size, &graph, &error));
    assert_non_null(strstr(error.text, "depth"));
    for (size_t i = 0; i < size; i++)
        text[i] = opener[i % 5];
    assert_status(STARPOOL_EINVAL, sp_graph_read_json(text, size, &graph, &error));
    assert_non_null(strstr(error.text, "depth"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(csv_has_columns_in_any_order),
        cmocka_unit_test(csv_takes_every_way_to_end_a_line),
        cmocka_unit_test(csv_names_blocks_by_ids_that_are_words),
        cmocka_unit_test(csv_instances_of_others_are_read),
        cmocka_unit_test(csv_mistakes_are_told_with_their_lines),
        cmocka_unit_test(csv_zero_bytes_and_endless_fields_are_refused),
        cmocka_unit_test(json_may_have_its_members_in_any_order),
        cmocka_unit_test(json_mistakes_are_told_with_their_lines),
        cmocka_unit_test(json_of_any_depth_is_refused),
    };

    return cmocka_run_group_tests_name("graph reading", tests, NULL, NULL);
}
