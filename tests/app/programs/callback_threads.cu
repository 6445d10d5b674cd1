// host-race: the thread that enqueued a function of the stream reads what a thread reads that the function starts.
#include "app_check.h"

#include <thread>

enum { N = 4096 };

struct job {
    int *device, *host;
    cudaStream_t second;
    std::thread reader;
    long sum;
};

__global__ void add(int *x, int value)
{
    x[blockIdx.x * blockDim.x + threadIdx.x] += value;
}

// The copy is done: the function that started this thread came after it.
static void read_and_go_on(struct job *j)
{
    for (int i = 0; i < N; i++)
        j->sum += j->host[i];
    add<<<N / 64, 64, 0, j->second>>>(j->device, 1);
    CHECK(cudaGetLastError());
    CHECK(cudaStreamSynchronize(j->second));
}

static void CUDART_CB start(cudaStream_t, cudaError_t status, void *user)
{
    struct job *j = (struct job *)user;
    if (status == cudaSuccess)
        j->reader = std::thread(read_and_go_on, j);
}

int main(int argc, char **argv)
{
    struct job j = {};
    cudaStream_t first;
    int early = 0;
    CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&j.second, cudaStreamNonBlocking));
    CHECK(cudaMallocHost(&j.host, N * sizeof(int)));
    CHECK(cudaMalloc(&j.device, N * sizeof(int)));
    for (int i = 0; i < N; i++)
        j.host[i] = i;
    CHECK(cudaMemcpyAsync(j.device, j.host, N * sizeof(int), cudaMemcpyHostToDevice, first));
    add<<<N / 64, 64, 0, first>>>(j.device, 2);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpyAsync(j.host, j.device, N * sizeof(int), cudaMemcpyDeviceToHost, first));
    if (is_broken(argc, argv))
        early = j.host[5];
    CHECK(cudaStreamAddCallback(first, start, &j, 0));
    CHECK(cudaStreamSynchronize(first));
    j.reader.join();
    CHECK(cudaMemcpy(j.host, j.device, N * sizeof(int), cudaMemcpyDeviceToHost));
    EXPECT(j.sum == N * (N - 1L) / 2 + 2 * N && j.host[5] == 8 && early <= 7);
    CHECK(cudaFree(j.device));
    CHECK(cudaFreeHost(j.host));
    CHECK(cudaStreamDestroy(j.second));
    CHECK(cudaStreamDestroy(first));
    return 0;
}
