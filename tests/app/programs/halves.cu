// host-race: the host writes out the half of a pinned buffer that a copy still fills, not the other half.
#include "app_check.h"

#include <unistd.h>

const int half = 8192; // bytes: whole pages

int main(int argc, char **argv)
{
    char *host, *x;
    int pipes[2], written = 0;
    cudaStream_t s;
    CHECK(cudaMallocHost(&host, 2 * half));
    CHECK(cudaMalloc(&x, 2 * half));
    CHECK(cudaMemset(x, 1, 2 * half));
    CHECK(cudaStreamCreate(&s));
    CHECK(cudaMemcpyAsync(host, x, half, cudaMemcpyDeviceToHost, s));
    CHECK(cudaStreamSynchronize(s));
    CHECK(cudaMemcpyAsync(host + half, x + half, half, cudaMemcpyDeviceToHost, s));
    if (pipe(pipes) == 0)
        written = (int)write(pipes[1], host, half);
    if (is_broken(argc, argv))
        written += host[half];
    CHECK(cudaStreamSynchronize(s));
    printf("%d\n", written);
    CHECK(cudaStreamDestroy(s));
    CHECK(cudaFree(x));
    CHECK(cudaFreeHost(host));
    return 0;
}
