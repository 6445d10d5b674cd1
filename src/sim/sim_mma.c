/* mma.sync and wmma.mma: a warp multiplies matrices in registers.
 *
 * PTX ISA, "Matrix Fragments for mma.…": a register of a factor, 32 lanes of 32 bits, is a block of
 * 8 rows (of A; columns of B) by 4 words along k, lane = 4 * row + word; it has 4, 8, 16, 32 or 128
 * elements along k, depending on the type. A's blocks follow the rows first, then k. The sum's
 * registers come in pairs for 8 rows by 8 columns, lane = 4 * row + column / 2; one register of a
 * pair has the even columns, the other the odd ones. Fragments of wmma have the same layout (PTX
 * leaves it open), one group of 8 columns after the other.
 *
 * Numbers. Products are exact. The sum of k products and C is computed in double and rounded once
 * to the type of D, to nearest even; sums of f64 are a chain of fused operations along k; sums of
 * integers are exact. PTX leaves order and rounding of the f32 and f16 sums open. Hardware shifts
 * the terms to the largest exponent and cuts off the digits below, 4, 8, 16 or 32 products at a
 * time: if it keeps f bits of fraction, its results differ from these by at most (k + 4) * 2^-f *
 * (sum |a b| + |c|). f is at least 23, but 13 for 8-bit floats on sm_89. Measurements of mma.sync
 * on an H200 agree with 25 for halves, and show no cut at 13 for 8-bit floats.
 *
 * Speed. A multiplication is a warp's most expensive instruction. Factors are rearranged so that
 * the elements that are multiplied by the same one are neighbours (sim_mma_factor.h), and the
 * result is kept: most multiplications of a tile share a factor with an earlier one. The sums of
 * eight columns of a row then stay in vector registers along all of k (sim_mma_vectors.h): two
 * vectors of four, or, if the machine has them, one of eight. That choice is made here, because
 * no other family gains from it. Floats are added as doubles. Integers of 8 and fewer bits are
 * multiplied as pairs of 16 bits, which is exact. */
#include "base/platform.h"
#include "sim/sim_machine.h"
#include "sim/sim_mma_factor.h"

/* Registers, or memory in their place: slots of a file. */
struct place {
    uint8_t *file;
    const uint32_t *slots;
};

struct product {
    const void *a, *b; /* elements, see struct sim_mma_factor */
    int depth;         /* elements along k; for integers, groups of four elements */
    int across;        /* rows of A */
    int panels;
    bool clamps;
    /* Sums: for eight rows the even columns, then the odd ones; for f16 both are in one
     * register. */
    struct place c, d;
};
/* The registers of eight rows; for f16 there is one, `even`. */
struct pair {
    uint8_t *even, *odd;
};
static inline struct pair pair_of(const struct place *p, int block, enum ptx_mod type)
{
    if (type == MOD_F16)
        return (struct pair){p->file + p->slots[block], NULL};
    return (struct pair){p->file + p->slots[2 * block], p->file + p->slots[2 * block + 1]};
}
/* Memory for values that have no other place: elements of f64; D, if it shares registers with C. */
struct room {
    double a[MMA_MOST_FACTORS][SIM_LANES], b[MMA_MOST_FACTORS][SIM_LANES];
    double d[MMA_MOST_SUMS][SIM_LANES];
};
/* Fills a, b, depth and across. */
typedef void take_way(const struct sim_mma *p, const uint8_t *file, const uint32_t *more,
                      struct room *room, struct product *x);
/* Returns true if a sum may be NaN. */
typedef bool multiply_way(const struct product *x);

/* The slots of room.d. */
static const uint32_t room_slots[MMA_MOST_SUMS] = {0x000, 0x100, 0x200, 0x300, 0x400, 0x500,
                                                   0x600, 0x700, 0x800, 0x900, 0xa00, 0xb00,
                                                   0xc00, 0xd00, 0xe00, 0xf00};

/* Returns the steps along k of a register's elements. */
static int steps_of(const struct sim_mma *p)
{
    return MMA_WORDS * p->per_word / (mma_is_integer((enum ptx_mod)p->type_a) ? MMA_QUAD : 1);
}

#if defined(__clang__)
#define EACH_ROW _Pragma("clang loop unroll(full)")
#else
#define EACH_ROW _Pragma("GCC unroll 16")
#endif
#define TARGET
#define WIDTH(name) name##_base
#if defined(__FMA__) && defined(__AVX2__)
#define COLUMNS 4
#define GROUP 4
#else
#define COLUMNS 2
#define GROUP 2
#endif
#include "sim/sim_mma_vectors.h"

#if defined(SIM_V3)
#define HAS_WIDE
#undef TARGET
#undef WIDTH
#undef COLUMNS
#undef GROUP
#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#define WIDTH(name) name##_wide
#define COLUMNS 8
#define GROUP 16
#include "sim/sim_mma_vectors.h"
#endif

/* --- NaN --- */

/* Replaces each NaN by the one that instructions give. */
static void settle_nan(enum ptx_mod type, void *sums)
{
    uint16_t *halves = sums;
    uint32_t *words = sums;
    uint64_t *longs = sums;
    switch ((int)type) {
    case MOD_F16:
        for (int i = 0; i < 2 * SIM_LANES; i++)
            halves[i] = (halves[i] & 0x7fff) > SIM_F16_INFINITY ? 0x7fff : halves[i];
        break;
    case MOD_F32:
        for (int i = 0; i < SIM_LANES; i++)
            words[i] = sim_f32_canonical(words[i]);
        break;
    default:
        for (int i = 0; i < SIM_LANES; i++)
            longs[i] = sim_f64_nan(longs[i]) ? 0xfff8000000000000 : longs[i];
    }
}

/* --- the product --- */

MMA_INLINE void multiply(const struct sim_mma *p, uint8_t *file, const uint32_t *more,
                         take_way *take, multiply_way *way)
{
    _Alignas(64) struct room room;
    const int count = p->rows * p->panels * (p->type_d == MOD_F16 ? 1 : 2);
    struct product x = {.panels = p->panels,
                        .clamps = p->clamps,
                        .c = {file, more + p->c},
                        .d = {file, more + p->d}};
    if (p->crossed)
        x.d = (struct place){(uint8_t *)room.d, room_slots};
    take(p, file, more, &room, &x);
    const bool has_nan = way(&x);
    for (int i = 0; i < count && has_nan; i++)
        settle_nan((enum ptx_mod)p->type_d, x.d.file + x.d.slots[i]);
    for (int i = 0; i < count && p->crossed; i++)
        memcpy(file + more[p->d + i], room.d[i],
               SIM_LANES * (p->type_d == MOD_F64 ? sizeof(uint64_t) : sizeof(uint32_t)));
}

#define WAY(name, width)                                                                           \
    static void multiply_##name##_##width(const struct sim_mma *p, uint8_t *file,                  \
                                          const uint32_t *more)                                    \
    {                                                                                              \
        multiply(p, file, more, take_factors_##width, name##_##width);                             \
    }
#ifdef HAS_WIDE
#define WAYS(name)                                                                                 \
    WAY(name, base)                                                                                \
    WAY(name, wide)                                                                                \
    static sim_mma_way *const ways_##name[] = {multiply_##name##_base, multiply_##name##_wide};
#else
#define WAYS(name)                                                                                 \
    WAY(name, base)                                                                                \
    static sim_mma_way *const ways_##name[] = {multiply_##name##_base, NULL};
#endif
WAYS(f32_of_f32)
WAYS(f32_of_f16)
WAYS(f16_of_f32)
WAYS(f16_of_f16)
WAYS(f64_of_f64)
WAYS(s32_of_s32)

/* --- bits --- */

/* Adds the number of bits that a row of A and a column of B have in common, or, for .xor, in
 * which they differ. */
static void count_bits(const uint64_t *a, const uint64_t *b, bool ands, uint32_t *even,
                       uint32_t *odd)
{
    for (int row = 0; row < MMA_SIDE; row++)
        for (int column = 0; column < MMA_SIDE; column++) {
            int sum = 0;
            for (int i = 0; i < MMA_WORDS / 2; i++) {
                uint64_t x = a[MMA_WORDS / 2 * row + i], y = b[MMA_WORDS / 2 * column + i];
                sum += __builtin_popcountll(ands ? x & y : x ^ y);
            }
            (column % 2 ? odd : even)[MMA_WORDS * row + column / 2] += (uint32_t)sum;
        }
}

static void multiply_bits(const struct sim_mma *p, uint8_t *file, const uint32_t *more)
{
    uint32_t sum[MMA_MOST_SUMS][SIM_LANES];
    for (int r = 0; r < 2 * p->rows; r++)
        memcpy(sum[r], sim_u32(file, more[p->c + r]), sizeof sum[r]);
    for (int block = 0; block < p->blocks; block++)
        for (int r = 0; r < p->rows; r++)
            count_bits(sim_u64(file, more[p->a + block * p->rows + r]),
                       sim_u64(file, more[p->b + block]), p->ands, sum[2 * r], sum[2 * r + 1]);
    for (int r = 0; r < 2 * p->rows; r++)
        memcpy(sim_u32(file, more[p->d + r]), sum[r], sizeof sum[r]);
}

/* --- choosing --- */

static bool machine_is_wide(void)
{
#ifdef HAS_WIDE
    return platform_x86_has(X86_V4);
#else
    return false;
#endif
}

sim_mma_way *sim_mma_way_of(const struct sim_mma *p, bool wide)
{
    if (wide && !machine_is_wide())
        return NULL;
    if (p->type_a == MOD_B1)
        return wide ? NULL : multiply_bits;
    if (p->type_d == MOD_S32)
        return ways_s32_of_s32[wide];
    if (p->type_d == MOD_F64)
        return wide ? NULL : ways_f64_of_f64[0];
    if (p->type_d == MOD_F32)
        return (p->type_c == MOD_F32 ? ways_f32_of_f32 : ways_f32_of_f16)[wide];
    return (p->type_c == MOD_F32 ? ways_f16_of_f32 : ways_f16_of_f16)[wide];
}

static bool run(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    const struct sim_mma *p = op->data;
    if (!sim_gather_all(w, op, mask))
        return false;
    p->multiply(p, w->file, op->more);
    return true;
}

/* Returns the number of elements in a word of a register, which follow each other along k; 0:
 * the type is not simulated here. */
static int per_word_of(enum ptx_mod type)
{
    switch ((int)type) {
#define DO(id, per_word)                                                                           \
    case MOD_##id: return per_word;
        MMA_EACH_FLOAT(DO)
        MMA_EACH_INTEGER(DO)
#undef DO
    case MOD_F64: return 1;
    case MOD_B1: return 32;
    default: return 0;
    }
}

/* Reads the types of D, A, B, C: the instruction has all four, or (wmma with .f16 factors) D and
 * C. */
static void read_types(const struct ptx_instruction *ins, struct sim_mma *p)
{
    bool all = ptx_type(ins, 2) != MOD_NONE;
    p->type_d = (uint16_t)ptx_type(ins, 0);
    p->type_a = all ? (uint16_t)ptx_type(ins, 1) : MOD_F16;
    p->type_b = all ? (uint16_t)ptx_type(ins, 2) : MOD_F16;
    p->type_c = (uint16_t)ptx_type(ins, all ? 3 : 1);
}

/* Returns the type of a matrix's registers. */
static enum ptx_mod register_type(uint16_t type, bool is_sum)
{
    if (type == MOD_F64 || (is_sum && (type == MOD_F32 || type == MOD_S32)))
        return (enum ptx_mod)type;
    return PTX_B32;
}

static bool read_registers(struct sim_decoder *d, const struct ptx_instruction *ins,
                           struct sim_op *op, struct sim_mma *p)
{
    const uint16_t types[] = {p->type_d, p->type_a, p->type_b, p->type_c};
    uint16_t *const starts[] = {&p->d, &p->a, &p->b, &p->c};
    for (int i = 0; i < 4; i++) {
        *starts[i] = (uint16_t)op->more_count;
        if (!sim_more_of(d, op, &ins->operands[i], register_type(types[i], i == 0 || i == 3)))
            return false;
    }
    return true;
}

/* Returns true if the instruction has the number of registers that the shape takes. wmma's
 * fragments of .f16 may have more: those are not used. */
static bool counts_fit(const struct sim_op *op, const struct sim_mma *p)
{
    int c = p->panels * p->rows * (p->type_c == MOD_F16 ? 1 : 2);
    int d = p->panels * p->rows * (p->type_d == MOD_F16 ? 1 : 2);
    return p->a - p->d >= d && p->b - p->a >= p->a_count && p->c - p->b >= p->b_count &&
           (int)op->more_count - p->c >= c && 2 * p->rows * p->panels <= MMA_MOST_SUMS &&
           p->a_count <= MMA_MOST_FACTORS && p->b_count <= MMA_MOST_FACTORS;
}

/* Returns true if the form is simulated here. Not simulated: sparse forms, forms with scales,
 * f64 rounding other than to nearest. sim_mma_quads.c has the shape of the first tensor cores
 * with .f16. */
static bool is_done(const struct ptx_instruction *ins, const struct sim_mma *p)
{
    static const uint16_t others[] = {MOD_SP, MOD_SP_ORDERED, MOD_BLOCK_SCALE,
                                      MOD_RZ, MOD_RM,         MOD_RP};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (ptx_has(ins, (enum ptx_mod)others[i]))
            return false;
    if (ptx_has(ins, MOD_M8N8K4) && p->type_a == MOD_F16)
        return false;
    return per_word_of((enum ptx_mod)p->type_a) &&
           per_word_of((enum ptx_mod)p->type_a) == per_word_of((enum ptx_mod)p->type_b);
}

static bool same_slots(const uint32_t *a, const uint32_t *b, int count)
{
    return memcmp(a, b, (size_t)count * sizeof *a) == 0;
}

static struct sim_mma_factor *new_factor(struct sim_decoder *d, const struct sim_mma *p, int count)
{
    struct sim_mma_factor *kept = arena_new(sim_decoder_arena(d), struct sim_mma_factor);
    size_t bytes = (size_t)(count * MMA_SIDE * steps_of(p)) * sizeof(uint64_t);
    uintptr_t at = (uintptr_t)arena_room(sim_decoder_arena(d), bytes + 63);
    kept->elements = (void *)((at + 63) / 64 * 64);
    return kept;
}

/* Lets ops share what is kept of a factor. The ops of a tile's product follow each other, and
 * many have the same registers as factors. */
static void share_factors(struct sim_decoder *d, const struct sim_op *op, struct sim_mma *p)
{
    enum { MOST_STEPS = 1000 };
    const struct sim_op *first = d->code->ops, *other = op;
    for (int i = 0; i < MOST_STEPS && other > first && (!p->kept_a || !p->kept_b); i++) {
        if ((--other)->run != run)
            continue;
        const struct sim_mma *q = other->data;
        if (!p->kept_a && q->type_a == p->type_a && q->rows == p->rows &&
            q->a_count == p->a_count && same_slots(op->more + p->a, other->more + q->a, p->a_count))
            p->kept_a = q->kept_a;
        if (!p->kept_b && q->type_b == p->type_b && q->b_count == p->b_count &&
            same_slots(op->more + p->b, other->more + q->b, p->b_count))
            p->kept_b = q->kept_b;
    }
    if (!p->kept_a)
        p->kept_a = new_factor(d, p, p->a_count);
    if (!p->kept_b)
        p->kept_b = new_factor(d, p, p->b_count);
}

/* Returns true if a register of D is a register of C for other elements. */
static bool is_crossed(const struct sim_op *op, const struct sim_mma *p)
{
    int d = p->a - p->d, c = (int)op->more_count - p->c;
    for (int i = 0; i < d; i++)
        for (int k = 0; k < c; k++)
            if (op->more[p->d + i] == op->more[p->c + k] && (i != k || p->type_c != p->type_d))
                return true;
    return false;
}

bool sim_choose_mma(struct sim_decoder *d, const struct ptx_instruction *ins, struct sim_op *op)
{
    int m, n, k;
    if (ins->op != PTX_MMA && ins->op != PTX_WMMA_MMA)
        return false;
    struct sim_mma *p = arena_new(sim_decoder_arena(d), struct sim_mma);
    read_types(ins, p);
    if (!is_done(ins, p) || !ptx_shape(ptx_find(ins, PTX_CLASS_SHAPE, 0), &m, &n, &k))
        return false;
    p->per_word = (uint8_t)per_word_of((enum ptx_mod)p->type_a);
    p->rows = (uint8_t)(m / MMA_SIDE);
    p->panels = (uint8_t)(n / MMA_SIDE);
    p->blocks = (uint8_t)(k / (MMA_WORDS * p->per_word));
    p->a_count = (uint16_t)(p->rows * p->blocks);
    p->b_count = (uint16_t)(p->panels * p->blocks);
    p->clamps = ptx_has(ins, MOD_SATFINITE);
    p->ands = ptx_has(ins, MOD_AND);
    if (!read_registers(d, ins, op, p) || !counts_fit(op, p))
        return false;
    p->crossed = is_crossed(op, p);
    if (p->type_a != MOD_F64 && p->type_a != MOD_B1)
        share_factors(d, op, p);
    p->multiply = sim_mma_way_of(p, true);
    if (!p->multiply)
        p->multiply = sim_mma_way_of(p, false);
    op->data = p;
    op->run = run;
    return true;
}
