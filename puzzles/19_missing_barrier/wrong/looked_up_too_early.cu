// rejected: race at line 17 with a shown case: nothing between the row's being written and looked up
#ifndef TPB
#define TPB 4
#endif
#ifndef CODES
#define CODES 2
#endif

__global__ void compare(int n, int k, float *out, const float *table, const int *code, const int *mate)
{
    __shared__ float row[CODES], score[TPB];
    int t = threadIdx.x, i = blockIdx.x * TPB + t;
    float s = 0;

    for (int g = 0; g < k; g++) {
        if (t < CODES)
            row[t] = table[g * CODES + t];
        if (i < n)
            s += row[code[g * n + i]];
        __syncthreads();
    }
    score[t] = s;
    __syncthreads();
    if (i < n)
        out[i] = s - score[mate[i]];
}
