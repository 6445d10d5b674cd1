#include "cli/graph_calls.h"

#include <dlfcn.h>
#include <stdlib.h>

/* From the CUDA Driver API, "Stream Management", "Graph Management" and "Memory Management". In relaxed mode, a
 * library may make any other calls during the recording. */
enum { CAPTURE_RELAXED = 2 };

static bool find_calls(struct graph_calls *x, void *library)
{
    struct {
        const char *name;
        void **place;
    } calls[] = {{"cuDevicePrimaryCtxRetain", (void **)&x->retain},
                 {"cuDevicePrimaryCtxRelease_v2", (void **)&x->release},
                 {"cuCtxSetCurrent", (void **)&x->set_context},
                 {"cuStreamBeginCapture_v2", (void **)&x->begin},
                 {"cuStreamEndCapture", (void **)&x->end},
                 {"cuGraphInstantiateWithFlags", (void **)&x->instantiate},
                 {"cuGraphLaunch", (void **)&x->launch},
                 {"cuGraphDestroy", (void **)&x->free_graph},
                 {"cuGraphExecDestroy", (void **)&x->free_ready},
                 {"cuMemcpyDtoDAsync_v2", (void **)&x->copy}};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (!(*calls[i].place = dlsym(library, calls[i].name)))
            return false;
    return true;
}

bool graphs_open(struct graph_calls *x, int device)
{
    const char *named = getenv("TILEWRIGHT_CUDA_DRIVER");
    void *library = dlopen(named && *named ? named : "libcuda.so.1", RTLD_NOW);
    void *context;
    x->device = device;
    return library && find_calls(x, library) && x->retain(&context, device) == 0 &&
           x->set_context(context) == 0;
}

void graphs_close(struct graph_calls *x)
{
    x->release(x->device);
}

bool graph_begin(const struct graph_calls *x, void *stream)
{
    return x->begin(stream, CAPTURE_RELAXED) == 0;
}

void *graph_end(const struct graph_calls *x, void *stream)
{
    void *graph = NULL, *ready = NULL;
    if (x->end(stream, &graph) != 0 || !graph)
        return NULL;
    if (x->instantiate(&ready, graph, 0) != 0)
        ready = NULL;
    x->free_graph(graph);
    return ready;
}

bool graph_copy(const struct graph_calls *x, void *to, const void *from, size_t bytes, void *stream)
{
    return x->copy((uint64_t)(size_t)to, (uint64_t)(size_t)from, bytes, stream) == 0;
}
