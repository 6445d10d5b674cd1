// One thread an output.
extern "C" __global__ void matmul(int m, int n, int k, const float *a, const float *b, float *c)
{
    int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= m || j >= n)
        return;
    float sum = 0;
    for (int p = 0; p < k; p++)
        sum += a[(size_t)i * k + p] * b[(size_t)p * n + j];
    c[(size_t)i * n + j] = sum;
}
