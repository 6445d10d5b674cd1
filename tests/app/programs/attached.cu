// host-race: the host writes managed memory that is attached to a stream, while a kernel of the stream reads it.
#include "app_check.h"

__global__ void sum(const int *x, int *out)
{
    atomicAdd(out, x[threadIdx.x]);
}

int main(int argc, char **argv)
{
    int *x[2], *out;
    cudaStream_t s[2];
    CHECK(cudaMallocManaged(&out, 2 * 4096));
    out[0] = out[1024] = 0;
    for (int i = 0; i < 2; i++) {
        CHECK(cudaStreamCreate(&s[i]));
        CHECK(cudaMallocManaged(&x[i], 64 * sizeof(int), cudaMemAttachHost));
        CHECK(cudaStreamAttachMemAsync(s[i], x[i], 0, cudaMemAttachSingle));
        CHECK(cudaStreamSynchronize(s[i]));
        for (int j = 0; j < 64; j++)
            x[i][j] = j + i;
        sum<<<1, 64, 0, s[i]>>>(x[i], out + 1024 * i);
        CHECK(cudaGetLastError());
    }
    if (is_broken(argc, argv))
        x[0][3] = 0;
    CHECK(cudaDeviceSynchronize());
    EXPECT(out[0] == 2016 && out[1024] == 2080);
    cudaGraph_t graph; // the call cannot be captured
    CHECK(cudaStreamBeginCapture(s[0], cudaStreamCaptureModeRelaxed));
    EXPECT(cudaStreamAttachMemAsync(s[0], x[0], 0, cudaMemAttachSingle) == cudaErrorStreamCaptureUnsupported);
    EXPECT(cudaStreamEndCapture(s[0], &graph) == cudaErrorStreamCaptureInvalidated);
    cudaGetLastError();
    for (int i = 0; i < 2; i++) {
        CHECK(cudaFree(x[i]));
        CHECK(cudaStreamDestroy(s[i]));
    }
    CHECK(cudaFree(out));
    return 0;
}
