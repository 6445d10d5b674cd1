// rejected: shared_stores: the tree of the axis sum, through shared memory
__global__ void row_sum(int rows, int cols, float *out, const float *a)
{
    __shared__ float part[32];
    int t = threadIdx.x, row = blockIdx.x;
    float mine = 0;

    for (int c = t; c < cols; c += 32)
        mine += a[row * cols + c];
    part[t] = mine;
    __syncthreads();
    for (int half = 16; half > 0; half /= 2) {
        if (t < half)
            part[t] += part[t + half];
        __syncthreads();
    }
    if (t == 0)
        out[row] = part[0];
}
