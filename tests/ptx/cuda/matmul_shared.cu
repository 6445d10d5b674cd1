// Tiles through shared memory, unrolled.
#define T 16
extern "C" __global__ void matmul(int n, const float *a, const float *b, float *c)
{
    __shared__ float as[T][T], bs[T][T + 1];
    int i = blockIdx.y * T + threadIdx.y, j = blockIdx.x * T + threadIdx.x;
    float sum = 0;
    for (int p = 0; p < n; p += T) {
        as[threadIdx.y][threadIdx.x] = a[i * n + p + threadIdx.x];
        bs[threadIdx.y][threadIdx.x] = b[(p + threadIdx.y) * n + j];
        __syncthreads();
#pragma unroll
        for (int q = 0; q < T; q++)
            sum += as[threadIdx.y][q] * bs[q][threadIdx.x];
        __syncthreads();
    }
    c[i * n + j] = sum;
}
