/* Graphs and captures. */
#include "runtime/runtime.h"

int cudaGraphCreate(void **graph, unsigned flags)
{
    ENTER;
    return runtime_done(cuGraphCreate(graph, flags));
}

int cudaGraphDestroy(void *graph)
{
    ENTER;
    return runtime_done(cuGraphDestroy(graph));
}

int cudaGraphClone(void **clone, void *graph)
{
    ENTER;
    return runtime_done(cuGraphClone(clone, graph));
}

int cudaGraphNodeFindInClone(void **node, void *original, void *clone)
{
    ENTER;
    return runtime_done(cuGraphNodeFindInClone(node, original, clone));
}

int cudaGraphDestroyNode(void *node)
{
    ENTER;
    return runtime_done(cuGraphDestroyNode(node));
}

int cudaGraphNodeGetType(void *node, int *type)
{
    ENTER;
    return runtime_done(cuGraphNodeGetType(node, type));
}

int cudaGraphGetNodes(void *graph, void **nodes, size_t *count)
{
    ENTER;
    return runtime_done(cuGraphGetNodes(graph, nodes, count));
}

int cudaGraphGetRootNodes(void *graph, void **nodes, size_t *count)
{
    ENTER;
    return runtime_done(cuGraphGetRootNodes(graph, nodes, count));
}

/* --- edges --- */

/* Version 13 has data of edges in the calls that version 12 names _v2. */

#if RUNTIME_VERSION < 13
int cudaGraphAddDependencies(void *graph, void *const *from, void *const *to, size_t count)
{
    ENTER;
    return runtime_done(cuGraphAddDependencies(graph, from, to, count));
}

int cudaGraphRemoveDependencies(void *graph, void *const *from, void *const *to, size_t count)
{
    ENTER;
    return runtime_done(cuGraphRemoveDependencies(graph, from, to, count));
}

int cudaGraphGetEdges(void *graph, void **from, void **to, size_t *count)
{
    ENTER;
    return runtime_done(cuGraphGetEdges(graph, from, to, count));
}

int cudaGraphNodeGetDependencies(void *node, void **nodes, size_t *count)
{
    ENTER;
    return runtime_done(cuGraphNodeGetDependencies(node, nodes, count));
}

int cudaGraphNodeGetDependentNodes(void *node, void **nodes, size_t *count)
{
    ENTER;
    return runtime_done(cuGraphNodeGetDependentNodes(node, nodes, count));
}

int cudaStreamGetCaptureInfo_v2(void *stream, int *status, uint64_t *number, void **graph,
                                void *const **before, size_t *count)
{
    ENTER;
    return runtime_done(cuStreamGetCaptureInfo_v2(stream, status, number, graph, before, count));
}

int cudaStreamUpdateCaptureDependencies(void *stream, void *const *before, size_t count,
                                        unsigned flags)
{
    ENTER;
    return runtime_done(cuStreamUpdateCaptureDependencies(stream, before, count, flags));
}
#define WITH_DATA(name) name##_v2
#define CAPTURE_INFO cudaStreamGetCaptureInfo_v3
#else
#define WITH_DATA(name) name
#define CAPTURE_INFO cudaStreamGetCaptureInfo
#endif

int WITH_DATA(cudaGraphAddDependencies)(void *graph, void *const *from, void *const *to,
                                        const void *data, size_t count)
{
    ENTER;
    return runtime_done(cuGraphAddDependencies_v2(graph, from, to, data, count));
}

int WITH_DATA(cudaGraphRemoveDependencies)(void *graph, void *const *from, void *const *to,
                                           const void *data, size_t count)
{
    ENTER;
    return runtime_done(cuGraphRemoveDependencies_v2(graph, from, to, data, count));
}

int WITH_DATA(cudaGraphGetEdges)(void *graph, void **from, void **to, void *data, size_t *count)
{
    ENTER;
    return runtime_done(cuGraphGetEdges_v2(graph, from, to, data, count));
}

int WITH_DATA(cudaGraphNodeGetDependencies)(void *node, void **nodes, void *data, size_t *count)
{
    ENTER;
    return runtime_done(cuGraphNodeGetDependencies_v2(node, nodes, data, count));
}

int WITH_DATA(cudaGraphNodeGetDependentNodes)(void *node, void **nodes, void *data, size_t *count)
{
    ENTER;
    return runtime_done(cuGraphNodeGetDependentNodes_v2(node, nodes, data, count));
}

int CAPTURE_INFO(void *stream, int *status, uint64_t *number, void **graph, void *const **before,
                 const void **data, size_t *count)
{
    ENTER;
    return runtime_done(
        cuStreamGetCaptureInfo_v3(stream, status, number, graph, before, data, count));
}

int WITH_DATA(cudaStreamUpdateCaptureDependencies)(void *stream, void *const *before,
                                                   const void *data, size_t count, unsigned flags)
{
    ENTER;
    return runtime_done(cuStreamUpdateCaptureDependencies_v2(stream, before, data, count, flags));
}

/* --- launching --- */

int cudaGraphInstantiate(void **ready, void *graph, uint64_t flags)
{
    ENTER;
    return runtime_done(cuGraphInstantiateWithFlags(ready, graph, flags));
}

int cudaGraphInstantiateWithFlags(void **ready, void *graph, uint64_t flags)
{
    ENTER;
    return runtime_done(cuGraphInstantiateWithFlags(ready, graph, flags));
}

int cudaGraphInstantiateWithParams(void **ready, void *graph, struct driver_instantiate *p)
{
    ENTER;
    return runtime_done(cuGraphInstantiateWithParams(ready, graph, p));
}

int cudaGraphExecGetFlags(void *ready, uint64_t *flags)
{
    ENTER;
    return runtime_done(cuGraphExecGetFlags(ready, flags));
}

int cudaGraphExecDestroy(void *ready)
{
    ENTER;
    return runtime_done(cuGraphExecDestroy(ready));
}

int cudaGraphUpload(void *ready, void *stream)
{
    ENTER;
    return runtime_done(cuGraphUpload(ready, stream));
}

int cudaGraphLaunch(void *ready, void *stream)
{
    ENTER;
    return runtime_done(cuGraphLaunch(ready, stream));
}

int cudaGraphExecUpdate(void *ready, void *graph, struct driver_update *result)
{
    ENTER;
    return runtime_done(cuGraphExecUpdate_v2(ready, graph, result));
}

/* --- captures --- */

int cudaStreamBeginCapture(void *stream, int mode)
{
    ENTER;
    return runtime_done(cuStreamBeginCapture_v2(stream, mode));
}

int cudaStreamBeginCaptureToGraph(void *stream, void *graph, void *const *before, const void *data,
                                  size_t count, int mode)
{
    ENTER;
    return runtime_done(cuStreamBeginCaptureToGraph(stream, graph, before, data, count, mode));
}

int cudaStreamEndCapture(void *stream, void **graph)
{
    ENTER;
    return runtime_done(cuStreamEndCapture(stream, graph));
}

int cudaThreadExchangeStreamCaptureMode(int *mode)
{
    ENTER;
    return runtime_done(cuThreadExchangeStreamCaptureMode(mode));
}
