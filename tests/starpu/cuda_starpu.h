/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the small StarPU with CUDA workers has beyond StarPU's own functions. */
#ifndef STARPOOL_TEST_CUDA_STARPU_H
#define STARPOOL_TEST_CUDA_STARPU_H

#include <starpu.h>

/* Calls that reached StarPU's own functions. */
struct cuda_starpu_counts {
    unsigned n_mallocs, n_frees;
    unsigned n_pins; /* and unpins */
};

extern struct cuda_starpu_counts cuda_starpu_counts;

/* The calling thread is that worker from now on; -1: none. */
void cuda_starpu_be(int number, void *local_stream);

void cuda_starpu_set_budget(unsigned node, starpu_ssize_t bytes);

#endif /* STARPOOL_TEST_CUDA_STARPU_H */
