/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A log of scripted requests and frees, and the record that it becomes. */
#ifndef SP_TASKGRAPH_FIXTURE_H
#define SP_TASKGRAPH_FIXTURE_H

#include "tests/support.h"

#include <string.h>

#include "src/starpu/taskgraph_log.h"
#include "src/starpu/taskgraph_record.h"

#define KIB 1024

static struct {
    struct sp_tg_log log;
    struct sp_tg_record record;
} world;

static inline void begin_world(void)
{
    memset(&world, 0, sizeof(world));
    sp_tg_log_begin(&world.log, 0);
}

static inline void end_world(void)
{
    sp_tg_record_fini(&world.record);
}

static inline void log_alloc(uint64_t size, uintptr_t address)
{
    struct sp_tg_request request = {.size = size};

    sp_tg_log_alloc(&world.log, &request, (void *)address, SP_TG_NONE);
}

static inline void log_free(uintptr_t address)
{
    sp_tg_log_free(&world.log, (void *)address);
}

static inline void make_record(void)
{
    sp_tg_record_fini(&world.record);
    assert_ok(sp_tg_record_init(&world.record, &world.log));
}

#endif /* SP_TASKGRAPH_FIXTURE_H */
