/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which entry points of the simulated libraries were called that only answer that they are not
 * supported: counted by name, and listed when the program ends, where the option SIM_MISSING
 * asks for it. */
#include "config.h"

#include "src/model/missing.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/util/diag.h"
#include "src/util/options.h"
#include "src/util/outfile.h"

/* One entry point. The texts are copies: the library may be gone when the program ends. */
struct entry {
    struct entry *next; /* in the order of `library`, then `name` */
    uint64_t n;
    char *name;     /* behind the library's in `library` */
    char library[]; /* both names, each with its 0 */
};

/* Behind the lock. */
static struct {
    pthread_mutex_t lock;
    struct entry *entries;
    pid_t pid; /* whose calls they are: a forked child begins anew */
} missing = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int compare(const struct entry *entry, const char *library, const char *name)
{
    int order = strcmp(entry->library, library);

    return order != 0 ? order : strcmp(entry->name, name);
}

/* Where the entry stands, or would. */
static struct entry **place_locked(const char *library, const char *name)
{
    struct entry **place = &missing.entries;

    while (*place != NULL && compare(*place, library, name) < 0)
        place = &(*place)->next;
    return place;
}

/* What a forked child has inherited stands for its parent's calls; it stays allocated. */
static void begin_anew_locked(void)
{
    if (missing.pid != getpid())
        missing.entries = NULL;
    missing.pid = getpid();
}

static struct entry *insert_locked(struct entry **place, const char *library, const char *name)
{
    size_t library_size = strlen(library) + 1, name_size = strlen(name) + 1;
    struct entry *entry = malloc(sizeof(*entry) + library_size + name_size);

    if (entry == NULL)
        return NULL;
    entry->n = 0;
    entry->name = entry->library + library_size;
    memcpy(entry->library, library, library_size);
    memcpy(entry->name, name, name_size);
    entry->next = *place;
    *place = entry;
    return entry;
}

void sp_model_note_missing(const char *library, const char *name)
{
    struct entry **place, *entry;

    pthread_mutex_lock(&missing.lock);
    begin_anew_locked();
    place = place_locked(library, name);
    entry = *place;
    if (entry == NULL || compare(entry, library, name) != 0)
        entry = insert_locked(place, library, name);
    if (entry != NULL)
        entry->n++;
    pthread_mutex_unlock(&missing.lock);
}

uint64_t sp_model_n_missing(const char *library, const char *name)
{
    const struct entry *entry;
    uint64_t n = 0;

    pthread_mutex_lock(&missing.lock);
    entry = *place_locked(library, name);
    if (entry != NULL && compare(entry, library, name) == 0)
        n = entry->n;
    pthread_mutex_unlock(&missing.lock);
    return n;
}

/* ---- the list ------------------------------------------------------------------------ */

static void list_on_stderr(void)
{
    for (const struct entry *entry = missing.entries; entry != NULL; entry = entry->next)
        sp_log(SP_LOG_ERROR, "not supported, but called: %s %s %" PRIu64, entry->library,
               entry->name, entry->n);
}

static void list_in_file(const char *pattern)
{
    int fd = sp_outfile_open(pattern, "", "list of missing entry points");

    if (fd < 0)
        return;
    for (const struct entry *entry = missing.entries; entry != NULL; entry = entry->next)
        (void)dprintf(fd, "%s %s %" PRIu64 "\n", entry->library, entry->name, entry->n);
    (void)close(fd);
}

/* Threads may still be running: what they call from now on is not listed. */
static __attribute__((destructor)) void list_at_exit(void)
{
    const char *where = sp_option(SP_OPTION_SIM_MISSING)->value;
    bool is_wanted = *where != '\0' && strcmp(where, "0") != 0;

    pthread_mutex_lock(&missing.lock);
    if (is_wanted && missing.entries != NULL && missing.pid == getpid()) {
        if (strcmp(where, "1") == 0 || strcmp(where, "stderr") == 0)
            list_on_stderr();
        else
            list_in_file(where);
    }
    pthread_mutex_unlock(&missing.lock);
}
