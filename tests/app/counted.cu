// Faults that a known number of threads has; the argument names one. Of the launches of `two`, each has a fault.
#include <cstdio>
#include <cstring>

enum { THREADS = 96 };

// Threads of two blocks add to values of which the host filled the first quarter.
__global__ void add(int *values)
{
    values[blockIdx.x * blockDim.x + threadIdx.x] += 1;
}

// One sums values that nobody wrote, in a loop, and keeps the sum in a register.
__global__ void sum(const int *values, int count, int *out)
{
    int total = 0;
    for (int i = 0; i < count; i++)
        total += values[i * blockDim.x + threadIdx.x];
    out[threadIdx.x] = total;
}

// The last value lacks a byte.
__global__ void twice(const int *values, int *out)
{
    out[threadIdx.x] = values[threadIdx.x] * 2;
}

__global__ void copy_far(const int *values, int *out, int distance)
{
    out[threadIdx.x] = values[threadIdx.x + distance];
}

__global__ void store_odd(int *out, int first)
{
    if (threadIdx.x >= first)
        *(int *)((char *)(out + threadIdx.x) + 2) = threadIdx.x;
}

// The last `few` threads of the block pass no barrier in the last turn.
__global__ void meet(int *out, int few)
{
    __shared__ int seen[THREADS];
    for (int turn = 0; turn < 3; turn++)
        if (turn < 2 || threadIdx.x < blockDim.x - few) {
            seen[threadIdx.x] = turn;
            __syncthreads();
        }
    out[threadIdx.x] = seen[threadIdx.x];
}

// `extra` lanes meet at a barrier of the warp whose mask they are not in.
__global__ void meet_warp(int *out, int extra)
{
    unsigned mask = __ballot_sync(~0u, threadIdx.x < 8);
    if (threadIdx.x < 8 + extra)
        __syncwarp(mask);
    out[threadIdx.x] = mask;
}

// The first thread reads what the others write.
__global__ void gather(int *out)
{
    __shared__ int parts[THREADS];
    parts[threadIdx.x] = threadIdx.x;
    if (threadIdx.x == 0) {
        int total = 0;
#pragma unroll 1
        for (int i = 0; i < THREADS; i++)
            total += parts[i];
        *out = total;
    }
}

int main(int argc, char **argv)
{
    int *values, *out;
    const char *what = argc > 1 ? argv[1] : "";
    const bool two = strcmp(what, "two") == 0;
    cudaMalloc(&values, 2 * THREADS * sizeof(int));
    cudaMalloc(&out, 2 * THREADS * sizeof(int));
    if (strcmp(what, "add") == 0) {
        cudaMemset(values, 0, 2 * THREADS);
        add<<<2, THREADS>>>(values);
    } else if (strcmp(what, "sum") == 0) {
        sum<<<1, 32>>>(values, 5, out);
    } else if (strcmp(what, "twice") == 0) {
        cudaMemset(values, 0, THREADS * sizeof(int) - 1);
        twice<<<1, THREADS>>>(values, out);
    }
    if (strcmp(what, "far") == 0 || two) {
        cudaMemset(values, 0, 2 * THREADS * sizeof(int));
        copy_far<<<1, THREADS>>>(values, out, 2 * THREADS - 90);
        printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    }
    if (strcmp(what, "odd") == 0 || two) {
        store_odd<<<1, THREADS>>>(out, 30);
        printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    }
    if (strcmp(what, "meet") == 0)
        meet<<<1, THREADS>>>(out, 5);
    if (strcmp(what, "warp") == 0)
        meet_warp<<<1, 32>>>(out, 3);
    if (strcmp(what, "gather") == 0)
        gather<<<1, THREADS>>>(out);
    if (!*what) {
        cudaMemset(values, 0, 2 * THREADS * sizeof(int));
        add<<<2, THREADS>>>(values);
        sum<<<1, 32>>>(values, 6, out);
        twice<<<1, THREADS>>>(values, out);
        copy_far<<<1, THREADS>>>(values, out, THREADS);
        meet<<<1, THREADS>>>(out, 0);
        meet_warp<<<1, 32>>>(out, 0);
    }
    cudaDeviceSynchronize();
    cudaFree(values);
    cudaFree(out);
    return 0;
}
