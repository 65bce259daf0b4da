/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* starpool: stream-ordered memory pools for task runtimes. Includes every public header
 * but starpool/starpu.h, which is for programs that use StarPU. */
#ifndef STARPOOL_H
#define STARPOOL_H

#include <starpool/access.h>
#include <starpool/attribute.h>
#include <starpool/base.h>
#include <starpool/block.h>
#include <starpool/capture.h>
#include <starpool/graph.h>
#include <starpool/kernel.h>
#include <starpool/model.h>
#include <starpool/numa.h>
#include <starpool/plan.h>
#include <starpool/pool.h>
#include <starpool/stats.h>
#include <starpool/stream.h>
#include <starpool/trace.h>

#endif /* STARPOOL_H */
