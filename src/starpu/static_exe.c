/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Looks a function up in the symbol table of the program's file. The table that is loaded
 * (.dynsym) would not do: it does not list what a program keeps to itself. */
#include "config.h"

#include "src/starpu/static_exe.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file in memory; every offset is checked against its size. */
struct image {
    const unsigned char *bytes;
    size_t size;
};

static bool fits(const struct image *image, uint64_t offset, uint64_t length)
{
    return offset <= image->size && length <= image->size - offset;
}

/* The header of section `index`, or NULL. */
static const ElfW(Shdr) * section(const struct image *image, unsigned index)
{
    const ElfW(Ehdr) *header = (const void *)image->bytes;
    uint64_t offset = header->e_shoff + (uint64_t)index * sizeof(ElfW(Shdr));

    if (index >= header->e_shnum || header->e_shentsize != sizeof(ElfW(Shdr)))
        return NULL;
    if (header->e_shoff % _Alignof(ElfW(Shdr)) != 0 || !fits(image, offset, sizeof(ElfW(Shdr))))
        return NULL;
    return (const void *)(image->bytes + offset);
}

static bool table_defines(const struct image *image, const ElfW(Shdr) * table, const char *name)
{
    const ElfW(Shdr) *strings = section(image, table->sh_link);
    size_t length = strlen(name) + 1;
    uint64_t i;

    if (strings == NULL || !fits(image, table->sh_offset, table->sh_size) ||
        !fits(image, strings->sh_offset, strings->sh_size) ||
        table->sh_offset % _Alignof(ElfW(Sym)) != 0)
        return false;
    /* Most tables do not even have the name. */
    if (memmem(image->bytes + strings->sh_offset, strings->sh_size, name, length) == NULL)
        return false;
    for (i = 0; i < table->sh_size / sizeof(ElfW(Sym)); i++) {
        const ElfW(Sym) *symbol = (const ElfW(Sym) *)(image->bytes + table->sh_offset) + i;

        if (symbol->st_shndx != SHN_UNDEF && symbol->st_name < strings->sh_size &&
            strings->sh_size - symbol->st_name >= length &&
            memcmp(image->bytes + strings->sh_offset + symbol->st_name, name, length) == 0)
            return true;
    }
    return false;
}

static bool image_defines(const struct image *image, const char *name)
{
    const ElfW(Ehdr) *header = (const void *)image->bytes;
    unsigned i;

    if (image->size < sizeof(*header) || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_ident[EI_CLASS] != (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32))
        return false;
    for (i = 0; i < header->e_shnum; i++) {
        const ElfW(Shdr) *table = section(image, i);

        if (table != NULL && table->sh_type == SHT_SYMTAB)
            return table_defines(image, table, name);
    }
    return false;
}

bool sp_static_exe_defines(const char *name)
{
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    bool is_defined = false;
    struct stat status;
    void *bytes;

    if (fd < 0)
        return false;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
        bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (bytes != MAP_FAILED) {
            struct image image = {.bytes = bytes, .size = (size_t)status.st_size};

            is_defined = image_defines(&image, name);
            munmap(bytes, (size_t)status.st_size);
        }
    }
    close(fd);
    return is_defined;
}
