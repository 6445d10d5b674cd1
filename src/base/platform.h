/* The seam to the operating system: threads, clock, files, memory pages, shared libraries. Nothing
 * else in src/ calls the system for these, so a build without them (a browser) replaces one
 * file. */
#ifndef TW_PLATFORM_H
#define TW_PLATFORM_H

#include "base/arena.h"

int platform_cores(void);      /* usable by this process, at least 1 */
double platform_seconds(void); /* monotonic */
void platform_yield(void);

/* Runs body(user, 0 … count-1), each index on a thread of its own, and returns when all are done.
 * Index 0 runs on the caller's thread. Falls back to fewer threads (an index after the other) where
 * no thread can be started; so a body must not wait for another index to start. */
void platform_parallel(int count, void (*body)(void *user, int index), void *user);

/* A whole file into the arena, '\0' behind it. NULL on failure, *why then says why (static or arena
 * text). */
char *platform_read_file(struct arena *a, const char *path, size_t *length, const char **why);
/* Writes beside the file and renames: the old content or the new, never half. */
bool platform_write_file(struct arena *a, const char *path, const void *data, size_t length,
                         const char **why);

/* Several files, as platform_write_file does it: all, or none where something fails. *failed is then
 * the index of the one that could not be written. */
struct platform_file {
    const char *path;
    const void *data;
    size_t length;
};
bool platform_write_files(struct arena *a, const struct platform_file *files, int count,
                          int *failed, const char **why);

void *platform_library(const char *name); /* dlopen; NULL if absent */
void *platform_symbol(void *library, const char *name);

#endif
