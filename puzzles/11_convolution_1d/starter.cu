// Puzzle 11, convolution: each result is a weighted sum of five neighbours.
#define K 5
#ifndef TPB
#define TPB 8 // threads of a block; the judge tries other values too
#endif

__global__ void convolution_1d(int n, float *out, const float *a, const float *b)
{
    __shared__ float piece[TPB + K - 1], taps[K];
    int t = threadIdx.x, i = blockIdx.x * TPB + t;

    // Yours: copy the piece, the halo and the taps; then compute out[i] from them.
}
