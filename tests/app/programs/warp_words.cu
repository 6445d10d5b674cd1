// warp-sync: lanes give a mask that does not have all lanes that call.
#include "app_check.h"

__global__ void words(const int *x, int *out, bool broken)
{
    int t = threadIdx.x, v = x[t], sum = v;
    unsigned all = 0xffffffffu;
    unsigned odd = __ballot_sync(all, v & 1);
    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_down_sync(all, sum, d);
    sum = __shfl_sync(all, sum, 0);
    out[t] = sum + __popc(odd);
    out[32 + t] = __popc(__match_any_sync(all, v % 4));
    out[64 + t] = __reduce_max_sync(all, v);
    out[96 + t] = __shfl_xor_sync(all, v, 1);
    unsigned mask = broken ? 0xffffu : all;
    out[128 + t] = __any_sync(mask, v == 31) + 2 * __all_sync(mask, v < 32);
}

int main(int argc, char **argv)
{
    int *x, *out, host[32], got[160];
    for (int i = 0; i < 32; i++)
        host[i] = i;
    CHECK(cudaMalloc(&x, sizeof host));
    CHECK(cudaMalloc(&out, sizeof got));
    CHECK(cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice));
    words<<<1, 32>>>(x, out, is_broken(argc, argv));
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(x));
    CHECK(cudaFree(out));
    for (int i = 0; i < 32; i++)
        EXPECT(got[i] == 512 && got[32 + i] == 8 && got[64 + i] == 31 && got[96 + i] == (i ^ 1) &&
               got[128 + i] == 3);
    return 0;
}
