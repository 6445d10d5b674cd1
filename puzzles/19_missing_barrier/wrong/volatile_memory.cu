// rejected: word: nothing but a barrier orders the threads of a warp
#ifndef TPB
#define TPB 4
#endif
#ifndef CODES
#define CODES 2
#endif

__global__ void compare(int n, int k, float *out, const float *table, const int *code, const int *mate)
{
    volatile __shared__ float row[CODES], score[TPB];
    int t = threadIdx.x, i = blockIdx.x * TPB + t;
    float s = 0;

    for (int g = 0; g < k; g++) {
        if (t < CODES)
            row[t] = table[g * CODES + t];
        if (TPB > 32)
            __syncthreads(); // the row is written before anyone looks up
        if (i < n)
            s += row[code[g * n + i]];
        if (TPB > 32)
            __syncthreads(); // all have looked up before the next row comes
    }
    score[t] = s;
    if (TPB > 32)
        __syncthreads(); // all scores are written before anyone reads his mate's
    if (i < n)
        out[i] = s - score[mate[i]];
}
