// Puzzle 19, the missing barrier: sums of table entries, each vector compared with its mate.
#ifndef TPB
#define TPB 4 // threads of a block, one a vector; the judge tries other values too
#endif
#ifndef CODES
#define CODES 2 // entries of a row of the table, CODES <= TPB
#endif

__global__ void compare(int n, int k, float *out, const float *table, const int *code, const int *mate)
{
    __shared__ float row[CODES], score[TPB];
    int t = threadIdx.x, i = blockIdx.x * TPB + t;
    float s = 0;

    // All is right but the barriers: put `__syncthreads();` where it is missing, and remove one that has no use.
    __syncthreads();
    for (int g = 0; g < k; g++) {
        if (t < CODES)
            row[t] = table[g * CODES + t];
        if (i < n)
            s += row[code[g * n + i]];
    }
    score[t] = s;
    if (i < n)
        out[i] = s - score[mate[i]];
}
