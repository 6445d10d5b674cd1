/* With the number of the one process that there is. */
#ifndef TW_POSIX_UNISTD_H
#define TW_POSIX_UNISTD_H

#define _WASI_EMULATED_GETPID
#include_next <unistd.h>

int dup(int file);

#endif
