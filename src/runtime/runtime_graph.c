/* Graphs and captures. */
#include "runtime/runtime.h"

ENTRY(cudaGraphCreate, (void **graph, unsigned flags), cuGraphCreate(graph, flags))
ENTRY(cudaGraphDestroy, (void *graph), cuGraphDestroy(graph))
ENTRY(cudaGraphClone, (void **clone, void *graph), cuGraphClone(clone, graph))
ENTRY(cudaGraphNodeFindInClone, (void **node, void *original, void *clone),
      cuGraphNodeFindInClone(node, original, clone))
ENTRY(cudaGraphDestroyNode, (void *node), cuGraphDestroyNode(node))
ENTRY(cudaGraphNodeGetType, (void *node, int *type), cuGraphNodeGetType(node, type))
ENTRY(cudaGraphGetNodes, (void *graph, void **nodes, size_t *count),
      cuGraphGetNodes(graph, nodes, count))
ENTRY(cudaGraphGetRootNodes, (void *graph, void **nodes, size_t *count),
      cuGraphGetRootNodes(graph, nodes, count))

/* --- edges --- */

/* Version 13 has data of edges in the calls that version 12 names _v2. */

#if RUNTIME_VERSION < 13
ENTRY(cudaGraphAddDependencies, (void *graph, void *const *from, void *const *to, size_t count),
      cuGraphAddDependencies(graph, from, to, count))
ENTRY(cudaGraphRemoveDependencies, (void *graph, void *const *from, void *const *to, size_t count),
      cuGraphRemoveDependencies(graph, from, to, count))
ENTRY(cudaGraphGetEdges, (void *graph, void **from, void **to, size_t *count),
      cuGraphGetEdges(graph, from, to, count))
ENTRY(cudaGraphNodeGetDependencies, (void *node, void **nodes, size_t *count),
      cuGraphNodeGetDependencies(node, nodes, count))
ENTRY(cudaGraphNodeGetDependentNodes, (void *node, void **nodes, size_t *count),
      cuGraphNodeGetDependentNodes(node, nodes, count))
ENTRY(cudaStreamGetCaptureInfo_v2,
      (void *stream, int *status, uint64_t *number, void **graph, void *const **before,
       size_t *count),
      cuStreamGetCaptureInfo_v2(stream, status, number, graph, before, count))
ENTRY(cudaStreamUpdateCaptureDependencies,
      (void *stream, void *const *before, size_t count, unsigned flags),
      cuStreamUpdateCaptureDependencies(stream, before, count, flags))
#define WITH_DATA(name) name##_v2
#define CAPTURE_INFO cudaStreamGetCaptureInfo_v3
#else
#define WITH_DATA(name) name
#define CAPTURE_INFO cudaStreamGetCaptureInfo
#endif

ENTRY(WITH_DATA,
      (cudaGraphAddDependencies)(void *graph, void *const *from, void *const *to, const void *data,
                                 size_t count),
      cuGraphAddDependencies_v2(graph, from, to, data, count))
ENTRY(WITH_DATA,
      (cudaGraphRemoveDependencies)(void *graph, void *const *from, void *const *to,
                                    const void *data, size_t count),
      cuGraphRemoveDependencies_v2(graph, from, to, data, count))
ENTRY(WITH_DATA,
      (cudaGraphGetEdges)(void *graph, void **from, void **to, void *data, size_t *count),
      cuGraphGetEdges_v2(graph, from, to, data, count))
ENTRY(WITH_DATA,
      (cudaGraphNodeGetDependencies)(void *node, void **nodes, void *data, size_t *count),
      cuGraphNodeGetDependencies_v2(node, nodes, data, count))
ENTRY(WITH_DATA,
      (cudaGraphNodeGetDependentNodes)(void *node, void **nodes, void *data, size_t *count),
      cuGraphNodeGetDependentNodes_v2(node, nodes, data, count))
ENTRY(CAPTURE_INFO,
      (void *stream, int *status, uint64_t *number, void **graph, void *const **before,
       const void **data, size_t *count),
      cuStreamGetCaptureInfo_v3(stream, status, number, graph, before, data, count))
ENTRY(WITH_DATA,
      (cudaStreamUpdateCaptureDependencies)(void *stream, void *const *before, const void *data,
                                            size_t count, unsigned flags),
      cuStreamUpdateCaptureDependencies_v2(stream, before, data, count, flags))

/* --- launching --- */

ENTRY(cudaGraphInstantiate, (void **ready, void *graph, uint64_t flags),
      cuGraphInstantiateWithFlags(ready, graph, flags))
ENTRY(cudaGraphInstantiateWithFlags, (void **ready, void *graph, uint64_t flags),
      cuGraphInstantiateWithFlags(ready, graph, flags))
ENTRY(cudaGraphInstantiateWithParams, (void **ready, void *graph, struct driver_instantiate *p),
      cuGraphInstantiateWithParams(ready, graph, p))
ENTRY(cudaGraphExecGetFlags, (void *ready, uint64_t *flags), cuGraphExecGetFlags(ready, flags))
ENTRY(cudaGraphExecDestroy, (void *ready), cuGraphExecDestroy(ready))
ENTRY(cudaGraphUpload, (void *ready, void *stream), cuGraphUpload(ready, stream))
ENTRY(cudaGraphLaunch, (void *ready, void *stream), cuGraphLaunch(ready, stream))
ENTRY(cudaGraphExecUpdate, (void *ready, void *graph, struct driver_update *result),
      cuGraphExecUpdate_v2(ready, graph, result))

/* --- captures --- */

ENTRY(cudaStreamBeginCapture, (void *stream, int mode), cuStreamBeginCapture_v2(stream, mode))
ENTRY(cudaStreamBeginCaptureToGraph,
      (void *stream, void *graph, void *const *before, const void *data, size_t count, int mode),
      cuStreamBeginCaptureToGraph(stream, graph, before, data, count, mode))
ENTRY(cudaStreamEndCapture, (void *stream, void **graph), cuStreamEndCapture(stream, graph))
ENTRY(cudaThreadExchangeStreamCaptureMode, (int *mode), cuThreadExchangeStreamCaptureMode(mode))
