// Inline PTX: scopes, labels, predicates, registers of its own.
extern "C" __global__ void assembly(unsigned *x, float *f)
{
    unsigned r;
    asm volatile("{\n"
                 "  .reg .pred p, q;\n"
                 "  .reg .b32 t<3>;\n"
                 "  setp.lt.u32 p|q, %1, 10;\n"
                 "  mov.b32 t1, 5;\n"
                 "  @p add.u32 t1, t1, %1;\n"
                 "  @!p bra skip;\n"
                 "  mad.lo.u32 t1, t1, 3, t1;\n"
                 "skip:\n"
                 "  selp.u32 %0, t1, 0, q;\n"
                 "}\n"
                 : "=r"(r)
                 : "r"(x[0]));
    x[1] = r;
    asm volatile("{\n .reg .pred p;\n setp.eq.u32 p, %0, 3;\n @p bra skip;\n st.global.u32 [%1], 4;\nskip:\n}"
                 :: "r"(x[2]), "l"(x + 3) : "memory");
    asm("lop3.b32 %0, %1, %2, %3, 0x96;" : "=r"(x[4]) : "r"(x[5]), "r"(x[6]), "r"(x[7]));
    asm("fma.rn.ftz.f32 %0, %1, 0f40000000, 0f3F800000;" : "=f"(f[0]) : "f"(f[1]));
    asm("{ .reg .b64 t; mov.b64 t, {%1, %2}; shr.u64 t, t, 7; cvt.u32.u64 %0, t; }" : "=r"(x[8]) : "r"(x[9]), "r"(x[10]));
}
