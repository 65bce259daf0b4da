/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the small StarPU programs of this folder share: named cases, one a run, and starpool's
 * functions looked up at run time, since the programs are linked with StarPU only. */
#ifndef STARPOOL_TEST_CASE_H
#define STARPOOL_TEST_CASE_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <starpool/pool.h>
#include <starpool/starpu.h>
#include <starpu.h>

/* Leave with status 1, naming the place, unless `condition` holds. */
#define CHECK(condition)                                                    \
    do {                                                                    \
        if (!(condition)) {                                                 \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            exit(1);                                                        \
        }                                                                   \
    } while (0)

#define MIB ((size_t)1 << 20)

/* The flags that StarPU's interfaces allocate with. */
#define USUAL_FLAGS ((int)(STARPU_MALLOC_PINNED | STARPU_MALLOC_COUNT))

struct test_case {
    const char *name;
    void (*run)(void);
};

/* A function of starpool's; the program ends if it is not there. */
static inline void *starpool(const char *name)
{
    void *function = dlsym(RTLD_DEFAULT, name);

    if (function == NULL) {
        fprintf(stderr, "%s is not loaded\n", name);
        exit(1);
    }
    return function;
}

/* The name of the pool that a live block came from; "" if it came from none. */
static inline const char *pool_of(const void *ptr)
{
    enum starpool_status (*find)(const void *, struct starpool_pool **) =
        (enum starpool_status(*)(const void *, struct starpool_pool **))starpool(
            "starpool_pool_of");
    enum starpool_status (*get_config)(struct starpool_pool *, struct starpool_pool_config *) =
        (enum starpool_status(*)(struct starpool_pool *, struct starpool_pool_config *))
            starpool("starpool_pool_get_config");
    struct starpool_pool_config config = {.struct_size = sizeof(config)};
    struct starpool_pool *pool;

    if (find(ptr, &pool) != STARPOOL_OK || get_config(pool, &config) != STARPOOL_OK)
        return "";
    return config.name;
}

static inline int is_ours(const void *ptr)
{
    return *pool_of(ptr) != '\0';
}

static inline void start(void)
{
    CHECK(starpu_init(NULL) == 0);
}

static inline int run_case(const struct test_case *cases, size_t n_cases, const char *name)
{
    size_t i;

    for (i = 0; i < n_cases; i++) {
        if (name != NULL && strcmp(cases[i].name, name) == 0) {
            cases[i].run();
            return 0;
        }
    }
    fprintf(stderr, "no such case\n");
    return 2;
}

#endif /* STARPOOL_TEST_CASE_H */
