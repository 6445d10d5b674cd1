/* BLAKE2s-256 (RFC 7693), for names that follow from content. Different texts have different
 * digests for all practical purposes, even if somebody tries to find two that agree. */
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
/* Adds the length and then the data, so that two sequences of fields have the same digest only if
 * the fields agree. */
void blake2s_field(struct blake2s *h, const void *data, size_t length);
void blake2s_end(struct blake2s *h, unsigned char digest[BLAKE2S_BYTES]);

void blake2s_of(const void *data, size_t length, unsigned char digest[BLAKE2S_BYTES]);

#endif
