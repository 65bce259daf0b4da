/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `starpool info`: collects the facts and shows them as text. */
#include "config.h"

#include "src/tools/info.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <starpool/pool.h>
#include <starpool/stats.h>

#include "src/tools/tools.h"
#include "src/util/options.h"
#include "src/util/util.h"

enum { FLAG_HELP = 'h', FLAG_JSON = 'j', FLAG_NO_STARPU = 'n' };

const struct sp_info_way sp_info_ways[SP_INFO_N_WAYS] = {
    {"preload", "starpool run PROGRAM, or LD_PRELOAD with the plugin"},
    {"link", "link the program with pkg-config's starpool-starpu, before StarPU"},
    {"dlopen", "dlopen() the plugin before starpu_init(), after libstarpu is loaded, or with "
               "RTLD_GLOBAL; or STARPU_SCHED_LIB on StarPU 1.4"},
    {"attach", "call starpool_starpu_attach() before starpu_init()"},
};

const char *sp_info_kind(enum starpool_node_kind kind)
{
    switch (kind) {
    case STARPOOL_NODE_DRAM:
        return "DRAM";
    case STARPOOL_NODE_GPU:
        return "GPU";
    case STARPOOL_NODE_EMPTY:
        return "empty";
    case STARPOOL_NODE_SLOW:
        return "slow";
    default:
        return "unknown";
    }
}

const char *sp_info_origin(int origin)
{
    switch ((enum sp_option_origin)origin) {
    case SP_ORIGIN_DEFAULT:
        return "default";
    case SP_ORIGIN_ENVIRONMENT:
        return "environment";
    case SP_ORIGIN_REJECTED:
        return "rejected";
    default:
        return "unknown";
    }
}

bool sp_info_room(int os_index, uint64_t *bytes_out)
{
    return starpool_numa_room(os_index, bytes_out) == STARPOOL_OK;
}

static int help(void)
{
    puts("Usage: starpool info [--json] [--no-starpu]\n"
         "Show the NUMA nodes, the driver of devices, how StarPU's memory nodes are served, "
         "and\n"
         "the options.\n");
    sp_tools_help_row("--json", "one JSON object instead of text");
    sp_tools_help_row("--no-starpu", "do not start StarPU to ask it");
    sp_tools_help_row("--help", "this text");
    puts(
        "\nExit status: 0 done; 1 if StarPU was asked and a pool serves none of its nodes, or\n"
        "it did not answer; 2 for a mistake above; 77 if the NUMA nodes cannot be found, or\n"
        "the plugin is not installed.");
    return (int)sp_tools_finish("info");
}

/* True if a pool on the nearest node, which is tried, gets memory that the system does not
 * bind. What keeps the pool from any memory says nothing of that. */
static bool is_binding_refused(const struct starpool_topology *topology)
{
    struct starpool_stats stats = {.struct_size = sizeof(stats)};
    struct starpool_pool_config config;
    struct starpool_pool *pool;
    void *block;

    starpool_pool_config_init(&config);
    config.location = (struct starpool_location){STARPOOL_HOST_NUMA, STARPOOL_ID_NEAREST};
    if (!topology->is_real || starpool_pool_create(&config, &pool) != STARPOOL_OK)
        return false;
    if (starpool_alloc(pool, 1, STARPOOL_STREAM_HOST, &block) == STARPOOL_OK) {
        if (starpool_pool_stats(pool, &stats) != STARPOOL_OK)
            stats.unbound_bytes = 0;
        (void)starpool_free(block, STARPOOL_STREAM_HOST);
    }
    starpool_pool_destroy(pool);
    return stats.unbound_bytes > 0;
}

static void show_nodes(const struct sp_info *info)
{
    const struct starpool_topology *topology = info->topology;
    char total[32];
    char room[32];
    uint64_t bytes;

    printf("NUMA nodes%s\n", topology->is_real ? ""
                                               : " (described, not this machine's: binding "
                                                 "has no effect)");
    printf("  %4s  %-6s %-8s %-11s %12s %12s  %s\n", "node", "kind", "allowed", "serves HOST",
           "memory", "room", "CPUs");
    for (int i = 0; i < topology->n_nodes; i++) {
        const struct starpool_node *node = &topology->nodes[i];

        if (sp_info_room(node->os_index, &bytes))
            sp_bytes_text(room, sizeof(room), bytes);
        else
            strcpy(room, "unknown");
        printf("  %4d  %-6s %-8s %-11s %12s %12s  %s\n", node->os_index,
               sp_info_kind(node->kind), node->is_allowed ? "yes" : "no",
               node->serves_host ? "yes" : "no",
               sp_bytes_text(total, sizeof(total), node->total_bytes), room,
               *node->cpus == '\0' ? "none" : node->cpus);
    }
    if (info->is_binding_refused)
        puts("  remark: the system refuses to bind memory, as a container's filter may: pages\n"
             "  are where they are first touched, on whatever node that is");
}

static void show_distances(const struct starpool_topology *topology)
{
    int n = topology->n_nodes;

    if (n < 2)
        return;
    printf("\nDistances (10 is a node's own memory)\n  from\\to");
    for (int to = 0; to < n; to++)
        printf(" %5d", topology->nodes[to].os_index);
    for (int from = 0; from < n; from++) {
        printf("\n  %7d", topology->nodes[from].os_index);
        for (int to = 0; to < n; to++)
            printf(" %5u", topology->distances[from * n + to]);
    }
    putchar('\n');
}

static void show_starpu_node(const struct sp_ask *ask, const struct sp_ask_node *node)
{
    printf("  node %u, %s", node->id, node->kind);
    if (node->os_index >= 0)
        printf(", NUMA node %d", node->os_index);
    printf(" (%s)\n", node->name);
    if (*node->pool != '\0')
        printf("    task data: pool \"%s\", by %s\n", node->pool, sp_ask_mechanism(ask));
    else
        printf("    task data: not served: %s\n", sp_ask_why_not(node));
    if (*node->plain_pool != '\0')
        printf("    starpu_malloc(): pool \"%s\", by hooks\n", node->plain_pool);
}

static void show_starpu(const struct sp_info *info)
{
    const struct sp_ask *ask = &info->ask;

    if (!info->has_starpu)
        return;
    puts("\nStarPU");
    if (!ask->is_available) {
        printf("  not available: %s\n", ask->reason);
        return;
    }
    printf("  version %s, plugin %s (built for %s)\n", ask->version, ask->plugin.path,
           ask->plugin.flavour);
    for (unsigned i = 0; i < ask->n_nodes; i++)
        show_starpu_node(ask, &ask->nodes[i]);
    if (*ask->why != '\0')
        printf("  remark: %s\n", ask->why);
    puts("  ways in");
    for (size_t i = 0; i < SP_INFO_N_WAYS; i++)
        printf("    %-8s %s\n", sp_info_ways[i].name, sp_info_ways[i].how);
}

static void show_options(void)
{
    puts("\nOptions");
    for (unsigned i = 0; i < SP_N_OPTIONS; i++) {
        const struct sp_option *option = sp_option((enum sp_option_id)i);

        printf("  %-23s = %-12s (%s)\n", option->name,
               *option->value == '\0' ? "\"\"" : option->value,
               sp_info_origin((int)option->origin));
    }
}

/* Read the command line. Returns -1 if the facts are to be shown, else the exit status. */
static int parse(int argc, char **argv, bool *is_json, bool *has_starpu)
{
    char title[] = "starpool info";
    static const struct option options[] = {
        {"help", no_argument, NULL, FLAG_HELP},
        {"json", no_argument, NULL, FLAG_JSON},
        {"no-starpu", no_argument, NULL, FLAG_NO_STARPU},
        {NULL, 0, NULL, 0},
    };
    int code;

    argv[0] = title; /* getopt_long() begins its messages with it. */
    while ((code = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        if (code == FLAG_HELP)
            return help();
        if (code == FLAG_JSON)
            *is_json = true;
        else if (code == FLAG_NO_STARPU)
            *has_starpu = false;
        else
            return SP_EXIT_USAGE;
    }
    if (optind == argc)
        return -1;
    sp_tools_say("info", "'%s' is not expected here; try: starpool info --help", argv[optind]);
    return SP_EXIT_USAGE;
}

/* The answer to the question that info asks: is StarPU served? */
static enum sp_exit verdict(const struct sp_info *info)
{
    if (!info->has_starpu)
        return SP_EXIT_DONE;
    if (*info->ask.plugin.path == '\0')
        return sp_preload_is_built() ? SP_EXIT_UNAVAILABLE : SP_EXIT_DONE;
    for (unsigned i = 0; info->ask.is_available && i < info->ask.n_nodes; i++) {
        if (*info->ask.nodes[i].pool != '\0')
            return SP_EXIT_DONE;
    }
    return SP_EXIT_NOT_SO;
}

int sp_info_main(int argc, char **argv)
{
    struct sp_info info = {.has_starpu = true};
    bool is_json = false;
    int exit_status = parse(argc, argv, &is_json, &info.has_starpu);
    enum starpool_status status;

    if (exit_status >= 0)
        return exit_status;
    status = starpool_topology_get(&info.topology);
    if (status != STARPOOL_OK) {
        sp_tools_say("info", "hwloc cannot find the NUMA nodes: %s",
                     starpool_status_text(status));
        return SP_EXIT_UNAVAILABLE;
    }
    info.is_binding_refused = is_binding_refused(info.topology);
    sp_info_ask_driver(&info.driver);
    if (info.has_starpu) {
        if (isatty(STDERR_FILENO))
            fputs("asking StarPU ...\n", stderr);
        sp_ask_starpu(&info.ask);
    }
    if (is_json) {
        sp_info_write_json(&info);
    } else {
        puts("starpool " PACKAGE_VERSION "\n");
        show_nodes(&info);
        show_distances(info.topology);
        sp_info_show_driver(&info.driver);
        show_starpu(&info);
        show_options();
    }
    exit_status = (int)sp_tools_finish("info");
    return exit_status != SP_EXIT_DONE ? exit_status : (int)verdict(&info);
}
