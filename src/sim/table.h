/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The model's table as the simulated libraries get it. */
#ifndef SP_TABLE_H
#define SP_TABLE_H

#include "src/driver/driver.h"

/* The model's, if libstarpool.so is of the very version of this library: they share a table
 * without a promise of staying the same. Otherwise, said once, one in which every call answers
 * that the versions do not fit. Threads: any, at once. */
const struct sp_driver *sp_sim_driver(void);

#endif /* SP_TABLE_H */
