// out-of-bounds: a transpose by tiles that ignores the rows beyond the edge of the matrix.
#include "app_check.h"

enum { TILE = 32, ROWS = 8 };

template <bool GUARDED> __global__ void transpose(const float *in, float *out, int rows, int columns)
{
    __shared__ float tile[TILE][TILE + 1];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS)
        if (x < columns && (!GUARDED || y + j < rows))
            tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * columns + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS)
        if (x < rows && y + j < columns)
            out[(y + j) * rows + x] = tile[threadIdx.x][threadIdx.y + j];
}

int main(int argc, char **argv)
{
    const int rows = 70, columns = 90;
    static float host[rows * columns], got[rows * columns];
    float *in, *out;
    for (int i = 0; i < rows * columns; i++)
        host[i] = (float)i;
    CHECK(cudaMalloc(&in, sizeof host));
    CHECK(cudaMalloc(&out, sizeof host));
    CHECK(cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice));
    dim3 grid((columns + TILE - 1) / TILE, (rows + TILE - 1) / TILE), block(TILE, ROWS);
    if (is_broken(argc, argv))
        transpose<false><<<grid, block>>>(in, out, rows, columns);
    else
        transpose<true><<<grid, block>>>(in, out, rows, columns);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(in));
    CHECK(cudaFree(out));
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++)
            EXPECT(got[j * rows + i] == host[i * columns + j]);
    return 0;
}
