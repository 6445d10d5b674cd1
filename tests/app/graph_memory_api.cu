// Compares what the calls for memory of graphs give; prints how many comparisons failed.
#include "app_same.h"

#include <cuda.h>
#include <stdint.h>

enum { N = 32, BYTES = N * sizeof(int) };

__global__ void fill(int *x, int value)
{
    x[threadIdx.x] = value;
}

static cudaStream_t stream, other;

static cudaMemAllocNodeParams memory()
{
    cudaMemAllocNodeParams p = {};
    p.poolProps.allocType = cudaMemAllocationTypePinned;
    p.poolProps.location.type = cudaMemLocationTypeDevice;
    p.bytesize = BYTES;
    return p;
}

static uint64_t attribute(cudaGraphMemAttributeType which)
{
    uint64_t value = ~UINT64_C(0);
    GOOD(cudaDeviceGetGraphMemAttribute(0, which, &value));
    return value;
}

static cudaGraphNode_t add_fill(cudaGraph_t graph, cudaGraphNode_t after, void *x, int value)
{
    void *arguments[] = {&x, &value};
    cudaGraphNode_t node = NULL;
    cudaKernelNodeParams p = {};
    p.func = (void *)fill;
    p.gridDim = 1;
    p.blockDim = N;
    p.kernelParams = arguments;
    GOOD(cudaGraphAddKernelNode(&node, graph, &after, 1, &p));
    return node;
}

static int last(const void *x)
{
    int value = 0;
    GOOD(cudaMemcpyAsync(&value, (const int *)x + N - 1, sizeof value, cudaMemcpyDeviceToHost, stream));
    GOOD(cudaStreamSynchronize(stream));
    return value;
}

// A graph that allocates and frees: its nodes, and what is refused.
static void nodes()
{
    cudaGraph_t graph, clone, parent;
    cudaGraphNode_t allocated, filled, freed, child, empty;
    cudaMemAllocNodeParams p = memory(), asked;
    cudaGraphNodeType type;
    void *address = NULL;
    GOOD(cudaGraphCreate(&graph, 0));
    GOOD(cudaGraphCreate(&parent, 0));
    GOOD(cudaGraphAddMemAllocNode(&allocated, graph, NULL, 0, &p));
    SAME(p.dptr != NULL, true);
    filled = add_fill(graph, allocated, p.dptr, 3);
    GOOD(cudaGraphAddMemFreeNode(&freed, graph, &filled, 1, p.dptr));
    GOOD(cudaGraphNodeGetType(allocated, &type));
    SAME(type, cudaGraphNodeTypeMemAlloc);
    GOOD(cudaGraphNodeGetType(freed, &type));
    SAME(type, cudaGraphNodeTypeMemFree);
    GOOD(cudaGraphMemAllocNodeGetParams(allocated, &asked));
    SAME(asked.dptr == p.dptr && asked.bytesize == BYTES && asked.poolProps.location.type == cudaMemLocationTypeDevice, true);
    GOOD(cudaGraphMemFreeNodeGetParams(freed, &address));
    SAME(address == p.dptr, true);
    SAME(cudaGraphMemFreeNodeGetParams(allocated, &address), cudaErrorInvalidValue);
    GOOD(cudaGraphAddEmptyNode(&empty, graph, &freed, 1));

    SAME(cudaGraphRemoveDependencies(graph, &freed, &empty, EDGE_DATA 1), cudaErrorNotSupported);
    SAME(cudaGraphDestroyNode(empty), cudaErrorNotSupported);
    SAME(cudaGraphClone(&clone, graph), cudaErrorNotSupported);
    SAME(cudaGraphAddChildGraphNode(&child, parent, NULL, 0, graph), cudaErrorNotSupported);
    cudaMemAllocNodeParams wrong = memory();
    wrong.bytesize = 0;
    SAME(cudaGraphAddMemAllocNode(&empty, graph, NULL, 0, &wrong), cudaErrorInvalidValue);
    wrong = memory();
    wrong.poolProps.handleTypes = cudaMemHandleTypePosixFileDescriptor;
    SAME(cudaGraphAddMemAllocNode(&empty, graph, NULL, 0, &wrong), cudaErrorInvalidValue);

    cudaGraphExec_t ready, second;
    GOOD(cudaGraphInstantiate(&ready, graph, 0));
    SAME(cudaGraphInstantiate(&second, graph, 0), cudaErrorNotSupported);
    SAME(attribute(cudaGraphMemAttrUsedMemCurrent), 0u);
    for (int i = 0; i < 3; i++)
        GOOD(cudaGraphLaunch(ready, stream));
    GOOD(cudaStreamSynchronize(stream));
    SAME(attribute(cudaGraphMemAttrUsedMemCurrent), 0u);
    SAME(attribute(cudaGraphMemAttrUsedMemHigh), (uint64_t)BYTES);
    SAME(attribute(cudaGraphMemAttrReservedMemCurrent), (uint64_t)BYTES);
    GOOD(cudaDeviceGraphMemTrim(0));
    SAME(attribute(cudaGraphMemAttrReservedMemCurrent), 0u);
    SAME(attribute(cudaGraphMemAttrReservedMemHigh), (uint64_t)BYTES);
    uint64_t value = 1;
    SAME(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &value), cudaErrorInvalidValue);
    value = 0;
    SAME(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &value), cudaErrorInvalidValue);
    GOOD(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &value));
    SAME(attribute(cudaGraphMemAttrUsedMemHigh), 0u);
    SAME(cudaDeviceGraphMemTrim(1), cudaErrorInvalidDevice);

    cudaGraphExecUpdateResultInfo result;
    GOOD(cudaGraphExecUpdate(ready, graph, &result));
    GOOD(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    SAME(cudaGraphLaunch(ready, stream), cudaErrorStreamCaptureUnsupported);
    SAME(cudaStreamEndCapture(stream, &clone), cudaErrorStreamCaptureInvalidated);
    GOOD(cudaGraphExecDestroy(ready));
    GOOD(cudaGraphInstantiate(&second, graph, 0)); // the only one again
    GOOD(cudaGraphDestroy(graph));
    GOOD(cudaGraphLaunch(second, stream));
    GOOD(cudaStreamSynchronize(stream));
    GOOD(cudaGraphExecDestroy(second));
    GOOD(cudaGraphDestroy(parent));
}

// Memory that outlives its graph: freed by a call, by a node of another graph, and by the next launch.
static void outside()
{
    cudaGraph_t graph, frees;
    cudaGraphNode_t node;
    cudaGraphNodeParams p = {};
    p.type = cudaGraphNodeTypeMemAlloc;
    p.alloc.poolProps = memory().poolProps;
    p.alloc.bytesize = BYTES;
    GOOD(cudaGraphCreate(&graph, 0));
    GOOD(cudaGraphAddNode(&node, graph, NULL, EDGE_DATA 0, &p));
    void *x = p.alloc.dptr;
    add_fill(graph, node, x, 4);
    cudaGraphExec_t ready, freeing;
    GOOD(cudaGraphInstantiate(&ready, graph, 0));
    GOOD(cudaGraphLaunch(ready, stream));
    SAME(last(x), 4);
    SAME(attribute(cudaGraphMemAttrUsedMemCurrent), (uint64_t)BYTES);
    GOOD(cudaFree(x));
    GOOD(cudaGraphLaunch(ready, stream));
    SAME(last(x), 4);

    GOOD(cudaGraphCreate(&frees, 0));
    cudaGraphNodeParams release = {};
    release.type = cudaGraphNodeTypeMemFree;
    release.free.dptr = x;
    GOOD(cudaGraphAddNode(&node, frees, NULL, EDGE_DATA 0, &release));
    GOOD(cudaGraphInstantiate(&freeing, frees, 0));
    GOOD(cudaGraphLaunch(freeing, stream));
    GOOD(cudaGraphLaunch(ready, stream));
    SAME(last(x), 4);
    GOOD(cudaGraphExecDestroy(ready));
    GOOD(cudaGraphInstantiate(&ready, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch));
    for (int i = 0; i < 2; i++) {
        GOOD(cudaGraphLaunch(ready, stream));
        SAME(last(x), 4);
    }
    GOOD(cudaGraphExecDestroy(ready));
    GOOD(cudaGraphDestroy(graph));
    SAME(last(x), 4); // it outlives the graph, too
    GOOD(cudaGraphLaunch(freeing, stream));
    GOOD(cudaStreamSynchronize(stream));
    SAME(attribute(cudaGraphMemAttrUsedMemCurrent), 0u);
    GOOD(cudaGraphExecDestroy(freeing));
    GOOD(cudaGraphDestroy(frees));
}

// Captures: allocations of a stream, and of a pool, become nodes; the host may wait with an event for a use in another stream.
static void captures()
{
    int *x, *y;
    cudaMemPool_t pool;
    cudaGraph_t graph;
    cudaGraphNode_t all[8];
    size_t many = 8;
    cudaEvent_t event;
    GOOD(cudaDeviceGetDefaultMemPool(&pool, 0));
    GOOD(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    GOOD(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    GOOD(cudaMallocAsync(&x, BYTES, stream));
    GOOD(cudaMallocFromPoolAsync(&y, BYTES, pool, stream));
    fill<<<1, N, 0, stream>>>(x, 1);
    GOOD(cudaMemsetAsync(y, 0, BYTES, stream));
    GOOD(cudaFreeAsync(x, stream));
    GOOD(cudaStreamEndCapture(stream, &graph));
    GOOD(cudaGraphGetNodes(graph, all, &many));
    const cudaGraphNodeType types[] = {cudaGraphNodeTypeMemAlloc, cudaGraphNodeTypeMemAlloc, cudaGraphNodeTypeKernel, cudaGraphNodeTypeMemset,
                                       cudaGraphNodeTypeMemFree};
    SAME(many, 5u);
    for (size_t i = 0; i < many; i++) {
        cudaGraphNodeType type;
        GOOD(cudaGraphNodeGetType(all[i], &type));
        SAME(type, types[i]);
    }
    cudaGraphExec_t ready;
    GOOD(cudaGraphInstantiate(&ready, graph, 0));
    GOOD(cudaGraphLaunch(ready, stream));
    GOOD(cudaEventRecord(event, stream));
    GOOD(cudaStreamWaitEvent(other, event, 0));
    fill<<<1, N, 0, other>>>(y, 9);
    GOOD(cudaEventRecord(event, other));
    GOOD(cudaStreamWaitEvent(stream, event, 0));
    SAME(last(y), 9);
    GOOD(cudaFreeAsync(y, stream));
    GOOD(cudaStreamSynchronize(stream));
    GOOD(cudaGraphExecDestroy(ready));
    GOOD(cudaGraphDestroy(graph));
    GOOD(cudaEventDestroy(event));
}

#if CUDART_VERSION >= 13000
// The graph of a node takes no memory, neither by nodes of its own nor by a graph that moves into it.
static void kept_out(cudaGraph_t with_memory)
{
    cudaGraph_t parent, child, inside;
    cudaGraphNode_t node;
    cudaMemAllocNodeParams p = memory();
    GOOD(cudaGraphCreate(&parent, 0));
    GOOD(cudaGraphCreate(&child, 0));
    GOOD(cudaGraphAddChildGraphNode(&node, parent, NULL, 0, child));
    GOOD(cudaGraphChildGraphNodeGetGraph(node, &inside));
    SAME(cudaGraphAddMemAllocNode(&node, inside, NULL, 0, &p), cudaErrorNotSupported);
    cudaGraphNodeParams how = {};
    how.type = cudaGraphNodeTypeGraph;
    how.graph.graph = with_memory;
    how.graph.ownership = cudaGraphChildGraphOwnershipMove;
    SAME(cudaGraphAddNode(&node, inside, NULL, EDGE_DATA 0, &how), cudaErrorNotSupported);
    for (cudaGraph_t each : {child, parent})
        GOOD(cudaGraphDestroy(each));
}
#endif

// A child graph with memory moves into its parent.
static void moved()
{
    cudaGraph_t parent, child, inside;
    cudaGraphNode_t allocated, filled, freed, node;
    cudaMemAllocNodeParams p = memory();
    GOOD(cudaGraphCreate(&parent, 0));
    GOOD(cudaGraphCreate(&child, 0));
    GOOD(cudaGraphAddMemAllocNode(&allocated, child, NULL, 0, &p));
    filled = add_fill(child, allocated, p.dptr, 6);
    GOOD(cudaGraphAddMemFreeNode(&freed, child, &filled, 1, p.dptr));
#if CUDART_VERSION >= 13000
    cudaGraphNodeParams how = {};
    how.type = cudaGraphNodeTypeGraph;
    how.graph.graph = child;
    how.graph.ownership = cudaGraphChildGraphOwnershipMove;
    GOOD(cudaGraphAddNode(&node, parent, NULL, EDGE_DATA 0, &how));
    GOOD(cudaGraphChildGraphNodeGetGraph(node, &inside));
    SAME(inside == child, true);
    cudaGraphExec_t ready;
    cudaGraphExecUpdateResultInfo result;
    SAME(cudaGraphInstantiate(&ready, child, 0), cudaErrorInvalidValue);
    SAME(cudaGraphDestroy(child), cudaErrorInvalidValue);
    SAME(cudaGraphAddNode(&node, parent, NULL, EDGE_DATA 0, &how), cudaErrorInvalidValue);
    SAME(cudaGraphAddMemAllocNode(&node, child, NULL, 0, &p), cudaErrorNotSupported);
    how.graph.graph = parent; // into a graph that is inside of it
    SAME(cudaGraphAddNode(&node, child, NULL, EDGE_DATA 0, &how), cudaErrorInvalidValue);
    kept_out(parent);
    GOOD(cudaGraphInstantiate(&ready, parent, 0));
    SAME(cudaGraphExecUpdate(ready, child, &result), cudaErrorInvalidValue);
    for (int i = 0; i < 2; i++)
        GOOD(cudaGraphLaunch(ready, stream));
    GOOD(cudaStreamSynchronize(stream));
    GOOD(cudaGraphExecDestroy(ready));
#else
    (void)node, (void)inside;
    GOOD(cudaGraphDestroy(child));
#endif
    GOOD(cudaGraphDestroy(parent));
}

// The driver has the same calls.
static void driver()
{
    CUgraph graph;
    CUgraphNode node;
    CUDA_MEM_ALLOC_NODE_PARAMS p = {};
    CUdeviceptr address = 0;
    p.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    p.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    p.bytesize = BYTES;
    cudaDriverEntryPointQueryResult found;
    decltype(&cuGraphAddMemAllocNode) allocate;
    decltype(&cuGraphAddMemFreeNode) release;
    decltype(&cuGraphMemFreeNodeGetParams) ask;
    GOOD(cudaGetDriverEntryPointByVersion("cuGraphAddMemAllocNode", (void **)&allocate, 11040, cudaEnableDefault, &found));
    GOOD(cudaGetDriverEntryPointByVersion("cuGraphAddMemFreeNode", (void **)&release, 11040, cudaEnableDefault, &found));
    GOOD(cudaGetDriverEntryPointByVersion("cuGraphMemFreeNodeGetParams", (void **)&ask, 11040, cudaEnableDefault, &found));
    GOOD(cudaGraphCreate(&graph, 0));
    SAME(allocate(&node, graph, NULL, 0, &p), CUDA_SUCCESS);
    SAME(release(&node, graph, &node, 1, p.dptr), CUDA_SUCCESS);
    SAME(ask(node, &address), CUDA_SUCCESS);
    SAME(address == p.dptr && address, true);
    GOOD(cudaGraphDestroy(graph));
}

int main()
{
    GOOD(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    GOOD(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    nodes();
    outside();
    captures();
    moved();
    driver();
    GOOD(cudaStreamDestroy(stream));
    GOOD(cudaStreamDestroy(other));
    printf("%d of %d failed\n", failed, compared);
    return failed != 0;
}
