// api-error: a launch with 64 KB of shared memory that the kernel was not allowed.
#include "app_check.h"

__global__ void reverse(const int *in, int *out)
{
    extern __shared__ int reversed[];
    const int n = 16384;
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        reversed[i] = in[i];
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        out[i] = reversed[n - 1 - i];
}

int main(int argc, char **argv)
{
    const int n = 16384, bytes = n * sizeof(int);
    int *in, *out, *host = (int *)malloc(bytes), most = 0;
    CHECK(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    EXPECT(most >= bytes);
    for (int i = 0; i < n; i++)
        host[i] = i;
    CHECK(cudaMalloc(&in, bytes));
    CHECK(cudaMalloc(&out, bytes));
    CHECK(cudaMemcpy(in, host, bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemset(out, 0, bytes));
    if (!is_broken(argc, argv)) {
        CHECK(cudaFuncSetAttribute(reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
        cudaFuncAttributes about;
        CHECK(cudaFuncGetAttributes(&about, reverse));
        EXPECT(about.maxDynamicSharedSizeBytes == bytes);
    }
    reverse<<<1, 256, bytes>>>(in, out);
    CHECK(cudaMemcpy(host, out, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(in));
    CHECK(cudaFree(out));
    for (int i = 0; i < n; i++)
        EXPECT(host[i] == n - 1 - i);
    free(host);
    return 0;
}
