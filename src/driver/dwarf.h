/* Lines of a program's source, by the debug information of its file: DWARF 2 to 5, which `-g` of gcc and
 * clang writes into sections. The numbers of forms, attributes and tags are those of the standard,
 * DWARF 5, section 7.
 *
 *   dwarf_read.c    numbers and texts of a section, and values of attributes
 *   dwarf_line.c    the line table (section 6.2): from an address to a file and a line
 *   dwarf_info.c    the units and their inlined calls (sections 3.1 and 3.3.8)
 *
 * If -gsplit-dwarf put the inlined calls into another file, no places are found: the line table alone
 * would give the lines of inlined functions for those of their calls.
 *
 * The file is not trusted: each reader is bounded by its section, and damage ends the search. */
#ifndef TW_DWARF_H
#define TW_DWARF_H

#include "base/arena.h"

struct dwarf_bytes {
    const unsigned char *at;
    size_t length; /* 0: the file has no such section */
};
struct dwarf_sections {
    struct dwarf_bytes info, abbrev, line, line_str, str, str_offsets, addr, ranges, rnglists;
    struct dwarf_index
        *indices; /* of the units that were searched (dwarf_info.c); NULL: none so far */
};

struct dwarf_place {
    const char
        *function;    /* mangled; NULL: not known, or the function that the symbol table names */
    const char *file; /* as it was compiled, below the folder of the compilation */
    int line;
};
enum { DWARF_PLACES = 32 };
/* Finds the places of an instruction: the first one is its own, and if the compiler has inlined that
 * function, the next one is that of the call, and so on. Returns their number; 0: not known. */
int dwarf_places(struct arena *a, struct dwarf_sections *s, uint64_t address,
                 struct dwarf_place list[DWARF_PLACES]);

#endif
