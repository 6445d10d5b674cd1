// Compiles a kernel by NVRTC, and runs its PTX; with the argument `code`, its machine code, which cannot be simulated.
#include <cstdio>
#include <cstring>
#include <cuda.h>
#include <nvrtc.h>
#include <vector>

static const char source[] = "extern \"C\" __global__ void triple(int *x) { x[threadIdx.x] *= 3; }";

int main(int argc, char **argv)
{
    bool code = argc > 1 && strcmp(argv[1], "code") == 0;
    const char *options[] = {code ? "--gpu-architecture=sm_90" : "--gpu-architecture=compute_90"};
    nvrtcProgram program;
    size_t bytes = 0;
    if (nvrtcCreateProgram(&program, source, "triple.cu", 0, NULL, NULL) || nvrtcCompileProgram(program, 1, options) ||
        (code ? nvrtcGetCUBINSize(program, &bytes) : nvrtcGetPTXSize(program, &bytes)))
        return 3;
    std::vector<char> made(bytes);
    if (code ? nvrtcGetCUBIN(program, made.data()) : nvrtcGetPTX(program, made.data()))
        return 4;
    CUmodule module;
    CUfunction triple;
    int *x, host[32];
    for (int i = 0; i < 32; i++)
        host[i] = i;
    if (cudaMalloc(&x, sizeof host) || cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice))
        return 5;
    int loaded = cuModuleLoadData(&module, made.data());
    printf("%d\n", loaded);
    void *arguments[] = {&x};
    if (loaded || cuModuleGetFunction(&triple, module, "triple") || cuLaunchKernel(triple, 1, 1, 1, 32, 1, 1, 0, NULL, arguments, NULL))
        return 6;
    if (cudaMemcpy(host, x, sizeof host, cudaMemcpyDeviceToHost) || cudaFree(x) || nvrtcDestroyProgram(&program))
        return 7;
    return host[5] != 15 || host[31] != 93;
}
