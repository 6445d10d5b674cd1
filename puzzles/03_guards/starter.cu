// Puzzle 3, guards: thread i multiplies element i by 3, if there is one.
#ifndef TPB
#define TPB 8 // threads of the block, at least n; the judge tries others too
#endif

__global__ void guards(int n, float *out, const float *a)
{
    int i = threadIdx.x;

    // Yours: two lines.
}
