// rejected: bounds at line 10: the last thread reads behind the end
#ifndef SIZE
#define SIZE 4
#endif

__global__ void map(float *out, const float *a)
{
    int i = threadIdx.x;

    out[i] = a[i + 1] + 10;
}
