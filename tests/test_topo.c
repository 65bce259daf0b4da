/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The topology, on descriptions of machines that are not here: kinds of nodes, which serve HOST
 * pools, distances, and the node nearest to a PCI device. */
#include "config.h"

#include "tests/support.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hwloc.h>

#include "numa/topo.h"
#include "src/util/util.h"

#define GIB ((uint64_t)1 << 30)

/* Open tests/data/topologies/NAME.xml; closed by close_topo(). */
static struct sp_topo *open_xml(const char *name)
{
    const char *srcdir = getenv("srcdir");
    struct sp_topo *topo;
    char text[512];

    (void)snprintf(text, sizeof(text), "xml:%s/tests/data/topologies/%s.xml",
                   srcdir != NULL ? srcdir : ".", name);
    assert_ok(sp_topo_open(text, &topo));
    return topo;
}

static void assert_node(const struct sp_topo *topo, int os_index, enum starpool_node_kind kind,
                        bool serves_host, int n_cpus)
{
    const struct starpool_node *node = sp_topo_find(topo, os_index);

    assert_non_null(node);
    assert_int_equal(node->os_index, os_index);
    assert_int_equal(node->kind, kind);
    assert_int_equal(node->serves_host, serves_host);
    assert_int_equal(node->n_cpus, n_cpus);
}

static void assert_nearest(const struct sp_topo *topo, const char *bus_id, int expected)
{
    int os_index = -9;

    assert_ok(sp_topo_nearest_pci(topo, bus_id, &os_index));
    assert_int_equal(os_index, expected);
}

static void synthetic_nodes_have_default_distances_and_are_not_real(void **state)
{
    struct sp_topo *topo;

    (void)state;
    assert_ok(sp_topo_open("synthetic:numa:2(memory=1GB) pu:2", &topo));
    assert_int_equal(sp_topo_n_nodes(topo), 2);
    assert_false(sp_topo_is_real(topo));
    assert_int_equal(sp_topo_distance(topo, 0, 0), 10);
    assert_int_equal(sp_topo_distance(topo, 0, 1), 20);
    assert_node(topo, 1, STARPOOL_NODE_DRAM, true, 2);
    assert_string_equal(sp_topo_find(topo, 1)->cpus, "2-3");
    assert_null(sp_topo_find(topo, 2));
    sp_topo_close(topo);
}

static void long_list_of_cpus_is_cut_with_dots(void **state)
{
    struct sp_topo *topo;
    const char *cpus;

    (void)state;
    /* CPUs take turns between the nodes, so that no two neighbours are on one. */
    assert_ok(sp_topo_open("synthetic:numa:2 pu:200(indexes=numa)", &topo));
    cpus = sp_topo_node(topo, 0)->cpus;
    assert_int_equal(sp_topo_node(topo, 0)->n_cpus, 200);
    assert_true(strlen(cpus) < sizeof(sp_topo_node(topo, 0)->cpus));
    assert_memory_equal(cpus, "0,2,4,", 6);
    assert_string_equal(cpus + strlen(cpus) - 4, ",...");
    sp_topo_close(topo);
}

static void gpu_memory_and_placeholders_of_grace_hopper_serve_no_host_pool(void **state)
{
    struct sp_topo *topo = open_xml("grace-hopper");

    (void)state;
    assert_int_equal(sp_topo_n_nodes(topo), 9);
    assert_node(topo, 0, STARPOOL_NODE_DRAM, true, 72);
    assert_node(topo, 1, STARPOOL_NODE_GPU, false, 0);
    for (int i = 2; i < 9; i++)
        assert_node(topo, i, STARPOOL_NODE_EMPTY, false, 0);
    assert_int_equal(sp_topo_find(topo, 1)->total_bytes, 96 * GIB);
    assert_nearest(topo, "0009:01:00.0", 0);
    sp_topo_close(topo);
}

static void gpu_memory_of_grace_hopper_is_known_without_labels(void **state)
{
    struct sp_topo *topo = open_xml("grace-hopper-bare");

    (void)state;
    assert_node(topo, 0, STARPOOL_NODE_DRAM, true, 72);
    assert_node(topo, 1, STARPOOL_NODE_GPU, false, 0);
    assert_node(topo, 8, STARPOOL_NODE_EMPTY, false, 0);
    sp_topo_close(topo);
}

static void gpu_memory_of_power9_serves_no_host_pool(void **state)
{
    struct sp_topo *topo = open_xml("power9-v100");

    (void)state;
    assert_node(topo, 0, STARPOOL_NODE_DRAM, true, 8);
    assert_node(topo, 8, STARPOOL_NODE_DRAM, true, 8);
    for (int i = 252; i < 256; i++)
        assert_node(topo, i, STARPOOL_NODE_GPU, false, 0);
    assert_nearest(topo, "0004:05:00.0", 0);
    assert_nearest(topo, "0035:03:00.0", 8);
    sp_topo_close(topo);
}

static void slower_tiers_serve_no_host_pool(void **state)
{
    struct sp_topo *topo = open_xml("cxl");

    (void)state;
    assert_node(topo, 0, STARPOOL_NODE_DRAM, true, 4);
    assert_node(topo, 1, STARPOOL_NODE_DRAM, true, 4);
    assert_node(topo, 2, STARPOOL_NODE_SLOW, false, 0); /* CXL, by its label */
    assert_node(topo, 3, STARPOOL_NODE_SLOW, false, 0); /* made from a dax device */
    assert_node(topo, 4, STARPOOL_NODE_DRAM, true, 0);  /* labelled DRAM, without CPUs */
    sp_topo_close(topo);
}

static void node_without_cpus_and_label_is_ordinary_only_with_the_bandwidth(void **state)
{
    struct sp_topo *topo = open_xml("bandwidth");

    (void)state;
    assert_node(topo, 0, STARPOOL_NODE_DRAM, true, 4);
    assert_node(topo, 1, STARPOOL_NODE_DRAM, true, 0);
    assert_node(topo, 2, STARPOOL_NODE_SLOW, false, 0);
    sp_topo_close(topo);
}

static void fast_memory_leaves_the_cpus_to_ordinary_memory(void **state)
{
    struct sp_topo *topo = open_xml("hbm");

    (void)state;
    assert_node(topo, 0, STARPOOL_NODE_DRAM, false, 0);
    assert_node(topo, 1, STARPOOL_NODE_DRAM, true, 4);
    sp_topo_close(topo);
}

static void disallowed_node_is_shown_and_not_used(void **state)
{
    struct sp_topo *topo = open_xml("sparse");

    (void)state;
    assert_int_equal(sp_topo_n_nodes(topo), 4);
    assert_false(sp_topo_find(topo, 3)->is_allowed);
    assert_false(sp_topo_find(topo, 3)->serves_host);
    assert_true(sp_topo_find(topo, 7)->is_allowed);
    sp_topo_close(topo);
}

static void sparse_indexes_keep_logical_order_and_their_distances(void **state)
{
    static const int os_indexes[] = {7, 3, 1, 0};
    struct sp_topo *topo = open_xml("sparse");

    (void)state;
    for (int i = 0; i < 4; i++) {
        assert_int_equal(sp_topo_node(topo, i)->os_index, os_indexes[i]);
        assert_int_equal(sp_topo_node(topo, i)->total_bytes,
                         (uint64_t)(os_indexes[i] + 1) * GIB);
    }
    assert_int_equal(sp_topo_distance(topo, 0, 1), 12);
    assert_int_equal(sp_topo_distance(topo, 0, 3), 32);
    assert_int_equal(sp_topo_distance(topo, 2, 3), 14);
    assert_int_equal(sp_topo_view(topo)->distances[1 * 4 + 2], 23);
    sp_topo_close(topo);
}

static void pci_device_is_nearest_to_its_package(void **state)
{
    struct sp_topo *topo = open_xml("two-gpus");

    (void)state;
    assert_nearest(topo, "0000:3b:00.0", 0);
    assert_nearest(topo, "0000:AF:00.0", 1);
    assert_nearest(topo, "00000000:AF:00.1", 1); /* as NVML writes it */
    assert_nearest(topo, "af:00.0", 1);
    assert_nearest(topo, "0000:d8:00.0", 0); /* attached to no package */
    sp_topo_close(topo);
}

static void pci_device_beside_a_node_without_memory_gets_the_next_node(void **state)
{
    struct sp_topo *topo = open_xml("memoryless");

    (void)state;
    assert_node(topo, 1, STARPOOL_NODE_EMPTY, false, 4);
    assert_nearest(topo, "0000:af:00.0", 0);
    sp_topo_close(topo);
}

static void wrong_bus_id_and_missing_device_are_told_apart(void **state)
{
    struct sp_topo *topo = open_xml("two-gpus");
    int os_index = -9;

    (void)state;
    assert_status(STARPOOL_EINVAL, sp_topo_nearest_pci(topo, "", &os_index));
    assert_status(STARPOOL_EINVAL, sp_topo_nearest_pci(topo, "GPU-0", &os_index));
    assert_status(STARPOOL_EINVAL, sp_topo_nearest_pci(topo, "0000:3b:00.0x", &os_index));
    assert_status(STARPOOL_EINVAL, sp_topo_nearest_pci(topo, "3b:00", &os_index));
    assert_status(STARPOOL_EDEVICE, sp_topo_nearest_pci(topo, "0000:3c:00.0", &os_index));
    assert_int_equal(os_index, -9);
    sp_topo_close(topo);
}

static void asked_nodes_serve_and_no_others(void **state)
{
    struct sp_topo *topo = open_xml("cxl");

    (void)state;
    assert_ok(sp_topo_serve(topo, "1-2"));
    assert_true(sp_topo_find(topo, 1)->serves_host);
    assert_true(sp_topo_find(topo, 2)->serves_host);
    assert_false(sp_topo_find(topo, 0)->serves_host);
    assert_false(sp_topo_find(topo, 4)->serves_host);
    sp_topo_close(topo);
}

static void list_that_cannot_serve_changes_nothing(void **state)
{
    static const char *const lists[] = {"",  "x", "0,",  ",0",  "-1",  "0-",  "0 1",
                                        "3", "9", "0,9", "0x1", "1-2", "0,,1"};
    struct sp_topo *topo = open_xml("sparse");

    (void)state;
    for (size_t i = 0; i < SP_ARRAY_SIZE(lists); i++) {
        assert_status(STARPOOL_EINVAL, sp_topo_serve(topo, lists[i]));
        assert_true(sp_topo_find(topo, 7)->serves_host);
        assert_true(sp_topo_find(topo, 0)->serves_host);
    }
    sp_topo_close(topo);
    topo = open_xml("grace-hopper");
    assert_status(STARPOOL_EINVAL, sp_topo_serve(topo, "0,2")); /* node 2 is empty */
    assert_ok(sp_topo_serve(topo, "1"));
    assert_true(sp_topo_find(topo, 1)->serves_host);
    sp_topo_close(topo);
}

static void description_that_cannot_be_loaded_is_refused(void **state)
{
    struct sp_topo *topo = NULL;

    (void)state;
    assert_status(STARPOOL_EINVAL, sp_topo_open("file:x", &topo));
    assert_status(STARPOOL_ENOTSUP, sp_topo_open("synthetic:banana:2", &topo));
    assert_status(STARPOOL_ENOTSUP, sp_topo_open("xml:/nonexistent/x.xml", &topo));
    assert_null(topo);
}

static void this_machine_has_a_node_near_the_thread(void **state)
{
    struct sp_topo *topo;
    int os_index = -9;

    (void)state;
    assert_ok(sp_topo_open(NULL, &topo));
    assert_true(sp_topo_n_nodes(topo) >= 1);
    assert_ok(sp_topo_nearest_cpu(topo, &os_index));
    assert_non_null(sp_topo_find(topo, os_index));
    assert_true(sp_topo_find(topo, os_index)->serves_host);
    sp_topo_close(topo);
}

static void *get_topology(void *arg)
{
    const struct sp_topo *topo = NULL;

    (void)arg;
    return sp_topo_get(&topo) == STARPOOL_OK ? (void *)(uintptr_t)topo : NULL;
}

/* The process's topology is loaded once, so everything about it is one test. */
static void offered_topology_is_copied_once_for_all_threads(void **state)
{
    const struct sp_topo *topo;
    hwloc_topology_t offered;
    pthread_t threads[4];

    (void)state;
    assert_int_equal(hwloc_topology_init(&offered), 0);
    assert_int_equal(hwloc_topology_set_synthetic(offered, "numa:3 pu:1"), 0);
    assert_int_equal(hwloc_topology_load(offered), 0);
    sp_topo_offer(offered);
    for (size_t i = 0; i < SP_ARRAY_SIZE(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, get_topology, NULL), 0);
    assert_ok(sp_topo_get(&topo));
    for (size_t i = 0; i < SP_ARRAY_SIZE(threads); i++) {
        void *seen;

        assert_int_equal(pthread_join(threads[i], &seen), 0);
        assert_ptr_equal(seen, topo);
    }
    sp_topo_offer(NULL);
    hwloc_topology_destroy(offered);
    assert_int_equal(sp_topo_n_nodes(topo), 3);
    assert_int_equal(sp_topo_view(topo)->n_nodes, 3);
    assert_false(sp_topo_is_real(topo));
    assert_ok(sp_topo_get(&topo));
    assert_int_equal(sp_topo_node(topo, 2)->n_cpus, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(synthetic_nodes_have_default_distances_and_are_not_real),
        cmocka_unit_test(long_list_of_cpus_is_cut_with_dots),
        cmocka_unit_test(gpu_memory_and_placeholders_of_grace_hopper_serve_no_host_pool),
        cmocka_unit_test(gpu_memory_of_grace_hopper_is_known_without_labels),
        cmocka_unit_test(gpu_memory_of_power9_serves_no_host_pool),
        cmocka_unit_test(slower_tiers_serve_no_host_pool),
        cmocka_unit_test(node_without_cpus_and_label_is_ordinary_only_with_the_bandwidth),
        cmocka_unit_test(fast_memory_leaves_the_cpus_to_ordinary_memory),
        cmocka_unit_test(disallowed_node_is_shown_and_not_used),
        cmocka_unit_test(sparse_indexes_keep_logical_order_and_their_distances),
        cmocka_unit_test(pci_device_is_nearest_to_its_package),
        cmocka_unit_test(pci_device_beside_a_node_without_memory_gets_the_next_node),
        cmocka_unit_test(wrong_bus_id_and_missing_device_are_told_apart),
        cmocka_unit_test(asked_nodes_serve_and_no_others),
        cmocka_unit_test(list_that_cannot_serve_changes_nothing),
        cmocka_unit_test(description_that_cannot_be_loaded_is_refused),
        cmocka_unit_test(this_machine_has_a_node_near_the_thread),
        cmocka_unit_test(offered_topology_is_copied_once_for_all_threads),
    };

    return cmocka_run_group_tests_name("topo", tests, NULL, NULL);
}
