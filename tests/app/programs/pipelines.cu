// async-race: cuda::pipeline of a block, whose consumers do not wait for their stage.
#include "app_check.h"

#include <cooperative_groups.h>
#include <cuda/pipeline>

namespace cg = cooperative_groups;

template <bool WAITS> __global__ void twice(const int *in, int *out, int batches)
{
    enum { STAGES = 2 };
    __shared__ int stage[STAGES][64];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, STAGES> state;
    auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    for (int done = 0, begun = 0; done < batches; done++) {
        for (; begun < batches && begun < done + STAGES; begun++) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, stage[begun % STAGES], in + begun * 64, sizeof stage[0], pipe);
            pipe.producer_commit();
        }
        if (WAITS)
            pipe.consumer_wait();
        out[done * 64 + threadIdx.x] = 2 * stage[done % STAGES][63 - threadIdx.x];
        if (!WAITS)
            pipe.consumer_wait();
        pipe.consumer_release();
    }
}

int main(int argc, char **argv)
{
    const int batches = 6;
    int *in, *out, host[batches * 64], got[batches * 64];
    for (int i = 0; i < batches * 64; i++)
        host[i] = i;
    CHECK(cudaMalloc(&in, sizeof host));
    CHECK(cudaMalloc(&out, sizeof got));
    CHECK(cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice));
    if (is_broken(argc, argv))
        twice<false><<<1, 64>>>(in, out, batches);
    else
        twice<true><<<1, 64>>>(in, out, batches);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(in));
    CHECK(cudaFree(out));
    for (int i = 0; i < batches * 64; i++)
        EXPECT(is_broken(argc, argv) || got[i] == 2 * (i / 64 * 64 + 63 - i % 64));
    return 0;
}
