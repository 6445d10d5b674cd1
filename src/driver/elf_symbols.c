#include "driver/elf_symbols.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns the bytes of the file; NULL: it has no such range. */
static const void *part(const struct elf_file *f, uint64_t offset, uint64_t bytes)
{
    return offset <= f->length && bytes <= f->length - offset ? f->bytes + offset : NULL;
}

static bool map_file(struct elf_file *f, const char *path)
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

/* Finds the table of symbols among the sections. */
static void find_symbols(struct elf_file *f, const Elf64_Ehdr *head)
{
    const Elf64_Shdr *all = part(f, head->e_shoff, (uint64_t)head->e_shnum * sizeof *all);
    for (int i = 0; all && i < head->e_shnum; i++) {
        if (all[i].sh_type != SHT_SYMTAB || all[i].sh_link >= head->e_shnum)
            continue;
        const Elf64_Shdr *names = &all[all[i].sh_link];
        f->symbols = part(f, all[i].sh_offset, all[i].sh_size);
        f->count = (size_t)(all[i].sh_size / sizeof *f->symbols);
        f->names = part(f, names->sh_offset, names->sh_size);
        f->name_bytes = (size_t)names->sh_size;
        if (!f->names)
            f->symbols = NULL;
    }
}

bool elf_open(struct elf_file *f, const char *path)
{
    *f = (struct elf_file){.bytes = NULL};
    if (!map_file(f, path))
        return false;
    const Elf64_Ehdr *head = part(f, 0, sizeof *head);
    if (!head || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 ||
        head->e_ident[EI_CLASS] != ELFCLASS64) {
        elf_close(f);
        return false;
    }
    f->fixed = head->e_type == ET_EXEC;
    find_symbols(f, head);
    return true;
}

void elf_close(struct elf_file *f)
{
    munmap((void *)(uintptr_t)f->bytes, f->length);
}
