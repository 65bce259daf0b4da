/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What `starpool plan` says of a plan, as text and as JSON. */
#ifndef SP_TOOLS_PLAN_SHOW_H
#define SP_TOOLS_PLAN_SHOW_H

#include <stdbool.h>

#include <starpool/graph.h>
#include <starpool/plan.h>

/* A location with blocks. */
struct sp_plan_row {
    struct starpool_location location;
    struct starpool_plan_report report;
};

struct sp_plan_view {
    const struct starpool_graph *graph;
    const struct starpool_plan *plan;
    struct sp_plan_row *rows; /* [n_rows] in order of appearance */
    uint32_t n_rows;
    bool is_checked, is_valid; /* whether it was, and nothing was found */
};

/* What there is to show; false without memory. */
bool sp_plan_view_init(struct sp_plan_view *view, const struct starpool_graph *graph,
                       const struct starpool_plan *plan);
void sp_plan_view_fini(struct sp_plan_view *view);

/* Whether every location fits. */
bool sp_plan_fits(const struct sp_plan_view *view);

void sp_plan_show(const struct sp_plan_view *view);
void sp_plan_write_json(const struct sp_plan_view *view);

#endif /* SP_TOOLS_PLAN_SHOW_H */
