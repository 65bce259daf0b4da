/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The parts of bench/host_cycle. */
#ifndef SP_HOST_CYCLE_H
#define SP_HOST_CYCLE_H

#include "bench/bench.h"
#include "bench/host_backends.h"

/** Most rounds of pairs. */
#define SP_PAIR_ROUNDS 41

/** How many pairs are measured. */
struct sp_pair_effort {
    int n_rounds;    /**< <= SP_PAIR_ROUNDS */
    double batch_ns; /**< [ns] about how long a batch of pairs takes */
};

/** Cycles that touch what they allocate, with SP_WINDOW live blocks: table, then goals. */
void sp_window_run(enum sp_bench_effort effort, const bool usable[SP_N_BACKENDS]);

/** Bare pairs of alloc and free: by one thread, then sp_pair_threads_run(). */
void sp_pair_run(enum sp_bench_effort effort, const bool usable[SP_N_BACKENDS]);

/** Bare pairs by two threads at once, and freed by another thread than the allocating one. */
void sp_pair_threads_run(const struct sp_pair_effort *effort, const bool usable[SP_N_BACKENDS]);

#endif /* SP_HOST_CYCLE_H */
