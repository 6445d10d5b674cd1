// rejected: values with a hidden case: right for rows up to TPB long
#ifndef TPB
#define TPB 8
#endif

__global__ void axis_sum(int rows, int cols, float *out, const float *a)
{
    __shared__ float part[TPB];
    int t = threadIdx.x, row = blockIdx.x;
    float mine = 0;

    if (t < cols)
        mine = a[row * cols + t];
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
