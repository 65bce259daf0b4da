/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `starpool info --json`: the same facts, for programs. Bytes end in "_bytes". */
#include "config.h"

#include <stdio.h>

#include "src/tools/info.h"
#include "src/util/json.h"
#include "src/util/options.h"

static void write_nodes(struct sp_json *json, const struct sp_info *info)
{
    const struct starpool_topology *topology = info->topology;
    int n = topology->n_nodes;
    uint64_t bytes;

    sp_json_flag(json, "is_this_machine", topology->is_real);
    sp_json_flag(json, "is_binding_refused", info->is_binding_refused);
    sp_json_array_begin(json, "numa_nodes");
    for (int i = 0; i < n; i++) {
        const struct starpool_node *node = &topology->nodes[i];

        sp_json_object_begin(json, NULL);
        sp_json_number(json, "os_index", (uint64_t)node->os_index);
        sp_json_string(json, "kind", sp_info_kind(node->kind));
        sp_json_flag(json, "is_allowed", node->is_allowed);
        sp_json_flag(json, "serves_host", node->serves_host);
        sp_json_number(json, "total_bytes", node->total_bytes);
        if (sp_info_room(node->os_index, &bytes))
            sp_json_number(json, "room_bytes", bytes);
        sp_json_number(json, "n_cpus", (uint64_t)node->n_cpus);
        sp_json_string(json, "cpus", node->cpus);
        sp_json_array_begin(json, "distances");
        for (int to = 0; to < n; to++)
            sp_json_number(json, NULL, topology->distances[i * n + to]);
        sp_json_end(json);
        sp_json_end(json);
    }
    sp_json_end(json);
}

static void write_starpu_node(struct sp_json *json, const struct sp_ask *ask,
                              const struct sp_ask_node *node)
{
    sp_json_object_begin(json, NULL);
    sp_json_number(json, "node", node->id);
    sp_json_string(json, "kind", node->kind);
    sp_json_string(json, "name", node->name);
    if (node->os_index >= 0)
        sp_json_number(json, "os_index", (uint64_t)node->os_index);
    sp_json_flag(json, "is_served", *node->pool != '\0');
    if (*node->pool != '\0') {
        sp_json_string(json, "pool", node->pool);
        sp_json_string(json, "mechanism", sp_ask_mechanism(ask));
    } else {
        sp_json_string(json, "why_not", sp_ask_why_not(node));
    }
    if (*node->plain_pool != '\0')
        sp_json_string(json, "starpu_malloc_pool", node->plain_pool);
    sp_json_end(json);
}

static void write_starpu(struct sp_json *json, const struct sp_ask *ask)
{
    sp_json_object_begin(json, "starpu");
    sp_json_flag(json, "is_available", ask->is_available);
    if (!ask->is_available) {
        sp_json_string(json, "reason", ask->reason);
        sp_json_end(json);
        return;
    }
    sp_json_string(json, "version", ask->version);
    sp_json_string(json, "plugin", ask->plugin.path);
    sp_json_string(json, "flavour", ask->plugin.flavour);
    sp_json_string(json, "interposer", ask->interposer);
    sp_json_string(json, "why", ask->why);
    sp_json_array_begin(json, "nodes");
    for (unsigned i = 0; i < ask->n_nodes; i++)
        write_starpu_node(json, ask, &ask->nodes[i]);
    sp_json_end(json);
    sp_json_object_begin(json, "ways_in");
    for (size_t i = 0; i < SP_INFO_N_WAYS; i++)
        sp_json_string(json, sp_info_ways[i].name, sp_info_ways[i].how);
    sp_json_end(json);
    sp_json_end(json);
}

static void write_options(struct sp_json *json)
{
    sp_json_array_begin(json, "options");
    for (unsigned i = 0; i < SP_N_OPTIONS; i++) {
        const struct sp_option *option = sp_option((enum sp_option_id)i);

        sp_json_object_begin(json, NULL);
        sp_json_string(json, "name", option->name);
        sp_json_string(json, "value", option->value);
        sp_json_string(json, "default", option->default_text);
        sp_json_string(json, "origin", sp_info_origin((int)option->origin));
        sp_json_end(json);
    }
    sp_json_end(json);
}

void sp_info_write_json(const struct sp_info *info)
{
    struct sp_json json;

    sp_json_begin(&json, stdout);
    sp_json_string(&json, "version", PACKAGE_VERSION);
    write_nodes(&json, info);
    sp_info_write_driver(&json, &info->driver);
    if (info->has_starpu)
        write_starpu(&json, &info->ask);
    write_options(&json);
    sp_json_finish(&json);
}
