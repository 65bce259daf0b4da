/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The backing of host pools, on the memory of this machine: where segments are placed, and that
 * everything goes back. What a node that is full does is tests/test_segment.c's business. */
#include "config.h"

#include "tests/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "numa/host_pool.h"
#include "src/heap/addrmap.h"
#include "src/pool/pool.h"

/* As host_pool.c has it. */
#define GRANULE (2 * SP_MIB)

static struct {
    struct sp_backing *backing;
    struct sp_piece *pieces[4];
} fixture;

static int setup(void **state)
{
    struct starpool_pool_config config;

    (void)state;
    memset(&fixture, 0, sizeof(fixture));
    starpool_pool_config_init(&config);
    assert_ok(sp_host_backing_create(-1, &config, &fixture.backing));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    fixture.backing->ops->destroy(fixture.backing);
    return 0;
}

static struct sp_piece *grow(size_t size)
{
    struct sp_piece *piece = NULL;

    assert_ok(fixture.backing->ops->grow(fixture.backing, size, &piece));
    assert_int_equal(piece->size, size);
    return piece;
}

/* True if this was the last piece of its region, which is dropped then. */
static bool shrink(struct sp_piece *piece)
{
    struct sp_region *region;

    assert_true(fixture.backing->ops->shrink(fixture.backing, piece, &region));
    if (region == NULL)
        return false;
    fixture.backing->ops->drop_region(fixture.backing, region);
    return true;
}

/* Bytes of address space that the process has. */
static size_t address_space(void)
{
    FILE *statm = fopen("/proc/self/statm", "r");
    char line[128] = "";

    assert_non_null(statm);
    assert_non_null(fgets(line, sizeof(line), statm));
    fclose(statm);
    return strtoul(line, NULL, 10) * (size_t)sysconf(_SC_PAGESIZE);
}

/* ---- pieces -------------------------------------------------------------------------------
 */

static void piece_is_ours_touched_and_usable(void **state)
{
    struct sp_piece *piece = grow(GRANULE);

    (void)state;
    assert_int_equal(piece->base % GRANULE, 0);
    assert_int_equal(fixture.backing->ops->granularity(fixture.backing), GRANULE);
    assert_true(sp_addrmap_is_ours(piece->base));
    assert_true(sp_addrmap_is_ours(piece->base + GRANULE - 1));
    assert_int_equal(piece->spilled_bytes, 0);
    assert_int_equal(piece->locked_bytes, 0);
    memset((void *)piece->base, 0x5a, GRANULE);
    assert_true(shrink(piece));
}

static void piece_that_went_back_is_nobodys(void **state)
{
    struct sp_piece *piece = grow(GRANULE);
    uintptr_t base = piece->base;

    (void)state;
    assert_true(shrink(piece));
    assert_false(sp_addrmap_is_ours(base));
    assert_false(sp_addrmap_is_ours(base + GRANULE - 1));
}

static void pieces_stand_side_by_side_as_foretold(void **state)
{
    struct sp_region *region = NULL;
    uintptr_t base = 0;

    (void)state;
    assert_false(fixture.backing->ops->next_piece(fixture.backing, 1, &region, &base));
    fixture.pieces[0] = grow(GRANULE);
    assert_true(fixture.backing->ops->next_piece(fixture.backing, SP_PAGE, &region, &base));
    fixture.pieces[1] = grow(GRANULE);
    assert_int_equal(base, fixture.pieces[0]->base + GRANULE);
    assert_int_equal(fixture.pieces[1]->base, base);
    assert_ptr_equal(fixture.pieces[0]->region, region);
    assert_ptr_equal(fixture.pieces[1]->region, region);
    assert_false(shrink(fixture.pieces[0]));
    assert_true(shrink(fixture.pieces[1]));
}

static void exact_size_takes_no_more_than_its_pages(void **state)
{
    (void)state;
    fixture.pieces[0] = grow(3 * SP_PAGE);
    fixture.pieces[1] = grow(GRANULE);
    assert_true(sp_addrmap_is_ours(fixture.pieces[0]->base + 3 * SP_PAGE - 1));
    assert_false(sp_addrmap_is_ours(fixture.pieces[0]->base + 3 * SP_PAGE));
    assert_int_equal(fixture.pieces[1]->base, fixture.pieces[0]->base + GRANULE);
    assert_false(shrink(fixture.pieces[1]));
    assert_true(shrink(fixture.pieces[0]));
}

static void address_that_went_back_is_used_again(void **state)
{
    uintptr_t base;

    (void)state;
    fixture.pieces[0] = grow(GRANULE);
    fixture.pieces[1] = grow(GRANULE);
    base = fixture.pieces[0]->base;
    for (int i = 0; i < 3; i++) {
        assert_false(shrink(fixture.pieces[0]));
        fixture.pieces[0] = grow(GRANULE);
        assert_int_equal(fixture.pieces[0]->base, base);
    }
    assert_false(shrink(fixture.pieces[0]));
    assert_true(shrink(fixture.pieces[1]));
}

static void address_space_goes_back_with_the_last_piece(void **state)
{
    size_t before;

    (void)state;
    assert_true(shrink(grow(GRANULE))); /* what is made once has been made */
    before = address_space();
    for (int i = 0; i < 8; i++)
        assert_true(shrink(grow(GRANULE)));
    /* Not a window, of which each would be far larger. */
    assert_in_range(address_space(), 0, before + 64 * SP_MIB);
}

static void node_that_is_not_there_is_refused(void **state)
{
    struct starpool_pool_config config;
    struct sp_backing *backing = fixture.backing;

    (void)state;
    starpool_pool_config_init(&config);
    assert_status(STARPOOL_EDEVICE, sp_host_backing_create(1 << 20, &config, &backing));
    assert_ptr_equal(backing, fixture.backing);
}

static void size_that_no_address_space_holds_is_refused(void **state)
{
    static const size_t sizes[] = {(size_t)1 << 60, SIZE_MAX - GRANULE + 1, SIZE_MAX - 4095};

    (void)state;
    for (size_t i = 0; i < SP_ARRAY_SIZE(sizes); i++) {
        struct sp_piece *piece = (struct sp_piece *)&fixture;

        assert_status(STARPOOL_ENOMEM,
                      fixture.backing->ops->grow(fixture.backing, sizes[i], &piece));
        assert_ptr_equal(piece, &fixture);
    }
    assert_true(shrink(grow(GRANULE)));
}

/* Pages that are resident. */
static size_t resident(void)
{
    FILE *statm = fopen("/proc/self/statm", "r");
    char line[128] = "", *rest;

    assert_non_null(statm);
    assert_non_null(fgets(line, sizeof(line), statm));
    fclose(statm);
    (void)strtoul(line, &rest, 10);
    return strtoul(rest, NULL, 10);
}

/* The address map of so much would take 512 MiB by itself, and a killer with it. */
static void size_that_no_node_has_is_refused_before_it_costs_anything(void **state)
{
    struct sp_piece *piece = NULL;
    size_t before = resident();
    enum starpool_status status;

    (void)state;
    /* Valgrind has not even the addresses. */
    status = fixture.backing->ops->grow(fixture.backing, (size_t)1 << 38, &piece);
    assert_true(status == STARPOOL_ENODE || status == STARPOOL_ENOMEM);
    assert_null(piece);
    assert_in_range(resident(), 0, before + 1024);
}

/* ---- a pool on it -------------------------------------------------------------------------
 */

static struct starpool_pool *make_pool(uint64_t maximum)
{
    struct starpool_pool_config config;
    struct starpool_pool *pool = NULL;

    starpool_pool_config_init(&config);
    config.maximum = maximum;
    assert_ok(starpool_pool_create(&config, &pool));
    return pool;
}

static void block_may_span_segments(void **state)
{
    struct starpool_pool *pool = make_pool(4 * SP_MIB);
    struct starpool_stats stats = {.struct_size = sizeof(stats)};
    void *a, *b;

    (void)state;
    assert_ok(starpool_alloc(pool, SP_MIB, STARPOOL_STREAM_HOST, &a));
    assert_ok(starpool_alloc(pool, 3 * SP_MIB, STARPOOL_STREAM_HOST, &b));
    assert_ok(starpool_pool_stats(pool, &stats));
    assert_int_equal(stats.n_segments, 2);
    assert_int_equal(stats.reserved_bytes, 4 * SP_MIB);
    memset(b, 1, 3 * SP_MIB);
    starpool_free(a, STARPOOL_STREAM_HOST);
    starpool_free(b, STARPOOL_STREAM_HOST);
    starpool_pool_destroy(pool);
}

static void sizes_near_the_top_are_refused_by_a_pool_that_holds_memory(void **state)
{
    struct starpool_pool *pool = make_pool(0);
    struct starpool_stats stats = {.struct_size = sizeof(stats)};
    void *small, *ptr = &fixture;
    size_t size = SIZE_MAX - SP_PAGE + 1;

    (void)state;
    assert_ok(starpool_alloc(pool, 1, STARPOOL_STREAM_HOST, &small));
    for (; size > SIZE_MAX / 4; size -= size / 4) {
        assert_status(STARPOOL_ENOMEM, starpool_alloc(pool, sp_round_down(size, SP_PAGE),
                                                      STARPOOL_STREAM_HOST, &ptr));
        assert_ptr_equal(ptr, &fixture);
    }
    assert_ok(starpool_pool_stats(pool, &stats));
    assert_int_equal(stats.reserved_bytes, GRANULE);
    starpool_free(small, STARPOOL_STREAM_HOST);
    starpool_pool_destroy(pool);
}

/* In a child with a limit on addresses: 0 if a block is served, a larger one refused, and the
 * first still whole. */
static int use_few_addresses(void)
{
    struct rlimit limit = {address_space() + 24 * SP_MIB, RLIM_INFINITY};
    struct starpool_pool *pool = make_pool(0);
    void *ptr, *none;

    limit.rlim_max = limit.rlim_cur;
    if (setrlimit(RLIMIT_AS, &limit) != 0)
        return 2;
    if (starpool_alloc(pool, SP_MIB, STARPOOL_STREAM_HOST, &ptr) != STARPOOL_OK)
        return 3;
    memset(ptr, 1, SP_MIB);
    if (starpool_alloc(pool, 64 * SP_MIB, STARPOOL_STREAM_HOST, &none) != STARPOOL_ENOMEM)
        return 4;
    return starpool_free(ptr, STARPOOL_STREAM_HOST) == STARPOOL_OK ? 0 : 5;
}

static void limit_on_addresses_is_a_status_and_smaller_blocks_are_served(void **state)
{
    int status = -1;
    pid_t child = fork();

    (void)state;
    if (child == 0)
        _exit(use_few_addresses());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(piece_is_ours_touched_and_usable),
        CASE(piece_that_went_back_is_nobodys),
        CASE(pieces_stand_side_by_side_as_foretold),
        CASE(exact_size_takes_no_more_than_its_pages),
        CASE(address_that_went_back_is_used_again),
        CASE(address_space_goes_back_with_the_last_piece),
        CASE(node_that_is_not_there_is_refused),
        CASE(size_that_no_address_space_holds_is_refused),
        CASE(size_that_no_node_has_is_refused_before_it_costs_anything),
        cmocka_unit_test(block_may_span_segments),
        cmocka_unit_test(sizes_near_the_top_are_refused_by_a_pool_that_holds_memory),
        cmocka_unit_test(limit_on_addresses_is_a_status_and_smaller_blocks_are_served),
    };

    return cmocka_run_group_tests_name("host_pool", tests, NULL, NULL);
}
