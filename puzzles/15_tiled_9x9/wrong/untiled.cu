// rejected: global_loads at line 13: right values, every element read by every thread
#ifndef TPB
#define TPB 3
#endif

__global__ void tiled(int n, float *out, const float *a, const float *b)
{
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * TPB + y, col = blockIdx.x * TPB + x;
    float acc = 0;

    for (int p = 0; p < n; p++)
        acc += a[row * n + p] * b[p * n + col];
    out[row * n + col] = acc;
}
