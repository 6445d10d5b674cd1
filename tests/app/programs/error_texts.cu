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
    int version;
    CHECK(cudaRuntimeGetVersion(&version));
    const cudaError_t refused = version < 13000 ? cudaErrorInvalidConfiguration : cudaErrorInvalidValue;
    nothing<<<1, 1025>>>();
    if (!is_broken(argc, argv)) {
        EXPECT(cudaPeekAtLastError() == refused);
        EXPECT(cudaGetLastError() == refused);
        EXPECT(cudaGetLastError() == cudaSuccess);
        nothing<<<0, 1>>>();
        EXPECT(cudaGetLastError() == refused);
        nothing<<<1, 0>>>();
        EXPECT(cudaGetLastError() == refused);
        nothing<<<dim3(1, 70000), 1>>>();
        EXPECT(cudaGetLastError() == cudaErrorInvalidValue);
    }
    CHECK(cudaDeviceSynchronize());
    return 0;
}
