/* Files belong to the only user: modes change nothing. */
#ifndef TW_POSIX_SYS_STAT_H
#define TW_POSIX_SYS_STAT_H

#include_next <sys/stat.h>

int fchmod(int file, mode_t mode);
mode_t umask(mode_t mode);

#endif
