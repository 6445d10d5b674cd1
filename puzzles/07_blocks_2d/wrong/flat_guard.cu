// rejected: race at line 15: right values; the threads right of a row do elements of the next row again
#ifndef TX
#define TX 3
#endif
#ifndef TY
#define TY 2
#endif

__global__ void blocks_2d(int rows, int cols, float *out, const float *a)
{
    int x = blockIdx.x * TX + threadIdx.x, y = blockIdx.y * TY + threadIdx.y;
    int i = y * cols + x;

    if (i < rows * cols)
        out[i] = a[i] * 2;
}
