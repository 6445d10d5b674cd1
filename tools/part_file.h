/* A file that is there as a whole or not at all: written beside its place, and put there at the
 * end. What interrupts the program meanwhile takes the part away. As `build` does it: of a symbolic
 * link the file that it names is replaced, which keeps its mode, and a file that is read-only is
 * refused. */
#ifndef TW_PART_FILE_H
#define TW_PART_FILE_H

#include <stdbool.h>
#include <stdio.h>

struct part_file {
    FILE *file;   /* to write to; NULL: it could not be opened (errno) */
    char *beside; /* NULL: a device or the like, written as it is */
    char *target; /* what is replaced; NULL with `beside` */
};

/* The file that is written when `path` is: behind links, by its full name. NULL: it is a device or
 * the like, its folder is not there, or memory is out. The caller frees. */
char *part_file_target(const char *path);
/* Tells whether the file exists and is read-only; errno is then EACCES. */
bool part_file_read_only(const char *path);

/* While the library writes files that it replaces whole: signals that would end the program wait,
 * and a file larger than allowed is an error of the write. part_file_release: as before. */
void part_file_hold(void);
void part_file_release(void);

/* One at a time. `mode` as fopen has it. */
struct part_file part_file_open(const char *path, const char *mode);
/* Closes what was opened; puts it in its place if all was written (`good`). false, and errno: it is
 * not there, and what was there before still is. */
bool part_file_close(struct part_file *p, bool good);

#endif
