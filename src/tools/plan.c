/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `starpool plan`: finds an address for every block of a graph in a file, and says how good
 * that is. */
#include "config.h"

#include "src/tools/plan.h"

#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <starpool/graph.h>
#include <starpool/plan.h>
#include <starpool/pool.h>

#include "src/tools/plan_show.h"
#include "src/tools/tools.h"
#include "src/util/options.h"
#include "src/util/util.h"

enum {
    FLAG_ADD_EDGES = 'e',
    FLAG_ALIGNMENT = 'a',
    FLAG_CAPACITY = 'c',
    FLAG_CHECK = 'k',
    FLAG_FAST = 'f',
    FLAG_HELP = 'h',
    FLAG_JSON = 'j',
    FLAG_OUT = 'o',
    FLAG_SEED = 's',
    FLAG_TIME = 't',
};

/* [ms] An hour. */
#define TIME_MOST 3600000

/* [s] Planning that takes longer says so. */
#define PATIENCE 3

struct request {
    struct starpool_plan_config config;
    bool has_capacity; /* it was given */
    bool is_json, is_checked;
    const char **outs; /* [n_outs] files to write */
    size_t n_outs;
};

static int help(void)
{
    puts("Usage: starpool plan [OPTION...] FILE\n"
         "Find an address for every block of the graph in FILE, and show how much memory each\n"
         "location needs and how much no plan can do without.\n");
    sp_tools_help_row("--capacity=SIZE|none",
                      "what each location has, instead of what FILE says");
    sp_tools_help_row("--time=MS", "search at most so many milliseconds for something better "
                                   "(default: 50)");
    sp_tools_help_row("--fast", "do not search");
    sp_tools_help_row("--alignment=SIZE",
                      "a power of two that sizes are rounded up to, instead "
                      "of each block's own");
    sp_tools_help_row("--seed=N", "another number searches in another order (default: 0)");
    sp_tools_help_row("--add-edges",
                      "put nodes in order that FILE leaves unordered, where that "
                      "saves memory");
    sp_tools_help_row("--check", "check the plan again, by other means");
    sp_tools_help_row("--out=FILE", "write the graph and its plan; the ending says how: .json, "
                                    ".csv, .dot or .svg; may be given several times");
    sp_tools_help_row("--json", "one JSON object instead of text");
    sp_tools_help_row("--help", "this text");
    puts(
        "\nFILE is JSON as --out writes it, or CSV with the columns id, lower, upper and "
        "size.\n"
        "If it says no capacity, a name such as x.1048576.csv does. Sizes take K, M, G and T,\n"
        "powers of 1024. Exit status: 0 it fits; 1 if it does not, if the check fails or\n"
        "something could not be written; 2 for a mistake above, or if FILE is no such graph.");
    return (int)sp_tools_finish("plan");
}

/* ---- the command line ------------------------------------------------------------------- */

static bool parse_number(const char *text, uint64_t most, uint64_t *number_out)
{
    uint64_t number = 0;

    if (*text == '\0')
        return false;
    for (; *text != '\0'; text++) {
        unsigned digit = (unsigned)(*text - '0');

        if (digit > 9 || number > (most - digit) / 10)
            return false;
        number = 10 * number + digit;
    }
    *number_out = number;
    return true;
}

static bool parse_capacity(const char *text, struct request *request)
{
    request->has_capacity = true;
    if (strcmp(text, "none") == 0) {
        request->config.capacity = STARPOOL_UNLIMITED;
        return true;
    }
    return sp_parse_size(text, &request->config.capacity) && request->config.capacity > 0;
}

static bool has_ending(const char *name, const char *ending)
{
    size_t length = strlen(name), n = strlen(ending);

    return length > n && strcmp(name + length - n, ending) == 0;
}

static bool add_out(const char *name, struct request *request)
{
    if (!has_ending(name, ".json") && !has_ending(name, ".csv") && !has_ending(name, ".dot") &&
        !has_ending(name, ".svg"))
        return false;
    request->outs[request->n_outs++] = name;
    return true;
}

static bool parse_value(int code, const char *value, struct request *request)
{
    uint64_t ms;

    switch (code) {
    case FLAG_ALIGNMENT:
        return sp_parse_size(value, &request->config.alignment) &&
               sp_is_power_of_two(request->config.alignment);
    case FLAG_CAPACITY:
        return parse_capacity(value, request);
    case FLAG_OUT:
        return add_out(value, request);
    case FLAG_SEED:
        return parse_number(value, UINT64_MAX, &request->config.seed);
    default:
        if (!parse_number(value, TIME_MOST, &ms))
            return false;
        request->config.time_ns = ms * 1000000;
        return true;
    }
}

static void set_flag(int code, struct request *request)
{
    if (code == FLAG_JSON)
        request->is_json = true;
    else if (code == FLAG_CHECK)
        request->is_checked = true;
    else if (code == FLAG_FAST)
        request->config.time_ns = 0;
    else
        request->config.adds_edges = true;
}

/* Read the command line. Returns -1 if there is something to plan, else the exit status. */
static int parse(int argc, char **argv, struct request *request)
{
    char title[] = "starpool plan";
    static const struct option options[] = {
        {"add-edges", no_argument, NULL, FLAG_ADD_EDGES},
        {"alignment", required_argument, NULL, FLAG_ALIGNMENT},
        {"capacity", required_argument, NULL, FLAG_CAPACITY},
        {"check", no_argument, NULL, FLAG_CHECK},
        {"fast", no_argument, NULL, FLAG_FAST},
        {"help", no_argument, NULL, FLAG_HELP},
        {"json", no_argument, NULL, FLAG_JSON},
        {"out", required_argument, NULL, FLAG_OUT},
        {"seed", required_argument, NULL, FLAG_SEED},
        {"time", required_argument, NULL, FLAG_TIME},
        {NULL, 0, NULL, 0},
    };
    int code, index;

    argv[0] = title; /* getopt_long() begins its messages with it. */
    while ((code = getopt_long(argc, argv, "h", options, &index)) != -1) {
        if (code == FLAG_HELP)
            return help();
        if (code == '?')
            return SP_EXIT_USAGE;
        if (options[index].has_arg == no_argument) {
            set_flag(code, request);
        } else if (!parse_value(code, optarg, request)) {
            sp_tools_say("plan", "--%s=%s is not understood; try: starpool plan --help",
                         options[index].name, optarg);
            return SP_EXIT_USAGE;
        }
    }
    return -1;
}

/* ---- the graph -------------------------------------------------------------------------- */

/* The number between the last two points of "x.1048576.csv"; 0 if there is none. */
static uint64_t capacity_of_name(const char *path)
{
    const char *name = strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path;
    const char *end = strrchr(name, '.'), *begin = end;
    char digits[24];
    uint64_t capacity;

    if (end == NULL || strcmp(end, ".csv") != 0)
        return 0;
    while (begin > name && begin[-1] != '.')
        begin--;
    if (begin == name || (size_t)(end - begin) >= sizeof(digits))
        return 0;
    snprintf(digits, sizeof(digits), "%.*s", (int)(end - begin), begin);
    return parse_number(digits, INT64_MAX, &capacity) ? capacity : 0;
}

static enum sp_exit read_graph(const char *path, struct request *request,
                               struct starpool_graph **graph_out)
{
    struct starpool_graph_info info = {.struct_size = sizeof(info)};
    char reason[256] = "";

    if (starpool_graph_read(path, STARPOOL_GRAPH_AUTO, graph_out, reason, sizeof(reason)) !=
        STARPOOL_OK) {
        sp_tools_say("plan", "%s: %s", path, reason);
        return SP_EXIT_USAGE;
    }
    if (starpool_graph_get_info(*graph_out, &info) != STARPOOL_OK)
        return SP_EXIT_USAGE;
    if (!request->has_capacity && info.capacity == 0)
        request->config.capacity = capacity_of_name(path);
    for (size_t i = 0; i < request->n_outs && info.is_timed; i++) {
        if (has_ending(request->outs[i], ".dot")) {
            sp_tools_say("plan", "%s: %s has times and no nodes to draw", request->outs[i],
                         path);
            starpool_graph_destroy(*graph_out);
            return SP_EXIT_USAGE;
        }
    }
    return SP_EXIT_DONE;
}

/* ---- planning --------------------------------------------------------------------------- */

/* What tells on a terminal that planning goes on. */
struct progress {
    pthread_mutex_t lock;
    pthread_cond_t has_ended;
    bool is_over; /* with the lock */
};

static void *show_progress(void *arg)
{
    struct progress *progress = arg;
    struct timespec until;
    bool is_shown = false;

    pthread_mutex_lock(&progress->lock);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE;
    for (unsigned n = PATIENCE; !progress->is_over; n++, until.tv_sec++) {
        while (!progress->is_over &&
               pthread_cond_timedwait(&progress->has_ended, &progress->lock, &until) == 0)
            ;
        if (!progress->is_over) {
            fprintf(stderr, "\rplanning: %u s", n);
            is_shown = true;
        }
    }
    pthread_mutex_unlock(&progress->lock);
    if (is_shown)
        fputs("\r                    \r", stderr);
    return NULL;
}

/* starpool_plan(), with progress on a terminal. */
static enum starpool_status make_plan(const struct starpool_graph *graph,
                                      const struct starpool_plan_config *config,
                                      struct starpool_plan **plan_out)
{
    struct progress progress = {.lock = PTHREAD_MUTEX_INITIALIZER,
                                .has_ended = PTHREAD_COND_INITIALIZER};
    enum starpool_status status;
    pthread_t thread;

    if (!isatty(STDERR_FILENO) || pthread_create(&thread, NULL, show_progress, &progress) != 0)
        return starpool_plan(graph, config, plan_out);
    status = starpool_plan(graph, config, plan_out);
    pthread_mutex_lock(&progress.lock);
    progress.is_over = true;
    pthread_cond_signal(&progress.has_ended);
    pthread_mutex_unlock(&progress.lock);
    pthread_join(thread, NULL);
    return status;
}

/* ---- the command ------------------------------------------------------------------------ */

static bool write_outs(const struct request *request, const struct starpool_graph *graph,
                       const struct starpool_plan *plan)
{
    bool is_written = true;

    for (size_t i = 0; i < request->n_outs; i++) {
        enum starpool_status status =
            starpool_graph_write(graph, plan, request->outs[i], STARPOOL_GRAPH_AUTO);

        /* The library has told what is wrong with a file. */
        if (status != STARPOOL_OK && status != STARPOOL_EIO)
            sp_tools_say("plan", "%s: %s", request->outs[i], starpool_status_text(status));
        is_written &= status == STARPOOL_OK;
    }
    return is_written;
}

static enum sp_exit finish(const struct request *request, const struct starpool_graph *graph,
                           const struct starpool_plan *plan)
{
    struct sp_plan_view view;
    char reason[256];
    bool is_good;

    if (!sp_plan_view_init(&view, graph, plan)) {
        sp_tools_say("plan", "no memory");
        sp_plan_view_fini(&view);
        return SP_EXIT_NOT_SO;
    }
    view.is_checked = request->is_checked;
    view.is_valid = request->is_checked &&
                    starpool_plan_check(graph, plan, reason, sizeof(reason)) == STARPOOL_OK;
    if (view.is_checked && !view.is_valid)
        sp_tools_say("plan", "the plan is wrong: %s", reason);
    is_good = sp_plan_fits(&view) && (!view.is_checked || view.is_valid);
    if (request->is_json)
        sp_plan_write_json(&view);
    else
        sp_plan_show(&view);
    sp_plan_view_fini(&view);
    is_good &= write_outs(request, graph, plan);
    if (sp_tools_finish("plan") != SP_EXIT_DONE)
        return SP_EXIT_NOT_SO;
    return is_good ? SP_EXIT_DONE : SP_EXIT_NOT_SO;
}

static enum sp_exit plan_file(const char *path, struct request *request)
{
    struct starpool_graph *graph;
    struct starpool_plan *plan;
    enum sp_exit exit_status = read_graph(path, request, &graph);
    enum starpool_status status;

    if (exit_status != SP_EXIT_DONE)
        return exit_status;
    status = make_plan(graph, &request->config, &plan);
    if (status == STARPOOL_OK) {
        exit_status = finish(request, graph, plan);
        starpool_plan_destroy(plan);
    } else {
        /* The file and the options are valid, each for itself. */
        sp_tools_say("plan", "%s: %s", path,
                     status == STARPOOL_EINVAL
                         ? "with their alignments, the blocks come to more than 2^62 bytes"
                         : starpool_status_text(status));
        exit_status = status == STARPOOL_EINVAL ? SP_EXIT_USAGE : SP_EXIT_NOT_SO;
    }
    starpool_graph_destroy(graph);
    return exit_status;
}

int sp_plan_main(int argc, char **argv)
{
    struct request request = {.outs = calloc((size_t)argc, sizeof(*request.outs))};
    const char *path;
    int exit_status;

    if (request.outs == NULL) {
        sp_tools_say("plan", "no memory");
        return SP_EXIT_NOT_SO;
    }
    starpool_plan_config_init(&request.config);
    exit_status = parse(argc, argv, &request);
    if (exit_status < 0) {
        path = sp_tools_argument("plan", "file", argc, argv);
        exit_status = path == NULL ? SP_EXIT_USAGE : (int)plan_file(path, &request);
    }
    free(request.outs);
    return exit_status;
}
