// Puzzle 2, zip: thread i adds element i of a and element i of b.
#ifndef SIZE
#define SIZE 6
#endif

__global__ void zip(float *out, const float *a, const float *b)
{
    int i = threadIdx.x;

    out[i] = a[i] + b[i];
}
