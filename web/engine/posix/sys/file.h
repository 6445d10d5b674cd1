/* Locks of files: there is one process, so they always succeed. */
#ifndef TW_POSIX_SYS_FILE_H
#define TW_POSIX_SYS_FILE_H

enum { LOCK_EX = 2 };

int flock(int file, int how);

#endif
