/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tell AddressSanitizer and valgrind which bytes a program may touch, so that a use after free
 * of pool memory is caught as if it came from malloc(). */
#ifndef SP_POISON_H
#define SP_POISON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* True if one of them watches this process. */
extern bool sp_poison_is_on;

/* Look whether one does; once a process. */
void sp_poison_setup(void);

void sp_poison_block_live(void *ptr, size_t size);
void sp_poison_block_freed(void *ptr, size_t size);

/* Memory that has become a pool's and no block's; memory that goes back to the system. */
void sp_poison_piece_added(uintptr_t base, size_t size);
void sp_poison_piece_removed(uintptr_t base, size_t size);

#endif /* SP_POISON_H */
