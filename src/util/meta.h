/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Memory for our own records: zeroed, aligned to 64 bytes, never given back. Records that live
 * here can be looked at without a lock, whoever owns them by then. */
#ifndef SP_META_H
#define SP_META_H

#include <stddef.h>

#include <starpool/base.h>

/* `size` bytes, or NULL. May make a system call. Threads: any, at once. */
STARPOOL_API void *sp_meta_alloc(size_t size);

/* Hold the allocator still around a fork. */
void sp_meta_freeze(void);
void sp_meta_thaw(void);

#endif /* SP_META_H */
