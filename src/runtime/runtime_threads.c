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
