/* Chooses the routine set for this machine, and a set's routine for an op and a type. */
#include "base/platform.h"
#include "cpu/routines/routines.h"

extern const struct routine_set routine_set_any, routine_set_neon, routine_set_bytes_neon,
    routine_set_v3, routine_set_bytes_v3, routine_set_v4, routine_set_bytes_v4, routine_set_bf16,
    routine_set_fp16, routine_set_amx, routine_set_amx_bf16;

static bool machine_is_any(void)
{
    return true;
}

/* F16C is not tested: every line of processors got it before AVX2. */
#define ASKS(machine, features)                                                                    \
    static bool machine(void)                                                                      \
    {                                                                                              \
        return platform_x86_has(features);                                                         \
    }
#if defined(TILEWRIGHT_HAVE_V3)
ASKS(machine_is_v3, X86_V3)
#endif
#if defined(TILEWRIGHT_HAVE_AVX_VNNI)
ASKS(machine_has_avx_vnni, X86_AVX_VNNI)
#endif
#if defined(TILEWRIGHT_HAVE_V4)
ASKS(machine_is_v4, X86_V4)
#endif
#if defined(TILEWRIGHT_HAVE_VNNI)
ASKS(machine_has_vnni, X86_VNNI)
#endif
#if defined(TILEWRIGHT_HAVE_BF16)
ASKS(machine_has_bf16, X86_BF16)
#endif
#if defined(TILEWRIGHT_HAVE_FP16)
ASKS(machine_has_fp16, X86_FP16)
#endif
#if defined(TILEWRIGHT_HAVE_AMX)
/* Only processors of Intel have AMX; others are not asked. All of them have AVX512-FP16. */
static bool machine_has_amx(void)
{
    return platform_x86_has(X86_INTEL | X86_FP16 | X86_AMX) && platform_allow_tiles();
}
#endif

/* The sets of this build, the plainest first. */
static const struct {
    const struct routine_set *set;
    bool (*runs)(void);
} sets[] = {
    {&routine_set_any, machine_is_any},
#if defined(TILEWRIGHT_HAVE_NEON)
    {&routine_set_neon, machine_is_any}, /* every AArch64 machine has it */
#endif
#if defined(TILEWRIGHT_HAVE_DOTPROD)
    {&routine_set_bytes_neon, platform_has_dot_products},
#endif
#if defined(TILEWRIGHT_HAVE_V3)
    {&routine_set_v3, machine_is_v3},
#endif
#if defined(TILEWRIGHT_HAVE_AVX_VNNI)
    {&routine_set_bytes_v3, machine_has_avx_vnni},
#endif
#if defined(TILEWRIGHT_HAVE_V4)
    {&routine_set_v4, machine_is_v4},
#endif
#if defined(TILEWRIGHT_HAVE_VNNI)
    {&routine_set_bytes_v4, machine_has_vnni},
#endif
#if defined(TILEWRIGHT_HAVE_BF16)
    {&routine_set_bf16, machine_has_bf16},
#endif
#if defined(TILEWRIGHT_HAVE_FP16)
    {&routine_set_fp16, machine_has_fp16},
#endif
#if defined(TILEWRIGHT_HAVE_AMX)
    {&routine_set_amx, machine_has_amx},
#endif
};

const struct routine_set *routine_set_listed(int index)
{
    return index < (int)(sizeof sets / sizeof *sets) ? sets[index].set : NULL;
}

/* Returns whether this machine can run the set. It is asked once for each set, because CPUID takes
 * tens of microseconds in a virtual machine. */
static bool set_runs(unsigned index)
{
    static _Atomic unsigned asked, run;
    unsigned bit = 1u << index;
    if ((asked & bit) == 0) {
        if (sets[index].runs())
            run |= bit;
        asked |= bit;
    }
    return (run & bit) != 0;
}

enum { SETS = sizeof sets / sizeof *sets };

const struct routine_set *routine_set_at(int index)
{
    for (unsigned i = 0; i < SETS; i++)
        if (set_runs(i) && index-- == 0)
            return sets[i].set;
    return NULL;
}

/* Returns whether VDPBF16PS does more than the two fma that it replaces. A Sapphire Rapids
 * starts one every other cycle (1.35 of them in the time of 5.49 fma), so converting the tiles
 * to f32 makes products twice as fast; Zen 4 and its successors start one each cycle, as many as
 * fma of that width. */
static bool pairs_pay(void)
{
#if defined(TILEWRIGHT_HAVE_BF16)
    return platform_x86_has(X86_AMD);
#else
    return false;
#endif
}

/* Returns whether programs take the set unasked. */
static bool is_default(const struct routine_set *set)
{
    return !set->dot_bf16 || pairs_pay();
}

const struct routine_set *routine_set_choose(bool any_bits)
{
#if defined(TILEWRIGHT_HAVE_AMX)
    if (any_bits && machine_has_amx())
        return &routine_set_amx_bf16;
#else
    (void)any_bits;
#endif
    unsigned best = SETS - 1;
    while (best > 0 && !(is_default(sets[best].set) && set_runs(best)))
        best--;
    return sets[best].set;
}

enum compute routine_compute_of(enum dtype t)
{
    switch (t) {
    case DT_F64: return COMPUTE_F64;
    case DT_F32:
    case DT_TF32:
    case DT_F16:
    case DT_BF16:
    case DT_E4M3:
    case DT_E5M2: return COMPUTE_F32;
    case DT_I64: return COMPUTE_I64;
    case DT_U64: return COMPUTE_U64;
    case DT_U32:
    case DT_U16:
    case DT_U8: return COMPUTE_U32;
    case DT_BOOL: return COMPUTE_BOOL;
    default: return COMPUTE_I32;
    }
}

enum dtype routine_compute_dtype(enum compute c)
{
    static const enum dtype types[COMPUTE_COUNT] = {
        [COMPUTE_F32] = DT_F32,  [COMPUTE_F64] = DT_F64, [COMPUTE_I32] = DT_I32,
        [COMPUTE_U32] = DT_U32,  [COMPUTE_I64] = DT_I64, [COMPUTE_U64] = DT_U64,
        [COMPUTE_BOOL] = DT_BOOL};
    return types[c];
}

const struct elementwise_row *routine_row(const struct elementwise_routines *family, enum op op)
{
    for (size_t i = 0; i < family->count; i++)
        if (family->rows[i].op == op)
            return &family->rows[i];
    return NULL;
}

elementwise_fn *routine_elementwise(const struct routine_set *set, enum op op, enum compute c)
{
    const struct elementwise_routines *const families[] = {set->elementwise, set->math,
                                                           set->elementwise->other_types};
    for (size_t i = 0; i < sizeof families / sizeof *families && families[i]; i++) {
        const struct elementwise_row *row = routine_row(families[i], op);
        if (row && row->of[c])
            return row->of[c];
    }
    return NULL;
}

row_map_fn *routine_row_map(const struct routine_set *set, enum row_rule rule, size_t n)
{
    enum { MULTIPLE = 16 }; /* of the lengths of rows of powers */
    if (n < REDUCTION_LONG || (rule == ROW_POWERS && n % MULTIPLE != 0))
        return NULL;
    return rule == ROW_POWERS ? set->math->f32_powers : set->reduce->f32_difference;
}

const struct reduce_routines *routine_reductions(const struct routine_set *set, enum compute c)
{
    return c == COMPUTE_F32   ? set->reduce
           : c == COMPUTE_F64 ? set->reduce_f64
                              : set->reduce_integers;
}
