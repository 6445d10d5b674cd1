/* The operands of a warpgroup's product in shared memory, and its sums.
 *
 * A matrix descriptor (PTX ISA, asynchronous-warpgroup-level-matrix-shared-memory-layout) has the
 * start address (bits 0 to 13, in units of 16 bytes), the leading offset (16 to 29) and the stride
 * offset (32 to 45), in the same unit, the base offset (49 to 51) and the swizzle (62 and 63). W is
 * the width of the swizzle's pattern, 16 bytes without one. An operand is 32 bytes wide along k.
 *   rows along k: row r, byte b is at r / 8 * stride + r % 8 * W + b; without a swizzle the second
 *     16 bytes are at `leading`
 *   transposed: byte b of a row of n (or m), at step s of k: b / W * leading + b % W + s % 8 * W +
 *     s / 8 * stride; without a swizzle `leading` and `stride` are exchanged
 * Then bits of the address are XORed as in copies, from `base` rows of 128 bytes on.
 *
 * Numbers are those of sim_mma.c: exact products, a sum in double, rounded once. Hardware keeps
 * fewer bits of the sums of 8-bit floats, about 14; that is not modelled. */
#include "base/dtype.h"
#include "base/float_bits.h"
#include "sim/sim_half.h"
#include "sim/sim_wgmma.h"

#include <string.h>

#define F32_MINUS_ZERO UINT32_C(0x80000000)
#define F32_INFINITY UINT32_C(0x7f800000)
#define F32_NAN UINT32_C(0x7fffffff)

enum { MOST_CHUNKS = 2 * WGMMA_MOST_N, MOST_K = 32, ADDRESS_END = 1 << 18, PATTERN_ROW = 7 };

/* --- operands in shared memory --- */

/* An operand of `rows` rows (of A; columns of B) by 32 bytes of k. */
struct operand {
    uint64_t start, leading, stride;
    uint32_t base, pattern; /* rows of 128 bytes; the bits that are XORed */
    int width;              /* as a shift */
    int rows;
    bool turned;
};

static struct operand operand_of(uint64_t descriptor, int rows, bool turned)
{
    static const uint32_t patterns[] = {0, 7, 3, 1};
    static const uint8_t widths[] = {4, 7, 6, 5}; /* shifts */
    unsigned mode = (unsigned)(descriptor >> 62);
    return (struct operand){.start = (descriptor & 0x3fff) << 4,
                            .leading = (descriptor >> 16 & 0x3fff) << 4,
                            .stride = (descriptor >> 32 & 0x3fff) << 4,
                            .base = (uint32_t)(descriptor >> 49) & 7,
                            .pattern = patterns[mode],
                            .width = widths[mode],
                            .rows = rows,
                            .turned = turned};
}

/* Returns the address of the 16 bytes from byte `at` of line `line` on. A line is a row along k;
 * transposed: a step of k. */
static uint64_t chunk_at(const struct operand *o, uint64_t line, uint64_t at)
{
    uint64_t within = line % 8 << o->width, eighth = line / 8, x;
    if (!o->pattern && !o->turned)
        x = eighth * o->stride + within + at / WGMMA_CHUNK * o->leading;
    else if (!o->turned)
        x = eighth * o->stride + within + at;
    else if (!o->pattern)
        x = at / WGMMA_CHUNK * o->stride + within + eighth * o->leading;
    else
        x = (at >> o->width) * o->leading + (at & ((1u << o->width) - 1)) + within +
            eighth * o->stride;
    x += o->start;
    x ^= (((x >> PATTERN_ROW) - o->base) & o->pattern) << 4;
    return x % ADDRESS_END;
}

/* The chunks of an operand, in the order of lines. */
struct chunks {
    int count, of_line;
    bool turned;
    uint64_t bits; /* that any 8 bytes have */
    uint64_t address[MOST_CHUNKS];
    uint8_t bytes[MOST_CHUNKS][WGMMA_CHUNK];
};

static void place(const struct operand *o, int size, struct chunks *c)
{
    int lines = o->turned ? WGMMA_K_BYTES / size : o->rows;
    int bytes = o->turned ? o->rows * size : WGMMA_K_BYTES;
    c->of_line = bytes / WGMMA_CHUNK;
    c->turned = o->turned;
    c->count = lines * c->of_line;
    c->bits = 0;
    for (int line = 0, i = 0; line < lines; line++)
        for (int along = 0; along < c->of_line; along++)
            c->address[i++] = chunk_at(o, (uint64_t)line, (uint64_t)(along * WGMMA_CHUNK));
}

static bool outside(const struct sim_product *p, struct sim_warp *w, uint64_t address)
{
    struct sim_fault fault = {
        .kind = SIM_OUTSIDE, .space = SIM_SHARED, .bytes = WGMMA_CHUNK, .address = address};
    return sim_fault_at(w, p->op, &fault);
}

/* Returns the chunk that is read as the i-th: the tensor cores read core matrices, 8 lines of one chunk
 * each, one after the other (PTX ISA, "Shared Memory Matrix Layout"). */
static int nth_read(const struct chunks *c, int i)
{
    enum { LINES = 8 };
    int within = i % (LINES * c->of_line);
    return c->turned ? i : i - within + within % LINES * c->of_line + within / LINES;
}

/* Up to 32 chunks that are read at once: their numbers, and those that lie in memory. */
struct chunks_read {
    uint32_t mask;
    int chunk[SIM_LANES];
};

static bool tell(const struct sim_product *p, struct sim_warp *w, const struct chunks *c,
                 const struct chunks_read *r)
{
    struct sim_access a = {.at = p->of[w->number % WGMMA_WARPS].at,
                           .space = SIM_SHARED,
                           .kind = SIM_READ,
                           .mask = r->mask,
                           .bytes = WGMMA_CHUNK,
                           .group = p->number};
    if (!r->mask || !w->observed)
        return true;
    for (uint32_t m = r->mask; m; m &= m - 1) {
        int j = __builtin_ctz(m);
        a.address[j] = c->address[r->chunk[j]];
        a.before[j] = w->shared + a.address[j];
    }
    return sim_notify_access(w, &a);
}

static uint64_t bits_of(const uint8_t *chunk)
{
    uint64_t halves[WGMMA_CHUNK / 8];
    memcpy(halves, chunk, sizeof halves);
    return halves[0] | halves[1];
}

/* Reads the chunks; those outside memory, if that is let pass, are zero. */
static bool read(const struct sim_product *p, struct sim_warp *w, struct chunks *c)
{
    for (int first = 0; first < c->count; first += SIM_LANES) {
        struct chunks_read r = {0};
        for (int j = 0; j < SIM_LANES && first + j < c->count; j++) {
            int i = r.chunk[j] = nth_read(c, first + j);
            if (c->address[i] + WGMMA_CHUNK <= w->shared_bytes)
                r.mask |= UINT32_C(1) << j;
            else if (!outside(p, w, c->address[i]))
                return false;
            else
                memset(c->bytes[i], 0, WGMMA_CHUNK);
        }
        if (!tell(p, w, c, &r))
            return false;
        for (uint32_t m = r.mask; m; m &= m - 1) {
            int i = r.chunk[__builtin_ctz(m)];
            memcpy(c->bytes[i], w->shared + c->address[i], WGMMA_CHUNK);
            c->bits |= bits_of(c->bytes[i]);
        }
    }
    return true;
}

/* --- elements --- */

static float element(enum ptx_mod type, const uint8_t *at)
{
    uint16_t half;
    uint32_t word;
    switch ((int)type) {
    case MOD_F16: memcpy(&half, at, sizeof half); return sim_f16_float(half);
    case MOD_BF16: memcpy(&half, at, sizeof half); return sim_bf16_float(half);
    case MOD_TF32: memcpy(&word, at, sizeof word); return f32_from_bits(word & 0xffffe000);
    case MOD_E4M3: return e4m3_to_f32(*at);
    case MOD_E5M2: return e5m2_to_f32(*at);
    case MOD_S8: return (int8_t)*at;
    default: return *at;
    }
}

/* Elements by step of k, then by row. */
struct elements {
    bool zero; /* all are, and none is negative: `of` is not filled */
    float of[MOST_K][WGMMA_MOST_N];
};

static void unpack(const struct operand *o, const struct chunks *c, enum ptx_mod type, int size,
                   bool minus, struct elements *out)
{
    int per = WGMMA_CHUNK / size;
    for (int i = 0; i < c->count; i++)
        for (int e = 0; e < per; e++) {
            int line = i / c->of_line, along = i % c->of_line * per + e;
            float v = element(type, c->bytes[i] + e * size);
            out->of[o->turned ? line : along][o->turned ? along : line] = minus ? -v : v;
        }
}

static bool take_shared(const struct sim_product *p, struct sim_warp *w, uint64_t descriptor,
                        int rows, bool turned, enum ptx_mod type, bool minus, struct elements *out)
{
    const struct sim_wgmma *plan = p->op->data;
    struct operand o = operand_of(descriptor, rows, turned);
    struct chunks c;
    place(&o, plan->size, &c);
    if (!read(p, w, &c))
        return false;
    out->zero = !c.bits && !minus;
    if (!out->zero)
        unpack(&o, &c, type, plan->size, minus, out);
    return true;
}

/* A register of A, 32 lanes: row lane / 4, and 8 more for the odd ones; bytes 4 * (lane % 4) of
 * k, and 16 more for the second two. */
static void take_registers(const struct sim_product *p, struct elements *out)
{
    const struct sim_wgmma *plan = p->op->data;
    out->zero = false;
    for (int i = 0; i < WGMMA_WARPS; i++)
        for (int r = 0; r < plan->a_count && p->of[i].warp; r++) {
            const uint8_t *words = p->of[i].file + p->op->more[plan->d_count + r];
            for (int lane = 0; lane < SIM_LANES; lane++)
                for (int e = 0; e < 4 / plan->size; e++) {
                    int row = 16 * i + lane / 4 + r % 2 * 8;
                    int k = (lane % 4 * 4 + r / 2 * 16) / plan->size + e;
                    float v =
                        element((enum ptx_mod)plan->type_a, words + 4 * lane + e * plan->size);
                    out->of[k][row] = plan->minus_a ? -v : v;
                }
        }
}

/* --- sums --- */

static void add_products(const struct elements *a, const struct elements *b, int row, int k, int n,
                         double *sum)
{
    for (int s = 0; s < k; s++) {
        const double x = a->of[s][row];
        const float *y = b->of[s];
        for (int j = 0; j < n; j++)
            sum[j] += x * y[j];
    }
}

/* Returns the place of a sum in a warp's registers: sums of f16 share registers. */
static uint8_t *sum_at(const struct sim_product *p, int warp, int row, int column)
{
    const struct sim_wgmma *plan = p->op->data;
    int lane = row % 8 * 4 + column % 8 / 2, high = row % 16 / 8, odd = column % 2;
    bool halves = plan->type_d == MOD_F16;
    int reg = halves ? column / 8 * 2 + high : column / 8 * 4 + high * 2 + odd;
    uint8_t *at = p->of[warp].file + p->op->more[reg] + 4 * lane;
    return halves ? at + 2 * odd : at;
}

static double load_sum(enum ptx_mod type, const uint8_t *at)
{
    uint32_t word;
    uint16_t half;
    if (type == MOD_F16) {
        memcpy(&half, at, sizeof half);
        return (double)sim_f16_float(half);
    }
    memcpy(&word, at, sizeof word);
    return type == MOD_S32 ? (double)(int32_t)word : (double)f32_from_bits(word);
}

static void store_sum(enum ptx_mod type, double sum, bool clamps, uint8_t *at)
{
    uint32_t word;
    if (type == MOD_F16) {
        uint16_t half = sum == sum ? f64_to_f16(sum) : 0x7fff;
        memcpy(at, &half, sizeof half);
        return;
    }
    if (type == MOD_S32 && clamps)
        sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
    if (type == MOD_S32)
        word = (uint32_t)(int64_t)sum;
    else
        word = sum == sum ? f32_bits((float)sum) : F32_NAN;
    memcpy(at, &word, sizeof word);
}

static void add_row(const struct sim_product *p, const struct elements *a, const struct elements *b,
                    int row)
{
    const struct sim_wgmma *plan = p->op->data;
    const enum ptx_mod type = (enum ptx_mod)plan->type_d;
    double sum[WGMMA_MOST_N] = {0};
    int warp = row / 16;
    for (int j = 0; j < plan->n && p->adds; j++)
        sum[j] = load_sum(type, sum_at(p, warp, row, j));
    add_products(a, b, row, plan->k, plan->n, sum);
    for (int j = 0; j < plan->n; j++)
        store_sum(type, sum[j], plan->clamps, sum_at(p, warp, row, j));
}

/* Adds products that are all +0 to a word of sums: only -0 and the bits of NaNs change. */
static uint32_t add_zeros(enum ptx_mod type, uint32_t word)
{
    if (type == MOD_S32)
        return word;
    if (type != MOD_F16)
        return word == F32_MINUS_ZERO                    ? 0
               : (word & ~F32_MINUS_ZERO) > F32_INFINITY ? F32_NAN
                                                         : word;
    for (int shift = 0; shift < 32; shift += 16) {
        uint32_t half = word >> shift & 0xffff;
        uint32_t sum = half == 0x8000 ? 0 : (half & 0x7fff) > 0x7c00 ? 0x7fff : half;
        word = (word & ~(UINT32_C(0xffff) << shift)) | sum << shift;
    }
    return word;
}

/* Does what add_row does to all rows if all factors are +0. */
static void add_no_products(const struct sim_product *p)
{
    const struct sim_wgmma *plan = p->op->data;
    const enum ptx_mod type = (enum ptx_mod)plan->type_d;
    static const uint32_t zeros[SIM_LANES] = {0};
    for (int i = 0; i < WGMMA_WARPS; i++)
        for (int r = 0; r < plan->d_count && p->of[i].warp; r++) {
            uint32_t words[SIM_LANES];
            uint8_t *at = p->of[i].file + p->op->more[r];
            if (memcmp(at, zeros, sizeof zeros) == 0) /* mostly */
                continue;
            memcpy(words, at, sizeof words);
            for (int lane = 0; lane < SIM_LANES; lane++)
                words[lane] = p->adds ? add_zeros(type, words[lane]) : 0;
            memcpy(at, words, sizeof words);
        }
}

static void fill_zeros(struct elements *e)
{
    if (e->zero)
        memset(e->of, 0, sizeof e->of);
}

bool sim_product_land(const struct sim_product *p)
{
    const struct sim_wgmma *plan = p->op->data;
    struct elements a, b;
    struct sim_warp *w = NULL;
    for (int i = 0; i < WGMMA_WARPS && !w; i++)
        w = p->of[i].warp;
    if (!w)
        return true;
    if (plan->a_in_registers)
        take_registers(p, &a);
    else if (!take_shared(p, w, p->a, WGMMA_ROWS, plan->turned_a, (enum ptx_mod)plan->type_a,
                          plan->minus_a, &a))
        return false;
    if (!take_shared(p, w, p->b, plan->n, plan->turned_b, (enum ptx_mod)plan->type_b, plan->minus_b,
                     &b))
        return false;
    if (a.zero && b.zero) {
        add_no_products(p);
    } else {
        fill_zeros(&a);
        fill_zeros(&b);
        for (int row = 0; row < WGMMA_ROWS; row++)
            if (p->of[row / 16].warp)
                add_row(p, &a, &b, row);
    }
    w->sim->changes++;
    return true;
}
