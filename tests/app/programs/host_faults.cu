// invalid-free, not-device-memory, not-host-memory: addresses that no allocation has; an error that the program ignores; a leak.
#include "app_check.h"

#include <stdint.h>

int main(int argc, char **argv)
{
    bool broken = is_broken(argc, argv);
    int *x, *kept, host[16] = {0};
    CHECK(cudaMalloc(&x, sizeof host));
    CHECK(cudaMalloc(&kept, sizeof host));
    if (broken) {
        cudaFree(x + 1);
        cudaMemcpy((void *)(uintptr_t)0x1234, host, sizeof host, cudaMemcpyHostToDevice);
        cudaMemcpy(x, (void *)(uintptr_t)0x1000, sizeof host, cudaMemcpyHostToDevice);
        cudaFuncAttributes attributes;
        cudaFuncGetAttributes(&attributes, (const void *)host); // no kernel
    }
    CHECK(cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice));
    CHECK(cudaFree(x));
    if (!broken)
        CHECK(cudaFree(kept));
    printf("done\n");
    return 0;
}
