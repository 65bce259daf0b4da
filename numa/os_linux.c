/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The system calls behind struct sp_os. mlock is called by its number: the address and thread
 * sanitizers make the function of that name do nothing. */
#include "config.h"

#include "numa/populate.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "numa/procfile.h"
#include "numa/verify.h"
#include "src/util/util.h"

/* MADV_POPULATE_WRITE, Linux 5.14; older headers lack it. */
#define ADVICE_POPULATE_WRITE 23

/* Write to each page. Only fresh pages come here, so that zero is what they hold. */
static void touch(char *base, size_t size)
{
    size_t page_size = (size_t)sysconf(_SC_PAGESIZE);

    for (size_t i = 0; i < size; i += page_size)
        *(volatile char *)(base + i) = 0;
}

static int linux_populate(void *base, size_t size, bool may_touch)
{
    int result;

    do {
        result = madvise(base, size, ADVICE_POPULATE_WRITE);
    } while (result != 0 && (errno == EINTR || errno == EAGAIN));
    if (result == 0)
        return 0;
    /* EINVAL: a kernel that does not know it; ENOSYS, EPERM: a sandbox that does not. */
    if (!may_touch || (errno != EINVAL && errno != ENOSYS && errno != EPERM))
        return errno;
    touch(base, size);
    return 0;
}

static int linux_lock(void *base, size_t size)
{
    return syscall(SYS_mlock, base, size) == 0 ? 0 : errno;
}

static size_t linux_free_huge(int node, size_t size)
{
    char path[128];
    uint64_t n_free;

    if (node >= 0)
        (void)snprintf(
            path, sizeof(path),
            "sys/devices/system/node/node%d/hugepages/hugepages-%zukB/free_hugepages", node,
            size / SP_KIB);
    else
        (void)snprintf(path, sizeof(path), "sys/kernel/mm/hugepages/hugepages-%zukB/%s",
                       size / SP_KIB, "free_hugepages");
    return sp_file_number("", path, &n_free) ? sp_scaled(n_free, size) : 0;
}

const struct sp_os sp_os_linux = {
    .room = sp_room_query_sources,
    .bind = sp_topo_bind,
    .populate = linux_populate,
    .lock = linux_lock,
    .verify = sp_verify_range,
    .free_huge = linux_free_huge,
};
