/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* StarPU's home for simulated devices. It stays when the program ends, because the times of
 * codelets that StarPU learns there are needed by the next run; those of the machine itself, in
 * ~/.starpu, are never touched. */
#include "config.h"

#include "src/tools/simulate_home.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/util/util.h"

#define SAMPLING "/.starpu/sampling"

/* Most devices, and memory nodes, that Debian's CUDA-enabled StarPU takes. */
#define MAX_DEVICES 4
#define MAX_NODES   16

/* A bus of the cost model: a PCI bus of 12 GB/s. StarPU's units are bytes a microsecond, and
 * microseconds. */
#define BANDWIDTH 12000.0
#define LATENCY   10.0

/* ---- the folder ------------------------------------------------------------------------ */

/* The folder that programs may keep their caches in; false if nothing names one. */
static bool cache_folder(char *folder, size_t folder_size)
{
    const char *cache = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    int n;

    /* A relative name is to be ignored, as the XDG specification has it. */
    if (cache != NULL && *cache == '/')
        n = snprintf(folder, folder_size, "%s", cache);
    else if (home != NULL && *home == '/')
        n = snprintf(folder, folder_size, "%s/.cache", home);
    else
        return false;
    return n > 0 && (size_t)n < folder_size;
}

/* Make a folder and those above it. */
static bool make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        bool is_there;

        *slash = '\0';
        is_there = mkdir(path, 0700) == 0 || errno == EEXIST;
        *slash = '/';
        if (!is_there)
            return false;
    }
    return (mkdir(path, 0700) == 0 || errno == EEXIST) && access(path, W_OK | X_OK) == 0;
}

/* "1G", "64M", "1536M", or bytes. */
static void short_size(char *text, size_t text_size, uint64_t bytes)
{
    static const char units[] = "KMGT";
    unsigned unit = 0;

    while (unit < sizeof(units) - 1 && bytes != 0 && bytes % 1024 == 0) {
        bytes /= 1024;
        unit++;
    }
    if (unit == 0)
        snprintf(text, text_size, "%llu", (unsigned long long)bytes);
    else
        snprintf(text, text_size, "%llu%c", (unsigned long long)bytes, units[unit - 1]);
}

enum sp_exit sp_simulate_home(const struct sp_simulated *machine)
{
    char folder[PATH_MAX - 64];
    char home[PATH_MAX];
    char name[64];
    char size[32];

    if (!cache_folder(folder, sizeof(folder))) {
        sp_tools_say("simulate", "StarPU needs a folder for what it learns of the devices: "
                                 "neither XDG_CACHE_HOME nor HOME names one");
        return SP_EXIT_UNAVAILABLE;
    }
    snprintf(home, sizeof(home), "%s/starpool/simulate" SAMPLING "/bus", folder);
    if (!make_folders(home)) {
        sp_tools_say("simulate", "%s cannot be written: %s", home, strerror(errno));
        return SP_EXIT_UNAVAILABLE;
    }
    *strrchr(home, '/') = '\0';
    setenv("STARPU_PERF_MODEL_DIR", home, 1);
    home[strlen(home) - strlen(SAMPLING)] = '\0';
    setenv("STARPU_HOME", home, 1);
    /* Other folders that newer StarPUs would look into. */
    unsetenv("STARPU_PERF_MODEL_PATH");

    short_size(size, sizeof(size), machine->memory);
    snprintf(name, sizeof(name), "starpool-sim-%ux%s%s", machine->n_devices, size,
             machine->has_peers ? "" : "-nopeers");
    setenv("STARPU_HOSTNAME", name, 1);
    return SP_EXIT_DONE;
}

/* ---- the buses ------------------------------------------------------------------------- */

/* The first CPU of the core that a CPU belongs to. */
static unsigned long core_of(unsigned cpu)
{
    unsigned long first = cpu;
    char path[96];
    char text[64];
    char *end;
    FILE *file;

    snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/topology/thread_siblings_list",
             cpu);
    file = fopen(path, "re");
    if (file == NULL)
        return cpu;
    if (fgets(text, sizeof(text), file) != NULL) {
        first = strtoul(text, &end, 10);
        if (end == text || first >= CPU_SETSIZE)
            first = cpu;
    }
    fclose(file);
    return first;
}

/* The cores that this process may use, as StarPU counts CPUs; 0 if that cannot be said. */
static unsigned count_cores(void)
{
    cpu_set_t cpus, cores;

    CPU_ZERO(&cores);
    if (sched_getaffinity(0, sizeof(cpus), &cpus) != 0)
        return 0;
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &cpus))
            CPU_SET(core_of(cpu), &cores);
    }
    return (unsigned)CPU_COUNT(&cores);
}

/* True if the variable is set to something that is not 0. */
static bool is_on(const char *variable)
{
    const char *value = getenv(variable);

    return value != NULL && *value != '\0' && strcmp(value, "0") != 0;
}

static bool is_foreseeable(const struct sp_simulated *machine)
{
    static const char *const variables[] = {"HWLOC_SYNTHETIC", "HWLOC_XMLFILE", "HWLOC_FSROOT",
                                            "STARPU_HWLOC_INPUT", "STARPU_USE_NUMA"};

    for (size_t i = 0; i < SP_ARRAY_SIZE(variables); i++) {
        if (is_on(variables[i]))
            return false;
    }
    return !is_on("STARPU_NOPENCL") && machine->n_devices <= MAX_DEVICES;
}

static void file_name(char *path, size_t path_size, const char *type, const char *ending)
{
    snprintf(path, path_size, "%s/bus/%s.%s%s", getenv("STARPU_PERF_MODEL_DIR"),
             getenv("STARPU_HOSTNAME"), type, ending);
}

/* Write one file whole, or not at all: several programs may begin at once. */
static bool write_file(const char *type, const char *text)
{
    char ending[32];
    char begun[PATH_MAX];
    char path[PATH_MAX];
    FILE *file;
    bool is_written;

    snprintf(ending, sizeof(ending), ".%ld", (long)getpid());
    file_name(begun, sizeof(begun), type, ending);
    file_name(path, sizeof(path), type, "");
    file = fopen(begun, "wxe");
    if (file == NULL)
        return false;
    is_written = fputs(text, file) >= 0;
    is_written = fclose(file) == 0 && is_written && rename(begun, path) == 0;
    if (!is_written)
        (void)unlink(begun);
    return is_written;
}

static void append(char *text, size_t text_size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void append(char *text, size_t text_size, const char *format, ...)
{
    size_t length = strlen(text);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text + length, text_size - length, format, arguments);
    va_end(arguments);
}

/* A number for each pair of memory nodes: node 0 is the host's, then come the devices'. Without
 * peer access StarPU's copies from device to device pass the bus twice. */
static double pair(const struct sp_simulated *machine, unsigned from, unsigned to,
                   double direct, double twice)
{
    if (from > machine->n_devices || to > machine->n_devices)
        return NAN;
    if (from == to)
        return 0.0;
    return from == 0 || to == 0 || machine->has_peers ? direct : twice;
}

/* StarPU loses the last number of a line that is shorter than its own. */
static bool write_matrix(const char *type, const struct sp_simulated *machine, double direct,
                         double twice)
{
    char text[8192] = "# ";

    for (unsigned to = 0; to < MAX_NODES; to++)
        append(text, sizeof(text), "to %u\t\t", to);
    append(text, sizeof(text), "\n");
    for (unsigned from = 0; from < MAX_NODES; from++) {
        for (unsigned to = 0; to < MAX_NODES; to++)
            append(text, sizeof(text), "%e%s", pair(machine, from, to, direct, twice),
                   to + 1 < MAX_NODES ? "\t" : "\n");
    }
    return write_file(type, text);
}

static bool write_affinity(const struct sp_simulated *machine)
{
    char text[256] = "# GPU\tNUMA0\t\n";

    for (unsigned device = 0; device < machine->n_devices; device++)
        append(text, sizeof(text), "%u\t0\t\n", device);
    return write_file("affinity", text);
}

/* The counts that StarPU compares with its own; it measures if one differs. */
static bool write_config(const struct sp_simulated *machine, unsigned n_cores)
{
    char text[512] = "# Current configuration\n";

    append(text, sizeof(text), "%u # Number of CPUs\n", n_cores);
    append(text, sizeof(text), "1 # Number of NUMA nodes\n");
    append(text, sizeof(text), "%u # Number of CUDA devices\n", machine->n_devices);
    append(text, sizeof(text), "0 # Number of OpenCL devices\n");
    append(text, sizeof(text), "0 # Number of MIC devices\n");
    append(text, sizeof(text), "0 # Number of MPI devices\n");
    return write_file("config", text);
}

void sp_simulate_write_buses(const struct sp_simulated *machine)
{
    static const char platform[] = "<?xml version='1.0'?>\n"
                                   "<!-- Of simulated devices: nothing was measured, and "
                                   "SimGrid has nothing to read. -->\n"
                                   "<platform version=\"%s\"/>\n";
    unsigned n_cores = count_cores();
    char path[PATH_MAX];
    char text[256];

    file_name(path, sizeof(path), "config", "");
    if (n_cores == 0 || !is_foreseeable(machine) || access(path, F_OK) == 0)
        return;
    snprintf(text, sizeof(text), platform, "3");
    if (!write_file("platform.xml", text))
        return;
    snprintf(text, sizeof(text), platform, "4");
    if (!write_file("platform.v4.xml", text) || !write_affinity(machine) ||
        !write_matrix("latency", machine, LATENCY, 2 * LATENCY) ||
        !write_matrix("bandwidth", machine, BANDWIDTH, BANDWIDTH / 2))
        return;
    /* Last, because StarPU looks for it first. */
    (void)write_config(machine, n_cores);
}
