/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Two references that are no allocators. `list` is what one would write by hand: a small stack
 * of blocks for each size and thread, over a list that all threads share; it knows the size at
 * a free, splits nothing, checks nothing and counts nothing. `recycled` hands out the same
 * blocks again and again: what is left of a cycle when allocation costs nothing. */
#include "config.h"

#include "bench/host_backends.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

/* Sizes that a thread, and all together, can tell apart: a power of two, more than are used. */
#define LIST_CLASSES    64
#define LIST_CLASS_BITS 6
#define LIST_DEPTH      16

/* A thread's blocks of one size. n <= LIST_DEPTH; size 0: not in use. */
struct list_stack {
    size_t size; /* [bytes] */
    unsigned n;
    void *blocks[LIST_DEPTH];
};

/* A free block that all share begins with this. */
struct list_node {
    struct list_node *next;
};

struct list_shared {
    size_t size; /* [bytes] 0: not in use */
    struct list_node *first;
};

static __thread struct list_stack list_stacks[LIST_CLASSES];

static struct {
    pthread_mutex_t lock;
    struct list_shared classes[LIST_CLASSES];
} list_all = {.lock = PTHREAD_MUTEX_INITIALIZER};

static inline size_t slot_of(size_t size)
{
    return (size_t)((uint64_t)size * UINT64_C(0x9e3779b97f4a7c15) >> (64 - LIST_CLASS_BITS));
}

static inline struct list_stack *stack_of(size_t size)
{
    size_t slot = slot_of(size);

    while (list_stacks[slot].size != size) {
        if (list_stacks[slot].size == 0)
            list_stacks[slot].size = size;
        else
            slot = (slot + 1) % LIST_CLASSES;
    }
    return &list_stacks[slot];
}

static struct list_shared *shared_of_locked(size_t size)
{
    size_t slot = slot_of(size);

    while (list_all.classes[slot].size != size) {
        if (list_all.classes[slot].size == 0)
            list_all.classes[slot].size = size;
        else
            slot = (slot + 1) % LIST_CLASSES;
    }
    return &list_all.classes[slot];
}

/* Move up to `n` blocks from the shared list to the thread's stack. */
static void refill(struct list_stack *stack, unsigned n)
{
    struct list_shared *shared;

    pthread_mutex_lock(&list_all.lock);
    shared = shared_of_locked(stack->size);
    for (; n > 0 && shared->first != NULL; n--) {
        stack->blocks[stack->n++] = shared->first;
        shared->first = shared->first->next;
    }
    pthread_mutex_unlock(&list_all.lock);
}

/* Move `n` blocks from the thread's stack to the shared list. */
static void flush(struct list_stack *stack, unsigned n)
{
    struct list_shared *shared;

    pthread_mutex_lock(&list_all.lock);
    shared = shared_of_locked(stack->size);
    for (; n > 0; n--) {
        struct list_node *node = stack->blocks[--stack->n];

        node->next = shared->first;
        shared->first = node;
    }
    pthread_mutex_unlock(&list_all.lock);
}

static void *map(size_t size)
{
    void *block = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return block == MAP_FAILED ? NULL : block;
}

/* Not inlined: starpool's calls cross into a library, and so would this one's. */
static __attribute__((noinline)) void *list_alloc(size_t size)
{
    struct list_stack *stack = stack_of(size);

    if (stack->n == 0)
        refill(stack, LIST_DEPTH / 2);
    if (stack->n == 0)
        return map(size);
    return stack->blocks[--stack->n];
}

static __attribute__((noinline)) void list_free(void *ptr, size_t size)
{
    struct list_stack *stack = stack_of(size);

    if (stack->n == LIST_DEPTH)
        flush(stack, LIST_DEPTH / 2);
    stack->blocks[stack->n++] = ptr;
}

static void list_pairs(size_t size, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        list_free(list_alloc(size), size);
}

static void list_thread_end(void)
{
    for (size_t i = 0; i < LIST_CLASSES; i++) {
        if (list_stacks[i].n > 0)
            flush(&list_stacks[i], list_stacks[i].n);
    }
}

/* Unmap what all threads share. */
static void list_trim(void)
{
    list_thread_end();
    pthread_mutex_lock(&list_all.lock);
    for (size_t i = 0; i < LIST_CLASSES; i++) {
        struct list_shared *shared = &list_all.classes[i];

        while (shared->first != NULL) {
            struct list_node *node = shared->first;

            shared->first = node->next;
            munmap(node, shared->size);
        }
    }
    pthread_mutex_unlock(&list_all.lock);
}

static const char *always(void)
{
    return NULL;
}

const struct sp_backend sp_backend_list = {
    .name = "list",
    .open = always,
    .alloc = list_alloc,
    .free = list_free,
    .pairs = list_pairs,
    .trim = list_trim,
    .thread_end = list_thread_end,
};

/* A thread's blocks of one size, handed out in turn. */
static __thread struct {
    size_t size; /* [bytes] 0: no blocks */
    unsigned next;
    void *blocks[SP_WINDOW];
} recycled;

static void recycled_end(void)
{
    for (unsigned i = 0; i < SP_WINDOW; i++) {
        if (recycled.blocks[i] != NULL)
            munmap(recycled.blocks[i], recycled.size);
    }
    memset(&recycled, 0, sizeof(recycled));
}

static void *recycled_alloc(size_t size)
{
    if (recycled.size != size) {
        recycled_end();
        recycled.size = size;
        for (unsigned i = 0; i < SP_WINDOW; i++)
            recycled.blocks[i] = map(size);
    }
    return recycled.blocks[recycled.next++ % SP_WINDOW];
}

static void recycled_free(void *ptr, size_t size)
{
    (void)ptr, (void)size;
}

const struct sp_backend sp_backend_recycled = {
    .name = "recycled",
    .open = always,
    .alloc = recycled_alloc,
    .free = recycled_free,
    .trim = recycled_end,
    .thread_end = recycled_end,
};
