// rejected: race at line 18: a barrier in front of the loop orders nothing in it
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

    __syncthreads();
    for (int g = 0; g < k; g++) {
        if (t < CODES)
            row[t] = table[g * CODES + t];
        if (i < n)
            s += row[code[g * n + i]];
    }
    score[t] = s;
    __syncthreads(); // all scores are written before anyone reads his mate's
    if (i < n)
        out[i] = s - score[mate[i]];
}
