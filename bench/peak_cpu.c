/* Measures the most that one core multiplies, for each instruction: the upper limit for
 * products.
 *
 *     cc -O2 bench/peak_cpu.c -o peak_cpu && ./peak_cpu
 *
 * Prints GFLOP/s of chains of independent fused multiply-adds: of f32 (AVX-512 or AVX2), and of
 * pairs of bf16 with f32 sums (AVX512-BF16). Each is the best of 30 short runs. */
#include <stdio.h>
#include <time.h>

enum { RUNS = 30, TURNS = 100000, CHAINS = 12 };

#if defined __x86_64__
static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* CHAINS instructions, each of which adds to a register of its own. */
/* clang-format off */
#define ONE(name, r, i) name " %%" r "14, %%" r "15, %%" r i "\n\t"
#define ALL(name, r)                                                                               \
    ONE(name, r, "0") ONE(name, r, "1") ONE(name, r, "2") ONE(name, r, "3")                        \
    ONE(name, r, "4") ONE(name, r, "5") ONE(name, r, "6") ONE(name, r, "7")                        \
    ONE(name, r, "8") ONE(name, r, "9") ONE(name, r, "10") ONE(name, r, "11")
#define CLOBBERED                                                                                  \
    "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",       \
    "xmm11", "xmm14", "xmm15"
#define MEASURE(function, text)                                                                    \
    static double function(void)                                                                   \
    {                                                                                              \
        double best = 1e9;                                                                         \
        for (int run = 0; run < RUNS; run++) {                                                     \
            __asm__ volatile("vxorps %%xmm14, %%xmm14, %%xmm14\n\t"                                \
                             "vxorps %%xmm15, %%xmm15, %%xmm15" ::: CLOBBERED);                    \
            double from = seconds();                                                               \
            for (int i = 0; i < TURNS; i++)                                                        \
                __asm__ volatile(text ::: CLOBBERED);                                              \
            double taken = seconds() - from;                                                       \
            best = taken < best ? taken : best;                                                    \
        }                                                                                          \
        return 1e-9 * TURNS * CHAINS / best;                                                       \
    }
/* clang-format on */
MEASURE(fma_256, ALL("vfmadd231ps", "ymm"))
MEASURE(fma_512, ALL("vfmadd231ps", "zmm"))
MEASURE(pairs_512, ALL("vdpbf16ps", "zmm"))

int main(void)
{
    double f32 = 0;
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f"))
        f32 = 32 * fma_512();
    else if (__builtin_cpu_supports("fma"))
        f32 = 16 * fma_256();
    printf("peak of f32 multiply-adds %.0f GFLOP/s\n", f32);
    if (__builtin_cpu_supports("avx512bf16"))
        printf("peak of bf16 pairs (vdpbf16ps) %.0f GFLOP/s\n", 64 * pairs_512());
    return 0;
}
#else
int main(void)
{
    printf("peak of this machine's instructions is not known\n");
    return 0;
}
#endif
