/* Paths of CUDA C: nvcc hands them to a shell, and PTX has them in escapes. */
#ifndef TW_CUDA_PATH_H
#define TW_CUDA_PATH_H

#include "tool.h"

/* Tells whether a shell reads the path, and its absolute form, unchanged: neither has blanks, quotes or
 * `$`. */
bool path_is_plain(const char *path);

/* The text of a file that includes the one at the path; NULL: no #include can name it. The caller
 * frees. */
char *path_include(const char *path);

/* The PTX with what was given in place of the file's path in .file. Takes the text; the caller frees
 * the one returned. */
char *path_restore_ptx(char *ptx, const char *path);
/* The same in what a compiler said: `path` for `wrapper`, which includes it, and for its whole
 * path. */
char *path_restore_said(char *said, const char *path, const char *wrapper);

#endif
