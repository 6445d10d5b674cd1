/* Adds realpath and temporary files. */
#ifndef TW_POSIX_STDLIB_H
#define TW_POSIX_STDLIB_H

#include_next <stdlib.h>

char *realpath(const char *path, char *out);
int mkstemp(char *path);
char *mkdtemp(char *path);

#endif
