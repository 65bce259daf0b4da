/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A bump allocator over anonymous mappings. malloc() is not used: the plugin lives in programs
 * that replace it, and records must outlive whoever frees them. */
#include "config.h"

#include "src/util/meta.h"

#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>

#include "src/util/util.h"

/* Untouched pages cost nothing, so a chunk is chosen large enough to be rarely asked for. */
#define CHUNK_SIZE (4 * SP_MIB)
#define ALIGNMENT  64

static struct {
    pthread_mutex_t mutex;
    char *next;  /* first free byte of the current chunk */
    size_t left; /* [bytes] from there on */
} meta = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void *map(size_t size)
{
    void *chunk = mmap(NULL, size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return chunk == MAP_FAILED ? NULL : chunk;
}

void *sp_meta_alloc(size_t size)
{
    void *record = NULL;

    size = sp_round_up(size, ALIGNMENT);
    if (size == 0)
        return NULL;
    if (size > CHUNK_SIZE / 4)
        return map(size);
    pthread_mutex_lock(&meta.mutex);
    if (meta.left < size) {
        char *chunk = map(CHUNK_SIZE);

        if (chunk != NULL) {
            meta.next = chunk;
            meta.left = CHUNK_SIZE;
        }
    }
    if (meta.left >= size) {
        record = meta.next;
        meta.next += size;
        meta.left -= size;
    }
    pthread_mutex_unlock(&meta.mutex);
    return record;
}

void sp_meta_freeze(void)
{
    pthread_mutex_lock(&meta.mutex);
}

void sp_meta_thaw(void)
{
    pthread_mutex_unlock(&meta.mutex);
}
