/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Loads a topology and keeps the process's own. What the nodes are is decided in topo_kinds.c,
 * which of them is near in topo_near.c. No GPU driver is started. */
#include "config.h"

#include "numa/topo.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "numa/topo_hwloc.h"
#include "src/util/options.h"
#include "src/util/util.h"

/* The process's topology. `loaded` is written once, under `lock`, and read without it. */
static struct {
    pthread_mutex_t lock;
    hwloc_topology_t offered; /* NULL if none; owned by whoever offered it */
    _Atomic(struct sp_topo *) loaded;
} process = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void configure(hwloc_topology_t hwloc)
{
    /* Those that start GPU drivers; and libpciaccess, which leaks (0.17) and says nothing that
     * hwloc does not find in sysfs. */
    static const char *const unwanted[] = {"cuda", "nvml",      "opencl", "rsmi",
                                           "gl",   "levelzero", "pci"};

    /* Disallowed nodes are shown and marked. PCI devices are needed for locality, their
     * operating system names are not. */
    (void)hwloc_topology_set_flags(hwloc, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    (void)hwloc_topology_set_type_filter(hwloc, HWLOC_OBJ_PCI_DEVICE,
                                         HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    (void)hwloc_topology_set_type_filter(hwloc, HWLOC_OBJ_BRIDGE,
                                         HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    (void)hwloc_topology_set_type_filter(hwloc, HWLOC_OBJ_OS_DEVICE,
                                         HWLOC_TYPE_FILTER_KEEP_NONE);
    for (size_t i = 0; i < SP_ARRAY_SIZE(unwanted); i++)
        (void)hwloc_topology_set_components(hwloc, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST,
                                            unwanted[i]);
}

static enum starpool_status set_source(hwloc_topology_t hwloc, const char *description)
{
    int error;

    if (description == NULL)
        return STARPOOL_OK;
    if (strncmp(description, "synthetic:", 10) == 0)
        error = hwloc_topology_set_synthetic(hwloc, description + 10);
    else if (strncmp(description, "xml:", 4) == 0)
        error = hwloc_topology_set_xml(hwloc, description + 4);
    else
        return STARPOOL_EINVAL;
    return error == 0 ? STARPOOL_OK : STARPOOL_ENOTSUP;
}

static enum starpool_status load(const char *description, hwloc_topology_t *hwloc_out)
{
    hwloc_topology_t hwloc;
    enum starpool_status status;

    if (hwloc_topology_init(&hwloc) != 0)
        return STARPOOL_ENOMEM;
    configure(hwloc);
    status = set_source(hwloc, description);
    if (status == STARPOOL_OK && hwloc_topology_load(hwloc) != 0)
        status = STARPOOL_ENOTSUP;
    if (status != STARPOOL_OK) {
        hwloc_topology_destroy(hwloc);
        return status;
    }
    *hwloc_out = hwloc;
    return STARPOOL_OK;
}

/* A record with room for the nodes of `hwloc`, which it owns from then on. */
static struct sp_topo *make(hwloc_topology_t hwloc)
{
    int n_found = hwloc_get_nbobjs_by_type(hwloc, HWLOC_OBJ_NUMANODE);
    size_t n_nodes = n_found > 0 ? (size_t)n_found : 0;
    struct sp_topo *topo = calloc(1, sizeof(*topo));

    if (topo == NULL)
        return NULL;
    topo->links = calloc(n_nodes + 1, sizeof(*topo->links));
    topo->nodes = calloc(n_nodes + 1, sizeof(*topo->nodes));
    topo->distances = calloc(n_nodes * n_nodes + 1, sizeof(*topo->distances));
    if (topo->links == NULL || topo->nodes == NULL || topo->distances == NULL) {
        sp_topo_close(topo);
        return NULL;
    }
    for (size_t i = 0; i < n_nodes; i++)
        topo->links[i].object = hwloc_get_obj_by_type(hwloc, HWLOC_OBJ_NUMANODE, (unsigned)i);
    topo->hwloc = hwloc;
    topo->view = (struct starpool_topology){
        .n_nodes = (int)n_nodes,
        .nodes = topo->nodes,
        .distances = topo->distances,
        .is_real = hwloc_topology_is_thissystem(hwloc) != 0,
    };
    return topo;
}

/* Takes `hwloc` over, also on failure. */
static enum starpool_status adopt(hwloc_topology_t hwloc, struct sp_topo **topo_out)
{
    struct sp_topo *topo = make(hwloc);
    enum starpool_status status;

    if (topo == NULL) {
        hwloc_topology_destroy(hwloc);
        return STARPOOL_ENOMEM;
    }
    status = sp_topo_describe(topo);
    if (status != STARPOOL_OK) {
        sp_topo_close(topo);
        return status;
    }
    *topo_out = topo;
    return STARPOOL_OK;
}

enum starpool_status sp_topo_open(const char *description, struct sp_topo **topo_out)
{
    hwloc_topology_t hwloc;
    enum starpool_status status = load(description, &hwloc);

    return status == STARPOOL_OK ? adopt(hwloc, topo_out) : status;
}

void sp_topo_close(struct sp_topo *topo)
{
    if (topo == NULL)
        return;
    for (int i = 0; i < topo->view.n_nodes; i++)
        hwloc_bitmap_free(topo->links[i].cpus);
    if (topo->hwloc != NULL)
        hwloc_topology_destroy(topo->hwloc);
    free(topo->links);
    free(topo->nodes);
    free(topo->distances);
    free(topo);
}

static enum starpool_status load_process_locked(struct sp_topo **topo_out)
{
    const char *nodes = sp_option(SP_OPTION_NODES)->value;
    hwloc_topology_t hwloc = NULL;
    enum starpool_status status;

    /* A topology of another hwloc, or one that cannot be copied, is as good as none. */
    if (process.offered == NULL || hwloc_topology_abi_check(process.offered) != 0 ||
        hwloc_topology_dup(&hwloc, process.offered) != 0) {
        status = load(NULL, &hwloc);
        if (status != STARPOOL_OK) {
            sp_log(SP_LOG_ERROR, "hwloc cannot load this machine's topology");
            return status;
        }
    }
    status = adopt(hwloc, topo_out);
    if (status != STARPOOL_OK || nodes == NULL || nodes[0] == '\0')
        return status;
    if (sp_topo_serve(*topo_out, nodes) != STARPOOL_OK)
        sp_log(SP_LOG_WARN,
               "STARPOOL_NODES=%s: not a list of NUMA nodes with memory that this process may "
               "use; every node of ordinary memory is used instead",
               nodes);
    return STARPOOL_OK;
}

enum starpool_status sp_topo_get(const struct sp_topo **topo_out)
{
    struct sp_topo *topo = atomic_load_explicit(&process.loaded, memory_order_acquire);
    enum starpool_status status = STARPOOL_OK;

    if (SP_UNLIKELY(topo == NULL)) {
        (void)pthread_mutex_lock(&process.lock);
        topo = atomic_load_explicit(&process.loaded, memory_order_relaxed);
        if (topo == NULL)
            status = load_process_locked(&topo);
        if (status == STARPOOL_OK)
            atomic_store_explicit(&process.loaded, topo, memory_order_release);
        (void)pthread_mutex_unlock(&process.lock);
        if (status != STARPOOL_OK)
            return status;
    }
    *topo_out = topo;
    return STARPOOL_OK;
}

void sp_topo_freeze(void)
{
    (void)pthread_mutex_lock(&process.lock);
}

void sp_topo_thaw(void)
{
    (void)pthread_mutex_unlock(&process.lock);
}

void sp_topo_offer(void *hwloc_topology)
{
    (void)pthread_mutex_lock(&process.lock);
    process.offered = hwloc_topology;
    (void)pthread_mutex_unlock(&process.lock);
}

/* True if `list` has only what a list of indexes is made of; hwloc's parser is not strict. */
static bool is_list(const char *list)
{
    size_t length = strspn(list, "0123456789,-");

    return length > 0 && list[length] == '\0' && list[length - 1] >= '0' && list[0] >= '0' &&
           list[0] <= '9' && strstr(list, ",,") == NULL && strstr(list, "--") == NULL;
}

/* How many nodes of `wanted` can serve, or -1 if one of them cannot. */
static int count_servants(const struct sp_topo *topo, hwloc_const_bitmap_t wanted)
{
    int n_found = 0;

    for (int i = 0; i < topo->view.n_nodes; i++) {
        const struct starpool_node *node = &topo->nodes[i];

        if (!hwloc_bitmap_isset(wanted, (unsigned)node->os_index))
            continue;
        if (!node->is_allowed || node->kind == STARPOOL_NODE_EMPTY)
            return -1;
        n_found++;
    }
    return n_found == hwloc_bitmap_weight(wanted) ? n_found : -1;
}

enum starpool_status sp_topo_serve(struct sp_topo *topo, const char *nodes)
{
    hwloc_bitmap_t wanted;
    enum starpool_status status = STARPOOL_EINVAL;

    if (!is_list(nodes))
        return STARPOOL_EINVAL;
    wanted = hwloc_bitmap_alloc();
    if (wanted == NULL)
        return STARPOOL_ENOMEM;
    if (hwloc_bitmap_list_sscanf(wanted, nodes) == 0 && count_servants(topo, wanted) > 0) {
        for (int i = 0; i < topo->view.n_nodes; i++)
            topo->nodes[i].serves_host =
                hwloc_bitmap_isset(wanted, (unsigned)topo->nodes[i].os_index) != 0;
        status = STARPOOL_OK;
    }
    hwloc_bitmap_free(wanted);
    return status;
}

const struct starpool_topology *sp_topo_view(const struct sp_topo *topo)
{
    return &topo->view;
}

int sp_topo_n_nodes(const struct sp_topo *topo)
{
    return topo->view.n_nodes;
}

const struct starpool_node *sp_topo_node(const struct sp_topo *topo, int index)
{
    return &topo->nodes[index];
}

const struct starpool_node *sp_topo_find(const struct sp_topo *topo, int os_index)
{
    for (int i = 0; i < topo->view.n_nodes; i++) {
        if (topo->nodes[i].os_index == os_index)
            return &topo->nodes[i];
    }
    return NULL;
}

unsigned sp_topo_distance(const struct sp_topo *topo, int from, int to)
{
    return topo->distances[from * topo->view.n_nodes + to];
}

bool sp_topo_is_real(const struct sp_topo *topo)
{
    return topo->view.is_real;
}
