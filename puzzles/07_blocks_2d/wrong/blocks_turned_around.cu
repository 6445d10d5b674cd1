// rejected: values with a hidden case: there may be more blocks along one direction than along the other
#ifndef TX
#define TX 3
#endif
#ifndef TY
#define TY 2
#endif

__global__ void blocks_2d(int rows, int cols, float *out, const float *a)
{
    int x = blockIdx.y * TX + threadIdx.x, y = blockIdx.x * TY + threadIdx.y;

    if (x < cols && y < rows)
        out[y * cols + x] = a[y * cols + x] * 2;
}
