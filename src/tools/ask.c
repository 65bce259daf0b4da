/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs the probe under the plugin, as `starpool run` would run a program, and reads its answer.
 */
#include "config.h"

#include "src/tools/ask.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/tools/child.h"
#include "src/util/util.h"

/* Starting StarPU takes less than a second, and on a machine with GPUs that it has to measure
 * first about one a GPU. It can also hang. */
#define PROBE_TIMEOUT_S 60

/* What the probe's own lines begin with. */
#define FACT "@starpool\t"

#define MAX_FIELDS 7

/* Of the plugin's report only the beginning matters. [bytes] */
#define REPORT_SIZE 4096

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status, (void)type, (void)walk;
    return remove(path);
}

/* Has StarPU measured this machine before? Then its results are used and not made again. */
static bool is_measured(void)
{
    static const char sampling[] = "/.starpu/sampling/bus";
    const char *home = getenv("STARPU_HOME");
    char path[PATH_MAX];

    if (getenv("STARPU_PERF_MODEL_DIR") != NULL)
        return true;
    if (home == NULL)
        home = getenv("HOME");
    if (home == NULL)
        return false;
    return snprintf(path, sizeof(path), "%s%s", home, sampling) < (int)sizeof(path) &&
           access(path, F_OK) == 0;
}

/* Cut `line` at its tabs; the fields that are missing are "". */
static void split(char *line, const char *fields[MAX_FIELDS])
{
    for (int i = 0; i < MAX_FIELDS; i++) {
        char *field = strsep(&line, "\t");

        fields[i] = field == NULL ? "" : field;
    }
}

static void copy(char *to, size_t to_size, const char *from)
{
    snprintf(to, to_size, "%s", from);
}

static void read_node(struct sp_ask *ask, const char *const fields[MAX_FIELDS])
{
    struct sp_ask_node *node = &ask->nodes[ask->n_nodes];

    if (ask->n_nodes == SP_ASK_MAX_NODES)
        return;
    ask->n_nodes++;
    node->id = (unsigned)strtoul(fields[1], NULL, 10);
    copy(node->kind, sizeof(node->kind), fields[2]);
    node->os_index = (int)strtol(fields[3], NULL, 10);
    copy(node->name, sizeof(node->name), fields[4]);
    copy(node->pool, sizeof(node->pool), fields[5]);
    copy(node->plain_pool, sizeof(node->plain_pool), fields[6]);
}

/* Read every line: facts, and the last of what else was said, in case it explains a failure. */
static void read_answer(struct sp_ask *ask, char *text, char *chatter, size_t chatter_size)
{
    char *line;

    while ((line = strsep(&text, "\n")) != NULL) {
        const char *fields[MAX_FIELDS];

        if (strncmp(line, FACT, sizeof(FACT) - 1) != 0) {
            if (*line != '\0')
                copy(chatter, chatter_size, line);
            continue;
        }
        split(line + sizeof(FACT) - 1, fields);
        if (strcmp(fields[0], "version") == 0)
            copy(ask->version, sizeof(ask->version), fields[1]);
        else if (strcmp(fields[0], "node") == 0)
            read_node(ask, fields);
        else if (strcmp(fields[0], "error") == 0)
            copy(ask->reason, sizeof(ask->reason), fields[1]);
        else if (strcmp(fields[0], "end") == 0)
            ask->is_available = true;
    }
}

/* The text behind the first `key` that follows `section` in our own JSON, or "". */
static void read_text(const char *json, const char *section, const char *key, char *text,
                      size_t text_size)
{
    const char *at = strstr(json, section);

    *text = '\0';
    at = at == NULL ? NULL : strstr(at, key);
    at = at == NULL ? NULL : strchr(at + strlen(key), '"');
    if (at != NULL && strcspn(at + 1, "\"") < text_size)
        snprintf(text, text_size, "%.*s", (int)strcspn(at + 1, "\""), at + 1);
}

/* The plugin's own word on how StarPU's calls reach it. */
static void read_report(struct sp_ask *ask, const char *path)
{
    char json[REPORT_SIZE];
    FILE *file = fopen(path, "re");
    size_t n;

    if (file == NULL)
        return;
    n = fread(json, 1, sizeof(json) - 1, file);
    fclose(file);
    json[n] = '\0';
    read_text(json, "\"mechanism\"", "\"interposer\"", ask->interposer,
              sizeof(ask->interposer));
    read_text(json, "\"mechanism\"", "\"why\"", ask->why, sizeof(ask->why));
}

static void explain(struct sp_ask *ask, const struct sp_child_result *result,
                    const char *chatter)
{
    if (ask->is_available || *ask->reason != '\0')
        return;
    if (result->timed_out)
        snprintf(ask->reason, sizeof(ask->reason), "StarPU did not answer within %u s",
                 PROBE_TIMEOUT_S);
    else if (WIFSIGNALED(result->status))
        snprintf(ask->reason, sizeof(ask->reason), "StarPU ended by signal %d: %s",
                 WTERMSIG(result->status), chatter);
    else
        snprintf(ask->reason, sizeof(ask->reason), "StarPU cannot be started: %s", chatter);
}

/* `folder` is for what the probe leaves: the plugin's report, and StarPU's measurements if it
 * has none of this machine yet. */
static void run_probe(struct sp_ask *ask, const char *preload, const char *folder)
{
    char report[PATH_MAX];
    const char *const variables[] = {"LD_PRELOAD",
                                     preload,
                                     "STARPU_SILENT",
                                     "1",
                                     "STARPOOL_REPORT",
                                     report,
                                     is_measured() ? NULL : "STARPU_HOME",
                                     folder,
                                     NULL};
    char *const argv[] = {ask->plugin.probe, NULL};
    const struct sp_child child = {argv, variables, PROBE_TIMEOUT_S, true};
    struct sp_child_result result;
    char chatter[256] = "nothing was said";
    int error;

    snprintf(report, sizeof(report), "%.4000s/report.json", folder);
    error = sp_child_run(&child, &result);
    if (error != 0) {
        snprintf(ask->reason, sizeof(ask->reason), "cannot run %.300s: %s", ask->plugin.probe,
                 strerror(error));
        return;
    }
    read_answer(ask, result.text, chatter, sizeof(chatter));
    explain(ask, &result, chatter);
    read_report(ask, report);
    free(result.text);
}

/* Ask, once it is clear that there is a plugin and a probe. */
static void ask_plugin(struct sp_ask *ask, const char *preload)
{
    const char *parent = getenv("TMPDIR");
    char folder[PATH_MAX];

    snprintf(folder, sizeof(folder), "%.4000s/starpool-info.XXXXXX",
             parent == NULL ? "/tmp" : parent);
    if (mkdtemp(folder) == NULL) {
        snprintf(ask->reason, sizeof(ask->reason), "no temporary folder can be made: %s",
                 strerror(errno));
        return;
    }
    run_probe(ask, preload, folder);
    nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

void sp_ask_starpu(struct sp_ask *ask)
{
    char *preload;

    memset(ask, 0, sizeof(*ask));
    if (!sp_preload_find(NULL, &ask->plugin)) {
        copy(ask->reason, sizeof(ask->reason),
             sp_preload_is_built() ? "the StarPU plugin is not installed in " SP_PKGLIBDIR
                                   : "this starpool was built without StarPU");
        return;
    }
    if (*ask->plugin.probe == '\0') {
        copy(ask->reason, sizeof(ask->reason), "starpool-probe is not beside the plugin");
        return;
    }
    preload = sp_preload_value(&ask->plugin, "");
    if (preload == NULL) {
        copy(ask->reason, sizeof(ask->reason),
             "the plugin cannot be preloaded: its path holds a space or a colon");
        return;
    }
    ask_plugin(ask, preload);
    free(preload);
}

const char *sp_ask_mechanism(const struct sp_ask *ask)
{
    if (*ask->interposer == '\0')
        return "unknown";
    return strcmp(ask->interposer, "none") == 0 ? "hooks" : "interposer";
}

const char *sp_ask_why_not(const struct sp_ask_node *node)
{
    if (strcmp(node->kind, "RAM") == 0)
        return "the plugin is inert in this StarPU (see what it says with STARPOOL_LOG=info)";
    if (strcmp(node->kind, "disk") == 0)
        return "a disk is no memory; its buffers come from the RAM node";
    if (strcmp(node->kind, "CUDA") == 0)
        return "no pool can be made on the device, or none is wanted (the program's exit "
               "report "
               "says why); StarPU's own allocator serves it";
    return "starpool has no pools of this kind of memory; StarPU's own allocator serves it";
}
