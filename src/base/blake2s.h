/* BLAKE2s-256 (RFC 7693): what names things by their content. Two texts that differ have different
 * digests, for all practical purposes also where somebody tries. */
#ifndef TW_BLAKE2S_H
#define TW_BLAKE2S_H

#include <stddef.h>
#include <stdint.h>

enum { BLAKE2S_BYTES = 32, BLAKE2S_BLOCK = 64 };

struct blake2s {
    uint32_t state[8];
    uint64_t length; /* bytes compressed so far */
    size_t held;     /* bytes in block; the last block is compressed by blake2s_end */
    unsigned char block[BLAKE2S_BLOCK];
};

void blake2s_begin(struct blake2s *h);
void blake2s_add(struct blake2s *h, const void *data, size_t length);
/* The same with the length ahead: what is added so one after the other cannot be divided in another
 * way and have the same digest. */
void blake2s_field(struct blake2s *h, const void *data, size_t length);
void blake2s_end(struct blake2s *h, unsigned char digest[BLAKE2S_BYTES]);

void blake2s_of(const void *data, size_t length, unsigned char digest[BLAKE2S_BYTES]);

#endif
