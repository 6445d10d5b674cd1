// Puzzle 13, axis sum: each block adds up one row.
#ifndef TPB
#define TPB 8 // threads of a block, a power of two; the judge tries other values too
#endif

__global__ void axis_sum(int rows, int cols, float *out, const float *a)
{
    __shared__ float part[TPB];
    int t = threadIdx.x, row = blockIdx.x; // element (row, c) is a[row * cols + c]
    float mine = 0;

    // Yours: add up columns t, t + TPB, t + 2 * TPB …, then the sums of all threads.
}
