/* The instructions of an x86-64. The bits are those of the Intel 64 and IA-32 Architectures Software Developer's
 * Manual, volume 2, "CPUID". The compiler's own functions for this would add 4 KB to each library. */
#include "base/platform.h"

#if defined(__x86_64__)
#include <cpuid.h>

struct registers {
    unsigned eax, ebx, ecx, edx;
};

static struct registers cpuid(unsigned leaf, unsigned subleaf)
{
    struct registers r;
    __cpuid_count(leaf, subleaf, r.eax, r.ebx, r.ecx, r.edx);
    return r;
}

/* Returns the registers that the system saves and restores: a bit for each kind. */
static unsigned saved_registers(void)
{
    unsigned low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

static bool has(unsigned word, unsigned bits)
{
    return (word & bits) == bits;
}

static unsigned find_instructions(void)
{
    enum {
        FMA = 1 << 12,
        SAVES = 1 << 27,
        AVX = 1 << 28,
        AVX2 = 1 << 5,
        BMI2 = 1 << 8,
        VBMI = 1 << 1,
        VNNI = 1 << 11
    };
    enum { VECTORS = 0x6, WIDE_VECTORS = 0xe6 };
    const unsigned wide =
        1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31; /* F, DQ, CD, BW, VL */
    const struct registers first = cpuid(0, 0), common = cpuid(1, 0);
    unsigned found = first.ebx == 0x756e6547   ? X86_INTEL
                     : first.ebx == 0x68747541 ? X86_AMD
                                               : 0; /* Genu, Auth */
    if (first.eax < 7 || !has(common.ecx, FMA | SAVES | AVX) || !has(saved_registers(), VECTORS))
        return found;
    const struct registers more = cpuid(7, 0),
                           rest = more.eax ? cpuid(7, 1) : (struct registers){0};
    if (!has(more.ebx, AVX2 | BMI2))
        return found;
    found |= X86_V3;
    if (has(rest.eax, 1 << 4))
        found |= X86_AVX_VNNI;
    if (!has(more.ebx, wide) || !has(saved_registers(), WIDE_VECTORS))
        return found;
    found |= X86_V4;
    if (!has(more.ecx, VNNI))
        return found;
    found |= X86_VNNI;
    if (has(rest.eax, 1 << 5))
        found |= X86_BF16;
    if (has(more.edx, 1 << 23) && has(more.ecx, VBMI))
        found |= X86_FP16;
    if (has(more.edx, 1 << 22 | 1 << 24 | 1 << 25))
        found |= X86_AMX;
    return found;
}
#else
static unsigned find_instructions(void)
{
    return 0;
}
#endif

bool platform_x86_has(unsigned features)
{
    static _Atomic unsigned known; /* CPUID takes tens of microseconds in a virtual machine */
    if (!known)
        known = find_instructions() | X86_ASKED;
    return (known & features) == features;
}
