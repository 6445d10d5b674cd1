/* Memory, streams, events and launches on a GPU; arrays of other libraries. Stable
 * (docs/versions.md).
 *
 * A context has one GPU, tw_config.device. The first call that needs it opens it: it loads the
 * driver's library at run time, from the file $TILEWRIGHT_CUDA_DRIVER if that is set. The context
 * works in the GPU's primary context, which the CUDA runtime and frameworks use too, so memory and
 * streams of each work in the other.
 *
 * All calls return TW_UNSUPPORTED if there is no GPU, and TW_FAULT with the driver's words if the
 * driver refuses or a kernel failed. After a kernel's failure this process has lost the GPU: every
 * later call returns TW_FAULT at once, and freeing still frees.
 *
 * A stream is a CUstream, which is also a cudaStream_t; NULL is the default stream. Work in one
 * stream runs in order. Streams of tw_stream_new wait for the default stream, and the default
 * stream for them. An event is a CUevent: a place in a stream.
 */
#ifndef TILEWRIGHT_GPU_H
#define TILEWRIGHT_GPU_H

#include "tilewright.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Allocates device memory, aligned to 256 bytes and not initialised. Returns TW_OK, or
 * TW_NO_MEMORY if the GPU has no more. Free it with tw_device_free. */
TW_API tw_status tw_device_allocate(tw_context *ctx, size_t bytes, void **address);

/* Frees device memory, after waiting for the work that uses it. A capture in global mode, of any
 * thread, refuses that and is lost. NULL is allowed. Returns TW_OK, or TW_BAD_ARGUMENT for an
 * address that tw_device_allocate did not give. */
TW_API tw_status tw_device_free(tw_context *ctx, void *address);

/* Copies `bytes` bytes from the host to the device, in the stream's order. The copy has ended on
 * return. A capture refuses it. */
TW_API tw_status tw_device_copy_in(tw_context *ctx, void *to, const void *from, size_t bytes,
                                   void *stream);

/* Copies `bytes` bytes from the device to the host, in the stream's order. The copy has ended on
 * return. A capture refuses it. */
TW_API tw_status tw_device_copy_out(tw_context *ctx, void *to, const void *from, size_t bytes,
                                    void *stream);

/* Sets `bytes` bytes to `byte`, in the stream's order, and does not wait. */
TW_API tw_status tw_device_fill(tw_context *ctx, void *to, int byte, size_t bytes, void *stream);

/* Makes a stream. Free it with tw_stream_free. */
TW_API tw_status tw_stream_new(tw_context *ctx, void **stream);

/* Frees a stream. Its work is still done. */
TW_API tw_status tw_stream_free(tw_context *ctx, void *stream);

/* Waits until all work in the stream is done. Returns TW_FAULT if one of its kernels failed. */
TW_API tw_status tw_stream_wait(tw_context *ctx, void *stream);

/* Makes an event. Free it with tw_event_free. */
TW_API tw_status tw_event_new(tw_context *ctx, void **event);

/* Frees an event. */
TW_API tw_status tw_event_free(tw_context *ctx, void *event);

/* Puts the event after the work that is in the stream now. */
TW_API tw_status tw_event_record(tw_context *ctx, void *event, void *stream);

/* Waits for `to`, and finds the GPU's time between two events. */
TW_API tw_status tw_event_elapsed(tw_context *ctx, void *from, void *to, double *milliseconds);

/* Prepares all that a launch needs before it can be started in that stream: it compiles and loads
 * the program, and provides the workspace, which the launches of one stream share. It does not
 * disturb captures of other streams. Returns TW_OK; TW_BAD_ARGUMENT if the kernel is not a GPU's,
 * or an array is missing or on the host; the statuses of tw_launch_prepare. */
TW_API tw_status tw_launch_ready(tw_launch *l, void *stream);

/* Starts the launch in the stream and does not wait; the next call that waits on the stream
 * reports a fault of the kernel. After tw_launch_ready or an earlier start in this stream it only
 * enqueues, so it can be captured into a graph. The graph uses the workspace of the captured
 * stream until that stream is freed, so other launches in that stream must not run at the same
 * time as the graph. A launch that is not ready becomes ready first, which a capture refuses.
 * Returns the statuses of tw_launch_ready. */
TW_API tw_status tw_launch_start(tw_launch *l, void *stream);

/* The way in which a launch is started. 0 is what tw_launch_start does. */
typedef struct tw_launch_attributes {
    size_t size; /* tw_launch_attributes_init sets it */
    /* Blocks of a cluster along each axis; 0 counts as 1. TW_UNSUPPORTED if the GPU (below 9.0) or the
     * driver (before CUDA 11.8) has no clusters, or the grid is not a multiple of the cluster. */
    int cluster[3];
    int priority; /* as a stream's: lower goes first, 0 is the default */
    /* Lets the launch begin before earlier work in the stream has ended ("programmatic stream
     * serialization"). It must not read what that work writes, and later work must not need both.
     * Compiled for 9.0 and later, kernels always begin early and wait for that work themselves. */
    bool overlap;
} tw_launch_attributes;
TW_SIZED(tw_launch_attributes);

/* Starts the launch as tw_launch_start does, with attributes; NULL: none. A driver or GPU that
 * has no priorities or overlap ignores them. Returns the statuses of tw_launch_start,
 * TW_BAD_ARGUMENT or TW_UNSUPPORTED for the cluster. */
TW_API tw_status tw_launch_start_with(tw_launch *l, void *stream,
                                      const tw_launch_attributes *attributes);

/* The resources of a GPU that a kernel takes. */
typedef struct tw_occupancy {
    size_t size;                /* tw_occupancy_init sets it */
    int threads;                /* of a block */
    int registers, local_bytes; /* of a thread; local memory holds spilled registers */
    int64_t shared_bytes;       /* of a block */
    int blocks;                 /* that a multiprocessor runs at the same time */
} tw_occupancy;
TW_SIZED(tw_occupancy);

/* Loads the launch's kernel and fills `out`. Arrays may be missing. Returns the statuses of
 * tw_launch_prepare. */
TW_API tw_status tw_launch_occupancy(tw_launch *l, tw_occupancy *out);

/* Compiles and assembles the launch's kernel into the cache (tw_config.cache) and does not load
 * it, so later runs, also of other processes, find it there. Arrays may be missing. Returns the
 * statuses of tw_launch_prepare. */
TW_API tw_status tw_launch_assemble(tw_launch *l);

/* The state of a context's cache of assembled kernels. Its texts are valid until the next call on
 * the context. */
typedef struct tw_cache {
    size_t size;        /* tw_cache_init sets it */
    const char *folder; /* NULL: the context keeps no kernels */
    int64_t limit_bytes, bytes;
    int64_t kernels;
    const char *trouble; /* the reason why it can keep none; NULL: it can */
} tw_cache;
TW_SIZED(tw_cache);

/* Fills `out` with the state of the context's cache. It needs no GPU. Returns TW_OK or
 * TW_BAD_ARGUMENT. */
TW_API tw_status tw_context_cache(tw_context *ctx, tw_cache *out);

/* Gives an array of another library to a pointer parameter, as tw_launch_array does. tensor: a
 * DLTensor, a DLManagedTensor, or the dl_tensor of a DLManagedTensorVersioned (dlpack.h). The
 * memory is used in place: it must stay, and work on it in other streams must have ended. It is
 * on the host (pinned, too), on the context's GPU, or managed memory, row-major without gaps.
 * Returns the statuses of tw_launch_array, and TW_UNSUPPORTED for a type or device that this
 * library lacks. */
TW_API tw_status tw_launch_dlpack(tw_launch *l, const char *param, const void *tensor);

/* Makes a DLManagedTensor from an array that begins where memory of tw_device_allocate begins.
 * The tensor owns the memory from then on, and work on it must have ended. Its consumer calls its
 * deleter once, from any thread, also after the context has been freed; tw_config.resize must
 * allow that. Returns TW_OK, or TW_BAD_ARGUMENT for other memory. */
TW_API tw_status tw_device_dlpack(tw_context *ctx, const tw_array *array, void **managed);

#ifdef __cplusplus
}
#endif
#endif
