/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the tests of plans share: a graph with its plan, and a way to run a graph in every way
 * there is. */
#ifndef SP_PLAN_FIXTURE_H
#define SP_PLAN_FIXTURE_H

#include <stddef.h>
#include <stdint.h>

#include <starpool/plan.h>

#include "graph/graph.h"
#include "graph/plan.h"

struct sp_plan_fixture {
    struct starpool_graph *graph;
    struct starpool_plan_config config; /**< the fast mode unless changed */
    struct starpool_plan *plan;         /**< by sp_plan_make_checked() */
    struct starpool_plan_report report; /**< of sp_plan_device */
};

extern struct sp_plan_fixture sp_plan_fixture;
extern const struct starpool_location sp_plan_device;

/** An empty graph and no plan. */
int sp_plan_setup(void **state);
int sp_plan_teardown(void **state);

/** Put another graph in the place of the fixture's. */
void sp_plan_take_graph(struct starpool_graph *graph);

/** Plan, have the plan checked, and read the report of sp_plan_device. */
void sp_plan_make_checked(void);

/** Add `n` nodes, each of which follows the one before. */
void sp_plan_add_stream(uint32_t n);

/** Add a block on sp_plan_device. @return its number */
uint32_t sp_plan_add_block(uint64_t size, uint32_t alloc, uint32_t free);

/**
 * Go through every state that a graph of a few nodes can be in, whatever runs when, and see
 * that no two blocks that are live overlap.
 *
 * @return  the number of states
 */
size_t sp_plan_run_all_ways(const struct starpool_graph *graph,
                            const struct starpool_plan *plan);

#endif /* SP_PLAN_FIXTURE_H */
