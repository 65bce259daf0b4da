/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Programs that StarPU is linked into, where no shared object can stand in front of it. */
#ifndef SP_STATIC_EXE_H
#define SP_STATIC_EXE_H

#include <stdbool.h>

/* True if the program's own file has a symbol table that defines the function `name`. Reads the
 * file's headers, and the table only where the file was not stripped. */
bool sp_static_exe_defines(const char *name);

#endif /* SP_STATIC_EXE_H */
