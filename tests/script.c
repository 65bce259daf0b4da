/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Pieces come from an arena by first fit, at the lowest address. The journal has no lock of its
 * own: a test reads it while no other thread runs, and its entries are taken by an atomic
 * counter. */
#include "config.h"

#include "tests/script.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "src/heap/addrmap.h"
#include "src/pool/pool.h"
#include "tests/support.h"

#define JOURNAL_SIZE 256
#define STDERR_SIZE  65536

static struct {
    atomic_size_t n;
    struct sp_script_entry entries[JOURNAL_SIZE];
} journal;

static struct {
    int saved;
    FILE *file;
    char text[STDERR_SIZE];
} caught;

static void note(const struct sp_script *script, enum sp_script_call call, size_t size)
{
    size_t index = atomic_fetch_add(&journal.n, 1);

    if (index < JOURNAL_SIZE)
        journal.entries[index] = (struct sp_script_entry){script, call, size};
}

void sp_script_clear(void)
{
    atomic_store(&journal.n, 0);
}

size_t sp_script_n_entries(void)
{
    return atomic_load(&journal.n);
}

const struct sp_script_entry *sp_script_entry(size_t index)
{
    SP_ASSERT(index < JOURNAL_SIZE && index < atomic_load(&journal.n));
    return &journal.entries[index];
}

/* ---- the operations ------------------------------------------------------------------ */

static struct sp_script *script_of(const struct sp_backing *backing)
{
    return SP_CONTAINER_OF(backing, struct sp_script, backing);
}

static size_t granularity(const struct sp_backing *backing)
{
    return script_of(backing)->granule;
}

/* The first byte of the lowest hole for `size` bytes and, if scattered, a page on each side. */
static uintptr_t hole_for(const struct sp_script *script, size_t size)
{
    size_t gap = script->is_scattered ? SP_PAGE : 0;
    uintptr_t start = script->arena + gap;

    for (size_t i = 0; i < SP_SCRIPT_PIECES; i++) {
        const struct sp_piece *piece = &script->pieces[i];

        if (piece->size != 0 && start < piece->base + piece->size + gap &&
            piece->base < start + size + gap) {
            start = piece->base + piece->size + gap;
            i = (size_t)-1; /* from the first again */
        }
    }
    return start + size + gap <= script->arena + SP_SCRIPT_ARENA ? start : 0;
}

static bool next_piece(struct sp_backing *backing, size_t size, struct sp_region **region_out,
                       uintptr_t *base_out)
{
    struct sp_script *script = script_of(backing);
    uintptr_t base = size <= SP_SCRIPT_ARENA ? hole_for(script, size) : 0;

    if (script->is_scattered || base == 0)
        return false;
    *region_out = &script->region;
    *base_out = base;
    return true;
}

static struct sp_region *region_for(struct sp_script *script, size_t index)
{
    if (script->is_scattered) {
        script->own_regions[index] = (struct sp_region){.heap = NULL};
        return &script->own_regions[index];
    }
    if (script->n_in_region == 0)
        script->region = (struct sp_region){.heap = NULL};
    script->n_in_region++;
    return &script->region;
}

static enum starpool_status refuse(struct sp_script *script, size_t size)
{
    note(script, SP_SCRIPT_REFUSE, size);
    return script->refusal;
}

static enum starpool_status grow(struct sp_backing *backing, size_t size,
                                 struct sp_piece **piece_out)
{
    struct sp_script *script = script_of(backing);
    size_t i = 0, shift;
    uintptr_t base;

    if (script->n_refusals > 0) {
        script->n_refusals--;
        return refuse(script, size);
    }
    while (i < SP_SCRIPT_PIECES && script->pieces[i].size != 0)
        i++;
    shift = script->is_surprising ? SP_PAGE : 0;
    base = size <= script->most && i < SP_SCRIPT_PIECES ? hole_for(script, size + shift) : 0;
    if (base == 0)
        return refuse(script, size);
    base += shift;
    SP_ASSERT(sp_addrmap_cover(base, size) == STARPOOL_OK);
    script->pieces[i] = (struct sp_piece){
        .base = base, .size = size, .region = region_for(script, i), .is_bound = true};
    note(script, SP_SCRIPT_GROW, size);
    *piece_out = &script->pieces[i];
    return STARPOOL_OK;
}

static bool shrink(struct sp_backing *backing, struct sp_piece *piece,
                   struct sp_region **region_out)
{
    struct sp_script *script = script_of(backing);
    struct sp_region *region = piece->region;

    note(script, SP_SCRIPT_SHRINK, piece->size);
    sp_addrmap_uncover(piece->base, piece->size);
    piece->size = 0;
    *region_out = region == &script->region && --script->n_in_region > 0 ? NULL : region;
    return true;
}

static void drop_region(struct sp_backing *backing, struct sp_region *region)
{
    (void)region;
    note(script_of(backing), SP_SCRIPT_DROP, 0);
}

static void destroy(struct sp_backing *backing)
{
    note(script_of(backing), SP_SCRIPT_DESTROY, 0);
}

static const struct sp_backing_ops script_ops = {
    .granularity = granularity,
    .next_piece = next_piece,
    .grow = grow,
    .shrink = shrink,
    .drop_region = drop_region,
    .destroy = destroy,
};

void sp_script_init(struct sp_script *script)
{
    void *arena = mmap(NULL, SP_SCRIPT_ARENA, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    SP_ASSERT(arena != MAP_FAILED);
    *script = (struct sp_script){
        .backing = {&script_ops},
        .granule = SP_MIB,
        .most = SP_SCRIPT_ARENA,
        .refusal = STARPOOL_ENOMEM,
        .arena = (uintptr_t)arena,
    };
}

void sp_script_fini(struct sp_script *script)
{
    SP_ASSERT(munmap((void *)script->arena, SP_SCRIPT_ARENA) == 0);
    script->arena = 0;
}

struct starpool_pool *sp_script_pool(struct sp_script *script, uint64_t maximum)
{
    struct starpool_pool_config config;
    struct starpool_pool *pool = NULL;

    starpool_pool_config_init(&config);
    config.maximum = maximum;
    SP_ASSERT(sp_pool_create_on(&config, &script->backing, &pool) == STARPOOL_OK);
    return pool;
}

size_t sp_script_bytes(const struct sp_script *script)
{
    size_t bytes = 0;

    for (size_t i = 0; i < SP_SCRIPT_PIECES; i++)
        bytes += script->pieces[i].size;
    return bytes;
}

/* ---- messages ------------------------------------------------------------------------ */

void sp_script_stderr_begin(void)
{
    fflush(stderr);
    caught.file = tmpfile();
    caught.saved = dup(STDERR_FILENO);
    SP_ASSERT(caught.file != NULL && caught.saved >= 0);
    SP_ASSERT(dup2(fileno(caught.file), STDERR_FILENO) >= 0);
}

const char *sp_script_stderr_end(void)
{
    size_t n;

    fflush(stderr);
    SP_ASSERT(dup2(caught.saved, STDERR_FILENO) >= 0);
    close(caught.saved);
    rewind(caught.file);
    n = fread(caught.text, 1, STDERR_SIZE - 1, caught.file);
    caught.text[n] = '\0';
    fclose(caught.file);
    return caught.text;
}

/* By name: in a child of valgrind /proc/self/exe is valgrind. */
const char *sp_script_self(void)
{
    static char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

    SP_ASSERT(n > 0);
    path[n] = '\0';
    return path;
}

size_t sp_script_n_times(const char *text, const char *needle)
{
    size_t n = 0;

    for (const char *at = text; (at = strstr(at, needle)) != NULL; at += strlen(needle))
        n++;
    return n;
}
