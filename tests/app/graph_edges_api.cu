// Compares what the calls for edges with ports give, and what captures make of launch attributes; prints how many comparisons failed.
#include "app_same.h"
#include "programs/app_launch.h"

#if CUDART_VERSION >= 13000
#define WITH_DATA(name) name
#define CAPTURE_INFO cudaStreamGetCaptureInfo
#else
#define WITH_DATA(name) name##_v2
#define CAPTURE_INFO cudaStreamGetCaptureInfo_v3
#endif

__global__ void work(int *x)
{
    cudaTriggerProgrammaticLaunchCompletion();
    cudaGridDependencySynchronize();
    x[threadIdx.x] += 1;
}

static int *x;
static cudaStream_t stream, other;
static const cudaGraphEdgeData plain = {};

static cudaGraphEdgeData edge(int port, int type)
{
    cudaGraphEdgeData e = {};
    e.from_port = (unsigned char)port;
    e.type = (unsigned char)type;
    return e;
}

static bool same(const cudaGraphEdgeData &a, const cudaGraphEdgeData &b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

static const cudaGraphEdgeData triggered = edge(cudaGraphKernelNodePortProgrammatic, cudaGraphDependencyTypeProgrammatic);
static const cudaGraphEdgeData begun = edge(cudaGraphKernelNodePortLaunchCompletion, cudaGraphDependencyTypeDefault);
static const cudaGraphEdgeData both = edge(cudaGraphKernelNodePortLaunchCompletion, cudaGraphDependencyTypeProgrammatic);

static cudaGraphNodeParams kernel()
{
    static void *arguments[] = {&x};
    cudaGraphNodeParams p = {};
    p.type = cudaGraphNodeTypeKernel;
    p.kernel.func = (void *)work;
    p.kernel.gridDim = 1;
    p.kernel.blockDim = 32;
    p.kernel.kernelParams = arguments;
    return p;
}

// Edges by calls: which are allowed, how they are read, and removed.
static void edges()
{
    cudaGraph_t graph, clone;
    cudaGraphNode_t a, b, c, empty, from[8], to[8];
    cudaGraphEdgeData data[8];
    size_t many;
    cudaGraphNodeParams p = kernel();
    GOOD(cudaGraphCreate(&graph, 0));
    GOOD(WITH_DATA(cudaGraphAddNode)(&a, graph, NULL, NULL, 0, &p));
    GOOD(WITH_DATA(cudaGraphAddNode)(&b, graph, &a, &triggered, 1, &p));
    GOOD(WITH_DATA(cudaGraphAddNode)(&c, graph, &b, &both, 1, &p));
    GOOD(cudaGraphAddEmptyNode(&empty, graph, NULL, 0));
    const cudaGraphEdgeData wrong[] = {edge(cudaGraphKernelNodePortProgrammatic, cudaGraphDependencyTypeDefault),
                                       edge(cudaGraphKernelNodePortDefault, cudaGraphDependencyTypeProgrammatic), edge(3, 0), edge(0, 2)};
    for (const cudaGraphEdgeData &e : wrong)
        SAME(WITH_DATA(cudaGraphAddDependencies)(graph, &a, &c, &e, 1), cudaErrorInvalidValue);
    SAME(WITH_DATA(cudaGraphAddDependencies)(graph, &c, &empty, &triggered, 1), cudaErrorInvalidValue); // not between kernels
    SAME(WITH_DATA(cudaGraphAddDependencies)(graph, &empty, &c, &begun, 1), cudaErrorInvalidValue);     // not from a kernel
    GOOD(WITH_DATA(cudaGraphAddDependencies)(graph, &c, &empty, &begun, 1));
    SAME(WITH_DATA(cudaGraphAddDependencies)(graph, &c, &empty, &plain, 1), cudaErrorInvalidValue); // is there

    many = 8;
    GOOD(WITH_DATA(cudaGraphGetEdges)(graph, from, to, data, &many));
    SAME(many == 3 && from[0] == a && to[0] == b && same(data[0], triggered) && same(data[1], both) && same(data[2], begun), true);
    many = 8;
    SAME(WITH_DATA(cudaGraphGetEdges)(graph, from, to, NULL, &many), cudaErrorLossyQuery);
    GOOD(WITH_DATA(cudaGraphGetEdges)(graph, NULL, NULL, NULL, &many));
    SAME(many, 3u);
    many = 8;
    GOOD(WITH_DATA(cudaGraphNodeGetDependencies)(c, from, data, &many));
    SAME(many == 1 && from[0] == b && same(data[0], both), true);
    SAME(WITH_DATA(cudaGraphNodeGetDependencies)(c, from, NULL, &many), cudaErrorLossyQuery);
    many = 8;
    GOOD(WITH_DATA(cudaGraphNodeGetDependentNodes)(a, to, data, &many));
    SAME(many == 1 && to[0] == b && same(data[0], triggered), true);
    SAME(WITH_DATA(cudaGraphNodeGetDependentNodes)(a, to, NULL, &many), cudaErrorLossyQuery);

    cudaGraphExec_t ready;
    cudaGraphExecUpdateResultInfo result;
    GOOD(cudaGraphClone(&clone, graph));
    GOOD(cudaGraphInstantiate(&ready, clone, 0));
    GOOD(cudaGraphLaunch(ready, stream));
    GOOD(cudaStreamSynchronize(stream));
    GOOD(cudaGraphExecUpdate(ready, graph, &result));
    SAME(WITH_DATA(cudaGraphRemoveDependencies)(graph, &a, &b, &plain, 1), cudaErrorInvalidValue);
    SAME(WITH_DATA(cudaGraphRemoveDependencies)(graph, &a, &b, NULL, 1), cudaErrorInvalidValue);
    GOOD(WITH_DATA(cudaGraphRemoveDependencies)(graph, &a, &b, &triggered, 1));
    GOOD(WITH_DATA(cudaGraphAddDependencies)(graph, &a, &b, NULL, 1));
    SAME(cudaGraphExecUpdate(ready, graph, &result), cudaErrorGraphExecUpdateFailure);
    SAME(result.result, cudaGraphExecUpdateErrorTopologyChanged);
    cudaKernelNodeAttrValue value = {};
    value.programmaticStreamSerializationAllowed = 1;
    SAME(cudaGraphKernelNodeSetAttribute(a, cudaLaunchAttributeProgrammaticStreamSerialization, &value), cudaErrorInvalidValue);
    GOOD(cudaGraphExecDestroy(ready));
    GOOD(cudaGraphDestroy(clone));
    GOOD(cudaGraphDestroy(graph));
}

static cudaError_t launch(cudaStream_t in, cudaLaunchAttribute *attributes, unsigned count)
{
    cudaLaunchConfig_t config = with_attributes(attributes, count, 1, 32, in);
    return cudaLaunchKernelEx(&config, work, x);
}

// The edges that a stream's next node gets.
static size_t tips(cudaStream_t of, const cudaGraphNode_t **nodes, const cudaGraphEdgeData **data)
{
    size_t many = 0;
    cudaStreamCaptureStatus status;
    GOOD(CAPTURE_INFO(of, &status, NULL, NULL, nodes, data, &many));
    SAME(status, cudaStreamCaptureStatusActive);
    return many;
}

// Attributes of captured launches become edges; events carry them to other streams.
static void captured()
{
    cudaLaunchAttribute serialization = may_overlap(), event, completion;
    cudaEvent_t at_trigger, at_start, timed;
    GOOD(cudaEventCreateWithFlags(&at_trigger, cudaEventDisableTiming));
    GOOD(cudaEventCreateWithFlags(&at_start, cudaEventDisableTiming));
    GOOD(cudaEventCreate(&timed));
    event.id = cudaLaunchAttributeProgrammaticEvent;
    event.val.programmaticEvent.event = timed;
    event.val.programmaticEvent.flags = 0;
    event.val.programmaticEvent.triggerAtBlockStart = 0;
    SAME(launch(stream, &event, 1), cudaErrorInvalidValue); // it takes times
    event.val.programmaticEvent.event = at_trigger;
    completion.id = cudaLaunchAttributeLaunchCompletionEvent;
    completion.val.launchCompletionEvent.event = at_start;
    completion.val.launchCompletionEvent.flags = 0;
    cudaLaunchAttribute events[] = {event, completion};

    cudaGraph_t graph;
    const cudaGraphNode_t *nodes;
    const cudaGraphEdgeData *data;
    cudaGraphNode_t all[4], from[4];
    cudaGraphEdgeData got[4];
    size_t many = 4;
    cudaStreamCaptureStatus status;
    SAME(WITH_DATA(cudaStreamUpdateCaptureDependencies)(stream, NULL, NULL, 0, 0), cudaErrorIllegalState);
    GOOD(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    GOOD(launch(stream, events, 2));
    GOOD(cudaStreamWaitEvent(other, at_start, 0));
    SAME(tips(other, &nodes, &data) == 1 && same(data[0], begun), true);
    SAME(CAPTURE_INFO(other, &status, NULL, NULL, &nodes, NULL, &many), cudaErrorLossyQuery);
    GOOD(cudaStreamWaitEvent(other, at_trigger, 0));
    SAME(tips(other, &nodes, &data) == 1 && same(data[0], triggered), true); // both
    GOOD(launch(other, NULL, 0));
    GOOD(launch(stream, &serialization, 1));
    SAME(tips(stream, &nodes, &data) == 1 && same(data[0], plain), true);
    GOOD(WITH_DATA(cudaStreamUpdateCaptureDependencies)(stream, (cudaGraphNode_t *)nodes, &triggered, 1, cudaStreamSetCaptureDependencies));
    SAME(tips(stream, &nodes, &data) == 1 && same(data[0], triggered), true);
    GOOD(cudaEventRecord(at_start, other));
    GOOD(cudaStreamWaitEvent(stream, at_start, 0));
    GOOD(launch(stream, NULL, 0));
    GOOD(cudaStreamEndCapture(stream, &graph));
    many = 4;
    GOOD(cudaGraphGetNodes(graph, all, &many));
    SAME(many, 4u);
    for (int i = 1; i < 4; i++) {
        many = 4;
        GOOD(WITH_DATA(cudaGraphNodeGetDependencies)(all[i], from, got, &many));
        SAME(many == (i == 3 ? 2u : 1u) && from[0] == (i == 3 ? all[2] : all[0]) && same(got[0], triggered), true);
    }
    SAME(from[1] == all[1] && same(got[1], plain), true);
    GOOD(cudaGraphDestroy(graph));

    // A fill cannot begin before the kernel is done.
    GOOD(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    event.val.programmaticEvent.triggerAtBlockStart = 1;
    GOOD(launch(stream, &event, 1));
    GOOD(cudaStreamWaitEvent(other, at_trigger, 0));
    SAME(tips(other, &nodes, &data) == 1 && same(data[0], both), true);
    SAME(cudaMemsetAsync(x, 0, 32 * sizeof(int), other), cudaErrorInvalidValue);
    SAME(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
    GOOD(cudaEventDestroy(at_trigger));
    GOOD(cudaEventDestroy(at_start));
    GOOD(cudaEventDestroy(timed));
}

// Many overlapping launches, without a wait of the host; the last one, and the copy, come after all.
static void many()
{
    enum { LAUNCHES = 300 };
    cudaLaunchAttribute serialization = may_overlap();
    int value = 0;
    GOOD(cudaMemsetAsync(x, 0, 32 * sizeof(int), stream));
    for (int i = 0; i < LAUNCHES; i++)
        GOOD(launch(stream, &serialization, 1));
    GOOD(cudaMemcpyAsync(&value, x, sizeof value, cudaMemcpyDeviceToHost, stream));
    GOOD(cudaStreamSynchronize(stream));
    SAME(value, (int)LAUNCHES);
}

int main()
{
    GOOD(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    GOOD(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    GOOD(cudaMalloc(&x, 32 * sizeof(int)));
    GOOD(cudaMemset(x, 0, 32 * sizeof(int)));
    GOOD(cudaDeviceSynchronize());
    edges();
    captured();
    many();
    GOOD(cudaFree(x));
    GOOD(cudaStreamDestroy(stream));
    GOOD(cudaStreamDestroy(other));
    printf("%d of %d failed\n", failed, compared);
    return failed != 0;
}
