// A thread's eight sums by one-dimensional tiles: the assembler unrolls the inner loop and merges the loads of as of four iterations.
__global__ void dots(const float *a, const float *b, float *c, int k)
{
    __shared__ float as[64 * 8], bs[8 * 64];
    int col = threadIdx.x % 64, row = threadIdx.x / 64;
    float acc[8] = {0};
    for (int i = 0; i < k; i += 8) {
        as[threadIdx.x] = a[threadIdx.x + i];
        bs[threadIdx.x] = b[threadIdx.x + i];
        __syncthreads();
        for (int d = 0; d < 8; d++) {
            float t = bs[d * 64 + col];
            for (int r = 0; r < 8; r++)
                acc[r] += as[(row * 8 + r) * 8 + d] * t;
        }
        __syncthreads();
    }
    for (int r = 0; r < 8; r++)
        c[(row * 8 + r) * 64 + col] = acc[r];
}
