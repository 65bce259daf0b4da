/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Kernels for the tests of the model: stand-ins that are registered once a process, and
 * launches of them. Everything must succeed. */
#ifndef SP_KERNEL_FIXTURE_H
#define SP_KERNEL_FIXTURE_H

#include "tests/exec_fixture.h"

/* Register: test_add(int *cells, int n, int value) adds to each cell; test_move(int *target,
 * const int *source, int n) copies; test_shape(struct sp_test_shape *out) tells the launch. */
void sp_test_kernels(void);

struct sp_test_shape {
    unsigned grid[3], block[3], shared_bytes;
};

/* In a module of the current context. */
sp_cu_module sp_test_module(void);
sp_cu_function sp_test_function(sp_cu_module module, const char *name);

/* test_add, as one block of one thread. */
void sp_test_launch_add(sp_cu_function function, sp_cu_ptr cells, int n, int value,
                        sp_cu_stream stream);

/* Parameters of a node that does the same. The arguments are where `args` points. */
struct sp_test_add_args {
    sp_cu_ptr cells;
    int n, value;
    void *args[3];
};
struct sp_cu_kernel_params sp_test_add_params(struct sp_test_add_args *args,
                                              sp_cu_function function, sp_cu_ptr cells, int n,
                                              int value);

/* Cells of a device that are 0. */
sp_cu_ptr sp_test_cells(int n);

/* All of them have that value when the stream is done. */
void sp_test_assert_cells(sp_cu_ptr cells, int n, int value, sp_cu_stream stream);

#endif /* SP_KERNEL_FIXTURE_H */
