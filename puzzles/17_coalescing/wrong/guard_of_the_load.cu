// rejected: race at line 18: the guard of the load stands before the store
#ifndef TPB
#define TPB 32
#endif

__global__ void transpose(int rows, int cols, float *out, const float *a)
{
    __shared__ float tile[TPB][TPB];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * TPB + y, col = blockIdx.x * TPB + x;

    if (row < rows && col < cols)
        tile[y][x] = a[row * cols + col]; // a warp loads a piece of a row of a
    __syncthreads();
    row = blockIdx.x * TPB + y;
    col = blockIdx.y * TPB + x;
    if (row < rows && col < cols)
        out[row * rows + col] = tile[x][y]; // and stores a piece of a row of out
}
