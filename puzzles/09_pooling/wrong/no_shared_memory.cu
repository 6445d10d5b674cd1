// rejected: global_loads: right values, three reads where one will do
#ifndef TPB
#define TPB 8
#endif

__global__ void pooling(int n, float *out, const float *a)
{
    __shared__ float tile[TPB];
    int i = threadIdx.x;

    if (i < n) {
        float largest = a[i];
        for (int j = i < 2 ? 0 : i - 2; j < i; j++)
            largest = fmaxf(largest, a[j]);
        out[i] = largest;
    }
}
