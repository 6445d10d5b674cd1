// rejected: uninitialised at line 10: adds to what nobody has written
#ifndef SIZE
#define SIZE 6
#endif

__global__ void zip(float *out, const float *a, const float *b)
{
    int i = threadIdx.x;

    out[i] += a[i];
    out[i] += b[i];
}
