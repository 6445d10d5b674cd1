// Matrix units by hand: f16 in, f32 out, operands by ldmatrix.
#include <cstdint>
extern "C" __global__ void mma_f16(const uint4 *a, const uint4 *b, float *c)
{
    __shared__ __align__(128) uint4 sa[128], sb[64];
    sa[threadIdx.x] = a[threadIdx.x];
    sb[threadIdx.x & 63] = b[threadIdx.x & 63];
    __syncthreads();
    uint32_t ra[4], rb[2];
    float d[4] = {0, 0, 0, 0};
    uint32_t pa = (uint32_t)__cvta_generic_to_shared(sa + threadIdx.x % 32);
    uint32_t pb = (uint32_t)__cvta_generic_to_shared(sb + threadIdx.x % 16);
    for (int k = 0; k < 4; k++) {
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(ra[0]), "=r"(ra[1]), "=r"(ra[2]), "=r"(ra[3]) : "r"(pa + k * 512));
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
                     : "=r"(rb[0]), "=r"(rb[1]) : "r"(pb + k * 256));
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
    }
    for (int i = 0; i < 4; i++)
        c[threadIdx.x * 4 + i] = d[i];
}
