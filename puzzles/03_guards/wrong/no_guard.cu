// rejected: bounds at line 10: threads n to TPB - 1 access what is behind the arrays
#ifndef TPB
#define TPB 8
#endif

__global__ void guards(int n, float *out, const float *a)
{
    int i = threadIdx.x;

    out[i] = a[i] * 3;
}
