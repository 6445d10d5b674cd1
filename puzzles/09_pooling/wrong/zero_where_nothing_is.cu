// rejected: values with a hidden case: zero is larger than a negative element
#ifndef TPB
#define TPB 8
#endif

__global__ void pooling(int n, float *out, const float *a)
{
    __shared__ float tile[TPB];
    int i = threadIdx.x;

    if (i < n)
        tile[i] = a[i];
    __syncthreads();
    if (i < n) {
        float one = i >= 1 ? tile[i - 1] : 0, two = i >= 2 ? tile[i - 2] : 0;
        out[i] = fmaxf(tile[i], fmaxf(one, two));
    }
}
