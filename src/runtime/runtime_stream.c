/* Streams and events. */
#include "runtime/runtime.h"

int cudaStreamAddCallback(void *stream, void (*function)(void *, int, void *), void *user,
                          unsigned flags)
{
    ENTER;
    return runtime_done(cuStreamAddCallback(stream, function, user, flags));
}

int cudaLaunchHostFunc(void *stream, void (*function)(void *), void *user)
{
    ENTER;
    return runtime_done(cuLaunchHostFunc(stream, function, user));
}

int cudaStreamCreateWithFlags(void **stream, unsigned flags)
{
    ENTER;
    return runtime_done(cuStreamCreate(stream, flags));
}

int cudaStreamCreateWithPriority(void **stream, unsigned flags, int priority)
{
    ENTER;
    return runtime_done(cuStreamCreateWithPriority(stream, flags, priority));
}

int cudaStreamCreate(void **stream)
{
    ENTER;
    return runtime_done(cuStreamCreate(stream, 0));
}

int cudaStreamDestroy(void *stream)
{
    ENTER;
    return runtime_done(cuStreamDestroy_v2(stream));
}

int cudaStreamSynchronize(void *stream)
{
    ENTER;
    return runtime_done(cuStreamSynchronize(stream));
}

int cudaStreamQuery(void *stream)
{
    ENTER;
    return runtime_done(cuStreamQuery(stream));
}

int cudaStreamWaitEvent(void *stream, void *event, unsigned flags)
{
    ENTER;
    return runtime_done(cuStreamWaitEvent(stream, event, flags));
}

int cudaStreamGetFlags(void *stream, unsigned *flags)
{
    ENTER;
    return runtime_done(cuStreamGetFlags(stream, flags));
}

int cudaStreamGetPriority(void *stream, int *priority)
{
    ENTER;
    return runtime_done(cuStreamGetPriority(stream, priority));
}

int cudaStreamGetId(void *stream, uint64_t *id)
{
    ENTER;
    return runtime_done(cuStreamGetId(stream, id));
}

int cudaStreamGetDevice(void *stream, int *device)
{
    ENTER;
    return runtime_done(cuStreamGetDevice(stream, device));
}

int cudaStreamSetAttribute(void *stream, int id, const union driver_launch_value *value)
{
    ENTER;
    return runtime_done(cuStreamSetAttribute(stream, id, value));
}

int cudaStreamGetAttribute(void *stream, int id, union driver_launch_value *value)
{
    ENTER;
    return runtime_done(cuStreamGetAttribute(stream, id, value));
}

int cudaStreamCopyAttributes(void *to, void *from)
{
    ENTER;
    return runtime_done(cuStreamCopyAttributes(to, from));
}

int cudaStreamAttachMemAsync(void *stream, void *memory, size_t bytes, unsigned flags)
{
    ENTER;
    return runtime_done(cuStreamAttachMemAsync(stream, (uintptr_t)memory, bytes, flags));
}

int cudaStreamIsCapturing(void *stream, int *status)
{
    ENTER;
    return runtime_done(cuStreamIsCapturing(stream, status));
}

int cudaEventCreateWithFlags(void **event, unsigned flags)
{
    ENTER;
    return runtime_done(cuEventCreate(event, flags));
}

int cudaEventCreate(void **event)
{
    ENTER;
    return runtime_done(cuEventCreate(event, 0));
}

int cudaIpcGetEventHandle(struct driver_ipc_handle *handle, void *event)
{
    ENTER;
    return runtime_done(cuIpcGetEventHandle(handle, event));
}

int cudaIpcOpenEventHandle(void **event, struct driver_ipc_handle handle)
{
    ENTER;
    return runtime_done(cuIpcOpenEventHandle(event, handle));
}

int cudaEventDestroy(void *event)
{
    ENTER;
    return runtime_done(cuEventDestroy_v2(event));
}

int cudaEventRecord(void *event, void *stream)
{
    ENTER;
    return runtime_done(cuEventRecord(event, stream));
}

int cudaEventRecordWithFlags(void *event, void *stream, unsigned flags)
{
    ENTER;
    return runtime_done(cuEventRecordWithFlags(event, stream, flags));
}

int cudaEventSynchronize(void *event)
{
    ENTER;
    return runtime_done(cuEventSynchronize(event));
}

int cudaEventQuery(void *event)
{
    ENTER;
    return runtime_done(cuEventQuery(event));
}

int cudaEventElapsedTime(float *ms, void *from, void *to)
{
    ENTER;
    return runtime_done(cuEventElapsedTime(ms, from, to));
}
