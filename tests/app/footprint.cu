// `footprint WAY TYPE BYTES`: launches that access arrays of BYTES bytes in one way, after others that gave them values. Prints the bytes of all
// arrays, and the most memory that the process had.
#include "programs/app_check.h"

#include <string.h>
#include <sys/resource.h>

enum { THREADS = 256, WIDTH = 1024, BINS = 256 };

template <typename T> __global__ void prepare(T *a)
{
    size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    a[i] = (T)(unsigned char)(i * 2654435761u >> 19);
}
template <typename T> __global__ void add(T *a, const T *b)
{
    size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    a[i] += b[i];
}
template <typename T> __global__ void copy(T *a, const T *b)
{
    size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    a[i] = b[i];
}
template <typename T> __global__ void fill(T *a)
{
    size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    a[i] = 3;
}
template <typename T> __global__ void sum(T *a, const T *b)
{
    size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    T x = a[i] + b[i];
    for (int lanes = 16; lanes; lanes /= 2)
        x += __shfl_xor_sync(~0u, x, lanes);
    if (a == b) // never
        a[i] = x;
}
template <typename T> __global__ void stencil(T *a, const T *b)
{
    size_t x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, i = y * WIDTH + x;
    if (x > 0 && y > 0 && x < WIDTH - 1 && y < gridDim.y * 8 - 1)
        a[i] = b[i] + b[i - 1] + b[i + 1] + b[i - WIDTH] + b[i + WIDTH];
}
template <typename T> __global__ void histogram(unsigned *a, const T *b)
{
    __shared__ unsigned bins[BINS];
    size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    bins[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&bins[(unsigned)b[i] % BINS], 1);
    __syncthreads();
    atomicAdd(&a[threadIdx.x], bins[threadIdx.x]);
}
template <typename T> __global__ void scatter(T *a, const T *b, const unsigned *to)
{
    unsigned i = blockIdx.x * THREADS + threadIdx.x;
    a[to[i]] = b[i];
}
__global__ void permute(unsigned *to, unsigned mask)
{
    unsigned i = blockIdx.x * THREADS + threadIdx.x;
    to[i] = i * 2654435761u & mask; // the factor is odd
}

template <typename T> static int run(const char *way, size_t bytes)
{
    const size_t n = bytes / sizeof(T);
    const unsigned blocks = n / THREADS;
    const bool scatters = !strcmp(way, "scatter");
    T *a, *b;
    unsigned *to;
    CHECK(cudaMalloc(&a, bytes));
    CHECK(cudaMalloc(&b, bytes));
    prepare<<<blocks, THREADS>>>(a);
    prepare<<<blocks, THREADS>>>(b);
    if (scatters) {
        CHECK(cudaMalloc(&to, n * sizeof *to));
        permute<<<blocks, THREADS>>>(to, (unsigned)n - 1);
        scatter<<<blocks, THREADS>>>(a, b, to);
    }
    if (!strcmp(way, "add"))
        add<<<blocks, THREADS>>>(a, b);
    if (!strcmp(way, "copy"))
        copy<<<blocks, THREADS>>>(a, b);
    if (!strcmp(way, "fill"))
        fill<<<blocks, THREADS>>>(a), fill<<<blocks, THREADS>>>(b);
    if (!strcmp(way, "sum"))
        sum<<<blocks, THREADS>>>(a, b);
    if (!strcmp(way, "stencil"))
        stencil<<<dim3(WIDTH / 32, n / WIDTH / 8), dim3(32, 8)>>>(a, b);
    if (!strcmp(way, "histogram"))
        histogram<<<blocks, THREADS>>>((unsigned *)a, b);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(a));
    CHECK(cudaFree(b));
    if (scatters)
        CHECK(cudaFree(to));
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("%zu bytes, at most %ld KiB\n", 2 * bytes + scatters * n * sizeof *to, usage.ru_maxrss);
    return 0;
}

int main(int argc, char **argv)
{
    const size_t bytes = argc > 3 ? strtoull(argv[3], NULL, 10) : 1 << 20;
    if (argc > 2 && !strcmp(argv[2], "u8"))
        return run<unsigned char>(argv[1], bytes);
    if (argc > 2 && !strcmp(argv[2], "f64"))
        return run<double>(argv[1], bytes);
    return run<float>(argc > 1 ? argv[1] : "add", bytes);
}
