// The sum of n numbers by one block: each thread adds some of them up, then half of the threads add the other half's sums
// to their own, and half of those … One thing is missing.
__global__ void block_sum(const float *in, float *out, int n)
{
    __shared__ float partial[256];
    int t = threadIdx.x;
    float mine = 0;
    for (int i = t; i < n; i += blockDim.x)
        mine += in[i];
    partial[t] = mine;
    __syncthreads();
    for (int stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (t < stride)
            partial[t] += partial[t + stride];
    }
    if (t == 0)
        *out = partial[0];
}
