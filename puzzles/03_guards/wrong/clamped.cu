// rejected: race at line 10: right values; all threads left over write the last element
#ifndef TPB
#define TPB 8
#endif

__global__ void guards(int n, float *out, const float *a)
{
    int i = threadIdx.x < n ? threadIdx.x : n - 1;

    out[i] = a[i] * 3;
}
