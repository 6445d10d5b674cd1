// Puzzle 1, map: thread i adds 10 to element i.
#ifndef SIZE
#define SIZE 4 // as many elements as threads; the judge tries other values too
#endif

__global__ void map(float *out, const float *a)
{
    int i = threadIdx.x;

    // Yours: one line.
}
