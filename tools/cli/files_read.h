/* Tells the parent process which files a command reads and writes, if the parent watches them
 * (watch.h). */
#ifndef TW_FILES_READ_H
#define TW_FILES_READ_H

#include <stdbool.h>
#include <stdint.h>

/* State of a file by stat(2). Saving the file changes it, by a write in place or by a rename. */
struct file_state {
    bool exists;
    uint64_t device, node;
    int64_t size, seconds, nanoseconds; /* the time of the last change */
};
struct file_state file_state_now(const char *path);
bool file_state_same(const struct file_state *a, const struct file_state *b);

/* Record on the pipe to the parent; `length` bytes of the path follow it. */
struct file_told {
    struct file_state state;
    bool written; /* by the command itself */
    uint16_t length;
};

/* Makes the functions below write to the pipe. Without this call, they do nothing. */
void files_tell(int pipe);
/* Returns whether a parent is watching. */
bool files_are_told(void);
/* Records a file that the command reads next. Skips pipes and devices. */
void file_is_read(const char *path);
/* Records a file that the command writes, so that the parent does not take this for a change.
 * Call it before and after writing. */
void file_is_written(const char *path);

#endif
