// Structures by value, local arrays, 64 bits, doubles, stored halves.
#include "small_cuda.h"
struct big {
    long long a[3];
    short s;
    double d;
};
static __device__ __noinline__ struct big change(struct big b, int i)
{
    b.a[i % 3] += b.s;
    b.d *= i;
    return b;
}
extern "C" __global__ void values(struct big in, struct big *out, int n)
{
    int local[10];
    for (int i = 0; i < 10; i++)
        local[i] = n * i;
    struct big b = change(in, local[n % 10]);
    b.a[1] = b.a[0] / 13 + (unsigned long long)b.a[2] % 17;
    out[TID_X] = b;
}
extern "C" __global__ void halves(__fp16 *x, float *f)
{
    f[0] = (float)x[0] + 2.5f;
    x[1] = (__fp16)f[1];
}
