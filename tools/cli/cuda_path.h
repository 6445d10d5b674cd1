/* Handles paths of CUDA C: nvcc passes them to a shell, and PTX contains them with escapes. */
#ifndef TW_CUDA_PATH_H
#define TW_CUDA_PATH_H

#include "cli/tool.h"

/* Returns whether a shell reads the path and its absolute form unchanged: neither has blanks,
 * quotes or `$`. */
bool path_is_plain(const char *path);

/* Returns the text of a file that includes the one at the path, or NULL if no #include can name
 * it. The caller frees. */
char *path_include(const char *path);

/* Replaces the file's absolute path in .file by the given path. Takes ownership of the PTX; the
 * caller frees the result. */
char *path_restore_ptx(char *ptx, const char *path);
/* Replaces, in a compiler's messages, `wrapper` (the file that includes `path`) and the absolute
 * path by `path`. Takes ownership of the text; the caller frees the result. */
char *path_restore_said(char *said, const char *path, const char *wrapper);

#endif
