// stream-race: two graphs write the same bytes in two streams; the first one is destroyed before the second one is made.
#include "app_check.h"

enum { N = 1000 };

__global__ void fill(int *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] = i;
}

int main(int argc, char **argv)
{
    int *x, n = N;
    cudaStream_t streams[2];
    cudaEvent_t launched;
    CHECK(cudaMalloc(&x, N * sizeof(int)));
    CHECK(cudaStreamCreate(&streams[0]));
    CHECK(cudaStreamCreate(&streams[1]));
    CHECK(cudaEventCreate(&launched));
    for (cudaStream_t stream : streams) {
        void *arguments[] = {&x, &n};
        cudaGraph_t graph;
        cudaGraphNode_t filled;
        cudaGraphExec_t ready;
        cudaKernelNodeParams kernel = {};
        kernel.func = (void *)fill;
        kernel.gridDim = 8;
        kernel.blockDim = 128;
        kernel.kernelParams = arguments;
        CHECK(cudaGraphCreate(&graph, 0));
        CHECK(cudaGraphAddKernelNode(&filled, graph, NULL, 0, &kernel));
        CHECK(cudaGraphInstantiate(&ready, graph, 0));
        if (!is_broken(argc, argv))
            CHECK(cudaStreamWaitEvent(stream, launched, 0));
        CHECK(cudaGraphLaunch(ready, stream));
        CHECK(cudaEventRecord(launched, stream));
        CHECK(cudaGraphExecDestroy(ready));
        CHECK(cudaGraphDestroy(graph));
    }
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaEventDestroy(launched));
    CHECK(cudaStreamDestroy(streams[0]));
    CHECK(cudaStreamDestroy(streams[1]));
    CHECK(cudaFree(x));
    return 0;
}
