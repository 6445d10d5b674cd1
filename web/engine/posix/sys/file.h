/* Locks of files: there is one process. */
#ifndef TW_POSIX_SYS_FILE_H
#define TW_POSIX_SYS_FILE_H

enum { LOCK_EX = 2 };

int flock(int file, int how);

#endif
