// rejected: values: nobody writes the last element
#ifndef TPB
#define TPB 8
#endif

__global__ void guards(int n, float *out, const float *a)
{
    int i = threadIdx.x;

    if (i < n - 1)
        out[i] = a[i] * 3;
}
