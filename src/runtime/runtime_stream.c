/* Streams and events. */
#include "runtime/runtime.h"

ENTRY(cudaStreamAddCallback,
      (void *stream, void (*function)(void *, int, void *), void *user, unsigned flags),
      cuStreamAddCallback(stream, function, user, flags))
ENTRY(cudaLaunchHostFunc, (void *stream, void (*function)(void *), void *user),
      cuLaunchHostFunc(stream, function, user))
ENTRY(cudaStreamCreateWithFlags, (void **stream, unsigned flags), cuStreamCreate(stream, flags))
ENTRY(cudaStreamCreateWithPriority, (void **stream, unsigned flags, int priority),
      cuStreamCreateWithPriority(stream, flags, priority))
ENTRY(cudaStreamCreate, (void **stream), cuStreamCreate(stream, 0))
ENTRY(cudaStreamDestroy, (void *stream), cuStreamDestroy_v2(stream))
ENTRY(cudaStreamSynchronize, (void *stream), cuStreamSynchronize(stream))
ENTRY(cudaStreamQuery, (void *stream), cuStreamQuery(stream))
ENTRY(cudaStreamWaitEvent, (void *stream, void *event, unsigned flags),
      cuStreamWaitEvent(stream, event, flags))
ENTRY(cudaStreamGetFlags, (void *stream, unsigned *flags), cuStreamGetFlags(stream, flags))
ENTRY(cudaStreamGetPriority, (void *stream, int *priority), cuStreamGetPriority(stream, priority))
ENTRY(cudaStreamGetId, (void *stream, uint64_t *id), cuStreamGetId(stream, id))
ENTRY(cudaStreamGetDevice, (void *stream, int *device), cuStreamGetDevice(stream, device))
ENTRY(cudaStreamSetAttribute, (void *stream, int id, const union driver_launch_value *value),
      cuStreamSetAttribute(stream, id, value))
ENTRY(cudaStreamGetAttribute, (void *stream, int id, union driver_launch_value *value),
      cuStreamGetAttribute(stream, id, value))
ENTRY(cudaStreamCopyAttributes, (void *to, void *from), cuStreamCopyAttributes(to, from))
ENTRY(cudaStreamAttachMemAsync, (void *stream, void *memory, size_t bytes, unsigned flags),
      cuStreamAttachMemAsync(stream, (uintptr_t)memory, bytes, flags))
ENTRY(cudaStreamIsCapturing, (void *stream, int *status), cuStreamIsCapturing(stream, status))
ENTRY(cudaEventCreateWithFlags, (void **event, unsigned flags), cuEventCreate(event, flags))
ENTRY(cudaEventCreate, (void **event), cuEventCreate(event, 0))
ENTRY(cudaIpcGetEventHandle, (struct driver_ipc_handle * handle, void *event),
      cuIpcGetEventHandle(handle, event))
ENTRY(cudaIpcOpenEventHandle, (void **event, struct driver_ipc_handle handle),
      cuIpcOpenEventHandle(event, handle))
ENTRY(cudaEventDestroy, (void *event), cuEventDestroy_v2(event))
ENTRY(cudaEventRecord, (void *event, void *stream), cuEventRecord(event, stream))
ENTRY(cudaEventRecordWithFlags, (void *event, void *stream, unsigned flags),
      cuEventRecordWithFlags(event, stream, flags))
ENTRY(cudaEventSynchronize, (void *event), cuEventSynchronize(event))
ENTRY(cudaEventQuery, (void *event), cuEventQuery(event))
ENTRY(cudaEventElapsedTime, (float *ms, void *from, void *to), cuEventElapsedTime(ms, from, to))
