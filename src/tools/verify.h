/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `starpool verify`: of a trace (verify.c), and of where a process's pages are
 * (verify_pages.c).
 */
#ifndef SP_TOOLS_VERIFY_H
#define SP_TOOLS_VERIFY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "src/tools/tools.h"

#define SP_VERIFY_NODES 1024

/* A mapping with a policy of its own, and the pages that it has. */
struct sp_verify_mapping {
    char address[32];
    char policy[64];
    bool has_wish;                            /* the policy names nodes */
    bool is_wanted[SP_VERIFY_NODES];          /* those */
    uint64_t n_pages[SP_VERIFY_NODES];        /* by node */
    uint64_t n_right, n_elsewhere, page_size; /* [bytes] */
};

/* Read a line of numa_maps. False if it says of no policy that names nodes. */
bool sp_verify_parse(const char *line, struct sp_verify_mapping *mapping);

/* The pages of a process; `argv` of `verify` is read already. */
enum sp_exit sp_verify_pages(const char *process, bool is_json);

/* argv[0] is "verify". */
int sp_verify_main(int argc, char **argv);

#endif /* SP_TOOLS_VERIFY_H */
