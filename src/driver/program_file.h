/* The files of the program and of its libraries: their functions and their lines. */
#ifndef TW_PROGRAM_FILE_H
#define TW_PROGRAM_FILE_H

#include "driver/dwarf.h"
#include "driver/elf_symbols.h"

struct program_file {
    const char *path;
    bool readable;
    struct elf_file elf;
    struct dwarf_sections debug;
};
/* Returns a file, which stays open; its name is for messages. */
struct program_file *program_file_at(struct arena *a, const char *path, const char *name);
/* Finds the sections that have the lines; those that are compressed are unpacked, in the arena. */
void driver_program_debug_sections(struct arena *a, const struct elf_file *f,
                                   struct dwarf_sections *s);
/* Returns why lines are missing in spite of `-g`; NULL: they are not. */
const char *program_file_problem(void);

#endif
