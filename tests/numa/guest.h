/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the programs in the virtual machine share: saying what holds, asking where pages are,
 * and filling a node. Asking goes past starpool: it is what is being tested. */
#ifndef SP_TESTS_NUMA_GUEST_H
#define SP_TESTS_NUMA_GUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <starpool.h>

#define MIB ((size_t)1 << 20)

#define MAX_GUEST_NODES 8

/* A line "ok - LABEL: TEXT" or "not ok - LABEL: TEXT", the label from GUEST_LABEL. Returns
 * `holds`. */
bool guest_check(bool holds, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A line that explains. */
void guest_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* guest_check() that a status is the expected one; notes both if not. */
bool guest_status(enum starpool_status expected, enum starpool_status status, const char *what);

/* Count pages that were checked elsewhere than in guest_is_on(). */
void guest_count(size_t n_checks, size_t n_wrong);

/* The last call of a program: a line "# pages CHECKS WRONG", and its exit status. */
int guest_end(void);

/* ---- where pages are ----------------------------------------------------------------- */

/* What move_pages(2) says of a range. */
struct places {
    size_t n_pages, n_absent, n_unknown;
    size_t n_on_node[MAX_GUEST_NODES];
};

/* Asks move_pages(2) for each page, in calls of its own. */
struct places guest_places(const void *ptr, size_t size);

/*
 * True if every page of the range is on the node, and move_pages(2), get_mempolicy(2) for a
 * sample, hwloc and starpool_verify() say the same. Counts a check for each page. With node -1
 * any node is right as long as they agree.
 */
bool guest_is_on(const void *ptr, size_t size, int node);

/* ---- nodes --------------------------------------------------------------------------- */

/* A line of the node's meminfo such as "MemFree", in bytes. */
size_t guest_meminfo(int node, const char *key);

/* Free memory of the node, once what CPUs hold in reserve is back: given time to come above
 * `wanted`. */
size_t guest_free(int node, size_t wanted);

/* Let this thread run on the node's CPU: CPU i is on node i. */
void guest_run_on(int node);

/* Memory that is bound to a node and not touched, past starpool; ends the program on failure.
 */
void *guest_bound(size_t size, int node);

/* A process that holds all of the node's memory but `left` bytes. */
pid_t guest_hog_begin(int node, size_t left);
void guest_hog_end(pid_t hog);

/* ---- pools --------------------------------------------------------------------------- */

/* The default configuration of a pool on a node; -1: HOST. */
struct starpool_pool_config guest_config(int node);

/* Ends the program if that fails. */
struct starpool_pool *guest_pool(const struct starpool_pool_config *config);
struct starpool_pool *guest_node_pool(int node);

struct starpool_stats guest_stats(struct starpool_pool *pool);

#endif /* SP_TESTS_NUMA_GUEST_H */
