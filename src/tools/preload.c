/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds the plugin, and the simulated CUDA libraries: beside the command in a build folder,
 * below pkglibdir once installed. */
#include "config.h"

#include "src/tools/preload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PLUGIN "starpool_starpu.so"
#define PROBE  "starpool-probe"

/* True if the three parts, one after the other, name a file; `path` gets it. */
static bool has_file(char *path, const char *folder, const char *between, const char *name)
{
    int n = snprintf(path, PATH_MAX, "%s%s%s", folder, between, name);

    if (n > 0 && n < PATH_MAX && access(path, R_OK) == 0)
        return true;
    *path = '\0';
    return false;
}

/* The folder that the command's own file is in, links followed. */
static bool own_folder(char *folder)
{
    char *end;

    if (realpath("/proc/self/exe", folder) == NULL)
        return false;
    end = strrchr(folder, '/');
    *end = '\0';
    return true;
}

/* A build folder: libtool keeps the command and the plugin in a hidden folder, everything else
 * is above it. `folder` is the hidden one. */
static bool build_folder(char *folder)
{
    static const char hidden[] = "/.libs";
    size_t length;

    if (!own_folder(folder))
        return false;
    length = strlen(folder);
    return length >= sizeof(hidden) &&
           strcmp(folder + length - (sizeof(hidden) - 1), hidden) == 0;
}

static bool find_built(const char *flavour, struct sp_preload *plugin)
{
    char folder[PATH_MAX];

    if (flavour != NULL && strcmp(flavour, SP_STARPU_FLAVOUR) != 0)
        return false;
    if (!build_folder(folder))
        return false;
    if (!has_file(plugin->path, folder, "/", PLUGIN))
        return false;
    snprintf(plugin->flavour, sizeof(plugin->flavour), "%s", SP_STARPU_FLAVOUR);
    has_file(plugin->probe, folder, "/../", PROBE);
    return true;
}

/* Below pkglibdir: a folder a flavour; beside them, a link to the one that stands for itself.
 */
static bool find_installed(const char *flavour, struct sp_preload *plugin)
{
    char link[PATH_MAX];
    char folder[PATH_MAX];
    char *name;

    snprintf(folder, sizeof(folder), "/%s%s", flavour == NULL ? "" : flavour,
             flavour == NULL ? "" : "/");
    if (!has_file(link, SP_PKGLIBDIR, folder, PLUGIN) || realpath(link, plugin->path) == NULL)
        return false;
    snprintf(folder, sizeof(folder), "%s", plugin->path);
    *strrchr(folder, '/') = '\0';
    has_file(plugin->probe, folder, "/", PROBE);
    name = strrchr(folder, '/');
    snprintf(plugin->flavour, sizeof(plugin->flavour), "%s", name == NULL ? "" : name + 1);
    return true;
}

bool sp_preload_find(const char *flavour, struct sp_preload *plugin)
{
    memset(plugin, 0, sizeof(*plugin));
    return find_built(flavour, plugin) || find_installed(flavour, plugin);
}

bool sp_preload_find_cuda(unsigned version, char *folder)
{
    char name[] = "/sim/cuda-00";
    char library[PATH_MAX];
    char *end;

    snprintf(name, sizeof(name), "/sim/cuda-%02u", version % 100);
    if (build_folder(folder)) {
        end = strrchr(folder, '/');
        *end = '\0';
        if (has_file(library, folder, name, "/libcuda.so.1"))
            goto found;
    }
    if (!has_file(library, SP_PKGLIBDIR, name, "/libcuda.so.1"))
        return false;
found:
    *strrchr(library, '/') = '\0';
    memcpy(folder, library, sizeof(library));
    return true;
}

bool sp_preload_is_built(void)
{
    return strcmp(SP_STARPU_FLAVOUR, "starpu-no") != 0;
}

char *sp_preload_value(const struct sp_preload *plugin, const char *first)
{
    const char *others = getenv("LD_PRELOAD");
    bool has_others = others != NULL && *others != '\0';
    char *value;

    if (strpbrk(plugin->path, " :") != NULL || strpbrk(first, " :") != NULL)
        return NULL;
    if (asprintf(&value, "%s%s%s%s%s", first, *first != '\0' ? ":" : "", plugin->path,
                 has_others ? ":" : "", has_others ? others : "") < 0)
        return NULL;
    return value;
}
