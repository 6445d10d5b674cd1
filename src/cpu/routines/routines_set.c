/* Puts the families of one compilation together into a set. */
#include "cpu/routines/routines.h"

extern const struct elementwise_routines ROUTINE(routines_elementwise), ROUTINE(routines_math);
extern const struct reduce_routines ROUTINE(routines_reduce);
extern const struct dot_routines ROUTINE(routines_dot);
extern const struct pack_routines ROUTINE(routines_pack);
extern const struct stream_routines ROUTINE(routines_stream);

/* The set for AVX-512 takes some families from the set for AVX2. */
#if defined(ROUTINES_V4)
#define CONVERT routines_convert_v3
#define MEMORY routines_memory_v3
#define REDUCE_F64 routines_reduce_v3
#define REDUCE_INTEGERS routines_reduce_integers_v3
#else
#define CONVERT ROUTINE(routines_convert)
#define MEMORY ROUTINE(routines_memory)
#define REDUCE_F64 ROUTINE(routines_reduce)
#define REDUCE_INTEGERS ROUTINE(routines_reduce_integers)
#endif
extern const struct convert_routines CONVERT;
extern const struct memory_routines MEMORY;
extern const struct reduce_routines REDUCE_F64, REDUCE_INTEGERS;

#if defined(ROUTINES_V3) || defined(ROUTINES_V4)
extern dot_fn ROUTINE(dot_pairs_i16);
#define DOT_I16 ROUTINE(dot_pairs_i16)
#else
#define DOT_I16 NULL
#endif

#if defined(ROUTINES_FP16)
extern few_halves_fn dot_few_halves_fp16;
#define FEW_HALVES dot_few_halves_fp16
#elif defined(ROUTINES_V4)
extern few_halves_fn dot_few_halves_v4;
#define FEW_HALVES dot_few_halves_v4
#elif defined(ROUTINES_V3)
extern few_halves_fn dot_few_halves_v3;
#define FEW_HALVES dot_few_halves_v3
#else
#define FEW_HALVES NULL
#endif

/* With ROUTINES_BYTES, a set has dot_int8.c in addition: the sets for AVX-VNNI, for AVX512-VNNI
 * and for SDOT and UDOT of AArch64. The set for AVX512-BF16 also has dot_bf16.c, and the set for AVX512-FP16
 * dot_halves.c of its own. The sets for AMX have that, too, and dot_amx.c, one of them without bf16. */
#if defined(ROUTINES_AMX)
extern dot_fn dot_tiles_u8_i8, dot_tiles_i8_u8, dot_tiles_u8_u8, dot_tiles_i8_i8, dot_tiles_bf16;
#elif defined(ROUTINES_BYTES)
extern dot_fn ROUTINE(dot_groups_u8), ROUTINE(dot_groups_i8);
#endif
#if defined(ROUTINES_AMX) && defined(ROUTINES_BF16)
#define SET routine_set_amx_bf16
#elif defined(ROUTINES_AMX)
#define SET routine_set_amx
#elif defined(ROUTINES_FP16)
#define SET routine_set_fp16
#elif defined(ROUTINES_BF16)
#define SET routine_set_bf16
extern dot_fn dot_pairs_bf16;
#elif defined(ROUTINES_BYTES)
#define SET ROUTINE(routine_set_bytes)
#else
#define SET ROUTINE(routine_set)
#endif

extern const struct routine_set SET;
const struct routine_set SET = {
#if defined(ROUTINES_AMX) && defined(ROUTINES_BF16)
    .name = "amx_bf16",
    .dot_bf16 = dot_tiles_bf16,
#elif defined(ROUTINES_AMX)
    .name = "amx",
#elif defined(ROUTINES_FP16)
    .name = "avx512_fp16",
#elif defined(ROUTINES_BF16)
    .name = "avx512_bf16",
    .dot_bf16 = dot_pairs_bf16,
#elif defined(ROUTINES_BYTES) && defined(ROUTINES_V4)
    .name = "avx512_vnni",
#elif defined(ROUTINES_BYTES) && defined(ROUTINES_V3)
    .name = "avx_vnni",
#elif defined(ROUTINES_BYTES)
    .name = "neon_dotprod",
#elif defined(ROUTINES_V4)
    .name = "avx512",
#elif defined(ROUTINES_V3)
    .name = "avx2",
#elif defined(ROUTINES_NEON)
    .name = "neon",
#else
    .name = "portable",
#endif
#if defined(ROUTINES_AMX)
    .dot_u8 = dot_tiles_u8_i8,
    .dot_i8 = dot_tiles_i8_u8,
    .dot_u8_u8 = dot_tiles_u8_u8,
    .dot_i8_i8 = dot_tiles_i8_i8,
    .fetches_rows = true,
#elif defined(ROUTINES_BYTES)
    .dot_u8 = ROUTINE(dot_groups_u8),
    .dot_i8 = ROUTINE(dot_groups_i8),
#endif
#if defined(ROUTINES_NEON)
    .takes_one_sign = true,
#elif defined(ROUTINES_V3)
    .halves_are_bytes = true,
#endif
    .dot_i16 = DOT_I16,
    .elementwise = &ROUTINE(routines_elementwise),
    .math = &ROUTINE(routines_math),
    .convert = &CONVERT,
    .reduce = &ROUTINE(routines_reduce),
    .reduce_f64 = &REDUCE_F64,
    .reduce_integers = &REDUCE_INTEGERS,
    .dot = &ROUTINE(routines_dot),
    .memory = &MEMORY,
    .pack = &ROUTINE(routines_pack),
    .few_halves = FEW_HALVES,
    .stream = &ROUTINE(routines_stream),
};
