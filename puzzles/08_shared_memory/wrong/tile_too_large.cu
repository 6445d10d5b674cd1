// rejected: compile: no GPU has so much static shared memory
#ifndef TPB
#define TPB 4
#endif

__global__ void mirror(int n, float *out, const float *a)
{
    __shared__ float tile[TPB + 100000];
    int t = threadIdx.x, i = blockIdx.x * TPB + t;

    tile[t] = i < n ? a[i] : 0;
    __syncthreads();
    if (i < n)
        out[i] = tile[t] - tile[TPB - 1 - t];
}
