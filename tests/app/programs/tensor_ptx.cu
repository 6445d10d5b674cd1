// out-of-bounds: mma.sync by inline PTX, whose second half of A lies beyond its matrix.
#include "app_check.h"

#include <cuda_fp16.h>

// c (16 x 8) = a (16 x 16, rows) x b (16 x 8, columns)
__global__ void product(const half *a, const half *b, float *c, int stride)
{
    int lane = threadIdx.x, group = lane / 4, pair = lane % 4 * 2;
    unsigned fa[4], fb[2];
    float fc[4] = {0, 0, 0, 0};
    fa[0] = *(const unsigned *)&a[group * stride + pair];
    fa[1] = *(const unsigned *)&a[(group + 8) * stride + pair];
    fa[2] = *(const unsigned *)&a[group * stride + pair + 8];
    fa[3] = *(const unsigned *)&a[(group + 8) * stride + pair + 8];
    fb[0] = *(const unsigned *)&b[group * 16 + pair];
    fb[1] = *(const unsigned *)&b[group * 16 + pair + 8];
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
                 "{%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(fc[0]), "+f"(fc[1]), "+f"(fc[2]), "+f"(fc[3])
                 : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]), "r"(fb[0]), "r"(fb[1]));
    c[group * 8 + pair] = fc[0];
    c[group * 8 + pair + 1] = fc[1];
    c[(group + 8) * 8 + pair] = fc[2];
    c[(group + 8) * 8 + pair + 1] = fc[3];
}

int main(int argc, char **argv)
{
    half ha[256], hb[128], *a, *b;
    float got[128], *c;
    for (int i = 0; i < 256; i++)
        ha[i] = __float2half((float)(i % 9));
    for (int i = 0; i < 128; i++)
        hb[i] = __float2half((float)(i % 4));
    CHECK(cudaMalloc(&a, sizeof ha));
    CHECK(cudaMalloc(&b, sizeof hb));
    CHECK(cudaMalloc(&c, sizeof got));
    CHECK(cudaMemcpy(a, ha, sizeof ha, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(b, hb, sizeof hb, cudaMemcpyHostToDevice));
    product<<<1, 32>>>(a, b, c, is_broken(argc, argv) ? 32 : 16);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(got, c, sizeof got, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(a));
    CHECK(cudaFree(b));
    CHECK(cudaFree(c));
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 8; j++) {
            float want = 0;
            for (int k = 0; k < 16; k++)
                want += (float)((i * 16 + k) % 9) * (float)((j * 16 + k) % 4);
            EXPECT(got[i * 8 + j] == want);
        }
    return 0;
}
