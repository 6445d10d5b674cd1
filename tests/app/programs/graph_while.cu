// stream-race, unset-condition: the kernel that sets the condition of a loop has no edge to its node; a branch reads a condition that has no value.
#include "app_check.h"

enum { N = 32 };

__global__ void start(int *x, cudaGraphConditionalHandle loop)
{
    x[threadIdx.x] = 0;
    if (threadIdx.x == 0)
        cudaGraphSetConditional(loop, 1);
}

__global__ void turn(int *x, int most, cudaGraphConditionalHandle loop)
{
    x[threadIdx.x]++;
    __syncthreads();
    if (threadIdx.x == 0)
        cudaGraphSetConditional(loop, x[0] < most);
}

__global__ void add(int *x, int by)
{
    x[threadIdx.x] += by;
}

static cudaGraphNode_t add_kernel(cudaGraph_t graph, const cudaGraphNode_t *after, void *kernel, void **arguments)
{
    cudaGraphNode_t node;
    cudaKernelNodeParams p = {};
    p.func = kernel;
    p.gridDim = 1;
    p.blockDim = N;
    p.kernelParams = arguments;
    CHECK(cudaGraphAddKernelNode(&node, graph, after, after != NULL, &p));
    return node;
}

int main(int argc, char **argv)
{
    bool broken = is_broken(argc, argv);
    int *x, *y, ten = 10, hundred = 100, got[2] = {};
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    cudaGraphNode_t begun, branch, loop;
    cudaGraphConditionalHandle again, chosen;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMalloc(&x, N * sizeof(int)));
    CHECK(cudaMalloc(&y, N * sizeof(int)));
    CHECK(cudaMemset(x, 0, N * sizeof(int)));
    CHECK(cudaMemset(y, 0, N * sizeof(int)));
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphConditionalHandleCreate(&again, graph, 1, cudaGraphCondAssignDefault));
    CHECK(cudaGraphConditionalHandleCreate(&chosen, graph, 1, broken ? 0 : cudaGraphCondAssignDefault));

    void *starts[] = {&x, &again}, *turns[] = {&x, &ten, &again}, *adds[] = {&y, &hundred};
    begun = add_kernel(graph, NULL, (void *)start, starts);
    cudaGraphNodeParams p = {};
    p.type = cudaGraphNodeTypeConditional;
    p.conditional.handle = again;
    p.conditional.type = cudaGraphCondTypeWhile;
    p.conditional.size = 1;
    CHECK(cudaGraphAddNode(&loop, graph, &begun, EDGE_DATA broken ? 0 : 1, &p));
    add_kernel(p.conditional.phGraph_out[0], NULL, (void *)turn, turns);

    p.conditional.handle = chosen;
    p.conditional.type = cudaGraphCondTypeIf;
    CHECK(cudaGraphAddNode(&branch, graph, NULL, EDGE_DATA 0, &p));
    add_kernel(p.conditional.phGraph_out[0], NULL, (void *)add, adds);

    CHECK(cudaGraphInstantiate(&ready, graph, 0));
    for (int i = 0; i < 2; i++)
        CHECK(cudaGraphLaunch(ready, stream));
    CHECK(cudaMemcpyAsync(&got[0], x, sizeof(int), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaMemcpyAsync(&got[1], y, sizeof(int), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaGraphExecDestroy(ready));
    CHECK(cudaGraphDestroy(graph));
    printf("%d %d\n", got[0], got[1]);
    return broken || (got[0] == 10 && got[1] == 200) ? 0 : 2;
}
