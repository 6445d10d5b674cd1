// The function that a failed assertion calls; device heap.
#include <cassert>
extern "C" __global__ void asserts(int *x)
{
    assert(x[threadIdx.x] > 0);
    int *p = (int *)malloc(16);
    if (p) {
        p[0] = x[0];
        x[1] = p[0];
        free(p);
    }
    if (x[2] < 2)
        __builtin_unreachable();
    x[3] = __builtin_expect(x[4] != 0, 1) ? 5 : 6;
}
