// rejected: race at line 11: right values, each written by every thread
#ifndef SIZE
#define SIZE 6
#endif

__global__ void zip(float *out, const float *a, const float *b)
{
    int i = threadIdx.x;

    for (int j = 0; j < SIZE; j++)
        out[j] = a[j] + b[j];
}
