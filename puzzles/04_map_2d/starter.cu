// Puzzle 4, map in two dimensions: thread (x, y) adds 10 to the element in row y, column x.
#ifndef TPB
#define TPB 4 // TPB × TPB threads, at least rows and cols; the judge tries others too
#endif

__global__ void map_2d(int rows, int cols, float *out, const float *a)
{
    int x = threadIdx.x, y = threadIdx.y;

    // Yours: a guard and a line. The element in row y, column x is a[y * cols + x].
}
