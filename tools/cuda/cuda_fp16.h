/* cuda_fp16.h for clang: numbers of type half. */
/* clang-format off */
#ifndef TILEWRIGHT_CUDA_FP16_H
#define TILEWRIGHT_CUDA_FP16_H

TW_HD float tw_half_to_float(unsigned short bits) { float f; asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(bits)); return f; }
#define TW_T __half
#define TW_T2 __half2
#define TW_N half
#define TW_N2 half2
#define TW_N_TO_N2 half2half2
#define TW_PTX_TYPE "f16"
#define TW_TO_FLOAT tw_half_to_float
#define TW_ONE 0x3c00
#define TW_INFINITY 0x7c00
#include "tilewright_16bit.h"
typedef __half half;
typedef __half2 half2;

TW_D __half atomicAdd(__half *p, __half v)
{ __half r; asm volatile("atom.add.noftz.f16 %0, [%1], %2;" : "=h"(r.bits) : "l"(p), "h"(v.bits) : "memory"); return r; }
TW_D __half2 atomicAdd(__half2 *p, __half2 v)
{
    unsigned r, bits = (unsigned)v.x.bits | (unsigned)v.y.bits << 16;
    asm volatile("atom.add.noftz.f16x2 %0, [%1], %2;" : "=r"(r) : "l"(p), "r"(bits) : "memory");
    return {__half::tw_of((unsigned short)r), __half::tw_of((unsigned short)(r >> 16))};
}
#endif
