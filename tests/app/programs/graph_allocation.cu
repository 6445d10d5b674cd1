// stream-race: in a graph, a kernel uses memory that another node allocates, and no edge orders them.
#include "app_check.h"

enum { N = 64 };

__global__ void fill(int *x)
{
    x[threadIdx.x] = threadIdx.x;
}

__global__ void twice(const int *x, int *y)
{
    y[threadIdx.x] = 2 * x[threadIdx.x];
}

int main(int argc, char **argv)
{
    int *y, got[N] = {};
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphNode_t allocated, filled, doubled, freed;
    cudaGraphExec_t ready;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMalloc(&y, N * sizeof(int)));
    CHECK(cudaGraphCreate(&graph, 0));
    cudaMemAllocNodeParams memory = {};
    memory.poolProps.allocType = cudaMemAllocationTypePinned;
    memory.poolProps.location.type = cudaMemLocationTypeDevice;
    memory.bytesize = N * sizeof(int);
    CHECK(cudaGraphAddMemAllocNode(&allocated, graph, NULL, 0, &memory));
    cudaKernelNodeParams kernel = {};
    void *fills[] = {&memory.dptr}, *doubles[] = {&memory.dptr, &y};
    kernel.func = (void *)fill;
    kernel.gridDim = 1;
    kernel.blockDim = N;
    kernel.kernelParams = fills;
    CHECK(cudaGraphAddKernelNode(&filled, graph, &allocated, is_broken(argc, argv) ? 0 : 1, &kernel));
    kernel.func = (void *)twice;
    kernel.kernelParams = doubles;
    CHECK(cudaGraphAddKernelNode(&doubled, graph, &filled, 1, &kernel));
    CHECK(cudaGraphAddMemFreeNode(&freed, graph, &doubled, 1, memory.dptr));
    CHECK(cudaGraphInstantiate(&ready, graph, 0));
    for (int i = 0; i < 2; i++)
        CHECK(cudaGraphLaunch(ready, stream));
    CHECK(cudaMemcpyAsync(got, y, sizeof got, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaGraphExecDestroy(ready));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(y));
    printf("%d\n", got[N - 1]);
    return got[N - 1] == 2 * (N - 1) ? 0 : 2;
}
