/* mma.sync and wmma.mma: a warp multiplies matrices in registers.
 *
 * PTX ISA, "Matrix Fragments for mma.…": a register of a factor, 32 lanes of 32 bits, is a block of 8 rows (of A; columns
 * of B) by 4 words along k, lane = 4 * row + word; it has 4, 8, 16, 32 or 128 elements along k as the type asks. A's
 * blocks go down the rows first, then along k. The sum's registers come in pairs for 8 rows by 8 columns, lane = 4 * row +
 * column / 2, the pair being the even and the odd columns. Fragments of wmma are laid out alike (PTX leaves that open),
 * 8 columns after the other.
 *
 * Numbers. Products are exact. The sum of k products and C is made in double and rounded once to the type of D, to
 * nearest even; sums of f64 are a chain of fused operations along k; sums of integers are exact. PTX leaves order and
 * rounding of the f32 and f16 sums open. Hardware shifts what it adds to the largest exponent and cuts off below, 4, 8, 16
 * or 32 products at a time: where it keeps f bits of fraction its results differ by no more than
 * (k + 4) * 2^-f * (sum |a b| + |c|) from these; f is at least 23, but 13 for 8-bit floats on sm_89.
 * On an H200 readings of mma.sync agree with 25 for halves, and show no cut at 13 for 8-bit floats.
 */
#include "sim/sim_own.h"

#include <math.h>
#include <string.h>
#if defined(__FMA__) && defined(__AVX2__)
#include <immintrin.h>
#endif

enum {
    WORDS = 4,      /* of a block along k */
    SIDE = 8,       /* its rows; columns of a panel */
    MOST_SUMS = 16, /* registers of C; elements of A and B a warp: of m16n8k64 */
    MOST_A = 1024,
    MOST_B = 512,
    MOST_PER_WORD = 8
};
enum { NAN_F32 = 0x7fffffff, NAN_F16 = 0x7fff };

/* Sums of GROUP rows of a block by VECTORS vectors of columns are in registers at a time. */
#if defined(__FMA__) && defined(__AVX2__)
enum { GROUP = 4, VECTORS = 2 };
#else
enum { GROUP = 2, VECTORS = 4 };
#endif
enum { COLUMNS = SIDE / VECTORS };
typedef double vector __attribute__((vector_size(COLUMNS * sizeof(double))));

/* How a multiplication is made up. Registers are those of op->more: D, A, B, C. */
struct plan {
    uint8_t rows;   /* blocks of A one above the other: m / 8 */
    uint8_t panels; /* n / 8 */
    uint8_t blocks; /* along k */
    uint8_t per_word;
    uint16_t type_a, type_b, type_c, type_d;
    uint16_t d, a, b, c; /* where each begins in op->more */
    uint16_t a_count, b_count;
    bool clamps; /* .satfinite */
    bool ands;   /* bits: .and.popc, else .xor.popc */
};

/* The matrices of one multiplication, unpacked. */
struct operands {
    double a[MOST_A]; /* [block][row][element along k] */
    double b[MOST_B]; /* [block][element along k][column], columns 0 2 4 6 1 3 5 7 */
    double sum[MOST_SUMS][SIM_LANES];
};

static inline const uint32_t *words_of(const struct sim_warp *w, const struct sim_op *op, int i)
{
    return sim_u32(w->file, op->more[i]);
}

/* --- elements --- */

static inline float float_of(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

/* binary16, without branches and without subnormal numbers on the way, which are slow. */
static inline float half_value(uint32_t h)
{
    enum { REBIAS = 127 - 15 };
    uint32_t size = (h & 0x7fff) << 13, bits;
    float subnormal = float_of(size + ((REBIAS + 1u) << 23)) - 0x1p-14f;
    memcpy(&bits, &subnormal, sizeof bits);
    bits = size >= 0x00800000 ? size + ((uint32_t)REBIAS << 23) : bits;
    bits = size >= 0x0f800000 ? size | 0x7f800000 : bits;
    return float_of(bits | (h & 0x8000) << 16);
}

/* Element i of a word of a type of up to 16 bits, lowest bits first, as 16 bits that widen() takes: a half, or an integer.
 * 8-bit floats are halves: e5m2 lacks the last bits, e4m3 is 2^8 too small. */
static inline uint16_t code_of(enum ptx_mod type, uint32_t word, int i)
{
    uint32_t byte = word >> (8 * i & 31) & 0xff;
    switch ((int)type) {
    case MOD_F16:
    case MOD_BF16: return (uint16_t)(word >> 16 * i);
    case MOD_E5M2: return (uint16_t)(byte << 8);
    case MOD_E4M3: return (uint16_t)((byte & 0x80) << 8 | (byte & 0x7f) << 7);
    case MOD_S8: return (uint16_t)((int32_t)(byte << 24) >> 24);
    case MOD_U8: return (uint16_t)byte;
    case MOD_S4: return (uint16_t)((int32_t)(word << (28 - 4 * i)) >> 28);
    default: return (uint16_t)(word >> 4 * i & 0xf);
    }
}

static inline __attribute__((always_inline)) void widen_halves(int count, const uint16_t *codes,
                                                               double *out)
{
#if defined(__F16C__) && defined(__AVX2__)
    for (int i = 0; i < count; i += SIDE) {
        __m128i eight = _mm_loadu_si128((const __m128i *)(const void *)(codes + i));
        __m256 f = _mm256_cvtph_ps(eight);
        _mm256_storeu_pd(out + i, _mm256_cvtps_pd(_mm256_castps256_ps128(f)));
        _mm256_storeu_pd(out + i + 4, _mm256_cvtps_pd(_mm256_extractf128_ps(f, 1)));
    }
#else
    for (int i = 0; i < count; i++)
        out[i] = (double)half_value(codes[i]);
#endif
}

/* `count` elements, a multiple of SIDE, as code_of gives them. */
static inline __attribute__((always_inline)) void widen(enum ptx_mod type, int count,
                                                        const uint16_t *codes, double *out)
{
    const double nan_at = 480; /* e4m3 has no infinity, and a NaN where this would be */
    if (type == MOD_BF16) {
        for (int i = 0; i < count; i++)
            out[i] = (double)float_of((uint32_t)codes[i] << 16);
    } else if (type == MOD_F16 || type == MOD_E5M2 || type == MOD_E4M3) {
        widen_halves(count, codes, out);
        for (int i = 0; i < count && type == MOD_E4M3; i++) {
            double v = out[i] * 256;
            out[i] = fabs(v) == nan_at ? (double)NAN : v;
        }
    } else {
        for (int i = 0; i < count; i++)
            out[i] = (double)(int16_t)codes[i];
    }
}

static inline float tf32_value(uint32_t word)
{
    return float_of(word & 0xffffe000); /* the last 13 bits do not count */
}

/* Elements in the order of lanes, of a lane's word from the lowest on. */
static inline __attribute__((always_inline)) void flat(enum ptx_mod type, int per_word,
                                                       const uint32_t *words, double *out)
{
    uint16_t codes[SIM_LANES * MOST_PER_WORD];
    if (type == MOD_TF32) {
        for (int l = 0; l < SIM_LANES; l++)
            out[l] = (double)tf32_value(words[l]);
        return;
    }
    if (per_word == 2)
        memcpy(codes, words, SIM_LANES * sizeof *words); /* the host is little-endian */
    for (int l = 0; l < SIM_LANES && per_word > 2; l++)
        for (int i = 0; i < per_word; i++)
            codes[l * per_word + i] = code_of(type, words[l], i);
    widen(type, SIM_LANES * per_word, codes, out);
}

/* Words of eight columns, along k: side by side, those of the even columns first. */
static inline void turn(const uint32_t *words, uint32_t *turned)
{
#if defined(__AVX2__)
    __m256i pair[WORDS], half[WORDS];
    for (int i = 0; i < WORDS; i++) /* columns 2 i and 2 i + 1 */
        pair[i] = _mm256_loadu_si256((const __m256i *)(const void *)(words + SIDE * i));
    for (int i = 0; i < 2; i++) {
        half[2 * i] = _mm256_unpacklo_epi32(pair[2 * i], pair[2 * i + 1]);
        half[2 * i + 1] = _mm256_unpackhi_epi32(pair[2 * i], pair[2 * i + 1]);
    }
    for (int p = 0; p < WORDS; p++) {
        __m256i row = p % 2 ? _mm256_unpackhi_epi64(half[p / 2], half[2 + p / 2])
                            : _mm256_unpacklo_epi64(half[p / 2], half[2 + p / 2]);
        _mm256_storeu_si256((__m256i *)(void *)(turned + SIDE * p), row);
    }
#else
    for (int p = 0; p < WORDS; p++)
        for (int j = 0; j < SIDE / 2; j++) {
            turned[SIDE * p + j] = words[WORDS * 2 * j + p];
            turned[SIDE * p + SIDE / 2 + j] = words[WORDS * (2 * j + 1) + p];
        }
#endif
}

/* Elements with columns side by side: even ones, then odd ones. */
static inline __attribute__((always_inline)) void across(enum ptx_mod type, int per_word,
                                                         const uint32_t *words, double *out)
{
    uint32_t turned[WORDS * SIDE];
    uint16_t codes[SIM_LANES * MOST_PER_WORD];
    turn(words, turned);
    for (int p = 0; p < WORDS; p++)
        for (int i = 0; i < per_word; i++)
            for (int j = 0; j < SIDE; j++) {
                uint32_t word = turned[SIDE * p + j];
                if (type == MOD_TF32)
                    out[p * SIDE + j] = (double)tf32_value(word);
                else
                    codes[(p * per_word + i) * SIDE + j] = code_of(type, word, i);
            }
    if (type != MOD_TF32)
        widen(type, SIM_LANES * per_word, codes, out);
}

/* A switch whose cases are loops over one type each. */
#define EACH_TYPE(DO)                                                                              \
    DO(F16, 2)                                                                                     \
    DO(BF16, 2)                                                                                    \
    DO(TF32, 1)                                                                                    \
    DO(E4M3, 4)                                                                                    \
    DO(E5M2, 4)                                                                                    \
    DO(S8, 4)                                                                                      \
    DO(U8, 4)                                                                                      \
    DO(S4, 8)                                                                                      \
    DO(U4, 8)

static void unpack_a(const struct plan *plan, const uint32_t *words, double *out)
{
    switch ((int)plan->type_a) {
#define DO(id, per_word)                                                                           \
    case MOD_##id: flat(MOD_##id, per_word, words, out); break;
        EACH_TYPE(DO)
#undef DO
    default: memcpy(out, words, SIM_LANES * sizeof *out); /* f64 */
    }
}

static void across_f64(const uint32_t *words, double *out)
{
    const double *in = (const double *)(const void *)words;
    for (int column = 0; column < SIDE; column++)
        for (int p = 0; p < WORDS; p++)
            out[p * SIDE + column / 2 + column % 2 * (SIDE / 2)] = in[WORDS * column + p];
}

static void unpack_b(const struct plan *plan, const uint32_t *words, double *out)
{
    switch ((int)plan->type_b) {
#define DO(id, per_word)                                                                           \
    case MOD_##id: across(MOD_##id, per_word, words, out); break;
        EACH_TYPE(DO)
#undef DO
    default: across_f64(words, out);
    }
}

/* --- C and D --- */

/* C's registers of a panel become pairs of sums. */
static void load_sums(const struct sim_warp *w, const struct sim_op *op, const struct plan *p,
                      int panel, double sum[][SIM_LANES])
{
    int count = p->type_c == MOD_F16 ? p->rows : 2 * p->rows, first = p->c + panel * count;
    for (int r = 0; r < count; r++) {
        const uint32_t *in = words_of(w, op, first + r);
        switch ((int)p->type_c) {
        case MOD_F16:
            for (int l = 0; l < SIM_LANES; l++) {
                sum[2 * r][l] = (double)half_value(in[l] & 0xffff);
                sum[2 * r + 1][l] = (double)half_value(in[l] >> 16);
            }
            break;
        case MOD_F32:
            for (int l = 0; l < SIM_LANES; l++)
                sum[r][l] = (double)float_of(in[l]);
            break;
        case MOD_S32:
            for (int l = 0; l < SIM_LANES; l++)
                sum[r][l] = (double)(int32_t)in[l];
            break;
        default: memcpy(sum[r], in, sizeof sum[r]); break;
        }
    }
}

/* A double as binary16, to nearest even, without branches. It becomes f32 on the way, rounded to odd (cut off, the last
 * bit set if anything was lost), so that rounding once more rounds as if once. */
static inline uint32_t rounded_half(double v)
{
    float f = (float)v, aligned;
    double over = fabs((double)f) - fabs(v); /* of infinities and NaN: NaN */
    uint32_t bits, low;
    memcpy(&bits, &f, sizeof bits);
    bits -= over > 0;
    bits |= (over > 0) | (over < 0);
    uint32_t sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
    uint32_t normal = (size - (112u << 23) + 0xfff + (size >> 13 & 1)) >> 13;
    aligned = float_of(size < 0x38800000 ? size : 0) + 0.5f; /* of subnormals: the sum rounds */
    memcpy(&low, &aligned, sizeof low);
    low -= 0x3f000000;
    uint32_t half = size < 0x38800000 ? low : size >= 0x477ff000 ? 0x7c00 : normal;
    return size > 0x7f800000 ? NAN_F16 : half | sign;
}

static void store_halves(uint32_t *out, const double *low, const double *high)
{
    for (int l = 0; l < SIM_LANES; l++)
        out[l] = rounded_half(low[l]) | rounded_half(high[l]) << 16;
}

static void store_f32(uint32_t *out, const double *sum)
{
    for (int l = 0; l < SIM_LANES; l++) {
        float f = (float)sum[l];
        uint32_t bits;
        memcpy(&bits, &f, sizeof bits);
        out[l] = (bits & 0x7fffffff) > 0x7f800000 ? NAN_F32 : bits;
    }
}

static void store_s32(uint32_t *out, const double *sum, bool clamps)
{
    for (int l = 0; l < SIM_LANES; l++) {
        double v = sum[l];
        if (clamps)
            v = v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v;
        out[l] = (uint32_t)(int64_t)v;
    }
}

static void store_f64(double *out, const double *sum)
{
    static const uint64_t nan_bits = 0xfff8000000000000;
    for (int l = 0; l < SIM_LANES; l++) {
        out[l] = sum[l];
        if (isnan(sum[l]))
            memcpy(&out[l], &nan_bits, sizeof *out);
    }
}

static void store_sums(struct sim_warp *w, const struct sim_op *op, const struct plan *p, int panel,
                       double sum[][SIM_LANES])
{
    int count = p->type_d == MOD_F16 ? p->rows : 2 * p->rows, first = p->d + panel * count;
    for (int r = 0; r < count; r++) {
        uint32_t slot = op->more[first + r], *out = sim_u32(w->file, slot);
        switch ((int)p->type_d) {
        case MOD_F16: store_halves(out, sum[2 * r], sum[2 * r + 1]); break;
        case MOD_F32: store_f32(out, sum[r]); break;
        case MOD_S32: store_s32(out, sum[r], p->clamps); break;
        default: store_f64(sim_f64(w->file, slot), sum[r]); break;
        }
    }
}

/* --- the product --- */

#if defined(__FMA__) && defined(__AVX2__)
#define FUSED(x, y, z, exact) ((void)(exact), (vector)_mm256_fmadd_pd(x, y, z))
#else
/* Where the product is exact a sum rounds just as a fused one. */
#define FUSED(x, y, z, exact)                                                                      \
    ((exact) ? (x) * (y) + (z) : (vector){fma((x)[0], (y)[0], (z)[0]), fma((x)[1], (y)[1], (z)[1])})
#endif

/* The sums of a row: even columns, then odd ones. */
static inline double *sums_at(double *even, double *odd, int row, int v)
{
    int half = VECTORS / 2;
    return (v < half ? even : odd) + row * WORDS + v % half * COLUMNS;
}

/* GROUP rows of a block of A, along all of k, times a panel of B. `a` is at the first row of the first block; blocks
 * along k are `stride` apart; depth: elements along k of a block. */
static inline __attribute__((always_inline)) void multiply_rows(const double *a, size_t stride,
                                                                const double *b, int blocks,
                                                                int depth, double *even,
                                                                double *odd, bool exact)
{
    vector sum[GROUP][VECTORS];
    for (int r = 0; r < GROUP; r++)
        for (int v = 0; v < VECTORS; v++)
            memcpy(&sum[r][v], sums_at(even, odd, r, v), sizeof(vector));
    for (int block = 0; block < blocks; block++, a += stride)
        for (int k = 0; k < depth; k++, b += SIDE) {
            vector column[VECTORS];
            for (int v = 0; v < VECTORS; v++)
                memcpy(&column[v], b + v * COLUMNS, sizeof(vector));
            for (int r = 0; r < GROUP; r++) {
                vector x = a[r * depth + k] - (vector){0};
                for (int v = 0; v < VECTORS; v++)
                    sum[r][v] = FUSED(x, column[v], sum[r][v], exact);
            }
        }
    for (int r = 0; r < GROUP; r++)
        for (int v = 0; v < VECTORS; v++)
            memcpy(sums_at(even, odd, r, v), &sum[r][v], sizeof(vector));
}

static inline __attribute__((always_inline)) void multiply_panel(const double *a, const double *b,
                                                                 int rows, int blocks, int depth,
                                                                 double sum[][SIM_LANES],
                                                                 bool exact)
{
    for (int r = 0; r < rows; r++)
        for (int row = 0; row < SIDE; row += GROUP)
            multiply_rows(a + (r * SIDE + row) * depth, (size_t)(rows * SIDE * depth), b, blocks,
                          depth, sum[2 * r] + row * WORDS, sum[2 * r + 1] + row * WORDS, exact);
}

static inline __attribute__((always_inline)) bool
multiply(struct sim_warp *w, const struct sim_op *op, uint32_t mask, bool exact)
{
    const struct plan *p = op->data;
    struct operands x;
    int depth = WORDS * p->per_word, panel_size = p->blocks * depth * SIDE;
    if (!sim_gather_all(w, op, mask))
        return false;
    for (int i = 0; i < p->a_count; i++)
        unpack_a(p, words_of(w, op, p->a + i), x.a + i * SIDE * depth);
    for (int i = 0; i < p->b_count; i++)
        unpack_b(p, words_of(w, op, p->b + i), x.b + i * SIDE * depth);
    for (int panel = 0; panel < p->panels; panel++) {
        load_sums(w, op, p, panel, x.sum + 2 * p->rows * panel);
        multiply_panel(x.a, x.b + panel * panel_size, p->rows, p->blocks, depth,
                       x.sum + 2 * p->rows * panel, exact);
    }
    /* D may be registers of C: all of C has been read by now */
    for (int panel = 0; panel < p->panels; panel++)
        store_sums(w, op, p, panel, x.sum + 2 * p->rows * panel);
    return true;
}

static bool multiply_exact(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    return multiply(w, op, mask, true);
}
static bool multiply_f64(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    return multiply(w, op, mask, false);
}

/* --- bits --- */

/* Adds the bits that a row of A and a column of B have in common, or, for .xor, in which they differ. */
static void count_bits(const uint32_t *a, const uint32_t *b, bool ands, uint32_t *even,
                       uint32_t *odd)
{
    for (int row = 0; row < SIDE; row++)
        for (int column = 0; column < SIDE; column++) {
            int sum = 0;
            for (int i = 0; i < WORDS; i++) {
                uint32_t x = a[WORDS * row + i], y = b[WORDS * column + i];
                sum += __builtin_popcount(ands ? x & y : x ^ y);
            }
            (column % 2 ? odd : even)[WORDS * row + column / 2] += (uint32_t)sum;
        }
}

static bool multiply_bits(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    const struct plan *p = op->data;
    uint32_t sum[MOST_SUMS][SIM_LANES];
    if (!sim_gather_all(w, op, mask))
        return false;
    for (int r = 0; r < 2 * p->rows; r++)
        memcpy(sum[r], words_of(w, op, p->c + r), sizeof sum[r]);
    for (int block = 0; block < p->blocks; block++)
        for (int r = 0; r < p->rows; r++)
            count_bits(words_of(w, op, p->a + block * p->rows + r), words_of(w, op, p->b + block),
                       p->ands, sum[2 * r], sum[2 * r + 1]);
    for (int r = 0; r < 2 * p->rows; r++)
        memcpy(sim_u32(w->file, op->more[p->d + r]), sum[r], sizeof sum[r]);
    return true;
}

/* --- choosing --- */

/* Elements of a register along k and in a word; 0: a type that is not done here. */
static int per_word_of(enum ptx_mod type)
{
    switch ((int)type) {
#define DO(id, per_word)                                                                           \
    case MOD_##id: return per_word;
        EACH_TYPE(DO)
#undef DO
    case MOD_F64: return 1;
    case MOD_B1: return 32;
    default: return 0;
    }
}

/* Types of D, A, B, C: all four are written, or (wmma with .f16 factors) D and C are. */
static void read_types(const struct ptx_instruction *ins, struct plan *p)
{
    bool all = ptx_type(ins, 2) != MOD_NONE;
    p->type_d = (uint16_t)ptx_type(ins, 0);
    p->type_a = all ? (uint16_t)ptx_type(ins, 1) : MOD_F16;
    p->type_b = all ? (uint16_t)ptx_type(ins, 2) : MOD_F16;
    p->type_c = (uint16_t)ptx_type(ins, all ? 3 : 1);
}

/* Type of the registers of a matrix. */
static enum ptx_mod register_type(uint16_t type, bool is_sum)
{
    if (type == MOD_F64 || (is_sum && (type == MOD_F32 || type == MOD_S32)))
        return (enum ptx_mod)type;
    return PTX_B32;
}

static bool read_registers(struct sim_decoder *d, const struct ptx_instruction *ins,
                           struct sim_op *op, struct plan *p)
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

/* Are there as many registers as the shape takes? wmma's fragments of .f16 may have more: those are not used. */
static bool counts_fit(const struct sim_op *op, const struct plan *p)
{
    int c = p->panels * p->rows * (p->type_c == MOD_F16 ? 1 : 2);
    int d = p->panels * p->rows * (p->type_d == MOD_F16 ? 1 : 2);
    return p->a - p->d >= d && p->b - p->a >= p->a_count && p->c - p->b >= p->b_count &&
           (int)op->more_count - p->c >= c && 2 * p->rows * p->panels <= MOST_SUMS &&
           (p->type_a == MOD_B1 || (SIM_LANES * p->per_word * p->a_count <= MOST_A &&
                                    SIM_LANES * p->per_word * p->b_count <= MOST_B));
}

/* Forms left out: sparse ones, those with scales, the shape of the first matrix units with .f16 (sim_mma_quads.c),
 * rounding of f64 other than to nearest. */
static bool is_done(const struct ptx_instruction *ins, const struct plan *p)
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

bool sim_choose_mma(struct sim_decoder *d, const struct ptx_instruction *ins, struct sim_op *op)
{
    int m, n, k;
    if (ins->op != PTX_MMA && ins->op != PTX_WMMA_MMA)
        return false;
    struct plan *p = arena_new(sim_decoder_arena(d), struct plan);
    read_types(ins, p);
    if (!is_done(ins, p) || !ptx_shape(ptx_find(ins, PTX_CLASS_SHAPE, 0), &m, &n, &k))
        return false;
    p->per_word = (uint8_t)per_word_of((enum ptx_mod)p->type_a);
    p->rows = (uint8_t)(m / SIDE);
    p->panels = (uint8_t)(n / SIDE);
    p->blocks = (uint8_t)(k / (WORDS * p->per_word));
    p->a_count = (uint16_t)(p->rows * p->blocks);
    p->b_count = (uint16_t)(p->panels * p->blocks);
    p->clamps = ptx_has(ins, MOD_SATFINITE);
    p->ands = ptx_has(ins, MOD_AND);
    if (!read_registers(d, ins, op, p) || !counts_fit(op, p))
        return false;
    op->data = p;
    op->run = p->type_a == MOD_B1    ? multiply_bits
              : p->type_a == MOD_F64 ? multiply_f64
                                     : multiply_exact;
    return true;
}
