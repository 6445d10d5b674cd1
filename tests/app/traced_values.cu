// A kernel that stops if one of its floats has other bits than the host gave it: what a trace writes down must keep them all.
#include <cstring>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

struct mixed {
    float scale;
    double shift;
    char letter;
};

namespace kept {
template <int first>
__global__ void compare(float third, double tenth, float infinite, double infinite_too, float nan, float small, __half half, mixed m)
{
    bool same = __float_as_uint(third) == 0x3eaaaaab && __double_as_longlong(tenth) == 0x3fb999999999999a && __float_as_uint(infinite) == 0xff800000 &&
                __double_as_longlong(infinite_too) == 0x7ff0000000000000 && __float_as_uint(nan) == 0x7fc12345 && __float_as_uint(small) == 1 &&
                __half_as_ushort(half) == 0x3555 && m.scale == 1.5f && m.shift == 2.5 && m.letter == 'x';
    if (!same)
        __trap();
}
} // namespace kept

static float bits(unsigned u)
{
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

int main()
{
    kept::compare<1><<<1, 32>>>(1.0f / 3, 0.1, bits(0xff800000), (double)bits(0x7f800000), bits(0x7fc12345), bits(1), __ushort_as_half(0x3555), mixed{1.5f, 2.5, 'x'});
    return cudaDeviceSynchronize() != cudaSuccess;
}
