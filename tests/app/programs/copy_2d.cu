// outside-copy: a copy of a matrix with pitch, with the number of its columns and rows exchanged.
#include "app_check.h"

__global__ void scale(float *x, size_t pitch, int width, int height)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column < width && row < height)
        ((float *)((char *)x + row * pitch))[column] *= 2;
}

int main(int argc, char **argv)
{
    const int width = 100, height = 40;
    static float host[height][width], got[height][width];
    float *x;
    size_t pitch;
    for (int i = 0; i < width * height; i++)
        host[0][i] = (float)i;
    CHECK(cudaMallocPitch(&x, &pitch, width * sizeof(float), height));
    EXPECT(pitch >= width * sizeof(float) && pitch % 256 == 0);
    CHECK(cudaMemset2D(x, pitch, 0, width * sizeof(float), height));
    CHECK(cudaMemcpy2D(x, pitch, host, width * sizeof(float), width * sizeof(float), height,
                       cudaMemcpyHostToDevice));
    scale<<<dim3(4, 5), dim3(32, 8)>>>(x, pitch, width, height);
    CHECK(cudaGetLastError());
    if (is_broken(argc, argv))
        cudaMemcpy2D(got, width * sizeof(float), x, pitch, height * sizeof(float), width,
                     cudaMemcpyDeviceToHost);
    else
        CHECK(cudaMemcpy2D(got, width * sizeof(float), x, pitch, width * sizeof(float), height,
                           cudaMemcpyDeviceToHost));
    CHECK(cudaFree(x));
    for (int i = 0; i < width * height; i++)
        EXPECT(got[0][i] == 2 * host[0][i]);
    return 0;
}
