/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `starpool verify`: whether what a trace says can have been right, or whether the pages of a
 * process are where they should be. */
#include "config.h"

#include "src/tools/verify.h"

#include <getopt.h>
#include <inttypes.h>
#include <string.h>

#include "src/tools/trace_file.h"
#include "src/trace/check.h"
#include "src/util/json.h"
#include "src/util/util.h"

enum { FLAG_HELP = 'h', FLAG_JSON = 'j' };

static int help(void)
{
    puts("Usage: starpool verify [--json] FILE | PID\n"
         "Check a trace: every free is of a live block, no two blocks overlap in addresses or "
         "in\n"
         "the order of streams, no pool has more in use than it has reserved. Or check a "
         "process:\n"
         "the pages of each mapping that is bound to NUMA nodes, or prefers one, are there.\n");
    sp_tools_help_row("FILE", "a trace; with a slash if its name is all digits");
    sp_tools_help_row("PID", "the number of a process that you may look into");
    sp_tools_help_row("--json", "one JSON object instead of text");
    sp_tools_help_row("--help", "this text");
    puts(
        "\nExit status: 0 all is well; 1 it is not; 2 for a mistake above, if FILE is no "
        "whole\n"
        "trace, or if the process cannot be read; 77 if events are missing from the trace, so\n"
        "that what looks wrong need not be.");
    return (int)sp_tools_finish("verify");
}

/* ---- traces ----------------------------------------------------------------------------- */

static void show(struct sp_trace_check *check)
{
    printf("%" PRIu64 " events, %" PRIu64 " allocations, %" PRIu64
           " frees; the order of %" PRIu64 " allocations checked\n",
           check->n_records, check->n_allocs, check->n_frees, check->n_ordered);
    if (check->n_unknown_frees > 0)
        printf("%" PRIu64 " frees are of blocks from before the trace\n",
               check->n_unknown_frees);
    if (check->has_too_many_streams)
        puts("more streams were there at a time than can be checked: not all of the order was");
    if (check->n_lost > 0)
        printf("%" PRIu64 " events are missing: they came faster than they could be written\n",
               check->n_lost);
    printf("problems: %" PRIu64 "\n", check->n_problems);
    for (unsigned i = 0; i < SP_CHECK_KEPT && i < check->n_problems; i++)
        printf("  %s\n", sp_trace_file_plain(check->problems[i]));
    if (check->n_problems > SP_CHECK_KEPT)
        puts("  ...");
}

static void write_json(const struct sp_trace_check *check, bool is_whole)
{
    struct sp_json json;

    sp_json_begin(&json, stdout);
    sp_json_flag(&json, "is_whole", is_whole);
    sp_json_number(&json, "n_events", check->n_records);
    sp_json_number(&json, "n_allocs", check->n_allocs);
    sp_json_number(&json, "n_frees", check->n_frees);
    sp_json_number(&json, "n_unknown_frees", check->n_unknown_frees);
    sp_json_number(&json, "n_ordered", check->n_ordered);
    sp_json_number(&json, "n_lost", check->n_lost);
    sp_json_flag(&json, "has_too_many_streams", check->has_too_many_streams);
    sp_json_number(&json, "n_problems", check->n_problems);
    sp_json_array_begin(&json, "problems");
    for (unsigned i = 0; i < SP_CHECK_KEPT && i < check->n_problems; i++)
        sp_json_string(&json, NULL, check->problems[i]);
    sp_json_end(&json);
    sp_json_finish(&json);
}

static int verify_trace(const char *path, bool is_json)
{
    struct starpool_trace *reader;
    struct sp_trace_check check;
    enum starpool_status status;
    enum sp_exit written = SP_EXIT_DONE, exit_status;

    exit_status = sp_trace_file_open("verify", path, &reader);
    if (exit_status != SP_EXIT_DONE)
        return (int)exit_status;
    status = sp_trace_check(reader, &check);
    if (status == STARPOOL_OK || check.n_records > 0 || is_json) {
        if (is_json)
            write_json(&check, status == STARPOOL_OK);
        else
            show(&check);
        written = sp_tools_finish("verify");
    }
    exit_status = sp_trace_file_finish("verify", path, reader, status);
    starpool_trace_close(reader);
    if (check.n_problems > 0 && check.n_lost > 0) {
        sp_tools_say("verify", "%s lacks events: nothing can be said", path);
        return SP_EXIT_UNAVAILABLE;
    }
    if (check.n_problems > 0)
        return SP_EXIT_NOT_SO;
    return (int)(exit_status != SP_EXIT_DONE ? exit_status : written);
}

/* ---- the command ------------------------------------------------------------------------ */

/* Read the command line. Returns -1 if something is to be verified, else the exit status. */
static int parse(int argc, char **argv, bool *is_json)
{
    char title[] = "starpool verify";
    static const struct option options[] = {
        {"help", no_argument, NULL, FLAG_HELP},
        {"json", no_argument, NULL, FLAG_JSON},
        {NULL, 0, NULL, 0},
    };
    int code;

    argv[0] = title; /* getopt_long() begins its messages with it. */
    while ((code = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        if (code == FLAG_HELP)
            return help();
        if (code != FLAG_JSON)
            return SP_EXIT_USAGE;
        *is_json = true;
    }
    return -1;
}

int sp_verify_main(int argc, char **argv)
{
    bool is_json = false;
    int exit_status = parse(argc, argv, &is_json);
    const char *what;

    if (exit_status >= 0)
        return exit_status;
    what = sp_tools_argument("verify", "trace and no process", argc, argv);
    if (what == NULL)
        return SP_EXIT_USAGE;
    if (*what != '\0' && what[strspn(what, "0123456789")] == '\0')
        return (int)sp_verify_pages(what, is_json);
    return verify_trace(what, is_json);
}
