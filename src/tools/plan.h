/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `starpool plan`. */
#ifndef SP_TOOLS_PLAN_H
#define SP_TOOLS_PLAN_H

/* argv[0] is "plan". */
int sp_plan_main(int argc, char **argv);

#endif /* SP_TOOLS_PLAN_H */
