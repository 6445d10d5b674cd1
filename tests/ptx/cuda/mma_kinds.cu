// Matrix units: bf16, tf32, int8, f64, f16 sums, bits.
extern "C" __global__ void mma_kinds(const unsigned *x, float *f, int *i, double *d, unsigned *h)
{
    float c0 = 0, c1 = 0, c2 = 0, c3 = 0;
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                 : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3) : "r"(x[0]), "r"(x[1]), "r"(x[2]));
    asm volatile("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                 : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3) : "r"(x[3]), "r"(x[4]), "r"(x[5]));
    f[threadIdx.x] = c0 + c1 + c2 + c3;
    int s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    asm volatile("mma.sync.aligned.m16n8k16.row.col.satfinite.s32.s8.u8.s32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                 : "+r"(s0), "+r"(s1), "+r"(s2), "+r"(s3) : "r"(x[6]), "r"(x[7]), "r"(x[8]));
    asm volatile("mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32.and.popc {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                 : "+r"(s0), "+r"(s1), "+r"(s2), "+r"(s3) : "r"(x[6]), "r"(x[7]), "r"(x[8]));
    i[threadIdx.x] = s0 + s1 + s2 + s3;
    double d0 = 0, d1 = 0;
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};" : "+d"(d0), "+d"(d1) : "d"(d[0]), "d"(d[1]));
    d[threadIdx.x] = d0 + d1;
    unsigned h0 = 0, h1 = 0;
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3}, {%4}, {%0,%1};"
                 : "+r"(h0), "+r"(h1) : "r"(x[9]), "r"(x[10]), "r"(x[11]));
    h[threadIdx.x] = h0 ^ h1;
}
