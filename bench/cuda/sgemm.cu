// The thread-level ladder of kernels/sgemm in CUDA C, statement by statement, to compare the
// machine code of both compilers. Sizes are the defaults of the .tile kernels. The functions are
// extern "C", so that a test finds them by name.
//
//     nvcc -O3 -arch=sm_90 -cubin sgemm.cu
#define T 32

extern "C" __global__ void sgemm_naive(int m, int n, int k, const float *__restrict__ a,
                                       const float *__restrict__ b, float *__restrict__ c)
{
    int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;
    if (row < m && col < n) {
        float sum = 0;
        for (int p = 0; p < k; p++)
            sum += a[(long long)row * k + p] * b[(long long)p * n + col];
        c[(long long)row * n + col] = sum;
    }
}

template <int PAD, bool TRANSPOSED>
static __device__ void tiled(int m, int n, int k, const float *__restrict__ a,
                             const float *__restrict__ b, float *__restrict__ c)
{
    __shared__ float as[T][T], bs[T][T + PAD];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * T + ty, col = blockIdx.x * T + tx;
    float sum = 0;
    for (int p = 0; p < k; p += T) {
        as[ty][tx] = row < m && p + tx < k ? a[(long long)row * k + p + tx] : 0;
        float v = p + ty < k && col < n ? b[(long long)(p + ty) * n + col] : 0;
        if (TRANSPOSED)
            bs[tx][ty] = v;
        else
            bs[ty][tx] = v;
        __syncthreads();
#pragma unroll
        for (int q = 0; q < T; q++)
            sum += as[ty][q] * (TRANSPOSED ? bs[tx][q] : bs[q][tx]);
        __syncthreads();
    }
    if (row < m && col < n)
        c[(long long)row * n + col] = sum;
}

#define TILED(name, pad, transposed)                                                               \
    extern "C" __global__ void name(int m, int n, int k, const float *__restrict__ a,              \
                                    const float *__restrict__ b, float *__restrict__ c)            \
    {                                                                                              \
        tiled<pad, transposed>(m, n, k, a, b, c);                                                  \
    }
TILED(sgemm_tiled, 0, false)
TILED(sgemm_padded, 1, false)
TILED(sgemm_transposed, 0, true)

extern "C" __global__ void sgemm_double_buffered(int m, int n, int k, const float *__restrict__ a,
                                                 const float *__restrict__ b,
                                                 float *__restrict__ c)
{
    __shared__ float as[2][T][T], bs[2][T][T];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * T + ty, col = blockIdx.x * T + tx;
    float sum = 0;
    as[0][ty][tx] = row < m && tx < k ? a[(long long)row * k + tx] : 0;
    bs[0][ty][tx] = ty < k && col < n ? b[(long long)ty * n + col] : 0;
    for (int p = 0, s = 0; p < k; p += T, s = 1 - s) {
        __syncthreads();
        int next = p + T;
        if (next < k) {
            as[1 - s][ty][tx] =
                row < m && next + tx < k ? a[(long long)row * k + next + tx] : 0;
            bs[1 - s][ty][tx] =
                next + ty < k && col < n ? b[(long long)(next + ty) * n + col] : 0;
        }
#pragma unroll
        for (int q = 0; q < T; q++)
            sum += as[s][ty][q] * bs[s][q][tx];
    }
    if (row < m && col < n)
        c[(long long)row * n + col] = sum;
}

#define BLOCK 64
#define R 4
#define D 16

extern "C" __global__ void sgemm_register_tiled(int m, int n, int k, const float *__restrict__ a,
                                                const float *__restrict__ b,
                                                float *__restrict__ c)
{
    __shared__ __align__(16) float as[BLOCK][D];
    __shared__ __align__(16) float bs[D][BLOCK];
    int row = blockIdx.y * BLOCK, col = blockIdx.x * BLOCK;
    unsigned t = threadIdx.y * D + threadIdx.x;
    float sum[R][R] = {};
    for (int p = 0; p < k; p += D) {
#pragma unroll
        for (int e = 0; e < BLOCK * D; e += D * D) {
            int y = t / D + e / D, x = t % D;
            as[y][x] = row + y < m && p + x < k ? a[(long long)(row + y) * k + p + x] : 0;
        }
#pragma unroll
        for (int e = 0; e < BLOCK * D; e += D * D) {
            int y = t / BLOCK + e / BLOCK, x = t % BLOCK;
            bs[y][x] = p + y < k && col + x < n ? b[(long long)(p + y) * n + col + x] : 0;
        }
        __syncthreads();
#pragma unroll
        for (int q = 0; q < D; q++)
#pragma unroll
            for (int y = 0; y < R; y++)
#pragma unroll
                for (int x = 0; x < R; x++)
                    sum[y][x] += as[threadIdx.y * R + y][q] * bs[q][threadIdx.x + x * D];
        __syncthreads();
    }
#pragma unroll
    for (int y = 0; y < R; y++)
#pragma unroll
        for (int x = 0; x < R; x++) {
            int r = row + threadIdx.y * R + y, s = col + threadIdx.x + x * D;
            if (r < m && s < n)
                c[(long long)r * n + s] = sum[y][x];
        }
}

#define V 4

// Rows are loaded as float4, so n and k must be multiples of 4.
extern "C" __global__ void sgemm_vector_load(int m, int n, int k, const float *__restrict__ a,
                                             const float *__restrict__ b, float *__restrict__ c)
{
    __shared__ __align__(16) float as[T][T];
    __shared__ __align__(16) float bs[T][T];
    int tx = threadIdx.x * V, ty = threadIdx.y;
    int row = blockIdx.y * T + ty, col = blockIdx.x * T + tx;
    float sum[V] = {};
    for (int p = 0; p < k; p += T) {
        float4 va = {}, vb = {};
        if (row < m && p + tx < k)
            va = *(const float4 *)&a[(long long)row * k + p + tx];
        if (p + ty < k && col < n)
            vb = *(const float4 *)&b[(long long)(p + ty) * n + col];
        *(float4 *)&as[ty][tx] = va;
        *(float4 *)&bs[ty][tx] = vb;
        __syncthreads();
#pragma unroll
        for (int q = 0; q < T; q++) {
            float4 v = *(const float4 *)&bs[q][tx];
            float f = as[ty][q];
            sum[0] += f * v.x;
            sum[1] += f * v.y;
            sum[2] += f * v.z;
            sum[3] += f * v.w;
        }
        __syncthreads();
    }
    if (row < m && col < n)
        *(float4 *)&c[(long long)row * n + col] = *(float4 *)sum;
}
