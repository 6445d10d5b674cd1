/* On a GPU: memory, streams, events, launches that do not wait, arrays of other libraries. */
#ifndef TILEWRIGHT_GPU_H
#define TILEWRIGHT_GPU_H

#include "tilewright.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A context has one GPU, tw_config.device, opened by the first call that needs it: the driver
 * library is looked for at run time, first where TILEWRIGHT_CUDA_DRIVER (a file) says. It works in
 * the GPU's primary context, the one of the CUDA runtime and of the frameworks on it, so that their
 * memory and streams serve here and ours there. All calls: TW_UNSUPPORTED where there is no GPU;
 * TW_FAULT where the driver refuses or a kernel failed, with its words and what to do as a message.
 * After a kernel's failure the GPU is lost to this process, as the driver has it: each later call
 * says so at once, and freeing still frees.
 *
 * A stream is a CUstream, or a cudaStream_t, which is the same; NULL: the default stream. What is
 * in one stream happens in order. Streams of tw_stream_new wait for the default stream, and it for
 * them. */

/* Device memory, aligned to 256 bytes, not initialised. TW_NO_MEMORY where the GPU has no more. */
TW_API tw_status tw_device_allocate(tw_context *ctx, size_t bytes, void **address);
/* TW_BAD_ARGUMENT for what tw_device_allocate did not give; NULL is fine. Waits for what uses it,
 * so a capture in global mode, of whatever thread, refuses it and is lost. */
TW_API tw_status tw_device_free(tw_context *ctx, void *address);
/* Between host and device, in the stream's order; done on return. Not in a capture. */
TW_API tw_status tw_device_copy_in(tw_context *ctx, void *to, const void *from, size_t bytes,
                                   void *stream);
TW_API tw_status tw_device_copy_out(tw_context *ctx, void *to, const void *from, size_t bytes,
                                    void *stream);
/* In the stream's order; does not wait. */
TW_API tw_status tw_device_fill(tw_context *ctx, void *to, int byte, size_t bytes, void *stream);

TW_API tw_status tw_stream_new(tw_context *ctx, void **stream);
TW_API tw_status tw_stream_free(tw_context *ctx, void *stream); /* what is in it is still done */
/* Until all of it is done. TW_FAULT: one of its kernels failed. */
TW_API tw_status tw_stream_wait(tw_context *ctx, void *stream);

/* An event is a CUevent: a place in a stream. */
TW_API tw_status tw_event_new(tw_context *ctx, void **event);
TW_API tw_status tw_event_free(tw_context *ctx, void *event);
TW_API tw_status tw_event_record(tw_context *ctx, void *event, void *stream);
/* Waits for `to`; the GPU's time from one to the other. */
TW_API tw_status tw_event_elapsed(tw_context *ctx, void *from, void *to, double *milliseconds);

/* All that a launch needs before it can be started in that stream: compiles, loads the program,
 * provides the workspace that it shares with the other launches of that stream. Captures of other
 * streams are not disturbed. TW_BAD_ARGUMENT: the kernel is not a GPU's, or an array is missing or
 * on the host. */
TW_API tw_status tw_launch_ready(tw_launch *l, void *stream);
/* Starts it in the stream and does not wait: the next call on the stream that waits reports a fault
 * of the kernel. After tw_launch_ready (or a start before) with this stream it does nothing but
 * enqueue, so it may be captured into a graph; the graph uses the workspace of the stream that was
 * captured, until that is freed: what uses that workspace otherwise must not run at the same time.
 * Else it makes the launch ready first, which a capture refuses. */
TW_API tw_status tw_launch_start(tw_launch *l, void *stream);

/* How it is started. All zero: as tw_launch_start does. */
typedef struct tw_launch_attributes {
    size_t size; /* tw_launch_attributes_init sets it */
    /* Blocks that run close together, along each axis; 0 counts as 1. TW_UNSUPPORTED where the GPU
     * (below 9.0) or the driver (before CUDA 11.8) has no clusters, or the grid is no multiple. */
    int cluster[3];
    int priority; /* as of streams: less goes first, 0 is the default */
    /* Need not wait for what is in the stream before it ("programmatic stream serialization"):
     * right only if it reads nothing that this writes, and nothing behind it relies on both. */
    bool overlap;
} tw_launch_attributes;
TW_SIZED(tw_launch_attributes);
/* Priority and overlap are permissions: where the driver or the GPU does not know them, they go
 * without saying. attributes NULL: none. */
TW_API tw_status tw_launch_start_with(tw_launch *l, void *stream,
                                      const tw_launch_attributes *attributes);

typedef struct tw_occupancy {
    size_t size;                /* tw_occupancy_init sets it */
    int threads;                /* of a block */
    int registers, local_bytes; /* of a thread; local memory is where registers spill */
    int64_t shared_bytes;       /* of a block */
    int blocks;                 /* that a multiprocessor runs at the same time */
} tw_occupancy;
TW_SIZED(tw_occupancy);
/* What the launch's kernel takes of the GPU, as it is loaded. Arrays may be missing. */
TW_API tw_status tw_launch_occupancy(tw_launch *l, tw_occupancy *out);

/* Compiles and assembles it, and leaves it in the cache (tw_config.cache) without loading it:
 * whoever runs it later, also in another process, need not. Arrays may be missing. */
TW_API tw_status tw_launch_assemble(tw_launch *l);

/* The cache of the context. */
typedef struct tw_cache {
    size_t size;        /* tw_cache_init sets it */
    const char *folder; /* NULL: kernels are not kept */
    int64_t limit_bytes, bytes;
    int64_t kernels;
    const char *trouble; /* why none can be kept; NULL: they can */
} tw_cache;
TW_SIZED(tw_cache);
TW_API tw_status tw_context_cache(tw_context *ctx, tw_cache *out); /* texts as of a message */

/* Arrays of other libraries, as DLPack describes them (dlpack.h). `tensor` is a DLTensor or a
 * DLManagedTensor, which begins with one; of a DLManagedTensorVersioned its dl_tensor. Its array is
 * taken in place, as tw_launch_array does: it must stay, and work on it in other streams must be
 * waited for. It is on the host (pinned, too), on the context's GPU or in managed memory; row-major
 * without gaps. TW_UNSUPPORTED: an element type or device that there is none of here. */
TW_API tw_status tw_launch_dlpack(tw_launch *l, const char *param, const void *tensor);
/* The other way: a DLManagedTensor of an array that begins where memory of tw_device_allocate does.
 * That memory is the tensor's from then on, and what is in flight on it must have been waited for:
 * whoever takes the tensor calls its deleter once, from any thread, which frees it, also after the
 * context is gone. (`resize` of tw_config must serve that.) TW_BAD_ARGUMENT: it is other memory. */
TW_API tw_status tw_device_dlpack(tw_context *ctx, const tw_array *array, void **managed);

#ifdef __cplusplus
}
#endif
#endif
