/* The sizes of the processor's caches. */
#ifndef TW_PLATFORM_CACHES_H
#define TW_PLATFORM_CACHES_H

#include <stddef.h>

/* Returns the bytes of a core's data cache of a level, 1 to 3; 0: there is none, or it is not known. */
size_t platform_cache_bytes(int level);

#endif
