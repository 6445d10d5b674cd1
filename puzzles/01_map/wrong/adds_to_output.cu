// rejected: uninitialised at line 10: reads what nobody has written
#ifndef SIZE
#define SIZE 4
#endif

__global__ void map(float *out, const float *a)
{
    int i = threadIdx.x;

    out[i] += a[i] + 10;
}
