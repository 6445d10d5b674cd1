// Calls at lines that a comment marks: "line: NAME". Optimised, the compiler puts the functions of the host into each other.
#include <cstdio>
#include <cstdlib>

static __global__ void plain(int *x, int i)
{
    x[i]++; // uninitialised
}

namespace
{
__global__ void inner(int *x, int i)
{
    x[i]++; // uninitialised
}
} // namespace

template <typename T> __global__ void generic(T *x, int i)
{
    x[i]++; // uninitialised
}

static inline void cuda_run(int *x)
{
    generic<int><<<1, 1>>>(x, 3); // line: generic
}

int main()
{
    int *x;
    cudaMalloc(&x, 400);   // line: made
    plain<<<1, 1>>>(x, 1); // line: plain
    inner<<<1, 1>>>(x, 2); // line: inner
    cuda_run(x);
    auto release = [&](int *at) {
        return cudaFree(at); // line: freed
    };
    release(x + 1);
    printf("%d\n", cudaMemcpy(x, x, 800, // line: copied
                              cudaMemcpyDeviceToDevice));
    cudaFree(x);
    return 0;
}
