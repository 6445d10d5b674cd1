// The same for bytes and for tf32, from shared memory.
#include <mma.h>
using namespace nvcuda;
extern "C" __global__ void wmma_int8(const signed char *a, int *c, float *f)
{
    __shared__ signed char s[512];
    for (int i = threadIdx.x; i < 512; i += 32)
        s[i] = a[i];
    __syncthreads();
    wmma::fragment<wmma::matrix_a, 8, 32, 16, signed char, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 8, 32, 16, signed char, wmma::row_major> fb;
    wmma::fragment<wmma::accumulator, 8, 32, 16, int> fc;
    wmma::fill_fragment(fc, 0);
    wmma::load_matrix_sync(fa, s, 16);
    wmma::load_matrix_sync(fb, s, 32);
    wmma::mma_sync(fc, fa, fb, fc);
    wmma::store_matrix_sync(c, fc, 32, wmma::mem_col_major);
    wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::col_major> ta;
    wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::row_major> tb;
    wmma::fragment<wmma::accumulator, 16, 16, 8, float> tc;
    wmma::load_matrix_sync(ta, f, 16);
    wmma::load_matrix_sync(tb, f, 16);
    wmma::load_matrix_sync(tc, f, 16, wmma::mem_row_major);
    for (int i = 0; i < ta.num_elements; i++)
        ta.x[i] = wmma::__float_to_tf32(ta.x[i]);
    wmma::mma_sync(tc, ta, tb, tc);
    wmma::store_matrix_sync(f, tc, 16, wmma::mem_row_major);
}
