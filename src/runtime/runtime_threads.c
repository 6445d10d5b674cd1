/* The default stream of each thread: entry points of programs that nvcc compiled with
 * --default-stream per-thread. */
#include "runtime/runtime.h"

static void *const of_thread = (void *)2; /* cudaStreamPerThread */

#define OWN(stream) ((stream) ? (stream) : of_thread)
#define IN_STREAM(name, parameters, arguments)                                                     \
    DRIVER_EXPORT int name##_ptsz parameters;                                                      \
    int name##_ptsz parameters                                                                     \
    {                                                                                              \
        return name arguments;                                                                     \
    }
#define WAITING(name, parameters, asynchronous, arguments)                                         \
    DRIVER_EXPORT int name##_ptds parameters;                                                      \
    int name##_ptds parameters                                                                     \
    {                                                                                              \
        int result = asynchronous arguments;                                                       \
        return result == DRIVER_SUCCESS ? cudaStreamSynchronize(of_thread) : result;               \
    }
#include "runtime/runtime_threads.def"
#undef WAITING
#undef IN_STREAM

DRIVER_EXPORT int cudaLaunchKernelExC_ptsz(const struct runtime_launch_config *config,
                                           const void *host, void **arguments);
int cudaLaunchKernelExC_ptsz(const struct runtime_launch_config *config, const void *host,
                             void **arguments)
{
    if (!config)
        return cudaLaunchKernelExC(config, host, arguments);
    struct runtime_launch_config own = *config;
    own.stream = OWN(config->stream);
    return cudaLaunchKernelExC(&own, host, arguments);
}

int cudaGraphInstantiateWithParams_ptsz(void **ready, void *graph, struct driver_instantiate *p)
{
    return cudaGraphInstantiateWithParams(ready, graph, p);
}

/* Version 13 has data of edges in the calls that version 12 names _v2 and _v3. */

#if RUNTIME_VERSION < 13
int cudaStreamGetCaptureInfo_v2_ptsz(void *stream, int *status, uint64_t *number, void **graph,
                                     void *const **before, size_t *count)
{
    return cudaStreamGetCaptureInfo_v2(OWN(stream), status, number, graph, before, count);
}

int cudaStreamUpdateCaptureDependencies_ptsz(void *stream, void *const *before, size_t count,
                                             unsigned flags)
{
    return cudaStreamUpdateCaptureDependencies(OWN(stream), before, count, flags);
}
#define CAPTURE_INFO cudaStreamGetCaptureInfo_v3
#define CAPTURE_INFO_PTSZ cudaStreamGetCaptureInfo_v3_ptsz
#define UPDATE cudaStreamUpdateCaptureDependencies_v2
#define UPDATE_PTSZ cudaStreamUpdateCaptureDependencies_v2_ptsz
#else
#define CAPTURE_INFO cudaStreamGetCaptureInfo
#define CAPTURE_INFO_PTSZ cudaStreamGetCaptureInfo_ptsz
#define UPDATE cudaStreamUpdateCaptureDependencies
#define UPDATE_PTSZ cudaStreamUpdateCaptureDependencies_ptsz
#endif

int CAPTURE_INFO_PTSZ(void *stream, int *status, uint64_t *number, void **graph,
                      void *const **before, const void **data, size_t *count)
{
    return CAPTURE_INFO(OWN(stream), status, number, graph, before, data, count);
}

int UPDATE_PTSZ(void *stream, void *const *before, const void *data, size_t count, unsigned flags)
{
    return UPDATE(OWN(stream), before, data, count, flags);
}
