/* The files that a command reads and writes, told to its parent process if that watches them
 * (watch.h). */
#ifndef TW_FILES_READ_H
#define TW_FILES_READ_H

#include <stdbool.h>
#include <stdint.h>

/* A file as stat(2) sees it. Saving it makes another state, by a write in place or by a rename. */
struct file_state {
    bool exists;
    uint64_t device, node;
    int64_t size, seconds, nanoseconds; /* the time is that of the last change */
};
struct file_state file_state_now(const char *path);
bool file_state_same(const struct file_state *a, const struct file_state *b);

/* A record on the pipe to the parent: this, then `length` bytes of the path. */
struct file_told {
    struct file_state state;
    bool written; /* by the command itself */
    uint16_t length;
};

/* Makes the calls below write to the pipe. Without it they do nothing. */
void files_tell(int pipe);
/* Tells whether there is a parent to tell. */
bool files_are_told(void);
/* Tells of a file that is read next. Pipes and devices are left out. */
void file_is_read(const char *path);
/* Tells of a file that the command writes, so that this is not taken for a change: called before and
 * after that. */
void file_is_written(const char *path);

#endif
