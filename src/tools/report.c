/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `starpool report`: what a trace says of each pool, or all of its events. */
#include "config.h"

#include "src/tools/report.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "src/tools/tools.h"
#include "src/tools/trace_file.h"
#include "src/trace/export.h"
#include "src/trace/summary.h"
#include "src/util/json.h"
#include "src/util/util.h"

enum form { FORM_TEXT, FORM_CSV, FORM_JSON, FORM_EVENTS_CSV, FORM_EVENTS_JSON };

enum { FLAG_HELP = 'h', FLAG_CSV = 'c', FLAG_JSON = 'j', FLAG_EVENTS = 'e' };

static int help(void)
{
    puts("Usage: starpool report [--csv | --json | --events=csv|json] FILE\n"
         "Show what the trace FILE says of each pool.\n");
    sp_tools_help_row("--csv", "one line a pool instead of text");
    sp_tools_help_row("--json", "one JSON object instead of text");
    sp_tools_help_row("--events=csv|json", "all events instead of their sums");
    sp_tools_help_row("--help", "this text");
    puts(
        "\nA trace is recorded by a program that runs with STARPOOL_TRACE=FILE.\n"
        "Exit status: 0 done; 2 for a mistake above, or if FILE is no whole trace; what could\n"
        "be read of it is shown.");
    return (int)sp_tools_finish("report");
}

static const char *bytes(char text[32], uint64_t value)
{
    return sp_bytes_text(text, 32, value);
}

/* ---- text ------------------------------------------------------------------------------- */

static void show_octaves(const char *title, const uint64_t *octaves, bool is_time)
{
    char from[32];

    printf("  %s\n", title);
    for (unsigned i = 0; i < SP_SUMMARY_OCTAVES; i++) {
        if (octaves[i] == 0)
            continue;
        if (is_time)
            snprintf(from, sizeof(from), "%.3g ms", (double)((uint64_t)1 << i) / 1e6);
        else
            bytes(from, (uint64_t)1 << i);
        printf("    from %-12s %12" PRIu64 "\n", from, octaves[i]);
    }
}

static void show_block(const struct sp_summary_block *block)
{
    char size[32];

    printf("    0x%012" PRIx64 "  %12s  since %.6f s, %.6f s%s, thread %" PRIu32 "\n",
           block->address, bytes(size, block->size), (double)block->since_ns / 1e9,
           (double)block->life_ns / 1e9, block->is_live ? ", never freed" : "", block->thread);
}

static void show_counts(const struct sp_summary_pool *pool)
{
    char a[32], b[32], c[32];

    printf("  allocations  %" PRIu64 " of %s together; %" PRIu64 " refused, %" PRIu64
           " freed, %" PRIu64 " live at the end (%s)\n",
           pool->n_allocs, bytes(a, pool->allocated_bytes), pool->n_refused, pool->n_frees,
           pool->n_live, bytes(b, pool->used_bytes));
    printf("  at most      %" PRIu64 " blocks, %s in use, %s reserved\n", pool->n_live_high,
           bytes(a, pool->used_high_bytes), bytes(b, pool->reserved_high_bytes));
    printf("  memory       taken %" PRIu64 " times, given back %" PRIu64
           " times, %s at the end; "
           "%" PRIu64 " trims\n",
           pool->n_grows, pool->n_releases, bytes(c, pool->reserved_bytes), pool->n_trims);
    if (pool->n_unknown_frees > 0)
        printf("  frees of blocks whose allocation is not in the trace: %" PRIu64 "\n",
               pool->n_unknown_frees);
    for (unsigned i = 0; i < SP_SUMMARY_STATUSES; i++) {
        if (pool->n_refused_by[i] > 0)
            printf("  refused with %s: %" PRIu64 "\n",
                   starpool_status_name((enum starpool_status)(-(int)i)),
                   pool->n_refused_by[i]);
    }
    for (unsigned i = 1; i < STARPOOL_TRACE_N_EDGES; i++) {
        if (pool->n_edges[i] > 0)
            printf("  taken by edge '%s': %" PRIu64 "\n",
                   sp_trace_edge_word((enum starpool_trace_edge)i), pool->n_edges[i]);
    }
}

static void show_pool(struct sp_summary_pool *pool)
{
    printf("\nPool %" PRIu32 " \"%s\", %s %d%s\n", pool->pool, sp_trace_file_plain(pool->name),
           sp_trace_place_word(pool->location.kind), pool->location.id,
           pool->is_destroyed ? ", destroyed" : "");
    show_counts(pool);
    if (pool->n_allocs > 0)
        show_octaves("sizes", pool->size_octaves, false);
    if (pool->n_frees > pool->n_unknown_frees) {
        printf("  lifetime     %.6f s on average\n",
               (double)pool->life_sum_ns / (double)(pool->n_frees - pool->n_unknown_frees) /
                   1e9);
        show_octaves("lifetimes", pool->life_octaves, true);
    }
    if (pool->longest[0].address != 0)
        puts("  longest-lived blocks");
    for (unsigned i = 0; i < SP_SUMMARY_LONGEST && pool->longest[i].address != 0; i++)
        show_block(&pool->longest[i]);
}

static void show(struct sp_summary *summary)
{
    printf("%" PRIu64 " events of %" PRIu64 " threads in %.6f s; %" PRIu64 " streams, %" PRIu64
           " waits, %" PRIu64 " synchronisations\n",
           summary->n_records, summary->n_threads, (double)summary->duration_ns / 1e9,
           summary->n_streams, summary->n_waits, summary->n_synchronizes);
    if (summary->n_lost > 0)
        printf("%" PRIu64 " events are missing: they came faster than they could be written\n",
               summary->n_lost);
    for (size_t i = 0; i < summary->n_pools; i++)
        show_pool(&summary->pools[i]);
}

/* ---- CSV -------------------------------------------------------------------------------- */

static void write_csv(const struct sp_summary *summary)
{
    puts("pool,name,place,place_id,allocs,frees,refused,live,unknown_frees,allocated_bytes,"
         "used_high_bytes,used_bytes,reserved_high_bytes,reserved_bytes,grows,releases,trims,"
         "life_sum_ns");
    for (size_t i = 0; i < summary->n_pools; i++) {
        const struct sp_summary_pool *pool = &summary->pools[i];

        printf("%" PRIu32 ",", pool->pool);
        sp_trace_write_field(stdout, pool->name);
        printf(",%s,%d,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64,
               sp_trace_place_word(pool->location.kind), pool->location.id, pool->n_allocs,
               pool->n_frees, pool->n_refused, pool->n_live, pool->n_unknown_frees);
        printf(",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64,
               pool->allocated_bytes, pool->used_high_bytes, pool->used_bytes,
               pool->reserved_high_bytes, pool->reserved_bytes);
        printf(",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n", pool->n_grows,
               pool->n_releases, pool->n_trims, pool->life_sum_ns);
    }
}

/* ---- JSON ------------------------------------------------------------------------------- */

static void write_octaves(struct sp_json *json, const char *key, const char *unit,
                          const uint64_t *octaves)
{
    sp_json_array_begin(json, key);
    for (unsigned i = 0; i < SP_SUMMARY_OCTAVES; i++) {
        if (octaves[i] == 0)
            continue;
        sp_json_object_begin(json, NULL);
        sp_json_number(json, unit, (uint64_t)1 << i);
        sp_json_number(json, "n", octaves[i]);
        sp_json_end(json);
    }
    sp_json_end(json);
}

static void write_longest(struct sp_json *json, const struct sp_summary_pool *pool)
{
    sp_json_array_begin(json, "longest_lived");
    for (unsigned i = 0; i < SP_SUMMARY_LONGEST && pool->longest[i].address != 0; i++) {
        const struct sp_summary_block *block = &pool->longest[i];

        sp_json_object_begin(json, NULL);
        sp_json_number(json, "address", block->address);
        sp_json_number(json, "size_bytes", block->size);
        sp_json_number(json, "since_ns", block->since_ns);
        sp_json_number(json, "life_ns", block->life_ns);
        sp_json_number(json, "thread", block->thread);
        sp_json_flag(json, "is_live", block->is_live);
        sp_json_end(json);
    }
    sp_json_end(json);
}

static void write_numbers(struct sp_json *json, const struct sp_summary_pool *pool)
{
    const struct {
        const char *key;
        uint64_t value;
    } rows[] = {
        {"n_allocs", pool->n_allocs},
        {"n_frees", pool->n_frees},
        {"n_refused", pool->n_refused},
        {"n_unknown_frees", pool->n_unknown_frees},
        {"n_live", pool->n_live},
        {"n_live_high", pool->n_live_high},
        {"n_grows", pool->n_grows},
        {"n_releases", pool->n_releases},
        {"n_trims", pool->n_trims},
        {"allocated_bytes", pool->allocated_bytes},
        {"used_bytes", pool->used_bytes},
        {"used_high_bytes", pool->used_high_bytes},
        {"reserved_bytes", pool->reserved_bytes},
        {"reserved_high_bytes", pool->reserved_high_bytes},
        {"maximum_bytes", pool->maximum},
        {"life_sum_ns", pool->life_sum_ns},
    };

    for (size_t i = 0; i < SP_ARRAY_SIZE(rows); i++)
        sp_json_number(json, rows[i].key, rows[i].value);
}

static void write_pool(struct sp_json *json, const struct sp_summary_pool *pool)
{
    sp_json_object_begin(json, NULL);
    sp_json_number(json, "pool", pool->pool);
    sp_json_string(json, "name", pool->name);
    sp_json_string(json, "place", sp_trace_place_word(pool->location.kind));
    sp_json_signed(json, "place_id", pool->location.id);
    sp_json_flag(json, "is_destroyed", pool->is_destroyed);
    write_numbers(json, pool);
    sp_json_object_begin(json, "refused_by");
    for (unsigned i = 0; i < SP_SUMMARY_STATUSES; i++) {
        if (pool->n_refused_by[i] > 0)
            sp_json_number(json, starpool_status_name((enum starpool_status)(-(int)i)),
                           pool->n_refused_by[i]);
    }
    sp_json_end(json);
    sp_json_object_begin(json, "edges");
    for (unsigned i = 0; i < STARPOOL_TRACE_N_EDGES; i++)
        sp_json_number(json, sp_trace_edge_word((enum starpool_trace_edge)i), pool->n_edges[i]);
    sp_json_end(json);
    write_octaves(json, "sizes", "from_bytes", pool->size_octaves);
    write_octaves(json, "lifetimes", "from_ns", pool->life_octaves);
    write_longest(json, pool);
    sp_json_end(json);
}

static void write_json(const struct sp_summary *summary, bool is_whole)
{
    struct sp_json json;

    sp_json_begin(&json, stdout);
    sp_json_flag(&json, "is_whole", is_whole);
    sp_json_number(&json, "n_events", summary->n_records);
    sp_json_number(&json, "n_lost", summary->n_lost);
    sp_json_number(&json, "duration_ns", summary->duration_ns);
    sp_json_number(&json, "n_threads", summary->n_threads);
    sp_json_number(&json, "n_streams", summary->n_streams);
    sp_json_number(&json, "n_waits", summary->n_waits);
    sp_json_number(&json, "n_synchronizes", summary->n_synchronizes);
    sp_json_array_begin(&json, "pools");
    for (size_t i = 0; i < summary->n_pools; i++)
        write_pool(&json, &summary->pools[i]);
    sp_json_end(&json);
    sp_json_finish(&json);
}

/* ---- the command ------------------------------------------------------------------------ */

/* Read the command line. Returns -1 if the trace is to be read, else the exit status. */
static int parse(int argc, char **argv, enum form *form)
{
    char title[] = "starpool report";
    static const struct option options[] = {
        {"help", no_argument, NULL, FLAG_HELP},
        {"csv", no_argument, NULL, FLAG_CSV},
        {"json", no_argument, NULL, FLAG_JSON},
        {"events", required_argument, NULL, FLAG_EVENTS},
        {NULL, 0, NULL, 0},
    };
    int code;

    argv[0] = title; /* getopt_long() begins its messages with it. */
    while ((code = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        if (code == FLAG_HELP)
            return help();
        if (code == FLAG_CSV)
            *form = FORM_CSV;
        else if (code == FLAG_JSON)
            *form = FORM_JSON;
        else if (code != FLAG_EVENTS)
            return SP_EXIT_USAGE;
        else if (strcmp(optarg, "csv") == 0)
            *form = FORM_EVENTS_CSV;
        else if (strcmp(optarg, "json") == 0)
            *form = FORM_EVENTS_JSON;
        else {
            sp_tools_say("report", "--events takes csv or json, and not '%s'", optarg);
            return SP_EXIT_USAGE;
        }
    }
    return -1;
}

static enum starpool_status write_summary(struct starpool_trace *reader, enum form form)
{
    struct sp_summary summary;
    enum starpool_status status = sp_summary_read(reader, &summary);

    /* Of a file that is no trace there is nothing to show. */
    if (status != STARPOOL_OK && summary.n_records == 0 && form != FORM_JSON)
        ;
    else if (form == FORM_CSV)
        write_csv(&summary);
    else if (form == FORM_JSON)
        write_json(&summary, status == STARPOOL_OK);
    else
        show(&summary);
    sp_summary_fini(&summary);
    return status;
}

int sp_report_main(int argc, char **argv)
{
    struct starpool_trace *reader;
    enum form form = FORM_TEXT;
    int exit_status = parse(argc, argv, &form);
    enum starpool_status status;
    enum sp_exit written;
    const char *path;

    if (exit_status >= 0)
        return exit_status;
    path = sp_tools_argument("report", "trace", argc, argv);
    if (path == NULL)
        return SP_EXIT_USAGE;
    exit_status = (int)sp_trace_file_open("report", path, &reader);
    if (exit_status != SP_EXIT_DONE)
        return exit_status;
    if (form == FORM_EVENTS_CSV)
        status = sp_trace_write_csv(reader, stdout);
    else if (form == FORM_EVENTS_JSON)
        status = sp_trace_write_json(reader, stdout);
    else
        status = write_summary(reader, form);
    written = sp_tools_finish("report");
    exit_status = (int)sp_trace_file_finish("report", path, reader, status);
    starpool_trace_close(reader);
    return exit_status != SP_EXIT_DONE ? exit_status : (int)written;
}
