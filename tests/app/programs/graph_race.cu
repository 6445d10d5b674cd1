// stream-race: in a graph, a kernel reads what another node writes, and no edge orders them.
#include "app_check.h"

enum { N = 1000 };

__global__ void fill(int *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] = i;
}

__global__ void twice(const int *x, int *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = 2 * x[i];
}

static void CUDART_CB count(void *user)
{
    ++*(int *)user;
}

int main(int argc, char **argv)
{
    int *x, *y, *z, n = N, half = N / 2, got = 0, calls = 0;
    CHECK(cudaMalloc(&x, N * sizeof(int)));
    CHECK(cudaMalloc(&y, N * sizeof(int)));
    CHECK(cudaMalloc(&z, N * sizeof(int)));
    cudaGraph_t graph, clone;
    cudaGraphNode_t cleared, filled, doubled, copied, called;
    CHECK(cudaGraphCreate(&graph, 0));
    cudaMemsetParams clear = {};
    clear.dst = y;
    clear.elementSize = sizeof(int);
    clear.width = N;
    clear.height = 1;
    CHECK(cudaGraphAddMemsetNode(&cleared, graph, NULL, 0, &clear));
    cudaKernelNodeParams kernel = {};
    void *fill_arguments[] = {&x, &n}, *twice_arguments[] = {&x, &y, &n};
    kernel.func = (void *)fill;
    kernel.gridDim = 8;
    kernel.blockDim = 128;
    kernel.kernelParams = fill_arguments;
    CHECK(cudaGraphAddKernelNode(&filled, graph, NULL, 0, &kernel));
    kernel.func = (void *)twice;
    kernel.kernelParams = twice_arguments;
    CHECK(cudaGraphAddKernelNode(&doubled, graph, &cleared, 1, &kernel));
    if (!is_broken(argc, argv))
        CHECK(cudaGraphAddDependencies(graph, &filled, &doubled, EDGE_DATA 1));
    CHECK(cudaGraphAddMemcpyNode1D(&copied, graph, &doubled, 1, z, y, N * sizeof(int), cudaMemcpyDeviceToDevice));
    cudaHostNodeParams host = {count, &calls};
    CHECK(cudaGraphAddHostNode(&called, graph, &copied, 1, &host));
    size_t nodes = 0, roots = 0, edges = 0;
    CHECK(cudaGraphGetNodes(graph, NULL, &nodes));
    CHECK(cudaGraphGetRootNodes(graph, NULL, &roots));
    CHECK(cudaGraphGetEdges(graph, NULL, NULL, EDGE_DATA &edges));
    CHECK(cudaGraphClone(&clone, graph));

    cudaGraphExec_t ready;
    cudaStream_t stream;
    CHECK(cudaGraphInstantiate(&ready, clone, 0));
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaGraphLaunch(ready, stream));
    cudaGraphNode_t of_clone;
    CHECK(cudaGraphNodeFindInClone(&of_clone, filled, clone));
    fill_arguments[1] = &half;
    kernel.func = (void *)fill;
    kernel.kernelParams = fill_arguments;
    CHECK(cudaGraphExecKernelNodeSetParams(ready, of_clone, &kernel));
    CHECK(cudaGraphLaunch(ready, stream));
    cudaGraphExecUpdateResultInfo updated;
    CHECK(cudaGraphExecUpdate(ready, graph, &updated));
    CHECK(cudaGraphLaunch(ready, stream));
    CHECK(cudaMemcpyAsync(&got, z + N - 1, sizeof(int), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaGraphExecDestroy(ready));
    CHECK(cudaGraphDestroy(clone));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(x));
    CHECK(cudaFree(y));
    CHECK(cudaFree(z));
    printf("%d nodes, %d roots, %d edges, %d calls, %d\n", (int)nodes, (int)roots, (int)edges, calls, got);
    return nodes == 5 && roots == 2 && calls == 3 && got == 2 * (N - 1) ? 0 : 2;
}
