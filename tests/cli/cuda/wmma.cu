// Products of matrices that a warp holds, in all shapes and types; test_cuda_headers.py.
#include <mma.h>
#include <cuda_bf16.h>
#include <vector>

namespace wmma = nvcuda::wmma;

template <int M, int N, int K, class T, class D, class C, class A, class B> __device__ void product(const T *a, const T *b, const C *c, D *d)
{
    wmma::fragment<wmma::matrix_a, M, N, K, T, A> fa;
    wmma::fragment<wmma::matrix_b, M, N, K, T, B> fb;
    wmma::fragment<wmma::accumulator, M, N, K, C> fc;
    wmma::fragment<wmma::accumulator, M, N, K, D> fd;
    wmma::load_matrix_sync(fa, a, 32);
    wmma::load_matrix_sync(fb, b, 32);
    wmma::load_matrix_sync(fc, c, 32, wmma::mem_row_major);
    for (int i = 0; i < fa.num_elements; i++)
        fa.x[i] = fa.x[i] + fa.x[i];
    wmma::mma_sync(fd, fa, fb, fc);
    wmma::store_matrix_sync(d, fd, 32, K == 8 ? wmma::mem_col_major : wmma::mem_row_major);
}

template <int M, int N, int K, class T, class D, class C> __device__ void layouts(const T *a, const T *b, const C *c, D *d)
{
    product<M, N, K, T, D, C, wmma::row_major, wmma::row_major>(a, b, c, d);
    product<M, N, K, T, D, C, wmma::row_major, wmma::col_major>(a, b, c, d + 1024);
    product<M, N, K, T, D, C, wmma::col_major, wmma::row_major>(a, b, c, d + 2048);
    product<M, N, K, T, D, C, wmma::col_major, wmma::col_major>(a, b, c, d + 3072);
}

template <class T, class D, class C> __device__ void shapes(const T *a, const T *b, const C *c, D *d)
{
    layouts<16, 16, 16>(a, b, c, d);
    layouts<8, 32, 16>(a, b, c, d + 4096);
    layouts<32, 8, 16>(a, b, c, d + 8192);
}

__global__ void halves(const half *a, const half *b, const half *c, const float *f, half *d, float *e)
{
    shapes(a, b, c, d);
    shapes(a, b, f, d + 12288);
    shapes(a, b, c, e);
    shapes(a, b, f, e + 12288);
}

__global__ void bfloats(const nv_bfloat16 *a, const nv_bfloat16 *b, const float *c, float *d) { shapes(a, b, c, d); }

__global__ void bytes(const signed char *a, const unsigned char *b, const int *c, int *d)
{
    shapes(a, a + 512, c, d);
    shapes(b, b + 512, c, d + 12288);
}

__global__ void doubles(const double *a, const double *b, const double *c, double *d) { layouts<8, 8, 4>(a, b, c, d); }

__global__ void short_floats(const float *a, float *d)
{
    wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 8, float> fc;
    wmma::fill_fragment(fc, 1.0f);
    wmma::load_matrix_sync(fa, a, 16);
    wmma::load_matrix_sync(fb, a, 16);
    for (float &x : fa.x)
        x = wmma::__float_to_tf32(x);
    for (float &x : fb.x)
        x = wmma::__float_to_tf32(x);
    wmma::mma_sync(fc, fa, fb, fc);
    wmma::store_matrix_sync(d, fc, 16, wmma::mem_col_major);
}

// Each warp multiplies one tile of 16 columns, after all warps have brought both factors to shared memory.
__global__ void staged(const half *a, const half *b, float *d)
{
    __shared__ half sa[16 * 16], sb[16 * 64];
    for (int i = threadIdx.x; i < 16 * 64; i += blockDim.x) {
        sb[i] = b[i];
        if (i < 16 * 16)
            sa[i] = a[i];
    }
#ifdef RIGHT
    __syncthreads();
#endif
    int column = threadIdx.x / 32 * 16;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
    wmma::fill_fragment(fc, 0.0f);
    wmma::load_matrix_sync(fa, sa, 16);
    wmma::load_matrix_sync(fb, sb + column, 64);
    wmma::mma_sync(fc, fa, fb, fc);
    wmma::store_matrix_sync(d + column, fc, 64, wmma::mem_row_major);
}

int main()
{
    std::vector<half> host(4, __float2half(1.0f));
    return (int)host.size() - 4;
}
