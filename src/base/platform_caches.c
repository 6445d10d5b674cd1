/* The seam to the operating system: sizes of caches. */
#include "base/platform_caches.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Reads a word of Linux's description of a cache of the first core. false: there is none. */
static bool read_word(int index, const char *name, char word[16])
{
    char path[64];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index, name);
    FILE *file = fopen(path, "r");
    bool found = file && fscanf(file, "%15s", word) == 1;
    if (file)
        fclose(file);
    return found;
}

/* Returns the bytes of a core's cache as Linux describes it, 0 if it does not. sysconf adds up the
 * third-level caches of a processor that has several, and a core uses one of them. */
static size_t bytes_in_linux(int level)
{
    char word[16];
    for (int i = 0; read_word(i, "level", word); i++) {
        unsigned long bytes;
        char unit;
        bool wanted = word[0] == '0' + level && word[1] == '\0';
        if (!wanted || !read_word(i, "type", word) || strcmp(word, "Instruction") == 0)
            continue;
        if (read_word(i, "size", word) && sscanf(word, "%lu%c", &bytes, &unit) == 2)
            return bytes << (unit == 'K' ? 10 : unit == 'M' ? 20 : 0);
    }
    return 0;
}

size_t platform_cache_bytes(int level)
{
    long bytes = (long)bytes_in_linux(level);
    if (bytes > 0)
        return (size_t)bytes;
#if defined(_SC_LEVEL1_DCACHE_SIZE) && !defined(__wasm__)
    static const int names[] = {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE,
                                _SC_LEVEL3_CACHE_SIZE};
    if (level >= 1 && level <= 3)
        bytes = sysconf(names[level - 1]);
#endif
    static const size_t usual[] = {(size_t)32 << 10, (size_t)1 << 20, 0};
    return bytes > 0 ? (size_t)bytes : level >= 1 && level <= 3 ? usual[level - 1] : 0;
}
