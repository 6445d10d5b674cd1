/* The seam to the operating system: sizes of caches. */
#include "base/platform_caches.h"

#include <unistd.h>

size_t platform_cache_bytes(int level)
{
    long bytes = 0;
#if defined(_SC_LEVEL1_DCACHE_SIZE) && !defined(__wasm__)
    static const int names[] = {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE,
                                _SC_LEVEL3_CACHE_SIZE};
    if (level >= 1 && level <= 3)
        bytes = sysconf(names[level - 1]);
#endif
    static const size_t usual[] = {(size_t)32 << 10, (size_t)1 << 20, 0};
    return bytes > 0 ? (size_t)bytes : level >= 1 && level <= 3 ? usual[level - 1] : 0;
}
