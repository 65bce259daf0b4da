/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A program on other_starpu.c. Its argument says whether starpool is to serve: small served, or
 * small alone. */
#include "case.h"

int main(int argc, char **argv)
{
    int is_served = argc > 1 && strcmp(argv[1], "served") == 0;
    void *ptr;

    start();
    CHECK(starpu_malloc(&ptr, 1000) == 0);
    CHECK(is_ours(ptr) == is_served);
    starpu_free(ptr);
    ptr = (void *)starpu_malloc_on_node_flags(STARPU_MAIN_RAM, 1000, USUAL_FLAGS);
    CHECK(ptr != NULL && is_ours(ptr) == is_served);
    starpu_free_on_node_flags(STARPU_MAIN_RAM, (uintptr_t)ptr, 1000, USUAL_FLAGS);
    starpu_shutdown();
    return 0;
}
