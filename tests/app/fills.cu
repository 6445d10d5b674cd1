// Captured fills of boxes: prints how many nodes each one makes, and checks the bytes after its launch.
#include "programs/app_check.h"

enum { PITCH = 512, ROWS = 5, PLANES = 4, BYTES = PITCH * ROWS * PLANES };

static unsigned char got[BYTES];

// Captures the fill of a box from the first byte on, launches it, and compares all bytes.
static void fill(size_t width, size_t height, size_t depth)
{
    unsigned char *x;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    size_t nodes;
    CHECK(cudaMalloc(&x, BYTES));
    CHECK(cudaMemset(x, 1, BYTES));
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    CHECK(cudaMemset3DAsync(make_cudaPitchedPtr(x, PITCH, PITCH, ROWS), 7,
                            make_cudaExtent(width, height, depth), stream));
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphGetNodes(graph, NULL, &nodes));
    CHECK(cudaGraphInstantiate(&ready, graph, 0));
    CHECK(cudaGraphLaunch(ready, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpy(got, x, BYTES, cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < BYTES; i++) {
        bool inside = i % PITCH < width && i / PITCH % ROWS < height && i / PITCH / ROWS < depth;
        EXPECT(got[i] == (inside ? 7 : 1));
    }
    printf("%zu ", nodes);
    CHECK(cudaGraphExecDestroy(ready));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(x));
}

int main()
{
    fill(100, 3, 1);
    fill(100, ROWS, 3);
    fill(100, 1, 3);
    fill(PITCH, 2, 3);
    fill(100, 3, 4); // gaps between rows and between planes
    printf("\n");
    return 0;
}
