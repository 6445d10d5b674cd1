// Puzzle 6, blocks: each thread of each block adds 10 to an element of its own.
#ifndef TPB
#define TPB 4 // threads of a block; the judge tries others too
#endif

__global__ void blocks(int n, float *out, const float *a)
{
    // Yours: which element is this thread's? blockIdx.x is the number of its block.
}
