// rejected: race at line 11: right values; a block's last element is the next one's first
#ifndef TPB
#define TPB 4
#endif

__global__ void blocks(int n, float *out, const float *a)
{
    int i = blockIdx.x * (TPB - 1) + threadIdx.x;

    if (i < n)
        out[i] = a[i] + 10;
}
