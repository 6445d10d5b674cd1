// use-after-free: a second process reads memory of the first one after it has closed the handle.
#include "app_check.h"

#include <sys/wait.h>
#include <unistd.h>

// The handles that one process gives the other.
struct handles {
    cudaIpcMemHandle_t memory;
    cudaIpcEventHandle_t filled;
};

__global__ void fill(int *x, int first)
{
    x[threadIdx.x] = first + threadIdx.x;
}

static int second(bool broken, int from)
{
    handles h;
    cudaStream_t s;
    cudaEvent_t filled;
    int *x, *again, got[64];
    EXPECT(read(from, &h, sizeof h) == sizeof h);
    CHECK(cudaStreamCreate(&s));
    CHECK(cudaIpcOpenMemHandle((void **)&x, h.memory, cudaIpcMemLazyEnablePeerAccess));
    CHECK(cudaIpcOpenMemHandle((void **)&again, h.memory, cudaIpcMemLazyEnablePeerAccess));
    EXPECT(x == again);
    CHECK(cudaIpcOpenEventHandle(&filled, h.filled));
    CHECK(cudaStreamWaitEvent(s, filled, 0));
    CHECK(cudaMemcpyAsync(got, x, sizeof got, cudaMemcpyDeviceToHost, s));
    CHECK(cudaStreamSynchronize(s));
    for (int i = 0; i < 64; i++)
        EXPECT(got[i] == 100 + i);
    fill<<<1, 64, 0, s>>>(x, 200);
    CHECK(cudaStreamSynchronize(s));
    CHECK(cudaIpcCloseMemHandle(x));
    CHECK(cudaIpcCloseMemHandle(again));
    if (broken)
        EXPECT(cudaMemcpyAsync(got, x, sizeof got, cudaMemcpyDeviceToHost, s) != cudaSuccess);
    CHECK(cudaEventDestroy(filled));
    CHECK(cudaStreamDestroy(s));
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 2)
        return second(is_broken(argc, argv), atoi(argv[2]));
    int *x, got[64], ends[2], status;
    char place[16];
    cudaEvent_t filled;
    handles h;
    void *own;
    EXPECT(pipe(ends) == 0);
    CHECK(cudaMalloc(&x, sizeof got));
    CHECK(cudaEventCreateWithFlags(&filled, cudaEventDisableTiming | cudaEventInterprocess));
    fill<<<1, 64>>>(x, 100); // before the handle: the values go along
    CHECK(cudaEventRecord(filled));
    CHECK(cudaIpcGetMemHandle(&h.memory, x));
    CHECK(cudaIpcGetEventHandle(&h.filled, filled));
    EXPECT(cudaIpcOpenMemHandle(&own, h.memory, cudaIpcMemLazyEnablePeerAccess) != cudaSuccess); // the same process
    cudaGetLastError();
    snprintf(place, sizeof place, "%d", ends[0]);
    pid_t child = fork();
    if (child == 0) {
        execl(argv[0], argv[0], argc > 1 ? argv[1] : "clean", place, (char *)NULL);
        _exit(9);
    }
    EXPECT(write(ends[1], &h, sizeof h) == sizeof h);
    EXPECT(waitpid(child, &status, 0) == child && status == 0);
    CHECK(cudaMemcpy(got, x, sizeof got, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 64; i++)
        EXPECT(got[i] == 200 + i);
    CHECK(cudaEventDestroy(filled));
    CHECK(cudaFree(x));
    return 0;
}
