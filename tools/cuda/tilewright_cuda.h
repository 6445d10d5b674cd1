/* Header that `tilewright check k.cu` includes before a CUDA C file if clang compiles it and no
 * CUDA toolkit is installed: the qualifiers, built-in variables and device functions that
 * kernels use, in terms of clang's builtins. If the toolkit is installed, its own headers are
 * used instead. Names and meaning are those of the CUDA C++ Programming Guide. */
/* clang-format off */
#ifndef TILEWRIGHT_CUDA_H
#define TILEWRIGHT_CUDA_H

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __managed__ __attribute__((managed))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#ifndef __align__
#define __align__(n) __attribute__((aligned(n)))
#endif
#define __restrict __restrict__
#define __grid_constant__
/* nodebug: inlined code belongs to the line that calls these functions */
#define TW_D static __device__ __forceinline__ __attribute__((nodebug))
#define TW_HD static __host__ __device__ __forceinline__ __attribute__((nodebug))

typedef __SIZE_TYPE__ size_t;
typedef __INT8_TYPE__ int8_t;
typedef __INT16_TYPE__ int16_t;
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;
typedef __UINT8_TYPE__ uint8_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __UINT64_TYPE__ uint64_t;
typedef unsigned int uint;
typedef unsigned short ushort;
typedef unsigned long ulong;
typedef __INTPTR_TYPE__ intptr_t;
typedef __UINTPTR_TYPE__ uintptr_t;
#ifndef NULL
#define NULL nullptr
#endif

/* --- vector types --- */

#define TW_VECTOR(type, name, align2, align4)                                                      \
    struct name##1 { type x; };                                                                    \
    struct __attribute__((aligned(align2))) name##2 { type x, y; };                                \
    struct name##3 { type x, y, z; };                                                              \
    struct __attribute__((aligned(align4))) name##4 { type x, y, z, w; };                          \
    static __host__ __device__ inline name##2 make_##name##2(type x, type y) { return {x, y}; }    \
    static __host__ __device__ inline name##3 make_##name##3(type x, type y, type z)               \
    { return {x, y, z}; }                                                                          \
    static __host__ __device__ inline name##4 make_##name##4(type x, type y, type z, type w)       \
    { return {x, y, z, w}; }
TW_VECTOR(signed char, char, 2, 4)
TW_VECTOR(unsigned char, uchar, 2, 4)
TW_VECTOR(short, short, 4, 8)
TW_VECTOR(unsigned short, ushort, 4, 8)
TW_VECTOR(int, int, 8, 16)
TW_VECTOR(unsigned, uint, 8, 16)
TW_VECTOR(long long, longlong, 16, 16)
TW_VECTOR(unsigned long long, ulonglong, 16, 16)
TW_VECTOR(float, float, 8, 16)
TW_VECTOR(double, double, 16, 16)

struct dim3 {
    unsigned x, y, z;
    __host__ __device__ dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};

/* --- who am I --- */

#define TW_SPECIAL(name, sreg)                                                                     \
    struct tw_##name {                                                                             \
        __declspec(property(get = get_x)) unsigned x;                                              \
        __declspec(property(get = get_y)) unsigned y;                                              \
        __declspec(property(get = get_z)) unsigned z;                                              \
        TW_D unsigned get_x() { return __nvvm_read_ptx_sreg_##sreg##_x(); }                        \
        TW_D unsigned get_y() { return __nvvm_read_ptx_sreg_##sreg##_y(); }                        \
        TW_D unsigned get_z() { return __nvvm_read_ptx_sreg_##sreg##_z(); }                        \
    };                                                                                             \
    extern const __device__ __attribute__((weak)) tw_##name name;
TW_SPECIAL(threadIdx, tid)
TW_SPECIAL(blockIdx, ctaid)
TW_SPECIAL(blockDim, ntid)
TW_SPECIAL(gridDim, nctaid)
static const int warpSize __attribute__((unused)) = 32;

/* --- order; __syncthreads() is built into clang --- */

TW_D int __syncthreads_count(int p) { return __nvvm_bar0_popc(p); }
TW_D int __syncthreads_and(int p) { return __nvvm_bar0_and(p); }
TW_D int __syncthreads_or(int p) { return __nvvm_bar0_or(p); }
TW_D void __syncwarp(unsigned mask = 0xffffffff) { __nvvm_bar_warp_sync(mask); }
TW_D void __threadfence_block() { __nvvm_membar_cta(); }
TW_D void __threadfence() { __nvvm_membar_gl(); }
TW_D void __threadfence_system() { __nvvm_membar_sys(); }

TW_D void __trap() { __builtin_trap(); }
TW_D void __brkpt() { asm volatile("brkpt;"); }
TW_D void __nanosleep(unsigned ns) { asm volatile("nanosleep.u32 %0;" : : "r"(ns)); }
TW_D long long clock64() { long long t; asm volatile("mov.u64 %0, %%clock64;" : "=l"(t)); return t; }
TW_D int clock() { int t; asm volatile("mov.u32 %0, %%clock;" : "=r"(t)); return t; }

/* --- asynchronous copies (cuda_pipeline.h) --- */

TW_D void __pipeline_memcpy_async(void *to, const void *from, size_t bytes, size_t zeros = 0)
{
    unsigned at = (unsigned)(size_t)(__attribute__((address_space(3))) void *)to;
    unsigned take = (unsigned)(bytes - zeros);
    if (bytes == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" : : "r"(at), "l"(from), "r"(take) : "memory");
    else if (bytes == 8)
        asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" : : "r"(at), "l"(from), "r"(take) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" : : "r"(at), "l"(from), "r"(take) : "memory");
}
TW_D void __pipeline_commit() { asm volatile("cp.async.commit_group;" : : : "memory"); }
#define __pipeline_wait_prior(n) asm volatile("cp.async.wait_group %0;" : : "n"(n) : "memory")

/* --- lanes --- */

TW_D unsigned __activemask() { unsigned m; asm volatile("activemask.b32 %0;" : "=r"(m)); return m; }
TW_D unsigned __ballot_sync(unsigned m, int p) { return __nvvm_vote_ballot_sync(m, p); }
TW_D int __all_sync(unsigned m, int p) { return __nvvm_vote_all_sync(m, p); }
TW_D int __any_sync(unsigned m, int p) { return __nvvm_vote_any_sync(m, p); }
TW_D unsigned __match_any_sync(unsigned m, unsigned v)
{ unsigned r; asm volatile("match.any.sync.b32 %0, %1, %2;" : "=r"(r) : "r"(v), "r"(m)); return r; }
TW_D unsigned __match_all_sync(unsigned m, unsigned v, int *all)
{
    unsigned r, p;
    asm volatile("{ .reg .pred p; match.all.sync.b32 %0|p, %2, %3; selp.u32 %1, 1, 0, p; }"
                 : "=r"(r), "=r"(p) : "r"(v), "r"(m));
    *all = (int)p;
    return r;
}
#define TW_REDUX(name, op, type, c)                                                                \
    TW_D type name(unsigned m, type v)                                                             \
    { type r; asm volatile("redux.sync." op " %0, %1, %2;" : "=r"(r) : "r"(v), "r"(m)); return r; }
TW_REDUX(__reduce_add_sync, "add.u32", unsigned, r)
TW_REDUX(__reduce_min_sync, "min.u32", unsigned, r)
TW_REDUX(__reduce_max_sync, "max.u32", unsigned, r)
TW_REDUX(__reduce_and_sync, "and.b32", unsigned, r)
TW_REDUX(__reduce_or_sync, "or.b32", unsigned, r)
TW_REDUX(__reduce_xor_sync, "xor.b32", unsigned, r)
TW_REDUX(__reduce_add_sync, "add.s32", int, r)
TW_REDUX(__reduce_min_sync, "min.s32", int, r)
TW_REDUX(__reduce_max_sync, "max.s32", int, r)
#define TW_SHUFFLE(name, how, clamp)                                                               \
    TW_D int name(unsigned m, int v, int l, int width = 32)                                        \
    { return __nvvm_shfl_sync_##how##_i32(m, v, l, ((32 - width) << 8) | clamp); }                 \
    TW_D unsigned name(unsigned m, unsigned v, int l, int width = 32)                              \
    { return (unsigned)name(m, (int)v, l, width); }                                                \
    TW_D float name(unsigned m, float v, int l, int width = 32)                                    \
    { return __nvvm_shfl_sync_##how##_f32(m, v, l, ((32 - width) << 8) | clamp); }                 \
    TW_D long long name(unsigned m, long long v, int l, int width = 32)                            \
    {                                                                                              \
        int lo = name(m, (int)v, l, width), hi = name(m, (int)(v >> 32), l, width);                \
        return (long long)hi << 32 | (unsigned)lo;                                                 \
    }                                                                                              \
    TW_D unsigned long long name(unsigned m, unsigned long long v, int l, int width = 32)          \
    { return (unsigned long long)name(m, (long long)v, l, width); }                                \
    TW_D long name(unsigned m, long v, int l, int width = 32)                                      \
    { return (long)name(m, (long long)v, l, width); }                                              \
    TW_D unsigned long name(unsigned m, unsigned long v, int l, int width = 32)                    \
    { return (unsigned long)name(m, (long long)v, l, width); }                                     \
    TW_D double name(unsigned m, double v, int l, int width = 32)                                  \
    {                                                                                              \
        long long bits;                                                                            \
        __builtin_memcpy(&bits, &v, 8);                                                            \
        bits = name(m, bits, l, width);                                                            \
        __builtin_memcpy(&v, &bits, 8);                                                            \
        return v;                                                                                  \
    }
TW_SHUFFLE(__shfl_sync, idx, 0x1f)
TW_SHUFFLE(__shfl_up_sync, up, 0)
TW_SHUFFLE(__shfl_down_sync, down, 0x1f)
TW_SHUFFLE(__shfl_xor_sync, bfly, 0x1f)

/* --- atomics: relaxed, on the GPU's scope --- */

#define TW_ATOMIC(type, name, builtin)                                                             \
    TW_D type name(type *p, type v) { return builtin; }
TW_ATOMIC(int, atomicAdd, __nvvm_atom_add_gen_i(p, v))
TW_ATOMIC(unsigned, atomicAdd, (unsigned)__nvvm_atom_add_gen_i((int *)p, (int)v))
TW_ATOMIC(unsigned long long, atomicAdd, (unsigned long long)__nvvm_atom_add_gen_ll((long long *)p, (long long)v))
TW_ATOMIC(float, atomicAdd, __nvvm_atom_add_gen_f(p, v))
TW_ATOMIC(double, atomicAdd, __nvvm_atom_add_gen_d(p, v))
TW_ATOMIC(int, atomicSub, __nvvm_atom_add_gen_i(p, (int)(0u - (unsigned)v)))
TW_ATOMIC(unsigned, atomicSub, (unsigned)__nvvm_atom_add_gen_i((int *)p, -(int)v))
TW_ATOMIC(int, atomicExch, __nvvm_atom_xchg_gen_i(p, v))
TW_ATOMIC(unsigned, atomicExch, (unsigned)__nvvm_atom_xchg_gen_i((int *)p, (int)v))
TW_ATOMIC(int, atomicMin, __nvvm_atom_min_gen_i(p, v))
TW_ATOMIC(int, atomicMax, __nvvm_atom_max_gen_i(p, v))
TW_ATOMIC(unsigned, atomicMin, __nvvm_atom_min_gen_ui(p, v))
TW_ATOMIC(unsigned, atomicMax, __nvvm_atom_max_gen_ui(p, v))
TW_ATOMIC(int, atomicAnd, __nvvm_atom_and_gen_i(p, v))
TW_ATOMIC(int, atomicOr, __nvvm_atom_or_gen_i(p, v))
TW_ATOMIC(int, atomicXor, __nvvm_atom_xor_gen_i(p, v))
TW_ATOMIC(unsigned, atomicAnd, (unsigned)__nvvm_atom_and_gen_i((int *)p, (int)v))
TW_ATOMIC(unsigned, atomicOr, (unsigned)__nvvm_atom_or_gen_i((int *)p, (int)v))
TW_ATOMIC(unsigned, atomicXor, (unsigned)__nvvm_atom_xor_gen_i((int *)p, (int)v))
TW_ATOMIC(unsigned, atomicInc, __nvvm_atom_inc_gen_ui(p, v))
TW_ATOMIC(unsigned, atomicDec, __nvvm_atom_dec_gen_ui(p, v))
#define TW_ATOMIC_LONG(type, name, op)                                                             \
    TW_D type name(type *p, type v)                                                                \
    { type r; asm volatile("atom." op " %0, [%1], %2;" : "=l"(r) : "l"(p), "l"(v) : "memory"); return r; }
TW_ATOMIC_LONG(unsigned long long, atomicExch, "exch.b64")
TW_ATOMIC_LONG(unsigned long long, atomicAnd, "and.b64")
TW_ATOMIC_LONG(unsigned long long, atomicOr, "or.b64")
TW_ATOMIC_LONG(unsigned long long, atomicXor, "xor.b64")
TW_ATOMIC_LONG(unsigned long long, atomicMin, "min.u64")
TW_ATOMIC_LONG(unsigned long long, atomicMax, "max.u64")
TW_ATOMIC_LONG(long long, atomicMin, "min.s64")
TW_ATOMIC_LONG(long long, atomicMax, "max.s64")
TW_D float atomicExch(float *p, float v)
{ float r; asm volatile("atom.exch.b32 %0, [%1], %2;" : "=f"(r) : "l"(p), "f"(v) : "memory"); return r; }
#define TW_SCOPED(type, name, op, c)                                                               \
    TW_D type name##_block(type *p, type v)                                                        \
    { type r; asm volatile("atom.cta." op " %0, [%1], %2;" : "=" c(r) : "l"(p), c(v) : "memory"); return r; } \
    TW_D type name##_system(type *p, type v)                                                       \
    { type r; asm volatile("atom.sys." op " %0, [%1], %2;" : "=" c(r) : "l"(p), c(v) : "memory"); return r; }
#define TW_SCOPED_CAS(type, op, c)                                                                 \
    TW_D type atomicCAS_block(type *p, type o, type v)                                             \
    { type r; asm volatile("atom.cta.cas." op " %0, [%1], %2, %3;" : "=" c(r) : "l"(p), c(o), c(v) : "memory"); return r; } \
    TW_D type atomicCAS_system(type *p, type o, type v)                                            \
    { type r; asm volatile("atom.sys.cas." op " %0, [%1], %2, %3;" : "=" c(r) : "l"(p), c(o), c(v) : "memory"); return r; }
#define TW_SCOPED_ALL(type, add, low, bits, c)                                                     \
    TW_SCOPED(type, atomicAdd, "add." add, c)                                                      \
    TW_SCOPED(type, atomicExch, "exch." bits, c)                                                   \
    TW_SCOPED(type, atomicMin, "min." low, c)                                                      \
    TW_SCOPED(type, atomicMax, "max." low, c)                                                      \
    TW_SCOPED(type, atomicAnd, "and." bits, c)                                                     \
    TW_SCOPED(type, atomicOr, "or." bits, c)                                                       \
    TW_SCOPED(type, atomicXor, "xor." bits, c)                                                     \
    TW_SCOPED_CAS(type, bits, c)
TW_SCOPED_ALL(int, "s32", "s32", "b32", "r")
TW_SCOPED_ALL(unsigned, "u32", "u32", "b32", "r")
TW_SCOPED_ALL(unsigned long long, "u64", "u64", "b64", "l")
TW_SCOPED(float, atomicAdd, "add.f32", "f")
TW_SCOPED(double, atomicAdd, "add.f64", "d")
TW_SCOPED(float, atomicExch, "exch.b32", "f")
TW_SCOPED(unsigned, atomicInc, "inc.u32", "r")
TW_SCOPED(unsigned, atomicDec, "dec.u32", "r")
TW_D int atomicSub_block(int *p, int v) { return atomicAdd_block(p, (int)(0u - (unsigned)v)); }
TW_D int atomicSub_system(int *p, int v) { return atomicAdd_system(p, (int)(0u - (unsigned)v)); }
TW_D unsigned atomicSub_block(unsigned *p, unsigned v) { return atomicAdd_block(p, -v); }
TW_D unsigned atomicSub_system(unsigned *p, unsigned v) { return atomicAdd_system(p, -v); }
TW_D int atomicCAS(int *p, int c, int v) { return __nvvm_atom_cas_gen_i(p, c, v); }
TW_D unsigned atomicCAS(unsigned *p, unsigned c, unsigned v) { return (unsigned)__nvvm_atom_cas_gen_i((int *)p, (int)c, (int)v); }
TW_D unsigned long long atomicCAS(unsigned long long *p, unsigned long long c, unsigned long long v)
{ return (unsigned long long)__nvvm_atom_cas_gen_ll((long long *)p, (long long)c, (long long)v); }

/* --- bits and numbers --- */

TW_D int __popc(unsigned x) { return __builtin_popcount(x); }
TW_D int __clz(int x) { return x == 0 ? 32 : __builtin_clz((unsigned)x); }
TW_D int __ffs(int x) { return __builtin_ffs(x); }
TW_D unsigned __brev(unsigned x) { return __builtin_bitreverse32(x); }
TW_D int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
TW_D int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll((unsigned long long)x); }
TW_D int __ffsll(long long x) { return __builtin_ffsll(x); }
TW_D unsigned long long __brevll(unsigned long long x) { return __builtin_bitreverse64(x); }
TW_D unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((unsigned long long)a * b >> 32); }
TW_D int __mulhi(int a, int b) { return (int)((long long)a * b >> 32); }
TW_D unsigned long long __umul64hi(unsigned long long a, unsigned long long b) { return __nvvm_mulhi_ull(a, b); }
TW_D long long __mul64hi(long long a, long long b) { return __nvvm_mulhi_ll(a, b); }
TW_D int __mul24(int a, int b) { return __nvvm_mul24_i(a, b); }
TW_D unsigned __umul24(unsigned a, unsigned b) { return __nvvm_mul24_ui(a, b); }
TW_D unsigned __sad(int a, int b, unsigned c)
{ unsigned r; asm("sad.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c)); return r; }
TW_D unsigned __usad(unsigned a, unsigned b, unsigned c)
{ unsigned r; asm("sad.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c)); return r; }
TW_D unsigned __byte_perm(unsigned a, unsigned b, unsigned s)
{ unsigned r; asm("prmt.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(s)); return r; }
#define TW_FUNNEL(name, how)                                                                       \
    TW_D unsigned name(unsigned lo, unsigned hi, unsigned n)                                       \
    { unsigned r; asm("shf." how ".b32 %0, %1, %2, %3;" : "=r"(r) : "r"(lo), "r"(hi), "r"(n)); return r; }
TW_FUNNEL(__funnelshift_l, "l.wrap")
TW_FUNNEL(__funnelshift_r, "r.wrap")
TW_FUNNEL(__funnelshift_lc, "l.clamp")
TW_FUNNEL(__funnelshift_rc, "r.clamp")
#define TW_ISSPACE(name, space)                                                                    \
    TW_D unsigned name(const void *p)                                                              \
    {                                                                                              \
        unsigned r;                                                                                \
        asm("{ .reg .pred p; isspacep." space " p, %1; selp.u32 %0, 1, 0, p; }" : "=r"(r) : "l"(p));\
        return r;                                                                                  \
    }
TW_ISSPACE(__isGlobal, "global")
TW_ISSPACE(__isShared, "shared")
TW_ISSPACE(__isLocal, "local")
TW_ISSPACE(__isConstant, "const")
TW_D long long __double_as_longlong(double f) { long long i; __builtin_memcpy(&i, &f, 8); return i; }
TW_D double __longlong_as_double(long long i) { double f; __builtin_memcpy(&f, &i, 8); return f; }
TW_D int __float_as_int(float f) { int i; __builtin_memcpy(&i, &f, 4); return i; }
TW_D unsigned __float_as_uint(float f) { unsigned i; __builtin_memcpy(&i, &f, 4); return i; }
TW_D float __int_as_float(int i) { float f; __builtin_memcpy(&f, &i, 4); return f; }
TW_D float __uint_as_float(unsigned i) { float f; __builtin_memcpy(&f, &i, 4); return f; }
template <class T> TW_D T __ldg(const T *p) { return *p; }
template <class T> TW_D T __ldcg(const T *p) { return *p; }
template <class T> TW_D T __ldcs(const T *p) { return *p; }
template <class T> TW_D T __ldca(const T *p) { return *p; }
template <class T> TW_D void __stcg(T *p, T v) { *p = v; }
template <class T> TW_D void __stcs(T *p, T v) { *p = v; }
template <class T> TW_D void __stwb(T *p, T v) { *p = v; }
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define TW_ROUNDED(name, op)                                                                       \
    TW_D float __f##name##_rn(float a, float b) { return __nvvm_##op##_rn_f(a, b); }               \
    TW_D float __f##name##_rz(float a, float b) { return __nvvm_##op##_rz_f(a, b); }               \
    TW_D float __f##name##_ru(float a, float b) { return __nvvm_##op##_rp_f(a, b); }               \
    TW_D float __f##name##_rd(float a, float b) { return __nvvm_##op##_rm_f(a, b); }               \
    TW_D double __d##name##_rn(double a, double b) { return __nvvm_##op##_rn_d(a, b); }            \
    TW_D double __d##name##_rz(double a, double b) { return __nvvm_##op##_rz_d(a, b); }            \
    TW_D double __d##name##_ru(double a, double b) { return __nvvm_##op##_rp_d(a, b); }            \
    TW_D double __d##name##_rd(double a, double b) { return __nvvm_##op##_rm_d(a, b); }
TW_ROUNDED(add, add)
TW_ROUNDED(mul, mul)
TW_ROUNDED(div, div)
TW_D float __fsub_rn(float a, float b) { return __nvvm_add_rn_f(a, -b); }
TW_D float __fsub_rz(float a, float b) { return __nvvm_add_rz_f(a, -b); }
TW_D float __fmaf_rz(float a, float b, float c) { return __nvvm_fma_rz_f(a, b, c); }
TW_D float __fmaf_ru(float a, float b, float c) { return __nvvm_fma_rp_f(a, b, c); }
TW_D float __fmaf_rd(float a, float b, float c) { return __nvvm_fma_rm_f(a, b, c); }
TW_D float __frcp_rn(float x) { return __nvvm_rcp_rn_f(x); }
TW_D float __fsqrt_rn(float x) { return __nvvm_sqrt_rn_f(x); }
TW_D float __frsqrt_rn(float x) { return __nvvm_rcp_rn_f(__nvvm_sqrt_rn_f(x)); }
TW_D float __saturatef(float x) { return __nvvm_saturate_f(x); }
TW_D int __float2int_rn(float x) { return __nvvm_f2i_rn(x); }
TW_D int __float2int_rz(float x) { return __nvvm_f2i_rz(x); }
TW_D int __float2int_rd(float x) { return __nvvm_f2i_rm(x); }
TW_D int __float2int_ru(float x) { return __nvvm_f2i_rp(x); }
TW_D unsigned __float2uint_rn(float x) { return __nvvm_f2ui_rn(x); }
TW_D unsigned __float2uint_rz(float x) { return __nvvm_f2ui_rz(x); }
TW_D float __int2float_rn(int x) { return __nvvm_i2f_rn(x); }
TW_D float __uint2float_rn(unsigned x) { return __nvvm_ui2f_rn(x); }
TW_D float __double2float_rn(double x) { return __nvvm_d2f_rn(x); }
TW_D float floorf(float x) { return __nvvm_floor_f(x); }
TW_D float ceilf(float x) { return __nvvm_ceil_f(x); }
TW_D float truncf(float x) { return __nvvm_trunc_f(x); }
TW_D float rintf(float x) { return __nvvm_round_f(x); }
TW_D float nearbyintf(float x) { return __nvvm_round_f(x); }
TW_D float copysignf(float a, float b) { return __builtin_copysignf(a, b); }
TW_D double floor(double x) { return __nvvm_floor_d(x); }
TW_D double ceil(double x) { return __nvvm_ceil_d(x); }
TW_D double trunc(double x) { return __nvvm_trunc_d(x); }
TW_D double rint(double x) { return __nvvm_round_d(x); }
TW_D double fabs(double x) { return __builtin_fabs(x); }
TW_D double fmin(double a, double b) { return __nvvm_fmin_d(a, b); }
TW_D double fmax(double a, double b) { return __nvvm_fmax_d(a, b); }
#ifdef isnan
#undef isnan
#endif
TW_D int isnan(float x) { return x != x; }
TW_D int isnan(double x) { return x != x; }
TW_D int isinf(float x) { return __builtin_fabsf(x) == __builtin_inff(); }
TW_D int isinf(double x) { return __builtin_fabs(x) == __builtin_inf(); }
template <class T> TW_HD T min(T a, T b) { return b < a ? b : a; }
template <class T> TW_HD T max(T a, T b) { return a < b ? b : a; }
template <class T, class U> TW_HD auto min(T a, U b) -> decltype(a + b) { return b < a ? b : a; }
template <class T, class U> TW_HD auto max(T a, U b) -> decltype(a + b) { return a < b ? b : a; }
TW_D int abs(int x) { return x < 0 ? -x : x; }
TW_D float fminf(float a, float b) { return __nvvm_fmin_f(a, b); }
TW_D float fmaxf(float a, float b) { return __nvvm_fmax_f(a, b); }
TW_D float fabsf(float a) { return __builtin_fabsf(a); }
TW_D float fmaf(float a, float b, float c) { return __nvvm_fma_rn_f(a, b, c); }
TW_D double fma(double a, double b, double c) { return __nvvm_fma_rn_d(a, b, c); }
TW_D float __fmaf_rn(float a, float b, float c) { return __nvvm_fma_rn_f(a, b, c); }
TW_D float sqrtf(float x) { return __nvvm_sqrt_rn_f(x); }
TW_D double sqrt(double x) { return __nvvm_sqrt_rn_d(x); }
TW_D float rsqrtf(float x) { return __nvvm_rsqrt_approx_f(x); }
TW_D float __fdividef(float a, float b) { return __nvvm_div_approx_f(a, b); }
TW_D float exp2f(float x) { return __nvvm_ex2_approx_f(x); }
TW_D float __expf(float x) { return __nvvm_ex2_approx_f(x * 1.44269504f); }
TW_D float expf(float x) { return __nvvm_ex2_approx_f(x * 1.44269504f); }
TW_D float log2f(float x) { return __nvvm_lg2_approx_f(x); }
TW_D float __logf(float x) { return __nvvm_lg2_approx_f(x) * 0.69314718f; }
TW_D float logf(float x) { return __nvvm_lg2_approx_f(x) * 0.69314718f; }
TW_D float __powf(float x, float y) { return __nvvm_ex2_approx_f(y * __nvvm_lg2_approx_f(x)); }
TW_D float __exp10f(float x) { return __nvvm_ex2_approx_f(x * 3.32192809f); }
TW_D float __log2f(float x) { return __nvvm_lg2_approx_f(x); }
TW_D float __log10f(float x) { return __nvvm_lg2_approx_f(x) * 0.30103f; }
TW_D float __tanf(float x) { return __nvvm_sin_approx_f(x) / __nvvm_cos_approx_f(x); }
TW_D void __sincosf(float x, float *s, float *c) { *s = __nvvm_sin_approx_f(x); *c = __nvvm_cos_approx_f(x); }
TW_D float __sinf(float x) { return __nvvm_sin_approx_f(x); }
TW_D float __cosf(float x) { return __nvvm_cos_approx_f(x); }
TW_D float sinf(float x) { return __nvvm_sin_approx_f(x); }
TW_D float cosf(float x) { return __nvvm_cos_approx_f(x); }
TW_D float tanhf(float x)
{
    float e = __nvvm_ex2_approx_f(2.88539008f * x);
    return x > 9.0f ? 1.0f : 1.0f - 2.0f / (e + 1.0f);
}
TW_D float powf(float x, float y)
{
    float p = __nvvm_ex2_approx_f(y * __nvvm_lg2_approx_f(__builtin_fabsf(x)));
    bool whole = __nvvm_trunc_f(y) == y, odd = whole && __nvvm_trunc_f(y / 2) * 2 != y;
    return y == 0 ? 1.0f : x < 0 && !whole ? NAN : x < 0 && odd ? -p : p;
}
TW_D float fmodf(float a, float b) { return a - __nvvm_trunc_f(a / b) * b; }
TW_D float roundf(float x) { return __nvvm_trunc_f(x + __builtin_copysignf(0.5f, x)); }
TW_D float log10f(float x) { return __nvvm_lg2_approx_f(x) * 0.30103f; }
TW_D float exp10f(float x) { return __nvvm_ex2_approx_f(x * 3.32192809f); }
TW_D float tanf(float x) { return __nvvm_sin_approx_f(x) / __nvvm_cos_approx_f(x); }
TW_D void sincosf(float x, float *s, float *c) { *s = __nvvm_sin_approx_f(x); *c = __nvvm_cos_approx_f(x); }
TW_D float hypotf(float a, float b) { return __nvvm_sqrt_rn_f(a * a + b * b); }
TW_D float fdimf(float a, float b) { return a > b ? a - b : 0; }
TW_D void *memset(void *to, int byte, size_t count) { return __builtin_memset(to, byte, count); }
TW_D void *memcpy(void *to, const void *from, size_t count) { return __builtin_memcpy(to, from, count); }
#ifndef M_PI
#define M_PI 3.14159265358979323846
#endif
TW_D size_t __cvta_generic_to_shared(const void *p)
{
    return (size_t)(const __attribute__((address_space(3))) void *)p;
}

/* --- what the device's runtime has --- */

extern "C" __device__ int vprintf(const char *, const char *);
extern "C" __device__ int printf(const char *, ...);
extern "C" __device__ void *malloc(size_t);
extern "C" __device__ void free(void *);
extern "C" __host__ __device__ __attribute__((noreturn)) void __assertfail(const char *, const char *, unsigned, const char *, size_t);

/* --- the host's part: declared, so that a file may have one; it is not run --- */

struct CUstream_st;
struct CUevent_st;
typedef CUstream_st *cudaStream_t;
typedef CUevent_st *cudaEvent_t;
enum cudaError { cudaSuccess, cudaErrorInvalidValue, cudaErrorMemoryAllocation, cudaErrorUnknown = 999 };
typedef cudaError cudaError_t;
enum cudaMemcpyKind {
    cudaMemcpyHostToHost, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice, cudaMemcpyDefault
};
enum cudaFuncAttribute {
    cudaFuncAttributeMaxDynamicSharedMemorySize = 8, cudaFuncAttributePreferredSharedMemoryCarveout = 9
};
enum cudaDeviceAttr { cudaDevAttrMaxThreadsPerBlock = 1, cudaDevAttrMultiProcessorCount = 16, cudaDevAttrCooperativeLaunch = 95 };
enum { cudaMemAttachGlobal = 1, cudaMemAttachHost = 2, cudaStreamNonBlocking = 1, cudaHostAllocDefault = 0, cudaEventDisableTiming = 2 };
struct cudaDeviceProp {
    char name[256];
    size_t totalGlobalMem, sharedMemPerBlock, sharedMemPerMultiprocessor, sharedMemPerBlockOptin, totalConstMem;
    int regsPerBlock, warpSize, maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3], major, minor, multiProcessorCount;
    int maxThreadsPerMultiProcessor, l2CacheSize, memoryBusWidth, cooperativeLaunch, clockRate, memoryClockRate;
};
extern "C" unsigned __cudaPushCallConfiguration(dim3, dim3, size_t = 0, void * = 0);
extern "C" int cudaConfigureCall(dim3, dim3, size_t = 0, cudaStream_t = 0);
extern "C" {
cudaError_t cudaFree(void *);
cudaError_t cudaFreeHost(void *);
cudaError_t cudaMemcpy(void *, const void *, size_t, cudaMemcpyKind);
cudaError_t cudaMemcpyAsync(void *, const void *, size_t, cudaMemcpyKind, cudaStream_t = 0);
cudaError_t cudaMemcpy2D(void *, size_t, const void *, size_t, size_t, size_t, cudaMemcpyKind);
cudaError_t cudaMemset(void *, int, size_t);
cudaError_t cudaMemsetAsync(void *, int, size_t, cudaStream_t = 0);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaDeviceReset();
cudaError_t cudaGetLastError();
cudaError_t cudaPeekAtLastError();
const char *cudaGetErrorString(cudaError_t);
const char *cudaGetErrorName(cudaError_t);
cudaError_t cudaSetDevice(int);
cudaError_t cudaGetDevice(int *);
cudaError_t cudaGetDeviceCount(int *);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *, int);
cudaError_t cudaDeviceGetAttribute(int *, cudaDeviceAttr, int);
cudaError_t cudaStreamCreate(cudaStream_t *);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *, unsigned);
cudaError_t cudaStreamSynchronize(cudaStream_t);
cudaError_t cudaStreamDestroy(cudaStream_t);
cudaError_t cudaEventCreate(cudaEvent_t *);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *, unsigned);
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t = 0);
cudaError_t cudaEventSynchronize(cudaEvent_t);
cudaError_t cudaEventElapsedTime(float *, cudaEvent_t, cudaEvent_t);
cudaError_t cudaEventDestroy(cudaEvent_t);
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned = 0);
}
template <class T> cudaError_t cudaMalloc(T **, size_t);
template <class T> cudaError_t cudaMallocManaged(T **, size_t, unsigned = cudaMemAttachGlobal);
template <class T> cudaError_t cudaMallocHost(T **, size_t, unsigned = 0);
template <class T> cudaError_t cudaHostAlloc(T **, size_t, unsigned);
template <class T> cudaError_t cudaMallocAsync(T **, size_t, cudaStream_t);
template <class T> cudaError_t cudaMemcpyToSymbol(const T &, const void *, size_t, size_t = 0, cudaMemcpyKind = cudaMemcpyHostToDevice);
template <class T> cudaError_t cudaMemcpyFromSymbol(void *, const T &, size_t, size_t = 0, cudaMemcpyKind = cudaMemcpyDeviceToHost);
template <class T> cudaError_t cudaGetSymbolAddress(void **, const T &);
template <class T> cudaError_t cudaFuncSetAttribute(T *, cudaFuncAttribute, int);
template <class T> cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *, T, int, size_t);
template <class T> cudaError_t cudaOccupancyMaxPotentialBlockSize(int *, int *, T, size_t = 0, int = 0);
template <class T> cudaError_t cudaLaunchKernel(T *, dim3, dim3, void **, size_t = 0, cudaStream_t = 0);
template <class T> cudaError_t cudaLaunchCooperativeKernel(T *, dim3, dim3, void **, size_t = 0, cudaStream_t = 0);

#endif

/* --- assert.h, cassert: these may come more than once, with and without NDEBUG --- */

#undef assert
#ifdef NDEBUG
#define assert(x) ((void)0)
#elif defined(__CUDA_ARCH__)
#define assert(x) ((x) ? (void)0 : __assertfail(#x, __FILE__, __LINE__, __PRETTY_FUNCTION__, 1))
#else
#define assert(x) ((void)(x))
#endif

/* --- cooperative_groups.h: the block, its tiles of up to a warp, active lanes, the grid --- */

#if defined(TW_WANTS_GROUPS) && !defined(TW_HAS_GROUPS)
#define TW_HAS_GROUPS
namespace cooperative_groups {
struct thread_block {
    TW_D void sync() { __syncthreads(); }
    TW_D unsigned thread_rank() { return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x; }
    TW_D unsigned size() { return blockDim.x * blockDim.y * blockDim.z; }
    TW_D unsigned num_threads() { return size(); }
    TW_D dim3 group_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
    TW_D dim3 thread_index() { return dim3(threadIdx.x, threadIdx.y, threadIdx.z); }
    TW_D dim3 group_dim() { return dim3(blockDim.x, blockDim.y, blockDim.z); }
    TW_D dim3 dim_threads() { return group_dim(); }
};
TW_D thread_block this_thread_block() { return {}; }
/* Like the toolkit's grid_group: %envreg1 and %envreg2 hold a counter's address. Its top bit
 * flips when all blocks have arrived. */
struct grid_group {
    TW_D unsigned *counter()
    {
        unsigned high, low;
        asm("mov.u32 %0, %%envreg1;" : "=r"(high));
        asm("mov.u32 %0, %%envreg2;" : "=r"(low));
        unsigned long long at = (unsigned long long)high << 32 | low;
        return at ? (unsigned *)at + 1 : nullptr;
    }
    TW_D bool is_valid() { return counter() != nullptr; }
    TW_D unsigned long long num_blocks() { return (unsigned long long)gridDim.x * gridDim.y * gridDim.z; }
    TW_D unsigned long long block_rank()
    { return ((unsigned long long)blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x; }
    TW_D unsigned long long size() { return num_blocks() * thread_block::size(); }
    TW_D unsigned long long num_threads() { return size(); }
    TW_D unsigned long long thread_rank() { return block_rank() * thread_block::size() + thread_block::thread_rank(); }
    TW_D dim3 group_dim() { return dim3(gridDim.x, gridDim.y, gridDim.z); }
    TW_D void sync()
    {
        unsigned *at = counter(), before, now;
        if (!at)
            __trap();
        __syncthreads();
        if (thread_block::thread_rank() == 0) {
            unsigned add = block_rank() ? 1 : 0x80000000u - ((unsigned)num_blocks() - 1);
            asm volatile("atom.add.release.gpu.u32 %0, [%1], %2;" : "=r"(before) : "l"(at), "r"(add) : "memory");
            do
                asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(now) : "l"(at) : "memory");
            while (!((before ^ now) & 0x80000000u));
        }
        __syncthreads();
    }
};
TW_D grid_group this_grid() { return {}; }
template <unsigned N, class Parent = void> struct thread_block_tile {
    static_assert(N && N <= 32 && !(N & (N - 1)), "tiles of more than a warp need nvcc");
    TW_D unsigned thread_rank() { return thread_block::thread_rank() % N; }
    TW_D unsigned mask() { return (N == 32 ? 0xffffffffu : (1u << N % 32) - 1) << (thread_block::thread_rank() % 32 / N * N); }
    TW_D constexpr unsigned size() { return N; }
    TW_D constexpr unsigned num_threads() { return N; }
    TW_D unsigned meta_group_rank() { return thread_block::thread_rank() / N; }
    TW_D unsigned meta_group_size() { return (thread_block::size() + N - 1) / N; }
    TW_D void sync() { __syncwarp(mask()); }
    template <class T> TW_D T shfl(T v, int l) { return __shfl_sync(mask(), v, l, N); }
    template <class T> TW_D T shfl_up(T v, unsigned l) { return __shfl_up_sync(mask(), v, l, N); }
    template <class T> TW_D T shfl_down(T v, unsigned l) { return __shfl_down_sync(mask(), v, l, N); }
    template <class T> TW_D T shfl_xor(T v, unsigned l) { return __shfl_xor_sync(mask(), v, l, N); }
    TW_D int any(int p) { return __any_sync(mask(), p); }
    TW_D int all(int p) { return __all_sync(mask(), p); }
    TW_D unsigned ballot(int p) { return __ballot_sync(mask(), p) >> (thread_block::thread_rank() % 32 / N * N) & (N == 32 ? 0xffffffffu : (1u << N % 32) - 1); }
};
template <unsigned N, class Group> TW_D thread_block_tile<N, Group> tiled_partition(const Group &) { return {}; }
template <class Group> TW_D void sync(const Group &g) { g.sync(); }

/* Lanes of a warp, ranked in their order. */
#define TW_M __device__ __forceinline__ __attribute__((nodebug)) /* a member */
struct coalesced_group {
    unsigned lanes;
    TW_M unsigned mask() const { return lanes; }
    TW_M unsigned size() const { return (unsigned)__popc(lanes); }
    TW_M unsigned num_threads() const { return size(); }
    TW_M unsigned thread_rank() const
    { unsigned below; asm("mov.u32 %0, %%lanemask_lt;" : "=r"(below)); return (unsigned)__popc(lanes & below); }
    TW_M void sync() const { __syncwarp(lanes); }
    TW_M int lane_of(unsigned rank) const
    { unsigned r; asm("fns.b32 %0, %1, 0, %2;" : "=r"(r) : "r"(lanes), "r"((int)rank + 1)); return (int)r; }
    /* Bit i of the result is the bit of the lane with rank i. */
    TW_M unsigned by_rank(unsigned bits) const
    {
        unsigned r = 0;
        for (unsigned left = lanes, i = 0; left; left &= left - 1, i++)
            r |= (bits >> (__ffs((int)left) - 1) & 1) << i;
        return r;
    }
    template <class T> TW_M T shfl(T v, int rank) const { return __shfl_sync(lanes, v, lane_of((unsigned)rank % size())); }
    template <class T> TW_M T shfl_up(T v, unsigned n) const
    { unsigned rank = thread_rank(); return __shfl_sync(lanes, v, lane_of(rank >= n ? rank - n : rank)); }
    template <class T> TW_M T shfl_down(T v, unsigned n) const
    { unsigned rank = thread_rank(); return __shfl_sync(lanes, v, lane_of(rank + n < size() ? rank + n : rank)); }
    TW_M int any(int p) const { return __any_sync(lanes, p); }
    TW_M int all(int p) const { return __all_sync(lanes, p); }
    TW_M unsigned ballot(int p) const { return by_rank(__ballot_sync(lanes, p)); }
    TW_M unsigned match_any(unsigned v) const { return by_rank(__match_any_sync(lanes, v)); }
};
#undef TW_M
TW_D coalesced_group coalesced_threads() { return {__activemask()}; }
template <class Group> TW_D coalesced_group binary_partition(const Group &g, bool p)
{ unsigned yes = __ballot_sync(g.mask(), p); return {p ? yes : g.mask() & ~yes}; }
template <class Group> TW_D coalesced_group labeled_partition(const Group &g, unsigned label)
{ return {__match_any_sync(g.mask(), label)}; }
}
#endif
