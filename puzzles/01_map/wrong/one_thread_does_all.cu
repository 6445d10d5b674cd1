// rejected: global_sectors at line 12: right values, one element at a time
#ifndef SIZE
#define SIZE 4
#endif

__global__ void map(float *out, const float *a)
{
    int i = threadIdx.x;

    if (i == 0)
        for (int j = 0; j < SIZE; j++)
            out[j] = a[j] + 10;
}
