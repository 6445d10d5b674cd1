// rejected: global_loads: right values, two reads where one will do
#ifndef TPB
#define TPB 4
#endif

__global__ void mirror(int n, float *out, const float *a)
{
    __shared__ float tile[TPB];
    int t = threadIdx.x, i = blockIdx.x * TPB + t;

    int m = blockIdx.x * TPB + TPB - 1 - t;
    if (i < n)
        out[i] = a[i] - (m < n ? a[m] : 0);
}
