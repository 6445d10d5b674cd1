/* Nodes of graphs. The runtime's structs of fills and of functions of the host are the driver's; that
 * of kernels has the host's function, and that of copies is translated. */
#include "runtime/runtime.h"

#include <stddef.h>
#include <string.h>

/* --- kernels --- */

static int take_kernel(const struct driver_kernel_node *from, struct driver_kernel_node *to)
{
    int result = DRIVER_INVALID_VALUE;
    if (!from)
        return result;
    memset(to, 0, sizeof *to);
    memcpy(to, from, offsetof(struct driver_kernel_node, kernel));
    to->function = runtime_function_of(from->function, &result);
    return result;
}

int cudaGraphAddKernelNode(void **node, void *graph, void *const *before, size_t count,
                           const struct driver_kernel_node *parameters)
{
    ENTER;
    struct driver_kernel_node p;
    int result = take_kernel(parameters, &p);
    if (result == DRIVER_SUCCESS)
        result = cuGraphAddKernelNode_v2(node, graph, before, count, &p);
    return runtime_done(result);
}

int cudaGraphKernelNodeSetParams(void *node, const struct driver_kernel_node *parameters)
{
    ENTER;
    struct driver_kernel_node p;
    int result = take_kernel(parameters, &p);
    return runtime_done(result == DRIVER_SUCCESS ? cuGraphKernelNodeSetParams_v2(node, &p)
                                                 : result);
}

int cudaGraphExecKernelNodeSetParams(void *ready, void *node,
                                     const struct driver_kernel_node *parameters)
{
    ENTER;
    struct driver_kernel_node p;
    int result = take_kernel(parameters, &p);
    return runtime_done(
        result == DRIVER_SUCCESS ? cuGraphExecKernelNodeSetParams_v2(ready, node, &p) : result);
}

int cudaGraphKernelNodeGetParams(void *node, struct driver_kernel_node *parameters)
{
    ENTER;
    int result = cuGraphKernelNodeGetParams(node, parameters);
    if (result == DRIVER_SUCCESS)
        parameters->function = (void *)(uintptr_t)runtime_host_of(parameters->function);
    return runtime_done(result);
}

ENTRY(cudaGraphKernelNodeSetAttribute, (void *node, int id, const union driver_launch_value *value),
      cuGraphKernelNodeSetAttribute(node, id, value))
ENTRY(cudaGraphKernelNodeGetAttribute, (void *node, int id, union driver_launch_value *value),
      cuGraphKernelNodeGetAttribute(node, id, value))

#if RUNTIME_VERSION < 13
int cudaGraphKernelNodeCopyAttributes(void *from, void *to)
#else
int cudaGraphKernelNodeCopyAttributes(void *to, void *from)
#endif
{
    ENTER;
    return runtime_done(cuGraphKernelNodeCopyAttributes(to, from));
}

/* --- copies --- */

int cudaGraphAddMemcpyNode(void **node, void *graph, void *const *before, size_t count,
                           const struct runtime_copy_3d *parameters)
{
    ENTER;
    struct driver_copy_3d c;
    int result = runtime_copy_of(parameters, &c);
    if (result == DRIVER_SUCCESS)
        result = cuGraphAddMemcpyNode(node, graph, before, count, &c, NULL);
    return runtime_done(result);
}

int cudaGraphMemcpyNodeSetParams(void *node, const struct runtime_copy_3d *parameters)
{
    ENTER;
    struct driver_copy_3d c;
    int result = runtime_copy_of(parameters, &c);
    return runtime_done(result == DRIVER_SUCCESS ? cuGraphMemcpyNodeSetParams(node, &c) : result);
}

int cudaGraphExecMemcpyNodeSetParams(void *ready, void *node,
                                     const struct runtime_copy_3d *parameters)
{
    ENTER;
    struct driver_copy_3d c;
    int result = runtime_copy_of(parameters, &c);
    return runtime_done(
        result == DRIVER_SUCCESS ? cuGraphExecMemcpyNodeSetParams(ready, node, &c, NULL) : result);
}

static struct runtime_copy_3d bytes(void *to, const void *from, size_t count, int kind)
{
    return (struct runtime_copy_3d){.from = {(void *)(uintptr_t)from, count, count, 1},
                                    .to = {to, count, count, 1},
                                    .extent = {count, 1, 1},
                                    .kind = kind};
}

int cudaGraphAddMemcpyNode1D(void **node, void *graph, void *const *before, size_t count, void *to,
                             const void *from, size_t size, int kind)
{
    ENTER;
    struct runtime_copy_3d c = bytes(to, from, size, kind);
    return cudaGraphAddMemcpyNode(node, graph, before, count, &c);
}

int cudaGraphMemcpyNodeSetParams1D(void *node, void *to, const void *from, size_t size, int kind)
{
    ENTER;
    struct runtime_copy_3d c = bytes(to, from, size, kind);
    return cudaGraphMemcpyNodeSetParams(node, &c);
}

int cudaGraphExecMemcpyNodeSetParams1D(void *ready, void *node, void *to, const void *from,
                                       size_t size, int kind)
{
    ENTER;
    struct runtime_copy_3d c = bytes(to, from, size, kind);
    return cudaGraphExecMemcpyNodeSetParams(ready, node, &c);
}

int cudaGraphAddMemcpyNodeToSymbol(void **node, void *graph, void *const *before, size_t count,
                                   const void *symbol, const void *from, size_t size, size_t offset,
                                   int kind)
{
    ENTER;
    uint64_t to;
    int result = runtime_variable_of(symbol, &to, NULL);
    if (result != DRIVER_SUCCESS)
        return runtime_done(result);
    return cudaGraphAddMemcpyNode1D(node, graph, before, count, (void *)(uintptr_t)(to + offset),
                                    from, size, kind);
}

int cudaGraphAddMemcpyNodeFromSymbol(void **node, void *graph, void *const *before, size_t count,
                                     void *to, const void *symbol, size_t size, size_t offset,
                                     int kind)
{
    ENTER;
    uint64_t from;
    int result = runtime_variable_of(symbol, &from, NULL);
    if (result != DRIVER_SUCCESS)
        return runtime_done(result);
    return cudaGraphAddMemcpyNode1D(node, graph, before, count, to,
                                    (const void *)(uintptr_t)(from + offset), size, kind);
}

/* --- fills --- */

ENTRY(cudaGraphAddMemsetNode,
      (void **node, void *graph, void *const *before, size_t count,
       const struct driver_fill_node *parameters),
      cuGraphAddMemsetNode(node, graph, before, count, parameters, NULL))
ENTRY(cudaGraphMemsetNodeSetParams, (void *node, const struct driver_fill_node *parameters),
      cuGraphMemsetNodeSetParams(node, parameters))
ENTRY(cudaGraphMemsetNodeGetParams, (void *node, struct driver_fill_node *parameters),
      cuGraphMemsetNodeGetParams(node, parameters))
ENTRY(cudaGraphExecMemsetNodeSetParams,
      (void *ready, void *node, const struct driver_fill_node *parameters),
      cuGraphExecMemsetNodeSetParams(ready, node, parameters, NULL))

/* --- functions of the host --- */

ENTRY(cudaGraphAddHostNode,
      (void **node, void *graph, void *const *before, size_t count,
       const struct driver_host_node *parameters),
      cuGraphAddHostNode(node, graph, before, count, parameters))
ENTRY(cudaGraphHostNodeSetParams, (void *node, const struct driver_host_node *parameters),
      cuGraphHostNodeSetParams(node, parameters))
ENTRY(cudaGraphHostNodeGetParams, (void *node, struct driver_host_node *parameters),
      cuGraphHostNodeGetParams(node, parameters))
ENTRY(cudaGraphExecHostNodeSetParams,
      (void *ready, void *node, const struct driver_host_node *parameters),
      cuGraphExecHostNodeSetParams(ready, node, parameters))

/* --- empty nodes, other graphs, events --- */

ENTRY(cudaGraphAddEmptyNode, (void **node, void *graph, void *const *before, size_t count),
      cuGraphAddEmptyNode(node, graph, before, count))
ENTRY(cudaGraphAddChildGraphNode,
      (void **node, void *graph, void *const *before, size_t count, void *child),
      cuGraphAddChildGraphNode(node, graph, before, count, child))
ENTRY(cudaGraphChildGraphNodeGetGraph, (void *node, void **child),
      cuGraphChildGraphNodeGetGraph(node, child))
ENTRY(cudaGraphExecChildGraphNodeSetParams, (void *ready, void *node, void *child),
      cuGraphExecChildGraphNodeSetParams(ready, node, child))
ENTRY(cudaGraphAddEventRecordNode,
      (void **node, void *graph, void *const *before, size_t count, void *event),
      cuGraphAddEventRecordNode(node, graph, before, count, event))
ENTRY(cudaGraphAddEventWaitNode,
      (void **node, void *graph, void *const *before, size_t count, void *event),
      cuGraphAddEventWaitNode(node, graph, before, count, event))
ENTRY(cudaGraphEventRecordNodeGetEvent, (void *node, void **event),
      cuGraphEventRecordNodeGetEvent(node, event))
ENTRY(cudaGraphEventWaitNodeGetEvent, (void *node, void **event),
      cuGraphEventWaitNodeGetEvent(node, event))
ENTRY(cudaGraphEventRecordNodeSetEvent, (void *node, void *event),
      cuGraphEventRecordNodeSetEvent(node, event))
ENTRY(cudaGraphEventWaitNodeSetEvent, (void *node, void *event),
      cuGraphEventWaitNodeSetEvent(node, event))
ENTRY(cudaGraphExecEventRecordNodeSetEvent, (void *ready, void *node, void *event),
      cuGraphExecEventRecordNodeSetEvent(ready, node, event))
ENTRY(cudaGraphExecEventWaitNodeSetEvent, (void *ready, void *node, void *event),
      cuGraphExecEventWaitNodeSetEvent(ready, node, event))

/* --- memory --- */

ENTRY(cudaGraphAddMemAllocNode,
      (void **node, void *graph, void *const *before, size_t count,
       struct driver_allocation_node *parameters),
      cuGraphAddMemAllocNode(node, graph, before, count, parameters))
ENTRY(cudaGraphMemAllocNodeGetParams, (void *node, struct driver_allocation_node *parameters),
      cuGraphMemAllocNodeGetParams(node, parameters))
ENTRY(cudaGraphAddMemFreeNode,
      (void **node, void *graph, void *const *before, size_t count, void *memory),
      cuGraphAddMemFreeNode(node, graph, before, count, (uintptr_t)memory))
ENTRY(cudaGraphMemFreeNodeGetParams, (void *node, void *memory),
      cuGraphMemFreeNodeGetParams(node, memory))
ENTRY(cudaDeviceGraphMemTrim, (int device), cuDeviceGraphMemTrim(device))
ENTRY(cudaDeviceGetGraphMemAttribute, (int device, int attribute, void *value),
      cuDeviceGetGraphMemAttribute(device, attribute, value))
ENTRY(cudaDeviceSetGraphMemAttribute, (int device, int attribute, void *value),
      cuDeviceSetGraphMemAttribute(device, attribute, value))

/* --- conditions --- */

ENTRY(cudaGraphConditionalHandleCreate,
      (uint64_t * handle, void *graph, unsigned initial, unsigned flags),
      cuGraphConditionalHandleCreate(handle, graph, NULL, initial, flags))

/* --- nodes that are left out --- */

ENTRY(cudaGraphNodeSetEnabled, (void *ready, void *node, unsigned enabled),
      cuGraphNodeSetEnabled(ready, node, enabled))
ENTRY(cudaGraphNodeGetEnabled, (void *ready, void *node, unsigned *enabled),
      cuGraphNodeGetEnabled(ready, node, enabled))

/* --- nodes of any kind --- */

static int take_any(const struct runtime_any_node *from, struct driver_any_node *to)
{
    enum { KERNEL, COPY }; /* cudaGraphNodeType */
    if (!from)
        return DRIVER_INVALID_VALUE;
    memset(to, 0, sizeof *to);
    to->kind = from->kind;
    if (from->kind == KERNEL)
        return take_kernel(&from->of.kernel, &to->of.kernel);
    if (from->kind == COPY)
        return runtime_copy_of(&from->of.copy.parameters, &to->of.copy.parameters);
    memcpy(to->of.room, from->of.room, sizeof to->of.room);
    return DRIVER_SUCCESS;
}

static int add_any(void **node, void *graph, void *const *before, const void *data, size_t count,
                   struct runtime_any_node *parameters)
{
    enum { ALLOCATION = 10, CONDITIONAL = 13 }; /* cudaGraphNodeType */
    struct driver_any_node p;
    int result = take_any(parameters, &p);
    if (result == DRIVER_SUCCESS)
        result = cuGraphAddNode_v2(node, graph, before, data, count, &p);
    bool answers = parameters && (p.kind == ALLOCATION || p.kind == CONDITIONAL);
    if (result == DRIVER_SUCCESS && answers) /* with the address, or the bodies */
        memcpy(parameters->of.room, p.of.room, sizeof p.of.room);
    return runtime_done(result);
}

#if RUNTIME_VERSION < 13
int cudaGraphAddNode(void **node, void *graph, void *const *before, size_t count,
                     struct runtime_any_node *parameters)
{
    ENTER;
    return add_any(node, graph, before, NULL, count, parameters);
}

int cudaGraphAddNode_v2(void **node, void *graph, void *const *before, const void *data,
                        size_t count, struct runtime_any_node *parameters)
#else
int cudaGraphAddNode(void **node, void *graph, void *const *before, const void *data, size_t count,
                     struct runtime_any_node *parameters)
#endif
{
    ENTER;
    return add_any(node, graph, before, data, count, parameters);
}

int cudaGraphNodeSetParams(void *node, struct runtime_any_node *parameters)
{
    ENTER;
    struct driver_any_node p;
    int result = take_any(parameters, &p);
    return runtime_done(result == DRIVER_SUCCESS ? cuGraphNodeSetParams(node, &p) : result);
}

int cudaGraphExecNodeSetParams(void *ready, void *node, struct runtime_any_node *parameters)
{
    ENTER;
    struct driver_any_node p;
    int result = take_any(parameters, &p);
    return runtime_done(result == DRIVER_SUCCESS ? cuGraphExecNodeSetParams(ready, node, &p)
                                                 : result);
}
