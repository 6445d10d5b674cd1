// unfreed, invalid-free: a graph is launched again before its allocation is freed; memory that a node frees is freed by a call, too.
#include "app_check.h"

enum { N = 64, BYTES = N * sizeof(int) };

__global__ void fill(int *x, int value)
{
    x[threadIdx.x] = value;
}

int main(int argc, char **argv)
{
    bool broken = is_broken(argc, argv);
    int *kept, *inside, got[2] = {};
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK(cudaMallocAsync(&kept, BYTES, stream));
    CHECK(cudaMallocAsync(&inside, BYTES, stream));
    fill<<<1, N, 0, stream>>>(inside, 5);
    CHECK(cudaMemcpyAsync(kept, inside, BYTES, cudaMemcpyDeviceToDevice, stream));
    CHECK(cudaFreeAsync(inside, stream));
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&ready, graph, 0));
    cudaError_t launched = cudaSuccess, freed = cudaErrorInvalidValue;
    for (int i = 0; i < 2; i++) {
        launched = cudaGraphLaunch(ready, stream);
        CHECK(cudaMemcpyAsync(&got[i], kept + N - 1, sizeof(int), cudaMemcpyDeviceToHost, stream));
        CHECK(cudaStreamSynchronize(stream));
        if (!broken || i == 1)
            CHECK(cudaFreeAsync(kept, stream));
    }
    cudaGraphNode_t node;
    if (broken)
        freed = cudaFree(inside);
    if (broken && cudaGraphAddMemFreeNode(&node, graph, NULL, 0, inside) != cudaErrorInvalidValue)
        return 2;
    printf("%d %d\n", got[0], got[1]);
    CHECK(cudaGraphExecDestroy(ready));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaStreamDestroy(stream));
    cudaGetLastError();
    return got[0] == 5 && got[1] == 5 && launched == (broken ? cudaErrorInvalidValue : cudaSuccess) && freed == cudaErrorInvalidValue ? 0 : 2;
}
