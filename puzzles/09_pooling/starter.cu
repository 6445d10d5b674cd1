// Puzzle 9, pooling: the largest of each element and the two before it.
#ifndef TPB
#define TPB 8 // threads of the block, at least n; the judge tries others too
#endif

__global__ void pooling(int n, float *out, const float *a)
{
    __shared__ float tile[TPB];
    int i = threadIdx.x;

    // Yours: fill the tile, wait for each other, find the largest with fmaxf(a, b).
}
