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

/* Reads the header of a section. */
static bool read_header(const struct elf_file *f, const Elf64_Ehdr *head, unsigned number,
                        Elf64_Shdr *out)
{
    const void *at = part(f, head->e_shoff, (uint64_t)head->e_shnum * sizeof *out);
    if (!at || number >= head->e_shnum)
        return false;
    memcpy(out, (const char *)at + number * sizeof *out, sizeof *out);
    return true;
}

/* Finds the table of symbols among the sections. */
static void find_symbols(struct elf_file *f, const Elf64_Ehdr *head)
{
    Elf64_Shdr table, names;
    for (unsigned i = 0; read_header(f, head, i, &table); i++) {
        if (table.sh_type != SHT_SYMTAB || table.sh_offset % _Alignof(Elf64_Sym) ||
            !read_header(f, head, table.sh_link, &names))
            continue;
        f->symbols = part(f, table.sh_offset, table.sh_size);
        f->count = (size_t)(table.sh_size / sizeof *f->symbols);
        f->names = part(f, names.sh_offset, names.sh_size);
        f->name_bytes = (size_t)names.sh_size;
        if (!f->names || !f->name_bytes || f->names[f->name_bytes - 1])
            f->symbols = NULL;
    }
}

bool elf_open(struct elf_file *f, const char *path)
{
    *f = (struct elf_file){.name = path};
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

bool elf_section(const struct elf_file *f, const char *name, struct elf_section *out)
{
    Elf64_Ehdr head;
    Elf64_Shdr names, s;
    size_t length = strlen(name) + 1;
    memcpy(&head, f->bytes, sizeof head); /* elf_open has seen it */
    if (!read_header(f, &head, head.e_shstrndx, &names))
        return false;
    for (unsigned i = 0; read_header(f, &head, i, &s); i++) {
        const char *its =
            s.sh_name <= names.sh_size ? part(f, names.sh_offset + s.sh_name, length) : NULL;
        if (!its || memcmp(its, name, length) != 0)
            continue;
        out->bytes = s.sh_type == SHT_NOBITS ? NULL : part(f, s.sh_offset, s.sh_size);
        out->length = (size_t)s.sh_size;
        out->compressed = s.sh_flags & SHF_COMPRESSED;
        return out->bytes;
    }
    return false;
}

void elf_close(struct elf_file *f)
{
    munmap((void *)(uintptr_t)f->bytes, f->length);
}
