/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How our own words for the driver's ABI are compared with cuda.h, while compiling. */
#ifndef SP_ABI_CHECK_H
#define SP_ABI_CHECK_H

#include <stddef.h>

#define SAME(ours, theirs)  _Static_assert((int)(ours) == (int)(theirs), #ours)
#define SIZE(ours, theirs)  _Static_assert(sizeof(ours) == sizeof(theirs), #ours)
#define ALIGN(ours, theirs) _Static_assert(_Alignof(ours) == _Alignof(theirs), #ours)
#define END(type, member)   (offsetof(type, member) + sizeof(__typeof__(((type *)0)->member)[1]))
#define MEMBER(ours, our_member, theirs, their_member)                             \
    _Static_assert(offsetof(ours, our_member) == offsetof(theirs, their_member) && \
                       END(ours, our_member) == END(theirs, their_member),         \
                   #ours "." #our_member)
#define SAME_TYPE(ours, theirs) \
    _Static_assert(__builtin_types_compatible_p(ours, theirs), #ours)

#endif /* SP_ABI_CHECK_H */
