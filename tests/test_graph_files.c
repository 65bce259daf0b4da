/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files of graphs: what is written is read back, no damage to a file does more than be told,
 * and nothing but the file that was named is touched. */
#include "config.h"

#include "tests/support.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "graph/files.h"
#include "src/util/util.h"

static char folder[200];
static char path[300]; /* of a file in the folder that is not there */

static const char *path_of(const char *name)
{
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    unlink(path);
    return path;
}

static int group_setup(void **state)
{
    const char *base = getenv("TMPDIR");

    (void)state;
    snprintf(folder, sizeof(folder), "%s/graph-XXXXXX", base != NULL ? base : "/tmp");
    return mkdtemp(folder) == NULL;
}

static int group_teardown(void **state)
{
    (void)state;
    return rmdir(folder);
}

/* ---- graphs to write -------------------------------------------------------------------- */

static const char *const names[] = {
    NULL, "plain", "a, b", "say \"so\"", " at the ends ", "two\nlines", "caf\xc3\xa9", "<&>\\",
};

static const char *some_name(uint64_t *random)
{
    return names[sp_test_random_below(random, SP_ARRAY_SIZE(names))];
}

static struct starpool_location some_location(uint64_t *random)
{
    static const struct starpool_location places[] = {{STARPOOL_NONE, 0},
                                                      {STARPOOL_DEVICE, 0},
                                                      {STARPOOL_DEVICE, 7},
                                                      {STARPOOL_HOST, 0},
                                                      {STARPOOL_HOST_NUMA, 3}};

    return places[sp_test_random_below(random, SP_ARRAY_SIZE(places))];
}

static uint64_t some_size(uint64_t *random)
{
    return 1 + (sp_test_random(random) >> (24 + sp_test_random_below(random, 40)));
}

static void add_timed_block(struct starpool_graph *graph, uint64_t *random)
{
    uint64_t lower = sp_test_random_below(random, 1000);
    struct sp_graph_block block = {
        .size = some_size(random),
        .alignment = (uint64_t)1 << sp_test_random_below(random, 13),
        .location = some_location(random),
        .name = (char *)some_name(random),
        .alloc = SP_NO_INDEX,
        .free = SP_NO_INDEX,
        .lower = lower,
        .upper = lower + 1 + sp_test_random_below(random, 1000),
    };

    assert_int_not_equal(sp_graph_add_block(graph, &block), SP_NO_INDEX);
}

static struct starpool_graph *random_timed(uint64_t *random)
{
    struct starpool_graph *graph = sp_graph_create(NULL);

    assert_non_null(graph);
    graph->is_timed = true;
    for (size_t n = sp_test_random_below(random, 20); n > 0; n--)
        add_timed_block(graph, random);
    return graph;
}

/* Along the line of the nodes, so that the graph is whole whatever else there is. */
static void add_block(struct starpool_graph *graph, uint64_t *random)
{
    uint32_t first = (uint32_t)sp_test_random_below(random, graph->n_nodes);
    uint32_t last = first + (uint32_t)sp_test_random_below(random, graph->n_nodes - first);
    bool is_input = sp_test_random_below(random, 4) == 0;
    bool is_output = sp_test_random_below(random, 4) == 0;
    struct sp_graph_block block = {
        .size = some_size(random),
        .alignment = (uint64_t)1 << sp_test_random_below(random, 13),
        .location = some_location(random),
        .name = (char *)some_name(random),
        .alloc = is_input ? SP_NO_INDEX : first,
        .free = is_output ? SP_NO_INDEX : last,
        .address = sp_test_random_below(random, 2) * (sp_test_random(random) >> 16),
        .is_input = is_input,
        .is_output = is_output,
    };
    uint32_t index = sp_graph_add_block(graph, &block);

    assert_int_not_equal(index, SP_NO_INDEX);
    for (uint32_t node = first; node <= last; node += 3)
        assert_true(sp_graph_add_use(graph, index, node));
}

static struct starpool_graph *random_graph(uint64_t *random)
{
    struct starpool_graph *graph = sp_graph_create(some_name(random));
    uint32_t n = 1 + (uint32_t)sp_test_random_below(random, 20);

    assert_non_null(graph);
    graph->capacity = sp_test_random_below(random, 2) * (sp_test_random(random) >> 1);
    for (uint32_t i = 0; i < n; i++) {
        enum starpool_graph_node_kind kind =
            (enum starpool_graph_node_kind)sp_test_random_below(random,
                                                                STARPOOL_GRAPH_NODE_OTHER + 1);

        assert_int_equal(sp_graph_add_node(graph, kind, some_name(random)), i);
        if (i > 0)
            assert_true(sp_graph_add_edge(graph, i - 1, i));
    }
    for (size_t n_blocks = sp_test_random_below(random, 10); n_blocks > 0; n_blocks--)
        add_block(graph, random);
    return graph;
}

static void assert_same_name(const char *a, const char *b)
{
    assert_int_equal(a == NULL, b == NULL);
    if (a != NULL)
        assert_string_equal(a, b);
}

static void assert_same_block(const struct sp_graph_block *a, const struct sp_graph_block *b)
{
    assert_int_equal(a->size, b->size);
    assert_int_equal(a->alignment, b->alignment);
    assert_int_equal(a->location.kind, b->location.kind);
    assert_int_equal(a->location.id, b->location.id);
    assert_same_name(a->name, b->name);
    assert_int_equal(a->alloc, b->alloc);
    assert_int_equal(a->free, b->free);
    assert_int_equal(a->lower, b->lower);
    assert_int_equal(a->upper, b->upper);
    assert_int_equal(a->address, b->address);
    assert_int_equal(a->is_input, b->is_input);
    assert_int_equal(a->is_output, b->is_output);
}

static void assert_same_graph(const struct starpool_graph *a, const struct starpool_graph *b)
{
    assert_int_equal(a->is_timed, b->is_timed);
    assert_int_equal(a->capacity, b->capacity);
    assert_same_name(a->name, b->name);
    assert_int_equal(a->n_nodes, b->n_nodes);
    assert_int_equal(a->n_edges, b->n_edges);
    assert_int_equal(a->n_uses, b->n_uses);
    assert_int_equal(a->n_blocks, b->n_blocks);
    for (uint32_t i = 0; i < a->n_nodes; i++) {
        assert_int_equal(a->nodes[i].kind, b->nodes[i].kind);
        assert_same_name(a->nodes[i].name, b->nodes[i].name);
    }
    if (a->n_edges > 0)
        assert_memory_equal(a->edges, b->edges, a->n_edges * sizeof(*a->edges));
    if (a->n_uses > 0)
        assert_memory_equal(a->uses, b->uses, a->n_uses * sizeof(*a->uses));
    for (uint32_t i = 0; i < a->n_blocks; i++)
        assert_same_block(&a->blocks[i], &b->blocks[i]);
}

/* ---- round trips ------------------------------------------------------------------------ */

static void assert_comes_back(const struct starpool_graph *graph, const char *name)
{
    struct starpool_graph *copy;
    char reason[200] = "";

    assert_ok(starpool_graph_write(graph, NULL, path_of(name), STARPOOL_GRAPH_AUTO));
    if (starpool_graph_read(path, STARPOOL_GRAPH_AUTO, &copy, reason, sizeof(reason)) !=
        STARPOOL_OK)
        fail_msg("%s", reason);
    assert_same_graph(graph, copy);
    sp_graph_destroy(copy);
    unlink(path);
}

static void json_brings_every_graph_back(void **state)
{
    uint64_t random = sp_test_seed();

    (void)state;
    for (size_t i = 0; i < sp_test_scaled(200); i++) {
        struct starpool_graph *graph =
            i % 4 == 0 ? random_timed(&random) : random_graph(&random);

        assert_comes_back(graph, "graph.json");
        sp_graph_destroy(graph);
    }
}

static void csv_brings_timed_graphs_back(void **state)
{
    uint64_t random = sp_test_seed();

    (void)state;
    for (size_t i = 0; i < sp_test_scaled(200); i++) {
        struct starpool_graph *graph = random_timed(&random);

        assert_comes_back(graph, "graph.csv");
        sp_graph_destroy(graph);
    }
}

static void csv_of_nodes_has_their_order_as_time(void **state)
{
    uint64_t random = sp_test_seed();
    struct starpool_graph *copy;

    (void)state;
    for (size_t i = 0; i < sp_test_scaled(50); i++) {
        struct starpool_graph *graph = random_graph(&random);

        assert_ok(starpool_graph_write(graph, NULL, path_of("graph.csv"), STARPOOL_GRAPH_AUTO));
        assert_ok(starpool_graph_read(path, STARPOOL_GRAPH_AUTO, &copy, NULL, 0));
        assert_true(copy->is_timed);
        assert_int_equal(copy->n_blocks, graph->n_blocks);
        for (uint32_t j = 0; j < copy->n_blocks; j++) {
            const struct sp_graph_block *block = &graph->blocks[j];

            assert_int_equal(copy->blocks[j].size, block->size);
            assert_int_equal(copy->blocks[j].lower, block->is_input ? 0 : block->alloc);
            assert_int_equal(copy->blocks[j].upper,
                             block->is_output ? graph->n_nodes : block->free + 1);
        }
        sp_graph_destroy(copy);
        sp_graph_destroy(graph);
        unlink(path);
    }
}

/* ---- damage ----------------------------------------------------------------------------- */

typedef enum starpool_status (*read_fn)(const char *text, size_t size,
                                        struct starpool_graph **graph_out,
                                        struct sp_graph_error *error);

/* The text in a buffer of just its size, so that a sanitizer sees what reads on. */
static void read_damaged(read_fn read_text, const char *text, size_t size)
{
    struct starpool_graph *graph = NULL;
    struct sp_graph_error error = {.line = 0};
    char *exact = malloc(size > 0 ? size : 1);
    enum starpool_status status;

    assert_non_null(exact);
    memcpy(exact, text, size);
    status = read_text(exact, size, &graph, &error);
    free(exact);
    if (status == STARPOOL_OK) {
        assert_ok(sp_graph_check(graph, &error));
        sp_graph_destroy(graph);
        return;
    }
    assert_status(STARPOOL_EINVAL, status);
    assert_true(error.text[0] != '\0');
}

static void damage(read_fn read_text, const char *text, size_t size)
{
    uint64_t random = sp_test_seed();
    char *copy = malloc(size);

    assert_non_null(copy);
    for (size_t i = 0; i < size; i++)
        read_damaged(read_text, text, i);
    for (size_t i = 0; i < sp_test_scaled(3000); i++) {
        memcpy(copy, text, size);
        copy[sp_test_random_below(&random, size)] = (char)sp_test_random(&random);
        read_damaged(read_text, copy, size);
    }
    free(copy);
}

static void no_damage_to_a_file_does_harm(void **state)
{
    uint64_t random = sp_test_seed();
    struct starpool_graph *graph = random_graph(&random), *timed = random_timed(&random);
    char *text;
    size_t size;
    FILE *out;

    (void)state;
    add_block(graph, &random);
    add_timed_block(timed, &random);
    out = open_memstream(&text, &size);
    assert_ok(sp_graph_write_json(graph, NULL, out));
    fclose(out);
    damage(sp_graph_read_json, text, size);
    free(text);
    out = open_memstream(&text, &size);
    assert_ok(sp_graph_write_csv(timed, NULL, out));
    fclose(out);
    damage(sp_graph_read_csv, text, size);
    free(text);
    sp_graph_destroy(graph);
    sp_graph_destroy(timed);
}

/* ---- files ------------------------------------------------------------------------------ */

static void put_file(const char *name, const char *text)
{
    FILE *file = fopen(path_of(name), "w");

    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void assert_unreadable(enum starpool_status expected, const char *words)
{
    struct starpool_graph *graph = NULL;
    char reason[200] = "";

    assert_status(expected, starpool_graph_read(path, STARPOOL_GRAPH_AUTO, &graph, reason,
                                                sizeof(reason)));
    assert_null(graph);
    if (strstr(reason, words) == NULL)
        fail_msg("'%s' does not say '%s'", reason, words);
}

static void what_is_no_file_is_not_read(void **state)
{
    (void)state;
    path_of("missing.json");
    assert_unreadable(STARPOOL_EIO, "No such file");
    assert_int_equal(mkdir(path_of("folder.json"), 0700), 0);
    assert_unreadable(STARPOOL_EIO, "it is no file");
    rmdir(path);
    assert_int_equal(mkfifo(path_of("pipe.json"), 0600), 0);
    assert_unreadable(STARPOOL_EIO, "it is no file");
    unlink(path);
    put_file("empty.json", "");
    assert_unreadable(STARPOOL_EINVAL, "the file is empty");
    unlink(path);
    put_file("picture.svg", "<svg/>");
    assert_unreadable(STARPOOL_ENOTSUP, "written only");
    unlink(path);
    put_file("bad.csv", "id,lower,upper,size\n0,1,2,3\n1,1\n");
    assert_unreadable(STARPOOL_EINVAL, "line 3: 2 fields, and not 4");
    unlink(path);
}

static void form_is_known_by_name_or_first_character(void **state)
{
    static const char json[] = " \n{\"starpool_graph\": 1}", csv[] = "0,1,2,3\n";
    struct starpool_graph *graph;

    (void)state;
    put_file("some", json);
    assert_ok(starpool_graph_read(path, STARPOOL_GRAPH_AUTO, &graph, NULL, 0));
    assert_false(graph->is_timed);
    sp_graph_destroy(graph);
    assert_status(STARPOOL_EINVAL,
                  starpool_graph_read(path, STARPOOL_GRAPH_CSV, &graph, NULL, 0));
    unlink(path);
    put_file("some.txt", csv);
    assert_ok(starpool_graph_read(path, STARPOOL_GRAPH_AUTO, &graph, NULL, 0));
    assert_true(graph->is_timed);
    sp_graph_destroy(graph);
    unlink(path);
    put_file("some.json", csv);
    assert_unreadable(STARPOOL_EINVAL, "line 1: ");
    unlink(path);
    assert_status(STARPOOL_EINVAL,
                  starpool_graph_read(NULL, STARPOOL_GRAPH_AUTO, &graph, NULL, 0));
    assert_status(STARPOOL_EINVAL,
                  starpool_graph_read(path, STARPOOL_GRAPH_AUTO, NULL, NULL, 0));
}

static struct starpool_graph *some_graph(void)
{
    static const char text[] = "0,0,5,1024\n1,5,9,4096\n";
    struct starpool_graph *graph;
    struct sp_graph_error error;

    assert_ok(sp_graph_read_csv(text, sizeof(text) - 1, &graph, &error));
    return graph;
}

static void failed_write_leaves_no_file(void **state)
{
    struct starpool_graph *graph = some_graph();
    struct rlimit before, small;
    enum starpool_status status;

    (void)state;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 100;
    path_of("graph.json");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    status = starpool_graph_write(graph, NULL, path, STARPOOL_GRAPH_AUTO);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_status(STARPOOL_EIO, status);
    assert_int_not_equal(access(path, F_OK), 0);
    sp_graph_destroy(graph);
}

static void only_the_named_file_is_written(void **state)
{
    struct starpool_graph *graph = some_graph();
    char target[sizeof(path)];

    (void)state;
    assert_ok(starpool_graph_write(graph, NULL, path_of("100%p%%.csv"), STARPOOL_GRAPH_AUTO));
    assert_int_equal(access(path, F_OK), 0);
    assert_ok(starpool_graph_write(graph, NULL, path, STARPOOL_GRAPH_AUTO));
    snprintf(target, sizeof(target), "%s", path);
    assert_int_equal(symlink(target, path_of("link.csv")), 0);
    assert_status(STARPOOL_EIO, starpool_graph_write(graph, NULL, path, STARPOOL_GRAPH_AUTO));
    unlink(path);
    unlink(target);
    assert_status(STARPOOL_EIO, starpool_graph_write(graph, NULL, folder, STARPOOL_GRAPH_CSV));
    sp_graph_destroy(graph);
}

static void what_cannot_be_written_is_refused(void **state)
{
    struct starpool_graph *graph = some_graph();

    (void)state;
    path_of("graph.txt");
    assert_status(STARPOOL_EINVAL,
                  starpool_graph_write(graph, NULL, path, STARPOOL_GRAPH_AUTO));
    assert_status(STARPOOL_EINVAL, starpool_graph_write(NULL, NULL, path, STARPOOL_GRAPH_CSV));
    assert_status(STARPOOL_EINVAL, starpool_graph_write(graph, NULL, NULL, STARPOOL_GRAPH_CSV));
    assert_status(STARPOOL_ENOTSUP,
                  starpool_graph_write(graph, NULL, path, STARPOOL_GRAPH_DOT));
    graph->blocks[0].size = 0;
    assert_status(STARPOOL_EINVAL, starpool_graph_write(graph, NULL, path, STARPOOL_GRAPH_CSV));
    assert_int_not_equal(access(path, F_OK), 0);
    sp_graph_destroy(graph);
}

/* A graph of `n` nodes, each of the last three with a block of its own. */
static struct starpool_graph *graph_of_nodes(uint32_t n)
{
    struct starpool_graph *graph = sp_graph_create(NULL);

    for (uint32_t i = 0; i < n; i++) {
        struct sp_graph_block block = {.size = 1024, .alignment = 256, .alloc = i, .free = i};

        assert_int_not_equal(sp_graph_add_node(graph, STARPOOL_GRAPH_NODE_KERNEL, NULL),
                             SP_NO_INDEX);
        if (i + 3 >= n)
            assert_int_not_equal(sp_graph_add_block(graph, &block), SP_NO_INDEX);
    }
    return graph;
}

static void plan_of_another_graph_is_not_written(void **state)
{
    static const enum starpool_graph_format formats[] = {
        STARPOOL_GRAPH_JSON, STARPOOL_GRAPH_CSV, STARPOOL_GRAPH_DOT, STARPOOL_GRAPH_SVG};
    struct starpool_graph *planned = graph_of_nodes(100), *other = graph_of_nodes(3);
    struct starpool_plan_edge edge = {.struct_size = sizeof(edge)};
    struct starpool_plan_config config;
    struct starpool_plan *plan;

    (void)state;
    starpool_plan_config_init(&config);
    config.adds_edges = true;
    assert_ok(starpool_plan(planned, &config, &plan));
    /* It names a node that the other graph does not have. */
    assert_ok(starpool_plan_get_edge(plan, 0, &edge));
    assert_true(edge.from >= 3);
    path_of("graph.out");
    for (size_t i = 0; i < SP_ARRAY_SIZE(formats); i++) {
        assert_status(STARPOOL_EINVAL, starpool_graph_write(other, plan, path, formats[i]));
        assert_int_not_equal(access(path, F_OK), 0);
        assert_ok(starpool_graph_write(planned, plan, path, formats[i]));
        assert_int_equal(unlink(path), 0);
    }
    starpool_plan_destroy(plan);
    sp_graph_destroy(planned);
    sp_graph_destroy(other);
}

static void times_of_inputs_and_outputs_are_those_of_the_graph(void **state)
{
    struct starpool_graph *graph = some_graph();
    struct sp_spans spans;

    (void)state;
    graph->blocks[1].is_input = true;
    graph->blocks[0].is_output = true;
    assert_ok(sp_spans_init(&spans, graph, NULL));
    assert_int_equal(spans.lower[1], 0);
    assert_int_equal(spans.upper[1], 9);
    assert_int_equal(spans.lower[0], 0);
    assert_int_equal(spans.upper[0], 9);
    sp_spans_fini(&spans);
    sp_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_brings_every_graph_back),
        cmocka_unit_test(csv_brings_timed_graphs_back),
        cmocka_unit_test(csv_of_nodes_has_their_order_as_time),
        cmocka_unit_test(no_damage_to_a_file_does_harm),
        cmocka_unit_test(what_is_no_file_is_not_read),
        cmocka_unit_test(form_is_known_by_name_or_first_character),
        cmocka_unit_test(failed_write_leaves_no_file),
        cmocka_unit_test(only_the_named_file_is_written),
        cmocka_unit_test(what_cannot_be_written_is_refused),
        cmocka_unit_test(plan_of_another_graph_is_not_written),
        cmocka_unit_test(times_of_inputs_and_outputs_are_those_of_the_graph),
    };

    return cmocka_run_group_tests_name("graph files", tests, group_setup, group_teardown);
}
