/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Decides what each NUMA node is made of and which nodes serve HOST pools. hwloc's labels come
 * first; a node without a label and without CPUs is judged by its surroundings, and counts as a
 * slower tier unless the machine says otherwise: such a node is never used unless asked for. */
#include "config.h"

#include "numa/topo_hwloc.h"

#include <stdlib.h>
#include <string.h>

#include <hwloc/distances.h>
#include <hwloc/memattrs.h>

#include "src/util/util.h"

/* SLIT values of ACPI: 10 is local; 20 is what Linux assumes for another node. */
#define DISTANCE_LOCAL  10U
#define DISTANCE_REMOTE 20U

/* Vendor and class of an NVIDIA display or 3D controller. */
#define PCI_VENDOR_NVIDIA 0x10de
#define PCI_CLASS_DISPLAY 0x03

/* A node that reaches this share of ordinary memory's bandwidth is ordinary memory too. */
#define SAME_TIER_PERCENT 80U

static bool has_label(hwloc_obj_t object, const char *const *labels)
{
    for (; object->subtype != NULL && *labels != NULL; labels++) {
        if (strcmp(object->subtype, *labels) == 0)
            return true;
    }
    return false;
}

/* Fast memory beside the ordinary one (Xeon Phi, Xeon Max): ordinary in kind, but scarce. */
static bool is_fast(hwloc_obj_t object)
{
    static const char *const labels[] = {"HBM", "MCDRAM", NULL};

    return has_label(object, labels);
}

/*
 * What hwloc says of a node. False if it says nothing.
 * Subtypes: hwloc, "Normal attributes". PCIBusID: a node that is the memory of that GPU.
 * DAXType, DAXDevice, CXLDevice: memory that a dax driver has turned into a node.
 */
static bool labelled_kind(hwloc_obj_t object, enum starpool_node_kind *kind_out)
{
    static const char *const gpu[] = {"GPUMemory", NULL};
    static const char *const slow[] = {"CXL-DRAM", "CXL-NVM", "CXL", "CXLMem",
                                       "NVM",      "SPM",     NULL};
    static const char *const plain[] = {"DRAM", "HBM", "MCDRAM", NULL};

    if (object->attr->numanode.local_memory == 0)
        *kind_out = STARPOOL_NODE_EMPTY;
    else if (has_label(object, gpu) || hwloc_obj_get_info_by_name(object, "PCIBusID") != NULL)
        *kind_out = STARPOOL_NODE_GPU;
    else if (has_label(object, slow) || hwloc_obj_get_info_by_name(object, "CXLDevice") != NULL)
        *kind_out = STARPOOL_NODE_SLOW;
    else if (has_label(object, plain))
        *kind_out = STARPOOL_NODE_DRAM;
    else if (hwloc_obj_get_info_by_name(object, "DAXType") != NULL ||
             hwloc_obj_get_info_by_name(object, "DAXDevice") != NULL)
        *kind_out = STARPOOL_NODE_SLOW;
    else
        return false;
    return true;
}

/* True if node `a` has the better claim to the CPUs that both are attached to. */
static bool claims_before(const struct sp_topo *topo, int a, int b)
{
    enum starpool_node_kind kind;
    int rank[2], weight[2];
    const int index[2] = {a, b};

    for (int i = 0; i < 2; i++) {
        hwloc_obj_t object = topo->links[index[i]].object;

        rank[i] =
            labelled_kind(object, &kind) && (kind != STARPOOL_NODE_DRAM || is_fast(object));
        weight[i] = hwloc_bitmap_weight(object->cpuset);
    }
    if (rank[0] != rank[1])
        return rank[0] < rank[1];
    if (weight[0] != weight[1])
        return weight[0] < weight[1];
    return topo->links[a].object->os_index < topo->links[b].object->os_index;
}

/* Write the list of CPUs; one that is too long ends in ",...". */
static void list_cpus(hwloc_const_cpuset_t cpus, struct starpool_node *node)
{
    size_t size = sizeof(node->cpus), end;

    if (hwloc_bitmap_list_snprintf(node->cpus, size, cpus) < (int)size)
        return;
    for (end = size - 4; end > 0 && node->cpus[end - 1] != ','; end--)
        ;
    memcpy(node->cpus + end, "...", 4);
}

/* Give each CPU to one node: hwloc attaches memory without CPUs to those it is near to. */
static enum starpool_status share_cpus(struct sp_topo *topo)
{
    int n_nodes = topo->view.n_nodes;

    for (int i = 0; i < n_nodes; i++) {
        struct starpool_node *node = &topo->nodes[i];

        topo->links[i].cpus = hwloc_bitmap_dup(topo->links[i].object->cpuset);
        if (topo->links[i].cpus == NULL)
            return STARPOOL_ENOMEM;
        for (int j = 0; j < n_nodes; j++) {
            if (j != i && claims_before(topo, j, i))
                hwloc_bitmap_andnot(topo->links[i].cpus, topo->links[i].cpus,
                                    topo->links[j].object->cpuset);
        }
        node->n_cpus = hwloc_bitmap_weight(topo->links[i].cpus);
        list_cpus(topo->links[i].cpus, node);
    }
    return STARPOOL_OK;
}

static bool has_nvidia_gpu(const struct sp_topo *topo)
{
    hwloc_obj_t device = NULL;

    while ((device = hwloc_get_next_pcidev(topo->hwloc, device)) != NULL) {
        if (device->attr->pcidev.vendor_id == PCI_VENDOR_NVIDIA &&
            device->attr->pcidev.class_id >> 8 == PCI_CLASS_DISPLAY)
            return true;
    }
    return false;
}

/*
 * True on machines where GPUs show their memory as nodes: Grace Hopper (aarch64), whose driver
 * also leaves empty nodes for MIG, and POWER9. hwloc labels these nodes on POWER9 and, since
 * 2.12, on Grace; this is for older ones, and for containers where the device is hidden.
 */
static bool has_gpu_nodes(const struct sp_topo *topo)
{
    const char *architecture =
        hwloc_obj_get_info_by_name(hwloc_get_root_obj(topo->hwloc), "Architecture");

    if (architecture == NULL ||
        (strcmp(architecture, "aarch64") != 0 && strncmp(architecture, "ppc64", 5) != 0))
        return false;
    for (int i = 0; i < topo->view.n_nodes; i++) {
        if (topo->nodes[i].n_cpus == 0 && topo->nodes[i].total_bytes == 0)
            return true;
    }
    return has_nvidia_gpu(topo);
}

static hwloc_uint64_t bandwidth(const struct sp_topo *topo, int index)
{
    struct hwloc_location initiator;
    hwloc_uint64_t value;

    if (hwloc_memattr_get_best_initiator(topo->hwloc, HWLOC_MEMATTR_ID_BANDWIDTH,
                                         topo->links[index].object, 0, &initiator, &value) != 0)
        return 0;
    return value;
}

/* True if the machine gives a bandwidth for the node, about that of a node with CPUs. */
static bool is_same_tier(const struct sp_topo *topo, int index)
{
    hwloc_uint64_t ours = bandwidth(topo, index);

    for (int i = 0; ours != 0 && i < topo->view.n_nodes; i++) {
        hwloc_uint64_t theirs = topo->nodes[i].n_cpus > 0 ? bandwidth(topo, i) : 0;

        if (theirs != 0 && ours >= theirs / 100 * SAME_TIER_PERCENT)
            return true;
    }
    return false;
}

static enum starpool_node_kind kind_of(const struct sp_topo *topo, int index)
{
    enum starpool_node_kind kind;

    if (labelled_kind(topo->links[index].object, &kind))
        return kind;
    if (topo->nodes[index].n_cpus > 0)
        return STARPOOL_NODE_DRAM;
    if (has_gpu_nodes(topo))
        return STARPOOL_NODE_GPU;
    return is_same_tier(topo, index) ? STARPOOL_NODE_DRAM : STARPOOL_NODE_SLOW;
}

static bool serves_host(const struct sp_topo *topo, int index)
{
    const struct starpool_node *node = &topo->nodes[index];

    if (!node->is_allowed || node->kind != STARPOOL_NODE_DRAM)
        return false;
    return node->n_cpus > 0 || !is_fast(topo->links[index].object);
}

/*
 * Where no node qualifies, those with CPUs serve (some containers show one node without a
 * size), and failing these whatever is allowed and has memory.
 */
static void ensure_host(struct sp_topo *topo)
{
    bool has_cpus = false;

    for (int i = 0; i < topo->view.n_nodes; i++) {
        if (topo->nodes[i].serves_host)
            return;
        has_cpus |= topo->nodes[i].is_allowed && topo->nodes[i].n_cpus > 0;
    }
    for (int i = 0; i < topo->view.n_nodes; i++) {
        struct starpool_node *node = &topo->nodes[i];

        node->serves_host =
            node->is_allowed && (has_cpus ? node->n_cpus > 0 : node->total_bytes > 0);
        if (node->serves_host && node->kind == STARPOOL_NODE_EMPTY)
            node->kind = STARPOOL_NODE_DRAM;
    }
}

static void fill_default_distances(struct sp_topo *topo)
{
    int n_nodes = topo->view.n_nodes;

    for (int i = 0; i < n_nodes * n_nodes; i++)
        topo->distances[i] = i % (n_nodes + 1) == 0 ? DISTANCE_LOCAL : DISTANCE_REMOTE;
}

static void copy_distances(struct sp_topo *topo, struct hwloc_distances_s *matrix)
{
    int n_nodes = topo->view.n_nodes;

    for (int i = 0; i < n_nodes; i++) {
        int from = hwloc_distances_obj_index(matrix, topo->links[i].object);

        for (int j = 0; from >= 0 && j < n_nodes; j++) {
            int to = hwloc_distances_obj_index(matrix, topo->links[j].object);
            hwloc_uint64_t value;

            if (to < 0)
                continue;
            value = matrix->values[(unsigned)from * matrix->nbobjs + (unsigned)to];
            if (value > 0 && value < UINT32_MAX)
                topo->distances[i * n_nodes + j] = (unsigned)value;
        }
    }
}

static void measure_distances(struct sp_topo *topo)
{
    struct hwloc_distances_s *matrix = NULL;
    unsigned n_found = 1;

    fill_default_distances(topo);
    if (hwloc_distances_get_by_type(topo->hwloc, HWLOC_OBJ_NUMANODE, &n_found, &matrix,
                                    HWLOC_DISTANCES_KIND_MEANS_LATENCY, 0) != 0)
        return;
    if (n_found > 0 && matrix != NULL) {
        copy_distances(topo, matrix);
        hwloc_distances_release(topo->hwloc, matrix);
    }
}

enum starpool_status sp_topo_describe(struct sp_topo *topo)
{
    hwloc_const_nodeset_t allowed = hwloc_topology_get_allowed_nodeset(topo->hwloc);
    enum starpool_status status = share_cpus(topo);

    if (status != STARPOOL_OK)
        return status;
    for (int i = 0; i < topo->view.n_nodes; i++) {
        struct starpool_node *node = &topo->nodes[i];

        node->os_index = (int)topo->links[i].object->os_index;
        node->total_bytes = topo->links[i].object->attr->numanode.local_memory;
        node->is_allowed = hwloc_bitmap_isset(allowed, (unsigned)node->os_index) != 0;
    }
    for (int i = 0; i < topo->view.n_nodes; i++)
        topo->nodes[i].kind = kind_of(topo, i);
    for (int i = 0; i < topo->view.n_nodes; i++)
        topo->nodes[i].serves_host = serves_host(topo, i);
    ensure_host(topo);
    measure_distances(topo);
    return STARPOOL_OK;
}
