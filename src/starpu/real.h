/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* StarPU's own functions, found at run time: the plugin is not linked with StarPU, so that it
 * can be loaded into programs that never use it. */
#ifndef SP_REAL_H
#define SP_REAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <starpool/base.h>
#include <starpu.h>

/* X(name without starpu_, result, parameters, 1 if nothing works without it). */
#define SP_REAL_MAP(X)                                                                         \
    X(malloc_on_node_flags, uintptr_t, (unsigned, size_t, int), 1)                             \
    X(free_on_node_flags, void, (unsigned, uintptr_t, size_t, int), 1)                         \
    X(malloc_set_hooks, void, (starpu_malloc_hook, starpu_free_hook), 1)                       \
    X(malloc_set_align, void, (size_t), 1)                                                     \
    X(init, int, (struct starpu_conf *), 1)                                                    \
    X(initialize, int, (struct starpu_conf *, int *, char ***), 1)                             \
    X(is_initialized, int, (void), 1)                                                          \
    X(get_version, void, (int *, int *, int *), 1)                                             \
    X(memory_allocate, int, (unsigned, size_t, int), 1)                                        \
    X(memory_deallocate, void, (unsigned, size_t), 1)                                          \
    X(node_get_kind, enum starpu_node_kind, (unsigned), 1)                                     \
    X(memory_nodes_get_count, unsigned, (void), 1)                                             \
    X(memory_nodes_get_numa_count, int, (void), 1)                                             \
    X(memory_nodes_numa_devid_to_id, int, (unsigned), 1)                                       \
    X(cuda_worker_get_count, unsigned, (void), 0)                                              \
    X(get_hwloc_topology, void *, (void), 0)                                                   \
    X(memory_node_get_devid, int, (unsigned), 0)                                               \
    X(memory_pin, int, (void *, size_t), 0)                                                    \
    X(memory_unpin, int, (void *, size_t), 0)                                                  \
    X(worker_get_id, int, (void), 0)                                                           \
    X(worker_get_type, enum starpu_worker_archtype, (int), 0)                                  \
    X(worker_get_devid, int, (int), 0)                                                         \
    X(worker_get_memory_node, unsigned, (unsigned), 0)                                         \
    X(task_get_current, struct starpu_task *, (void), 0)                                       \
    X(cuda_get_local_stream, starpool_stream, (void), 0)                                       \
    X(task_submit, int, (struct starpu_task *), 0)                                             \
    X(task_wait_for_all, int, (void), 0)                                                       \
    X(task_nsubmitted, int, (void), 0)                                                         \
    X(task_get_name, const char *, (struct starpu_task *), 0)                                  \
    X(task_declare_deps_array, void, (struct starpu_task *, unsigned, struct starpu_task *[]), \
      0)                                                                                       \
    X(tag_declare_deps_array, void, (starpu_tag_t, unsigned, starpu_tag_t *), 0)               \
    X(data_get_size, size_t, (starpu_data_handle_t), 0)                                        \
    X(data_get_interface_ops, struct starpu_data_interface_ops *, (starpu_data_handle_t), 0)   \
    X(data_get_sequential_consistency_flag, unsigned, (starpu_data_handle_t), 0)               \
    X(data_unregister, void, (starpu_data_handle_t), 0)                                        \
    X(data_unregister_no_coherency, void, (starpu_data_handle_t), 0)                           \
    X(data_unregister_submit, void, (starpu_data_handle_t), 0)                                 \
    X(iteration_push, void, (unsigned long), 0)                                                \
    X(iteration_pop, void, (void), 0)

/* One pointer for each row of SP_REAL_MAP; once sp_real_load() has succeeded, NULL only where
 * the row says 0. */
struct sp_real {
#define SP_REAL_MEMBER(name, result, parameters, needed) result(*name) parameters;
    SP_REAL_MAP(SP_REAL_MEMBER)
#undef SP_REAL_MEMBER
};

extern struct sp_real sp_real;

/*
 * Find libstarpu and its functions. False if no shared libstarpu is loaded (`*missing_out` is
 * NULL), or if it lacks a function (its name). May be called again. Threads: one at a time;
 * sp_real may be used when it has answered true.
 */
bool sp_real_load(const char **missing_out);

#endif /* SP_REAL_H */
