/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Blocks through each of StarPU's doors, and what goes wrong at them. Run with the plugin
 * preloaded: doors CASE. */
#include "case.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define GRAIN 256

static void *node_malloc(unsigned node, size_t size)
{
    return (void *)starpu_malloc_on_node_flags(node, size, USUAL_FLAGS);
}

static void node_free(unsigned node, void *ptr, size_t size)
{
    starpu_free_on_node_flags(node, (uintptr_t)ptr, size, USUAL_FLAGS);
}

/* Every public way to ask and to give back, crossed where StarPU itself crosses them. */
static void each_door(void)
{
    void *ptr;

    start();
    CHECK(starpu_malloc(&ptr, 1000) == 0 && is_ours(ptr));
    memset(ptr, 1, 1000);
    starpu_free(ptr);
    CHECK(starpu_malloc_flags(&ptr, 5 * MIB, USUAL_FLAGS) == 0 && is_ours(ptr));
    memset(ptr, 1, 5 * MIB);
    starpu_free_flags(ptr, 5 * MIB, USUAL_FLAGS);
    ptr = (void *)starpu_malloc_on_node(STARPU_MAIN_RAM, 1000);
    CHECK(is_ours(ptr));
    starpu_free_on_node(STARPU_MAIN_RAM, (uintptr_t)ptr, 1000);
    ptr = node_malloc(STARPU_MAIN_RAM, 1000);
    CHECK(is_ours(ptr));
    node_free(STARPU_MAIN_RAM, ptr, 1000);
    /* In by the interposer, out by the hook, and the other way round. */
    ptr = (void *)starpu_malloc_on_node_flags(STARPU_MAIN_RAM, 1000, 0);
    CHECK(is_ours(ptr));
    starpu_free_flags(ptr, 1000, 0);
    CHECK(!is_ours(ptr));
    CHECK(starpu_malloc_flags(&ptr, 1000, 0) == 0 && is_ours(ptr));
    starpu_free_on_node_flags(STARPU_MAIN_RAM, (uintptr_t)ptr, 1000, 0);
    CHECK(!is_ours(ptr));
    starpu_shutdown();
}

/* dim is never believed on free: 0 from starpu_free, or anything. */
static void sizes(void)
{
    void *one, *two;
    size_t size;

    start();
    CHECK(starpu_malloc(&one, 0) == 0 && starpu_malloc(&two, 0) == 0);
    CHECK(one != NULL && two != NULL && one != two && is_ours(one));
    starpu_free_flags(one, 1, STARPU_MALLOC_PINNED);
    starpu_free(two);
    one = node_malloc(STARPU_MAIN_RAM, 0);
    two = node_malloc(STARPU_MAIN_RAM, 0);
    CHECK(one != NULL && two != NULL && one != two);
    node_free(STARPU_MAIN_RAM, one, 0);
    node_free(STARPU_MAIN_RAM, two, 0);
    for (size = 1; size < 40 * MIB; size = size * 3 + 1) {
        CHECK(starpu_malloc(&one, size) == 0);
        memset(one, 7, size);
        starpu_free_flags(one, 12345, STARPU_MALLOC_PINNED);
        CHECK(!is_ours(one));
    }
    CHECK(starpu_free(NULL) == 0);
    starpu_shutdown();
}

static void too_large(void)
{
    void *ptr = &ptr;

    start();
    CHECK(node_malloc(STARPU_MAIN_RAM, SIZE_MAX) == NULL);
    CHECK(node_malloc(STARPU_MAIN_RAM, SIZE_MAX / 2) == NULL);
    CHECK(starpu_malloc(&ptr, SIZE_MAX) != 0);
    CHECK(ptr == NULL);
    starpu_shutdown();
}

static void alignment(void)
{
    void *ptr;
    size_t size;

    start();
    for (size = 1; size < 3 * MIB; size *= 3) {
        ptr = node_malloc(STARPU_MAIN_RAM, size);
        CHECK((uintptr_t)ptr % GRAIN == 0);
        node_free(STARPU_MAIN_RAM, ptr, size);
    }
    starpu_malloc_set_align(16384);
    starpu_malloc_set_align(64);
    for (size = 1; size < 3 * MIB; size *= 3) {
        CHECK(starpu_malloc(&ptr, size) == 0 && (uintptr_t)ptr % 16384 == 0);
        starpu_free(ptr);
        ptr = node_malloc(STARPU_MAIN_RAM, size);
        CHECK((uintptr_t)ptr % 16384 == 0);
        node_free(STARPU_MAIN_RAM, ptr, size);
    }
    starpu_shutdown();
}

/* With STARPU_LIMIT_CPU_MEM=64 and a strict pool of 16 MiB. */
static void budget(void)
{
    starpu_ssize_t before, all;
    void *ptrs[64];
    unsigned n = 0, i, round;

    start();
    all = starpu_memory_get_available(STARPU_MAIN_RAM);
    CHECK(all == (starpu_ssize_t)(64 * MIB));
    while (n < 64 && (ptrs[n] = node_malloc(STARPU_MAIN_RAM, MIB)) != NULL)
        n++;
    CHECK(n > 0 && n <= 16);
    before = starpu_memory_get_available(STARPU_MAIN_RAM);
    CHECK(before == all - (starpu_ssize_t)(n * MIB));
    for (round = 0; round < 20; round++)
        CHECK(node_malloc(STARPU_MAIN_RAM, MIB + round % 2) == NULL);
    CHECK(node_malloc(STARPU_MAIN_RAM, SIZE_MAX) == NULL);
    CHECK(starpu_memory_get_available(STARPU_MAIN_RAM) == before);
    /* What came without COUNT goes without COUNT. */
    node_free(STARPU_MAIN_RAM, ptrs[--n], MIB);
    before = starpu_memory_get_available(STARPU_MAIN_RAM);
    ptrs[n] = (void *)starpu_malloc_on_node_flags(STARPU_MAIN_RAM, MIB, 0);
    CHECK(ptrs[n] != NULL && starpu_memory_get_available(STARPU_MAIN_RAM) == before);
    starpu_free_on_node_flags(STARPU_MAIN_RAM, (uintptr_t)ptrs[n], MIB, 0);
    for (i = 0; i < n; i++)
        node_free(STARPU_MAIN_RAM, ptrs[i], MIB);
    CHECK(starpu_memory_get_available(STARPU_MAIN_RAM) == all);
    /* StarPU's own limit still comes first. */
    CHECK(node_malloc(STARPU_MAIN_RAM, 65 * MIB) == NULL);
    CHECK(starpu_memory_get_available(STARPU_MAIN_RAM) == all);
    starpu_shutdown();
}

/* The same pool: a request that came by the hook is never refused. */
static void hook_overflows(void)
{
    void *ptrs[32];
    unsigned i;

    start();
    for (i = 0; i < 32; i++) {
        CHECK(starpu_malloc(&ptrs[i], MIB) == 0 && is_ours(ptrs[i]));
        memset(ptrs[i], 1, MIB);
    }
    CHECK(strcmp(pool_of(ptrs[31]), "StarPU overflow") == 0);
    for (i = 0; i < 32; i++)
        starpu_free(ptrs[i]);
    starpu_shutdown();
}

/* A strict pool of 16 MiB again, and more sizes than are told apart. */
static void many_sizes(void)
{
    unsigned i;

    start();
    for (i = 0; i < 16; i++)
        CHECK(node_malloc(STARPU_MAIN_RAM, 20 * MIB + i) == NULL);
    for (i = 0; i < 7; i++)
        CHECK(node_malloc(STARPU_MAIN_RAM, 30 * MIB) == NULL);
    starpu_shutdown();
}

/* With STARPOOL_LOCK=1; exit status 77 where the limit does not hold. */
static void locked(void)
{
    struct rlimit limit = {MIB, MIB};
    void *ptr, *other;

    start();
    CHECK(setrlimit(RLIMIT_MEMLOCK, &limit) == 0);
    /* The limit does not bind root. */
    CHECK(geteuid() != 0 || seteuid(65534) == 0);
    ptr = malloc(8 * MIB);
    if (ptr == NULL || mlock(ptr, 8 * MIB) == 0)
        exit(77);
    free(ptr);
    CHECK(starpu_malloc(&ptr, 8 * MIB) == 0);
    other = node_malloc(STARPU_MAIN_RAM, 8 * MIB);
    CHECK(strcmp(pool_of(ptr), "StarPU overflow") == 0);
    CHECK(strcmp(pool_of(other), "StarPU overflow") == 0);
    memset(ptr, 1, 8 * MIB);
    starpu_free(ptr);
    node_free(STARPU_MAIN_RAM, other, 8 * MIB);
    starpu_shutdown();
}

/* With the spill policy the interposer overflows as well. */
static void interposer_overflows(void)
{
    void *ptrs[32];
    unsigned i;

    start();
    for (i = 0; i < 32; i++) {
        ptrs[i] = node_malloc(STARPU_MAIN_RAM, MIB);
        CHECK(ptrs[i] != NULL && is_ours(ptrs[i]));
    }
    CHECK(strcmp(pool_of(ptrs[31]), "StarPU overflow") == 0);
    for (i = 0; i < 32; i++)
        node_free(STARPU_MAIN_RAM, ptrs[i], MIB);
    starpu_shutdown();
}

static void late_frees(void)
{
    void *one, *two, *three;

    start();
    CHECK(starpu_malloc(&one, MIB) == 0 && starpu_malloc(&two, 100) == 0);
    three = (void *)starpu_malloc_on_node_flags(STARPU_MAIN_RAM, MIB, 0);
    starpu_shutdown();
    memset(one, 1, MIB);
    memset(three, 1, MIB);
    starpu_free(one);
    starpu_free_flags(two, 100, STARPU_MALLOC_PINNED);
    starpu_free_on_node_flags(STARPU_MAIN_RAM, (uintptr_t)three, MIB, 0);
    CHECK(!is_ours(one) && !is_ours(two) && !is_ours(three));
}

static void starts_again(void)
{
    void *kept, *ptr;
    const char *name;
    int round;

    CHECK(starpu_malloc(&kept, MIB) == 0 && is_ours(kept));
    name = pool_of(kept);
    for (round = 0; round < 3; round++) {
        start();
        ptr = node_malloc(STARPU_MAIN_RAM, MIB);
        CHECK(ptr != NULL && pool_of(ptr) == name);
        node_free(STARPU_MAIN_RAM, ptr, MIB);
        starpu_shutdown();
    }
    starpu_free(kept);
}

/* A double, an interior and a foreign free, by both doors: StarPU's budget and the neighbours
 * stay intact. */
static void wrong_frees(void)
{
    static void *plain; /* Static, because no analyzer sees that StarPU frees an address. */
    unsigned char *one, *two;
    starpu_ssize_t all;

    start();
    all = starpu_memory_get_available(STARPU_MAIN_RAM);
    one = node_malloc(STARPU_MAIN_RAM, MIB);
    two = node_malloc(STARPU_MAIN_RAM, MIB);
    memset(two, 5, MIB);
    node_free(STARPU_MAIN_RAM, one + 4096, MIB);
    CHECK(is_ours(one));
    node_free(STARPU_MAIN_RAM, one, MIB);
    node_free(STARPU_MAIN_RAM, one, MIB);
    starpu_free_flags(one, MIB, 0);
    /* StarPU gives these bytes back to its budget, whatever the hook thinks of the address. */
    starpu_free_flags(one, MIB, (int)STARPU_MALLOC_COUNT);
    starpu_free_flags(two + 4096, 3 * MIB, USUAL_FLAGS);
    CHECK(starpu_memory_get_available(STARPU_MAIN_RAM) == all - (starpu_ssize_t)MIB);
    CHECK(two[0] == 5 && two[MIB - 1] == 5);
    node_free(STARPU_MAIN_RAM, two, MIB);
    CHECK(starpu_memory_get_available(STARPU_MAIN_RAM) == all);
    /* Plain memory goes where StarPU would have sent it. */
    starpu_free(malloc(100));
    plain = malloc(100);
    starpu_free_on_node_flags(STARPU_MAIN_RAM, (uintptr_t)plain, 100, 0);
    starpu_shutdown();
}

static void *churn(void *arg)
{
    unsigned i;

    (void)arg;
    for (i = 0; i < 20000; i++) {
        size_t size = (size_t)(1 + i % 37) * 4099;
        void *ptr = node_malloc(STARPU_MAIN_RAM, size);

        CHECK(ptr != NULL);
        *(volatile unsigned char *)ptr = 1;
        node_free(STARPU_MAIN_RAM, ptr, size);
    }
    return NULL;
}

static void foreign_thread(void)
{
    starpu_ssize_t before;
    pthread_t threads[3];
    unsigned i;

    start();
    before = starpu_memory_get_available(STARPU_MAIN_RAM);
    for (i = 0; i < 3; i++)
        CHECK(pthread_create(&threads[i], NULL, churn, NULL) == 0);
    for (i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    CHECK(starpu_memory_get_available(STARPU_MAIN_RAM) == before);
    starpu_shutdown();
}

/* The child frees what it has inherited, and exits by exit(). */
static void fork_while_allocating(void)
{
    pthread_t thread;
    void *ptr, *other;
    int status, round;

    start();
    CHECK(starpu_malloc(&ptr, 3 * MIB) == 0);
    other = (void *)starpu_malloc_on_node_flags(STARPU_MAIN_RAM, MIB, 0);
    CHECK(pthread_create(&thread, NULL, churn, NULL) == 0);
    for (round = 0; round < 20; round++) {
        pid_t child = fork();

        if (child == 0) {
            starpu_free(ptr);
            starpu_free_on_node_flags(STARPU_MAIN_RAM, (uintptr_t)other, MIB, 0);
            exit(0);
        }
        CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    }
    pthread_join(thread, NULL);
    starpu_free(ptr);
    starpu_free_on_node_flags(STARPU_MAIN_RAM, (uintptr_t)other, MIB, 0);
    starpu_shutdown();
}

/* With two nodes, NUMA 0 and NUMA 1, each with a worker. */
static void two_nodes(void)
{
    char name[64];
    unsigned node;
    void *ptr;

    start();
    CHECK(starpu_memory_nodes_get_numa_count() == 2);
    for (node = 0; node < 2; node++) {
        int os_index = starpu_memory_nodes_numa_devid_to_id(node);

        snprintf(name, sizeof(name), "StarPU node %u (NUMA %d)", node, os_index);
        ptr = node_malloc(node, MIB);
        CHECK(ptr != NULL && strcmp(pool_of(ptr), name) == 0);
        memset(ptr, 1, MIB);
        /* The node is not believed on free either. */
        starpu_free_on_node_flags(1 - node, (uintptr_t)ptr, MIB, 0);
        CHECK(!is_ours(ptr));
        starpu_memory_deallocate(node, MIB);
    }
    CHECK(starpu_malloc(&ptr, 10) == 0 && strstr(pool_of(ptr), "StarPU node 0") != NULL);
    starpu_free(ptr);
    /* May be mapped by hwloc: kept, and said at the end. */
    starpu_free(malloc(10));
    starpu_shutdown();
}

static void pool_question(void)
{
    enum starpool_status (*pool_of_node)(unsigned, struct starpool_pool **) =
        (enum starpool_status(*)(unsigned, struct starpool_pool **))starpool(
            "starpool_starpu_pool");
    void (*destroy)(struct starpool_pool *) =
        (void (*)(struct starpool_pool *))starpool("starpool_pool_destroy");
    struct starpool_pool *pool = NULL;
    void *ptr;

    CHECK(pool_of_node(0, &pool) == STARPOOL_ENOTINIT);
    start();
    CHECK(pool_of_node(0, NULL) == STARPOOL_EINVAL);
    CHECK(pool_of_node(1000, &pool) == STARPOOL_EDEVICE && pool == NULL);
    CHECK(pool_of_node(STARPU_MAIN_RAM, &pool) == STARPOOL_OK && pool != NULL);
    destroy(pool);
    ptr = node_malloc(STARPU_MAIN_RAM, 1000);
    CHECK(strcmp(pool_of(ptr), "StarPU node 0 (HOST)") == 0);
    node_free(STARPU_MAIN_RAM, ptr, 1000);
    starpu_shutdown();
    CHECK(pool_of_node(0, &pool) == STARPOOL_ENOTINIT);
}

/* Asks StarPU for nothing. */
static void idle(void)
{
    start();
    starpu_shutdown();
}

/* Ends in another folder than it began in. */
static void elsewhere(void)
{
    CHECK(chdir("/proc") == 0);
    each_door();
}

/* Asks nothing of starpool. */
static void plain(void)
{
    void *ptr;

    start();
    CHECK(starpu_malloc(&ptr, 1000) == 0);
    starpu_free(ptr);
    ptr = node_malloc(STARPU_MAIN_RAM, 1000);
    CHECK(ptr != NULL);
    node_free(STARPU_MAIN_RAM, ptr, 1000);
    starpu_shutdown();
}

static const struct test_case cases[] = {
    {"plain", plain},
    {"idle", idle},
    {"elsewhere", elsewhere},
    {"each_door", each_door},
    {"sizes", sizes},
    {"too_large", too_large},
    {"alignment", alignment},
    {"budget", budget},
    {"many_sizes", many_sizes},
    {"locked", locked},
    {"hook_overflows", hook_overflows},
    {"interposer_overflows", interposer_overflows},
    {"late_frees", late_frees},
    {"starts_again", starts_again},
    {"wrong_frees", wrong_frees},
    {"foreign_thread", foreign_thread},
    {"fork_while_allocating", fork_while_allocating},
    {"two_nodes", two_nodes},
    {"pool_question", pool_question},
};

int main(int argc, char **argv)
{
    return run_case(cases, sizeof(cases) / sizeof(cases[0]), argc > 1 ? argv[1] : NULL);
}
