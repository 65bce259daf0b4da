/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A pool for a test, and the calls that every test makes on it. */
#include "config.h"

#include "tests/fixture.h"

#include "tests/support.h"

struct sp_fixture fixture;

int sp_fixture_setup(void **state)
{
    (void)state;
    sp_script_init(&fixture.script);
    fixture.pool = sp_script_pool(&fixture.script, 0);
    sp_script_clear();
    return 0;
}

int sp_fixture_teardown(void **state)
{
    (void)state;
    starpool_pool_destroy(fixture.pool);
    sp_script_fini(&fixture.script);
    return 0;
}

void *sp_fixture_alloc_from(struct starpool_pool *pool, size_t size)
{
    void *ptr = NULL;

    assert_ok(starpool_alloc(pool, size, STARPOOL_STREAM_HOST, &ptr));
    return ptr;
}

void *sp_fixture_alloc(size_t size)
{
    return sp_fixture_alloc_from(fixture.pool, size);
}

void sp_fixture_give(void *ptr)
{
    assert_ok(starpool_free(ptr, STARPOOL_STREAM_HOST));
}

struct starpool_stats sp_fixture_stats_of(struct starpool_pool *pool)
{
    struct starpool_stats stats = {.struct_size = sizeof(stats)};

    assert_ok(starpool_pool_stats(pool, &stats));
    return stats;
}
