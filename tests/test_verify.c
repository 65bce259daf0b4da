/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where pages are and moving them, on this machine; and what is said when the system refuses
 * the questions, as the seccomp filters of containers do. */
#include "config.h"

#include "tests/support.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <starpool/numa.h>

#include "numa/segment.h"
#include "numa/topo.h"
#include "numa/verify.h"
#include "src/util/util.h"

#define N_PAGES 1100 /* more than two system calls' worth */

static size_t page_size;
static char *range; /* [N_PAGES] pages, not touched */

static int setup(void **state)
{
    (void)state;
    page_size = (size_t)sysconf(_SC_PAGESIZE);
    range = mmap(NULL, N_PAGES * page_size, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED)
        return -1;
    (void)madvise(range, N_PAGES * page_size, MADV_NOHUGEPAGE);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    return munmap(range, N_PAGES * page_size);
}

/* True if this machine answers where a page is. */
static bool can_ask(void)
{
    void *page = range;
    int node = 0;

    return syscall(SYS_move_pages, 0, 1UL, &page, NULL, &node, 0) == 0;
}

/* The node of the process's topology that has the lowest index of all that are allowed. */
static int some_node(void)
{
    const struct starpool_topology *topology;

    assert_ok(starpool_topology_get(&topology));
    for (int i = 0; i < topology->n_nodes; i++) {
        if (topology->nodes[i].serves_host)
            return topology->nodes[i].os_index;
    }
    fail_msg("no node serves HOST");
    return -1;
}

static void assert_adds_up(const struct starpool_pages *pages)
{
    uint64_t n_on_nodes = 0;

    for (int i = 0; i < STARPOOL_MAX_NODES; i++)
        n_on_nodes += pages->n_on_node[i];
    assert_int_equal(n_on_nodes, pages->n_resident);
    assert_int_equal(pages->n_resident + pages->n_absent + pages->n_unknown, pages->n_pages);
    assert_int_equal(pages->page_size, page_size);
}

static void touched_pages_are_resident_and_others_absent(void **state)
{
    struct starpool_pages pages;

    (void)state;
    if (!can_ask())
        skip();
    for (size_t i = 0; i < 600; i++)
        range[i * page_size] = 1;
    assert_ok(starpool_verify(range, N_PAGES * page_size, &pages));
    assert_adds_up(&pages);
    assert_int_equal(pages.n_pages, N_PAGES);
    assert_int_equal(pages.n_resident, 600);
    assert_int_equal(pages.n_absent, N_PAGES - 600);
    assert_int_equal(pages.n_unknown, 0);
}

static void every_page_that_the_range_meets_counts(void **state)
{
    struct starpool_pages pages;

    (void)state;
    assert_ok(starpool_verify(range + page_size - 1, 2, &pages));
    assert_int_equal(pages.n_pages, 2);
    assert_ok(starpool_verify(range, page_size, &pages));
    assert_int_equal(pages.n_pages, 1);
    assert_ok(starpool_verify(range + 1, page_size, &pages));
    assert_int_equal(pages.n_pages, 2);
    assert_adds_up(&pages);
}

static void pages_of_a_synthetic_machine_are_unknown(void **state)
{
    struct starpool_pages pages;
    struct sp_topo *topo;

    (void)state;
    assert_ok(sp_topo_open("synthetic:numa:2 pu:1", &topo));
    range[0] = 1;
    sp_verify_range(topo, range, 3 * page_size, &pages);
    assert_int_equal(pages.n_unknown, 3);
    assert_adds_up(&pages);
    assert_status(STARPOOL_ENOTSUP, sp_repair_range(topo, range, page_size, 1));
    assert_status(STARPOOL_EDEVICE, sp_repair_range(topo, range, page_size, 2));
    sp_topo_close(topo);
}

static void repair_brings_resident_pages_to_the_node_and_touches_none(void **state)
{
    const struct starpool_location location = {STARPOOL_HOST_NUMA, some_node()};
    struct starpool_pages pages;

    (void)state;
    if (!can_ask())
        skip();
    for (size_t i = 0; i < N_PAGES; i += 2)
        range[i * page_size] = (char)i;
    assert_ok(starpool_repair(range, N_PAGES * page_size, location));
    assert_ok(starpool_verify(range, N_PAGES * page_size, &pages));
    assert_int_equal(pages.n_on_node[location.id], N_PAGES / 2);
    assert_int_equal(pages.n_absent, N_PAGES / 2);
    for (size_t i = 0; i < N_PAGES; i += 2)
        assert_int_equal(range[i * page_size], (char)i);
}

static void wrong_arguments_are_refused_and_outputs_untouched(void **state)
{
    struct starpool_location location = {STARPOOL_HOST_NUMA, some_node()};
    struct starpool_pages pages = {.n_pages = 77};
    uint64_t bytes = 77;
    int os_index = 77;

    (void)state;
    assert_status(STARPOOL_EINVAL, starpool_verify(NULL, 1, &pages));
    assert_status(STARPOOL_EINVAL, starpool_verify(range, 0, &pages));
    assert_status(STARPOOL_EINVAL, starpool_verify(range, SIZE_MAX, &pages));
    assert_status(STARPOOL_EINVAL, starpool_verify(range, 1, NULL));
    assert_int_equal(pages.n_pages, 77);
    assert_status(STARPOOL_EINVAL, starpool_repair(range, 0, location));
    location.id = 4000;
    assert_status(STARPOOL_EDEVICE, starpool_repair(range, 1, location));
    location.kind = STARPOOL_HOST;
    assert_status(STARPOOL_EINVAL, starpool_repair(range, 1, location));
    assert_status(STARPOOL_EINVAL, starpool_topology_get(NULL));
    assert_status(STARPOOL_EINVAL, starpool_numa_room(0, NULL));
    assert_status(STARPOOL_EDEVICE, starpool_numa_room(4000, &bytes));
    assert_status(STARPOOL_EDEVICE, starpool_numa_room(-2, &bytes));
    assert_int_equal(bytes, 77);
    assert_status(STARPOOL_EINVAL, starpool_numa_nearest(NULL, &os_index));
    assert_status(STARPOOL_EINVAL, starpool_numa_nearest("3b", &os_index));
    assert_status(STARPOOL_EDEVICE, starpool_numa_nearest("fffe:fe:1f.7", &os_index));
    assert_int_equal(os_index, 77);
}

static void nearest_node_has_room(void **state)
{
    uint64_t bytes = 0;

    (void)state;
    assert_ok(starpool_numa_room(STARPOOL_ID_NEAREST, &bytes));
    assert_true(bytes > 0);
}

/* Answer EPERM to mbind and move_pages, as a container's filter would. */
static int deny_placement(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), /* the number of the system call */
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mbind, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_move_pages, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
    };
    struct sock_fprog program = {.len = SP_ARRAY_SIZE(filter), .filter = filter};

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0;
}

/* What a child under the filter finds: 0 if all is as it should be, 77 without seccomp. */
static int use_denied_placement(int node)
{
    const struct starpool_location location = {STARPOOL_HOST_NUMA, node};
    const struct sp_placement placement = {.node = node, .is_strict = true};
    struct starpool_pages pages;
    struct sp_segment segment;
    void *base;

    if (deny_placement() != 0)
        return 77;
    if (sp_reserve(2 * SP_MIB, 2 * SP_MIB, &base) != STARPOOL_OK ||
        sp_segment_open(base, 2 * SP_MIB, &placement, &segment) != STARPOOL_OK)
        return 1;
    if (segment.is_bound)
        return 2;
    ((char *)base)[0] = 1;
    if (starpool_verify(base, 2 * SP_MIB, &pages) != STARPOOL_OK ||
        pages.n_unknown != pages.n_pages || pages.n_resident != 0)
        return 3;
    return starpool_repair(base, 2 * SP_MIB, location) == STARPOOL_ENOTPERM ? 0 : 4;
}

static void refused_placement_leaves_unbound_memory_of_unknown_place(void **state)
{
    const struct starpool_topology *topology;
    int node = some_node(), result;
    pid_t child;

    (void)state;
    assert_ok(starpool_topology_get(&topology));
    if (!topology->is_real)
        skip();
    child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(use_denied_placement(node));
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_true(WIFEXITED(result));
    if (WEXITSTATUS(result) == 77)
        skip();
    assert_int_equal(WEXITSTATUS(result), 0);
}

#define verify_test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        verify_test(touched_pages_are_resident_and_others_absent),
        verify_test(every_page_that_the_range_meets_counts),
        verify_test(pages_of_a_synthetic_machine_are_unknown),
        verify_test(repair_brings_resident_pages_to_the_node_and_touches_none),
        verify_test(wrong_arguments_are_refused_and_outputs_untouched),
        verify_test(nearest_node_has_room),
        verify_test(refused_placement_leaves_unbound_memory_of_unknown_place),
    };

    return cmocka_run_group_tests_name("verify", tests, NULL, NULL);
}
