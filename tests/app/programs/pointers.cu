// wrong-direction: the program asks what a pointer is, and copies from memory of the device as if it were the host's.
#include "app_check.h"

int main(int argc, char **argv)
{
    int *x, *managed, *pinned, *plain = (int *)malloc(64), *freed;
    cudaPointerAttributes about;
    CHECK(cudaMalloc(&x, 64));
    CHECK(cudaMallocManaged(&managed, 64));
    CHECK(cudaMallocHost(&pinned, 64));
    CHECK(cudaMalloc(&freed, 64));
    CHECK(cudaFree(freed));
    CHECK(cudaPointerGetAttributes(&about, x + 3));
    EXPECT(about.type == cudaMemoryTypeDevice && about.device == 0 && about.devicePointer == x + 3 &&
           !about.hostPointer);
    CHECK(cudaPointerGetAttributes(&about, managed));
    EXPECT(about.type == cudaMemoryTypeManaged && about.hostPointer == managed);
    CHECK(cudaPointerGetAttributes(&about, pinned));
    EXPECT(about.type == cudaMemoryTypeHost && about.devicePointer == pinned);
    CHECK(cudaPointerGetAttributes(&about, plain));
    EXPECT(about.type == cudaMemoryTypeUnregistered);
    for (int i = 0; i < 16; i++)
        plain[i] = managed[i] = i;
    CHECK(cudaMemcpy(x, plain, 64, cudaMemcpyDefault));
    if (is_broken(argc, argv))
        cudaMemcpy(plain, x, 64, cudaMemcpyHostToDevice);
    CHECK(cudaMemcpy(pinned, x, 64, cudaMemcpyDeviceToHost));
    EXPECT(memcmp(pinned, managed, 64) == 0);
    CHECK(cudaFree(x));
    CHECK(cudaFree(managed));
    CHECK(cudaFreeHost(pinned));
    free(plain);
    return 0;
}
