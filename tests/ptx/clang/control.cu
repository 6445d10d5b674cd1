// Loops, early returns, selections, inline PTX, printf.
#include "small_cuda.h"
extern "C" __device__ int vprintf(const char *, void *);
extern "C" __global__ void control(int *x, float *f, int n)
{
    if (n < 0)
        return;
    int s = 0;
    for (int i = 0; i < n; i++) {
        if (x[i] == 3)
            continue;
        s += x[i] > 0 ? x[i] : -x[i];
        if (s > 1000)
            break;
    }
    while (f[s & 3] < 1.0f)
        f[s & 3] = f[s & 3] * 2 + 0.125f;
    int lane;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
    asm volatile("{ .reg .pred p; setp.gt.s32 p, %0, 4; @p st.global.s32 [%1], %0; }" ::"r"(s), "l"(x + 7) : "memory");
    struct {
        int a;
        double d;
    } arguments = {s, 2.5};
    vprintf("%d %f\n", &arguments);
    x[lane] = s;
    __nvvm_membar_gl();
}
extern __shared__ float dynamic[];
extern "C" __global__ void dynamic_shared(float *y)
{
    dynamic[TID_X] = y[TID_X];
    BARRIER();
    y[TID_X] = dynamic[TID_X ^ 1];
}
