// stream-race (compute_90): an event that a launch records at its begin orders no work after the launch, also not after the wait of a kernel.
#include "app_check.h"
#include "app_launch.h"

enum { N = 64 };

__global__ void produce(int *x)
{
    x[threadIdx.x] = 5;
}

__global__ void consume(const int *x, int *y)
{
    cudaGridDependencySynchronize();
    y[threadIdx.x] = x[threadIdx.x];
}

int main(int argc, char **argv)
{
    int *x, *y, got = 0;
    cudaStream_t one, two;
    cudaEvent_t begun, done;
    CHECK(cudaStreamCreate(&one));
    CHECK(cudaStreamCreate(&two));
    CHECK(cudaEventCreateWithFlags(&begun, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
    CHECK(cudaMalloc(&x, N * sizeof(int)));
    CHECK(cudaMalloc(&y, N * sizeof(int)));
    CHECK(cudaMemsetAsync(x, 0, N * sizeof(int), one));
    CHECK(cudaMemsetAsync(y, 0, N * sizeof(int), one));
    cudaLaunchAttribute event;
    event.id = cudaLaunchAttributeLaunchCompletionEvent;
    event.val.launchCompletionEvent.event = begun;
    event.val.launchCompletionEvent.flags = 0;
    cudaLaunchConfig_t config = with_attributes(&event, 1, 1, N, one);
    CHECK(cudaLaunchKernelEx(&config, produce, x));
    CHECK(cudaEventRecord(done, one));
    CHECK(cudaStreamWaitEvent(two, is_broken(argc, argv) ? begun : done, 0));
    consume<<<1, N, 0, two>>>(x, y); // after the fill of y in both cases
    CHECK(cudaMemcpyAsync(&got, y + N - 1, sizeof got, cudaMemcpyDeviceToHost, two));
    CHECK(cudaStreamSynchronize(two));
    CHECK(cudaStreamSynchronize(one));
    printf("%d\n", got);
    return got == 5 ? 0 : 2;
}
