/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Pools as text and as JSON: configuration, counters, and on which nodes the pages are. */
#include "config.h"

#include <starpool/stats.h>

#include <inttypes.h>
#include <string.h>

#include "numa/topo.h"
#include "numa/verify.h"
#include "src/pool/driver_pool.h"
#include "src/pool/pool.h"
#include "src/pool/private.h"

/* ---- where the pages are ------------------------------------------------------------- */

static void add_pages(struct starpool_pages *sum, const struct starpool_pages *pages)
{
    sum->page_size = pages->page_size;
    sum->n_pages += pages->n_pages;
    sum->n_resident += pages->n_resident;
    sum->n_absent += pages->n_absent;
    sum->n_unknown += pages->n_unknown;
    for (int i = 0; i < STARPOOL_MAX_NODES; i++)
        sum->n_on_node[i] += pages->n_on_node[i];
}

static void locate_pages(struct starpool_pool *pool, struct starpool_pages *sum_out)
{
    const struct sp_topo *topo;

    *sum_out = (struct starpool_pages){0};
    if (pool->is_on_device || sp_topo_get(&topo) != STARPOOL_OK)
        return;
    sp_lock_take(&pool->growth);
    for (const struct sp_piece *piece = pool->pieces; piece != NULL; piece = piece->next) {
        struct starpool_pages pages;

        sp_verify_range(topo, (const void *)piece->base, piece->size, &pages);
        add_pages(sum_out, &pages);
    }
    sp_lock_give(&pool->growth);
}

/* ---- words --------------------------------------------------------------------------- */

static const char *kind_name(enum starpool_kind kind)
{
    switch (kind) {
    case STARPOOL_NONE:
        return "NONE";
    case STARPOOL_DEVICE:
        return "DEVICE";
    case STARPOOL_HOST:
        return "HOST";
    case STARPOOL_HOST_NUMA:
        return "HOST_NUMA";
    }
    return "unknown";
}

static const char *huge_name(enum starpool_huge huge)
{
    switch (huge) {
    case STARPOOL_HUGE_NEVER:
        return "never";
    case STARPOOL_HUGE_TRANSPARENT:
        return "transparent";
    case STARPOOL_HUGE_EXPLICIT:
        return "explicit";
    }
    return "unknown";
}

static const char *placement_name(enum starpool_placement placement)
{
    return placement == STARPOOL_STRICT ? "strict" : "spill";
}

static const char *backend_name(const struct starpool_pool *pool)
{
    if (pool->driver != NULL)
        return "driver";
    if (pool->is_on_device)
        return "slab";
    return pool->location.kind == STARPOOL_DEVICE ? "cpu-only device" : "host";
}

/* Memory that the pool has placed on the host's nodes itself. */
static bool has_pages(const struct starpool_pool *pool)
{
    return pool->driver == NULL && !pool->is_on_device;
}

/* With the driver's own counters, unless it does not say them. */
static void read_pool(struct starpool_pool *pool, struct starpool_pool_config *config_out,
                      struct starpool_stats *stats_out)
{
    sp_lock_take(&pool->lock);
    *config_out = pool->config;
    config_out->maximum = pool->maximum;
    sp_pool_collect(pool, stats_out);
    sp_lock_give(&pool->lock);
    if (pool->driver != NULL)
        (void)!sp_driver_pool_collect(pool, stats_out);
}

static bool begins_with_one_of(const char *name, const char *const beginnings[], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (strncmp(name, beginnings[i], strlen(beginnings[i])) == 0)
            return true;
    }
    return false;
}

/* True for counters that are of interest only to who uses streams, captures them, or has
 * devices. */
static bool is_special(const char *name)
{
    static const char *const beginnings[] = {"ordered_",      "n_takes_", "graph_",
                                             "n_captured_",   "shadow_",  "registered_",
                                             "unregistered_", "n_lost_"};

    return begins_with_one_of(name, beginnings, SP_ARRAY_SIZE(beginnings));
}

/* True for counters of what becomes of the host's pages. */
static bool is_of_pages(const char *name)
{
    static const char *const beginnings[] = {"locked_", "huge_", "spilled_", "unbound_",
                                             "n_spills"};

    return begins_with_one_of(name, beginnings, SP_ARRAY_SIZE(beginnings));
}

/* True for counters in bytes, by their names. */
static bool is_bytes(const char *name)
{
    const char *end = name;

    while (*end != '\0')
        end++;
    return end - name > 6 && end[-6] == '_' && end[-5] == 'b';
}

static void print_counter(FILE *out, const struct starpool_pool *pool, const char *name,
                          const char *text, uint64_t value)
{
    char bytes[32];

    if (value == 0 && (is_special(name) || (is_of_pages(name) && !has_pages(pool))))
        return;
    if (is_bytes(name))
        fprintf(out, "    %-12s %s\n", sp_bytes_text(bytes, sizeof(bytes), value), text);
    else
        fprintf(out, "    %-12" PRIu64 " %s\n", value, text);
}

static void print_pages(FILE *out, const struct starpool_pages *pages)
{
    fprintf(out, "    pages of %zu bytes:", pages->page_size);
    for (int i = 0; i < STARPOOL_MAX_NODES; i++) {
        if (pages->n_on_node[i] > 0)
            fprintf(out, " %" PRIu64 " on node %d,", pages->n_on_node[i], i);
    }
    fprintf(out, " %" PRIu64 " absent, %" PRIu64 " unknown\n", pages->n_absent,
            pages->n_unknown);
}

static bool has_lost_shadow(struct starpool_pool *pool)
{
    bool answer;

    sp_lock_take(&pool->lock);
    answer = pool->driver != NULL && pool->driver->has_lost_shadow;
    sp_lock_give(&pool->lock);
    return answer;
}

void sp_report_pool_text(FILE *out, struct starpool_pool *pool)
{
    struct starpool_pool_config config;
    struct starpool_stats stats;
    struct starpool_pages pages;
    char limit[32];

    read_pool(pool, &config, &stats);
    locate_pages(pool, &pages);
    fprintf(out, "  %s (%s, %s", pool->name, kind_name(pool->location.kind),
            backend_name(pool));
    if (has_pages(pool))
        fprintf(out, ", %s, huge pages %s", placement_name(config.placement),
                huge_name(config.huge));
    fprintf(out, ", limit %s)\n",
            config.maximum == 0 ? "none" : sp_bytes_text(limit, sizeof(limit), config.maximum));
#define PRINT(name, text) print_counter(out, pool, #name, text, stats.name);
    STARPOOL_STATS_MAP(PRINT)
#undef PRINT
    if (has_lost_shadow(pool))
        fputs("    no memory to count it beside the driver\n", out);
    if (has_pages(pool))
        print_pages(out, &pages);
}

static void write_counter(struct sp_json *json, const char *name, uint64_t value)
{
    if (!is_special(name) || value != 0)
        sp_json_number(json, name, value);
}

static void write_pages(struct sp_json *json, const struct starpool_pages *pages)
{
    char node[16];

    sp_json_object_begin(json, "pages");
    sp_json_number(json, "page_size", pages->page_size);
    sp_json_number(json, "total", pages->n_pages);
    sp_json_number(json, "absent", pages->n_absent);
    sp_json_number(json, "unknown", pages->n_unknown);
    sp_json_object_begin(json, "on_node");
    for (int i = 0; i < STARPOOL_MAX_NODES; i++) {
        if (pages->n_on_node[i] == 0)
            continue;
        snprintf(node, sizeof(node), "%d", i);
        sp_json_number(json, node, pages->n_on_node[i]);
    }
    sp_json_end(json);
    sp_json_end(json);
}

void sp_report_pool_json(struct sp_json *json, struct starpool_pool *pool)
{
    struct starpool_pool_config config;
    struct starpool_stats stats;
    struct starpool_pages pages;

    read_pool(pool, &config, &stats);
    locate_pages(pool, &pages);
    sp_json_string(json, "name", pool->name);
    sp_json_string(json, "kind", kind_name(pool->location.kind));
    sp_json_signed(json, "id", pool->location.id);
    sp_json_string(json, "backend", backend_name(pool));
    sp_json_string(json, "placement", placement_name(config.placement));
    sp_json_string(json, "huge", huge_name(config.huge));
    sp_json_flag(json, "locked", config.is_locked);
    sp_json_flag(json, "registered", config.is_registered);
    if (pool->driver != NULL)
        sp_json_flag(json, "has_shadow", config.has_shadow && !has_lost_shadow(pool));
    sp_json_number(json, "maximum", config.maximum);
#define WRITE(name, text) write_counter(json, #name, stats.name);
    STARPOOL_STATS_MAP(WRITE)
#undef WRITE
    write_pages(json, &pages);
}

enum starpool_status starpool_report(FILE *out, enum starpool_report_format format)
{
    struct starpool_pool *pool = NULL;
    struct sp_json json;

    if (out == NULL || (unsigned)format > STARPOOL_REPORT_JSON)
        return STARPOOL_EINVAL;
    if (format == STARPOOL_REPORT_TEXT) {
        fprintf(out, "starpool %s: pools\n", PACKAGE_VERSION);
        while ((pool = sp_registry_next(pool)) != NULL)
            sp_report_pool_text(out, pool);
    } else {
        sp_json_begin(&json, out);
        sp_json_string(&json, "starpool", PACKAGE_VERSION);
        sp_json_array_begin(&json, "pools");
        while ((pool = sp_registry_next(pool)) != NULL) {
            sp_json_object_begin(&json, NULL);
            sp_report_pool_json(&json, pool);
            sp_json_end(&json);
        }
        sp_json_finish(&json);
    }
    return fflush(out) == 0 && ferror(out) == 0 ? STARPOOL_OK : STARPOOL_EIO;
}

/* Blocks that nobody freed are no fault of ours, and said only to those who ask. */
static void __attribute__((destructor)) report_live_blocks(void)
{
    struct starpool_pool *pool = NULL;

    while ((pool = sp_registry_next(pool)) != NULL) {
        struct starpool_stats stats;
        char bytes[32];

        sp_lock_take(&pool->lock); /* The driver may be gone by now. */
        sp_pool_collect(pool, &stats);
        sp_lock_give(&pool->lock);
        if (stats.n_live > 0)
            sp_log(SP_LOG_INFO, "%s: %" PRIu64 " blocks (%s) are still live at exit",
                   pool->name, stats.n_live,
                   sp_bytes_text(bytes, sizeof(bytes), stats.used_bytes));
    }
}
