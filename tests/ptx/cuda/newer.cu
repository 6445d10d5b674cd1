// arch: sm_100
// Instructions that the compiler writes for later GPUs.
#include <cuda_fp16.h>
extern "C" __global__ void newer(const float *__restrict__ x, float *y, half2 *h, int n)
{
    __shared__ float s[64];
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    float acc = 0;
    for (int i = 0; i < n; i++)
        acc = fmaf(s[i & 63], x[i], acc);
    switch (n) {
    case 0: acc += 1; break;
    case 1: acc *= 2; break;
    case 2: acc -= 3; break;
    case 3: acc = __expf(acc); break;
    case 4: acc = -acc; break;
    }
    y[threadIdx.x] = acc + atomicAdd(y + 64, acc);
    h[threadIdx.x] = __hfma2(h[0], h[1], h[2]);
}
