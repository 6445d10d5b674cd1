/* A context on the driver without a GPU (tests/cuda/fake_cuda.h), and the calls of that driver
 * that tests use. */
#ifndef CUDA_HELPER_H
#define CUDA_HELPER_H

#include "api_helper.h"

/* The driver's own functions, as another part of the program calls them. */
#define DRIVER_CALLS(X)                                                                            \
    X(int, cuInit, (unsigned flags))                                                               \
    X(int, cuDevicePrimaryCtxRetain, (void **context, int device))                                 \
    X(int, cuDevicePrimaryCtxRelease_v2, (int device))                                             \
    X(int, cuCtxGetCurrent, (void **context))                                                      \
    X(int, cuCtxSetCurrent, (void *context))                                                       \
    X(int, cuStreamBeginCapture_v2, (void *stream, int mode))                                      \
    X(int, cuThreadExchangeStreamCaptureMode, (int *mode))                                         \
    X(int, cuStreamEndCapture, (void *stream, void **graph))                                       \
    X(int, cuGraphInstantiateWithFlags, (void **out, void *graph, unsigned long long flags))       \
    X(int, cuGraphLaunch, (void *graph, void *stream))                                             \
    X(int, cuGraphDestroy, (void *graph))                                                          \
    X(int, cuGraphExecDestroy, (void *graph))                                                      \
    X(void, fake_cuda_fail, (const char *name, long at, int code))                                 \
    X(long, fake_cuda_calls, (const char *name))                                                   \
    X(const char *, fake_cuda_failed, (void))                                                      \
    X(long, fake_cuda_live, (int kind))

struct driver {
#define DRIVER_CALL(result, name, parameters) result(*name) parameters;
    DRIVER_CALLS(DRIVER_CALL)
#undef DRIVER_CALL
};
extern struct driver driver;

/* For cmocka, around every test: api_setup and api_teardown, which also check that no object of
 * the driver is left. */
int cuda_setup(void **state);
int cuda_teardown(void **state);

/* A sum with workspace that must be zero: four blocks add to it in turn. */
extern const char cuda_total[];
extern const char cuda_clean_total[]; /* as above, but launches leave its workspace 0 */

/* Makes the fixture's launch one of its first kernel for the GPU. */
void aim_at_gpu(struct fixture *f);
/* Copies that memory to the device; returns the copy as an array. */
tw_array on_device(struct fixture *f, const void *data, tw_dtype t, int64_t rows, int64_t columns);

#endif
