// race: the temporary storage of cub::BlockReduce is used again without a barrier.
#include "app_check.h"

#include <cub/cub.cuh>

template <bool WAITS> __global__ void two_sums(const int *x, const int *y, int *out)
{
    typedef cub::BlockReduce<int, 128> reduce;
    __shared__ typename reduce::TempStorage storage;
    int a = reduce(storage).Sum(x[threadIdx.x]);
    if (WAITS)
        __syncthreads();
    int b = reduce(storage).Sum(y[threadIdx.x]);
    if (threadIdx.x == 0) {
        out[0] = a;
        out[1] = b;
    }
}

int main(int argc, char **argv)
{
    int *x, *y, *out, host[128], got[2];
    for (int i = 0; i < 128; i++)
        host[i] = i;
    CHECK(cudaMalloc(&x, sizeof host));
    CHECK(cudaMalloc(&y, sizeof host));
    CHECK(cudaMalloc(&out, sizeof got));
    CHECK(cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice));
    CHECK(cudaMemset(y, 0, sizeof host));
    if (is_broken(argc, argv))
        two_sums<false><<<1, 128>>>(x, y, out);
    else
        two_sums<true><<<1, 128>>>(x, y, out);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(x));
    CHECK(cudaFree(y));
    CHECK(cudaFree(out));
    EXPECT(is_broken(argc, argv) || (got[0] == 8128 && got[1] == 0));
    return 0;
}
