/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the tests of executables and graph memory build graphs with. Everything must succeed. */
#ifndef SP_EXEC_FIXTURE_H
#define SP_EXEC_FIXTURE_H

#include "tests/model_fixture.h"

/* [bytes] What the nodes set and copy. */
#define SP_TEST_CELL ((size_t)64 << 10)

sp_cu_graph sp_test_graph(void);
sp_cu_exec sp_test_exec(sp_cu_graph graph, unsigned flags);

/* Nodes of device 0's memory, after `before`, which are [n]. */
sp_cu_ptr sp_test_add_alloc(sp_cu_graph graph, size_t size, const sp_cu_node *before, size_t n,
                            sp_cu_node *node_out);
sp_cu_node sp_test_add_free(sp_cu_graph graph, sp_cu_ptr ptr, const sp_cu_node *before,
                            size_t n);
sp_cu_node sp_test_add_set(sp_cu_graph graph, sp_cu_ptr target, unsigned char value,
                           const sp_cu_node *before, size_t n);
sp_cu_node sp_test_add_copy(sp_cu_graph graph, sp_cu_ptr target, sp_cu_ptr source,
                            const sp_cu_node *before, size_t n);
sp_cu_node sp_test_add_function(sp_cu_graph graph, sp_cu_host_fn call, void *arg,
                                const sp_cu_node *before, size_t n);
struct sp_cu_memset_params sp_test_set_params(sp_cu_ptr target, unsigned char value,
                                              size_t size);

/* An attribute of device 0's graph memory. */
uint64_t sp_test_graph_bytes(int attribute);

/* After all that the stream has been given, a cell has that value in each byte. */
void sp_test_assert_bytes(sp_cu_ptr ptr, unsigned char value, sp_cu_stream stream);
void sp_test_assert_no_violations(void);

#endif /* SP_EXEC_FIXTURE_H */
