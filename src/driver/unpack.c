#include "driver/unpack.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>

typedef size_t zstd_decompress(void *to, size_t room, const void *from, size_t bytes);
typedef int lz4_decompress(const char *from, char *to, int bytes, int room);
typedef int zlib_uncompress(void *to, unsigned long *room, const void *from, unsigned long bytes);

/* Returns a function of a library; NULL: it is not installed. */
static void *function_of(const char *library, const char *name)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    return handle ? dlsym(handle, name) : NULL;
}

static enum unpacked result(bool good)
{
    return good ? UNPACKED : UNPACK_DAMAGED;
}

enum unpacked unpack_zstd(char *to, size_t room, const char *from, size_t bytes)
{
    zstd_decompress *decompress;
    *(void **)&decompress = function_of("libzstd.so.1", "ZSTD_decompress");
    return decompress ? result(decompress(to, room, from, bytes) == room) : UNPACK_NO_LIBRARY;
}

enum unpacked unpack_lz4(char *to, size_t room, const char *from, size_t bytes)
{
    lz4_decompress *decompress;
    *(void **)&decompress = function_of("liblz4.so.1", "LZ4_decompress_safe");
    if (!decompress)
        return UNPACK_NO_LIBRARY;
    return result(bytes <= INT32_MAX && room <= INT32_MAX &&
                  decompress(from, to, (int)bytes, (int)room) == (int)room);
}

enum unpacked unpack_zlib(char *to, size_t room, const char *from, size_t bytes)
{
    zlib_uncompress *uncompress;
    unsigned long length = room;
    *(void **)&uncompress = function_of("libz.so.1", "uncompress");
    if (!uncompress)
        return UNPACK_NO_LIBRARY;
    return result(uncompress(to, &length, from, bytes) == 0 && length == room);
}
