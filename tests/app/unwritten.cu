// Reads of memory that was never written: because of a race on it ("race"), with no race ("alone"), or with a race on other memory that the same line reads ("elsewhere").
#include <cstring>
#include <cuda_runtime.h>

__global__ void counts(int *out, bool clear, bool order, bool other)
{
    __shared__ int bins[64], last;
    int t = threadIdx.x;
    if (clear)
        bins[t] = 0;
    if (order)
        __syncthreads();
    if (other && t % 40 == 3)
        last = t;
    if (!other) {
        atomicAdd(&bins[t * 5 % 64], 1);
        __syncthreads();
    }
    out[t] = bins[t] + (other ? last : 0);
}

int main(int argc, char **argv)
{
    int *out;
    bool race = argc > 1 && !strcmp(argv[1], "race"), elsewhere = argc > 1 && !strcmp(argv[1], "elsewhere");
    if (cudaMalloc(&out, 64 * sizeof(int)) != cudaSuccess)
        return 1;
    counts<<<1, 64>>>(out, race, !race, elsewhere);
    return cudaDeviceSynchronize() != cudaSuccess || cudaFree(out) != cudaSuccess;
}
