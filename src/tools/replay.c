/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `starpool replay`: makes the requests of a trace again, on other pools. */
#include "config.h"

#include "src/tools/replay.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/tools/tools.h"
#include "src/tools/trace_file.h"
#include "src/trace/replay.h"
#include "src/util/json.h"
#include "src/util/options.h"
#include "src/util/util.h"

enum {
    FLAG_HELP = 'h',
    FLAG_JSON = 'j',
    FLAG_LIMIT = 'l',
    FLAG_MODEL = 'm',
    FLAG_POLICY = 'p',
    FLAG_POOL = 'P',
    FLAG_REUSE = 'r',
    FLAG_SCALE = 's',
};

static const char *const takes[SP_REPLAY_N_TAKES] = {"fresh", "stream",   "seen",
                                                     "event", "executed", "internal"};

static int help(void)
{
    puts("Usage: starpool replay [OPTION...] FILE\n"
         "Make the requests of the trace FILE again, one after another, on pools of its own, "
         "and\n"
         "show what becomes of them.\n");
    sp_tools_help_row("--pool", "on starpool's own pools (default)");
    sp_tools_help_row("--model", "on the pools of the CPU model of the CUDA driver");
    sp_tools_help_row(
        "--policy=keep|release=SIZE",
        "keep what was reserved (default), or give back what is free beyond SIZE");
    sp_tools_help_row("--limit=SIZE", "most that each pool may reserve");
    sp_tools_help_row("--reuse=LIST",
                      "what streams may take from each other: none, or follow, opportunistic, "
                      "internal, separated by commas (default: all three)");
    sp_tools_help_row("--scale=F", "multiply each size by F");
    sp_tools_help_row("--json", "one JSON object instead of text");
    sp_tools_help_row("--help", "this text");
    puts("\nMemory is really taken: as much as the trace's program had. Sizes take K, M, G and "
         "T,\n"
         "powers of 1024. Exit status: 0 done; 1 if requests were refused; 2 for a mistake\n"
         "above, or if FILE is no whole trace; 77 if there can be no such pools here.");
    return (int)sp_tools_finish("replay");
}

/* ---- the command line ------------------------------------------------------------------- */

static bool parse_reuse(char *list, struct sp_replay_config *config)
{
    const struct {
        const char *word;
        bool *flag;
    } rows[] = {
        {"follow", &config->follows_events},
        {"opportunistic", &config->is_opportunistic},
        {"internal", &config->allows_internal_waits},
    };
    char *rest;

    for (size_t i = 0; i < SP_ARRAY_SIZE(rows); i++)
        *rows[i].flag = false;
    if (strcmp(list, "none") == 0)
        return true;
    if (list[strspn(list, ",")] == '\0')
        return false;
    for (char *word = strtok_r(list, ",", &rest); word != NULL;
         word = strtok_r(NULL, ",", &rest)) {
        size_t i = 0;

        while (i < SP_ARRAY_SIZE(rows) && strcmp(word, rows[i].word) != 0)
            i++;
        if (i == SP_ARRAY_SIZE(rows))
            return false;
        *rows[i].flag = true;
    }
    return true;
}

static bool parse_policy(const char *text, struct sp_replay_config *config)
{
    static const char release[] = "release=";

    if (strcmp(text, "keep") == 0) {
        config->release_threshold = STARPOOL_UNLIMITED;
        return true;
    }
    return strncmp(text, release, sizeof(release) - 1) == 0 &&
           sp_parse_size(text + sizeof(release) - 1, &config->release_threshold);
}

static bool parse_scale(const char *text, struct sp_replay_config *config)
{
    char *end;

    config->scale = strtod(text, &end);
    return *text != '\0' && *end == '\0' && config->scale > 0 && config->scale <= 1e9;
}

static bool parse_value(int code, char *value, struct sp_replay_config *config)
{
    switch (code) {
    case FLAG_LIMIT:
        return sp_parse_size(value, &config->limit);
    case FLAG_POLICY:
        return parse_policy(value, config);
    case FLAG_REUSE:
        return parse_reuse(value, config);
    default:
        return parse_scale(value, config);
    }
}

/* Read the command line. Returns -1 if the trace is to be replayed, else the exit status. */
static int parse(int argc, char **argv, struct sp_replay_config *config, bool *is_json)
{
    char title[] = "starpool replay";
    static const struct option options[] = {
        {"help", no_argument, NULL, FLAG_HELP},
        {"json", no_argument, NULL, FLAG_JSON},
        {"limit", required_argument, NULL, FLAG_LIMIT},
        {"model", no_argument, NULL, FLAG_MODEL},
        {"policy", required_argument, NULL, FLAG_POLICY},
        {"pool", no_argument, NULL, FLAG_POOL},
        {"reuse", required_argument, NULL, FLAG_REUSE},
        {"scale", required_argument, NULL, FLAG_SCALE},
        {NULL, 0, NULL, 0},
    };
    char given[128];
    int code, index;

    argv[0] = title; /* getopt_long() begins its messages with it. */
    while ((code = getopt_long(argc, argv, "h", options, &index)) != -1) {
        if (code == FLAG_HELP)
            return help();
        if (code == '?')
            return SP_EXIT_USAGE;
        if (code == FLAG_JSON) {
            *is_json = true;
        } else if (code == FLAG_MODEL || code == FLAG_POOL) {
            config->on_model = code == FLAG_MODEL;
        } else {
            snprintf(given, sizeof(given), "%s", optarg); /* A list is taken apart. */
            if (!parse_value(code, optarg, config)) {
                sp_tools_say("replay", "--%s=%s is not understood; try: starpool replay --help",
                             options[index].name, given);
                return SP_EXIT_USAGE;
            }
        }
    }
    return -1;
}

/* ---- results ---------------------------------------------------------------------------- */

static void show_progress(uint64_t n_done, uint64_t n_all)
{
    fprintf(stderr, "\rreplaying: %3u %%",
            (unsigned)(n_all == 0 ? 100 : (double)n_done * 100 / (double)n_all));
}

/* Reserved beyond the peak of what was asked for. */
static double overhead(const struct sp_replay_pool *pool)
{
    return pool->asked_high_bytes == 0
               ? 0
               : (double)pool->reserved_high_bytes / (double)pool->asked_high_bytes;
}

/* How much of the free memory is not in its largest range. */
static double fragmentation(const struct sp_replay_pool *pool)
{
    return pool->free_bytes == 0 || pool->largest_hole_bytes > pool->free_bytes
               ? 0
               : 1 - (double)pool->largest_hole_bytes / (double)pool->free_bytes;
}

static void show_pool(struct sp_replay_pool *pool, bool on_model)
{
    char a[32], b[32], c[32];

    printf("\nPool %" PRIu32 " \"%s\"\n", pool->pool, sp_trace_file_plain(pool->name));
    printf("  requests      %" PRIu64 ", %" PRIu64 " refused\n", pool->n_requests,
           pool->n_refused);
    printf("  peaks         asked for %s, used %s, reserved %s (%.3f of what was asked for)\n",
           sp_bytes_text(a, sizeof(a), pool->asked_high_bytes),
           sp_bytes_text(b, sizeof(b), pool->used_high_bytes),
           sp_bytes_text(c, sizeof(c), pool->reserved_high_bytes), overhead(pool));
    if (!on_model)
        printf("  fragmentation %.3f of %s free at the end\n", fragmentation(pool),
               sp_bytes_text(a, sizeof(a), pool->free_bytes));
    if (!pool->has_takes)
        return;
    fputs("  for streams  ", stdout);
    for (unsigned i = 0; i < SP_REPLAY_N_TAKES; i++)
        printf(" %s %" PRIu64 "%s", takes[i], pool->n_takes[i],
               i + 1 < SP_REPLAY_N_TAKES ? "," : "\n");
}

static void show(const struct sp_replay_config *config, struct sp_replay_result *result)
{
    printf("%" PRIu64 " events replayed on %s\n", result->n_records,
           config->on_model ? "the CPU model's pools" : "starpool's pools");
    printf("  requests      %" PRIu64 ", %" PRIu64 " refused, %.1f ns each\n",
           result->n_requests, result->n_refused, result->request_ns);
    printf("  frees         %" PRIu64 ", %.1f ns each; %" PRIu64
           " of blocks that were not there; %" PRIu64 " blocks live at the end\n",
           result->n_frees, result->free_ns, result->n_unknown_frees, result->n_live);
    printf("  waits         %" PRIu64 ", synchronisations %" PRIu64 ", trims %" PRIu64 "\n",
           result->n_waits, result->n_synchronizes, result->n_trims);
    if (result->n_failed > 0)
        printf("  other calls that were refused: %" PRIu64 "\n", result->n_failed);
    for (size_t i = 0; i < result->n_pools; i++)
        show_pool(&result->pools[i], config->on_model);
}

static void write_pool(struct sp_json *json, const struct sp_replay_pool *pool, bool on_model)
{
    sp_json_object_begin(json, NULL);
    sp_json_number(json, "pool", pool->pool);
    sp_json_string(json, "name", pool->name);
    sp_json_number(json, "n_requests", pool->n_requests);
    sp_json_number(json, "n_refused", pool->n_refused);
    sp_json_number(json, "asked_high_bytes", pool->asked_high_bytes);
    sp_json_number(json, "used_high_bytes", pool->used_high_bytes);
    sp_json_number(json, "reserved_high_bytes", pool->reserved_high_bytes);
    if (!on_model) {
        sp_json_number(json, "free_bytes", pool->free_bytes);
        sp_json_number(json, "largest_hole_bytes", pool->largest_hole_bytes);
    }
    if (pool->has_takes) {
        sp_json_object_begin(json, "takes");
        for (unsigned i = 0; i < SP_REPLAY_N_TAKES; i++)
            sp_json_number(json, takes[i], pool->n_takes[i]);
        sp_json_end(json);
    }
    sp_json_end(json);
}

static void write_json(const struct sp_replay_config *config,
                       const struct sp_replay_result *result, bool is_whole)
{
    const struct {
        const char *key;
        uint64_t value;
    } rows[] = {
        {"n_events", result->n_records},
        {"n_requests", result->n_requests},
        {"n_refused", result->n_refused},
        {"n_frees", result->n_frees},
        {"n_unknown_frees", result->n_unknown_frees},
        {"n_waits", result->n_waits},
        {"n_synchronizes", result->n_synchronizes},
        {"n_trims", result->n_trims},
        {"n_failed", result->n_failed},
        {"n_live", result->n_live},
        {"request_ps", (uint64_t)(result->request_ns * 1000)},
        {"free_ps", (uint64_t)(result->free_ns * 1000)},
    };
    struct sp_json json;

    sp_json_begin(&json, stdout);
    sp_json_flag(&json, "is_whole", is_whole);
    sp_json_string(&json, "on", config->on_model ? "model" : "pool");
    for (size_t i = 0; i < SP_ARRAY_SIZE(rows); i++)
        sp_json_number(&json, rows[i].key, rows[i].value);
    sp_json_array_begin(&json, "pools");
    for (size_t i = 0; i < result->n_pools; i++)
        write_pool(&json, &result->pools[i], config->on_model);
    sp_json_end(&json);
    sp_json_finish(&json);
}

/* ---- the command ------------------------------------------------------------------------ */

static int replay(struct starpool_trace *reader, const char *path,
                  const struct sp_replay_config *config, bool is_json)
{
    struct sp_replay_result result;
    enum starpool_status status = sp_replay_run(reader, config, &result);
    enum sp_exit exit_status, written = SP_EXIT_DONE;
    bool is_refused = result.n_refused > 0;

    if (config->progress != NULL)
        fputs("\r                \r", stderr);
    if (*result.reason != '\0') {
        sp_tools_say("replay", "%s", result.reason);
        sp_replay_fini(&result);
        return SP_EXIT_UNAVAILABLE;
    }
    if (status == STARPOOL_OK || result.n_records > 0 || is_json) {
        if (is_json)
            write_json(config, &result, status == STARPOOL_OK);
        else
            show(config, &result);
        written = sp_tools_finish("replay");
    }
    exit_status = sp_trace_file_finish("replay", path, reader, status);
    sp_replay_fini(&result);
    if (exit_status != SP_EXIT_DONE || written != SP_EXIT_DONE)
        return (int)(exit_status != SP_EXIT_DONE ? exit_status : written);
    return is_refused ? SP_EXIT_NOT_SO : SP_EXIT_DONE;
}

int sp_replay_main(int argc, char **argv)
{
    struct sp_replay_config config = {
        .release_threshold = STARPOOL_UNLIMITED,
        .scale = 1,
        .follows_events = true,
        .is_opportunistic = true,
        .allows_internal_waits = true,
    };
    struct starpool_trace *reader;
    bool is_json = false;
    int exit_status = parse(argc, argv, &config, &is_json);
    const char *path;

    if (exit_status >= 0)
        return exit_status;
    path = sp_tools_argument("replay", "trace", argc, argv);
    if (path == NULL)
        return SP_EXIT_USAGE;
    exit_status = (int)sp_trace_file_open("replay", path, &reader);
    if (exit_status != SP_EXIT_DONE)
        return exit_status;
    if (isatty(STDERR_FILENO))
        config.progress = show_progress;
    exit_status = replay(reader, path, &config, is_json);
    starpool_trace_close(reader);
    return exit_status;
}
