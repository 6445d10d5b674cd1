// rejected: block_sectors: right values; the first block does all elements, the others none
#ifndef TPB
#define TPB 4
#endif

__global__ void blocks(int n, float *out, const float *a)
{
    if (blockIdx.x == 0)
        for (int i = threadIdx.x; i < n; i += TPB)
            out[i] = a[i] + 10;
}
