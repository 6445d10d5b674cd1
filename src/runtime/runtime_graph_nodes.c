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

int cudaGraphKernelNodeSetAttribute(void *node, int id, const union driver_launch_value *value)
{
    ENTER;
    return runtime_done(cuGraphKernelNodeSetAttribute(node, id, value));
}

int cudaGraphKernelNodeGetAttribute(void *node, int id, union driver_launch_value *value)
{
    ENTER;
    return runtime_done(cuGraphKernelNodeGetAttribute(node, id, value));
}

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

int cudaGraphAddMemsetNode(void **node, void *graph, void *const *before, size_t count,
                           const struct driver_fill_node *parameters)
{
    ENTER;
    return runtime_done(cuGraphAddMemsetNode(node, graph, before, count, parameters, NULL));
}

int cudaGraphMemsetNodeSetParams(void *node, const struct driver_fill_node *parameters)
{
    ENTER;
    return runtime_done(cuGraphMemsetNodeSetParams(node, parameters));
}

int cudaGraphMemsetNodeGetParams(void *node, struct driver_fill_node *parameters)
{
    ENTER;
    return runtime_done(cuGraphMemsetNodeGetParams(node, parameters));
}

int cudaGraphExecMemsetNodeSetParams(void *ready, void *node,
                                     const struct driver_fill_node *parameters)
{
    ENTER;
    return runtime_done(cuGraphExecMemsetNodeSetParams(ready, node, parameters, NULL));
}

/* --- functions of the host --- */

int cudaGraphAddHostNode(void **node, void *graph, void *const *before, size_t count,
                         const struct driver_host_node *parameters)
{
    ENTER;
    return runtime_done(cuGraphAddHostNode(node, graph, before, count, parameters));
}

int cudaGraphHostNodeSetParams(void *node, const struct driver_host_node *parameters)
{
    ENTER;
    return runtime_done(cuGraphHostNodeSetParams(node, parameters));
}

int cudaGraphHostNodeGetParams(void *node, struct driver_host_node *parameters)
{
    ENTER;
    return runtime_done(cuGraphHostNodeGetParams(node, parameters));
}

int cudaGraphExecHostNodeSetParams(void *ready, void *node,
                                   const struct driver_host_node *parameters)
{
    ENTER;
    return runtime_done(cuGraphExecHostNodeSetParams(ready, node, parameters));
}

/* --- empty nodes, other graphs, events --- */

int cudaGraphAddEmptyNode(void **node, void *graph, void *const *before, size_t count)
{
    ENTER;
    return runtime_done(cuGraphAddEmptyNode(node, graph, before, count));
}

int cudaGraphAddChildGraphNode(void **node, void *graph, void *const *before, size_t count,
                               void *child)
{
    ENTER;
    return runtime_done(cuGraphAddChildGraphNode(node, graph, before, count, child));
}

int cudaGraphChildGraphNodeGetGraph(void *node, void **child)
{
    ENTER;
    return runtime_done(cuGraphChildGraphNodeGetGraph(node, child));
}

int cudaGraphExecChildGraphNodeSetParams(void *ready, void *node, void *child)
{
    ENTER;
    return runtime_done(cuGraphExecChildGraphNodeSetParams(ready, node, child));
}

int cudaGraphAddEventRecordNode(void **node, void *graph, void *const *before, size_t count,
                                void *event)
{
    ENTER;
    return runtime_done(cuGraphAddEventRecordNode(node, graph, before, count, event));
}

int cudaGraphAddEventWaitNode(void **node, void *graph, void *const *before, size_t count,
                              void *event)
{
    ENTER;
    return runtime_done(cuGraphAddEventWaitNode(node, graph, before, count, event));
}

int cudaGraphEventRecordNodeGetEvent(void *node, void **event)
{
    ENTER;
    return runtime_done(cuGraphEventRecordNodeGetEvent(node, event));
}

int cudaGraphEventWaitNodeGetEvent(void *node, void **event)
{
    ENTER;
    return runtime_done(cuGraphEventWaitNodeGetEvent(node, event));
}

int cudaGraphEventRecordNodeSetEvent(void *node, void *event)
{
    ENTER;
    return runtime_done(cuGraphEventRecordNodeSetEvent(node, event));
}

int cudaGraphEventWaitNodeSetEvent(void *node, void *event)
{
    ENTER;
    return runtime_done(cuGraphEventWaitNodeSetEvent(node, event));
}

int cudaGraphExecEventRecordNodeSetEvent(void *ready, void *node, void *event)
{
    ENTER;
    return runtime_done(cuGraphExecEventRecordNodeSetEvent(ready, node, event));
}

int cudaGraphExecEventWaitNodeSetEvent(void *ready, void *node, void *event)
{
    ENTER;
    return runtime_done(cuGraphExecEventWaitNodeSetEvent(ready, node, event));
}

/* --- memory --- */

int cudaGraphAddMemAllocNode(void **node, void *graph, void *const *before, size_t count,
                             struct driver_allocation_node *parameters)
{
    ENTER;
    return runtime_done(cuGraphAddMemAllocNode(node, graph, before, count, parameters));
}

int cudaGraphMemAllocNodeGetParams(void *node, struct driver_allocation_node *parameters)
{
    ENTER;
    return runtime_done(cuGraphMemAllocNodeGetParams(node, parameters));
}

int cudaGraphAddMemFreeNode(void **node, void *graph, void *const *before, size_t count,
                            void *memory)
{
    ENTER;
    return runtime_done(cuGraphAddMemFreeNode(node, graph, before, count, (uintptr_t)memory));
}

int cudaGraphMemFreeNodeGetParams(void *node, void *memory)
{
    ENTER;
    return runtime_done(cuGraphMemFreeNodeGetParams(node, memory));
}

int cudaDeviceGraphMemTrim(int device)
{
    ENTER;
    return runtime_done(cuDeviceGraphMemTrim(device));
}

int cudaDeviceGetGraphMemAttribute(int device, int attribute, void *value)
{
    ENTER;
    return runtime_done(cuDeviceGetGraphMemAttribute(device, attribute, value));
}

int cudaDeviceSetGraphMemAttribute(int device, int attribute, void *value)
{
    ENTER;
    return runtime_done(cuDeviceSetGraphMemAttribute(device, attribute, value));
}

/* --- conditions --- */

int cudaGraphConditionalHandleCreate(uint64_t *handle, void *graph, unsigned initial,
                                     unsigned flags)
{
    ENTER;
    return runtime_done(cuGraphConditionalHandleCreate(handle, graph, NULL, initial, flags));
}

/* --- nodes that are left out --- */

int cudaGraphNodeSetEnabled(void *ready, void *node, unsigned enabled)
{
    ENTER;
    return runtime_done(cuGraphNodeSetEnabled(ready, node, enabled));
}

int cudaGraphNodeGetEnabled(void *ready, void *node, unsigned *enabled)
{
    ENTER;
    return runtime_done(cuGraphNodeGetEnabled(ready, node, enabled));
}

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
