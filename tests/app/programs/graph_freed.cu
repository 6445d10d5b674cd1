// out-of-bounds, uninitialised: captured work reads memory that is new in each launch and not written in this one, and memory after its free.
#include "app_check.h"

enum { N = 64 };

__global__ void fill(int *x)
{
    x[threadIdx.x] = 7;
}

__global__ void add(const int *x, int *sum)
{
    if (x[threadIdx.x] > 0)
        sum[threadIdx.x] += x[threadIdx.x];
}

// Captures a fill of new memory and an addition, which come before its free, or the addition after it.
static __forceinline__ cudaGraph_t capture(cudaStream_t stream, int *sum, bool late)
{
    int *x;
    cudaGraph_t graph;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK(cudaMallocAsync(&x, N * sizeof(int), stream));
    fill<<<1, N, 0, stream>>>(x);
    if (late)
        CHECK(cudaFreeAsync(x, stream));
    add<<<1, N, 0, stream>>>(x, sum);
    if (!late)
        CHECK(cudaFreeAsync(x, stream));
    CHECK(cudaStreamEndCapture(stream, &graph));
    return graph;
}

int main(int argc, char **argv)
{
    bool broken = is_broken(argc, argv);
    int *sum, got[N] = {};
    size_t count = 4;
    cudaStream_t stream;
    cudaGraphNode_t nodes[4];
    cudaGraphExec_t ready;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMalloc(&sum, N * sizeof(int)));
    CHECK(cudaMemset(sum, 0, N * sizeof(int)));
    cudaGraph_t graph = capture(stream, sum, false), late = capture(stream, sum, broken);
    CHECK(cudaGraphGetNodes(graph, nodes, &count));
    CHECK(cudaGraphInstantiate(&ready, graph, 0));
    CHECK(cudaGraphLaunch(ready, stream));
    if (broken)
        CHECK(cudaGraphNodeSetEnabled(ready, nodes[1], 0)); // the fill
    CHECK(cudaGraphLaunch(ready, stream));
    CHECK(cudaMemcpyAsync(got, sum, sizeof got, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaGraphExecDestroy(ready));
    CHECK(cudaGraphInstantiate(&ready, late, 0));
    CHECK(cudaGraphLaunch(ready, stream));
    printf("%d %s\n", got[N - 1], cudaGetErrorString(cudaStreamSynchronize(stream)));
    return got[N - 1] == 14 || broken ? 0 : 2;
}
