// rejected: barriers at line 9: an addition to one place for each lane, and a barrier ahead of them
__global__ void row_sum(int rows, int cols, float *out, const float *a)
{
    int lane = threadIdx.x, row = blockIdx.x;
    float mine = 0;

    if (lane == 0)
        out[row] = 0;
    __syncwarp();
    for (int c = lane; c < cols; c += 32)
        mine += a[row * cols + c];
    atomicAdd(&out[row], mine);
}
