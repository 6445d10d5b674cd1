// stream-race (compute_90): a graph's kernel, whose edge lets it begin before the other is done, reads the result before the wait.
#include "app_check.h"
#include "app_launch.h"

enum { N = 64 };

__global__ void produce(int *x)
{
    cudaTriggerProgrammaticLaunchCompletion();
    x[threadIdx.x] = 5;
}

__global__ void consume(const int *x, int *y, bool early)
{
    if (!early)
        cudaGridDependencySynchronize();
    y[threadIdx.x] = x[threadIdx.x];
    if (early)
        cudaGridDependencySynchronize();
}

int main(int argc, char **argv)
{
    bool early = is_broken(argc, argv);
    int *x, *y, got = 0;
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMalloc(&x, N * sizeof(int)));
    CHECK(cudaMalloc(&y, N * sizeof(int)));
    cudaLaunchAttribute overlap;
    cudaLaunchConfig_t config = overlapping(&overlap, 1, N, stream);
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    produce<<<1, N, 0, stream>>>(x);
    CHECK(cudaLaunchKernelEx(&config, consume, (const int *)x, y, early));
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&ready, graph, 0));
    for (int i = 0; i < 2; i++)
        CHECK(cudaGraphLaunch(ready, stream));
    CHECK(cudaMemcpyAsync(&got, y + N - 1, sizeof got, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaGraphExecDestroy(ready));
    CHECK(cudaGraphDestroy(graph));
    printf("%d\n", got);
    return got == 5 ? 0 : 2;
}
