// rejected: values: a row is cols elements long
#ifndef TPB
#define TPB 8
#endif

__global__ void axis_sum(int rows, int cols, float *out, const float *a)
{
    __shared__ float part[TPB];
    int t = threadIdx.x, row = blockIdx.x;
    float mine = 0;

    for (int c = t; c < cols; c += TPB) // in each turn, neighbours read neighbours
        mine += a[row * rows + c];
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
