/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds the memory control groups of this process, v1 and v2, and reads what they leave. A file
 * that is missing or malformed means: no limit from this source.
 * Source: Linux, Documentation/admin-guide/cgroup-v1/memory.rst and cgroup-v2.rst. */
#include "config.h"

#include "numa/cgroup.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "numa/procfile.h"
#include "src/util/util.h"

/* Longer paths are given up: no limit from this source. */
#define PATH_LIMIT 2048

/* Version 1 writes "no limit" as the greatest multiple of the page size in a signed number. */
#define NO_LIMIT ((uint64_t)1 << 62)

/* A member of a statistics file and whether it adds to what can be reclaimed. */
struct stat_key {
    const char *name;
    bool is_reclaimable;
};

/* How one version of control groups names its things. */
struct version {
    const char *file_system;  /* in mountinfo */
    const char *limits[2];    /* files, NULL if fewer */
    const char *used;         /* file */
    const char *hierarchical; /* key of memory.stat: the least limit of all ancestors */
    struct stat_key stat[5];
};

static const struct version version_1 = {
    .file_system = "cgroup",
    .limits = {"memory.limit_in_bytes", NULL},
    .used = "memory.usage_in_bytes",
    .hierarchical = "hierarchical_memory_limit",
    .stat = {{"total_inactive_file", true},
             {"total_active_file", true},
             {"total_dirty", false},
             {"total_writeback", false}},
};

static const struct version version_2 = {
    .file_system = "cgroup2",
    .limits = {"memory.max", "memory.high"},
    .used = "memory.current",
    .stat = {{"inactive_file", true},
             {"active_file", true},
             {"slab_reclaimable", true},
             {"file_dirty", false},
             {"file_writeback", false}},
};

/* The folder of a control group: the mount point, and how long that part is. */
struct folder {
    char path[PATH_LIMIT];
    size_t mount_length;
};

/* True if `word` is a member of `list`, which commas separate. */
static bool has_word(const char *list, const char *word)
{
    size_t length = strlen(word);

    for (; list != NULL; list = strchr(list, ',')) {
        list += *list == ',';
        if (strncmp(list, word, length) == 0 && (list[length] == ',' || list[length] == '\0'))
            return true;
    }
    return false;
}

/* The process's control group, relative to its hierarchy: "4:memory:/path" or "0::/path". */
static bool find_group(const char *root, const struct version *version, char *group_out)
{
    struct sp_lines lines;
    char *line;
    bool is_found = false;

    if (!sp_lines_open(&lines, root, "proc/self/cgroup"))
        return false;
    while (!is_found && (line = sp_lines_next(&lines)) != NULL) {
        char *controllers = strchr(line, ':');
        char *path = controllers != NULL ? strchr(controllers + 1, ':') : NULL;

        if (path == NULL || strlen(path + 1) >= PATH_LIMIT)
            continue;
        *path++ = '\0';
        controllers++;
        if (version == &version_2)
            is_found = strncmp(line, "0:", 2) == 0 && controllers[0] == '\0';
        else
            is_found = has_word(controllers, "memory");
        if (is_found)
            memcpy(group_out, path, strlen(path) + 1);
    }
    sp_lines_close(&lines);
    return is_found;
}

static bool is_octal(char digit)
{
    return digit >= '0' && digit <= '7';
}

/* Undo mountinfo's "\040" for blanks and the like, in place. */
static void unescape(char *text)
{
    char *to = text;

    while (*text != '\0') {
        if (text[0] == '\\' && is_octal(text[1]) && is_octal(text[2]) && is_octal(text[3])) {
            *to++ = (char)((text[1] - '0') * 64 + (text[2] - '0') * 8 + (text[3] - '0'));
            text += 4;
        } else {
            *to++ = *text++;
        }
    }
    *to = '\0';
}

/* Fields of a line of mountinfo: ... root, mount point, options, ... "-", type, source, super
 * options. False if the line is none. */
static bool split_mount(char *line, char **root_out, char **point_out, char **type_out,
                        char **options_out)
{
    char *rest = strstr(line, " - ");
    char *fields[5], *save = NULL;
    int n_fields = 0;

    if (rest == NULL)
        return false;
    *rest = '\0';
    rest += 3;
    for (char *field = strtok_r(line, " ", &save); field != NULL && n_fields < 5;
         field = strtok_r(NULL, " ", &save))
        fields[n_fields++] = field;
    *type_out = strtok_r(rest, " ", &save);
    (void)strtok_r(NULL, " ", &save);
    *options_out = strtok_r(NULL, " ", &save);
    if (n_fields < 5 || *type_out == NULL)
        return false;
    *root_out = fields[3];
    *point_out = fields[4];
    unescape(*root_out);
    unescape(*point_out);
    return true;
}

/*
 * Put the mount point and the group together. What is mounted may begin below the hierarchy's
 * root (containers); a group outside of it, as a control group namespace shows it, is taken to
 * be at the mount point.
 */
static bool join(const char *mount_root, const char *point, const char *group,
                 struct folder *folder_out)
{
    size_t length = strcmp(mount_root, "/") == 0 ? 0 : strlen(mount_root);
    int written;

    if (strncmp(group, mount_root, length) == 0 &&
        (group[length] == '/' || group[length] == '\0') && strstr(group, "/..") == NULL)
        group += length;
    else
        group = "";
    folder_out->mount_length = strlen(point);
    written = snprintf(folder_out->path, sizeof(folder_out->path), "%s%s", point, group);
    return written > 0 && (size_t)written < sizeof(folder_out->path);
}

static bool find_folder(const char *root, const struct version *version, const char *group,
                        struct folder *folder_out)
{
    struct sp_lines lines;
    char *line, *mount_root, *point, *type, *options;
    bool is_found = false;

    if (!sp_lines_open(&lines, root, "proc/self/mountinfo"))
        return false;
    while (!is_found && (line = sp_lines_next(&lines)) != NULL) {
        if (!split_mount(line, &mount_root, &point, &type, &options) ||
            strcmp(type, version->file_system) != 0)
            continue;
        if (version == &version_1 && (options == NULL || !has_word(options, "memory")))
            continue;
        is_found = join(mount_root, point, group, folder_out);
    }
    sp_lines_close(&lines);
    return is_found;
}

static bool read_member(const char *root, const char *folder, const char *name,
                        uint64_t *number_out)
{
    char path[PATH_LIMIT + 64];
    int length = snprintf(path, sizeof(path), "%s/%s", folder, name);

    return length > 0 && (size_t)length < sizeof(path) &&
           sp_file_number(root, path, number_out);
}

/* What memory.stat says: bytes that can be reclaimed; lowers `*limit` to the hierarchy's. */
static size_t read_stat(const char *root, const char *folder, const struct version *version,
                        uint64_t *limit)
{
    char path[PATH_LIMIT + 64];
    struct sp_lines lines;
    size_t added = 0, removed = 0;
    const char *line;
    uint64_t number;

    (void)snprintf(path, sizeof(path), "%s/memory.stat", folder);
    if (!sp_lines_open(&lines, root, path))
        return 0;
    while ((line = sp_lines_next(&lines)) != NULL) {
        if (version->hierarchical != NULL &&
            sp_line_number(line, version->hierarchical, &number) && number < *limit)
            *limit = number;
        for (size_t i = 0; i < SP_ARRAY_SIZE(version->stat); i++) {
            if (version->stat[i].name == NULL ||
                !sp_line_number(line, version->stat[i].name, &number))
                continue;
            if (version->stat[i].is_reclaimable)
                added = sp_plus(added, sp_scaled(number, 1));
            else
                removed = sp_plus(removed, sp_scaled(number, 1));
        }
    }
    sp_lines_close(&lines);
    return sp_less(added, removed);
}

/* What one control group leaves. */
static size_t folder_room(const char *root, const char *folder, const struct version *version,
                          const struct sp_reserve *reserve)
{
    uint64_t limit = UINT64_MAX, number, used;
    size_t reclaimable;

    for (size_t i = 0; i < SP_ARRAY_SIZE(version->limits); i++) {
        if (version->limits[i] != NULL &&
            read_member(root, folder, version->limits[i], &number) && number < limit)
            limit = number;
    }
    if (limit == UINT64_MAX || !read_member(root, folder, version->used, &used))
        return SP_UNKNOWN;
    reclaimable = read_stat(root, folder, version, &limit);
    if (limit >= NO_LIMIT)
        return SP_UNKNOWN;
    used = sp_less(used, reclaimable);
    return sp_less(sp_less(limit, used), sp_reserve_of(reserve, limit));
}

static size_t version_room(const char *root, const struct version *version,
                           const struct sp_reserve *reserve)
{
    struct folder folder;
    char group[PATH_LIMIT];
    size_t room = SP_UNKNOWN;

    if (!find_group(root, version, group) || !find_folder(root, version, group, &folder))
        return SP_UNKNOWN;
    for (;;) {
        size_t length = strlen(folder.path);

        room = sp_min(room, folder_room(root, folder.path, version, reserve));
        if (length <= folder.mount_length)
            return room;
        while (length > folder.mount_length && folder.path[--length] != '/')
            ;
        folder.path[length] = '\0';
    }
}

size_t sp_cgroup_room(const char *root, const struct sp_reserve *reserve)
{
    return sp_min(version_room(root, &version_1, reserve),
                  version_room(root, &version_2, reserve));
}
