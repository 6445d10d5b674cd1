/* Distances between sizes: octaves, in integers, so that the library and a built program get the same numbers on
 * every machine. */
#ifndef TW_OCTAVES_H
#define TW_OCTAVES_H

#include <stdint.h>

/* Returns log2(size) in 256ths; -256 if it is not positive. log2(1 + x) is a cubic that is exact at 0
 * and 1, in fractions of 15 bits. aot_choice.c.in has the same function for built programs. */
static inline int octaves_256(int64_t size)
{
    enum { ONE = 1 << 15 };
    int exponent = 0;
    if (size <= 0)
        return -256;
    while (size >> exponent > 1)
        exponent++;
    int x = (int)(exponent > 15 ? size >> (exponent - 15) : size << (15 - exponent)) - ONE;
    int slope = ONE + (((ONE - x) * (13858 - ((x * 5217) >> 15))) >> 15);
    return exponent * 256 + ((((x * slope) >> 15) + 64) >> 7);
}

/* Returns the largest of 16, 8 and 1 that divides the size: a fact that programs are compiled for. */
static inline int size_divisor(int64_t size)
{
    return size % 16 == 0 ? 16 : size % 8 == 0 ? 8 : 1;
}

#endif
