// host-race: the host reads pinned memory before it has waited for the graph that writes it.
#include "app_check.h"

__global__ void add(int *x, int by)
{
    x[threadIdx.x] += by;
}

int main(int argc, char **argv)
{
    enum { N = 64, BYTES = N * sizeof(int) };
    int *x, *host;
    cudaStream_t stream;
    cudaEvent_t done;
    CHECK(cudaMalloc(&x, BYTES));
    CHECK(cudaMallocHost(&host, BYTES));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaEventCreate(&done));

    // A child graph that adds 1 three times, between a fill and a copy.
    cudaGraph_t child, graph;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < 3; i++)
        add<<<1, N, 0, stream>>>(x, 1);
    CHECK(cudaStreamEndCapture(stream, &child));
    cudaGraphNode_t filled, added, empty, copied, recorded;
    cudaMemsetParams fill = {x, 0, 0, 4, N, 1};
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphAddMemsetNode(&filled, graph, NULL, 0, &fill));
    CHECK(cudaGraphAddChildGraphNode(&added, graph, &filled, 1, child));
    CHECK(cudaGraphAddEmptyNode(&empty, graph, &added, 1));
    CHECK(cudaGraphAddMemcpyNode1D(&copied, graph, &empty, 1, host, x, BYTES, cudaMemcpyDeviceToHost));
    CHECK(cudaGraphAddEventRecordNode(&recorded, graph, &copied, 1, done));
    cudaGraphExec_t ready;
    CHECK(cudaGraphInstantiate(&ready, graph, 0));
    CHECK(cudaGraphLaunch(ready, stream));
    if (!is_broken(argc, argv))
        CHECK(cudaEventSynchronize(done));
    int got = host[N - 1];
    CHECK(cudaDeviceSynchronize());

    // During a capture, calls that wait are refused, and the capture is lost.
    cudaGraph_t lost;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    cudaError_t waited = cudaStreamSynchronize(stream), ended = cudaStreamEndCapture(stream, &lost);
    cudaGetLastError();
    cudaGraphNodeType type;
    CHECK(cudaGraphNodeGetType(added, &type));
    CHECK(cudaGraphExecDestroy(ready));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaGraphDestroy(child));
    CHECK(cudaEventDestroy(done));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(x));
    CHECK(cudaFreeHost(host));
    printf("%d %s %s %d\n", got, cudaGetErrorName(waited), cudaGetErrorName(ended), type);
    return got == 3 && type == cudaGraphNodeTypeGraph && ended == cudaErrorStreamCaptureInvalidated ? 0 : 2;
}
