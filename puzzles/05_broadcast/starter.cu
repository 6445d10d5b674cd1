// Puzzle 5, broadcast: thread (x, y) multiplies element y of down by element x of across.
#ifndef TPB
#define TPB 4 // TPB × TPB threads, at least rows and cols; the judge tries others too
#endif

__global__ void times_table(int rows, int cols, float *out, const float *down, const float *across)
{
    int x = threadIdx.x, y = threadIdx.y;

    // Yours: a guard and a line.
}
