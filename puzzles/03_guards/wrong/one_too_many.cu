// rejected: bounds at line 11: thread n has no element
#ifndef TPB
#define TPB 8
#endif

__global__ void guards(int n, float *out, const float *a)
{
    int i = threadIdx.x;

    if (i <= n)
        out[i] = a[i] * 3;
}
