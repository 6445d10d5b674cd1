// rejected: race at line 11 with a hidden case: only in the case shown has a block 4 threads; larger ones overlap
#ifndef TPB
#define TPB 4
#endif

__global__ void blocks(int n, float *out, const float *a)
{
    int i = blockIdx.x * 4 + threadIdx.x;

    if (i < n)
        out[i] = a[i] + 10;
}
