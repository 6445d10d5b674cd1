/* Writes a file as a whole or not at all: into a temporary file in the same folder, which
 * replaces the file at the end. An interruption removes the temporary file. As in `build`, a
 * symbolic link's target is replaced and keeps its mode, and a read-only file is refused. */
#ifndef TW_PART_FILE_H
#define TW_PART_FILE_H

#include <stdbool.h>
#include <stdio.h>

struct part_file {
    FILE *file;   /* to write to; NULL: it could not be opened (errno) */
    char *beside; /* NULL: a device or the like, written directly */
    char *target; /* file to replace; NULL with `beside` */
};

/* Returns the absolute path of the file that a write to `path` replaces, with links resolved.
 * Returns NULL if it is a device or the like, if its folder does not exist, or if memory is
 * exhausted. The caller frees. */
char *part_file_target(const char *path);
/* Returns whether the file exists and is read-only; errno is then EACCES. */
bool part_file_read_only(const char *path);

/* Delays signals that would end the program while the library replaces whole files, and turns a
 * file that exceeds the size limit into an error of the write. part_file_release restores the
 * previous state. */
void part_file_hold(void);
void part_file_release(void);

/* Opens a part file; only one may be open at a time. `mode` is that of fopen. */
struct part_file part_file_open(const char *path, const char *mode);
/* Closes the part file and moves it to its place if everything was written (`good`). Otherwise
 * returns false and sets errno; the previous file is unchanged. */
bool part_file_close(struct part_file *p, bool good);

#endif
