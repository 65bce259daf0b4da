/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds a program as a shell does. Which libraries it will load is the dynamic loader's affair
 * (run paths, its cache, hardware folders), so the loader is asked and not imitated. */
#include "config.h"

#include "src/tools/program.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "src/tools/child.h"
#include "src/util/util.h"

/* A loader that lists libraries only reads files; one that takes longer than this hangs. */
#define LIST_TIMEOUT_S 10

/* What a shell searches when there is no PATH. */
#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"

/* 0 if `path` is a file that may be executed, else an errno value. A FIFO or a device is
 * refused as the kernel does; it must not be opened, for that may never return. */
static int try_path(const char *path)
{
    struct stat status;

    if (stat(path, &status) != 0)
        return errno;
    if (S_ISDIR(status.st_mode))
        return EISDIR;
    if (!S_ISREG(status.st_mode))
        return EACCES;
    return access(path, X_OK) == 0 ? 0 : errno;
}

/* Look in every folder of PATH; the errno value to report if it is nowhere. */
static int search_path(const char *name, char *path, size_t path_size)
{
    const char *folders = getenv("PATH");
    int error = ENOENT;

    if (folders == NULL)
        folders = DEFAULT_PATH;
    for (;;) {
        int length = (int)strcspn(folders, ":");
        int n = snprintf(path, path_size, "%.*s%s%s", length, folders, length > 0 ? "/" : "./",
                         name);
        int tried = (size_t)n < path_size ? try_path(path) : ENAMETOOLONG;

        if (tried == 0)
            return 0;
        /* Found but not to be executed: remembered, and the search goes on, as in a shell. */
        if (tried == EACCES)
            error = EACCES;
        if (folders[length] == '\0')
            return error;
        folders += length + 1;
    }
}

static int find(const char *name, struct sp_program *program)
{
    if (*name == '\0')
        return ENOENT;
    if (strchr(name, '/') == NULL)
        return search_path(name, program->path, sizeof(program->path));
    if (strlen(name) >= sizeof(program->path))
        return ENAMETOOLONG;
    snprintf(program->path, sizeof(program->path), "%s", name);
    return try_path(name);
}

/* True if the kernel will start it with other rights than ours, so that the loader distrusts
 * the environment. */
static bool gains_rights(const char *path)
{
    struct stat status;

    if (stat(path, &status) != 0)
        return false;
    if ((status.st_mode & S_ISUID) != 0 && status.st_uid != getuid())
        return true;
    if ((status.st_mode & S_ISGID) != 0 && status.st_gid != getgid())
        return true;
    return getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0;
}

enum sp_exit sp_program_find(const char *command, const char *name, struct sp_program *program)
{
    int error;

    memset(program, 0, sizeof(*program));
    error = find(name, program);
    if (error == ENOENT || error == ENOTDIR) {
        sp_tools_say(command, "%s: no such program", name);
        return SP_EXIT_NO_PROGRAM;
    }
    if (error != 0) {
        sp_tools_say(command, "%s: cannot be executed: %s", name, strerror(error));
        return SP_EXIT_NO_EXEC;
    }
    program->kind = sp_elf_read(program->path, "starpu_init", program->interpreter,
                                sizeof(program->interpreter), &program->contains_starpu);
    program->gains_rights = gains_rights(program->path);
    return SP_EXIT_DONE;
}

/* "libstarpu-1.3.so.9 => /usr/lib/..." makes "starpu-1.3". */
static bool read_flavour(const char *list, char *flavour, size_t flavour_size)
{
    static const char prefix[] = "\tlib";
    const char *name = strstr(list, "\tlibstarpu-");
    const char *end = name == NULL ? NULL : strstr(name, ".so");
    bool has_cuda = strstr(list, "\tlibcudart.so") != NULL;
    int length;

    if (end == NULL)
        return false;
    name += sizeof(prefix) - 1;
    length = snprintf(flavour, flavour_size, "%.*s%s", (int)(end - name), name,
                      has_cuda ? "-contrib" : "");
    return (size_t)length < flavour_size;
}

/* Copy the path in one line of the loader's list. A library that was named by its path has
 * nothing but that in the line. */
static bool read_path(const char *line, char *path, size_t path_size)
{
    static const char arrow[] = " => ";
    const char *end = strstr(line, " (0x");
    const char *start = strstr(line, arrow);

    if (end == NULL)
        return false;
    start = start == NULL ? line + strspn(line, "\t") : start + sizeof(arrow) - 1;
    return start <= end &&
           snprintf(path, path_size, "%.*s", (int)(end - start), start) < (int)path_size;
}

/* Copy the path if it is AddressSanitizer's library, of gcc or of clang. */
static void read_asan(const char *line, char *asan, size_t asan_size)
{
    char path[PATH_MAX];
    const char *name;

    if (!read_path(line, path, sizeof(path)))
        return;
    name = strrchr(path, '/');
    name = name == NULL ? path : name + 1;
    if (strncmp(name, "libasan.so", sizeof("libasan.so") - 1) == 0 ||
        strncmp(name, "libclang_rt.asan", sizeof("libclang_rt.asan") - 1) == 0)
        snprintf(asan, asan_size, "%s", path);
}

/* "libcublas.so.11" stands for CUDA 11. */
static void read_cuda(const char *line, struct sp_program_loads *loads)
{
    static const char *const names[] = {"\tlibcudart.so.", "\tlibcublas.so.",
                                        "\tlibcusparse.so."};

    for (size_t i = 0; i < SP_ARRAY_SIZE(names); i++) {
        size_t length = strlen(names[i]);
        unsigned long version;

        if (strncmp(line, names[i], length) != 0)
            continue;
        version = strtoul(line + length, NULL, 10);
        if (version < CHAR_BIT * sizeof(loads->cuda))
            loads->cuda |= 1U << version;
        if (i == 0 && !read_path(line, loads->cudart, sizeof(loads->cudart)))
            *loads->cudart = '\0';
    }
}

static void read_list(char *list, struct sp_program_loads *loads)
{
    char *line;

    if (!read_flavour(list, loads->flavour, sizeof(loads->flavour)))
        *loads->flavour = '\0';
    while ((line = strsep(&list, "\n")) != NULL) {
        if (*loads->asan == '\0')
            read_asan(line, loads->asan, sizeof(loads->asan));
        read_cuda(line, loads);
    }
}

void sp_program_ask(const struct sp_program *program, struct sp_program_loads *loads_out)
{
    char list[] = "--list";
    char interpreter[PATH_MAX];
    char path[PATH_MAX];
    char *argv[] = {interpreter, list, path, NULL};
    const char *const variables[] = {NULL};
    const struct sp_child child = {argv, variables, LIST_TIMEOUT_S, false};
    struct sp_child_result result;

    memset(loads_out, 0, sizeof(*loads_out));
    if (program->kind != SP_ELF_DYNAMIC)
        return;
    snprintf(interpreter, sizeof(interpreter), "%s", program->interpreter);
    snprintf(path, sizeof(path), "%s", program->path);
    if (sp_child_run(&child, &result) != 0)
        return;
    if (!result.timed_out && WIFEXITED(result.status) && WEXITSTATUS(result.status) == 0)
        read_list(result.text, loads_out);
    free(result.text);
}
