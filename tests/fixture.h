/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One pool on a scripted backing: what most tests of pools start from. */
#ifndef SP_FIXTURE_H
#define SP_FIXTURE_H

#include <stddef.h>

#include <starpool/pool.h>
#include <starpool/stats.h>

#include "tests/script.h"

extern struct sp_fixture {
    struct sp_script script;
    struct starpool_pool *pool; /* NULL when the test has destroyed it */
} fixture;

/* For cmocka. The journal of the script begins empty. */
int sp_fixture_setup(void **state);
int sp_fixture_teardown(void **state);

/* A block of a pool, or of the fixture's, which must be had. */
void *sp_fixture_alloc_from(struct starpool_pool *pool, size_t size);
void *sp_fixture_alloc(size_t size);

/* Free a block, which must be right. */
void sp_fixture_give(void *ptr);

struct starpool_stats sp_fixture_stats_of(struct starpool_pool *pool);

#endif /* SP_FIXTURE_H */
