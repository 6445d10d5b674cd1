// stream-race (compute_90): a stream waits for the event that a launch records at its trigger, and its kernel reads without waiting for the end.
#include "app_check.h"
#include "app_launch.h"

enum { N = 64 };

__global__ void produce(int *x)
{
    cudaTriggerProgrammaticLaunchCompletion();
    x[threadIdx.x] = 5;
}

__global__ void consume(const int *x, int *y, bool waits)
{
    if (waits)
        cudaGridDependencySynchronize();
    y[threadIdx.x] = x[threadIdx.x];
}

int main(int argc, char **argv)
{
    int *x, *y, got = 0;
    cudaStream_t one, two;
    cudaEvent_t triggered, begun, done;
    CHECK(cudaStreamCreate(&one));
    CHECK(cudaStreamCreate(&two));
    CHECK(cudaEventCreateWithFlags(&triggered, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&begun, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
    CHECK(cudaMalloc(&x, N * sizeof(int)));
    CHECK(cudaMalloc(&y, N * sizeof(int)));
    cudaLaunchAttribute events[2];
    events[0].id = cudaLaunchAttributeProgrammaticEvent;
    events[0].val.programmaticEvent.event = triggered;
    events[0].val.programmaticEvent.flags = 0;
    events[0].val.programmaticEvent.triggerAtBlockStart = 0;
    events[1].id = cudaLaunchAttributeLaunchCompletionEvent;
    events[1].val.launchCompletionEvent.event = begun;
    events[1].val.launchCompletionEvent.flags = 0;
    cudaLaunchConfig_t config = with_attributes(events, 2, 1, N, one);
    CHECK(cudaLaunchKernelEx(&config, produce, x));
    CHECK(cudaStreamWaitEvent(two, begun, 0));
    CHECK(cudaStreamWaitEvent(two, triggered, 0));
    consume<<<1, N, 0, two>>>(x, y, !is_broken(argc, argv));
    CHECK(cudaEventRecord(done, one));
    CHECK(cudaStreamWaitEvent(two, done, 0));
    CHECK(cudaMemcpyAsync(&got, y + N - 1, sizeof got, cudaMemcpyDeviceToHost, two));
    CHECK(cudaStreamSynchronize(two));
    printf("%d\n", got);
    return got == 5 ? 0 : 2;
}
