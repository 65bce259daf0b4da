/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The `starpool` command: picks the part that was asked for. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "src/pool/private.h"
#include "src/tools/info.h"
#include "src/tools/plan.h"
#include "src/tools/replay.h"
#include "src/tools/report.h"
#include "src/tools/run.h"
#include "src/tools/simulate.h"
#include "src/tools/tools.h"
#include "src/tools/verify.h"
#include "src/util/util.h"

struct command {
    const char *name;
    int (*main)(int argc, char **argv); /* argv[0] is the command's name */
    const char *text;
};

static const struct command commands[] = {
    {"info", sp_info_main,
     "show the NUMA nodes, how StarPU's memory nodes are served, and the options"},
    {"plan", sp_plan_main, "find an address for every block of a graph, and draw it"},
    {"replay", sp_replay_main, "make the requests of a trace again, on other pools"},
    {"report", sp_report_main, "show what a trace says of each pool"},
    {"run", sp_run_main, "run a StarPU program, unchanged, on starpool's pools"},
    {"simulate", sp_simulate_main, "run a program, unchanged, on simulated CUDA devices"},
    {"verify", sp_verify_main, "check a trace, or where the pages of a process are"},
};

static void help(void)
{
    puts("Usage: starpool COMMAND [ARGUMENT...]\n"
         "Stream-ordered memory pools for task runtimes.\n");
    for (size_t i = 0; i < SP_ARRAY_SIZE(commands); i++)
        sp_tools_help_row(commands[i].name, commands[i].text);
    putchar('\n');
    sp_tools_help_row("--help", "this text; after a command, the help of that command");
    sp_tools_help_row("--version", "the version");
    puts("\nMore in starpool(1) and starpool(7).");
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : NULL;

    if (name == NULL) {
        fputs("starpool: no command given; try: starpool --help\n", stderr);
        return SP_EXIT_USAGE;
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        help();
        return (int)sp_tools_finish("--help");
    }
    if (strcmp(name, "--version") == 0) {
        puts("starpool " PACKAGE_VERSION);
        return (int)sp_tools_finish("--version");
    }
    /* What the command shares with the library is no stable interface. */
    if (strcmp(sp_build_version(), PACKAGE_VERSION) != 0) {
        fprintf(stderr, "starpool: the command is of version %s and libstarpool of %s\n",
                PACKAGE_VERSION, sp_build_version());
        return SP_EXIT_UNAVAILABLE;
    }
    for (size_t i = 0; i < SP_ARRAY_SIZE(commands); i++) {
        if (strcmp(name, commands[i].name) == 0)
            return commands[i].main(argc - 1, argv + 1);
    }
    fprintf(stderr, "starpool: there is no command '%s'; try: starpool --help\n", name);
    return SP_EXIT_USAGE;
}
