// rejected: resident_warps: a piece of 2048 elements, and 18 blocks
#ifndef TPB
#define TPB 64
#endif
#ifndef SPAN
#define SPAN 8192
#endif
#define WIDTH 17
#define PIECE 2048

__global__ void moving_sum(int n, float *out, const float *a)
{
    __shared__ float piece[PIECE + WIDTH - 1];
    int t = threadIdx.x, first = blockIdx.x * SPAN;

    for (int p = first; p < min(first + SPAN, n); p += PIECE) {
        for (int i = t; i < PIECE + WIDTH - 1; i += TPB)
            piece[i] = p + i < n ? a[p + i] : 0;
        __syncthreads();
        for (int i = t; i < PIECE; i += TPB) {
            float s = 0;
            for (int w = 0; w < WIDTH; w++)
                s += piece[i + w];
            if (p + i < min(first + SPAN, n))
                out[p + i] = s;
        }
        __syncthreads(); // read before the next piece overwrites it
    }
}
