/* The symbol table and the sections of a program's file. */
#ifndef TW_ELF_SYMBOLS_H
#define TW_ELF_SYMBOLS_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>

struct elf_file {
    const char *name; /* for messages */
    const unsigned char *bytes;
    size_t length;
    const Elf64_Sym *symbols; /* NULL: it was stripped of them */
    size_t count;
    const char *names; /* of the symbols: st_name is an offset, */
    size_t name_bytes; /* less than this */
    bool fixed;        /* its addresses are not relative to where it is loaded */
};

/* Opens a file. Returns false if it cannot be read or is not of this format. */
bool elf_open(struct elf_file *f, const char *path);
void elf_close(struct elf_file *f);

struct elf_section {
    const unsigned char *bytes;
    size_t length;
    bool compressed; /* the bytes begin with an Elf64_Chdr */
};
/* Finds a section by its name. Returns false if the file has none, or not all of its bytes. */
bool elf_section(const struct elf_file *f, const char *name, struct elf_section *out);

#endif
