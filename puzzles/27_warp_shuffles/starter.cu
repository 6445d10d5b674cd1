// Puzzle 27, warp shuffles: a warp adds up a row, from register to register.
__global__ void row_sum(int rows, int cols, float *out, const float *a)
{
    int lane = threadIdx.x, row = blockIdx.x; // element (row, c) is a[row * cols + c]
    float mine = 0;

    // Yours: add up columns lane, lane + 32, lane + 64 …, then the sums of all lanes.
}
