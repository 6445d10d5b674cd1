// out-of-bounds [-lcuda]: a second process maps memory of the first one by its file, and uses it without access.
#include "app_virtual.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

__global__ void add(int *x, int what)
{
    x[threadIdx.x] += what;
}

static int second(bool broken, int file)
{
    CHECK(cudaFree(0));
    size_t page = granularity();
    CUdeviceptr at;
    CUmemGenericAllocationHandle handle;
    DRIVER(cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)file, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    DRIVER(cuMemAddressReserve(&at, page, 0, 0, 0));
    DRIVER(cuMemMap(at, page, 0, handle, 0));
    if (!broken)
        give_access(at, page, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    if (!broken)
        CHECK(cudaMemset((void *)at, 0, 64 * sizeof(int)));
    add<<<1, 64>>>((int *)at, 5);
    EXPECT((cudaDeviceSynchronize() == cudaSuccess) == !broken);
    if (broken)
        return 0;
    DRIVER(cuMemUnmap(at, page));
    DRIVER(cuMemAddressFree(at, page));
    DRIVER(cuMemRelease(handle));
    return 0;
}

int main(int argc, char **argv)
{
    bool broken = is_broken(argc, argv);
    if (argc > 2)
        return second(broken, atoi(argv[2]));
    CHECK(cudaFree(0));
    size_t page = granularity();
    int file, status, got[64];
    char place[16];
    CUdeviceptr at;
    CUmemGenericAllocationHandle handle, same;
    CUmemAllocationProp p = properties();
    p.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    DRIVER(cuMemCreate(&handle, page, &p, 0));
    DRIVER(cuMemAddressReserve(&at, page, 0, 0, 0));
    DRIVER(cuMemMap(at, page, 0, handle, 0));
    give_access(at, page, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    DRIVER(cuMemExportToShareableHandle(&file, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    DRIVER(cuMemImportFromShareableHandle(&same, (void *)(intptr_t)file, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    DRIVER(cuMemRelease(same));
    fcntl(file, F_SETFD, 0); // the second process gets it
    snprintf(place, sizeof place, "%d", file);
    pid_t child = fork();
    if (child == 0) {
        execl(argv[0], argv[0], broken ? "broken" : "clean", place, (char *)NULL);
        _exit(9);
    }
    EXPECT(waitpid(child, &status, 0) == child && status == 0);
    add<<<1, 64>>>((int *)at, 1); // the second process has written it
    CHECK(cudaMemcpy(got, (void *)at, sizeof got, cudaMemcpyDeviceToHost));
    EXPECT(broken || got[63] == 6);
    close(file);
    DRIVER(cuMemUnmap(at, page));
    DRIVER(cuMemAddressFree(at, page));
    DRIVER(cuMemRelease(handle));
    return 0;
}
