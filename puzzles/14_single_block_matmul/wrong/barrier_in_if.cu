// rejected: barrier at line 16: threads without an element never come to it
#ifndef SIZE
#define SIZE 2
#endif
#ifndef TPB
#define TPB 3
#endif
__global__ void single_block(float *out, const float *a, const float *b)
{
    __shared__ float as[TPB][TPB], bs[TPB][TPB];
    int i = threadIdx.y, j = threadIdx.x;

    if (i < SIZE && j < SIZE) {
        as[i][j] = a[i * SIZE + j];
        bs[i][j] = b[i * SIZE + j];
        __syncthreads();
        float acc = 0;
        for (int p = 0; p < SIZE; p++)
            acc += as[i][p] * bs[p][j];
        out[i * SIZE + j] = acc;
    }
}
