// rejected: bounds at line 10: the last block has more threads than there are elements left
#ifndef TPB
#define TPB 4
#endif

__global__ void blocks(int n, float *out, const float *a)
{
    int i = blockIdx.x * TPB + threadIdx.x;

    out[i] = a[i] + 10;
}
