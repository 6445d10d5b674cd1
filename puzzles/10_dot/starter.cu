// Puzzle 10, dot product: one block adds up n products.
#ifndef TPB
#define TPB 8 // threads of the block, a power of two; the judge tries other values too
#endif

__global__ void dot_product(int n, float *out, const float *a, const float *b)
{
    __shared__ float part[TPB];
    int t = threadIdx.x; // n is at most TPB

    // Yours: fill part, add it up in steps, and let one thread store the sum.
}
