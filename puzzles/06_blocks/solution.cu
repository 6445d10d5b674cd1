// Puzzle 6, blocks: each thread of each block adds 10 to an element of its own.
#ifndef TPB
#define TPB 4
#endif

__global__ void blocks(int n, float *out, const float *a)
{
    int i = blockIdx.x * TPB + threadIdx.x;

    if (i < n)
        out[i] = a[i] + 10;
}
