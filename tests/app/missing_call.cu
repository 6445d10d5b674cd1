// Calls functions that the libraries do not have: textures and surfaces by the runtime, a map of windows by the driver.
#include <cstdio>
#include <cuda.h>

int main()
{
    cudaArray_t array;
    cudaTextureObject_t texture;
    cudaSurfaceObject_t surface;
    cudaResourceDesc of = {};
    cudaTextureDesc how = {};
    cudaChannelFormatDesc format = {32, 0, 0, 0, cudaChannelFormatKindFloat};
    int errors[] = {cudaMallocArray(&array, &format, 8, 8), cudaCreateTextureObject(&texture, &of, &how, NULL),
                    cudaCreateSurfaceObject(&surface, &of)};
    int last = cudaGetLastError();
    void *im2col;
    cudaDriverEntryPointQueryResult found;
    cudaGetDriverEntryPointByVersion("cuTensorMapEncodeIm2colWide", &im2col, 12080, cudaEnableDefault, &found);
    int encoded = im2col ? ((CUresult(*)(void))im2col)() : 0;
    printf("%d %d %d %d %d %s\n", errors[0], errors[1], errors[2], last, encoded, cudaGetErrorString(cudaErrorNotSupported));
    return 0;
}
