// rejected: bounds at line 15: threads 0 and 1 have no two elements before theirs
#ifndef TPB
#define TPB 8
#endif

__global__ void pooling(int n, float *out, const float *a)
{
    __shared__ float tile[TPB];
    int i = threadIdx.x;

    if (i < n)
        tile[i] = a[i];
    __syncthreads();
    if (i < n)
        out[i] = fmaxf(tile[i], fmaxf(tile[i - 1], tile[i - 2]));
}
