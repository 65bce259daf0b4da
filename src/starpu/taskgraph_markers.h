/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* StarPU's own marks of iterations, for programs that know nothing of starpool. */
#ifndef SP_TASKGRAPH_MARKERS_H
#define SP_TASKGRAPH_MARKERS_H

/* starpu_iteration_push(number) was called, and StarPU knows. */
void sp_tg_marker_push(unsigned long number);

/* starpu_iteration_pop() was called. */
void sp_tg_marker_pop(void);

/* StarPU is being started: what its last life has left unended is ended. */
void sp_tg_marker_note_init(void);

#endif /* SP_TASKGRAPH_MARKERS_H */
