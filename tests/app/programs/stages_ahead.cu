// async-race: a ring of four stages is filled five stages ahead, so a copy writes where an earlier one is still to be read. All values are equal, so
// the sums are right.
#include "app_check.h"

#include <cuda_pipeline.h>

enum { THREADS = 64, STAGES = 4, TURNS = 12 };

template <int AHEAD> __global__ void sum(const float *x, float *sums)
{
    __shared__ float ring[STAGES][THREADS];
    float total = 0;
    int next = 0;
    for (int turn = 0; turn < TURNS; turn++) {
        for (; next < turn + AHEAD; next++) {
            if (next < TURNS)
                __pipeline_memcpy_async(&ring[next % STAGES][threadIdx.x], &x[next * THREADS + threadIdx.x], sizeof(float));
            __pipeline_commit();
        }
        __pipeline_wait_prior(AHEAD - 1);
        total += ring[turn % STAGES][threadIdx.x];
    }
    sums[threadIdx.x] = total;
}

int main(int argc, char **argv)
{
    float *x, *sums;
    CHECK(cudaMallocManaged(&x, THREADS * TURNS * sizeof(float)));
    CHECK(cudaMallocManaged(&sums, THREADS * sizeof(float)));
    for (int i = 0; i < THREADS * TURNS; i++)
        x[i] = 3;
    if (is_broken(argc, argv))
        sum<STAGES + 1><<<1, THREADS>>>(x, sums);
    else
        sum<STAGES><<<1, THREADS>>>(x, sums);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < THREADS; i++)
        EXPECT(sums[i] == 3 * TURNS);
    CHECK(cudaFree(x));
    CHECK(cudaFree(sums));
    return 0;
}
