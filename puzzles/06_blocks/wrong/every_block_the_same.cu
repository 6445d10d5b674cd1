// rejected: race at line 11: every block does the first TPB elements, nobody what is behind them
#ifndef TPB
#define TPB 4
#endif

__global__ void blocks(int n, float *out, const float *a)
{
    int i = threadIdx.x;

    if (i < n)
        out[i] = a[i] + 10;
}
