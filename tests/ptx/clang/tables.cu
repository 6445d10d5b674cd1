// Constants with addresses in them, functions through pointers, a switch.
#include "small_cuda.h"
__device__ int base[4] = {1, 2, 3, 4};
__constant__ double weights[3] = {0.5, -1e300, 3};
struct pair {
    char c;
    char text[7];
    float f;
};
__device__ struct pair pairs[2] = {{'a', "first", 1.5f}, {'b', "second", -0.0f}};
static __device__ __noinline__ int twice(int x)
{
    return 2 * x;
}
static __device__ __noinline__ int thrice(int x)
{
    return 3 * x;
}
__device__ int (*functions[2])(int) = {twice, thrice};
extern "C" __global__ void tables(int *x, double *y, int k)
{
    x[0] = functions[k & 1](x[1]) + base[k];
    y[0] = weights[k] + pairs[k & 1].f + pairs[k & 1].text[k] + pairs[0].c;
    switch (k) {
    case 0: x[2] = twice(5); break;
    case 1: x[2] += 3; break;
    case 2: x[3] = x[2] / 7; break;
    case 3: x[2] = -x[2]; break;
    case 4: y[1] = 2; break;
    case 5: x[4] = 9; break;
    }
}
