// Puzzle 12, prefix sum: each result is the sum of everything up to its place.
#ifndef TPB
#define TPB 8 // threads of the block, a power of two; the judge tries other values too
#endif

__global__ void prefix_sum(int n, float *out, const float *a)
{
    __shared__ float s[TPB];
    int t = threadIdx.x; // n is at most TPB

    // Yours: fill s, add in steps of distance 1, 2, 4 …, and store.
}
