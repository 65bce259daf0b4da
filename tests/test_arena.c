/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which nodes come before which, against a walk over all paths; and arenas, in which memory may
 * serve again only where the graph's order allows it. */
#include "config.h"

#include "tests/support.h"

#include <stdlib.h>
#include <string.h>

#include "graph/arena.h"
#include "graph/lineage.h"
#include "graph/owner.h"
#include "src/util/util.h"
#include "tests/capture_script.h"

static struct sp_script_node nodes[SP_SCRIPT_NODES];
static size_t n_nodes;
static struct sp_owner owner;

static int setup(void **state)
{
    (void)state;
    sp_capture_script_begin();
    memset(nodes, 0, sizeof(nodes));
    n_nodes = 0;
    memset(&owner, 0, sizeof(owner));
    owner.driver = sp_capture_script_driver();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    sp_lineage_fini(&owner.lineage);
    sp_arenas_fini(&owner);
    sp_capture_script_end();
    return 0;
}

/* A node after up to two others. */
static struct sp_script_node *add(struct sp_script_node *a, struct sp_script_node *b)
{
    struct sp_script_node *node = &nodes[n_nodes++];

    if (a != NULL)
        node->dependencies[node->n++] = a;
    if (b != NULL)
        node->dependencies[node->n++] = b;
    return node;
}

/* Where a stream stands that has come to one node, or to none. */
static struct sp_horizon look(struct sp_script_node *node, struct sp_place **places_out)
{
    sp_cu_node handle = (sp_cu_node)(void *)node;
    struct sp_frontier frontier = {.nodes = &handle, .n_nodes = node != NULL};
    struct sp_horizon horizon;

    assert_ok(sp_lineage_look(&owner.lineage, owner.driver, &frontier, &horizon, places_out));
    return horizon;
}

static bool is_before(const struct sp_script_node *from, const struct sp_script_node *to)
{
    if (from == to)
        return true;
    for (size_t i = 0; i < to->n; i++) {
        if (is_before(from, to->dependencies[i]))
            return true;
    }
    return false;
}

/* ---- lineage ----------------------------------------------------------------------------- */

static bool covers(struct sp_script_node *later, struct sp_script_node *earlier)
{
    struct sp_place *place;
    struct sp_horizon of_earlier = look(earlier, &place), of_later = look(later, NULL);
    bool answer = sp_horizon_covers(&of_later, place, 1);

    free(place);
    sp_horizon_fini(&of_earlier);
    sp_horizon_fini(&of_later);
    return answer;
}

static void order_is_that_of_the_paths(void **state)
{
    uint64_t random = sp_test_seed();
    size_t n_rounds = sp_test_scaled(200);

    for (size_t round = 0; round < n_rounds; round++) {
        setup(state);
        for (size_t i = 0; i < 24; i++) {
            struct sp_script_node *a = NULL, *b = NULL;

            if (n_nodes > 0 && sp_test_random_below(&random, 8) != 0)
                a = &nodes[sp_test_random_below(&random, n_nodes)];
            if (n_nodes > 1 && sp_test_random_below(&random, 3) == 0)
                b = &nodes[sp_test_random_below(&random, n_nodes)];
            add(a, a == b ? NULL : b);
        }
        for (size_t i = 0; i < n_nodes; i++) {
            for (size_t j = 0; j < n_nodes; j++)
                assert_int_equal(covers(&nodes[i], &nodes[j]), is_before(&nodes[j], &nodes[i]));
        }
        teardown(state);
    }
    setup(state);
}

static void each_node_is_asked_for_once(void **state)
{
    struct sp_horizon horizon;

    (void)state;
    for (size_t i = 0; i < SP_SCRIPT_NODES; i++)
        add(i > 0 ? &nodes[i - 1] : NULL, i > 1 ? &nodes[i - 2] : NULL);
    for (size_t i = 0; i < SP_SCRIPT_NODES; i += 7) {
        horizon = look(&nodes[i], NULL);
        sp_horizon_fini(&horizon);
    }
    horizon = look(&nodes[SP_SCRIPT_NODES - 1], NULL);
    sp_horizon_fini(&horizon);
    /* How many dependencies, then which; of the first there is none. */
    assert_int_equal(script.n_calls[SP_CALL_cuGraphNodeGetDependencies],
                     2 * SP_SCRIPT_NODES - 1);
    assert_int_equal(owner.lineage.n_chains, 1);
}

static void streams_that_fork_and_join_make_as_many_chains(void **state)
{
    struct sp_script_node *main = add(NULL, NULL), *side;
    struct sp_horizon horizon;

    (void)state;
    while (n_nodes + 3 < SP_SCRIPT_NODES) {
        side = add(main, NULL);
        main = add(main, NULL);
        main = add(main, side);
        horizon = look(main, NULL);
        sp_horizon_fini(&horizon);
    }
    assert_int_equal(owner.lineage.n_chains, 2);
}

/* ---- arenas ------------------------------------------------------------------------------ */

static char chunk_memory[64 * 1024];
static struct sp_arena *arena;

static size_t n_chunks;

/* A block at a point of the graph; a chunk if there is nothing to be used again. */
static uintptr_t take(struct sp_script_node *at, size_t size, struct sp_arena_chunk **chunk_out)
{
    struct sp_horizon horizon = look(at, NULL);
    uintptr_t start;
    bool is_found;

    arena = sp_arena_of(&owner, &owner);
    assert_non_null(arena);
    is_found = sp_arena_take(arena, size, &horizon, &start, chunk_out);
    sp_horizon_fini(&horizon);
    if (is_found)
        return start;
    start = (uintptr_t)chunk_memory + 4096 * n_chunks;
    assert_true(size <= 4096);
    assert_ok(sp_arena_add_chunk(arena, start, size, NULL, chunk_out));
    n_chunks++;
    return start;
}

static void give(struct sp_script_node *at, uintptr_t start, size_t size,
                 struct sp_arena_chunk *chunk)
{
    struct sp_place *places;
    struct sp_horizon horizon = look(at, &places);

    assert_ok(sp_arena_give(arena, chunk, start, size, places, at != NULL, &horizon));
    sp_horizon_fini(&horizon);
}

static int setup_arena(void **state)
{
    n_chunks = 0;
    return setup(state);
}

static void memory_freed_on_the_way_here_serves_again(void **state)
{
    struct sp_script_node *a = add(NULL, NULL), *b = add(a, NULL);
    struct sp_arena_chunk *chunk;
    uintptr_t start = take(a, 1024, &chunk);

    (void)state;
    give(b, start, 1024, chunk);
    assert_int_equal(take(b, 1024, &chunk), start);
    give(b, start, 1024, chunk);
    assert_int_equal(take(add(b, NULL), 512, &chunk), start);
    assert_int_equal(take(b, 512, &chunk), start + 512);
    assert_int_equal(arena->size, 1024);
}

static void memory_of_a_branch_serves_no_other_one(void **state)
{
    struct sp_script_node *root = add(NULL, NULL), *left = add(root, NULL);
    struct sp_script_node *right = add(root, NULL), *joined;
    struct sp_arena_chunk *chunk, *other;
    uintptr_t start = take(left, 1024, &chunk), elsewhere;

    (void)state;
    give(left, start, 1024, chunk);
    elsewhere = take(right, 1024, &other);
    assert_true(elsewhere != start);
    joined = add(left, right);
    assert_int_equal(take(joined, 1024, &chunk), start);
}

static void memory_freed_before_anything_was_captured_serves_all(void **state)
{
    struct sp_arena_chunk *chunk;
    uintptr_t start = take(NULL, 1024, &chunk);

    (void)state;
    give(NULL, start, 1024, chunk);
    assert_int_equal(take(NULL, 1024, &chunk), start);
    give(NULL, start, 1024, chunk);
    assert_int_equal(take(add(NULL, NULL), 1024, &chunk), start);
}

static void neighbours_serve_as_one_where_both_may(void **state)
{
    struct sp_script_node *root = add(NULL, NULL), *left = add(root, NULL);
    struct sp_script_node *right = add(root, NULL);
    struct sp_arena_chunk *chunk, *other;
    uintptr_t start = take(root, 2048, &chunk);

    (void)state;
    give(root, start, 2048, chunk);
    assert_int_equal(take(left, 1024, &chunk), start);
    assert_int_equal(take(right, 1024, &chunk), start + 1024);
    give(left, start, 1024, chunk);
    give(right, start + 1024, 1024, chunk);
    /* Neither branch may have both, and what comes after both may. */
    assert_true(take(left, 2048, &other) != start);
    assert_int_equal(take(add(left, right), 2048, &other), start);
}

static void chunks_do_not_grow_together(void **state)
{
    struct sp_script_node *root = add(NULL, NULL);
    struct sp_arena_chunk *first, *second, *third;
    uintptr_t a = take(root, 4096, &first), b = take(root, 4096, &second);

    (void)state;
    assert_int_equal(b, a + 4096);
    give(root, a, 4096, first);
    give(root, b, 4096, second);
    assert_int_equal(take(root, 4096, &third), a);
    assert_ptr_equal(third, first);
    assert_int_equal(arena->size, 8192);
}

/* ---- at random --------------------------------------------------------------------------- */

struct block {
    uintptr_t start;
    size_t size;
    struct sp_arena_chunk *chunk;
    struct sp_script_node *first, *last; /* used from, to; last NULL: live */
};

static bool may_share(const struct block *a, const struct block *b)
{
    return (a->last != NULL && is_before(a->last, b->first)) ||
           (b->last != NULL && is_before(b->last, a->first));
}

static void check_blocks(const struct block *blocks, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t j = i + 1; j < n; j++) {
            bool overlaps = blocks[i].start < blocks[j].start + blocks[j].size &&
                            blocks[j].start < blocks[i].start + blocks[i].size;

            assert_true(!overlaps || may_share(&blocks[i], &blocks[j]));
        }
    }
}

/* Three streams that wait for each other now and then. */
static void random_branches_never_share_memory(void **state)
{
    uint64_t random = sp_test_seed();
    size_t n_rounds = sp_test_scaled(300);

    for (size_t round = 0; round < n_rounds; round++) {
        struct sp_script_node *streams[3];
        struct block blocks[16];
        size_t n = 0;

        setup_arena(state);
        for (size_t i = 0; i < 3; i++)
            streams[i] = add(i == 0 ? NULL : streams[0], NULL);
        while (n_nodes < SP_SCRIPT_NODES) {
            size_t s = sp_test_random_below(&random, 3), t = sp_test_random_below(&random, 3);
            size_t i = sp_test_random_below(&random, 16);

            if (sp_test_random_below(&random, 4) == 0 && s != t)
                streams[s] = add(streams[s], streams[t]);
            else
                streams[s] = add(streams[s], NULL);
            if (n < 16 && n_chunks < 15) {
                size_t size = 256 * (1 + sp_test_random_below(&random, 8));

                blocks[n] = (struct block){.size = size, .first = streams[s]};
                blocks[n].start = take(streams[s], size, &blocks[n].chunk);
                n++;
            }
            if (i < n && blocks[i].last == NULL && is_before(blocks[i].first, streams[s])) {
                blocks[i].last = streams[s];
                give(streams[s], blocks[i].start, blocks[i].size, blocks[i].chunk);
            }
        }
        check_blocks(blocks, n);
        teardown(state);
    }
    setup(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(order_is_that_of_the_paths, setup, teardown),
        cmocka_unit_test_setup_teardown(each_node_is_asked_for_once, setup, teardown),
        cmocka_unit_test_setup_teardown(streams_that_fork_and_join_make_as_many_chains, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(memory_freed_on_the_way_here_serves_again, setup_arena,
                                        teardown),
        cmocka_unit_test_setup_teardown(memory_of_a_branch_serves_no_other_one, setup_arena,
                                        teardown),
        cmocka_unit_test_setup_teardown(memory_freed_before_anything_was_captured_serves_all,
                                        setup_arena, teardown),
        cmocka_unit_test_setup_teardown(neighbours_serve_as_one_where_both_may, setup_arena,
                                        teardown),
        cmocka_unit_test_setup_teardown(chunks_do_not_grow_together, setup_arena, teardown),
        cmocka_unit_test_setup_teardown(random_branches_never_share_memory, setup_arena,
                                        teardown),
    };

    return cmocka_run_group_tests_name("arena", tests, NULL, NULL);
}
