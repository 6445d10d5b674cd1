// Puzzle 2, zip: thread i adds element i of a and element i of b.
#ifndef SIZE
#define SIZE 6 // as many elements as threads; the judge tries others too
#endif

__global__ void zip(float *out, const float *a, const float *b)
{
    int i = threadIdx.x;

    // Yours: one line.
}
