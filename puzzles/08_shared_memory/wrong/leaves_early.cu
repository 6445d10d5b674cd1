// rejected: barrier at line 16: the barrier stands behind the return of threads without an element
#ifndef TPB
#define TPB 4
#endif

__global__ void mirror(int n, float *out, const float *a)
{
    __shared__ float tile[TPB];
    int t = threadIdx.x, i = blockIdx.x * TPB + t;

    if (i >= n) {
        tile[t] = 0;
        return;
    }
    tile[t] = a[i];
    __syncthreads();
    out[i] = tile[t] - tile[TPB - 1 - t];
}
