#include "base/blake2s.h"

#include <stdbool.h>
#include <string.h>

/* RFC 7693, 2.6: the first 32 bits of the fractional parts of the square roots of 2, 3, 5 … 19. */
static const uint32_t initial[8] = {0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A,
                                    0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19};

/* RFC 7693, 2.7: the order of the message's words in each of the ten rounds. */
static const unsigned char schedule[10][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
    {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
    {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
    {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
    {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
};

static uint32_t rotated(uint32_t x, int right)
{
    return x >> right | x << (32 - right);
}

static uint32_t word_at(const unsigned char *bytes)
{
    return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

/* RFC 7693, 3.1. */
static void mix(uint32_t v[16], int a, int b, int c, int d, uint32_t x, uint32_t y)
{
    v[a] += v[b] + x;
    v[d] = rotated(v[d] ^ v[a], 16);
    v[c] += v[d];
    v[b] = rotated(v[b] ^ v[c], 12);
    v[a] += v[b] + y;
    v[d] = rotated(v[d] ^ v[a], 8);
    v[c] += v[d];
    v[b] = rotated(v[b] ^ v[c], 7);
}

/* RFC 7693, 3.2: columns, then diagonals. */
static void compress(struct blake2s *h, const unsigned char *block, bool last)
{
    uint32_t m[16], v[16];
    for (int i = 0; i < 16; i++)
        m[i] = word_at(block + 4 * i);
    for (int i = 0; i < 8; i++) {
        v[i] = h->state[i];
        v[i + 8] = initial[i];
    }
    v[12] ^= (uint32_t)h->length;
    v[13] ^= (uint32_t)(h->length >> 32);
    v[14] ^= last ? UINT32_MAX : 0;
    for (int round = 0; round < 10; round++) {
        const unsigned char *s = schedule[round];
        for (int i = 0; i < 4; i++)
            mix(v, i, 4 + i, 8 + i, 12 + i, m[s[2 * i]], m[s[2 * i + 1]]);
        for (int i = 0; i < 4; i++)
            mix(v, i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4, m[s[8 + 2 * i]],
                m[s[9 + 2 * i]]);
    }
    for (int i = 0; i < 8; i++)
        h->state[i] ^= v[i] ^ v[i + 8];
}

void blake2s_begin(struct blake2s *h)
{
    enum { SEQUENTIAL = 0x01010000 }; /* fan-out and depth 1, no key: RFC 7693, 2.5 */
    *h = (struct blake2s){.length = 0};
    memcpy(h->state, initial, sizeof initial);
    h->state[0] ^= SEQUENTIAL | BLAKE2S_BYTES;
}

void blake2s_add(struct blake2s *h, const void *data, size_t length)
{
    const unsigned char *from = data;
    while (length > 0) {
        if (h->held == BLAKE2S_BLOCK) { /* a full block is compressed only when more data follows,
                                         * because the last block is special */
            h->length += BLAKE2S_BLOCK;
            compress(h, h->block, false);
            h->held = 0;
        }
        size_t room = BLAKE2S_BLOCK - h->held, some = length < room ? length : room;
        memcpy(h->block + h->held, from, some);
        h->held += some;
        from += some;
        length -= some;
    }
}

void blake2s_field(struct blake2s *h, const void *data, size_t length)
{
    unsigned char bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)((uint64_t)length >> 8 * i);
    blake2s_add(h, bytes, sizeof bytes);
    blake2s_add(h, data, length);
}

void blake2s_end(struct blake2s *h, unsigned char digest[BLAKE2S_BYTES])
{
    h->length += h->held;
    memset(h->block + h->held, 0, BLAKE2S_BLOCK - h->held);
    compress(h, h->block, true);
    for (int i = 0; i < BLAKE2S_BYTES; i++)
        digest[i] = (unsigned char)(h->state[i / 4] >> 8 * (i % 4));
}

void blake2s_of(const void *data, size_t length, unsigned char digest[BLAKE2S_BYTES])
{
    struct blake2s h;
    blake2s_begin(&h);
    blake2s_add(&h, data, length);
    blake2s_end(&h, digest);
}
