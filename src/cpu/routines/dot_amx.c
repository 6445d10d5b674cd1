/* Products of 8-bit integers with 32-bit sums that wrap, and of bf16 with sums in f32, by Intel AMX:
 * an instruction multiplies a tile of 16 rows and 64 bytes by one of 16 groups and 16 columns
 * (routines_dot_tiles.h). The integers' sums are exact. Those of bf16 add the even and the odd steps
 * of k of a tile apart, each in order with fused multiply-adds that start at 0, then both parts, then
 * this sum to c; subnormal numbers count as 0 (Intel SDM, TDPBF16PS). No other set has this order.
 *
 * A thread's tiles are empty except within a call, because a switch of threads saves tiles that are
 * not. tests/unit/test_dot_tiles.c runs the blocks on a model of the instructions. */
#include "cpu/routines/routines.h"

#include <immintrin.h>

/* gcc does not know that a tile's load reads memory, so it might drop stores before it. */
#define MEMORY_IS_READ() __asm__ volatile("" ::: "memory")

#define TILES_OPEN(config)                                                                         \
    do {                                                                                           \
        MEMORY_IS_READ();                                                                          \
        _tile_loadconfig(config);                                                                  \
    } while (0)
#define TILES_CLOSE() _tile_release()
#define TILES_ZERO(t) _tile_zero(t)
#define TILES_LOAD(t, at, step)                                                                    \
    do {                                                                                           \
        MEMORY_IS_READ();                                                                          \
        _tile_loadd(t, at, step);                                                                  \
    } while (0)
#define TILES_STORE(t, at, step)                                                                   \
    do {                                                                                           \
        _tile_stored(t, at, step);                                                                 \
        MEMORY_IS_READ();                                                                          \
    } while (0)

#define TILES_I8_I8(c, a, b) _tile_dpbssd(c, a, b)
#define TILES_I8_U8(c, a, b) _tile_dpbsud(c, a, b)
#define TILES_U8_I8(c, a, b) _tile_dpbusd(c, a, b)
#define TILES_U8_U8(c, a, b) _tile_dpbuud(c, a, b)
#define TILES_BF16(c, a, b) _tile_dpbf16ps(c, a, b)

put_block_fn ROUTINE(dot_put_block);
#define TILES_PUT ROUTINE(dot_put_block)
#include "cpu/routines/routines_dot_tiles.h"

dot_fn dot_tiles_i8_i8, dot_tiles_i8_u8, dot_tiles_u8_i8, dot_tiles_u8_u8, dot_tiles_bf16;
void dot_tiles_i8_i8(void *c, const void *a, const void *b, size_t m, size_t n, size_t k,
                     const struct dot_strides *s)
{
    tiles_dot(TILES_OF_I8_I8, c, a, b, m, n, k, s);
}

void dot_tiles_i8_u8(void *c, const void *a, const void *b, size_t m, size_t n, size_t k,
                     const struct dot_strides *s)
{
    tiles_dot(TILES_OF_I8_U8, c, a, b, m, n, k, s);
}

void dot_tiles_u8_i8(void *c, const void *a, const void *b, size_t m, size_t n, size_t k,
                     const struct dot_strides *s)
{
    tiles_dot(TILES_OF_U8_I8, c, a, b, m, n, k, s);
}

void dot_tiles_u8_u8(void *c, const void *a, const void *b, size_t m, size_t n, size_t k,
                     const struct dot_strides *s)
{
    tiles_dot(TILES_OF_U8_U8, c, a, b, m, n, k, s);
}

void dot_tiles_bf16(void *c, const void *a, const void *b, size_t m, size_t n, size_t k,
                    const struct dot_strides *s)
{
    tiles_dot(TILES_OF_BF16, c, a, b, m, n, k, s);
}
