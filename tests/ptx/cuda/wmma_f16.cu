// Matrices whose layout is not defined.
#include <mma.h>
using namespace nvcuda;
extern "C" __global__ void wmma_f16(const half *a, const half *b, float *c, int n)
{
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
    wmma::fill_fragment(fc, 0.0f);
    for (int k = 0; k < n; k += 16) {
        wmma::load_matrix_sync(fa, a + k, n);
        wmma::load_matrix_sync(fb, b + k, n);
        wmma::mma_sync(fc, fa, fb, fc);
    }
    wmma::store_matrix_sync(c, fc, n, wmma::mem_row_major);
}
