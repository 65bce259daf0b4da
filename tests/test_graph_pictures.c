/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What graphs are written as for people, and what a plan adds to each form. The plans here are
 * made by hand. */
#include "config.h"

#include "tests/support.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/files.h"
#include "src/util/util.h"

#define EVIL "<a href=\"x\">&\\\xff\x01\nB"

typedef enum starpool_status (*write_fn)(const struct starpool_graph *graph,
                                         const struct starpool_plan *plan, FILE *out);

/* Two branches, each with a block, from a fork to a join; and one that is there throughout. */
static struct starpool_graph *graph;

/* Both blocks of the branches at the same place, which an edge from one branch to the other
 * allows; the third above. */
static struct {
    struct starpool_plan plan;
    uint64_t offsets[3];
    uint32_t places[3], antichain[2], n_antichain;
    uint32_t *antichains[1];
    struct sp_plan_place place;
    struct sp_plan_edge edge;
} fixture;

static void add_block(uint32_t alloc, uint32_t free_node, uint64_t size, const char *name)
{
    struct sp_graph_block block = {
        .size = size,
        .alignment = 256,
        .location = {STARPOOL_DEVICE, 0},
        .name = (char *)name,
        .alloc = alloc,
        .free = free_node,
    };

    assert_int_not_equal(sp_graph_add_block(graph, &block), SP_NO_INDEX);
}

static void make_plan(void)
{
    fixture.offsets[0] = fixture.offsets[1] = 0;
    fixture.offsets[2] = 4096;
    fixture.antichain[1] = 2;
    fixture.n_antichain = 2;
    fixture.antichains[0] = fixture.antichain;
    fixture.place = (struct sp_plan_place){
        .location = {STARPOOL_DEVICE, 0},
        .report = {.n_blocks = 3,
                   .total_bytes = 9216,
                   .peak_bytes = 5120,
                   .lower_bound = 4864,
                   .fits = true,
                   .n_search_nodes = 17,
                   .n_added_edges = 1,
                   .saved_bytes = 4096},
    };
    /* Against the order of the indexes. */
    fixture.edge = (struct sp_plan_edge){.from = 4, .to = 1, .saved_bytes = 4096};
    fixture.plan = (struct starpool_plan){
        .n_blocks = 3,
        .offsets = fixture.offsets,
        .place = fixture.places,
        .n_places = 1,
        .places = &fixture.place,
        .antichains = fixture.antichains,
        .n_antichain = &fixture.n_antichain,
        .n_edges = 1,
        .edges = &fixture.edge,
    };
}

static int setup(void **state)
{
    static const uint32_t edges[][2] = {{0, 1}, {1, 2}, {0, 3}, {3, 4}, {2, 5}, {4, 5}};

    (void)state;
    graph = sp_graph_create(EVIL);
    for (uint32_t i = 0; i < 6; i++)
        sp_graph_add_node(graph,
                          i == 0 ? STARPOOL_GRAPH_NODE_ALLOC : STARPOOL_GRAPH_NODE_KERNEL,
                          i == 3 ? EVIL : NULL);
    for (size_t i = 0; i < SP_ARRAY_SIZE(edges); i++)
        assert_true(sp_graph_add_edge(graph, edges[i][0], edges[i][1]));
    add_block(1, 2, 4096, NULL);
    add_block(3, 4, 4096, EVIL);
    add_block(0, 5, 1024, "a name that is longer than a legend is wide");
    make_plan();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    sp_graph_destroy(graph);
    return 0;
}

static char *write_text(write_fn write_form, const struct starpool_plan *plan)
{
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    assert_ok(write_form(graph, plan, out));
    assert_int_equal(fclose(out), 0);
    return text;
}

static void assert_says(const char *text, const char *words)
{
    if (strstr(text, words) == NULL)
        fail_msg("no '%s' in\n%s", words, text);
}

/* ---- SVG -------------------------------------------------------------------------------- */

/* A pointer behind the tag at `at`; *depth counts what is open. */
static const char *skip_tag(const char *at, int *depth)
{
    bool is_end = at[1] == '/', is_quoted = false;
    const char *end = at + 1;

    for (; *end != '\0' && (is_quoted || *end != '>'); end++) {
        assert_true(*end != '<');
        is_quoted ^= *end == '"';
    }
    assert_true(*end == '>');
    if (is_end)
        (*depth)--;
    else if (end[-1] != '/')
        (*depth)++;
    assert_true(*depth >= 0);
    return end + 1;
}

/* Tags are closed, ampersands begin entities, and there are no bytes that XML has not. */
static void assert_is_xml(const char *text)
{
    int depth = 0;

    assert_int_equal(strncmp(text, "<svg ", 5), 0);
    while (*text != '\0') {
        if (*text == '<') {
            text = skip_tag(text, &depth);
            continue;
        }
        if (*text == '&')
            assert_true(strcspn(text, ";") <= 7);
        assert_true((unsigned char)*text >= 0x20 || *text == '\n');
        assert_true((unsigned char)*text != 0xff && *text != '>');
        text++;
    }
    assert_int_equal(depth, 0);
}

static void svg_is_xml_whatever_the_names(void **state)
{
    char *text = write_text(sp_graph_write_svg, &fixture.plan);

    (void)state;
    assert_is_xml(text);
    assert_says(text,
                "Memory of &lt;a href=&quot;x&quot;&gt;&amp;\\\xef\xbf\xbd\xef\xbf\xbd\nB");
    assert_says(text, "a name that is l&#8230;, 1 KiB");
    free(text);
}

static void svg_has_axes_with_units_and_levels(void **state)
{
    char *text = write_text(sp_graph_write_svg, &fixture.plan);

    (void)state;
    assert_says(text, ">live memory [KiB]<");
    assert_says(text, ">address [KiB]<");
    assert_says(text, ">place in the order of the nodes [nodes]<");
    assert_says(text, ">peak 5 KiB<");
    assert_says(text, ">lower bound 4.8 KiB<");
    assert_says(text, "device 0: 3 blocks of 9 KiB together");
    /* The added edge brings block 0 behind block 1. */
    assert_says(text, "<title>block 1 ");
    assert_says(text, "4 KiB at 0, from 1 to 3<");
    assert_says(text, "<title>block 0: 4 KiB at 0, from 3 to 5<");
    free(text);
}

static void svg_without_a_plan_has_what_is_known(void **state)
{
    char *text = write_text(sp_graph_write_svg, NULL);

    (void)state;
    assert_is_xml(text);
    assert_says(text, ">live memory [KiB]<");
    assert_null(strstr(text, "address"));
    assert_null(strstr(text, "peak"));
    free(text);
    graph->blocks[0].address = 0x7000;
    graph->blocks[1].address = 0x8000;
    text = write_text(sp_graph_write_svg, NULL);
    assert_is_xml(text);
    assert_says(text, ">address from the lowest [KiB]<");
    assert_says(text, "4 KiB at 4096, from 3 to 5<");
    free(text);
}

static void equal_graphs_make_equal_pictures(void **state)
{
    char *first = write_text(sp_graph_write_svg, &fixture.plan), *second;

    (void)state;
    /* Where the locale is installed, numbers of C have a comma in it. */
    setlocale(LC_ALL, "de_DE.UTF-8");
    second = write_text(sp_graph_write_svg, &fixture.plan);
    setlocale(LC_ALL, "C");
    assert_string_equal(first, second);
    free(first);
    free(second);
}

static void svg_of_nothing_and_of_much_is_xml(void **state)
{
    struct starpool_graph *small = graph;
    uint64_t random = sp_test_seed();
    char *text;

    (void)state;
    graph = sp_graph_create(NULL);
    text = write_text(sp_graph_write_svg, NULL);
    assert_is_xml(text);
    free(text);
    graph->is_timed = true;
    for (uint32_t i = 0; i < 20000; i++) {
        uint64_t lower = sp_test_random(&random) >> 2;
        struct sp_graph_block block = {
            .size = 1 + (sp_test_random(&random) >> 40),
            .alignment = 1,
            .location = {i % 2 == 0 ? STARPOOL_HOST : STARPOOL_NONE, 0},
            .lower = lower,
            .upper = lower + 1 + (sp_test_random(&random) >> 4),
        };

        sp_graph_add_block(graph, &block);
    }
    text = write_text(sp_graph_write_svg, NULL);
    assert_is_xml(text);
    assert_says(text, "host: 10000 blocks");
    assert_says(text, "anywhere: 10000 blocks");
    /* No more points than can be seen. */
    assert_true(strlen(text) < 2000000);
    free(text);
    sp_graph_destroy(graph);
    graph = small;
}

/* ---- the other forms -------------------------------------------------------------------- */

static void dot_quotes_names_and_shows_what_was_added(void **state)
{
    char *text = write_text(sp_graph_write_dot, &fixture.plan);

    (void)state;
    assert_says(text, "digraph \"<a href=\\\"x\\\">&\\\\\xef\xbf\xbd\xef\xbf\xbd\\nB\" {\n");
    assert_says(text,
                "    n0 [fillcolor=\"#d9ead3\", label=\"0 alloc\\n+ block 2 'a name that is "
                "longer than a legend is wide', 1 KiB at 0x1000\"];\n");
    assert_says(text, "- block 0, 4 KiB at 0x0\"");
    assert_says(text, "    n3 -> n4;\n");
    assert_says(
        text,
        "    n4 -> n1 [style=dashed, color=\"#cc0000\", label=\"saves 4 KiB in all\"];\n");
    free(text);
    text = write_text(sp_graph_write_dot, NULL);
    assert_null(strstr(text, "dashed"));
    assert_null(strstr(text, " at 0x"));
    free(text);
}

static void csv_has_offsets_and_the_added_order(void **state)
{
    char *text;

    (void)state;
    graph->blocks[1].name[0] = '\0';
    text = write_text(sp_graph_write_csv, &fixture.plan);
    assert_string_equal(text, "id,lower,upper,size,alignment,location,name,offset\n"
                              "0,3,5,4096,256,device 0,,0\n"
                              "1,1,3,4096,256,device 0,,0\n"
                              "2,0,6,1024,256,device 0,"
                              "a name that is longer than a legend is wide,4096\n");
    free(text);
}

static void json_has_the_plan_and_is_still_a_graph(void **state)
{
    char *text = write_text(sp_graph_write_json, &fixture.plan);
    struct starpool_graph *copy;
    struct sp_graph_error error;

    (void)state;
    assert_says(text,
                "\"plan\": {\n    \"offsets\": [\n      0,\n      0,\n      4096\n    ],");
    assert_says(text, "\"location\": \"device 0\",\n        \"n_blocks\": 3,");
    assert_says(text, "\"peak_bytes\": 5120,\n        \"lower_bound\": 4864,");
    assert_says(text, "\"antichain\": [\n          0,\n          2\n        ]");
    assert_says(text, "\"from\": 4,\n        \"to\": 1,\n        \"place\": 0,\n        "
                      "\"saved_bytes\": 4096\n");
    if (sp_graph_read_json(text, strlen(text), &copy, &error) != STARPOOL_OK)
        fail_msg("line %u: %s", error.line, error.text);
    assert_int_equal(copy->n_blocks, 3);
    sp_graph_destroy(copy);
    free(text);
}

static void plan_of_another_graph_is_refused(void **state)
{
    (void)state;
    fixture.plan.n_blocks = 2;
    assert_status(STARPOOL_EINVAL, starpool_graph_write(graph, &fixture.plan, "/none/x.csv",
                                                        STARPOOL_GRAPH_CSV));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(svg_is_xml_whatever_the_names),
        CASE(svg_has_axes_with_units_and_levels),
        CASE(svg_without_a_plan_has_what_is_known),
        CASE(equal_graphs_make_equal_pictures),
        CASE(svg_of_nothing_and_of_much_is_xml),
        CASE(dot_quotes_names_and_shows_what_was_added),
        CASE(csv_has_offsets_and_the_added_order),
        CASE(json_has_the_plan_and_is_still_a_graph),
        CASE(plan_of_another_graph_is_refused),
    };

    return cmocka_run_group_tests_name("graph pictures", tests, NULL, NULL);
}
