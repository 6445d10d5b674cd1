// race: a thread reads its neighbour's element between arriving at a cuda::barrier and waiting for it.
#include "app_check.h"

#include <cuda/barrier>

template <bool WAITS> __global__ void rotate(const int *in, int *out)
{
    __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
    __shared__ int row[128];
    int t = threadIdx.x;
    if (t == 0)
        init(&barrier, blockDim.x);
    __syncthreads();
    row[t] = in[t];
    auto token = barrier.arrive();
    int mine = in[t] * 10; // work that does not depend on the others
    if (WAITS)
        barrier.wait(std::move(token));
    out[t] = mine + row[(t + 1) % 128];
    if (!WAITS)
        barrier.wait(std::move(token));
}

int main(int argc, char **argv)
{
    int *in, *out, host[128], got[128];
    for (int i = 0; i < 128; i++)
        host[i] = i;
    CHECK(cudaMalloc(&in, sizeof host));
    CHECK(cudaMalloc(&out, sizeof got));
    CHECK(cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice));
    if (is_broken(argc, argv))
        rotate<false><<<1, 128>>>(in, out);
    else
        rotate<true><<<1, 128>>>(in, out);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(in));
    CHECK(cudaFree(out));
    for (int i = 0; i < 128; i++)
        EXPECT(is_broken(argc, argv) || got[i] == 10 * i + (i + 1) % 128);
    return 0;
}
