// outside-copy: a copy between two devices that is too large; with one GPU, both are the same.
#include "app_check.h"

int main(int argc, char **argv)
{
    int devices = 0, host[100], got[100], can = 1;
    CHECK(cudaGetDeviceCount(&devices));
    EXPECT(devices == 1);
    EXPECT(cudaSetDevice(devices) == cudaErrorInvalidDevice);
    cudaGetLastError();
    CHECK(cudaSetDevice(0));
    CHECK(cudaDeviceCanAccessPeer(&can, 0, 0));
    EXPECT(!can);
    int *a, *b;
    for (int i = 0; i < 100; i++)
        host[i] = 3 * i;
    CHECK(cudaMalloc(&a, sizeof host));
    CHECK(cudaMalloc(&b, sizeof host));
    CHECK(cudaMemcpy(a, host, sizeof host, cudaMemcpyHostToDevice));
    if (is_broken(argc, argv))
        cudaMemcpyPeer(b, 0, a, 0, 2 * sizeof host);
    CHECK(cudaMemcpyPeer(b, 0, a, 0, sizeof host));
    CHECK(cudaMemcpyPeerAsync(b, 0, a, 0, sizeof host, 0));
    CHECK(cudaMemcpy(got, b, sizeof got, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(a));
    CHECK(cudaFree(b));
    EXPECT(memcmp(got, host, sizeof got) == 0);
    return 0;
}
