// stream-race: a captured stream does not wait for the event of the stream that fills its array.
#include "app_check.h"

__global__ void fill(int *x, int value)
{
    x[threadIdx.x] = value;
}

__global__ void add(const int *x, const int *y, int *sum)
{
    sum[threadIdx.x] = x[threadIdx.x] + y[threadIdx.x];
}

int main(int argc, char **argv)
{
    enum { N = 128, BYTES = N * sizeof(int) };
    int *x, *y, *sum, got[N];
    cudaStream_t one, two;
    cudaEvent_t forked, filled, done;
    CHECK(cudaMalloc(&x, BYTES));
    CHECK(cudaMalloc(&y, BYTES));
    CHECK(cudaMalloc(&sum, BYTES));
    CHECK(cudaStreamCreate(&one));
    CHECK(cudaStreamCreate(&two));
    CHECK(cudaEventCreateWithFlags(&forked, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&filled, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));

    cudaGraph_t graph;
    cudaGraphExec_t ready;
    cudaStreamCaptureStatus status;
    CHECK(cudaStreamBeginCapture(one, cudaStreamCaptureModeGlobal));
    CHECK(cudaEventRecord(forked, one));
    CHECK(cudaStreamWaitEvent(two, forked, 0));
    fill<<<1, N, 0, one>>>(x, 1);
    fill<<<1, N, 0, two>>>(y, 2);
    CHECK(cudaEventRecord(filled, two));
    if (!is_broken(argc, argv))
        CHECK(cudaStreamWaitEvent(one, filled, 0));
    add<<<1, N, 0, one>>>(x, y, sum);
    CHECK(cudaStreamWaitEvent(one, filled, 0));
    CHECK(cudaMemcpyAsync(got, sum, BYTES, cudaMemcpyDeviceToHost, one));
    CHECK(cudaStreamIsCapturing(two, &status));
    CHECK(cudaStreamEndCapture(one, &graph));
    CHECK(cudaGetLastError());
    CHECK(cudaGraphInstantiate(&ready, graph, 0));

    CHECK(cudaGraphLaunch(ready, one));
    if (!is_broken(argc, argv))
        CHECK(cudaStreamSynchronize(one));
    fill<<<1, N, 0, two>>>(y, 3); // the graph in the other stream may still use the array
    CHECK(cudaStreamSynchronize(two));
    CHECK(cudaGraphLaunch(ready, one));
    CHECK(cudaStreamSynchronize(one));
    CHECK(cudaGraphExecDestroy(ready));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaDeviceSynchronize());
    printf("%d %d\n", status == cudaStreamCaptureStatusActive, got[N - 1]);
    return got[N - 1] == 3 ? 0 : 2;
}
