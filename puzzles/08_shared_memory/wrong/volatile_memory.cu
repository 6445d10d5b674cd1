// rejected: word: nothing orders the warps
#ifndef TPB
#define TPB 4
#endif

__global__ void mirror(int n, float *out, const float *a)
{
    __shared__ volatile float tile[TPB];
    int t = threadIdx.x, i = blockIdx.x * TPB + t;

    tile[t] = i < n ? a[i] : 0;
    if (i < n)
        out[i] = tile[t] - tile[TPB - 1 - t];
}
