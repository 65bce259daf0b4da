/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A program with StarPU malloc hooks of its own, set before or while starpool's blocks are out.
 * Run with the plugin preloaded: hooks. */
#include "case.h"

#include <errno.h>

static unsigned n_mallocs, n_frees;

static int own_malloc(unsigned node, void **ptr_out, size_t size, int flags)
{
    (void)node, (void)flags;
    n_mallocs++;
    *ptr_out = malloc(size + (size == 0));
    return *ptr_out == NULL ? -ENOMEM : 0;
}

static int own_free(unsigned node, void *ptr, size_t size, int flags)
{
    (void)node, (void)size, (void)flags;
    n_frees++;
    free(ptr);
    return 0;
}

int main(void)
{
    void *ours, *own, *node_block;

    CHECK(starpu_malloc(&ours, 1000) == 0 && is_ours(ours));
    starpu_malloc_set_hooks(own_malloc, own_free);
    start();
    CHECK(starpu_malloc(&own, 1000) == 0 && !is_ours(own) && n_mallocs == 1);
    node_block = (void *)starpu_malloc_on_node_flags(STARPU_MAIN_RAM, 1000, USUAL_FLAGS);
    CHECK(node_block != NULL && !is_ours(node_block) && n_mallocs == 2);
    /* Each block goes back to whom it came from. */
    starpu_free(ours);
    CHECK(!is_ours(ours) && n_frees == 0);
    starpu_free_on_node_flags(STARPU_MAIN_RAM, (uintptr_t)node_block, 1000, USUAL_FLAGS);
    CHECK(n_frees == 1);
    starpu_free(own);
    CHECK(n_frees == 2);
    starpu_malloc_set_hooks(NULL, NULL);
    CHECK(starpu_malloc(&ours, 1000) == 0 && is_ours(ours) && n_mallocs == 2);
    starpu_free(ours);
    starpu_shutdown();
    return 0;
}
