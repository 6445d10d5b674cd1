/* cuda_bf16.h for clang: numbers of type bfloat16. */
/* clang-format off */
#ifndef TILEWRIGHT_CUDA_BF16_H
#define TILEWRIGHT_CUDA_BF16_H

TW_HD float tw_bfloat16_to_float(unsigned short bits)
{
    float f;
    unsigned wide = (unsigned)bits << 16;
    __builtin_memcpy(&f, &wide, 4);
    return f;
}
#define TW_T __nv_bfloat16
#define TW_T2 __nv_bfloat162
#define TW_N bfloat16
#define TW_N2 bfloat162
#define TW_N_TO_N2 bfloat162bfloat162
#define TW_PTX_TYPE "bf16"
#define TW_TO_FLOAT tw_bfloat16_to_float
#define TW_ONE 0x3f80
#define TW_INFINITY 0x7f80
#include "tilewright_16bit.h"
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

/* sm_80 has no atomic sum of this type: tries again until no other thread has written in between. */
TW_D __nv_bfloat16 atomicAdd(__nv_bfloat16 *p, __nv_bfloat16 v)
{
    unsigned short seen, now;
    asm volatile("ld.relaxed.gpu.u16 %0, [%1];" : "=h"(now) : "l"(p) : "memory");
    do {
        unsigned short sum = __hadd(__ushort_as_bfloat16(seen = now), v).bits;
        asm volatile("atom.cas.b16 %0, [%1], %2, %3;" : "=h"(now) : "l"(p), "h"(seen), "h"(sum) : "memory");
    } while (now != seen);
    return __ushort_as_bfloat16(seen);
}
TW_D __nv_bfloat162 atomicAdd(__nv_bfloat162 *p, __nv_bfloat162 v)
{ return {atomicAdd(&p->x, v.x), atomicAdd(&p->y, v.y)}; } /* each half is atomic by itself */
#endif
