// Puzzle 20, asynchronous copies: out[i] = a[i] + a[i + 1] + a[i + 2], through shared memory.
#include <cuda_pipeline.h>
#ifndef TPB
#define TPB 32 // elements and threads of a block; the judge tries other values too
#endif

__global__ void sums_of_three(int n, float *out, const float *a)
{
    __shared__ float s[TPB + 2]; // the block's elements and the two behind them
    int t = threadIdx.x, first = blockIdx.x * TPB, i = first + t;

    // Yours: start the copies of a[first], a[first + 1], … a[first + TPB + 1] to s, 0 behind the end of a,
    // and wait until they are there, for all threads.

    if (i < n)
        out[i] = 0; // and here the sum, from s
}
