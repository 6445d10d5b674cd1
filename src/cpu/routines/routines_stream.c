/* Copies to memory that is not read soon. They bypass the caches, so that the lines written are
 * not read first. */
#include "cpu/routines/routines.h"

#include <string.h>

#if defined(__SSE2__)
#include <immintrin.h>

#if defined(ROUTINES_V4)
typedef __m512i part;
#define LOAD(at) _mm512_loadu_si512(at)
#define STREAM(at, x) _mm512_stream_si512((void *)(at), x)
#elif defined(ROUTINES_V3)
typedef __m256i part;
#define LOAD(at) _mm256_loadu_si256((const __m256i *)(const void *)(at))
#define STREAM(at, x) _mm256_stream_si256((__m256i *)(void *)(at), x)
#else
typedef __m128i part;
#define LOAD(at) _mm_loadu_si128((const __m128i *)(const void *)(at))
#define STREAM(at, x) _mm_stream_si128((__m128i *)(void *)(at), x)
#endif

enum { LINE = 64 }; /* lines that are not written whole are left to the caches */

static void stream(void *dst, const void *src, size_t bytes)
{
    unsigned char *to = dst;
    const unsigned char *from = src;
    size_t head = (LINE - (uintptr_t)to % LINE) % LINE;
    if (bytes < head + LINE) {
        memcpy(to, from, bytes);
        return;
    }
    memcpy(to, from, head);
    size_t i = head;
    for (; i + LINE <= bytes; i += LINE)
        for (size_t j = 0; j < LINE; j += sizeof(part))
            STREAM(to + i + j, LOAD(from + i + j));
    memcpy(to + i, from + i, bytes - i);
}

static void stream_end(void)
{
    _mm_sfence();
}

#else

static void stream(void *dst, const void *src, size_t bytes)
{
    memcpy(dst, src, bytes);
}

static void stream_end(void)
{
}

#endif

extern const struct stream_routines ROUTINE(routines_stream);
const struct stream_routines ROUTINE(routines_stream) = {stream, stream_end};
