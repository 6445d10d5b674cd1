// Programs that misbehave: ./hostile WHAT, for each WHAT of the table `programs` and of main.
#include "programs/app_virtual.h"

#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

__global__ void add(int *x, int by)
{
    x[threadIdx.x] += by;
}

__global__ void forever(volatile int *x)
{
    while (!*x)
        x[1] = x[1] + 1;
}

static void work(int by, int *sum)
{
    int *x, got[32];
    cudaStream_t s;
    cudaMalloc(&x, sizeof got);
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    cudaMemsetAsync(x, 0, sizeof got, s);
    for (int i = 0; i < 50; i++)
        add<<<1, 32, 0, s>>>(x, by);
    cudaMemcpyAsync(got, x, sizeof got, cudaMemcpyDeviceToHost, s);
    cudaStreamSynchronize(s);
    *sum = got[31];
    cudaStreamDestroy(s);
    cudaFree(x);
}

static int threads()
{
    int sums[8];
    std::vector<std::thread> all;
    for (int i = 0; i < 8; i++)
        all.emplace_back(work, i, &sums[i]);
    for (auto &t : all)
        t.join();
    for (int i = 0; i < 8; i++)
        printf("%d ", sums[i]);
    printf("\n");
    return cudaGetLastError();
}

static int wild()
{
    int *x, host[4];
    cudaMalloc(&x, sizeof host);
    printf("%d ", cudaMemcpy((void *)0x1234, host, sizeof host, cudaMemcpyHostToDevice));
    printf("%d ", cudaMemcpy(x, (void *)0x1000, sizeof host, cudaMemcpyHostToDevice));
    printf("%d ", cudaMemcpy(x, NULL, sizeof host, cudaMemcpyHostToDevice));
    printf("%d ", cudaFree(host));
    printf("%d ", cudaStreamSynchronize((cudaStream_t)host));
    printf("%d\n", cudaMemcpy(x, host, sizeof host, (cudaMemcpyKind)9));
    add<<<1, 4>>>((int *)(uintptr_t)0xdeadbeef000, 1);
    cudaDeviceSynchronize();
    cudaFree(x);
    return 0;
}

__global__ void talk()
{
    for (int i = 0; i < 2000; i++)
        printf("0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789\n");
}

// Leaves the process less memory than it has, so that it gets no more. Returns the limit before.
static struct rlimit allow_no_memory()
{
    struct rlimit before, less;
    getrlimit(RLIMIT_AS, &before);
    less = before;
    less.rlim_cur = (rlim_t)1 << 20;
    setrlimit(RLIMIT_AS, &less);
    return before;
}

// The simulator runs out of memory in a kernel of a graph; then a copy uses memory that was freed.
static int no_memory()
{
    int *x, value = 0;
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    cudaGraphNode_t node;
    cudaMalloc(&x, sizeof(int));
    cudaFree(x);
    cudaGraphCreate(&graph, 0);
    cudaKernelNodeParams kernel = {};
    kernel.func = (void *)talk;
    kernel.gridDim = 1;
    kernel.blockDim = 256;
    cudaGraphAddKernelNode(&node, graph, NULL, 0, &kernel);
    cudaGraphInstantiate(&ready, graph, 0);
    struct rlimit before = allow_no_memory();
    cudaError_t launched = cudaGraphLaunch(ready, 0);
    setrlimit(RLIMIT_AS, &before);
    printf("%s ", cudaGetErrorName(launched));
    cudaGetLastError();
    printf("%s\n", cudaGetErrorName(cudaMemcpy(&value, x, sizeof value, cudaMemcpyDeviceToHost)));
    return 0;
}

// The driver runs out of memory for the texts of errors: of launches of a graph whose allocation is not freed, and then of wrong frees. The calls
// after them are right, but --trace has no memory to say their places.
static int no_memory_for_errors()
{
    enum { MOST = 100000, MORE = 100 };
    cudaEvent_t event;
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    cudaGraphNode_t node;
    cudaMemAllocNodeParams memory = {};
    int refused = 0, recorded = 0;
    memory.poolProps.allocType = cudaMemAllocationTypePinned;
    memory.poolProps.location.type = cudaMemLocationTypeDevice;
    memory.bytesize = 64;
    cudaGraphCreate(&graph, 0);
    cudaGraphAddMemAllocNode(&node, graph, NULL, 0, &memory);
    cudaGraphInstantiate(&ready, graph, 0);
    cudaEventCreate(&event);
    cudaError_t launched = cudaGraphLaunch(ready, 0);
    printf("%s ", cudaGetErrorName(launched));
    struct rlimit before = allow_no_memory();
    for (int i = 0; i < MOST && launched != cudaErrorMemoryAllocation; i++)
        launched = cudaGraphLaunch(ready, 0);
    for (int i = 0; i < MORE; i++)
        refused += cudaFree(&refused) == cudaErrorInvalidValue;
    for (int i = 0; i < MORE; i++)
        recorded += cudaEventRecord(event) == cudaSuccess;
    setrlimit(RLIMIT_AS, &before);
    printf("%s %d %d ", cudaGetErrorName(launched), refused, recorded);
    cudaGetLastError();
    printf("%s\n", cudaGetErrorName(cudaFree(memory.dptr)));
    return 0;
}

// A thread runs the kernel while the process forks, so the child has no thread that gives up the locks of the libraries. The error of a launch is
// the parent's, which looks at it.
__global__ void stay(volatile int *begun, int *x)
{
    *begun = 1;
    for (int i = 0; i < 300000; i++)
        atomicAdd(x, i);
}

static int forked_in_kernel()
{
    volatile int *begun;
    int *x, status;
    cudaMallocHost((void **)&begun, sizeof(int));
    cudaMalloc(&x, sizeof(int));
    cudaMemset(x, 0, sizeof(int));
    *begun = 0;
    add<<<dim3(1, 70000), 1>>>(x, 1);
    std::thread launches([&] { stay<<<1, 1>>>(begun, x); });
    while (!*begun)
        ;
    pid_t child = fork();
    if (!child) {
        alarm(20);
        exit(cudaFree(x));
    }
    waitpid(child, &status, 0);
    launches.join();
    printf("%d %d %d\n", WIFEXITED(status), WEXITSTATUS(status), cudaGetLastError());
    cudaDeviceSynchronize();
    cudaFreeHost((void *)begun);
    cudaFree(x);
    return 0;
}

static sigjmp_buf back;
static int handled;

static void handle(int number)
{
    (void)number;
    handled++;
    siglongjmp(back, 1);
}

__global__ void set(volatile int *flag)
{
    *flag = 1;
}

// The program handles a bad access of its own; afterwards the host waits for the flag of a kernel, which is no bad access.
static int handler()
{
    volatile int *flag;
    signal(SIGSEGV, handle);
    cudaMallocHost((void **)&flag, sizeof(int));
    *flag = 0;
    if (!sigsetjmp(back, 1))
        *(volatile int *)8 = 1;
    set<<<1, 1>>>(flag);
    if (!sigsetjmp(back, 1))
        while (!*flag)
            ;
    printf("%d\n", handled);
    cudaDeviceSynchronize();
    cudaFreeHost((void *)flag);
    return 0;
}

// A file is read into a part of pinned memory that no copy in progress uses, though copies of the parts around it are.
static int parts()
{
    const int n = 1 << 16;
    char *host, *x;
    cudaStream_t s;
    cudaEvent_t first;
    cudaMallocHost(&host, 3 * n);
    memset(host, 0, 3 * n);
    cudaMalloc(&x, 3 * n);
    cudaStreamCreate(&s);
    cudaEventCreate(&first);
    cudaMemcpyAsync(x, host, n, cudaMemcpyHostToDevice, s);
    cudaEventRecord(first, s);
    cudaMemcpyAsync(x + 2 * n, host + 2 * n, n, cudaMemcpyHostToDevice, s);
    int file = open("/dev/zero", O_RDONLY);
    bool middle = read(file, host + n, n) == n, early = read(file, host, n) == n;
    cudaEventSynchronize(first);
    bool late = read(file, host, n) == n;
    printf("%d %d %d\n", middle, early, late);
    close(file);
    cudaEventDestroy(first);
    cudaStreamDestroy(s);
    cudaFree(x);
    cudaFreeHost(host);
    return 0;
}

// Each turn has a finding of its own.
static int many()
{
    int *x, value;
    for (int i = 0; i < 10000; i++) {
        cudaMalloc(&x, sizeof(int));
        cudaFree(x);
        cudaMemcpy(&value, x, sizeof value, cudaMemcpyDeviceToHost);
        cudaGetLastError();
    }
    return 0;
}

static void CUDART_CB nothing(void *user)
{
    (void)user;
}

// A loop of a graph whose condition stays as it is; with a function of the host in the body, which is refused.
static int endless_graph()
{
    int *x, one = 1;
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    cudaGraphNode_t node;
    cudaGraphConditionalHandle handle;
    cudaMalloc(&x, sizeof(int));
    cudaMemset(x, 0, sizeof(int));
    cudaGraphCreate(&graph, 0);
    cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault);
    cudaGraphNodeParams p = {};
    p.type = cudaGraphNodeTypeConditional;
    p.conditional.handle = handle;
    p.conditional.type = cudaGraphCondTypeWhile;
    p.conditional.size = 1;
#if CUDART_VERSION >= 13000
    cudaGraphAddNode(&node, graph, NULL, NULL, 0, &p);
#else
    cudaGraphAddNode(&node, graph, NULL, 0, &p);
#endif
    cudaHostNodeParams host = {nothing, NULL};
    printf("%s ", cudaGetErrorName(cudaGraphAddHostNode(&node, p.conditional.phGraph_out[0], NULL, 0, &host)));
    cudaGetLastError();
    void *arguments[] = {&x, &one};
    cudaKernelNodeParams kernel = {};
    kernel.func = (void *)add;
    kernel.gridDim = kernel.blockDim = 1;
    kernel.kernelParams = arguments;
    cudaGraphAddKernelNode(&node, p.conditional.phGraph_out[0], NULL, 0, &kernel);
    cudaGraphInstantiate(&ready, graph, 0);
    printf("%s\n", cudaGetErrorName(cudaGraphLaunch(ready, 0)));
    return 0;
}

// One thread destroys the stream in which another one waits for a value, makes many streams, and writes the value.
static int destroyed()
{
    enum { MORE = 64 };
    unsigned *x;
    CUstream s, more[MORE];
    cudaMalloc(&x, sizeof *x);
    cudaMemset(x, 0, sizeof *x);
    cudaDeviceSynchronize();
    cuStreamCreate(&s, CU_STREAM_NON_BLOCKING);
    std::thread other([&] {
        cudaSetDevice(0);
        usleep(20000);
        printf("%d ", cuStreamDestroy(s));
        for (CUstream &one : more)
            cuStreamCreate(&one, CU_STREAM_NON_BLOCKING);
        cuStreamWriteValue32(more[0], (CUdeviceptr)x, 1, 0);
    });
    CUresult waited = cuStreamWaitValue32(s, (CUdeviceptr)x, 1, CU_STREAM_WAIT_VALUE_EQ);
    other.join();
    printf("%d %d\n", waited, cuStreamSynchronize(s));
    for (CUstream one : more)
        cuStreamDestroy(one);
    cudaFree(x);
    return 0;
}

// Cuts the file of memory that a kernel uses, and gives a file of its own as memory of another process.
static int cut()
{
    CUmemAllocationProp p = properties();
    CUmemGenericAllocationHandle handle, wrong;
    CUdeviceptr at;
    int file, got = 0;
    cudaFree(0);
    size_t page = granularity();
    p.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    printf("%d ", cuMemCreate(&wrong, (size_t)1 << 63, &p, 0));
    cuMemCreate(&handle, page, &p, 0);
    cuMemAddressReserve(&at, page, 0, 0, 0);
    cuMemMap(at, page, 0, handle, 0);
    give_access(at, page, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    cuMemExportToShareableHandle(&file, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    printf("%d ", ftruncate(file, 0));
    cudaMemset((void *)at, 7, page);
    add<<<1, 1>>>((int *)at, 1);
    cudaMemcpy(&got, (void *)at, sizeof got, cudaMemcpyDeviceToHost);
    FILE *own = tmpfile();
    printf("%d %x ", ftruncate(fileno(own), (off_t)page), got);
    printf("%d\n", cuMemImportFromShareableHandle(&wrong, (void *)(intptr_t)fileno(own), CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    return 0;
}

// A second process, which has become another user, opens memory of the first one.
static int other_user(const char *own, const char *given)
{
    union {
        cudaIpcMemHandle_t handle;
        unsigned char bytes[sizeof(cudaIpcMemHandle_t)];
    } u;
    char text[2 * sizeof u + 1];
    int *x;
    if (given) {
        for (size_t i = 0; i < sizeof u; i++)
            sscanf(given + 2 * i, "%2hhx", &u.bytes[i]);
        cudaFree(0);
        printf("%d ", setuid(65534));
        printf("%d\n", cudaIpcOpenMemHandle((void **)&x, u.handle, cudaIpcMemLazyEnablePeerAccess));
        return 0;
    }
    cudaMalloc(&x, 64);
    cudaIpcGetMemHandle(&u.handle, x);
    for (size_t i = 0; i < sizeof u; i++)
        snprintf(text + 2 * i, 3, "%02x", u.bytes[i]);
    pid_t child = fork();
    if (!child) {
        execl(own, own, "other_user", text, (char *)NULL);
        _exit(9);
    }
    waitpid(child, NULL, 0);
    cudaFree(x);
    return 0;
}

// Maps many pages one after the other, with access to all so far, in a process of few file descriptors.
static int pages()
{
    enum { PAGES = 3000, FILES = 64 };
    CUdeviceptr at;
    struct rlimit few = {FILES, FILES};
    int got = 0;
    cudaFree(0);
    setrlimit(RLIMIT_NOFILE, &few);
    size_t page = granularity();
    DRIVER(cuMemAddressReserve(&at, PAGES * page, 0, 0, 0));
    for (int i = 0; i < PAGES; i++) {
        map_new(at + i * page, page);
        give_access(at, (i + 1) * page, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    }
    cudaMemset((void *)(at + 17 * page), 5, 4);
    cudaMemset((void *)(at + 18 * page), 6, 4);
    cudaMemcpy(&got, (void *)(at + 17 * page), sizeof got, cudaMemcpyDeviceToHost);
    printf("%x ", got);
    printf("%d ", cuMemUnmap(at, PAGES * page));
    printf("%d\n", cuMemAddressFree(at, PAGES * page));
    return 0;
}

static int huge()
{
    int *x;
    printf("%d %d\n", cudaMalloc(&x, (size_t)1 << 50), cudaMalloc(&x, (size_t)-1));
    return 0;
}

// Boxes with more bytes than there are addresses.
static int wide()
{
    const size_t much = (size_t)1 << 32, most = (size_t)1 << 60;
    int *x;
    cudaMalloc(&x, 64);
    printf("%d ", cudaMemset3D(make_cudaPitchedPtr(x, much, much, much), 0, make_cudaExtent(much, much, 1)));
    printf("%d ", cudaMemset3D(make_cudaPitchedPtr(x, much, much, much - 1), 0, make_cudaExtent(much, much, 2)));
    printf("%d ", cudaMemset3D(make_cudaPitchedPtr(x, 16, 16, 0), 0, make_cudaExtent(16, 2, most)));
    printf("%d ", cudaMemset2D(x, much, 0, much, much));
    printf("%d ", cudaMemcpy2D(x, much, x, much, much, much, cudaMemcpyDeviceToDevice));
    printf("%d ", cuMemsetD2D32((CUdeviceptr)x, 8, 0, most << 2, 2));
    cudaMemcpy3DParms p = {};
    p.srcPtr = p.dstPtr = make_cudaPitchedPtr(x, 0, 16, 1);
    p.extent = make_cudaExtent(16, 1, most);
    p.kind = cudaMemcpyDeviceToDevice;
    printf("%d\n", cudaMemcpy3D(&p));
    return 0;
}

// Streams write a value to address 0, and wait for one there.
static int nowhere()
{
    cudaFree(0);
    for (int i = 0; i < 3; i++)
        printf("%d ", cuStreamWriteValue32(NULL, 0, i, 0));
    printf("%d\n", cuStreamWaitValue32(NULL, 0, 1, CU_STREAM_WAIT_VALUE_EQ));
    return 0;
}

static int endless()
{
    int *x;
    cudaMalloc(&x, 64);
    cudaMemset(x, 0, 64);
    forever<<<1, 1>>>(x);
    printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    return 0;
}

static const struct {
    const char *what;
    int (*run)();
} programs[] = {{"threads", threads},
                {"wild", wild},
                {"huge", huge},
                {"wide", wide},
                {"nowhere", nowhere},
                {"forked_in_kernel", forked_in_kernel},
                {"destroyed", destroyed},
                {"cut", cut},
                {"pages", pages},
                {"parts", parts},
                {"many", many},
                {"handler", handler},
                {"no_memory", no_memory},
                {"no_memory_for_errors", no_memory_for_errors},
                {"endless_graph", endless_graph},
                {"endless", endless}};

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int *x, sum;
    for (const auto &p : programs)
        if (strcmp(what, p.what) == 0)
            return p.run();
    if (strcmp(what, "other_user") == 0)
        return other_user(argv[0], argc > 2 ? argv[2] : NULL);
    if (strcmp(what, "freed") == 0) {
        cudaMallocHost(&x, 64);
        cudaFreeHost(x);
        x[3] = 1;
    }
    if (strcmp(what, "device") == 0) {
        cudaMalloc(&x, 64);
        x[3] = 1;
    }
    work(1, &sum);
    if (strcmp(what, "fork") == 0) {
        pid_t child = fork();
        if (!child)
            exit(0);
        waitpid(child, NULL, 0);
        work(2, &sum);
        printf("%d\n", sum);
    }
    if (strcmp(what, "abort") == 0)
        abort();
    return 0;
}
