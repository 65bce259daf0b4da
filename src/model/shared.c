/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sealed files in memory and the handles that name them. A handle is found through
 * /proc/PID/fd: the kernel lets only processes of the same user in. It is looked at without
 * being opened first, because opening a device or a pipe can act or block. */
#include "config.h"

#include "src/model/shared.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/util/util.h"

#define MAGIC ((uint32_t)0x53504d31) /* "SPM1" */
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

/* What the bytes of a handle are. */
struct handle {
    uint32_t magic, kind;
    int32_t pid, file;
    unsigned char identity[16];
    struct sp_shared_part part;
    uint64_t check; /* of all before it */
};

_Static_assert(sizeof(struct handle) == SP_SHARED_HANDLE, "a handle has no padding");
_Static_assert(sizeof(struct sp_shared_page) <= 4096, "the words fit their page");

/* FNV-1a: against damage, not against malice. */
static uint64_t check_of(const struct handle *handle)
{
    const unsigned char *bytes = (const unsigned char *)handle;
    uint64_t hash = 0xcbf29ce484222325U;

    for (size_t i = 0; i < offsetof(struct handle, check); i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3U;
    return hash;
}

/* ---- files --------------------------------------------------------------------------- */

static struct sp_shared_page *map_page(int file)
{
    void *page =
        mmap(NULL, sizeof(struct sp_shared_page), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);

    return page == MAP_FAILED ? NULL : page;
}

static bool fill(struct sp_shared *shared)
{
    if (ftruncate(shared->file, (off_t)(SP_SHARED_DATA + shared->size)) != 0 ||
        fcntl(shared->file, F_ADD_SEALS, SEALS) != 0 ||
        getrandom(shared->identity, sizeof(shared->identity), 0) !=
            (ssize_t)sizeof(shared->identity))
        return false;
    shared->page = map_page(shared->file);
    if (shared->page == NULL)
        return false;
    shared->page->magic = MAGIC;
    shared->page->kind = (uint32_t)shared->kind;
    shared->page->size = shared->size;
    memcpy(shared->page->identity, shared->identity, sizeof(shared->identity));
    return true;
}

enum starpool_status sp_shared_create(enum sp_shared_kind kind, uint64_t size,
                                      struct sp_shared *shared_out)
{
    struct sp_shared shared = {.kind = kind, .size = size};

    if (size > (uint64_t)INT64_MAX - SP_SHARED_DATA)
        return STARPOOL_ENOMEM;
    shared.file = memfd_create("starpool", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (shared.file < 0)
        return STARPOOL_ENOMEM;
    if (!fill(&shared)) {
        close(shared.file);
        return STARPOOL_ENOMEM;
    }
    *shared_out = shared;
    return STARPOOL_OK;
}

/* The size of data of a file that has every property that one of ours has; false if not. */
static bool is_sound(int file, uint64_t *size_out)
{
    struct stat found;
    int seals;

    if (fstat(file, &found) != 0 || !S_ISREG(found.st_mode) || found.st_uid != geteuid() ||
        found.st_size < (off_t)SP_SHARED_DATA)
        return false;
    seals = fcntl(file, F_GET_SEALS);
    if (seals < 0 || (seals & SEALS) != SEALS || (seals & F_SEAL_WRITE) != 0)
        return false;
    *size_out = (uint64_t)found.st_size - SP_SHARED_DATA;
    return true;
}

/* Takes the descriptor over. */
static enum starpool_status adopt(enum sp_shared_kind kind, int file,
                                  struct sp_shared *shared_out)
{
    struct sp_shared shared = {.file = file, .kind = kind};
    struct sp_shared_page *page;

    if (!is_sound(file, &shared.size)) {
        close(file);
        return STARPOOL_EINVAL;
    }
    page = map_page(file);
    if (page == NULL) {
        /* Either memory is short, or the descriptor does not allow writing. */
        bool is_short = errno == ENOMEM;

        close(file);
        return is_short ? STARPOOL_ENOMEM : STARPOOL_EINVAL;
    }
    memcpy(shared.identity, page->identity, sizeof(shared.identity));
    if (page->magic != MAGIC || page->kind != (uint32_t)kind || page->size != shared.size) {
        munmap(page, sizeof(*page));
        close(file);
        return STARPOOL_EINVAL;
    }
    shared.page = page;
    *shared_out = shared;
    return STARPOOL_OK;
}

enum starpool_status sp_shared_open_file(enum sp_shared_kind kind, int file,
                                         struct sp_shared *shared_out)
{
    int copy = fcntl(file, F_DUPFD_CLOEXEC, 0);

    if (copy < 0)
        return errno == EBADF || errno == EINVAL ? STARPOOL_EINVAL : STARPOOL_ENOMEM;
    return adopt(kind, copy, shared_out);
}

void sp_shared_close(struct sp_shared *shared)
{
    munmap(shared->page, sizeof(*shared->page));
    close(shared->file);
    *shared = (struct sp_shared){.file = -1};
}

/* ---- handles ------------------------------------------------------------------------- */

void sp_shared_export(const struct sp_shared *shared, const struct sp_shared_part *part,
                      void *handle_out)
{
    struct handle handle = {.magic = MAGIC,
                            .kind = (uint32_t)shared->kind,
                            .pid = (int32_t)getpid(),
                            .file = shared->file,
                            .part = *part};

    memcpy(handle.identity, shared->identity, sizeof(handle.identity));
    handle.check = check_of(&handle);
    memcpy(handle_out, &handle, sizeof(handle));
}

static bool read_handle(enum sp_shared_kind kind, const void *bytes, struct handle *handle_out)
{
    struct handle handle;

    memcpy(&handle, bytes, sizeof(handle));
    if (handle.magic != MAGIC || handle.kind != (uint32_t)kind || handle.pid <= 0 ||
        handle.file < 0 || handle.check != check_of(&handle) ||
        handle.part.offset > UINT64_MAX - handle.part.size)
        return false;
    *handle_out = handle;
    return true;
}

bool sp_shared_read(enum sp_shared_kind kind, const void *handle,
                    struct sp_shared_part *part_out, unsigned char identity_out[16])
{
    struct handle read;

    if (!read_handle(kind, handle, &read))
        return false;
    *part_out = read.part;
    memcpy(identity_out, read.identity, sizeof(read.identity));
    return true;
}

/* A descriptor of our own for another process's; -1 if there is none that may be opened. */
static int reopen(const struct handle *handle)
{
    char path[64];
    struct stat found;
    int place, file = -1;

    snprintf(path, sizeof(path), "/proc/%d/fd/%d", handle->pid, handle->file);
    place = open(path, O_PATH | O_CLOEXEC);
    if (place < 0)
        return -1;
    if (fstat(place, &found) == 0 && S_ISREG(found.st_mode) && found.st_uid == geteuid()) {
        snprintf(path, sizeof(path), "/proc/self/fd/%d", place);
        file = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    }
    close(place);
    return file;
}

enum starpool_status sp_shared_open(enum sp_shared_kind kind, const void *handle,
                                    struct sp_shared_part *part_out,
                                    struct sp_shared *shared_out)
{
    struct handle read;
    struct sp_shared shared;
    enum starpool_status status;
    int file;

    if (!read_handle(kind, handle, &read))
        return STARPOOL_EINVAL;
    file = reopen(&read);
    if (file < 0)
        return errno == EMFILE || errno == ENFILE ? STARPOOL_ENOMEM : STARPOOL_EINVAL;
    status = adopt(kind, file, &shared);
    if (status != STARPOOL_OK)
        return status;
    if (memcmp(shared.identity, read.identity, sizeof(read.identity)) != 0 ||
        read.part.offset + read.part.size > shared.size) {
        sp_shared_close(&shared);
        return STARPOOL_EINVAL;
    }
    *part_out = read.part;
    *shared_out = shared;
    return STARPOOL_OK;
}
