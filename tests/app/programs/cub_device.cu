// uninitialised: cub::DeviceReduce reads an array that was never filled.
#include "app_check.h"

#include <cub/cub.cuh>

int main(int argc, char **argv)
{
    const int n = 5000;
    static int host[n], got[n];
    int *x, *y, *sum, total = 0, want = 0;
    void *room = NULL;
    size_t bytes = 0;
    for (int i = 0; i < n; i++)
        want += host[i] = i * 31 % 977;
    CHECK(cudaMalloc(&x, sizeof host));
    CHECK(cudaMalloc(&y, sizeof host));
    CHECK(cudaMalloc(&sum, sizeof(int)));
    if (!is_broken(argc, argv))
        CHECK(cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice));
    CHECK(cub::DeviceReduce::Sum(NULL, bytes, x, sum, n));
    CHECK(cudaMalloc(&room, bytes));
    CHECK(cub::DeviceReduce::Sum(room, bytes, x, sum, n));
    CHECK(cudaMemcpy(&total, sum, sizeof total, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(room));
    if (!is_broken(argc, argv)) {
        EXPECT(total == want);
        CHECK(cub::DeviceScan::InclusiveSum(NULL, bytes, x, y, n));
        CHECK(cudaMalloc(&room, bytes));
        CHECK(cub::DeviceScan::InclusiveSum(room, bytes, x, y, n));
        CHECK(cudaMemcpy(got, y, sizeof got, cudaMemcpyDeviceToHost));
        CHECK(cudaFree(room));
        EXPECT(got[n - 1] == want && got[1] == host[0] + host[1]);
        CHECK(cub::DeviceRadixSort::SortKeys(NULL, bytes, x, y, n));
        CHECK(cudaMalloc(&room, bytes));
        CHECK(cub::DeviceRadixSort::SortKeys(room, bytes, x, y, n));
        CHECK(cudaMemcpy(got, y, sizeof got, cudaMemcpyDeviceToHost));
        CHECK(cudaFree(room));
        for (int i = 1; i < n; i++)
            EXPECT(got[i] >= got[i - 1]);
    }
    CHECK(cudaFree(x));
    CHECK(cudaFree(y));
    CHECK(cudaFree(sum));
    return 0;
}
