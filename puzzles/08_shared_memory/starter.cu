// Puzzle 8, shared memory: each element less its mirror image in the block.
#ifndef TPB
#define TPB 4 // threads of a block; the judge tries others too
#endif

__global__ void mirror(int n, float *out, const float *a)
{
    __shared__ float tile[TPB];
    int t = threadIdx.x, i = blockIdx.x * TPB + t;

    // Yours: fill the tile, wait for each other with __syncthreads(), subtract.
}
