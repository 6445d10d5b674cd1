// Copies by cuBLAS: ./blas_copies clean|long|early; long: a vector does not fit; early: a copy does not wait for the stream that fills the matrix.
#include "programs/app_check.h"

#include <cublas_v2.h>

enum { ROWS = 4, COLUMNS = 3, STEP = 6, COUNT = STEP * COLUMNS };

__global__ void fill(float *x)
{
    x[threadIdx.x] = threadIdx.x;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "clean";
    float host[2 * COUNT], back[COUNT], few[ROWS * COLUMNS], *x;
    cudaStream_t filling, stream;
    CHECK(cudaStreamCreateWithFlags(&filling, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMalloc(&x, COUNT * sizeof(float)));
    for (int i = 0; i < 2 * COUNT; i++)
        host[i] = i;
    // every second value to adjacent ones, and back
    int status = cublasSetVector(COUNT + (strcmp(what, "long") == 0), sizeof(float), host, 2, x, 1);
    status |= cublasGetVector(COUNT, sizeof(float), x, 1, back, 1);
    if (status != CUBLAS_STATUS_SUCCESS) {
        printf("%s\n", cublasGetStatusName((cublasStatus_t)status));
        return 0;
    }
    for (int i = 0; i < COUNT; i++)
        EXPECT(back[i] == 2 * i);
    // four of the six rows of a matrix
    fill<<<1, COUNT, 0, filling>>>(x);
    if (strcmp(what, "early") != 0)
        CHECK(cudaStreamSynchronize(filling));
    EXPECT(cublasGetMatrixAsync(ROWS, COLUMNS, sizeof(float), x, STEP, few, ROWS, stream) == CUBLAS_STATUS_SUCCESS);
    CHECK(cudaDeviceSynchronize());
    for (int j = 0; j < COLUMNS; j++)
        for (int i = 0; i < ROWS; i++)
            EXPECT(few[j * ROWS + i] == j * STEP + i);
    EXPECT(cublasSetMatrix_64(ROWS, COLUMNS, sizeof(float), host, ROWS, x, STEP) == CUBLAS_STATUS_SUCCESS);
    CHECK(cudaMemcpy(back, x, COUNT * sizeof(float), cudaMemcpyDeviceToHost));
    for (int i = 0; i < COUNT; i++)
        EXPECT(back[i] == (i % STEP < ROWS ? i / STEP * ROWS + i % STEP : i));
    EXPECT(cublasSetMatrix(ROWS, COLUMNS, sizeof(float), host, ROWS - 1, x, STEP) == CUBLAS_STATUS_INVALID_VALUE);
    CHECK(cudaStreamDestroy(filling));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(x));
    printf("right\n");
    return 0;
}
