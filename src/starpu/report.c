/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What stands in the exit report, as text and as JSON. StarPU has been shut down by then, so
 * nothing here asks it. Where the report goes is report_file.c's affair. */
#include "config.h"

#include "src/starpu/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "src/pool/private.h"
#include "src/starpu/counters.h"
#include "src/starpu/cuda_report.h"
#include "src/starpu/doors.h"
#include "src/starpu/node.h"
#include "src/starpu/plugin.h"
#include "src/starpu/report_file.h"
#include "src/starpu/taskgraph_report.h"
#include "src/util/diag.h"
#include "src/util/json.h"
#include "src/util/options.h"
#include "src/util/outfile.h"
#include "src/util/util.h"

/* The counters of a node that are not by door. */
static const struct {
    enum sp_counter counter;
    const char *key;
    const char *text;
} facts[] = {
    {SP_N_REFUSALS, "refusals", "refused"},
    {SP_N_OVERFLOWS, "overflows", "served by the overflow pool"},
    {SP_N_FOREIGN, "foreign_frees", "frees of memory that is not starpool's"},
    {SP_N_KEPT, "kept_unknown", "of these kept, as their origin is not known"},
    {SP_N_PASSED, "passed", "left to StarPU"},
    {SP_N_WAITS, "driver_waits", "waits for the driver's pool"},
    {SP_NS_WAITS, "driver_wait_ns", "nanoseconds that requests took which waited"},
};

static const char *version_text(char *text, size_t text_size)
{
    const int *version = sp_plugin.version;

    snprintf(text, text_size, "%d.%d.%d", version[0], version[1], version[2]);
    return text;
}

/* The name of a pool, which is what serves a node; or why none does. */
static const char *server_text(const struct sp_node_record *record, char *text,
                               size_t text_size)
{
    struct starpool_pool_config config = {.struct_size = sizeof(config)};

    if (record->pool == NULL && *record->why != '\0')
        snprintf(text, text_size, "StarPU (%s)", record->why);
    else if (record->pool == NULL)
        snprintf(text, text_size, "StarPU (no pool of starpool's for this kind of memory)");
    else if (starpool_pool_get_config(record->pool, &config) == STARPOOL_OK)
        snprintf(text, text_size, "%s", config.name);
    else
        snprintf(text, text_size, "a pool");
    return text;
}

/* Requests that starpool saw, those included that it left to StarPU. */
static uint64_t total_requests(void)
{
    uint64_t total = 0;
    unsigned node;

    for (node = 0; node < SP_MAX_STARPU_NODES; node++)
        total += sp_counters_sum(node, SP_N_INTERPOSER) + sp_counters_sum(node, SP_N_HOOK) +
                 sp_counters_sum(node, SP_N_PASSED);
    return total;
}

/* ---- JSON ---------------------------------------------------------------------------- */

static void json_doors(struct sp_json *json, const char *key, unsigned node,
                       enum sp_counter interposer, enum sp_counter hook)
{
    sp_json_object_begin(json, key);
    sp_json_number(json, "interposer", sp_counters_sum(node, interposer));
    sp_json_number(json, "hook", sp_counters_sum(node, hook));
    sp_json_end(json);
}

static void json_pool(struct sp_json *json, const char *key, struct starpool_pool *pool)
{
    sp_json_object_begin(json, key);
    sp_report_pool_json(json, pool);
    sp_json_end(json);
}

static void json_node(struct sp_json *json, unsigned node)
{
    struct sp_node_record record = sp_node_record(node);
    char server[256];
    size_t i;

    if (record.kind == NULL)
        return;
    sp_json_object_begin(json, NULL);
    sp_json_number(json, "node", node);
    sp_json_string(json, "kind", record.kind);
    if (record.numa >= 0)
        sp_json_number(json, "numa", (uint64_t)record.numa);
    if (record.device >= 0)
        sp_json_number(json, "device", (uint64_t)record.device);
    sp_json_string(json, "served_by", server_text(&record, server, sizeof(server)));
    json_doors(json, "requests", node, SP_N_INTERPOSER, SP_N_HOOK);
    json_doors(json, "bytes", node, SP_BYTES_INTERPOSER, SP_BYTES_HOOK);
    json_doors(json, "frees", node, SP_FREES_INTERPOSER, SP_FREES_HOOK);
    for (i = 0; i < SP_ARRAY_SIZE(facts); i++)
        sp_json_number(json, facts[i].key, sp_counters_sum(node, facts[i].counter));
    if (record.pool != NULL)
        json_pool(json, "pool", record.pool);
    if (record.earlier != NULL)
        json_pool(json, "earlier_pool", record.earlier);
    sp_json_end(json);
}

static void json_mechanism(struct sp_json *json)
{
    sp_json_object_begin(json, "mechanism");
    sp_json_string(json, "interposer", sp_plugin_mechanism_name(sp_plugin.mechanism));
    sp_json_flag(json, "hooks", !sp_doors_has_app_hooks());
    sp_json_flag(json, "program_hooks", sp_doors_has_app_hooks());
    sp_json_flag(json, "detached", sp_plugin.is_detached);
    sp_json_string(json, "why", sp_plugin.why);
    sp_json_end(json);
}

static void json_rejected(struct sp_json *json)
{
    int id;

    sp_json_array_begin(json, "rejected_options");
    for (id = 0; id < SP_N_OPTIONS; id++) {
        const struct sp_option *option = sp_option((enum sp_option_id)id);

        if (option->origin == SP_ORIGIN_REJECTED)
            sp_json_string(json, NULL, option->name);
    }
    sp_json_end(json);
}

static void write_json(FILE *out)
{
    struct sp_json json;
    char version[48];
    unsigned node;

    sp_json_begin(&json, out);
    sp_json_string(&json, "starpool", PACKAGE_VERSION);
    sp_json_string(&json, "starpu", version_text(version, sizeof(version)));
    sp_json_number(&json, "pid", (uint64_t)getpid());
    sp_json_number(&json, "rank", sp_outfile_rank());
    json_mechanism(&json);
    sp_json_array_begin(&json, "nodes");
    for (node = 0; node < SP_MAX_STARPU_NODES; node++)
        json_node(&json, node);
    sp_json_end(&json);
    if (sp_node_overflow_pool() != NULL)
        json_pool(&json, "overflow", sp_node_overflow_pool());
    sp_cuda_report_json(&json);
    sp_taskgraph_report_json(&json);
    json_rejected(&json);
    sp_json_finish(&json);
}

/* ---- text ---------------------------------------------------------------------------- */

static void text_door(FILE *out, unsigned node, const char *name, enum sp_counter requests,
                      enum sp_counter bytes, enum sp_counter frees)
{
    char size[32];

    fprintf(out, "    by the %s: %" PRIu64 " requests (%s), %" PRIu64 " frees\n", name,
            sp_counters_sum(node, requests),
            sp_bytes_text(size, sizeof(size), sp_counters_sum(node, bytes)),
            sp_counters_sum(node, frees));
}

static void text_node(FILE *out, unsigned node)
{
    struct sp_node_record record = sp_node_record(node);
    char server[256];
    size_t i;

    if (record.kind == NULL)
        return;
    fprintf(out, "  StarPU node %u (%s", node, record.kind);
    if (record.numa >= 0)
        fprintf(out, ", NUMA %d", record.numa);
    if (record.device >= 0)
        fprintf(out, " %d", record.device);
    fprintf(out, "), served by %s\n", server_text(&record, server, sizeof(server)));
    if (record.pool != NULL) {
        text_door(out, node, "interposer", SP_N_INTERPOSER, SP_BYTES_INTERPOSER,
                  SP_FREES_INTERPOSER);
        /* Requests for a device's memory never come by the hook. */
        if (record.device < 0)
            text_door(out, node, "hook", SP_N_HOOK, SP_BYTES_HOOK, SP_FREES_HOOK);
    }
    for (i = 0; i < SP_ARRAY_SIZE(facts); i++) {
        uint64_t n = sp_counters_sum(node, facts[i].counter);

        if (n > 0)
            fprintf(out, "    %s: %" PRIu64 "\n", facts[i].text, n);
    }
    if (record.pool != NULL)
        sp_report_pool_text(out, record.pool);
    if (record.earlier != NULL)
        sp_report_pool_text(out, record.earlier);
}

static void write_text(FILE *out)
{
    char version[48];
    unsigned node;
    int id;

    fprintf(out, "starpool %s, process %ld, rank %u, StarPU %s\n", PACKAGE_VERSION,
            (long)getpid(), sp_outfile_rank(), version_text(version, sizeof(version)));
    fprintf(out, "  mechanism: interposer %s, hooks %s%s%s%s\n",
            sp_plugin_mechanism_name(sp_plugin.mechanism),
            sp_doors_has_app_hooks() ? "of the program" : "installed",
            sp_plugin.is_detached ? ", detached" : "", *sp_plugin.why == '\0' ? "" : "; ",
            sp_plugin.why);
    if (total_requests() == 0)
        fprintf(out, "  StarPU asked for no memory\n");
    for (node = 0; node < SP_MAX_STARPU_NODES; node++)
        text_node(out, node);
    if (sp_node_overflow_pool() != NULL) {
        fprintf(out, "  overflow pool\n");
        sp_report_pool_text(out, sp_node_overflow_pool());
    }
    sp_cuda_report_text(out);
    sp_taskgraph_report_text(out);
    for (id = 0; id < SP_N_OPTIONS; id++) {
        const struct sp_option *option = sp_option((enum sp_option_id)id);

        if (option->origin == SP_ORIGIN_REJECTED)
            fprintf(out, "  rejected: %s; %s was used\n", option->name, option->value);
    }
}

/* ---- when and where ------------------------------------------------------------------ */

static bool is_off(const char *where)
{
    return *where == '\0' || strcmp(where, "0") == 0;
}

static bool is_stderr(const char *where)
{
    return strcmp(where, "1") == 0 || strcmp(where, "stderr") == 0;
}

static bool is_file(const char *where)
{
    return !is_off(where) && !is_stderr(where);
}

/* Said without a report too: the free hook, where it happens, must not speak. */
static void tell_kept(void)
{
    uint64_t n_kept = 0;
    unsigned node;

    for (node = 0; node < SP_MAX_STARPU_NODES; node++)
        n_kept += sp_counters_sum(node, SP_N_KEPT);
    if (n_kept > 0)
        sp_log(SP_LOG_WARN,
               "%" PRIu64 " blocks that StarPU was to free were kept: they are not "
               "starpool's, and where they come from is not known",
               n_kept);
}

void sp_report_note_start(void)
{
    const char *where = sp_option(SP_OPTION_REPORT)->value;

    if (is_file(where) && *where != '/')
        sp_report_keep_folder();
}

void sp_report_at_exit(void)
{
    const char *where;
    bool is_text;
    FILE *out;

    tell_kept();
    if (total_requests() == 0 && !atomic_load(&sp_plugin.was_started))
        return;
    where = sp_option(SP_OPTION_REPORT)->value;
    if (is_off(where))
        return;
    is_text = is_stderr(where);
    out = is_text ? sp_report_open_stderr() : sp_report_open_file(where);
    if (out == NULL)
        return;
    if (is_text)
        write_text(out);
    else
        write_json(out);
    if (ferror(out) != 0 || fclose(out) != 0)
        sp_log(SP_LOG_ERROR, "the report could not be written to %s", where);
}
