// rejected: global_sectors at line 14 with a hidden case: right values, but neighbours read far from each other
#ifndef TPB
#define TPB 8
#endif

__global__ void axis_sum(int rows, int cols, float *out, const float *a)
{
    __shared__ float part[TPB];
    int t = threadIdx.x, row = blockIdx.x;
    float mine = 0;

    int each = (cols + TPB - 1) / TPB;
    for (int c = t * each; c < min(cols, t * each + each); c++)
        mine += a[row * cols + c];
    part[t] = mine;
    __syncthreads();
    for (int half = TPB / 2; half > 0; half /= 2) {
        if (t < half)
            part[t] += part[t + half];
        __syncthreads();
    }
    if (t == 0)
        out[row] = part[0];
}
