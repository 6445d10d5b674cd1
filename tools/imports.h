/* The files that a program imports, found without compiling it: also of a text with errors. */
#ifndef TW_IMPORTS_H
#define TW_IMPORTS_H

#include <stdbool.h>
#include <stddef.h>

/* A line `import "file.tile"` of a text. */
struct import_line {
    size_t begin, end; /* bytes of the text: the quoted name with its quotes */
    char *path;        /* the file that it means, or would mean if it existed; the caller frees */
};
/* Finds the next import at or after *at, and moves *at past it. `path`: the text's own file.
 * Returns false at the end of the text, with a NULL path. */
bool next_import(const char *path, const char *text, size_t *at, struct import_line *out);

/* Returns the text of an imported file, or NULL if it cannot be read, is a pipe or a device, or
 * has over 1 MiB. The caller frees. */
char *read_import(const char *path, size_t *length);

/* Returns the folders that are searched after the importing file's own, separated by ':': those
 * of -I, and the kernels that ship. The library itself adds $TILEWRIGHT_PATH. The caller frees. */
char *import_folders(void);

#endif
