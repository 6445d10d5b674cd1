// rejected: values: nobody writes what is behind the first TPB elements
#ifndef TPB
#define TPB 4
#endif

__global__ void blocks(int n, float *out, const float *a)
{
    int i = threadIdx.x;

    if (i < n)
        out[i] = a[i] + 10;
}
