/* Philox-4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC
 * 2011), as philox_word of base/arithmetic.h: counter (offset low, offset high, 0, 0), key (seed
 * low, seed high). */
#include "nvptx/nvptx_scalars_own.h"

enum { ROUNDS = 10 };
static const uint32_t factors[2] = {0xd2511f53u, 0xcd9e8d57u};
static const uint32_t steps[2] = {0x9e3779b9u, 0xbb67ae85u};

static struct ptx_operand word_of(uint32_t bits)
{
    return ptx_int((int64_t)bits);
}

/* The halves of an operand of 64 bits. */
static void halves(struct nvptx_scalars *out, struct ptx_operand x, struct ptx_operand half[2])
{
    if (x.kind == PTX_IMMEDIATE) {
        half[0] = word_of((uint32_t)x.bits);
        half[1] = word_of((uint32_t)(x.bits >> 32));
        return;
    }
    half[0] = ptx_reg(out->build, MOD_B32);
    half[1] = ptx_reg(out->build, MOD_B32);
    ptx_emit(out->build, "mov.b64", ptx_vector(out->build, half, 2), x);
}

static void multiply(struct nvptx_scalars *out, struct ptx_operand x, uint32_t factor,
                     struct ptx_operand half[2])
{
    if (x.kind == PTX_IMMEDIATE)
        halves(out, ptx_int((int64_t)(x.bits * factor)), half);
    else
        halves(out, NEW(out, MOD_B64, "mul.wide.u32", x, word_of(factor)), half);
}

static struct ptx_operand plus(struct nvptx_scalars *out, struct ptx_operand x, uint32_t addend)
{
    if (x.kind == PTX_IMMEDIATE)
        return word_of((uint32_t)x.bits + addend);
    return NEW(out, MOD_B32, "add.u32", x, word_of(addend));
}

static struct ptx_operand both(struct nvptx_scalars *out, struct ptx_operand a,
                               struct ptx_operand b)
{
    if (a.kind == PTX_IMMEDIATE && b.kind == PTX_IMMEDIATE)
        return word_of((uint32_t)(a.bits ^ b.bits));
    if (a.kind == PTX_IMMEDIATE) {
        struct ptx_operand other = a;
        a = b;
        b = other;
    }
    return b.kind == PTX_IMMEDIATE && b.bits == 0 ? a : NEW(out, MOD_B32, "xor.b32", a, b);
}

/* ptxas makes one LOP3 of an exclusive or of three registers. */
static void round_emit(struct nvptx_scalars *out, struct ptx_operand x[4],
                       const struct ptx_operand key[2])
{
    struct ptx_operand p0[2], p1[2];
    multiply(out, x[0], factors[0], p0);
    multiply(out, x[2], factors[1], p1);
    x[0] = both(out, both(out, p1[1], x[1]), key[0]);
    x[2] = both(out, both(out, p0[1], x[3]), key[1]);
    x[1] = p1[0];
    x[3] = p0[0];
}

/* words[index & 3] */
static struct ptx_operand pick(struct nvptx_scalars *out, const struct ptx_operand words[4],
                               struct ptx_operand index)
{
    if (index.kind == PTX_IMMEDIATE)
        return words[index.bits & 3];
    struct ptx_operand bit[2], odd, high;
    for (int i = 0; i < 2; i++)
        bit[i] = NEW(out, MOD_B32, "and.b32", index, ptx_int(1 << i));
    odd = NEW(out, MOD_PRED, "setp.ne.b32", bit[0], ptx_int(0));
    high = NEW(out, MOD_PRED, "setp.ne.b32", bit[1], ptx_int(0));
    struct ptx_operand low_half = nvptx_select(out, MOD_B32, odd, words[1], words[0]);
    struct ptx_operand high_half = nvptx_select(out, MOD_B32, odd, words[3], words[2]);
    return nvptx_select(out, MOD_B32, high, high_half, low_half);
}

struct ptx_operand nvptx_random(struct nvptx_scalars *out, enum dtype t,
                                const struct ptx_operand *args, int count)
{
    const struct ptx_operand zero = ptx_int(0);
    struct ptx_operand key[2] = {args[0], zero}, x[4] = {args[1], zero, zero, zero};
    if (t == DT_U64) {
        halves(out, args[0], key);
        halves(out, args[1], x);
    }
    for (int round = 0; round < ROUNDS; round++) {
        round_emit(out, x, key);
        for (int i = 0; i < 2; i++)
            key[i] = plus(out, key[i], steps[i]);
    }
    struct ptx_operand word = pick(out, x, count > 2 ? args[2] : ptx_int(0));
    return NEW(out, MOD_B32, "mov.b32", word);
}
