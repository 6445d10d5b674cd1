// Calls functions that the libraries do not have: textures and surfaces by the runtime, a map of windows and a context for
// some multiprocessors by the driver.
#include <cstdio>
#include <cuda.h>

int main()
{
    cudaArray_t array;
    cudaTextureObject_t texture;
    cudaSurfaceObject_t surface;
    cudaResourceDesc of = {};
    cudaTextureDesc how = {};
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float4>();
    if (format.x != 32 || format.w != 32 || format.f != cudaChannelFormatKindFloat)
        return 1;
    int errors[] = {cudaMallocArray(&array, &format, 8, 8), cudaCreateTextureObject(&texture, &of, &how, NULL),
                    cudaCreateSurfaceObject(&surface, &of)};
    int last = cudaGetLastError();
    void *im2col;
    cudaDriverEntryPointQueryResult found;
    cudaGetDriverEntryPointByVersion("cuTensorMapEncodeIm2colWide", &im2col, 12080, cudaEnableDefault, &found);
    int encoded = im2col ? ((CUresult(*)(void))im2col)() : 0;
    struct {
        CUexecAffinityParam *affinity;
        int count;
        void *graphics;
    } part = {NULL, 1, NULL}; // CUctxCreateParams
    void *create;
    CUcontext context;
    cudaGetDriverEntryPointByVersion("cuCtxCreate", &create, 12050, cudaEnableDefault, &found);
    int created = create ? ((CUresult(*)(CUcontext *, void *, unsigned, int))create)(&context, &part, 0, 0) : 0;
    printf("%d %d %d %d %d %d %s\n", errors[0], errors[1], errors[2], last, encoded, created, cudaGetErrorString(cudaErrorNotSupported));
    return 0;
}
