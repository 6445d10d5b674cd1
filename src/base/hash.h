/* Hashes of bytes: FNV-1a, 64 bits (Fowler, Noll and Vo). */
#ifndef TW_HASH_H
#define TW_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_BEGIN UINT64_C(0xcbf29ce484222325)

/* Returns the hash of the bytes after those of `hash`; HASH_BEGIN: there are none before them. */
static inline uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t count)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    return hash;
}

#endif
