/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Walks the objects that are loaded and the slots through which they call other objects. What
 * the slots are to hold is the caller's affair. */
#include "config.h"

#include "src/starpu/got.h"

#include <dlfcn.h>
#include <elf.h>
#include <limits.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <starpool/base.h>

#include "src/util/util.h"

/* Relocations of slots that hold a function's address and nothing else. */
#if defined(__x86_64__)
#define JUMP_SLOT R_X86_64_JUMP_SLOT
#define GLOB_DAT  R_X86_64_GLOB_DAT
#elif defined(__aarch64__)
#define JUMP_SLOT R_AARCH64_JUMP_SLOT
#define GLOB_DAT  R_AARCH64_GLOB_DAT
#else
/* No relocation has this type: no slot is found, and the hooks alone serve. */
#define JUMP_SLOT UINT32_MAX
#define GLOB_DAT  UINT32_MAX
#endif

/* The parts of an object's dynamic section that lead to its slots. */
struct object {
    ElfW(Addr) base;
    const ElfW(Sym) * symbols;
    const char *strings;
    const ElfW(Rela) * calls; /* DT_JMPREL */
    size_t n_calls;
    const ElfW(Rela) * others; /* DT_RELA */
    size_t n_others;
    ElfW(Addr) relro_begin; /* [address] read-only after relocation: [begin, end) */
    ElfW(Addr) relro_end;
};

typedef void (*slot_fn)(const struct object *object, void **slot, const char *name, void *arg);

struct walk {
    bool only_starpu;
    slot_fn visit;
    void *arg;
};

static struct {
    char starpu_path[PATH_MAX];
} got;

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash == NULL ? path : slash + 1;
}

/* "libstarpu-1.3.so.9", and not libstarpumpi or libstarpufft. */
static bool is_starpu(const char *path)
{
    static const char prefix[] = "libstarpu-";
    const char *name = base_name(path);

    return strncmp(name, prefix, sizeof(prefix) - 1) == 0 && strstr(name, ".so") != NULL;
}

/* The loader, the C library and the kernel's page never call StarPU; CUDA's own libraries call
 * each other as they like. */
static bool is_system(const char *path)
{
    static const char *const prefixes[] = {"ld-linux", "libc.so", "linux-vdso", "libcudart.so",
                                           "libcuda.so"};
    const char *name = base_name(path);
    size_t i;

    for (i = 0; i < SP_ARRAY_SIZE(prefixes); i++) {
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    }
    return false;
}

static bool is_in_object_of(ElfW(Addr) base, const void *address)
{
    Dl_info info;

    return dladdr(address, &info) != 0 && (ElfW(Addr))info.dli_fbase == base;
}

/* starpool's own objects: the plugin, and the library that it is linked with. */
static bool is_ours(ElfW(Addr) base)
{
    return is_in_object_of(base, &got) ||
           is_in_object_of(base, (const void *)(uintptr_t)&starpool_status_name);
}

bool sp_got_is_own(const void *address)
{
    Dl_info own;

    return address != NULL && dladdr(&got, &own) != 0 &&
           is_in_object_of((ElfW(Addr))own.dli_fbase, address);
}

/* glibc has added the base already, on most machines. */
static const void *dynamic_pointer(const struct object *object, ElfW(Addr) value)
{
    return (const void *)(value < object->base ? value + object->base : value);
}

static void read_dynamic(struct object *object, const ElfW(Dyn) * dynamic)
{
    for (; dynamic->d_tag != DT_NULL; dynamic++) {
        const void *pointer = dynamic_pointer(object, dynamic->d_un.d_ptr);

        switch (dynamic->d_tag) {
        case DT_SYMTAB:
            object->symbols = pointer;
            break;
        case DT_STRTAB:
            object->strings = pointer;
            break;
        case DT_JMPREL:
            object->calls = pointer;
            break;
        case DT_PLTRELSZ:
            object->n_calls = dynamic->d_un.d_val / sizeof(*object->calls);
            break;
        case DT_RELA:
            object->others = pointer;
            break;
        case DT_RELASZ:
            object->n_others = dynamic->d_un.d_val / sizeof(*object->others);
            break;
        default:
            break;
        }
    }
}

static bool read_object(const struct dl_phdr_info *info, struct object *object)
{
    const ElfW(Dyn) *dynamic = NULL;
    int i;

    *object = (struct object){.base = info->dlpi_addr};
    for (i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        ElfW(Addr) begin = info->dlpi_addr + header->p_vaddr;

        if (header->p_type == PT_DYNAMIC)
            dynamic = (const void *)begin;
        if (header->p_type == PT_GNU_RELRO) {
            object->relro_begin = begin;
            object->relro_end = begin + header->p_memsz;
        }
    }
    if (dynamic == NULL)
        return false;
    read_dynamic(object, dynamic);
    return object->symbols != NULL && object->strings != NULL;
}

static void walk_slots(const struct object *object, const ElfW(Rela) * entries,
                       size_t n_entries, const struct walk *walk)
{
    size_t i;

    for (i = 0; entries != NULL && i < n_entries; i++) {
        uint32_t type = (uint32_t)ELF64_R_TYPE(entries[i].r_info);
        const ElfW(Sym) *symbol = &object->symbols[ELF64_R_SYM(entries[i].r_info)];

        if (type == JUMP_SLOT || type == GLOB_DAT)
            walk->visit(object, (void **)(object->base + entries[i].r_offset),
                        object->strings + symbol->st_name, walk->arg);
    }
}

static int walk_object(struct dl_phdr_info *info, size_t size, void *arg)
{
    const struct walk *walk = arg;
    struct object object;

    (void)size;
    if (is_system(info->dlpi_name) || (walk->only_starpu && !is_starpu(info->dlpi_name)))
        return 0;
    if (is_ours(info->dlpi_addr) || !read_object(info, &object))
        return 0;
    walk_slots(&object, object.calls, object.n_calls, walk);
    walk_slots(&object, object.others, object.n_others, walk);
    return 0;
}

static int note_starpu(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    if (!is_starpu(info->dlpi_name) || strlen(info->dlpi_name) >= sizeof(got.starpu_path))
        return 0;
    strcpy(got.starpu_path, info->dlpi_name);
    *(bool *)arg = true;
    return 1;
}

const char *sp_got_find_starpu(void)
{
    bool is_found = false;

    dl_iterate_phdr(note_starpu, &is_found);
    return is_found ? got.starpu_path : NULL;
}

struct library_search {
    const char *prefix;
    char path[PATH_MAX];
};

static int note_library(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct library_search *search = arg;

    (void)size;
    if (strncmp(base_name(info->dlpi_name), search->prefix, strlen(search->prefix)) != 0 ||
        strlen(info->dlpi_name) >= sizeof(search->path))
        return 0;
    strcpy(search->path, info->dlpi_name);
    return 1;
}

void *sp_got_find_in(const char *library, const char *name)
{
    struct library_search search = {.prefix = library};
    void *handle, *function;

    if (dl_iterate_phdr(note_library, &search) == 0)
        return NULL;
    handle = dlopen(search.path, RTLD_NOW | RTLD_NOLOAD);
    if (handle == NULL)
        return NULL;
    function = dlsym(handle, name);
    dlclose(handle);
    return sp_got_is_own(function) ? NULL : function;
}

/* The list is in the order of loading. */
static int first_of_both(struct dl_phdr_info *info, size_t size, void *arg)
{
    bool is_plugin = is_in_object_of(info->dlpi_addr, &got);

    (void)size;
    *(bool *)arg = is_plugin;
    return is_plugin || is_starpu(info->dlpi_name);
}

bool sp_got_is_before_starpu(void)
{
    bool is_before = false;

    dl_iterate_phdr(first_of_both, &is_before);
    return is_before;
}

struct slot_search {
    const char *name;
    bool is_found;
};

static void note_slot(const struct object *object, void **slot, const char *name, void *arg)
{
    struct slot_search *search = arg;

    (void)object, (void)slot;
    search->is_found |= strcmp(name, search->name) == 0;
}

bool sp_got_starpu_has_slot(const char *name)
{
    struct slot_search search = {.name = name};
    struct walk walk = {.only_starpu = true, .visit = note_slot, .arg = &search};

    dl_iterate_phdr(walk_object, &walk);
    return search.is_found;
}

/* Store into a slot, also where relocation has left it read-only. */
static bool write_slot(const struct object *object, void **slot, void *function)
{
    size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
    char *page = (char *)((uintptr_t)slot & ~(uintptr_t)(page_size - 1));
    ElfW(Addr) address = (ElfW(Addr))slot;
    /* The loader protects whole pages only: the last, shared one stays writable. */
    bool is_read_only = address >= object->relro_begin &&
                        address < (object->relro_end & ~(ElfW(Addr))(page_size - 1));

    if (is_read_only && mprotect(page, page_size, PROT_READ | PROT_WRITE) != 0)
        return false;
    __atomic_store_n(slot, function, __ATOMIC_RELEASE);
    if (is_read_only)
        mprotect(page, page_size, PROT_READ);
    return true;
}

struct patching {
    const struct sp_got_patch *patches;
    size_t n_patches;
    struct sp_got_result result;
};

static void patch_slot(const struct object *object, void **slot, const char *name, void *arg)
{
    struct patching *patching = arg;
    size_t i;

    if (strncmp(name, "starpu_", 7) != 0 && strncmp(name, "cu", 2) != 0)
        return;
    for (i = 0; i < patching->n_patches; i++) {
        if (strcmp(name, patching->patches[i].name) != 0)
            continue;
        if (__atomic_load_n(slot, __ATOMIC_RELAXED) == patching->patches[i].function ||
            write_slot(object, slot, patching->patches[i].function))
            patching->result.n_patched++;
        else
            patching->result.n_failed++;
    }
}

struct sp_got_result sp_got_apply(const struct sp_got_patch *patches, size_t n_patches)
{
    struct patching patching = {.patches = patches, .n_patches = n_patches};
    struct walk walk = {.visit = patch_slot, .arg = &patching};

    dl_iterate_phdr(walk_object, &walk);
    return patching.result;
}
