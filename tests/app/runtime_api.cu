// Calls of the runtime, each compared with what it should give; prints what is wrong, and its number of checks.
#include <cooperative_groups.h>
#include <cstdio>
#include <cstring>

namespace cg = cooperative_groups;

static int checks, wrong;

static void expect(bool good, const char *what)
{
    checks++;
    wrong += !good;
    if (!good)
        printf("wrong: %s (%s)\n", what, cudaGetErrorName(cudaPeekAtLastError()));
}
#define EXPECT(condition) expect(condition, #condition)
#define GOOD(call) expect((call) == cudaSuccess, #call)

__constant__ float factor[4];
__device__ int total[2] = {5, 6};
__managed__ int shared_value = 7;

__global__ void scale(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] = x[i] * factor[1] + shared_value;
    if (i == 0)
        atomicAdd(&total[1], 1);
}

template <int N> __global__ void reverse(float *x)
{
    __shared__ float s[N];
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = s[N - 1 - threadIdx.x];
}

__global__ void sum(const int *x, int *out)
{
    extern __shared__ int s[];
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    for (int n = blockDim.x / 2; n; n /= 2) {
        if (threadIdx.x < n)
            s[threadIdx.x] += s[threadIdx.x + n];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        *out = s[0];
}

__global__ void two_steps(int *a, int *b)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    a[i] = i;
    cg::this_grid().sync();
    b[i] = a[gridDim.x * blockDim.x - 1 - i];
}

static void device()
{
    cudaDeviceProp p;
    int count = 0, device = -1, value = 0;
    GOOD(cudaGetDeviceCount(&count));
    GOOD(cudaGetDevice(&device));
    GOOD(cudaGetDeviceProperties(&p, 0));
    EXPECT(count == 1 && device == 0);
    EXPECT(p.major == 9 && p.minor == 0 && p.warpSize == 32 && p.maxThreadsPerBlock == 1024);
    EXPECT(p.maxGridSize[1] == 65535 && p.totalConstMem == 65536 && p.sharedMemPerBlock == 49152);
    EXPECT(p.sharedMemPerBlockOptin == 227 * 1024 && p.cooperativeLaunch && p.managedMemory);
    EXPECT(p.multiProcessorCount > 100 && p.totalGlobalMem > (size_t)1 << 36);
    EXPECT(p.regsPerMultiprocessor == 65536 && p.maxBlocksPerMultiProcessor == 32);
    GOOD(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
    EXPECT(value == p.multiProcessorCount);
    EXPECT(cudaSetDevice(1) == cudaErrorInvalidDevice);
    EXPECT(cudaGetLastError() == cudaErrorInvalidDevice && cudaGetLastError() == cudaSuccess);
    EXPECT(strcmp(cudaGetErrorString(cudaErrorInvalidDevice), "invalid device ordinal") == 0);
}

static void variables()
{
    float given[4] = {1, 2, 3, 4}, x[64], *d;
    int sums[2];
    size_t bytes;
    void *address;
    for (int i = 0; i < 64; i++)
        x[i] = (float)i;
    GOOD(cudaMalloc(&d, sizeof x));
    GOOD(cudaMemcpy(d, x, sizeof x, cudaMemcpyHostToDevice));
    GOOD(cudaMemcpyToSymbol(factor, given, sizeof given));
    scale<<<2, 32>>>(d, 64);
    GOOD(cudaGetLastError());
    GOOD(cudaMemcpy(x, d, sizeof x, cudaMemcpyDeviceToHost));
    EXPECT(x[0] == 7 && x[63] == 2 * 63 + 7);
    shared_value = 1;
    scale<<<2, 32>>>(d, 64);
    GOOD(cudaMemcpy(x, d, sizeof x, cudaMemcpyDefault));
    EXPECT(x[0] == 15);
    GOOD(cudaMemcpyFromSymbol(sums, total, sizeof sums));
    EXPECT(sums[0] == 5 && sums[1] == 8);
    GOOD(cudaGetSymbolSize(&bytes, total));
    GOOD(cudaGetSymbolAddress(&address, total));
    GOOD(cudaMemcpy(&sums[1], address, 4, cudaMemcpyDeviceToHost));
    EXPECT(bytes == 8 && sums[1] == 5);
    GOOD(cudaFree(d));
}

static void shapes()
{
    int *x, *out, host[4];
    GOOD(cudaMallocManaged(&x, 256 * sizeof(int)));
    GOOD(cudaMallocHost(&out, sizeof(int)));
    for (int i = 0; i < 256; i++)
        x[i] = i;
    sum<<<1, 256, 256 * sizeof(int)>>>(x, out);
    GOOD(cudaDeviceSynchronize());
    EXPECT(*out == 255 * 128);
    sum<<<1, 256, 64 * 1024>>>(x, out);
    EXPECT(cudaGetLastError() == cudaErrorInvalidValue);
    GOOD(cudaFuncSetAttribute(sum, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 * 1024));
    sum<<<1, 256, 64 * 1024>>>(x, out);
    GOOD(cudaGetLastError());
    sum<<<1, 2048>>>(x, out);
    EXPECT(cudaGetLastError() == (CUDART_VERSION < 13000 ? cudaErrorInvalidConfiguration : cudaErrorInvalidValue));
    float *f = (float *)x;
    reverse<64><<<1, 64>>>(f);
    GOOD(cudaDeviceSynchronize());
    EXPECT(x[0] == 63 && x[63] == 0);
    cudaFuncAttributes a;
    GOOD(cudaFuncGetAttributes(&a, reverse<64>));
    EXPECT(a.sharedSizeBytes == 256 && a.maxThreadsPerBlock == 1024);
    GOOD(cudaMemset2D(x, 64, 1, 8, 2));
    GOOD(cudaMemcpy2D(host, 8, x, 64, 8, 2, cudaMemcpyDefault));
    EXPECT(host[3] == 0x01010101 && x[2] == 61);
    cudaPointerAttributes p;
    GOOD(cudaPointerGetAttributes(&p, x));
    EXPECT(p.type == cudaMemoryTypeManaged && p.hostPointer == x);
    GOOD(cudaPointerGetAttributes(&p, host));
    EXPECT(p.type == cudaMemoryTypeUnregistered);
    GOOD(cudaFree(x));
    GOOD(cudaFreeHost(out));
}

static void cooperative()
{
    int *a, *b, host[128], blocks = 0;
    GOOD(cudaMalloc(&a, sizeof host));
    GOOD(cudaMalloc(&b, sizeof host));
    void *arguments[] = {&a, &b};
    GOOD(cudaLaunchCooperativeKernel((void *)two_steps, 4, 32, arguments));
    GOOD(cudaMemcpy(host, b, sizeof host, cudaMemcpyDeviceToHost));
    EXPECT(host[0] == 127 && host[127] == 0);
    GOOD(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, two_steps, 1024, 0));
    EXPECT(blocks == 2);
    EXPECT(cudaLaunchCooperativeKernel((void *)two_steps, 1000, 1024, arguments) ==
           cudaErrorCooperativeLaunchTooLarge);
    cudaGetLastError();
    cudaLaunchConfig_t c = {};
    cudaLaunchAttribute attribute[1];
    attribute[0].id = cudaLaunchAttributeCooperative;
    attribute[0].val.cooperative = 1;
    c.gridDim = 4;
    c.blockDim = 32;
    c.attrs = attribute;
    c.numAttrs = 1;
    GOOD(cudaLaunchKernelEx(&c, two_steps, a, b));
    GOOD(cudaFree(a));
    GOOD(cudaFree(b));
}

static void called(void *user)
{
    *(int *)user = 1;
}

static void streams()
{
    cudaStream_t s, t;
    cudaEvent_t before, after;
    int *x, done = 0;
    float ms = -1;
    GOOD(cudaStreamCreate(&s));
    GOOD(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
    GOOD(cudaEventCreate(&before));
    GOOD(cudaEventCreate(&after));
    GOOD(cudaMallocAsync(&x, 256, s));
    GOOD(cudaEventRecord(before, s));
    GOOD(cudaMemsetAsync(x, 0, 256, s));
    GOOD(cudaEventRecord(after, s));
    GOOD(cudaStreamWaitEvent(t, after));
    GOOD(cudaMemsetAsync(x, 1, 256, t));
    GOOD(cudaLaunchHostFunc(t, called, &done));
    GOOD(cudaStreamSynchronize(t));
    GOOD(cudaEventElapsedTime(&ms, before, after));
    EXPECT(done == 1 && ms > 0);
    GOOD(cudaFreeAsync(x, t));
    GOOD(cudaEventDestroy(before));
    GOOD(cudaEventDestroy(after));
    GOOD(cudaStreamDestroy(s));
    GOOD(cudaStreamDestroy(t));
    EXPECT(cudaEventQuery((cudaEvent_t)&x) == cudaErrorInvalidResourceHandle);
    cudaGetLastError();
}

// Attributes of streams, and addresses of pinned memory, of which there are 1900 at a time.
static void hints()
{
    cudaStreamAttrValue policy = {}, got = {};
    cudaStream_t s;
    unsigned long long id = 0, other = 0;
    int device = -1, *x;
    cudaDeviceProp wanted;
    memset(&wanted, 0, sizeof wanted);
    GOOD(cudaChooseDevice(&device, &wanted));
    EXPECT(device == 0);
    GOOD(cudaStreamCreate(&s));
    GOOD(cudaStreamGetId(s, &id));
    GOOD(cudaStreamGetId(0, &other));
    EXPECT(id != other);
    policy.syncPolicy = cudaSyncPolicyYield;
    GOOD(cudaStreamSetAttribute(s, cudaStreamAttributeSynchronizationPolicy, &policy));
    GOOD(cudaStreamGetAttribute(s, cudaStreamAttributeSynchronizationPolicy, &got));
    EXPECT(got.syncPolicy == cudaSyncPolicyYield);
    policy.accessPolicyWindow.hitRatio = 2;
    EXPECT(cudaStreamSetAttribute(s, cudaStreamAttributeAccessPolicyWindow, &policy) == cudaErrorInvalidValue);
    EXPECT(cudaStreamSetAttribute(s, cudaLaunchAttributeCooperative, &policy) == cudaErrorInvalidValue);
    EXPECT(cudaGetLastError() == cudaErrorInvalidValue);
    GOOD(cudaStreamDestroy(s));
    bool all = true;
    for (int i = 0; i < 3000 && all; i++) {
        all = cudaMallocHost(&x, sizeof *x) == cudaSuccess;
        *x = i;
        all = all && cudaFreeHost(x) == cudaSuccess;
    }
    EXPECT(all);
}

int main()
{
    device();
    hints();
    variables();
    shapes();
    cooperative();
    streams();
    printf("%d of %d checks are wrong\n", wrong, checks);
    return wrong != 0;
}
