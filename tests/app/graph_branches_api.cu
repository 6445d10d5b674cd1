// Compares what the calls for conditional nodes give; prints how many comparisons failed.
#include "app_same.h"

#include <initializer_list>

enum { N = 32 };

__global__ void choose(cudaGraphConditionalHandle handle, const int *value)
{
    cudaGraphSetConditional(handle, *value);
}

__global__ void add(int *x, int by)
{
    x[threadIdx.x] += by;
}

// Goes on while x < most.
__global__ void step(int *x, int most, cudaGraphConditionalHandle loop)
{
    if (threadIdx.x == 0)
        cudaGraphSetConditional(loop, ++*x < most);
}

static int *x, *choice;
static cudaStream_t stream, other;

static cudaGraphNode_t add_kernel(cudaGraph_t graph, cudaGraphNode_t after, void *kernel, void **arguments, int threads)
{
    cudaGraphNode_t node = NULL;
    cudaKernelNodeParams p = {};
    p.func = kernel;
    p.gridDim = 1;
    p.blockDim = threads;
    p.kernelParams = arguments;
    GOOD(cudaGraphAddKernelNode(&node, graph, &after, after != NULL, &p));
    return node;
}

static cudaGraphNode_t add_add(cudaGraph_t graph, cudaGraphNode_t after, int by)
{
    void *arguments[] = {&x, &by};
    return add_kernel(graph, after, (void *)add, arguments, N);
}

static cudaGraphNodeParams conditional(cudaGraphConditionalHandle handle, cudaGraphConditionalNodeType type, unsigned size)
{
    cudaGraphNodeParams p = {};
    p.type = cudaGraphNodeTypeConditional;
    p.conditional.handle = handle;
    p.conditional.type = type;
    p.conditional.size = size;
    return p;
}

// x after a launch with that choice, from 0.
static int launch(cudaGraphExec_t ready, int chosen)
{
    int got = -1;
    GOOD(cudaMemcpyAsync(choice, &chosen, sizeof chosen, cudaMemcpyHostToDevice, stream));
    GOOD(cudaMemsetAsync(x, 0, N * sizeof(int), stream));
    GOOD(cudaGraphLaunch(ready, stream));
    GOOD(cudaMemcpyAsync(&got, x, sizeof got, cudaMemcpyDeviceToHost, stream));
    GOOD(cudaStreamSynchronize(stream));
    return got;
}

// A kernel sets the condition of a node with bodies that add 1, 2, 3.
static void branches()
{
    const struct {
        cudaGraphConditionalNodeType type;
        unsigned size;
        int sums[4]; // for the choices 0 to 3
    } all[] = {{cudaGraphCondTypeIf, 1, {0, 1, 1, 1}}, {cudaGraphCondTypeIf, 2, {2, 1, 1, 1}}, {cudaGraphCondTypeSwitch, 3, {1, 2, 3, 0}}};
    for (const auto &one : all) {
        cudaGraph_t graph;
        cudaGraphNode_t set, node, none;
        cudaGraphConditionalHandle handle;
        cudaGraphNodeType type;
        cudaGraphExec_t ready;
        GOOD(cudaGraphCreate(&graph, 0));
        GOOD(cudaGraphConditionalHandleCreate(&handle, graph, 0, 0));
        void *arguments[] = {&handle, &choice};
        set = add_kernel(graph, NULL, (void *)choose, arguments, 1);
        cudaGraphNodeParams p = conditional(handle, one.type, one.size);
        GOOD(cudaGraphAddNode(&node, graph, &set, EDGE_DATA 1, &p));
        GOOD(cudaGraphNodeGetType(node, &type));
        SAME(type, cudaGraphNodeTypeConditional);
        SAME(cudaGraphAddNode(&none, graph, NULL, EDGE_DATA 0, &p), cudaErrorInvalidValue); // one node has the handle
        for (unsigned i = 0; i < one.size; i++)
            add_add(p.conditional.phGraph_out[i], NULL, i + 1);
        GOOD(cudaGraphInstantiate(&ready, graph, 0));
        GOOD(cudaGraphDestroy(graph));
        for (int i = 0; i < 4; i++)
            SAME(launch(ready, i), one.sums[i]);
        GOOD(cudaGraphExecDestroy(ready));
    }
}

// A loop that is captured: its body, and a branch inside of it.
static void loops()
{
    cudaGraph_t graph, body;
    cudaGraphNode_t loop, branch;
    const cudaGraphNode_t *tips;
    cudaGraphConditionalHandle again, once;
    cudaStreamCaptureStatus status;
    size_t many = 0;
    GOOD(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    add<<<1, N, 0, stream>>>(x, 1);
#if CUDART_VERSION >= 13000
    GOOD(cudaStreamGetCaptureInfo(stream, &status, NULL, &graph, &tips, NULL, &many));
#else
    GOOD(cudaStreamGetCaptureInfo_v2(stream, &status, NULL, &graph, &tips, &many));
#endif
    GOOD(cudaGraphConditionalHandleCreate(&again, graph, 1, cudaGraphCondAssignDefault));
    cudaGraphNodeParams p = conditional(again, cudaGraphCondTypeWhile, 1);
    GOOD(cudaGraphAddNode(&loop, graph, tips, EDGE_DATA many, &p));
    body = p.conditional.phGraph_out[0];
    GOOD(cudaStreamUpdateCaptureDependencies(stream, &loop, EDGE_DATA 1, cudaStreamSetCaptureDependencies));
    GOOD(cudaStreamBeginCaptureToGraph(other, body, NULL, NULL, 0, cudaStreamCaptureModeRelaxed));
    step<<<1, 1, 0, other>>>(x, 7, again);
    GOOD(cudaStreamEndCapture(other, NULL)); // the body is the program's already
    GOOD(cudaGraphConditionalHandleCreate(&once, body, 1, cudaGraphCondAssignDefault));
    p = conditional(once, cudaGraphCondTypeIf, 1);
    GOOD(cudaGraphAddNode(&branch, body, NULL, EDGE_DATA 0, &p));
    add<<<1, N, 0, stream>>>(x, 100);
    GOOD(cudaStreamEndCapture(stream, &graph));
    cudaGraphExec_t ready;
    GOOD(cudaGraphInstantiate(&ready, graph, 0));
    SAME(launch(ready, 0), 107);
    SAME(launch(ready, 0), 107);

    // Parameters of nodes in a body change; a condition's default does by an update.
    cudaGraphNode_t inside[4];
    many = 4;
    GOOD(cudaGraphGetNodes(body, inside, &many));
    SAME(many, 2u);
    int most = 9;
    void *arguments[] = {&x, &most, &again};
    cudaKernelNodeParams k = {};
    k.func = (void *)step;
    k.gridDim = k.blockDim = 1;
    k.kernelParams = arguments;
    GOOD(cudaGraphExecKernelNodeSetParams(ready, inside[0], &k));
    SAME(launch(ready, 0), 109);
    cudaGraphExecUpdateResultInfo result;
    GOOD(cudaGraphExecUpdate(ready, graph, &result));
    SAME(launch(ready, 0), 107);
    GOOD(cudaGraphKernelNodeSetParams(inside[0], &k));
    GOOD(cudaGraphExecUpdate(ready, graph, &result));
    SAME(launch(ready, 0), 109);
    GOOD(cudaGraphExecKernelNodeSetParams(ready, inside[0], &k));
    GOOD(cudaGraphExecDestroy(ready));
    GOOD(cudaGraphDestroy(graph));
}

static void refused()
{
    cudaGraph_t graph, outer, clone;
    cudaGraphNode_t node, none;
    cudaGraphConditionalHandle handle, unused;
    GOOD(cudaGraphCreate(&graph, 0));
    GOOD(cudaGraphCreate(&outer, 0));
    SAME(cudaGraphConditionalHandleCreate(&handle, graph, 0, 2), cudaErrorInvalidValue);
    GOOD(cudaGraphConditionalHandleCreate(&handle, graph, 0, cudaGraphCondAssignDefault));
    for (cudaGraphNodeParams p : {conditional(handle, cudaGraphCondTypeWhile, 2), conditional(handle, cudaGraphCondTypeIf, 3),
                                  conditional(handle, cudaGraphCondTypeSwitch, 0), conditional(0, cudaGraphCondTypeIf, 1)})
        SAME(cudaGraphAddNode(&node, graph, NULL, EDGE_DATA 0, &p), cudaErrorInvalidValue);
    cudaGraphNodeParams p = conditional(handle, cudaGraphCondTypeIf, 1);
    SAME(cudaGraphAddNode(&node, outer, NULL, EDGE_DATA 0, &p), cudaErrorInvalidValue); // another graph's handle
    GOOD(cudaGraphAddNode(&node, graph, NULL, EDGE_DATA 0, &p));
    cudaGraph_t body = p.conditional.phGraph_out[0];
    SAME(cudaGraphDestroy(body), cudaErrorInvalidValue);
    GOOD(cudaStreamBeginCaptureToGraph(stream, body, NULL, NULL, 0, cudaStreamCaptureModeRelaxed));
    SAME(cudaGraphDestroy(graph), cudaErrorIllegalState); // while the capture adds to its body
    SAME(cudaGraphDestroyNode(node), cudaErrorIllegalState);
    GOOD(cudaStreamEndCapture(stream, NULL));
    SAME(cudaGraphNodeSetParams(node, &p), cudaErrorInvalidValue);
    SAME(cudaGraphClone(&clone, graph), cudaErrorNotSupported);
    SAME(cudaGraphAddChildGraphNode(&none, outer, NULL, 0, graph), cudaErrorNotSupported);

    cudaGraphExec_t ready;
    cudaGraphInstantiateParams how = {};
    GOOD(cudaGraphConditionalHandleCreate(&unused, graph, 0, 0));
    SAME(cudaGraphInstantiateWithParams(&ready, graph, &how), cudaErrorInvalidValue);
    SAME(how.result_out, cudaGraphInstantiateConditionalHandleUnused);
    GOOD(cudaGraphDestroyNode(node));
    GOOD(cudaGraphDestroy(graph));
    GOOD(cudaGraphDestroy(outer));
}

int main()
{
    GOOD(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    GOOD(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    GOOD(cudaMalloc(&x, N * sizeof(int)));
    GOOD(cudaMalloc(&choice, sizeof(int)));
    branches();
    loops();
    refused();
    GOOD(cudaFree(x));
    GOOD(cudaFree(choice));
    GOOD(cudaStreamDestroy(stream));
    GOOD(cudaStreamDestroy(other));
    printf("%d of %d failed\n", failed, compared);
    return failed != 0;
}
