// rejected: race at line 15: nothing orders the filling before the reading
#ifndef TPB
#define TPB 8
#endif

__global__ void pooling(int n, float *out, const float *a)
{
    __shared__ float tile[TPB];
    int i = threadIdx.x;

    if (i < n) {
        float largest = a[i];
        tile[i] = largest;
        for (int j = i < 2 ? 0 : i - 2; j < i; j++)
            largest = fmaxf(largest, tile[j]);
        out[i] = largest;
    }
}
