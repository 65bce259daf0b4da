/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Memory that several processes share: a file in memory that can neither shrink nor grow, with
 * an identity in its first page, and the 64 bytes that name it to another process of the same
 * user. Whatever comes from outside, bytes or descriptor, is checked before it is used. */
#ifndef SP_SHARED_H
#define SP_SHARED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <starpool/base.h>

#define SP_SHARED_HANDLE 64                   /* [bytes] of a handle */
#define SP_SHARED_DATA   ((uint64_t)64 << 10) /* [bytes] where the data begins in the file */
#define SP_SHARED_WORDS  448                  /* words of the first page that are the user's */

enum sp_shared_kind { SP_SHARED_EVENT = 1, SP_SHARED_MEMORY, SP_SHARED_POOL };

/* The first page of the file. Another process may write it: what is read there is checked. */
struct sp_shared_page {
    uint32_t magic, kind;
    uint64_t size; /* [bytes] of data */
    unsigned char identity[16];
    uint64_t words[SP_SHARED_WORDS]; /* 0 at first; use atomics */
};

struct sp_shared {
    int file;
    enum sp_shared_kind kind;
    uint64_t size; /* [bytes] of data, from SP_SHARED_DATA on; checked against the file */
    unsigned char identity[16];
    struct sp_shared_page *page;
};

/* What a handle says beside the name of the file; meant for the user's checks. */
struct sp_shared_part {
    uint64_t offset,
        size;      /* [bytes] within the data; offset + size <= the file's size of data */
    uint64_t word; /* the user's own */
};

/* A new file with `size` bytes of data (0 is fine), all zero. ENOMEM. */
STARPOOL_CHECK enum starpool_status sp_shared_create(enum sp_shared_kind kind, uint64_t size,
                                                     struct sp_shared *shared_out);

/* The handle of a part. Valid as long as this process has the file open under this descriptor.
 */
void sp_shared_export(const struct sp_shared *shared, const struct sp_shared_part *part,
                      void *handle_out);

/* Read a handle: false if it is damaged, is of another kind, or its numbers are absurd. The
 * identity can be compared with that of a file that is open already. */
bool sp_shared_read(enum sp_shared_kind kind, const void *handle,
                    struct sp_shared_part *part_out, unsigned char identity_out[16]);

/* Open the file that a handle names. EINVAL if the handle or the file is not what it should be,
 * or is gone; ENOMEM. */
STARPOOL_CHECK enum starpool_status sp_shared_open(enum sp_shared_kind kind, const void *handle,
                                                   struct sp_shared_part *part_out,
                                                   struct sp_shared *shared_out);

/* The same for a descriptor that another process has sent; it is not taken over. */
STARPOOL_CHECK enum starpool_status sp_shared_open_file(enum sp_shared_kind kind, int file,
                                                        struct sp_shared *shared_out);

void sp_shared_close(struct sp_shared *shared);

#endif /* SP_SHARED_H */
