/* A file that is there as a whole or not at all: written beside its place, and put there at the
 * end. What interrupts the program meanwhile takes the part away. */
#ifndef TW_PART_FILE_H
#define TW_PART_FILE_H

#include <stdbool.h>
#include <stdio.h>

struct part_file {
    FILE *file;   /* to write to; NULL: it could not be opened (errno) */
    char *beside; /* NULL: a device or the like, written as it is */
};

/* One at a time. `mode` as fopen has it. */
struct part_file part_file_open(const char *path, const char *mode);
/* Closes what was opened; puts it in its place if all was written (`good`). false, and errno: it is
 * not there, and what was there before still is. */
bool part_file_close(struct part_file *p, const char *path, bool good);

#endif
