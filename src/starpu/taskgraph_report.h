/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the exit report says of iterations. */
#ifndef SP_TASKGRAPH_REPORT_H
#define SP_TASKGRAPH_REPORT_H

#include <stdio.h>

#include "src/util/json.h"

/* Nothing, if no iteration was begun. */
void sp_taskgraph_report_text(FILE *out);

/* The member "iterations". */
void sp_taskgraph_report_json(struct sp_json *json);

#endif /* SP_TASKGRAPH_REPORT_H */
