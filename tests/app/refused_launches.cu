// Launches that the driver refuses, each for its own reason, by their number; the program never asks for the error.
#include <cstdlib>
#include <cuda_runtime.h>

__global__ void touch(int *out)
{
    extern __shared__ int s[];
    s[threadIdx.x] = 1;
    if (out)
        *out = s[0];
}

int main(int argc, char **argv)
{
    switch (argc > 1 ? atoi(argv[1]) : 0) {
    case 0: touch<<<0, 32>>>(nullptr); break;
    case 1: touch<<<dim3(1, 70000), 32>>>(nullptr); break;
    case 2: touch<<<1, dim3(64, 32)>>>(nullptr); break;
    case 3: touch<<<1, dim3(1, 1, 65)>>>(nullptr); break;
    case 4: touch<<<1, 32, 70000>>>(nullptr); break;
    case 5: // the reason of a launch is not that of another one
        touch<<<1, dim3(64, 32)>>>(nullptr);
        cudaGetLastError();
        touch<<<1, 32, 70000>>>(nullptr);
        break;
    case 6: touch<<<1, dim3(1u << 31, 1u << 31, 2)>>>(nullptr); break; // more threads than an int64_t holds
    }
    return 0;
}
