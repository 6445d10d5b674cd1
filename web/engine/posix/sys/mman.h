/* Memory without a file: zeros that need no memory until they are touched. */
#ifndef TW_POSIX_SYS_MMAN_H
#define TW_POSIX_SYS_MMAN_H

#include <sys/types.h>

enum { PROT_NONE, PROT_READ, PROT_WRITE };
enum { MAP_PRIVATE = 2, MAP_ANONYMOUS = 0x20, MAP_NORESERVE = 0x4000 };
#define MAP_FAILED ((void *)-1)

void *mmap(void *at, size_t bytes, int protection, int flags, int file, off_t offset);
int munmap(void *at, size_t bytes);

#endif
