/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads ELF files. They are not trusted: every offset is checked against the file's size. A
 * file that is damaged says less, and the loader gives the verdict. */
#include "config.h"

#include "src/tools/elf.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file in memory. */
struct image {
    const char *data;
    size_t size;
};

/* Our own header, from the linker: what the plugin is built for. */
extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

/* `count` records of `size` bytes at `offset`; NULL if they do not lie in the file, aligned. */
static const void *records(const struct image *image, uint64_t offset, uint64_t count,
                           size_t size)
{
    if (offset > image->size || count > (image->size - offset) / size)
        return NULL;
    if (size > 1 && offset % sizeof(uint64_t) != 0)
        return NULL;
    return image->data + offset;
}

static bool is_for_us(const ElfW(Ehdr) * header)
{
    return header->e_ident[EI_CLASS] == __ehdr_start.e_ident[EI_CLASS] &&
           header->e_ident[EI_DATA] == __ehdr_start.e_ident[EI_DATA] &&
           header->e_machine == __ehdr_start.e_machine;
}

/* Copy the loader's path, if the program headers name one. */
static enum sp_elf_kind read_interpreter(const struct image *image, const ElfW(Ehdr) * header,
                                         char *interpreter, size_t interpreter_size)
{
    const ElfW(Phdr) *segments =
        records(image, header->e_phoff, header->e_phnum, sizeof(*segments));

    if (segments == NULL || header->e_phnum == 0)
        return SP_ELF_DAMAGED;
    for (unsigned i = 0; i < header->e_phnum; i++) {
        const char *text;
        size_t size = segments[i].p_filesz;

        if (segments[i].p_type != PT_INTERP)
            continue;
        text = records(image, segments[i].p_offset, size, 1);
        if (text == NULL || size == 0 || size > interpreter_size || text[size - 1] != '\0')
            return SP_ELF_DAMAGED;
        memcpy(interpreter, text, size);
        return SP_ELF_DYNAMIC;
    }
    return SP_ELF_STATIC;
}

/* True if the symbol table `table` defines `symbol`; `names` is its string table. */
static bool table_defines(const struct image *image, const ElfW(Shdr) * table,
                          const ElfW(Shdr) * names, const char *symbol)
{
    size_t n = table->sh_size / sizeof(ElfW(Sym));
    size_t size = strlen(symbol) + 1;
    const ElfW(Sym) *symbols = records(image, table->sh_offset, n, sizeof(*symbols));
    const char *text = records(image, names->sh_offset, names->sh_size, 1);

    if (symbols == NULL || text == NULL || names->sh_size < size)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (symbols[i].st_shndx != SHN_UNDEF && symbols[i].st_name <= names->sh_size - size &&
            memcmp(text + symbols[i].st_name, symbol, size) == 0)
            return true;
    }
    return false;
}

static bool defines(const struct image *image, const ElfW(Ehdr) * header, const char *symbol)
{
    const ElfW(Shdr) *sections =
        records(image, header->e_shoff, header->e_shnum, sizeof(*sections));

    for (unsigned i = 0; sections != NULL && i < header->e_shnum; i++) {
        const ElfW(Shdr) *table = &sections[i];

        if ((table->sh_type == SHT_SYMTAB || table->sh_type == SHT_DYNSYM) &&
            table->sh_link < header->e_shnum &&
            table_defines(image, table, &sections[table->sh_link], symbol))
            return true;
    }
    return false;
}

static enum sp_elf_kind read_image(const struct image *image, const char *symbol,
                                   char *interpreter, size_t interpreter_size,
                                   bool *defines_out)
{
    const ElfW(Ehdr) *header = records(image, 0, 1, sizeof(*header));

    if (image->size < SELFMAG || memcmp(image->data, ELFMAG, SELFMAG) != 0)
        return SP_ELF_NONE;
    if (header == NULL || !is_for_us(header))
        return SP_ELF_FOREIGN;
    *defines_out = defines(image, header, symbol);
    return read_interpreter(image, header, interpreter, interpreter_size);
}

enum sp_elf_kind sp_elf_read(const char *path, const char *symbol, char *interpreter,
                             size_t interpreter_size, bool *defines_out)
{
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    enum sp_elf_kind kind = SP_ELF_NONE;
    struct image image;
    struct stat status;
    void *data;

    *interpreter = '\0';
    *defines_out = false;
    if (file < 0)
        return SP_ELF_NONE;
    if (fstat(file, &status) == 0 && status.st_size > 0) {
        image.size = (size_t)status.st_size;
        data = mmap(NULL, image.size, PROT_READ, MAP_PRIVATE, file, 0);
        if (data != MAP_FAILED) {
            image.data = data;
            kind = read_image(&image, symbol, interpreter, interpreter_size, defines_out);
            munmap(data, image.size);
        }
    }
    close(file);
    return kind;
}
