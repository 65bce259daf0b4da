/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What an ELF file says of itself. */
#ifndef SP_ELF_H
#define SP_ELF_H

#include <stdbool.h>
#include <stddef.h>

/* What kind of file it is. */
enum sp_elf_kind {
    SP_ELF_NONE,    /* cannot be read, or is no ELF file; a script for instance */
    SP_ELF_FOREIGN, /* for another machine or word size, or too short to say */
    SP_ELF_DAMAGED, /* its program headers, or what they say of the loader, cannot be read */
    SP_ELF_STATIC,  /* asks for no dynamic loader */
    SP_ELF_DYNAMIC,
};

/*
 * Read a file. `interpreter` gets the path of the dynamic loader, "" unless the file is
 * DYNAMIC.
 * `*defines_out` says whether the file itself defines a function `symbol`, as far as its symbol
 * tables tell.
 */
enum sp_elf_kind sp_elf_read(const char *path, const char *symbol, char *interpreter,
                             size_t interpreter_size, bool *defines_out);

#endif /* SP_ELF_H */
