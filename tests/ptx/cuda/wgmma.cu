// arch: sm_90a
// Matrix units of a warpgroup, straight from shared memory.
extern "C" __global__ void __launch_bounds__(128, 1) wgmma(float *c, unsigned long long a, unsigned long long b)
{
    float d[4] = {};
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    asm volatile("wgmma.fence.sync.aligned;");
    for (int k = 0; k < 4; k++)
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %6, 0;\n"
                     "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0,%1,%2,%3}, %4, %5, p, 1, 1, 0, 1;\n}"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a + 2 * k), "l"(b + 2 * k), "r"(k));
    asm volatile("wgmma.commit_group.sync.aligned;");
    asm volatile("wgmma.wait_group.sync.aligned 0;");
    for (int i = 0; i < 4; i++)
        c[threadIdx.x * 4 + i] = d[i];
}
