/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Appends events to the calling thread's ring. What happens to them then is writer.c's. */
#include "config.h"

#include "src/trace/record.h"

#include <pthread.h>
#include <string.h>

#include "src/trace/clock.h"
#include "src/trace/ring.h"
#include "src/util/meta.h"

_Atomic bool sp_trace_is_on;

static struct {
    pthread_once_t once;
    bool is_ready;   /* `key` is */
    bool is_counter; /* ticks are the processor's */
    pthread_key_t key;
    struct sp_trace_ring *_Atomic first;
    _Atomic uint32_t n_threads;
    _Atomic uint64_t n_lost; /* by threads without a ring */
} rings = {.once = PTHREAD_ONCE_INIT};

static __thread struct sp_trace_ring *mine __attribute__((tls_model("initial-exec")));

/* A thread ends: its ring is another's. A destructor that runs later may want one again. */
static void disown(void *ring)
{
    mine = NULL;
    atomic_store_explicit(&((struct sp_trace_ring *)ring)->is_owned, false,
                          memory_order_release);
}

static void setup(void)
{
    rings.is_counter = sp_trace_has_counter();
    rings.is_ready = pthread_key_create(&rings.key, disown) == 0;
}

bool sp_trace_rings_setup(void)
{
    pthread_once(&rings.once, setup);
    return rings.is_ready;
}

bool sp_trace_is_counter(void)
{
    return rings.is_counter;
}

struct sp_trace_ring *sp_trace_rings(void)
{
    return atomic_load_explicit(&rings.first, memory_order_acquire);
}

uint64_t sp_trace_n_lost(void)
{
    uint64_t n = atomic_load_explicit(&rings.n_lost, memory_order_relaxed);

    for (struct sp_trace_ring *ring = sp_trace_rings(); ring != NULL; ring = ring->next)
        n += atomic_load_explicit(&ring->n_lost, memory_order_relaxed);
    return n;
}

void sp_trace_rings_forget(void)
{
    mine = NULL;
    atomic_store_explicit(&rings.first, NULL, memory_order_relaxed);
}

/* ---- a thread's ring -------------------------------------------------------------------- */

static struct sp_trace_ring *claim_old(void)
{
    for (struct sp_trace_ring *ring = sp_trace_rings(); ring != NULL; ring = ring->next) {
        bool is_owned = false;

        if (atomic_compare_exchange_strong_explicit(&ring->is_owned, &is_owned, true,
                                                    memory_order_acquire, memory_order_relaxed))
            return ring;
    }
    return NULL;
}

static struct sp_trace_ring *make_ring(void)
{
    struct sp_trace_ring *ring = sp_meta_alloc(sizeof(*ring));

    if (ring == NULL)
        return NULL;
    atomic_init(&ring->is_owned, true);
    ring->next = sp_trace_rings();
    while (!atomic_compare_exchange_weak_explicit(&rings.first, &ring->next, ring,
                                                  memory_order_acq_rel, memory_order_acquire))
        continue;
    return ring;
}

static __attribute__((noinline)) struct sp_trace_ring *claim(void)
{
    struct sp_trace_ring *ring = claim_old();

    if (ring == NULL)
        ring = make_ring();
    if (ring == NULL)
        return NULL;
    if (pthread_setspecific(rings.key, ring) != 0) {
        atomic_store_explicit(&ring->is_owned, false, memory_order_release);
        return NULL;
    }
    ring->thread = 1 + atomic_fetch_add_explicit(&rings.n_threads, 1, memory_order_relaxed);
    mine = ring;
    return ring;
}

/* ---- entries ---------------------------------------------------------------------------- */

static void lose(struct sp_trace_ring *ring)
{
    uint64_t n = atomic_load_explicit(&ring->n_lost, memory_order_relaxed);

    atomic_store_explicit(&ring->n_lost, n + 1, memory_order_relaxed);
}

/* With room at `head`. */
static SP_ALWAYS_INLINE void put(struct sp_trace_ring *ring, uint64_t head, bool is_counter,
                                 struct sp_trace_entry entry)
{
    entry.ticks = sp_trace_ticks(is_counter);
    entry.who |= (uint64_t)(ring->thread & SP_TRACE_MAX_NUMBER) << 16;
    ring->entries[head % SP_TRACE_RING_SIZE] = entry;
    atomic_store_explicit(&ring->head, head + 1, memory_order_release);
}

/* The first event of a thread, a ring that seems full, the system's clock. */
static __attribute__((noinline)) void add_slowly(struct sp_trace_entry entry)
{
    struct sp_trace_ring *ring = mine != NULL ? mine : claim();
    uint64_t head;

    if (ring == NULL) {
        atomic_fetch_add_explicit(&rings.n_lost, 1, memory_order_relaxed);
        return;
    }
    head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    ring->known_tail = atomic_load_explicit(&ring->tail, memory_order_acquire);
    if (head - ring->known_tail < SP_TRACE_RING_SIZE)
        put(ring, head, rings.is_counter, entry);
    else
        lose(ring);
}

void sp_trace_add(uint64_t about, uint64_t address, uint64_t size, uint64_t stream,
                  uint64_t point)
{
    struct sp_trace_entry entry = {
        .who = about, .address = address, .size = size, .stream = stream, .point = point};
    struct sp_trace_ring *ring = mine;
    uint64_t head;

    if (SP_LIKELY(ring != NULL && rings.is_counter)) {
        head = atomic_load_explicit(&ring->head, memory_order_relaxed);
        if (SP_LIKELY(head - ring->known_tail < SP_TRACE_RING_SIZE)) {
            put(ring, head, true, entry);
            return;
        }
    }
    add_slowly(entry);
}

void sp_trace_add_name(uint32_t pool, const char *name)
{
    char text[SP_TRACE_NAME_PIECES * SP_TRACE_NAME_PIECE] = "";

    memcpy(text, name, strnlen(name, sizeof(text) - 1));
    for (unsigned piece = 0; piece < SP_TRACE_NAME_PIECES; piece++) {
        uint64_t words[4];

        memcpy(words, text + piece * SP_TRACE_NAME_PIECE, sizeof(words));
        sp_trace_add(sp_trace_about(SP_TRACE_NAME, piece, pool), words[0], words[1], words[2],
                     words[3]);
    }
}
