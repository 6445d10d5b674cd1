/* Adds the number of the only process. */
#ifndef TW_POSIX_UNISTD_H
#define TW_POSIX_UNISTD_H

#define _WASI_EMULATED_GETPID
#include_next <unistd.h>

int dup(int file);

#endif
