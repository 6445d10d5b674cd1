// rejected: uninitialised at line 15: the threads left over leave their elements of the tile as they are
#ifndef TPB
#define TPB 4
#endif

__global__ void mirror(int n, float *out, const float *a)
{
    __shared__ float tile[TPB];
    int t = threadIdx.x, i = blockIdx.x * TPB + t;

    if (i < n)
        tile[t] = a[i];
    __syncthreads();
    if (i < n)
        out[i] = tile[t] - tile[TPB - 1 - t];
}
