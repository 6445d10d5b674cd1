// Products by cuBLAS against plain sums: ./product clean|small|early; small: C is too small; early: the product does not wait for the
// stream that fills A.
#include "programs/app_check.h"

#include <cublas_v2.h>
#include <cuda_fp16.h>
#include <vector>

enum { M = 7, N = 5, K = 6, BATCH = 3 };

__global__ void fill(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] = (float)(i % 11) - 5;
}

static bool is_product(const std::vector<float> &a, const std::vector<float> &b, const std::vector<float> &c, bool transposed)
{
    for (int s = 0; s < BATCH; s++)
        for (int i = 0; i < M; i++)
            for (int j = 0; j < N; j++) {
                double sum = 0;
                for (int k = 0; k < K; k++)
                    sum += (double)a[s * M * K + (transposed ? i * K + k : k * M + i)] * b[s * K * N + j * K + k];
                if (c[s * M * N + j * M + i] != (float)(2 * sum))
                    return false;
            }
    return true;
}

// A product larger than the pieces in which it is computed, of numbers whose sums are exact.
static bool is_large_right(cublasHandle_t handle)
{
    enum { ROWS = 70, COLUMNS = 45, DEPTH = 130 };
    const float alpha = 3, beta = -1;
    std::vector<float> a(ROWS * DEPTH), b(DEPTH * COLUMNS), c(ROWS * COLUMNS, 5);
    float *x;
    for (size_t i = 0; i < a.size(); i++)
        a[i] = (float)(i % 13) - 6;
    for (size_t i = 0; i < b.size(); i++)
        b[i] = (float)(i % 7) - 3;
    CHECK(cudaMalloc(&x, (a.size() + b.size() + c.size()) * sizeof(float)));
    float *y = x + a.size(), *z = y + b.size();
    CHECK(cudaMemcpy(x, a.data(), a.size() * sizeof(float), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(y, b.data(), b.size() * sizeof(float), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(z, c.data(), c.size() * sizeof(float), cudaMemcpyHostToDevice));
    int status = cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_T, ROWS, COLUMNS, DEPTH, &alpha, x, ROWS, y, COLUMNS, &beta, z, ROWS);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(c.data(), z, c.size() * sizeof(float), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(x));
    for (int i = 0; status == CUBLAS_STATUS_SUCCESS && i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) {
            int sum = 0;
            for (int k = 0; k < DEPTH; k++)
                sum += (int)a[k * ROWS + i] * (int)b[k * COLUMNS + j];
            if (c[j * ROWS + i] != 3 * sum - 5)
                return false;
        }
    return status == CUBLAS_STATUS_SUCCESS;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "clean";
    std::vector<float> a(BATCH * M * K), b(BATCH * K * N), c(BATCH * M * N, NAN);
    std::vector<__half> half(BATCH * M * K);
    float *da, *db, *dc, alpha = 2, beta = 0;
    __half *dh;
    cublasHandle_t handle;
    cudaStream_t filling, stream;
    CHECK(cudaStreamCreateWithFlags(&filling, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMalloc(&da, a.size() * sizeof(float)));
    CHECK(cudaMalloc(&db, b.size() * sizeof(float)));
    CHECK(cudaMalloc(&dc, c.size() * sizeof(float) - (strcmp(what, "small") == 0)));
    CHECK(cudaMalloc(&dh, half.size() * sizeof(__half)));
    fill<<<8, 32, 0, filling>>>(da, (int)a.size());
    fill<<<8, 32, 0, filling>>>(db, (int)b.size());
    if (strcmp(what, "early") != 0)
        CHECK(cudaStreamSynchronize(filling));
    int status = cublasCreate(&handle);
    status |= cublasSetStream(handle, stream);
    status |= cublasSgemmStridedBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, M, N, K, &alpha, da, M, M * K, db, K, K * N, &beta, dc, M, M * N, BATCH);
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpy(a.data(), da, a.size() * sizeof(float), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(b.data(), db, b.size() * sizeof(float), cudaMemcpyDeviceToHost));
    if (status == CUBLAS_STATUS_SUCCESS)
        CHECK(cudaMemcpy(c.data(), dc, c.size() * sizeof(float), cudaMemcpyDeviceToHost));
    bool right = is_product(a, b, c, false);

    // One at a time, A transposed and of 16 bits, in a graph.
    for (size_t i = 0; i < a.size(); i++)
        half[i] = a[i];
    CHECK(cudaMemcpy(dh, half.data(), half.size() * sizeof(__half), cudaMemcpyHostToDevice));
    CHECK(cudaDeviceSynchronize());
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    std::vector<__half> bh(b.begin(), b.end());
    __half *dbh;
    CHECK(cudaMalloc(&dbh, bh.size() * sizeof(__half)));
    CHECK(cudaMemcpy(dbh, bh.data(), bh.size() * sizeof(__half), cudaMemcpyHostToDevice));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    for (int s = 0; s < BATCH; s++)
        status |= cublasGemmEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, M, N, K, &alpha, dh + s * M * K, CUDA_R_16F, K, dbh + s * K * N, CUDA_R_16F, K,
                               &beta, dc + s * M * N, CUDA_R_32F, M, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&ready, graph, 0));
    cudaError_t launched = cudaGraphLaunch(ready, stream);
    CHECK(cudaStreamSynchronize(stream));
    if (launched == cudaSuccess && status == CUBLAS_STATUS_SUCCESS)
        CHECK(cudaMemcpy(c.data(), dc, c.size() * sizeof(float), cudaMemcpyDeviceToHost));
    right = right && is_product(a, b, c, true);
    CHECK(cudaGraphExecDestroy(ready));
    CHECK(cudaGraphDestroy(graph));
    float *dot;
    CHECK(cudaMalloc(&dot, sizeof(float)));
    int other = cublasSdot(handle, M, da, 1, db, 1, dot);
    if (status == CUBLAS_STATUS_SUCCESS)
        right = right && is_large_right(handle);
    cublasDestroy(handle);
    for (void *each : {(void *)da, (void *)db, (void *)dc, (void *)dh, (void *)dbh, (void *)dot})
        CHECK(cudaFree(each));
    printf("%s, %s, %s\n", cublasGetStatusName((cublasStatus_t)status), right ? "right" : "wrong", cublasGetStatusName((cublasStatus_t)other));
    return 0;
}
