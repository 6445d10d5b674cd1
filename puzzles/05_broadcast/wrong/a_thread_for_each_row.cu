// rejected: global_sectors: right values; neighbouring threads write different rows
#ifndef TPB
#define TPB 4
#endif

__global__ void times_table(int rows, int cols, float *out, const float *down, const float *across)
{
    int y = threadIdx.y * TPB + threadIdx.x;

    if (y < rows)
        for (int x = 0; x < cols; x++)
            out[y * cols + x] = down[y] * across[x];
}
