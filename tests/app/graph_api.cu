// Compares what the calls of graphs and captures give; prints how many comparisons failed.
#include "app_same.h"

#include <initializer_list>
#include <thread>

#if CUDART_VERSION >= 13000
#define CAPTURE_INFO cudaStreamGetCaptureInfo
#else
#define CAPTURE_INFO cudaStreamGetCaptureInfo_v2
#endif

enum { N = 32 };

__global__ void add(int *x, int by)
{
    x[threadIdx.x] += by;
}

__global__ void multiply(int *x, int by)
{
    x[threadIdx.x] *= by;
}

static void CUDART_CB count(void *user)
{
    ++*(int *)user;
}

static int *x; // on the device
static cudaStream_t stream, other;

static int first()
{
    int value = 0;
    GOOD(cudaMemcpy(&value, x, sizeof value, cudaMemcpyDeviceToHost));
    return value;
}

static void launch(cudaGraphExec_t ready)
{
    GOOD(cudaGraphLaunch(ready, stream));
    GOOD(cudaStreamSynchronize(stream));
}

static cudaKernelNodeParams kernel_of(void (*kernel)(int *, int), void **arguments)
{
    cudaKernelNodeParams p = {};
    p.func = (void *)kernel;
    p.gridDim = 1;
    p.blockDim = N;
    p.kernelParams = arguments;
    return p;
}

// A fill, x += 2, x *= 3 and a function of the host, one after the other.
static void nodes()
{
    int two = 2, three = 3, four = 4, calls = 0, others = 0;
    void *adds[] = {&x, &two}, *multiplies[] = {&x, &three}, *again[] = {&x, &four};
    cudaMemsetParams fill = {x, 0, 1, 4, N, 1}, filled;
    cudaKernelNodeParams adding = kernel_of(add, adds), multiplying = kernel_of(multiply, multiplies), asked;
    cudaHostNodeParams counting = {count, &calls}, counted;
    cudaGraph_t graph;
    cudaGraphNode_t n[5];
    GOOD(cudaGraphCreate(&graph, 0));
    GOOD(cudaGraphAddMemsetNode(&n[0], graph, NULL, 0, &fill));
    GOOD(cudaGraphAddKernelNode(&n[1], graph, &n[0], 1, &adding));
    GOOD(cudaGraphAddKernelNode(&n[2], graph, &n[1], 1, &multiplying));
    GOOD(cudaGraphAddHostNode(&n[3], graph, &n[2], 1, &counting));
    GOOD(cudaGraphAddEmptyNode(&n[4], graph, &n[3], 1));
    const cudaGraphNodeType types[] = {cudaGraphNodeTypeMemset, cudaGraphNodeTypeKernel, cudaGraphNodeTypeKernel, cudaGraphNodeTypeHost,
                                       cudaGraphNodeTypeEmpty};
    for (int i = 0; i < 5; i++) {
        cudaGraphNodeType type;
        GOOD(cudaGraphNodeGetType(n[i], &type));
        SAME(type, types[i]);
    }
    GOOD(cudaGraphMemsetNodeGetParams(n[0], &filled));
    SAME(filled.dst == x && filled.elementSize == 4 && filled.width == N, true);
    GOOD(cudaGraphKernelNodeGetParams(n[1], &asked));
    SAME(asked.func == (void *)add && asked.blockDim.x == N && *(int *)asked.kernelParams[1] == 2, true);
    GOOD(cudaGraphHostNodeGetParams(n[3], &counted));
    SAME(counted.fn == count && counted.userData == &calls, true);

    size_t many = 9;
    cudaGraphNode_t got[9], from[9], to[9];
    GOOD(cudaGraphGetNodes(graph, got, &many));
    SAME(many == 5 && got[4] == n[4] && !got[5], true);
    many = 9;
    GOOD(cudaGraphGetEdges(graph, from, to, EDGE_DATA &many));
    SAME(many == 4 && from[0] == n[0] && to[0] == n[1], true);
    many = 9;
    GOOD(cudaGraphNodeGetDependencies(n[2], got, EDGE_DATA &many));
    SAME(many == 1 && got[0] == n[1], true);
    many = 9;
    GOOD(cudaGraphNodeGetDependentNodes(n[2], got, EDGE_DATA &many));
    SAME(many == 1 && got[0] == n[3], true);
    SAME(cudaGraphAddDependencies(graph, &n[0], &n[1], EDGE_DATA 1), cudaErrorInvalidValue); // is there
    GOOD(cudaGraphDestroyNode(n[4]));

    cudaGraphExec_t ready, flagged, updated;
    GOOD(cudaGraphInstantiate(&ready, graph, 0));
    GOOD(cudaGraphUpload(ready, stream));
    launch(ready);
    SAME(first(), 9);
    SAME(calls, 1);
    multiplying.kernelParams = again;
    GOOD(cudaGraphExecKernelNodeSetParams(ready, n[2], &multiplying));
    fill.value = 2;
    GOOD(cudaGraphExecMemsetNodeSetParams(ready, n[0], &fill));
    counting.userData = &others;
    GOOD(cudaGraphExecHostNodeSetParams(ready, n[3], &counting));
    launch(ready);
    SAME(first(), 16);
    SAME(calls == 1 && others == 1, true);
    unsigned enabled = 1;
    GOOD(cudaGraphNodeSetEnabled(ready, n[2], 0));
    GOOD(cudaGraphNodeGetEnabled(ready, n[2], &enabled));
    SAME(enabled, 0u);
    launch(ready);
    SAME(first(), 4);
    unsigned long long flags = 0;
    GOOD(cudaGraphInstantiateWithFlags(&flagged, graph, cudaGraphInstantiateFlagUseNodePriority));
    GOOD(cudaGraphExecGetFlags(flagged, &flags));
    SAME(flags, 0ull); // of the flags, only cudaGraphInstantiateFlagAutoFreeOnLaunch is given
    GOOD(cudaGraphExecDestroy(flagged));
    SAME(cudaGraphInstantiateWithFlags(&flagged, graph, cudaGraphInstantiateFlagUpload), cudaErrorInvalidValue); // there is no stream
    GOOD(cudaGraphInstantiateWithFlags(&flagged, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch));
    GOOD(cudaGraphExecGetFlags(flagged, &flags));
    SAME(flags, (unsigned long long)cudaGraphInstantiateFlagAutoFreeOnLaunch);
    cudaGraphInstantiateParams how = {};
    how.flags = cudaGraphInstantiateFlagUpload;
    how.uploadStream = stream;
    GOOD(cudaGraphInstantiateWithParams(&updated, graph, &how));
    SAME(how.result_out, cudaGraphInstantiateSuccess);
    adding.func = (void *)multiply;
    GOOD(cudaGraphKernelNodeSetParams(n[1], &adding)); // 1 * 2 * 3
    cudaGraphExecUpdateResultInfo result;
    GOOD(cudaGraphExecUpdate(updated, graph, &result));
    launch(updated);
    SAME(first(), 6);

    // After an update by another graph, the nodes are still named by the graph that the first one was made of.
    cudaGraph_t clone, taken;
    GOOD(cudaGraphClone(&clone, graph));
    GOOD(cudaGraphExecUpdate(ready, clone, &result));
    GOOD(cudaGraphDestroy(clone));
    GOOD(cudaGraphNodeSetEnabled(ready, n[2], 1));
    GOOD(cudaGraphExecKernelNodeSetParams(ready, n[2], &multiplying)); // 1 * 2 * 4
    launch(ready);
    SAME(first(), 8);

    // The launch of a graph is not captured.
    GOOD(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    SAME(cudaGraphLaunch(ready, stream), cudaErrorStreamCaptureUnsupported);
    SAME(cudaStreamEndCapture(stream, &taken), cudaErrorStreamCaptureInvalidated);
    SAME(taken == NULL, true);

    // New parameters leave the attributes as they are; a refused attribute changes nothing.
    cudaKernelNodeAttrValue cluster = {};
    multiplying.gridDim = 4;
    GOOD(cudaGraphKernelNodeSetParams(n[2], &multiplying));
    cluster.clusterDim.x = 2;
    cluster.clusterDim.y = cluster.clusterDim.z = 1;
    GOOD(cudaGraphKernelNodeSetAttribute(n[2], cudaLaunchAttributeClusterDimension, &cluster));
    GOOD(cudaGraphKernelNodeSetParams(n[2], &multiplying));
    cluster.clusterDim.x = 3;
    SAME(cudaGraphKernelNodeSetAttribute(n[2], cudaLaunchAttributeClusterDimension, &cluster), cudaErrorInvalidClusterSize);
    GOOD(cudaGraphKernelNodeGetAttribute(n[2], cudaLaunchAttributeClusterDimension, &cluster));
    SAME(cluster.clusterDim.x, 2u);
    GOOD(cudaGraphRemoveDependencies(graph, &n[2], &n[3], EDGE_DATA 1));
    SAME(cudaGraphExecUpdate(updated, graph, &result), cudaErrorGraphExecUpdateFailure);
    SAME(result.result, cudaGraphExecUpdateErrorTopologyChanged);
    GOOD(cudaGraphAddDependencies(graph, &n[2], &n[0], EDGE_DATA 1)); // a cycle
    cudaGraphExec_t none;
    SAME(cudaGraphInstantiate(&none, graph, 0), cudaErrorInvalidValue);

    // A child graph takes the parameters of another one with the same edges. With other edges, the graph that can be launched stays as it was.
    cudaGraph_t parent, child, inside;
    cudaGraphNode_t node, tips[2];
    cudaGraphExec_t whole;
    GOOD(cudaGraphCreate(&parent, 0));
    GOOD(cudaGraphCreate(&child, 0));
    GOOD(cudaGraphAddKernelNode(&tips[0], child, NULL, 0, &adding));
    GOOD(cudaGraphAddKernelNode(&tips[1], child, &tips[0], 1, &adding));
    GOOD(cudaGraphAddChildGraphNode(&node, parent, NULL, 0, child));
    GOOD(cudaGraphInstantiate(&whole, parent, 0));
    GOOD(cudaMemset(x, 1, sizeof(int)));
    GOOD(cudaDeviceSynchronize());
    launch(whole); // 0x1010101 * 2 * 2
    SAME(first(), 0x4040404);
    adding.func = (void *)add;
    GOOD(cudaGraphKernelNodeSetParams(tips[0], &adding));
    GOOD(cudaGraphExecChildGraphNodeSetParams(whole, node, child));
    launch(whole); // (0x4040404 + 2) * 2
    SAME(first(), 0x808080c);
    SAME(cudaGraphExecChildGraphNodeSetParams(whole, node, graph), cudaErrorGraphExecUpdateFailure);
    GOOD(cudaGraphChildGraphNodeGetGraph(node, &inside));
    many = 2;
    GOOD(cudaGraphGetNodes(inside, tips, &many));
    GOOD(cudaGraphExecKernelNodeSetParams(whole, tips[1], &adding));
    launch(whole); // 0x808080c + 2 + 2
    SAME(first(), 0x8080810);
    GOOD(cudaGraphExecUpdate(whole, parent, &result));
    launch(whole); // 0x8080810 * 2 * 2
    SAME(first(), 0x20202040);
    GOOD(cudaGraphAddDependencies(inside, &tips[1], &tips[0], EDGE_DATA 1)); // a cycle
    SAME(cudaGraphExecUpdate(whole, parent, &result), cudaErrorGraphExecUpdateFailure);
    SAME(result.result, cudaGraphExecUpdateErrorTopologyChanged);
    launch(whole);
    SAME(first(), (int)0x80808100);
    for (cudaGraph_t each : {child, parent})
        GOOD(cudaGraphDestroy(each));
    for (cudaGraphExec_t each : {ready, flagged, updated, whole})
        GOOD(cudaGraphExecDestroy(each));
    GOOD(cudaGraphDestroy(graph));
}

// A kernel between an event that another stream records, and one that it waits for; by edges of both.
static void events()
{
    int one = 1;
    void *adds[] = {&x, &one};
    cudaKernelNodeParams adding = kernel_of(add, adds);
    cudaEvent_t filled, added, asked;
    cudaGraph_t graph;
    cudaGraphNode_t n[3];
    cudaGraphExec_t ready;
    GOOD(cudaEventCreate(&filled));
    GOOD(cudaEventCreate(&added));
    GOOD(cudaGraphCreate(&graph, 0));
    GOOD(cudaGraphAddEventWaitNode(&n[0], graph, NULL, 0, added));
    GOOD(cudaGraphEventWaitNodeSetEvent(n[0], filled));
    GOOD(cudaGraphEventWaitNodeGetEvent(n[0], &asked));
    SAME(asked == filled, true);
    GOOD(cudaGraphAddKernelNode(&n[1], graph, &n[0], 1, &adding));
    GOOD(cudaGraphAddEventRecordNode(&n[2], graph, &n[1], 1, added));
    GOOD(cudaGraphInstantiate(&ready, graph, 0));
    GOOD(cudaMemsetAsync(x, 0, N * sizeof(int), other));
    GOOD(cudaEventRecord(filled, other));
    GOOD(cudaGraphLaunch(ready, stream));
    GOOD(cudaStreamWaitEvent(other, added, 0));
    add<<<1, N, 0, other>>>(x, 5);
    GOOD(cudaStreamSynchronize(other));
    SAME(first(), 6);
    GOOD(cudaDeviceSynchronize());
    GOOD(cudaGraphExecDestroy(ready));
    GOOD(cudaGraphDestroy(graph));
    GOOD(cudaEventDestroy(filled));
    GOOD(cudaEventDestroy(added));
}

static cudaStreamCaptureStatus status_of(cudaStream_t of)
{
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusActive;
    GOOD(cudaStreamIsCapturing(of, &status));
    return status;
}

// A call that a capture forbids gives an error, and the capture is lost. The calls that use it fail from then on.
#define LOST(call, wanted)                                                                         \
    do {                                                                                           \
        GOOD(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));                        \
        GOOD(cudaEventRecord(event, stream));                                                      \
        SAME(call, wanted);                                                                        \
        SAME(status_of(stream), cudaStreamCaptureStatusInvalidated);                               \
        SAME(cudaStreamWaitEvent(other, event, 0), cudaErrorInvalidValue);                         \
        SAME(status_of(other), cudaStreamCaptureStatusNone);                                       \
        SAME(cudaEventRecord(event, stream), cudaErrorStreamCaptureInvalidated);                   \
        SAME(cudaStreamSynchronize(stream), cudaErrorStreamCaptureUnsupported);                    \
        SAME(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);             \
        SAME(graph == NULL, true);                                                                 \
    } while (0)

static void CUDART_CB done(cudaStream_t, cudaError_t, void *)
{
}

// The same for a use of the default stream during the capture of a blocking stream.
#define LOST_BY_DEFAULT(call)                                                                      \
    do {                                                                                           \
        GOOD(cudaStreamBeginCapture(blocking, cudaStreamCaptureModeRelaxed));                      \
        SAME(call, cudaErrorStreamCaptureImplicit);                                                \
        SAME(status_of(blocking), cudaStreamCaptureStatusInvalidated);                             \
        SAME(cudaStreamEndCapture(blocking, &graph), cudaErrorStreamCaptureInvalidated);           \
    } while (0)

static void lost(cudaEvent_t event, cudaEvent_t outside)
{
    float ms;
    int *more;
    cudaStream_t blocking;
    cudaGraph_t graph, empty;
    cudaGraphExec_t ready;
    cudaGraphInstantiateParams how = {};
    GOOD(cudaGraphCreate(&empty, 0));
    GOOD(cudaGraphInstantiate(&ready, empty, 0));
    how.flags = cudaGraphInstantiateFlagUpload;
    how.uploadStream = stream;
    LOST(cudaEventQuery(event), cudaErrorCapturedEvent);
    LOST(cudaEventSynchronize(event), cudaErrorCapturedEvent);
    GOOD(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed)); // this one goes on
    GOOD(cudaEventRecord(event, stream));
    SAME(cudaEventElapsedTime(&ms, event, event), cudaErrorCapturedEvent);
    SAME(status_of(stream), cudaStreamCaptureStatusActive);
    GOOD(cudaStreamEndCapture(stream, &graph));
    GOOD(cudaGraphDestroy(graph));
    LOST(cudaStreamQuery(stream), cudaErrorStreamCaptureUnsupported);
    LOST(cudaStreamSynchronize(stream), cudaErrorStreamCaptureUnsupported);
    LOST(cudaDeviceSynchronize(), cudaErrorStreamCaptureUnsupported);
    LOST(cudaStreamAddCallback(stream, done, NULL, 0), cudaErrorStreamCaptureUnsupported);
    LOST(cudaGraphLaunch(ready, stream), cudaErrorStreamCaptureUnsupported);
    LOST(cudaGraphUpload(ready, stream), cudaErrorStreamCaptureUnsupported);
    LOST(cudaGraphInstantiateWithParams(&ready, empty, &how), cudaErrorStreamCaptureUnsupported);
    LOST(cudaStreamWaitEvent(0, event, 0), cudaErrorStreamCaptureImplicit);

    GOOD(cudaStreamCreate(&blocking));
    LOST_BY_DEFAULT(cudaEventRecord(outside, 0));
    LOST_BY_DEFAULT(cudaStreamWaitEvent(0, outside, 0));
    LOST_BY_DEFAULT(cudaStreamSynchronize(0));
    LOST_BY_DEFAULT(cudaStreamAddCallback(0, done, NULL, 0));
    LOST_BY_DEFAULT(cudaMallocAsync(&more, 64, 0));
    LOST_BY_DEFAULT(cudaFreeAsync(x, 0));
    LOST_BY_DEFAULT(cudaMemset(x, 0, 4));
    LOST_BY_DEFAULT(cudaGraphLaunch(ready, 0));
    LOST_BY_DEFAULT(cudaGraphUpload(ready, 0));
    GOOD(cudaStreamDestroy(blocking));
    GOOD(cudaGraphExecDestroy(ready));
    GOOD(cudaGraphDestroy(empty));

    // Another thread that ends the capture gets an error, and no graph.
    cudaError_t ended = cudaSuccess;
    GOOD(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    std::thread([&] {
        ended = cudaStreamEndCapture(stream, &graph);
        cudaGetLastError();
    }).join();
    SAME(ended, cudaErrorStreamCaptureWrongThread);
    SAME(status_of(stream), cudaStreamCaptureStatusNone);
    SAME(cudaStreamEndCapture(stream, &graph), cudaErrorIllegalState);
}

// What another thread's allocation gives during a capture of this thread; modes: of the capture, and of that thread.
static cudaError_t allocate_beside(cudaStreamCaptureMode mode, cudaStreamCaptureMode of_thread)
{
    cudaError_t result = cudaSuccess;
    cudaGraph_t graph;
    GOOD(cudaStreamBeginCapture(stream, mode));
    std::thread([&] {
        int *more;
        cudaThreadExchangeStreamCaptureMode(&of_thread);
        result = cudaMalloc(&more, 64);
        if (result == cudaSuccess)
            result = cudaFree(more);
        cudaGetLastError();
    }).join();
    SAME(cudaStreamEndCapture(stream, &graph), result == cudaSuccess ? cudaSuccess : cudaErrorStreamCaptureInvalidated);
    if (graph)
        GOOD(cudaGraphDestroy(graph));
    return result;
}

static void threads()
{
    const cudaStreamCaptureMode global = cudaStreamCaptureModeGlobal, own = cudaStreamCaptureModeThreadLocal, relaxed = cudaStreamCaptureModeRelaxed;
    for (cudaStreamCaptureMode mode : {global, own, relaxed})
        for (cudaStreamCaptureMode of_thread : {global, own, relaxed})
            SAME(allocate_beside(mode, of_thread), mode == global && of_thread == global ? cudaErrorStreamCaptureUnsupported : cudaSuccess);
}

// What captures refuse, and how they end.
static void captures()
{
    cudaGraph_t graph = NULL, into;
    cudaEvent_t event, outside, timed;
    cudaStreamCaptureStatus status;
    int *more;
    GOOD(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    GOOD(cudaEventCreateWithFlags(&outside, cudaEventDisableTiming));
    GOOD(cudaEventCreate(&timed));
    SAME(cudaStreamBeginCapture(0, cudaStreamCaptureModeGlobal), cudaErrorStreamCaptureUnsupported);
    SAME(cudaStreamEndCapture(stream, &graph), cudaErrorIllegalState);
    lost(timed, outside);

    // The other stream is not joined; then it cannot end the capture.
    GOOD(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    SAME(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), cudaErrorIllegalState);
    GOOD(cudaEventRecord(event, stream));
    GOOD(cudaStreamWaitEvent(other, event, 0));
    add<<<1, N, 0, other>>>(x, 1);
    SAME(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureUnjoined);
    SAME(graph == NULL, true);
    SAME(status_of(other), cudaStreamCaptureStatusNone);
    GOOD(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    GOOD(cudaEventRecord(event, stream));
    GOOD(cudaStreamWaitEvent(other, event, 0));
    SAME(cudaStreamEndCapture(other, &graph), cudaErrorStreamCaptureUnmatched);
    SAME(status_of(stream), cudaStreamCaptureStatusInvalidated);
    SAME(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
    SAME(status_of(other), cudaStreamCaptureStatusNone);

    // Two captures cannot merge, and none waits for work outside of it.
    GOOD(cudaEventRecord(outside, other));
    GOOD(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    SAME(cudaStreamWaitEvent(stream, outside, 0), cudaErrorStreamCaptureIsolation);
    SAME(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
    GOOD(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    GOOD(cudaStreamBeginCapture(other, cudaStreamCaptureModeRelaxed));
    GOOD(cudaEventRecord(event, other));
    SAME(cudaStreamWaitEvent(stream, event, 0), cudaErrorStreamCaptureMerge);
    for (cudaStream_t each : {stream, other}) {
        SAME(status_of(each), cudaStreamCaptureStatusInvalidated);
        SAME(cudaStreamEndCapture(each, &graph), cudaErrorStreamCaptureInvalidated);
    }

    // An allocation during a global capture is refused, unless the thread exchanges its mode.
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    GOOD(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    GOOD(cudaThreadExchangeStreamCaptureMode(&mode));
    SAME(mode, cudaStreamCaptureModeGlobal);
    GOOD(cudaMalloc(&more, 64));
    GOOD(cudaFree(more));
    GOOD(cudaThreadExchangeStreamCaptureMode(&mode));
    SAME(cudaMalloc(&more, 64), cudaErrorStreamCaptureUnsupported);
    GOOD(cudaStreamIsCapturing(stream, &status));
    SAME(status, cudaStreamCaptureStatusInvalidated);
    SAME(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);

    // A capture ends with the stream that began it. During one of a blocking stream, the default stream cannot be asked.
    cudaStream_t third;
    GOOD(cudaStreamCreate(&third));
    GOOD(cudaStreamBeginCapture(third, cudaStreamCaptureModeGlobal));
    add<<<1, N, 0, third>>>(x, 1);
    SAME(cudaStreamIsCapturing(0, &status), cudaErrorStreamCaptureImplicit);
    SAME(status_of(third), cudaStreamCaptureStatusActive);
    GOOD(cudaStreamDestroy(third));
    GOOD(cudaStreamIsCapturing(0, &status));
    GOOD(cudaMalloc(&more, 64));
    GOOD(cudaFree(more));

    // Into a graph of the program's own, after a node of it; the second kernel is placed by hand.
    cudaGraphNode_t filled, none = NULL;
    cudaMemsetParams fill = {x, 0, 1, 4, N, 1};
    unsigned long long number = 0;
    const cudaGraphNode_t *tips;
    size_t many = 0;
    GOOD(cudaGraphCreate(&into, 0));
    GOOD(cudaGraphAddMemsetNode(&filled, into, NULL, 0, &fill));
    SAME(cudaStreamBeginCaptureToGraph(stream, into, &none, NULL, 1, cudaStreamCaptureModeRelaxed), cudaErrorInvalidValue);
    GOOD(cudaStreamIsCapturing(stream, &status));
    SAME(status, cudaStreamCaptureStatusNone);
    GOOD(cudaStreamBeginCaptureToGraph(stream, into, &filled, NULL, 1, cudaStreamCaptureModeRelaxed));
    add<<<1, N, 0, stream>>>(x, 2);
    GOOD(CAPTURE_INFO(stream, &status, &number, &graph, &tips, EDGE_DATA &many));
    SAME(status == cudaStreamCaptureStatusActive && graph == into && many == 1 && number > 0, true);
    cudaGraphNode_t last = tips[0], empty, unwanted;
    GOOD(cudaGraphAddEmptyNode(&unwanted, into, &last, 1));
    SAME(cudaGraphDestroyNode(unwanted), cudaErrorIllegalState); // the graph is being captured into
    SAME(cudaGraphDestroy(into), cudaErrorIllegalState);
    GOOD(cudaGraphAddEmptyNode(&empty, into, &last, 1));
    GOOD(cudaStreamUpdateCaptureDependencies(stream, &empty, NULL, 1, cudaStreamSetCaptureDependencies));
    multiply<<<1, N, 0, stream>>>(x, 7);
    GOOD(cudaStreamEndCapture(stream, &graph));
    SAME(graph == into, true);
    GOOD(cudaGraphDestroyNode(unwanted));
    cudaGraphExec_t ready;
    GOOD(cudaGraphInstantiate(&ready, into, 0));
    launch(ready);
    SAME(first(), 21);
    GOOD(cudaGraphExecDestroy(ready));
    GOOD(cudaGraphDestroy(into));
    for (cudaEvent_t each : {event, outside, timed})
        GOOD(cudaEventDestroy(each));
}

// The calls for nodes of any kind: a copy into x, and x += 3, later x += 4.
static void any()
{
    int three = 3, four = 4, in[N] = {10}, more[N] = {20};
    void *adds[] = {&x, &three}, *again[] = {&x, &four};
    cudaGraph_t graph;
    cudaGraphNode_t copied, added;
    cudaGraphNodeParams copy = {}, kernel = {};
    copy.type = cudaGraphNodeTypeMemcpy;
    copy.memcpy.copyParams.srcPtr = make_cudaPitchedPtr(in, sizeof in, N, 1);
    copy.memcpy.copyParams.dstPtr = make_cudaPitchedPtr(x, sizeof in, N, 1);
    copy.memcpy.copyParams.extent = make_cudaExtent(sizeof in, 1, 1);
    copy.memcpy.copyParams.kind = cudaMemcpyHostToDevice;
    kernel.type = cudaGraphNodeTypeKernel;
    kernel.kernel.func = (void *)add;
    kernel.kernel.gridDim = 1;
    kernel.kernel.blockDim = N;
    kernel.kernel.kernelParams = adds;
    GOOD(cudaGraphCreate(&graph, 0));
    GOOD(cudaGraphAddNode(&copied, graph, NULL, EDGE_DATA 0, &copy));
    GOOD(cudaGraphAddNode(&added, graph, &copied, EDGE_DATA 1, &kernel));
    cudaGraphExec_t ready;
    GOOD(cudaGraphInstantiate(&ready, graph, 0));
    launch(ready);
    SAME(first(), 13);
    copy.memcpy.copyParams.srcPtr.ptr = more;
    kernel.kernel.kernelParams = again;
    GOOD(cudaGraphNodeSetParams(copied, &copy));
    GOOD(cudaGraphExecNodeSetParams(ready, added, &kernel));
    launch(ready);
    SAME(first(), 14);
    GOOD(cudaGraphExecNodeSetParams(ready, copied, &copy));
    launch(ready);
    SAME(first(), 24);
    GOOD(cudaGraphExecDestroy(ready));
    GOOD(cudaGraphDestroy(graph));
}

// Planes by cudaMemcpy3D, into a pitched allocation and back.
static void planes()
{
    enum { W = 5, H = 4, D = 3 };
    int in[D][H][W], out[D][H][W] = {};
    for (int i = 0; i < D * H * W; i++)
        (&in[0][0][0])[i] = i;
    cudaExtent extent = make_cudaExtent(W * sizeof(int), H, D);
    cudaPitchedPtr pitched;
    GOOD(cudaMalloc3D(&pitched, extent));
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(in, W * sizeof(int), W, H);
    copy.dstPtr = pitched;
    copy.extent = extent;
    copy.kind = cudaMemcpyHostToDevice;
    GOOD(cudaMemcpy3D(&copy));
    copy.srcPtr = pitched;
    copy.srcPos = make_cudaPos(sizeof(int), 1, 1);
    copy.dstPtr = make_cudaPitchedPtr(out, W * sizeof(int), W, H);
    copy.dstPos = make_cudaPos(0, 0, 0);
    copy.extent = make_cudaExtent((W - 1) * sizeof(int), H - 1, D - 1);
    copy.kind = cudaMemcpyDeviceToHost;
    GOOD(cudaMemcpy3DAsync(&copy, stream));
    GOOD(cudaStreamSynchronize(stream));
    SAME(out[0][0][0] == in[1][1][1] && out[1][2][3] == in[2][3][4] && out[2][0][0] == 0, true);
    GOOD(cudaFree(pitched.ptr));
}

// No threads, and attributes that are missing, are refused or give 0.
static void occupancy()
{
    int clusters = -1;
    cudaLaunchConfig_t config = {};
    config.gridDim = 4;
    config.blockDim = 0;
    cudaOccupancyMaxActiveClusters(&clusters, add, &config);
    SAME(clusters <= 0, true);
    config.blockDim = N;
    config.numAttrs = 1;
    SAME(cudaOccupancyMaxActiveClusters(&clusters, add, &config), cudaErrorInvalidValue);
}

int main()
{
    GOOD(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    GOOD(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    GOOD(cudaMalloc(&x, N * sizeof(int)));
    GOOD(cudaMemset(x, 0, N * sizeof(int)));
    GOOD(cudaDeviceSynchronize());
    nodes();
    events();
    captures();
    threads();
    any();
    planes();
    occupancy();
    GOOD(cudaFree(x));
    GOOD(cudaStreamDestroy(stream));
    GOOD(cudaStreamDestroy(other));
    printf("%d of %d failed\n", failed, compared);
    return failed != 0;
}
