// stream-race: four streams share one buffer of the device instead of having one each.
#include "app_check.h"

__global__ void increment(int *out, const int *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = in[i] + 1;
}

int main(int argc, char **argv)
{
    enum { STREAMS = 4, N = 1000 };
    int *host_in[STREAMS], *host_out[STREAMS], *in[STREAMS], *out[STREAMS];
    cudaStream_t s[STREAMS];
    cudaEvent_t done[STREAMS];
    for (int i = 0; i < STREAMS; i++) {
        CHECK(cudaHostAlloc(&host_in[i], N * sizeof(int), cudaHostAllocDefault));
        CHECK(cudaHostAlloc(&host_out[i], N * sizeof(int), cudaHostAllocDefault));
        CHECK(cudaMalloc(&in[i], N * sizeof(int)));
        CHECK(cudaMalloc(&out[i], N * sizeof(int)));
        CHECK(cudaStreamCreate(&s[i]));
        CHECK(cudaEventCreate(&done[i]));
        for (int j = 0; j < N; j++)
            host_in[i][j] = i * j;
    }
    for (int turn = 0; turn < 2; turn++)
        for (int i = 0; i < STREAMS; i++) {
            int *there = in[is_broken(argc, argv) ? 0 : i];
            CHECK(cudaEventSynchronize(done[i]));
            CHECK(cudaMemcpyAsync(there, host_in[i], N * sizeof(int), cudaMemcpyHostToDevice, s[i]));
            increment<<<8, 128, 0, s[i]>>>(out[i], there, N);
            CHECK(cudaMemcpyAsync(host_out[i], out[i], N * sizeof(int), cudaMemcpyDeviceToHost, s[i]));
            CHECK(cudaEventRecord(done[i], s[i]));
        }
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < STREAMS; i++) {
        for (int j = 0; j < N; j++)
            EXPECT(host_out[i][j] == i * j + 1);
        CHECK(cudaFreeHost(host_in[i]));
        CHECK(cudaFreeHost(host_out[i]));
        CHECK(cudaFree(in[i]));
        CHECK(cudaFree(out[i]));
        CHECK(cudaStreamDestroy(s[i]));
        CHECK(cudaEventDestroy(done[i]));
    }
    return 0;
}
