/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where the pages of a process are, by /proc/PID/numa_maps: one line a mapping, "ADDRESS POLICY
 * WORD=VALUE ...", with N<node>=<pages>. Source: Linux, Documentation/filesystems/proc.rst and
 * mm/mempolicy.c, mpol_to_str(). */
#include "config.h"

#include "src/tools/verify.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/util/json.h"
#include "src/util/util.h"

/* ---- a line ----------------------------------------------------------------------------- */

static bool parse_number(const char **text, uint64_t *number_out)
{
    char *end;

    if (**text < '0' || **text > '9')
        return false;
    errno = 0;
    *number_out = strtoull(*text, &end, 10);
    *text = end;
    return errno == 0;
}

/* A list of nodes such as "0,2-3"; what is not understood is no wish. */
static bool parse_nodes(const char *list, bool *is_wanted)
{
    uint64_t first, last;

    while (parse_number(&list, &first)) {
        last = first;
        if (*list == '-') {
            list++;
            if (!parse_number(&list, &last))
                return false;
        }
        if (first > last || last >= SP_VERIFY_NODES)
            return false;
        while (first <= last)
            is_wanted[first++] = true;
        if (*list == '\0')
            return true;
        if (*list++ != ',')
            return false;
    }
    return false;
}

/* "bind:0-1", "prefer=relative:3", "prefer (many):0,1"; others have no nodes where pages must
 * be, and "local" is the node of whoever touched them. */
static bool parse_policy(const char *policy, struct sp_verify_mapping *mapping)
{
    const char *nodes = strrchr(policy, ':');

    if (nodes == NULL || (strncmp(policy, "bind", 4) != 0 && strncmp(policy, "prefer", 6) != 0))
        return false;
    return parse_nodes(nodes + 1, mapping->is_wanted);
}

static void parse_word(const char *word, struct sp_verify_mapping *mapping)
{
    static const char page[] = "kernelpagesize_kB=";
    uint64_t node, value;

    if (strncmp(word, page, sizeof(page) - 1) == 0) {
        word += sizeof(page) - 1;
        if (parse_number(&word, &value))
            mapping->page_size = value * 1024;
        return;
    }
    if (*word++ != 'N' || !parse_number(&word, &node) || *word++ != '=' ||
        !parse_number(&word, &value) || node >= SP_VERIFY_NODES)
        return;
    mapping->n_pages[node] += value;
    if (mapping->is_wanted[node])
        mapping->n_right += value;
    else
        mapping->n_elsewhere += value;
}

bool sp_verify_parse(const char *line, struct sp_verify_mapping *mapping)
{
    char text[4096], *rest, *word, *many;

    memset(mapping, 0, sizeof(*mapping));
    mapping->page_size = 4096;
    snprintf(text, sizeof(text), "%s", line);
    many = strstr(text, " (many)"); /* The one policy with a blank in it. */
    if (many != NULL)
        memmove(many, many + strlen(" (many)"), strlen(many + strlen(" (many)")) + 1);
    word = strtok_r(text, " \n", &rest);
    if (word == NULL)
        return false;
    snprintf(mapping->address, sizeof(mapping->address), "%s", word);
    word = strtok_r(NULL, " \n", &rest);
    if (word == NULL)
        return false;
    snprintf(mapping->policy, sizeof(mapping->policy), "%s", word);
    mapping->has_wish = parse_policy(word, mapping);
    while ((word = strtok_r(NULL, " \n", &rest)) != NULL)
        parse_word(word, mapping);
    return mapping->has_wish;
}

/* ---- a process -------------------------------------------------------------------------- */

struct total {
    uint64_t n_mappings, right_bytes, elsewhere_bytes;
};

static void show_mapping(const struct sp_verify_mapping *mapping)
{
    printf("%16s  %-12s %8" PRIu64 " pages there, %" PRIu64 " elsewhere", mapping->address,
           mapping->policy, mapping->n_right, mapping->n_elsewhere);
    for (unsigned node = 0; node < SP_VERIFY_NODES; node++) {
        if (!mapping->is_wanted[node] && mapping->n_pages[node] > 0)
            printf("; %" PRIu64 " on node %u", mapping->n_pages[node], node);
    }
    putchar('\n');
}

static void write_mapping(struct sp_json *json, const struct sp_verify_mapping *mapping)
{
    sp_json_object_begin(json, NULL);
    sp_json_string(json, "address", mapping->address);
    sp_json_string(json, "policy", mapping->policy);
    sp_json_number(json, "page_size_bytes", mapping->page_size);
    sp_json_number(json, "n_pages_there", mapping->n_right);
    sp_json_number(json, "n_pages_elsewhere", mapping->n_elsewhere);
    sp_json_array_begin(json, "nodes");
    for (unsigned node = 0; node < SP_VERIFY_NODES; node++) {
        if (mapping->n_pages[node] == 0)
            continue;
        sp_json_object_begin(json, NULL);
        sp_json_number(json, "node", node);
        sp_json_number(json, "n_pages", mapping->n_pages[node]);
        sp_json_flag(json, "is_wanted", mapping->is_wanted[node]);
        sp_json_end(json);
    }
    sp_json_end(json);
    sp_json_end(json);
}

/* Read the file to its end; false, with errno, if that fails. */
static bool read_maps(FILE *maps, struct sp_json *json, struct total *total)
{
    struct sp_verify_mapping mapping;
    size_t room = 0;
    char *line = NULL;

    errno = 0;
    while (getline(&line, &room, maps) >= 0) {
        if (!sp_verify_parse(line, &mapping))
            continue;
        total->n_mappings++;
        total->right_bytes += mapping.n_right * mapping.page_size;
        total->elsewhere_bytes += mapping.n_elsewhere * mapping.page_size;
        if (json != NULL)
            write_mapping(json, &mapping);
        else
            show_mapping(&mapping);
    }
    free(line);
    return !ferror(maps);
}

static bool show(FILE *maps, struct total *total)
{
    bool is_read = read_maps(maps, NULL, total);
    char there[32], elsewhere[32];

    printf("%" PRIu64 " mappings with nodes of their own: %s there, %s elsewhere\n",
           total->n_mappings, sp_bytes_text(there, sizeof(there), total->right_bytes),
           sp_bytes_text(elsewhere, sizeof(elsewhere), total->elsewhere_bytes));
    return is_read;
}

static bool write_json(FILE *maps, struct total *total)
{
    struct sp_json json;
    bool is_read;

    sp_json_begin(&json, stdout);
    sp_json_array_begin(&json, "mappings");
    is_read = read_maps(maps, &json, total);
    sp_json_end(&json);
    sp_json_number(&json, "there_bytes", total->right_bytes);
    sp_json_number(&json, "elsewhere_bytes", total->elsewhere_bytes);
    sp_json_finish(&json);
    return is_read;
}

/* The file could not be opened, as errno says. */
static void tell_why_not(const char *process, const char *path)
{
    int error = errno;
    char folder[64];

    snprintf(folder, sizeof(folder), "/proc/%.20s", process);
    if (error != ENOENT)
        sp_tools_say("verify", "%s: %s", path, strerror(error));
    else if (access(folder, F_OK) == 0)
        sp_tools_say("verify", "%s: the kernel has no NUMA", path);
    else
        sp_tools_say("verify", "there is no process %s; a file of that name is written ./%s",
                     process, process);
}

enum sp_exit sp_verify_pages(const char *process, bool is_json)
{
    struct total total = {0, 0, 0};
    char path[64];
    enum sp_exit written;
    FILE *maps;
    bool is_read;

    snprintf(path, sizeof(path), "/proc/%.20s/numa_maps", process);
    maps = fopen(path, "re");
    if (maps == NULL) {
        tell_why_not(process, path);
        return SP_EXIT_USAGE;
    }
    is_read = is_json ? write_json(maps, &total) : show(maps, &total);
    if (!is_read)
        sp_tools_say("verify", "%s: %s", path, strerror(errno));
    fclose(maps);
    written = sp_tools_finish("verify");
    if (!is_read)
        return SP_EXIT_USAGE;
    if (total.elsewhere_bytes > 0)
        return SP_EXIT_NOT_SO;
    return written;
}
