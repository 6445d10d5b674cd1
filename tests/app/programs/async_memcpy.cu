// async-race: cg::memcpy_async of a block, read before cg::wait.
#include "app_check.h"

#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>

namespace cg = cooperative_groups;

template <bool WAITS> __global__ void reverse(const int *in, int *out)
{
    __shared__ int row[256];
    cg::thread_block block = cg::this_thread_block();
    cg::memcpy_async(block, row, in + blockIdx.x * 256, sizeof row);
    if (WAITS)
        cg::wait(block);
    out[blockIdx.x * 256 + threadIdx.x] = row[255 - threadIdx.x];
    if (!WAITS)
        cg::wait(block);
}

int main(int argc, char **argv)
{
    int *in, *out, host[512], got[512];
    for (int i = 0; i < 512; i++)
        host[i] = i;
    CHECK(cudaMalloc(&in, sizeof host));
    CHECK(cudaMalloc(&out, sizeof got));
    CHECK(cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice));
    if (is_broken(argc, argv))
        reverse<false><<<2, 256>>>(in, out);
    else
        reverse<true><<<2, 256>>>(in, out);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(in));
    CHECK(cudaFree(out));
    EXPECT(is_broken(argc, argv) || (got[0] == 255 && got[511] == 256));
    return 0;
}
