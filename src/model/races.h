/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Uses of the same memory by operations that nothing orders. All of it is called with the
 * model's lock, and does nothing unless races are looked for. */
#ifndef SP_MODEL_RACES_H
#define SP_MODEL_RACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/heap/order.h"

struct sp_model_stream;
struct sp_model_steps;

/*
 * What an operation does to a range of memory. What a kernel does there is not known: its
 * arguments point to the beginning of what it may read or write. So that two kernels with one
 * argument are no race, such a use counts as reading: only copies and memsets into the range
 * are told. Values that streams write and wait for are there to be waited for, and no race.
 */
enum sp_model_use_kind {
    SP_USE_COPY_READ,
    SP_USE_COPY_WRITE,
    SP_USE_SET,
    SP_USE_KERNEL,
    SP_USE_VALUE,
};

/*
 * The next operation of a stream, which will be `at`, uses a range: it must come after every
 * write of any of it, and after every read if it writes itself. What does not is a violation.
 * Order is that of streams, events, graphs' edges and what the host has waited for; a value in
 * memory, or a host function that tells the host, makes none.
 */
void sp_model_races_use(const struct sp_model_stream *stream, struct sp_point at,
                        uintptr_t address, size_t size, enum sp_model_use_kind kind);

/* The memory is new, or is no more: whoever used it before has nothing to do with who uses it
 * from now on. */
void sp_model_races_forget(uintptr_t base, size_t size);

/* A launch: nodes of the graph that use the same memory and that no path connects, which the
 * model executes one after the other, and a device may not (races_graph.c). */
void sp_model_races_launch(const struct sp_model_steps *steps);

/* An executable's launch ends with the stream's last operation; its next one, in whatever
 * stream, comes after that (GNODE-30), which the order is told. Only its own end is known
 * otherwise. */
void sp_model_races_note_end(const struct sp_model_stream *stream, struct sp_mark *end);
void sp_model_races_follow(const struct sp_model_stream *stream, const struct sp_mark *end);

void sp_model_races_reset(void);

/* Ranges that are remembered, for tests. */
size_t sp_model_races_count(void);

#endif /* SP_MODEL_RACES_H */
