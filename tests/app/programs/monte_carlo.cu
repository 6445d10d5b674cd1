// race: states of cuRAND's generator are shared by all threads of a block.
#include "app_check.h"

#include <curand_kernel.h>

__global__ void begin(curandState *states, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        curand_init(1234, i, 0, &states[i]);
}

__global__ void inside(curandState *states, unsigned long long *hits, int tries, int stride)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, mine = 0;
    curandState state = states[i * stride];
    for (int j = 0; j < tries; j++) {
        float x = curand_uniform(&state), y = curand_uniform(&state);
        mine += x * x + y * y <= 1;
    }
    states[i * stride] = state;
    atomicAdd(hits, (unsigned long long)mine);
}

int main(int argc, char **argv)
{
    const int n = 128, tries = 50;
    curandState *states;
    unsigned long long *hits, got = 0;
    CHECK(cudaMalloc(&states, n * sizeof(curandState)));
    CHECK(cudaMalloc(&hits, sizeof got));
    CHECK(cudaMemset(hits, 0, sizeof got));
    begin<<<2, 64>>>(states, n);
    inside<<<2, 64>>>(states, hits, tries, is_broken(argc, argv) ? 0 : 1);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&got, hits, sizeof got, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(states));
    CHECK(cudaFree(hits));
    double pi = 4.0 * (double)got / (n * tries);
    EXPECT(is_broken(argc, argv) || (pi > 3.0 && pi < 3.3));
    return 0;
}
