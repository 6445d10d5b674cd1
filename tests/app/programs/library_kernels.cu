// out-of-bounds: a kernel of a library that the program loads as text writes beyond its array.
#include "app_check.h"

static const char *text = R"(
.version 7.0
.target sm_80
.address_size 64
.global .u32 factor = 3;
.visible .entry scale(.param .u64 x, .param .u32 n)
{
    .reg .pred %p;
    .reg .b32 %r<6>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [x];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %tid.x;
    setp.ge.u32 %p, %r2, %r1;
    @%p ret;
    cvta.to.global.u64 %rd1, %rd1;
    mul.wide.u32 %rd2, %r2, 4;
    add.u64 %rd3, %rd1, %rd2;
    ld.global.u32 %r3, [factor];
    mul.lo.u32 %r4, %r3, %r2;
    st.global.u32 [%rd3], %r4;
    ret;
}
.visible .entry nothing()
{
    ret;
}
)";

int main(int argc, char **argv)
{
#if CUDART_VERSION >= 12080
    cudaLibrary_t library;
    cudaKernel_t scale, all[2];
    unsigned count, n = is_broken(argc, argv) ? 60 : 50, got[50], five = 5;
    void *factor;
    unsigned *x;
    size_t bytes, offset;
    CHECK(cudaLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0));
    CHECK(cudaLibraryGetKernelCount(&count, library));
    EXPECT(count == 2);
    CHECK(cudaLibraryEnumerateKernels(all, 2, library));
    CHECK(cudaLibraryGetKernel(&scale, library, "scale"));
    EXPECT(scale == all[0] || scale == all[1]);
    CHECK(cudaLibraryGetGlobal(&factor, &bytes, library, "factor"));
    EXPECT(bytes == 4);
    CHECK(cudaMemcpy(factor, &five, bytes, cudaMemcpyHostToDevice));
    CHECK(cudaFuncGetParamInfo((const void *)scale, 1, &offset, &bytes));
    EXPECT(offset == 8 && bytes == 4);
    CHECK(cudaMalloc(&x, sizeof got));
    void *arguments[] = {&x, &n};
    CHECK(cudaLaunchKernel((const void *)scale, dim3(1), dim3(64), arguments, 0, 0));
    CHECK(cudaMemcpy(got, x, sizeof got, cudaMemcpyDeviceToHost));
    for (unsigned i = 0; i < 50; i++)
        EXPECT(got[i] == 5 * i);
    CHECK(cudaLibraryUnload(library));
    CHECK(cudaFree(x));
#endif
    return 0;
}
