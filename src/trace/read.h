/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Private to src/trace: reading a trace for those who can tell that two events of different
 * threads are in the wrong order. */
#ifndef SP_TRACE_READ_H
#define SP_TRACE_READ_H

#include <stdbool.h>

#include <starpool/trace.h>

/* Put off the record that starpool_trace_next() gave last, because it cannot have come yet: it
 * is given again after the next of another thread. False, and nothing is put off, if no other
 * came so soon after that their order can be in doubt. */
bool sp_trace_hold(struct starpool_trace *reader);

#endif /* SP_TRACE_READ_H */
