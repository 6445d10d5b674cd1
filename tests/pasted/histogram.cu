__global__ void histogram(const int *values, int *counts, int n, int bins)
{
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i < n && values[i] >= 0 && values[i] < bins)
        atomicAdd(&counts[values[i]], 1);
}
