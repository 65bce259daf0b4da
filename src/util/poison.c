/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* AddressSanitizer's run time is looked for by weak references: it is there if the program was
 * built with it, however this library was. Valgrind is asked by client requests, which cost a
 * few instructions and need no library. */
#include "config.h"

#include "src/util/poison.h"

#include "src/util/util.h"

#if HAVE_VALGRIND_MEMCHECK_H
#include <valgrind/memcheck.h>
#else
#define RUNNING_ON_VALGRIND                                   0
#define VALGRIND_MALLOCLIKE_BLOCK(ptr, size, redzone, zeroed) ((void)(ptr), (void)(size))
#define VALGRIND_FREELIKE_BLOCK(ptr, redzone)                 ((void)(ptr))
#define VALGRIND_MAKE_MEM_NOACCESS(ptr, size)                 ((void)(ptr), (void)(size))
#define VALGRIND_MAKE_MEM_DEFINED(ptr, size)                  ((void)(ptr), (void)(size))
#endif

extern void __asan_poison_memory_region(const volatile void *ptr, size_t size)
    __attribute__((weak));
extern void __asan_unpoison_memory_region(const volatile void *ptr, size_t size)
    __attribute__((weak));

bool sp_poison_is_on;

static bool has_asan(void)
{
    return __asan_poison_memory_region != NULL && __asan_unpoison_memory_region != NULL;
}

void sp_poison_setup(void)
{
    sp_poison_is_on = has_asan() || RUNNING_ON_VALGRIND;
}

void sp_poison_block_live(void *ptr, size_t size)
{
    if (has_asan())
        __asan_unpoison_memory_region(ptr, size);
    VALGRIND_MALLOCLIKE_BLOCK(ptr, size, 0, 0);
}

void sp_poison_block_freed(void *ptr, size_t size)
{
    if (has_asan())
        __asan_poison_memory_region(ptr, size);
    VALGRIND_FREELIKE_BLOCK(ptr, 0);
}

void sp_poison_piece_added(uintptr_t base, size_t size)
{
    if (has_asan())
        __asan_poison_memory_region((void *)base, size);
    VALGRIND_MAKE_MEM_NOACCESS(base, size);
}

void sp_poison_piece_removed(uintptr_t base, size_t size)
{
    if (has_asan())
        __asan_unpoison_memory_region((void *)base, size);
    VALGRIND_MAKE_MEM_DEFINED(base, size);
}
