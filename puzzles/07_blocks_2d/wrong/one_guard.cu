// rejected: bounds at line 14: there is no row `rows`
#ifndef TX
#define TX 3
#endif
#ifndef TY
#define TY 2
#endif

__global__ void blocks_2d(int rows, int cols, float *out, const float *a)
{
    int x = blockIdx.x * TX + threadIdx.x, y = blockIdx.y * TY + threadIdx.y;

    if (x < cols)
        out[y * cols + x] = a[y * cols + x] * 2;
}
