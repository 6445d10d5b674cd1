// api-error: a launch with too many threads, whose error the program never asks for.
#include "app_check.h"

__global__ void nothing()
{
}

int main(int argc, char **argv)
{
    EXPECT(strcmp(cudaGetErrorName(cudaErrorInvalidValue), "cudaErrorInvalidValue") == 0);
    EXPECT(strcmp(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory") == 0);
    EXPECT(strcmp(cudaGetErrorString((cudaError_t)12345), "unrecognized error code") == 0);
    nothing<<<1, 1025>>>();
    if (!is_broken(argc, argv)) {
        EXPECT(cudaPeekAtLastError() == cudaErrorInvalidConfiguration);
        EXPECT(cudaGetLastError() == cudaErrorInvalidConfiguration);
        EXPECT(cudaGetLastError() == cudaSuccess);
    }
    CHECK(cudaDeviceSynchronize());
    return 0;
}
