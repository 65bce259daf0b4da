/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The parts of the benchmark of plans. */
#ifndef SP_BENCH_PLAN_H
#define SP_BENCH_PLAN_H

/** Partial orders (plan_order.c): branches and captures. @return 0; 1 if a plan was wrong */
int bench_plan_orders(void);

#endif /* SP_BENCH_PLAN_H */
