/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `starpool simulate`: puts the simulated CUDA libraries in front of LD_LIBRARY_PATH, gives
 * StarPU a home of its own, and becomes the program as `starpool run` does. */
#include "config.h"

#include "src/tools/simulate.h"

#include <getopt.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/tools/preload.h"
#include "src/tools/program.h"
#include "src/tools/simulate_home.h"
#include "src/tools/start.h"
#include "src/tools/tools.h"
#include "src/util/diag.h"
#include "src/util/options.h"
#include "src/util/util.h"

#define MAX_DEVICES 16
#define NEWEST      13 /* of the CUDAs that are simulated */
#define OLDEST      11
#define PATHS_SIZE  (4 * PATH_MAX)

/* ---- options ------------------------------------------------------------------------------
 */

/* What getopt_long() returns for a row is its index and this. */
#define OPTION_ROW 256

enum row_id {
    ROW_DEVICES,
    ROW_MEMORY,
    ROW_PEERS,
    ROW_CUDA,
    ROW_COST,
    ROW_KERNELS,
    ROW_MISSING,
    ROW_NO_PROTECT,
    ROW_RACES,
    ROW_STARPU_PREFIX,
    ROW_PLUGIN,
    ROW_NO_PLUGIN,
    ROW_HELP,
    N_ROWS
};

/* An option of ours. Most of them set a variable, whose value the library checks. */
struct row {
    const char *name;
    int has_argument;
    const char *shown;    /* with what is behind it, for the help */
    const char *variable; /* or NULL */
    const char *implied;  /* the variable's value where none is given */
    const char *text;
};

static const struct row rows[N_ROWS] = {
    [ROW_DEVICES] = {"devices", required_argument, "--devices=N", "STARPOOL_MODEL_DEVICES",
                     NULL, "how many devices there are, at most 16 (default: 1)"},
    [ROW_MEMORY] = {"memory", required_argument, "--memory=SIZE", "STARPOOL_MODEL_MEMORY", NULL,
                    "memory of each device (default: 1G)"},
    [ROW_PEERS] = {"peers", required_argument, "--peers=all|none|LIST", "STARPOOL_MODEL_PEERS",
                   NULL,
                   "devices, such as 0,2-3, that reach each other's memory (default: all)"},
    [ROW_CUDA] = {"cuda", required_argument, "--cuda=11|12|13", NULL, NULL,
                  "the CUDA whose libraries are simulated (default: what PROGRAM loads, else "
                  "13)"},
    [ROW_COST] = {"cost", required_argument, "--cost=none|starpu", "STARPOOL_MODEL_COST", NULL,
                  "what drives the devices' clock: nothing, or StarPU's figures of copies and "
                  "allocations (default: starpu)"},
    [ROW_KERNELS] = {"kernels", required_argument, "--kernels=FILE[:FILE...]",
                     "STARPOOL_MODEL_KERNELS", NULL,
                     "shared objects with stand-ins for the kernels that PROGRAM launches"},
    [ROW_MISSING] = {"missing", optional_argument, "--missing[=FILE]", "STARPOOL_SIM_MISSING",
                     "1",
                     "list the calls that are not simulated when PROGRAM ends, on stderr "
                     "or in FILE"},
    [ROW_NO_PROTECT] = {"no-protect", no_argument, "--no-protect", "STARPOOL_MODEL_PROTECT",
                        "0",
                        "do not stop a program that reads or writes device memory from "
                        "the host"},
    [ROW_RACES] = {"races", no_argument, "--races", "STARPOOL_MODEL_RACES", "1",
                   "report accesses to the same memory that no stream or event orders"},
    [ROW_STARPU_PREFIX] = {"starpu-prefix", required_argument, "--starpu-prefix=DIR", NULL,
                           NULL, "load the CUDA-enabled StarPU below DIR"},
    [ROW_PLUGIN] = {"plugin", no_argument, "--plugin", NULL, NULL,
                    "refuse to start without the plugin of starpool run, which otherwise is "
                    "used where it can be"},
    [ROW_NO_PLUGIN] = {"no-plugin", no_argument, "--no-plugin", NULL, NULL, "do not use it"},
    [ROW_HELP] = {"help", no_argument, "--help", NULL, NULL, "this text"},
};

/* What is wanted, apart from what variables say. */
struct wish {
    unsigned cuda;      /* 0: what the program needs */
    const char *prefix; /* or NULL */
    enum { PLUGIN_WHERE_POSSIBLE, PLUGIN_ALWAYS, PLUGIN_NEVER } plugin;
};

static int help(void)
{
    puts("Usage: starpool simulate [OPTION...] [--] PROGRAM [ARGUMENT...]\n"
         "Run PROGRAM, unchanged, on CUDA devices that are simulated by the CPU. Exit status "
         "and\n"
         "signals are the program's own; StarPU's files of this machine are left alone.\n");
    for (size_t i = 0; i < N_ROWS; i++)
        sp_tools_help_row(rows[i].shown, rows[i].text);
    puts("\nSizes take K, M, G and T, powers of 1024. Exit status: the program's; 2 for a\n"
         "mistake above, 77 if nothing can be simulated here, 126 and 127 as a shell.");
    return (int)sp_tools_finish("simulate");
}

static bool take_cuda(const char *value, struct wish *wish)
{
    static const char *const versions[] = {"11", "12", "13"};

    for (unsigned i = 0; i < SP_ARRAY_SIZE(versions); i++) {
        if (strcmp(value, versions[i]) == 0)
            wish->cuda = OLDEST + i;
    }
    if (wish->cuda == 0)
        sp_tools_say("simulate", "--cuda=%s: CUDA 11, 12 and 13 are simulated", value);
    return wish->cuda != 0;
}

/* Take one option; false after a message. `value` is "" where none is given. */
static bool take(enum row_id id, const char *value, struct wish *wish)
{
    const struct row *row = &rows[id];

    if (row->variable != NULL)
        setenv(row->variable, *value != '\0' ? value : row->implied, 1);
    else if (id == ROW_CUDA)
        return take_cuda(value, wish);
    else if (id == ROW_STARPU_PREFIX)
        wish->prefix = value;
    else
        wish->plugin = id == ROW_PLUGIN ? PLUGIN_ALWAYS : PLUGIN_NEVER;
    return true;
}

/* Read our own options. Returns the index of PROGRAM; or -1, and then `*exit_out` is set. */
static int parse(int argc, char **argv, struct wish *wish, int *exit_out)
{
    char title[] = "starpool simulate";
    struct option options[N_ROWS + 1] = {{NULL, 0, NULL, 0}};
    int code;

    *wish = (struct wish){0, NULL, PLUGIN_WHERE_POSSIBLE};
    for (size_t i = 0; i < N_ROWS; i++)
        options[i] =
            (struct option){rows[i].name, rows[i].has_argument, NULL, OPTION_ROW + (int)i};
    argv[0] = title; /* getopt_long() begins its messages with it. */
    while ((code = getopt_long(argc, argv, "+h", options, NULL)) != -1) {
        if (code == 'h' || code == OPTION_ROW + ROW_HELP) {
            *exit_out = help();
            return -1;
        }
        *exit_out = SP_EXIT_USAGE;
        if (code < OPTION_ROW)
            return -1;
        if (optarg != NULL && *optarg == '\0') {
            sp_tools_say("simulate",
                         "nothing stands behind --%s=; try: starpool simulate --help",
                         rows[code - OPTION_ROW].name);
            return -1;
        }
        if (!take((enum row_id)(code - OPTION_ROW), optarg != NULL ? optarg : "", wish))
            return -1;
    }
    *exit_out = SP_EXIT_USAGE;
    if (optind < argc)
        return optind;
    sp_tools_say("simulate", "no program given; try: starpool simulate --help");
    return -1;
}

/* ---- values whose meaning the library cannot check ----------------------------------------
 */

/* True for "0,2-3" and the like. */
static bool is_list(const char *text)
{
    static const char digits[] = "0123456789";

    for (;;) {
        size_t n = strspn(text, digits);

        if (n > 0 && text[n] == '-') {
            size_t n_last = strspn(text + n + 1, digits);

            n = n_last > 0 ? n + 1 + n_last : 0;
        }
        if (n == 0)
            return false;
        text += n;
        if (*text != ',')
            return *text == '\0';
        text++;
    }
}

static bool check_devices(void)
{
    const struct sp_option *devices = sp_option(SP_OPTION_MODEL_DEVICES);
    const struct sp_option *memory = sp_option(SP_OPTION_MODEL_MEMORY);
    const struct sp_option *peers = sp_option(SP_OPTION_MODEL_PEERS);

    if (devices->value[strspn(devices->value, "0123456789")] != '\0' ||
        devices->number > MAX_DEVICES) {
        sp_tools_say("simulate", "%s=%s: there are 0 to %d devices", devices->name,
                     devices->value, MAX_DEVICES);
        return false;
    }
    if (memory->number == 0) {
        sp_tools_say("simulate", "%s=%s: a device needs memory", memory->name, memory->value);
        return false;
    }
    if (strcmp(peers->value, "all") != 0 && strcmp(peers->value, "none") != 0 &&
        !is_list(peers->value)) {
        sp_tools_say("simulate", "%s=%s: give all, none, or devices such as 0,2-3", peers->name,
                     peers->value);
        return false;
    }
    return true;
}

/* Give every file with stand-ins its whole path, for the program may change its folder. */
static bool check_kernels(void)
{
    const char *variable = rows[ROW_KERNELS].variable;
    const char *files = getenv(variable);
    char paths[PATHS_SIZE] = "";
    size_t length = 0;

    while (files != NULL && *files != '\0') {
        int n = (int)strcspn(files, ":");
        char name[PATH_MAX];
        char path[PATH_MAX];

        snprintf(name, sizeof(name), "%.*s", n, files);
        if (realpath(name, path) == NULL || access(path, R_OK) != 0) {
            sp_tools_say("simulate", "%s: '%s' cannot be read", variable, name);
            return false;
        }
        length += (size_t)snprintf(paths + length, sizeof(paths) - length, "%s%s",
                                   length > 0 ? ":" : "", path);
        if (length >= sizeof(paths)) {
            sp_tools_say("simulate", "%s is too long", variable);
            return false;
        }
        files += n + (files[n] == ':');
    }
    if (length > 0)
        setenv(variable, paths, 1);
    return true;
}

/* The folder of libstarpu below a prefix; false after a message. */
static bool find_starpu(const char *prefix, char *folder)
{
    static const char *const places[] = {"/lib", "/lib/*", "/lib64", "/usr/lib", "/usr/lib/*"};
    char pattern[PATH_MAX];
    char *end;
    glob_t found;

    for (size_t i = 0; i < SP_ARRAY_SIZE(places); i++) {
        snprintf(pattern, sizeof(pattern), "%s%s/libstarpu-1.*.so.*", prefix, places[i]);
        if (glob(pattern, 0, NULL, &found) == 0) {
            bool is_found = realpath(found.gl_pathv[0], folder) != NULL;

            globfree(&found);
            end = is_found ? strrchr(folder, '/') : NULL;
            if (end != NULL) {
                *end = '\0';
                return true;
            }
        }
    }
    sp_tools_say("simulate", "--starpu-prefix=%s: there is no libstarpu below it", prefix);
    return false;
}

/* ---- the libraries ------------------------------------------------------------------------
 */

/* Where the dynamic loader looks first. */
struct places {
    char cuda[NEWEST + 1][PATH_MAX]; /* "" for a version that is not here */
    char starpu[PATH_MAX];           /* "" unless a prefix was given */
};

/* Put the libraries of one CUDA, or of all for 0, in front of LD_LIBRARY_PATH. */
static void set_library_path(const struct places *places, unsigned version, const char *others)
{
    char paths[PATHS_SIZE] = "";
    size_t length = 0;
    char *value;

    for (unsigned i = NEWEST; i >= OLDEST; i--) {
        if (*places->cuda[i] != '\0' && (version == 0 || i == version))
            length += (size_t)snprintf(paths + length, sizeof(paths) - length, "%s%s",
                                       length > 0 ? ":" : "", places->cuda[i]);
    }
    if (asprintf(&value, "%s%s%s%s%s", paths, *places->starpu != '\0' ? ":" : "",
                 places->starpu, *others != '\0' ? ":" : "", others) < 0)
        return;
    setenv("LD_LIBRARY_PATH", value, 1);
    free(value);
}

static enum sp_exit find_places(const struct wish *wish, struct places *places)
{
    bool is_any = false;

    memset(places, 0, sizeof(*places));
    for (unsigned i = OLDEST; i <= NEWEST; i++) {
        if (!sp_preload_find_cuda(i, places->cuda[i]))
            *places->cuda[i] = '\0';
        is_any |= *places->cuda[i] != '\0';
    }
    if (wish->prefix != NULL && !find_starpu(wish->prefix, places->starpu))
        return SP_EXIT_USAGE;
    if (strpbrk(places->starpu, ":;") != NULL) {
        sp_tools_say("simulate", "the dynamic loader takes no path with a colon: %s",
                     places->starpu);
        return SP_EXIT_USAGE;
    }
    if (!is_any || (wish->cuda != 0 && *places->cuda[wish->cuda] == '\0')) {
        sp_tools_say("simulate", "the simulated CUDA libraries are not installed in %s/sim",
                     SP_PKGLIBDIR);
        return SP_EXIT_UNAVAILABLE;
    }
    return SP_EXIT_DONE;
}

/* The CUDA to simulate: the newest that the program loads libraries of. */
static unsigned choose_cuda(const struct wish *wish, const struct places *places,
                            const struct sp_program_loads *loads)
{
    if (wish->cuda != 0)
        return wish->cuda;
    for (unsigned i = NEWEST; i >= OLDEST; i--) {
        if ((loads->cuda >> i & 1) != 0 && *places->cuda[i] != '\0')
            return i;
    }
    for (unsigned i = NEWEST; i > OLDEST; i--) {
        if (*places->cuda[i] != '\0')
            return i;
    }
    return OLDEST;
}

/* A run path in the program itself comes before LD_LIBRARY_PATH, and a real library would drive
 * a real device. */
static bool loads_ours(const char *name, const struct places *places, const char *cudart)
{
    if (*cudart == '\0')
        return true;
    for (unsigned i = OLDEST; i <= NEWEST; i++) {
        size_t length = strlen(places->cuda[i]);

        if (length > 0 && strncmp(cudart, places->cuda[i], length) == 0)
            return true;
    }
    sp_tools_say("simulate", "%s loads %s by a run path of its own: nothing can be simulated",
                 name, cudart);
    return false;
}

/* Put the libraries where the program will find them. */
static enum sp_exit lay_out(const struct wish *wish, const char *name,
                            const struct sp_program *program, unsigned *cuda_out,
                            struct sp_program_loads *loads)
{
    const char *inherited = getenv("LD_LIBRARY_PATH");
    char others[PATHS_SIZE];
    struct places places;
    enum sp_exit exit_status = find_places(wish, &places);

    if (exit_status != SP_EXIT_DONE)
        return exit_status;
    snprintf(others, sizeof(others), "%s", inherited != NULL ? inherited : "");
    set_library_path(&places, 0, others);
    sp_program_ask(program, loads);
    if (!loads_ours(name, &places, loads->cudart))
        return SP_EXIT_UNAVAILABLE;
    *cuda_out = choose_cuda(wish, &places, loads);
    if (loads->cuda != 0 && (loads->cuda >> *cuda_out & 1) == 0)
        sp_tools_say("simulate", "%s loads libraries of another CUDA than %u", name, *cuda_out);
    set_library_path(&places, *cuda_out, others);
    return SP_EXIT_DONE;
}

/* ---- the program --------------------------------------------------------------------------
 */

static bool can_be_served(const char *name, const struct sp_program *program)
{
    if (program->gains_rights)
        sp_tools_say("simulate",
                     "%s gets other rights than yours (set-user-id or capabilities): the "
                     "dynamic loader ignores LD_LIBRARY_PATH, and nothing can be simulated",
                     name);
    else if (program->kind == SP_ELF_FOREIGN)
        sp_tools_say("simulate",
                     "%s is for another machine or word size: nothing can be simulated", name);
    return !program->gains_rights && program->kind != SP_ELF_FOREIGN;
}

/* Put the plugin in front, where it is wanted and can be. */
static enum sp_exit preload(const struct wish *wish, const char *name,
                            const struct sp_program_loads *loads)
{
    enum sp_exit exit_status;

    if (wish->plugin == PLUGIN_NEVER)
        return SP_EXIT_DONE;
    /* A program without StarPU misses nothing. */
    if (wish->plugin == PLUGIN_WHERE_POSSIBLE && *loads->flavour == '\0' &&
        !sp_preload_is_built())
        return SP_EXIT_DONE;
    exit_status = sp_start_preload("simulate", name, loads);
    return wish->plugin == PLUGIN_ALWAYS ? exit_status : SP_EXIT_DONE;
}

static void tell(const struct sp_simulated *machine, unsigned cuda)
{
    char bytes[32];

    sp_bytes_text(bytes, sizeof(bytes), machine->memory);
    sp_tools_say("simulate", "%u simulated device%s of %s%s, CUDA %u; no GPU is used",
                 machine->n_devices, machine->n_devices == 1 ? "" : "s", bytes,
                 machine->n_devices > 1 ? " each" : "", cuda);
}

/* Everything but the program itself. */
static enum sp_exit prepare(const struct wish *wish, const char *name,
                            const struct sp_program *program)
{
    const struct sp_simulated machine = {
        (unsigned)sp_option_number(SP_OPTION_MODEL_DEVICES),
        sp_option_number(SP_OPTION_MODEL_MEMORY),
        strcmp(sp_option(SP_OPTION_MODEL_PEERS)->value, "none") != 0,
    };
    struct sp_program_loads loads;
    enum sp_exit exit_status;
    unsigned cuda = 0;

    exit_status = lay_out(wish, name, program, &cuda, &loads);
    if (exit_status == SP_EXIT_DONE)
        exit_status = sp_simulate_home(&machine);
    if (exit_status == SP_EXIT_DONE)
        exit_status = preload(wish, name, &loads);
    if (exit_status != SP_EXIT_DONE)
        return exit_status;
    /* The devices are those of CUDA; a real OpenCL device beside them would be measured. */
    setenv("STARPU_NOPENCL", "0", 0);
    if (strncmp(loads.flavour, "starpu-1.3", sizeof("starpu-1.3") - 1) == 0)
        sp_simulate_write_buses(&machine);
    tell(&machine, cuda);
    return SP_EXIT_DONE;
}

int sp_simulate_main(int argc, char **argv)
{
    struct sp_program program;
    struct wish wish;
    int exit_status = SP_EXIT_DONE;
    int first = parse(argc, argv, &wish, &exit_status);

    if (first < 0)
        return exit_status;
    argv += first;
    setenv("STARPOOL_DRIVER", "model", 1);
    setenv("STARPOOL_MODEL_PROTECT", "1", 0);
    setenv("STARPOOL_MODEL_COST", "starpu", 0);
    if (sp_options_n_rejected() > 0) {
        sp_tools_say("simulate", "%s was not started: see the value above", argv[0]);
        return SP_EXIT_USAGE;
    }
    if (!check_devices() || !check_kernels())
        return SP_EXIT_USAGE;
    exit_status = (int)sp_program_find("simulate", argv[0], &program);
    if (exit_status != SP_EXIT_DONE)
        return exit_status;
    if (!can_be_served(argv[0], &program))
        return SP_EXIT_UNAVAILABLE;
    sp_start_warn("simulate", argv[0], &program);
    exit_status = (int)prepare(&wish, argv[0], &program);
    return exit_status != SP_EXIT_DONE ? exit_status
                                       : (int)sp_start("simulate", &program, argv);
}
