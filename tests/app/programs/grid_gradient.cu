// race: conjugate gradients in one cooperative launch, whose dot product is used before all blocks have added to it.
#include "app_check.h"

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

// A is the matrix with 2.5 on the diagonal and -1 beside it.
__device__ float row(const float *p, int i, int n)
{
    return 2.5f * p[i] - (i > 0 ? p[i - 1] : 0) - (i + 1 < n ? p[i + 1] : 0);
}

__device__ void dot(const float *a, const float *b, int n, float *sum, int i)
{
    float v = i < n ? a[i] * b[i] : 0;
    for (int d = 16; d; d /= 2)
        v += __shfl_down_sync(~0u, v, d);
    if (threadIdx.x % 32 == 0)
        atomicAdd(sum, v);
}

template <bool WAITS> __global__ void solve(float *x, float *r, float *p, float *q, float *sums, int n, int steps)
{
    cg::grid_group grid = cg::this_grid();
    int i = (int)grid.thread_rank();
    dot(r, r, n, &sums[0], i);
    grid.sync();
    for (int k = 0; k < steps; k++) {
        float *now = sums + 2 * k;
        if (i < n)
            q[i] = row(p, i, n);
        dot(p, q, n, &now[1], i);
        if (WAITS)
            grid.sync();
        float a = now[0] / now[1];
        if (i < n) {
            x[i] += a * p[i];
            r[i] -= a * q[i];
        }
        dot(r, r, n, &now[2], i);
        grid.sync();
        if (i < n)
            p[i] = r[i] + now[2] / now[0] * p[i];
        grid.sync();
    }
}

int main(int argc, char **argv)
{
    int n = 200, steps = 12, can = 0;
    float host[200], got[200], *x, *r, *p, *q, *sums;
    CHECK(cudaDeviceGetAttribute(&can, cudaDevAttrCooperativeLaunch, 0));
    EXPECT(can);
    for (int i = 0; i < n; i++)
        host[i] = 1;
    CHECK(cudaMalloc(&x, sizeof host));
    CHECK(cudaMalloc(&r, sizeof host));
    CHECK(cudaMalloc(&p, sizeof host));
    CHECK(cudaMalloc(&q, sizeof host));
    CHECK(cudaMalloc(&sums, 100 * sizeof(float)));
    CHECK(cudaMemset(x, 0, sizeof host));
    CHECK(cudaMemset(sums, 0, 100 * sizeof(float)));
    CHECK(cudaMemcpy(r, host, sizeof host, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(p, r, sizeof host, cudaMemcpyDeviceToDevice));
    void *arguments[] = {&x, &r, &p, &q, &sums, &n, &steps};
    void *kernel = is_broken(argc, argv) ? (void *)solve<false> : (void *)solve<true>;
    CHECK(cudaLaunchCooperativeKernel(kernel, dim3(4), dim3(64), arguments, 0, 0));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(got, x, sizeof got, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(x));
    CHECK(cudaFree(r));
    CHECK(cudaFree(p));
    CHECK(cudaFree(q));
    CHECK(cudaFree(sums));
    for (int i = 1; i + 1 < n; i++) {
        float residual = 2.5f * got[i] - got[i - 1] - got[i + 1] - 1;
        EXPECT(is_broken(argc, argv) || (residual < 1e-2f && residual > -1e-2f));
    }
    return 0;
}
