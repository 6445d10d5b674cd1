/* A program that calls the driver: ./driver_api KERNELS.ptx clean|race|freed|outside. */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        CUresult result_ = call;                                                                   \
        if (result_ != CUDA_SUCCESS) {                                                             \
            const char *name_;                                                                     \
            cuGetErrorName(result_, &name_);                                                       \
            printf("%s: %s\n", #call, name_);                                                      \
            exit(3);                                                                               \
        }                                                                                          \
    } while (0)

enum { N = 100, BYTES = N * sizeof(int) };

static char *read_file(const char *path)
{
    static char text[1 << 20];
    FILE *f = fopen(path, "rb");
    size_t length = f ? fread(text, 1, sizeof text - 1, f) : 0;
    text[length] = 0;
    fclose(f);
    return text;
}

/* Links the file with a second module, of one function. */
static void load_linked(CUmodule *module, const char *path)
{
    static char part[] =
        ".version 7.0\n.target sm_80\n.address_size 64\n.visible .func nothing() { ret; }\n";
    CUlinkState link;
    void *image;
    size_t bytes;
    CHECK(cuLinkCreate(0, NULL, NULL, &link));
    CHECK(cuLinkAddFile(link, CU_JIT_INPUT_PTX, path, 0, NULL, NULL));
    CHECK(cuLinkAddData(link, CU_JIT_INPUT_PTX, part, sizeof part, "part", 0, NULL, NULL));
    CHECK(cuLinkComplete(link, &image, &bytes));
    CHECK(cuModuleLoadData(module, image));
    CHECK(cuLinkDestroy(link));
}

/* The priority is one of the attributes of a stream. */
static void copy_attributes(void)
{
    CUstream from, to;
    int least, greatest, copied;
    CHECK(cuCtxGetStreamPriorityRange(&least, &greatest));
    CHECK(cuStreamCreateWithPriority(&from, CU_STREAM_NON_BLOCKING, greatest));
    CHECK(cuStreamCreateWithPriority(&to, CU_STREAM_NON_BLOCKING, least));
    CHECK(cuStreamCopyAttributes(to, from));
    CHECK(cuStreamGetPriority(to, &copied));
    if (copied != greatest || least == greatest)
        printf("priority %d in place of %d\n", copied, greatest);
    CHECK(cuStreamDestroy(from));
    CHECK(cuStreamDestroy(to));
}

static void scale(CUmodule module, CUdeviceptr in, CUdeviceptr out, int n)
{
    CUfunction f;
    CUdeviceptr factor;
    size_t bytes;
    int factors[2] = {0, 3};
    CHECK(cuModuleGetFunction(&f, module, "scale"));
    CHECK(cuModuleGetGlobal(&factor, &bytes, module, "factor"));
    CHECK(cuMemcpyHtoD(factor, factors, bytes));
    void *arguments[] = {&in, &out, &n};
    CHECK(cuLaunchKernel(f, 2, 1, 1, 64, 1, 1, 0, NULL, arguments, NULL));
}

static void rotate(CUmodule module, const char *name, CUdeviceptr in, CUdeviceptr out)
{
    CUfunction f;
    CHECK(cuModuleGetFunction(&f, module, name));
    struct {
        CUdeviceptr in, out;
    } packed = {in, out};
    size_t bytes = sizeof packed;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                     CU_LAUNCH_PARAM_END};
    CHECK(cuLaunchKernel(f, 1, 1, 1, 64, 1, 1, 64 * sizeof(int), NULL, NULL, extra));
}

/* Preferences are taken, and the usual ones are told. */
static void check_preferences(CUmodule module, CUcontext context)
{
    CUfunction f;
    CUfunc_cache cache;
    CUsharedconfig banks;
    CUfunctionLoadingState state;
    unsigned long long id, same;
    int value;
    CHECK(cuModuleGetFunction(&f, module, "scale"));
    CHECK(cuCtxGetCacheConfig(&cache));
    CHECK(cuCtxSetSharedMemConfig(CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE));
    CHECK(cuCtxGetSharedMemConfig(&banks));
    CHECK(cuFuncSetSharedMemConfig(f, CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE));
    CHECK(cuKernelSetCacheConfig((CUkernel)f, CU_FUNC_CACHE_PREFER_L1, 0));
    CHECK(cuFuncIsLoaded(&state, f));
    CHECK(cuCtxGetId(context, &id));
    CHECK(cuCtxGetId(NULL, &same));
    if (cache != CU_FUNC_CACHE_PREFER_NONE || banks != CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE ||
        state != CU_FUNCTION_LOADING_STATE_LOADED || id != same ||
        cuFuncIsLoaded(&state, NULL) != CUDA_ERROR_INVALID_HANDLE ||
        cuDeviceGetP2PAttribute(&value, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 0) !=
            CUDA_ERROR_INVALID_DEVICE)
        exit(4);
}

/* Free memory falls by the bytes that the program takes: this driver keeps no memory in reserve. */
static void check_free_memory(void)
{
    const CUmemAllocationProp of_device = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                           .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    CUmemGenericAllocationHandle physical;
    size_t before, during, after, total, page;
    CHECK(cuMemGetAllocationGranularity(&page, &of_device, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    CHECK(cuMemGetInfo(&before, &total));
    CHECK(cuMemCreate(&physical, 3 * page, &of_device, 0));
    CHECK(cuMemGetInfo(&during, &total));
    CHECK(cuMemRelease(physical));
    CHECK(cuMemGetInfo(&after, &total));
    if (before - during != 3 * page || after != before)
        printf("free memory: %zu, %zu, %zu\n", before, during, after);
}

int main(int argc, char **argv)
{
    const char *what = argc > 2 ? argv[2] : "clean";
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUdeviceptr in, out;
    int host[N], sums = 0, major;
    CUctxCreateParams ordinary = {NULL}; /* asks for nothing but a context */
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device));
    CHECK(cuCtxCreate(&context, &ordinary, 0, device));
    if (strcmp(what, "clean") == 0)
        load_linked(&module, argv[1]);
    else
        CHECK(cuModuleLoadData(&module, read_file(argv[1])));
    CHECK(cuMemAlloc(&in, BYTES));
    check_preferences(module, context);
    CHECK(cuMemAlloc(&out, BYTES));
    for (int i = 0; i < N; i++)
        host[i] = i;
    CHECK(cuMemcpyHtoD(in, host, BYTES));
    CHECK(cuMemsetD32(out, 0, N));
    CHECK(cuMemsetD2D32(out, 16, 7, 2, 3));
    CUmemorytype type;
    int ordinal = 5;
    CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                   CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
    void *answers[] = {&type, &ordinal};
    CHECK(cuPointerGetAttributes(2, asked, answers, in + 4));
    CUdeviceptr unknown = ~(CUdeviceptr)0;
    CUpointer_attribute of_unknown = CU_POINTER_ATTRIBUTE_DEVICE_POINTER;
    void *answer = &unknown;
    CHECK(cuPointerGetAttributes(1, &of_unknown, &answer, (uintptr_t)host));
    if (unknown)
        printf("an address of the device for memory that CUDA does not know\n");
    CUdeviceptr managed;
    CUmemLocation location = {CU_MEM_LOCATION_TYPE_DEVICE, {device}};
    CHECK(cuMemAllocManaged(&managed, BYTES, CU_MEM_ATTACH_GLOBAL));
    CHECK(cuMemAdvise(managed, BYTES, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, location));
    CHECK(cuMemPrefetchAsync(managed, BYTES, location, 0, NULL));
    CHECK(cuMemFree(managed));
    if (type != CU_MEMORYTYPE_DEVICE || ordinal != 0)
        printf("type %d, ordinal %d\n", (int)type, ordinal);
    copy_attributes();
    check_free_memory();
    scale(module, in, out, strcmp(what, "outside") == 0 ? N + 1 : N);
    CHECK(cuMemcpyDtoH(host, out, BYTES));
    for (int i = 0; i < N; i++)
        sums += host[i];
    rotate(module, strcmp(what, "race") == 0 ? "rotate" : "rotate_in_order", in, out);
    CHECK(cuMemcpyDtoH(host, out, BYTES));
    printf("major %d, sum %d, rotated %d %d\n", major, sums, host[0], host[63]);
    CHECK(cuMemFree(in));
    if (strcmp(what, "freed") == 0 && cuMemcpyDtoH(host, in, BYTES) != CUDA_ERROR_INVALID_VALUE)
        printf("the copy succeeded\n");
    CHECK(cuMemFree(out));
    CHECK(cuModuleUnload(module));
    CHECK(cuCtxDestroy(context));
    return 0;
}
