// rejected: values with a shown case: the index is the element in the first case alone
#ifndef SIZE
#define SIZE 4
#endif

__global__ void map(float *out, const float *a)
{
    int i = threadIdx.x;

    out[i] = i + 10;
}
