// rejected: bounds at line 10: the last thread reads behind the end of b
#ifndef SIZE
#define SIZE 6
#endif

__global__ void zip(float *out, const float *a, const float *b)
{
    int i = threadIdx.x;

    out[i] = a[i] + b[i + 1];
}
