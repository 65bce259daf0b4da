/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `starpool run`: puts the plugin in front of LD_PRELOAD and becomes the program, which so
 * keeps its environment, its exit status and its signals. Options become STARPOOL_* variables,
 * which the library checks here as it will in the program. */
#include "config.h"

#include "src/tools/run.h"

#include <ctype.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "numa/topo.h"
#include "src/tools/program.h"
#include "src/tools/start.h"
#include "src/tools/tools.h"
#include "src/util/options.h"
#include "src/util/util.h"

#define MAX_NAME    40
#define OPTION_HELP 'h'

/* What getopt_long() returns for a row. Each is another, or an abbreviation that fits two rows
 * would set the first of them. */
#define OPTION_ROW 256

/* A row of options.def, before any value is read. */
struct row {
    const char *name;
    enum sp_option_type type;
    const char *default_text;
    const char *values;
    const char *text;
};

static const struct row rows[SP_N_OPTIONS] = {
#define X(name, type, default_text, values, text) \
    {#name, SP_TYPE_##type, default_text, values, text},
#include "src/util/options.def"
#undef X
};

/* What an option means that is given without a value, or NULL if it needs one. */
static const char *implied_value(size_t row)
{
    return rows[row].type == SP_TYPE_FLAG || row == SP_OPTION_REPORT ? "1" : NULL;
}

/* "HOST_LIMIT" makes "host-limit". */
static void option_name(const char *name, char *text)
{
    size_t i;

    for (i = 0; i + 1 < MAX_NAME && name[i] != '\0'; i++)
        text[i] = name[i] == '_' ? '-' : (char)tolower((unsigned char)name[i]);
    text[i] = '\0';
}

/* What may stand behind "=": "SIZE|none", "strict|spill". */
static void value_text(const struct row *row, char *text, size_t text_size)
{
    static const char *const words[] = {
        [SP_TYPE_SIZE] = "SIZE",
        [SP_TYPE_FLAG] = "0|1",
        [SP_TYPE_CHOICE] = "",
        [SP_TYPE_TEXT] = "TEXT",
    };
    const char *word = words[row->type];

    snprintf(text, text_size, "%s%s%s", word, *word != '\0' && *row->values != '\0' ? "|" : "",
             row->values);
    for (; *text != '\0'; text++) {
        if (*text == ' ')
            *text = '|';
    }
}

static void help_option(size_t index)
{
    const struct row *row = &rows[index];
    bool is_optional = implied_value(index) != NULL;
    bool has_default = *row->default_text != '\0';
    char name[MAX_NAME];
    char value[MAX_NAME];
    char left[3 * MAX_NAME];
    char text[512];

    option_name(row->name, name);
    value_text(row, value, sizeof(value));
    snprintf(left, sizeof(left), "--%s%s=%s%s", name, is_optional ? "[" : "", value,
             is_optional ? "]" : "");
    snprintf(text, sizeof(text), "%s%s%s%s", row->text, has_default ? " (default: " : "",
             row->default_text, has_default ? ")" : "");
    sp_tools_help_row(left, text);
}

static int help(void)
{
    puts("Usage: starpool run [OPTION...] [--] PROGRAM [ARGUMENT...]\n"
         "Run PROGRAM, unchanged, with StarPU's host memory on starpool's pools. Environment,\n"
         "exit status and signals are the program's own.\n\n"
         "Each option sets the variable STARPOOL_NAME for the program:");
    for (size_t i = 0; i < SP_ARRAY_SIZE(rows); i++)
        help_option(i);
    putchar('\n');
    sp_tools_help_row("--help", "this text");
    puts("\nSizes take K, M, G and T, powers of 1024. Exit status: the program's; 2 for a\n"
         "mistake above, 77 if there is no plugin here, 126 and 127 as a shell.");
    return (int)sp_tools_finish("run");
}

/* Set the variable; false if the value is missing. An empty variable stands for the default,
 * so it would be taken for one that was never given. */
static bool set_option(size_t row, const char *value)
{
    char name[MAX_NAME];

    if (value != NULL && *value == '\0' && rows[row].type != SP_TYPE_TEXT) {
        option_name(rows[row].name, name);
        sp_tools_say("run", "nothing stands behind --%s=; try: starpool run --help", name);
        return false;
    }
    snprintf(name, sizeof(name), "STARPOOL_%s", rows[row].name);
    setenv(name, value != NULL ? value : implied_value(row), 1);
    return true;
}

static bool is_row(int code)
{
    return code >= OPTION_ROW && code < OPTION_ROW + SP_N_OPTIONS;
}

/* Read our own options. Returns the index of PROGRAM; or -1, and then `*exit_out` is set.
 * `*bare_out` is the row of the option that stands before PROGRAM without the value that it may
 * have, or -1. */
static int parse(int argc, char **argv, int *bare_out, int *exit_out)
{
    char title[] = "starpool run";
    char names[SP_N_OPTIONS][MAX_NAME];
    struct option options[SP_N_OPTIONS + 2] = {{NULL, 0, NULL, 0}};
    int code;

    *bare_out = -1;
    for (size_t i = 0; i < SP_N_OPTIONS; i++) {
        option_name(rows[i].name, names[i]);
        options[i].name = names[i];
        options[i].has_arg = implied_value(i) != NULL ? optional_argument : required_argument;
        options[i].val = OPTION_ROW + (int)i;
    }
    options[SP_N_OPTIONS] = (struct option){"help", no_argument, NULL, OPTION_HELP};
    argv[0] = title; /* getopt_long() begins its messages with it. */
    while ((code = getopt_long(argc, argv, "+h", options, NULL)) != -1) {
        if (code == OPTION_HELP) {
            *exit_out = help();
            return -1;
        }
        if (!is_row(code) || !set_option((size_t)(code - OPTION_ROW), optarg)) {
            *exit_out = SP_EXIT_USAGE;
            return -1;
        }
        *bare_out = optarg == NULL ? code - OPTION_ROW : -1;
    }
    if (strcmp(argv[optind - 1], "--") == 0)
        *bare_out = -1;
    if (optind < argc)
        return optind;
    sp_tools_say("run", "no program given; try: starpool run --help");
    *exit_out = SP_EXIT_USAGE;
    return -1;
}

/* Nodes are the one value whose meaning depends on the machine. */
static bool has_nodes(void)
{
    const struct sp_option *nodes = sp_option(SP_OPTION_NODES);
    struct sp_topo *topo;
    enum starpool_status status;

    if (*nodes->value == '\0' || sp_topo_open(NULL, &topo) != STARPOOL_OK)
        return true;
    status = sp_topo_serve(topo, nodes->value);
    sp_topo_close(topo);
    if (status == STARPOOL_OK)
        return true;
    sp_tools_say("run", "%s=%s does not name NUMA nodes of this machine; see: starpool info",
                 nodes->name, nodes->value);
    return false;
}

/* A value that stands apart from its option was taken for the program: say how to write it. */
static void hint(const char *value, int bare_row)
{
    char name[MAX_NAME];

    if (bare_row < 0)
        return;
    option_name(rows[bare_row].name, name);
    sp_tools_say("run", "if %s is the value of --%s, write --%s=%s", value, name, name, value);
}

int sp_run_main(int argc, char **argv)
{
    struct sp_program program;
    struct sp_program_loads loads;
    int exit_status = SP_EXIT_DONE;
    int bare_row;
    int first = parse(argc, argv, &bare_row, &exit_status);

    if (first < 0)
        return exit_status;
    argv += first;
    if (sp_options_n_rejected() > 0) {
        sp_tools_say("run", "%s was not started: see the value above", argv[0]);
        return SP_EXIT_USAGE;
    }
    if (!has_nodes())
        return SP_EXIT_USAGE;
    exit_status = (int)sp_program_find("run", argv[0], &program);
    if (exit_status != SP_EXIT_DONE) {
        hint(argv[0], bare_row);
        return exit_status;
    }
    sp_start_warn("run", argv[0], &program);
    if (program.kind != SP_ELF_FOREIGN) {
        sp_program_ask(&program, &loads);
        exit_status = (int)sp_start_preload("run", argv[0], &loads);
    }
    return exit_status != SP_EXIT_DONE ? exit_status : (int)sp_start("run", &program, argv);
}
