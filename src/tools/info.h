/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `starpool info`: what it shows, as text (info.c) and as JSON (info_json.c). */
#ifndef SP_INFO_H
#define SP_INFO_H

#include <stdbool.h>
#include <stdint.h>

#include <starpool/numa.h>

#include "src/tools/ask.h"
#include "src/tools/info_driver.h"

/* Everything that is shown, collected before anything is printed. */
struct sp_info {
    const struct starpool_topology *topology;
    bool is_binding_refused; /* the system refuses to bind memory to a node */
    struct sp_info_driver driver;
    bool has_starpu;   /* StarPU was asked */
    struct sp_ask ask; /* only if has_starpu */
};

/* Ways in, for people and programs alike. */
struct sp_info_way {
    const char *name;
    const char *how;
};

#define SP_INFO_N_WAYS 4

extern const struct sp_info_way sp_info_ways[SP_INFO_N_WAYS];

/* argv[0] is "info". */
int sp_info_main(int argc, char **argv);

const char *sp_info_kind(enum starpool_node_kind kind);
const char *sp_info_origin(int origin); /* an enum sp_option_origin */

/* The room of a node; false if it cannot be said. */
bool sp_info_room(int os_index, uint64_t *bytes_out);

void sp_info_write_json(const struct sp_info *info);

#endif /* SP_INFO_H */
