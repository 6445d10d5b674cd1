/* Places in the program: the return addresses of a call, and the names of functions, which come from
 * the symbol table of the program's file. */
#include "driver/driver.h"

#include <dlfcn.h>
#include <elf.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SKIPPED = 4 };
static const void *skipped[SKIPPED]; /* bases of libraries of this project */

void driver_site_skip(const void *address)
{
    Dl_info info;
    if (!dladdr(address, &info))
        return;
    for (int i = 0; i < SKIPPED; i++)
        if (!skipped[i] || skipped[i] == info.dli_fbase) {
            skipped[i] = info.dli_fbase;
            return;
        }
}

void driver_site_here(struct driver_site *site)
{
    site->count = backtrace(site->frames, DRIVER_SITE_FRAMES);
}

static bool is_ours(const void *base)
{
    if (!skipped[0])
        driver_site_skip((const void *)(uintptr_t)driver_site_here);
    for (int i = 0; i < SKIPPED; i++)
        if (skipped[i] == base)
            return true;
    return false;
}

/* --- the symbol table of a file --- */

struct elf_file {
    const unsigned char *bytes;
    size_t length;
};

static bool open_file(const char *path, struct elf_file *f)
{
    struct stat s;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    void *at = MAP_FAILED;
    if (file >= 0 && fstat(file, &s) == 0 && (size_t)s.st_size > sizeof(Elf64_Ehdr)) {
        f->length = (size_t)s.st_size;
        at = mmap(NULL, f->length, PROT_READ, MAP_PRIVATE, file, 0);
    }
    if (file >= 0)
        close(file);
    f->bytes = at;
    return at != MAP_FAILED;
}

/* Returns the bytes of the file; NULL: it has no such range. */
static const void *part(const struct elf_file *f, uint64_t offset, uint64_t bytes)
{
    return offset <= f->length && bytes <= f->length - offset ? f->bytes + offset : NULL;
}

/* Returns the name of the function at a virtual address of the file, and how far in it is. */
static const char *function_at(const struct elf_file *f, const Elf64_Shdr *table,
                               const Elf64_Shdr *names, uint64_t address, uint64_t *offset)
{
    const Elf64_Sym *symbols = part(f, table->sh_offset, table->sh_size);
    const char *text = part(f, names->sh_offset, names->sh_size);
    for (uint64_t i = 0; symbols && text && i < table->sh_size / sizeof *symbols; i++) {
        const Elf64_Sym *s = &symbols[i];
        if (ELF64_ST_TYPE(s->st_info) != STT_FUNC || address - s->st_value >= s->st_size ||
            s->st_name >= names->sh_size)
            continue;
        *offset = address - s->st_value;
        return text + s->st_name;
    }
    return NULL;
}

static const char *search(const struct elf_file *f, uint64_t base, uint64_t address,
                          uint64_t *offset)
{
    const Elf64_Ehdr *head = part(f, 0, sizeof *head);
    if (!head || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0)
        return NULL;
    const Elf64_Shdr *sections =
        part(f, head->e_shoff, (uint64_t)head->e_shnum * sizeof(Elf64_Shdr));
    if (head->e_type != ET_EXEC)
        address -= base;
    for (int i = 0; sections && i < head->e_shnum; i++)
        if (sections[i].sh_type == SHT_SYMTAB && sections[i].sh_link < head->e_shnum)
            return function_at(f, &sections[i], &sections[sections[i].sh_link], address, offset);
    return NULL;
}

/* --- text --- */

static const char *describe(struct arena *a, const Dl_info *info, uintptr_t address)
{
    const char *file = text_base_name(info->dli_fname), *name = info->dli_sname;
    uint64_t offset = name ? address - (uintptr_t)info->dli_saddr : 0;
    struct elf_file f;
    if (!name && open_file(info->dli_fname, &f)) {
        name = search(&f, (uintptr_t)info->dli_fbase, address, &offset);
        name = name ? arena_string(a, name, strlen(name)) : NULL;
        munmap((void *)(uintptr_t)f.bytes, f.length);
    }
    if (!name)
        return arena_printf(a, "%s+0x%llx", file,
                            (unsigned long long)(address - (uintptr_t)info->dli_fbase));
    return arena_printf(a, "%s+0x%llx in %s", ptx_plain_name(a, name), (unsigned long long)offset,
                        file);
}

/* A kernel's launch by <<<>>> comes from a stub that nvcc made; its caller is the place. */
static bool is_stub(const char *text)
{
    return strncmp(text, "__device_stub__", 15) == 0;
}

const char *driver_site_text(struct arena *a, const struct driver_site *site)
{
    const char *first = NULL;
    for (int i = 0; i < site->count; i++) {
        uintptr_t address = (uintptr_t)site->frames[i] - 1; /* inside of the call */
        Dl_info info;
        if (!dladdr((void *)address, &info) || is_ours(info.dli_fbase))
            continue;
        const char *text = describe(a, &info, address);
        if (!is_stub(text))
            return text;
        first = text;
    }
    return first ? first : "an unknown place";
}
