// rejected: global_sectors: right values; neighbouring threads take elements far apart
#ifndef TPB
#define TPB 4
#endif

__global__ void blocks(int n, float *out, const float *a)
{
    int i = threadIdx.x * gridDim.x + blockIdx.x;

    if (i < n)
        out[i] = a[i] + 10;
}
