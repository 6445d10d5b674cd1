// double-free, outside-copy, wrong-direction: faults of the host's calls alone.
#include "app_check.h"

int main(int argc, char **argv)
{
    bool broken = is_broken(argc, argv);
    int *x, host[16] = {5};
    CHECK(cudaMalloc(&x, sizeof host));
    CHECK(cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(host, x, sizeof host, cudaMemcpyDeviceToHost));
    if (broken) {
        cudaMemcpy(x + 8, host, sizeof host, cudaMemcpyHostToDevice);
        cudaMemcpy(host, x, sizeof host, cudaMemcpyHostToDevice);
    }
    CHECK(cudaFree(x));
    if (broken)
        cudaFree(x);
    printf("%d\n", host[0]);
    return 0;
}
