// rejected: global_sectors: right values, one element at a time
#ifndef SIZE
#define SIZE 6
#endif

__global__ void zip(float *out, const float *a, const float *b)
{
    int i = threadIdx.x;

    if (i == 0)
        for (int j = 0; j < SIZE; j++)
            out[j] = a[j] + b[j];
}
