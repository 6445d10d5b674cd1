// Eight by eight outputs a thread, vector loads from shared memory.
#define BM 64
#define BK 8
extern "C" __global__ __launch_bounds__(64) void matmul(int n, const float *a, const float *b, float *c)
{
    __shared__ __align__(16) float as[BK][BM], bs[BK][BM];
    float acc[8][8] = {};
    int ty = threadIdx.x / 8, tx = threadIdx.x % 8;
    for (int p = 0; p < n; p += BK) {
        for (int i = threadIdx.x; i < BK * BM; i += 64) {
            as[i / BM][i % BM] = a[(blockIdx.y * BM + i % BM) * n + p + i / BM];
            bs[i / BM][i % BM] = b[(p + i / BM) * n + blockIdx.x * BM + i % BM];
        }
        __syncthreads();
        for (int q = 0; q < BK; q++) {
            float4 a0 = *(float4 *)&as[q][ty * 8], a1 = *(float4 *)&as[q][ty * 8 + 4];
            float4 b0 = *(float4 *)&bs[q][tx * 8], b1 = *(float4 *)&bs[q][tx * 8 + 4];
            float ra[8] = {a0.x, a0.y, a0.z, a0.w, a1.x, a1.y, a1.z, a1.w};
            float rb[8] = {b0.x, b0.y, b0.z, b0.w, b1.x, b1.y, b1.z, b1.w};
#pragma unroll
            for (int i = 0; i < 8; i++)
#pragma unroll
                for (int j = 0; j < 8; j++)
                    acc[i][j] += ra[i] * rb[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++)
            c[(blockIdx.y * BM + ty * 8 + i) * n + blockIdx.x * BM + tx * 8 + j] = acc[i][j];
}
