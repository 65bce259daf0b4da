/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Plans of recorded iterations: by lifetimes, and by the order of tasks. */
#include "config.h"

#include "tests/taskgraph_fixture.h"

#include "src/starpu/taskgraph_plan.h"
#include "src/starpu/taskgraph_safe.h"
#include "src/starpu/taskgraph_tasks.h"

#define N_NODES  2
#define MAX_LIVE 64

static const struct starpool_location locations[N_NODES] = {
    {STARPOOL_HOST_NUMA, 0},
    {STARPOOL_HOST_NUMA, 1},
};
static const bool is_served[N_NODES] = {true, true};
static const struct sp_tg_nodes nodes = {locations, is_served, N_NODES, 0};

static int setup(void **state)
{
    (void)state;
    begin_world();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    end_world();
    return 0;
}

/* ---- plans ---------------------------------------------------------------------------- */

static void check_apart(const struct sp_tg_plan *plan)
{
    const struct sp_tg_block *blocks = world.record.blocks;
    uint32_t i, j;

    for (i = 0; i < world.record.n_blocks; i++) {
        for (j = 0; j < i; j++) {
            if (plan->arenas[i] != plan->arenas[j] || blocks[i].lower >= blocks[j].upper ||
                blocks[j].lower >= blocks[i].upper)
                continue;
            assert_true(plan->offsets[i] >= plan->offsets[j] + blocks[j].size ||
                        plan->offsets[j] >= plan->offsets[i] + blocks[i].size);
        }
    }
}

static void plans_keep_live_blocks_apart(void **state)
{
    uint64_t seed = sp_test_seed();
    uintptr_t live[MAX_LIVE] = {0};
    struct sp_tg_plan plan;
    uintptr_t i;

    (void)state;
    for (i = 1; i <= 400; i++) {
        size_t at = sp_test_random_below(&seed, 16);

        if (live[at] != 0)
            log_free(live[at]);
        live[at] = live[at] != 0 ? 0 : 4096 * i;
        if (live[at] != 0)
            log_alloc(1 + sp_test_random_below(&seed, 200 * KIB), live[at]);
    }
    make_record();
    assert_ok(sp_tg_plan_init(&plan, &world.record, &nodes, 0));
    check_apart(&plan);
    assert_true(plan.lower_bound <= plan.tight_bytes);
    assert_true(plan.peak_bytes <= plan.tight_bytes + plan.tight_bytes / 20);
    sp_tg_plan_fini(&plan);
}

static void room_makes_lives_longer(void **state)
{
    struct sp_tg_plan plan;
    uintptr_t i;

    (void)state;
    for (i = 1; i <= 8; i++) {
        log_alloc(KIB * KIB, 4096 * i);
        log_free(4096 * i);
    }
    make_record();
    assert_ok(sp_tg_plan_init(&plan, &world.record, &nodes, 0));
    assert_int_equal(plan.tight_bytes, KIB * KIB);
    assert_int_equal(plan.peak_bytes, KIB * KIB);
    sp_tg_plan_fini(&plan);
    assert_ok(sp_tg_plan_init(&plan, &world.record, &nodes, 8 * KIB * KIB));
    assert_int_equal(plan.tight_bytes, KIB * KIB);
    assert_int_equal(plan.peak_bytes, 8 * KIB * KIB);
    assert_true(plan.spread > 0);
    sp_tg_plan_fini(&plan);
}

static void each_place_has_an_arena_and_what_is_not_served_has_none(void **state)
{
    static const bool only_first[N_NODES] = {true, false};
    struct sp_tg_nodes some = {locations, only_first, N_NODES, 0};
    struct sp_tg_request requests[] = {{100, 0, 0}, {100, 1, 0}};
    struct sp_tg_plan plan;

    (void)state;
    sp_tg_log_alloc(&world.log, &requests[0], (void *)0x1000, SP_TG_NONE);
    sp_tg_log_alloc(&world.log, &requests[1], (void *)0x2000, SP_TG_NONE);
    make_record();
    assert_ok(sp_tg_plan_init(&plan, &world.record, &nodes, 0));
    assert_int_equal(plan.n_arenas, 2);
    assert_int_equal(plan.nodes[1], 1);
    sp_tg_plan_fini(&plan);
    assert_ok(sp_tg_plan_init(&plan, &world.record, &some, 0));
    assert_int_equal(plan.n_arenas, 1);
    assert_int_equal(plan.arenas[1], SP_TG_NONE);
    sp_tg_plan_fini(&plan);
}

/* ---- tasks ---------------------------------------------------------------------------- */

static struct {
    unsigned before[16]; /* bit i of before[j]: i comes before j */
} seen;

static bool note_edge(void *arg, uint32_t from, uint32_t to)
{
    (void)arg;
    seen.before[to] |= 1U << from;
    return true;
}

static uint32_t submit(struct sp_tg_tasks *tasks, const char *data, enum sp_tg_mode mode)
{
    static char unique[64];
    struct sp_tg_access access = {.data = data, .size = 100, .mode = mode};
    struct sp_tg_task task = {
        .task = &unique[tasks->n_tasks], .accesses = &access, .n_accesses = 1};

    return sp_tg_tasks_submit(tasks, &task);
}

static void begin_tasks(struct sp_tg_tasks *tasks)
{
    *tasks = (struct sp_tg_tasks){.mutex = PTHREAD_MUTEX_INITIALIZER};
    memset(&seen, 0, sizeof(seen));
    sp_tg_tasks_begin(tasks);
}

static void accesses_order_tasks_as_starpu_does(void **state)
{
    struct sp_tg_tasks tasks;
    static const char data[2];

    (void)state;
    begin_tasks(&tasks);
    submit(&tasks, data, SP_TG_WRITE);
    submit(&tasks, data, SP_TG_READ);
    submit(&tasks, data, SP_TG_READ);
    submit(&tasks, data, SP_TG_COMMUTE);
    submit(&tasks, data, SP_TG_COMMUTE);
    submit(&tasks, data, SP_TG_WRITE);
    submit(&tasks, data, SP_TG_UNORDERED);
    submit(&tasks, data + 1, SP_TG_WRITE);
    sp_tg_tasks_end(&tasks);
    assert_true(sp_tg_tasks_edges(&tasks, note_edge, NULL));
    assert_int_equal(seen.before[1], 1);
    assert_int_equal(seen.before[2], 1);
    assert_int_equal(seen.before[3], 2 + 4);
    assert_int_equal(seen.before[4], 2 + 4);
    assert_int_equal(seen.before[5], 8 + 16);
    assert_int_equal(seen.before[6], 0);
    assert_int_equal(seen.before[7], 0);
    sp_tg_tasks_fini(&tasks);
}

static void data_at_an_address_that_comes_again_is_other_data(void **state)
{
    struct sp_tg_tasks tasks;
    static const char data[1];

    (void)state;
    begin_tasks(&tasks);
    submit(&tasks, data, SP_TG_WRITE);
    sp_tg_tasks_forget(&tasks, data);
    submit(&tasks, data, SP_TG_WRITE);
    sp_tg_tasks_end(&tasks);
    assert_true(sp_tg_tasks_edges(&tasks, note_edge, NULL));
    assert_int_equal(seen.before[1], 0);
    sp_tg_tasks_fini(&tasks);
}

static void declared_dependencies_and_tags_order_tasks(void **state)
{
    struct sp_tg_tasks tasks;
    static const char names[3];
    struct sp_tg_task a = {.task = &names[0], .has_tag = true, .tag = 7};
    struct sp_tg_task b = {.task = &names[1], .has_tag = true, .tag = 8};

    (void)state;
    begin_tasks(&tasks);
    sp_tg_tasks_submit(&tasks, &a);
    sp_tg_tasks_depend(&tasks, &names[1], &names[0]);
    sp_tg_tasks_submit(&tasks, &b);
    /* The first task's address comes again: its own dependency is on the second. */
    sp_tg_tasks_depend(&tasks, &names[0], &names[1]);
    a.tag = 9;
    sp_tg_tasks_submit(&tasks, &a);
    sp_tg_tasks_depend_tag(&tasks, 10, 7);
    b.tag = 10;
    sp_tg_tasks_submit(&tasks, &b);
    sp_tg_tasks_end(&tasks);
    assert_true(sp_tg_tasks_edges(&tasks, note_edge, NULL));
    assert_int_equal(seen.before[0], 0);
    assert_int_equal(seen.before[1], 1);
    assert_int_equal(seen.before[2], 2);
    assert_int_equal(seen.before[3], 1);
    sp_tg_tasks_fini(&tasks);
}

static void refused_tasks_order_nothing(void **state)
{
    struct sp_tg_tasks tasks;
    static const char data[1];

    (void)state;
    begin_tasks(&tasks);
    submit(&tasks, data, SP_TG_WRITE);
    sp_tg_tasks_cancel(&tasks, submit(&tasks, data, SP_TG_WRITE));
    submit(&tasks, data, SP_TG_READ);
    sp_tg_tasks_end(&tasks);
    assert_int_equal(submit(&tasks, data, SP_TG_WRITE), SP_TG_NONE);
    assert_true(sp_tg_tasks_edges(&tasks, note_edge, NULL));
    assert_int_equal(seen.before[1], 0);
    assert_int_equal(seen.before[2], 1);
    sp_tg_tasks_fini(&tasks);
}

/* Two tasks in a row on each of two data that know nothing of each other. */
static void blocks_are_used_by_the_tasks_of_their_data(void **state)
{
    struct starpool_graph_info info = {.struct_size = sizeof(info)};
    struct sp_tg_request request = {.size = 100};
    struct sp_tg_tasks_counts counts;
    struct starpool_graph_block block = {.struct_size = sizeof(block)};
    struct sp_tg_tasks tasks;
    struct starpool_graph *graph;
    static const char data[2];

    (void)state;
    begin_tasks(&tasks);
    submit(&tasks, data, SP_TG_WRITE);
    submit(&tasks, data + 1, SP_TG_WRITE);
    submit(&tasks, data, SP_TG_READ);
    sp_tg_tasks_end(&tasks);
    sp_tg_log_alloc(&world.log, &request, (void *)0x1000, 0);
    sp_tg_log_alloc(&world.log, &request, (void *)0x2000, 1);
    log_alloc(300, 0x3000);
    log_free(0x1000);
    make_record();
    assert_ok(
        sp_tg_tasks_graph(&tasks, &world.record, locations, 0, "scripted", &graph, &counts));
    assert_ok(starpool_graph_get_info(graph, &info));
    assert_int_equal(counts.n_known, 2);
    assert_int_equal(info.n_nodes, 3);
    assert_int_equal(info.n_edges, 1);
    assert_int_equal(info.n_uses, 3);
    assert_ok(starpool_graph_get_block(graph, 0, &block));
    assert_false(block.is_input || block.is_output);
    assert_ok(starpool_graph_get_block(graph, 1, &block));
    assert_true(!block.is_input && block.is_output);
    assert_ok(starpool_graph_get_block(graph, 2, &block));
    assert_true(block.is_input && block.is_output);
    starpool_graph_destroy(graph);
    sp_tg_tasks_fini(&tasks);
}

/* The plan of a timed graph with one block of each size. */
static struct starpool_plan *plan_of_sizes(const uint64_t *sizes, unsigned n)
{
    struct starpool_plan_config config;
    struct starpool_graph_block block;
    struct starpool_graph *graph;
    struct starpool_plan *plan;
    unsigned i;

    assert_ok(starpool_graph_create("sizes", &graph));
    for (i = 0; i < n; i++) {
        starpool_graph_block_init(&block);
        block.size = sizes[i];
        block.alignment = sp_tg_plan_align(sizes[i], 0);
        block.location = locations[0];
        block.upper = 1;
        assert_ok(starpool_graph_add_block(graph, &block, NULL));
    }
    starpool_plan_config_init(&config);
    assert_ok(starpool_plan(graph, &config, &plan));
    starpool_graph_destroy(graph);
    return plan;
}

static void only_plans_with_the_same_blocks_are_taken(void **state)
{
    static const struct {
        uint64_t sizes[3];
        unsigned n;
        enum starpool_status expected;
    } given[] = {
        {{100, 40000}, 2, STARPOOL_OK},
        {{100}, 1, STARPOOL_EINVAL},
        {{100, 40000, 100}, 3, STARPOOL_EINVAL},
        {{100, 90000}, 2, STARPOOL_EINVAL},
    };
    struct starpool_plan *plan;
    struct sp_tg_plan taken;
    size_t i;

    (void)state;
    log_alloc(100, 0x1000);
    log_alloc(40000, 0x2000);
    make_record();
    for (i = 0; i < SP_ARRAY_SIZE(given); i++) {
        plan = plan_of_sizes(given[i].sizes, given[i].n);
        assert_int_equal(sp_tg_plan_init_from(&taken, &world.record, &nodes, plan),
                         given[i].expected);
        if (given[i].expected == STARPOOL_OK)
            sp_tg_plan_fini(&taken);
        starpool_plan_destroy(plan);
    }
}

/* The order may be being read by then, or be another recording's. */
static void a_refusal_after_the_recording_changes_nothing(void **state)
{
    static const char data[1];
    struct sp_tg_tasks tasks;

    (void)state;
    begin_tasks(&tasks);
    submit(&tasks, data, SP_TG_WRITE);
    sp_tg_tasks_end(&tasks);
    sp_tg_tasks_cancel(&tasks, 0);
    assert_false(tasks.tasks[0].is_cancelled);
    sp_tg_tasks_fini(&tasks);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(plans_keep_live_blocks_apart),
        CASE(room_makes_lives_longer),
        CASE(each_place_has_an_arena_and_what_is_not_served_has_none),
        CASE(accesses_order_tasks_as_starpu_does),
        CASE(data_at_an_address_that_comes_again_is_other_data),
        CASE(declared_dependencies_and_tags_order_tasks),
        CASE(refused_tasks_order_nothing),
        CASE(blocks_are_used_by_the_tasks_of_their_data),
        CASE(only_plans_with_the_same_blocks_are_taken),
        CASE(a_refusal_after_the_recording_changes_nothing),
    };

    return cmocka_run_group_tests_name("taskgraph_plan", tests, NULL, NULL);
}
