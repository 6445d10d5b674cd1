/* Words that several elements share: taken apart, made, gathered from others, and values of other lanes. */
#include "nvptx/nvptx_scalars_own.h"

enum { WORD_BYTES = 4, WARP_THREADS = 32 };

/* --- several elements of a word --- */

void nvptx_unpack(struct nvptx_scalars *out, enum dtype t, struct ptx_operand word,
                  struct ptx_operand *elements)
{
    int bits = dtype_table[t].bits, count = 32 / bits;
    if (dtype_is_half(t)) {
        for (int i = 0; i < count; i++)
            elements[i] = ptx_reg(out->build, MOD_B16);
        ptx_emit(out->build, "mov.b32", ptx_vector(out->build, elements, 2), word);
        return;
    }
    for (int i = 0; i < count; i++)
        elements[i] = nvptx_unpack_one(out, t, word, i);
}

struct ptx_operand nvptx_unpack_one(struct nvptx_scalars *out, enum dtype t,
                                    struct ptx_operand word, int i)
{
    const int bits = dtype_table[t].bits;
    const enum ptx_mod name = dtype_table[t].kind == DK_SINT ? MOD_S32 : MOD_U32;
    if (i == 0)
        return nvptx_narrow(out, t, word);
    return i == 32 / bits - 1
               ? NEW_OF(out, MOD_B32, name, "shr.*", word, ptx_int(32 - bits))
               : NEW_OF(out, MOD_B32, name, "bfe.*", word, ptx_int(i * bits), ptx_int(bits));
}

struct ptx_operand nvptx_pack(struct nvptx_scalars *out, enum dtype t,
                              const struct ptx_operand *elements)
{
    enum { LOW_BYTES = 0x0040, LOW_HALVES = 0x5410 }; /* prmt: which byte of {b, a} each is */
    if (dtype_is_half(t))
        return NEW(out, MOD_B32, "mov.b32", ptx_vector(out->build, elements, 2));
    if (dtype_table[t].bits == 16)
        return NEW(out, MOD_B32, "prmt.b32", elements[0], elements[1], ptx_int(LOW_HALVES));
    struct ptx_operand low =
        NEW(out, MOD_B32, "prmt.b32", elements[0], elements[1], ptx_int(LOW_BYTES));
    struct ptx_operand high =
        NEW(out, MOD_B32, "prmt.b32", elements[2], elements[3], ptx_int(LOW_BYTES));
    return NEW(out, MOD_B32, "prmt.b32", low, high, ptx_int(LOW_HALVES));
}

/* --- words out of words --- */

/* Moves bytes of `from` into the word so far, by one prmt. taken: elements that are there already. */
static struct ptx_operand permute(struct nvptx_scalars *out, struct ptx_operand so_far,
                                  struct ptx_operand from, const int32_t *first_byte, int count,
                                  unsigned taken, bool fresh)
{
    int bytes = WORD_BYTES / count;
    uint32_t selector = 0;
    for (int i = 0; i < count; i++)
        for (int b = 0; b < bytes; b++) {
            int at = i * bytes + b; /* other bytes stay in their places */
            int source = first_byte[i] >= 0 ? first_byte[i] + b + (fresh ? 0 : WORD_BYTES) : at;
            if (taken >> i & 1)
                source = at;
            selector |= (uint32_t)source << (4 * at);
        }
    struct ptx_operand r = ptx_reg(out->build, PTX_B32);
    ptx_emit(out->build, "prmt.b32", r, so_far, from, ptx_int((int64_t)selector));
    return r;
}

/* Makes a word of bytes of two others. */
static struct ptx_operand permute_two(struct nvptx_scalars *out, struct ptx_operand a,
                                      struct ptx_operand b, const int32_t *in_a,
                                      const int32_t *in_b, int count)
{
    int bytes = WORD_BYTES / count;
    uint32_t selector = 0;
    for (int i = 0; i < count; i++)
        for (int n = 0; n < bytes; n++) {
            int at = i * bytes + n;
            int source = in_a[i] >= 0 ? in_a[i] + n : in_b[i] >= 0 ? WORD_BYTES + in_b[i] + n : at;
            selector |= (uint32_t)source << (4 * at);
        }
    struct ptx_operand r = ptx_reg(out->build, PTX_B32);
    ptx_emit(out->build, "prmt.b32", r, a, b, ptx_int((int64_t)selector));
    return r;
}

struct ptx_operand nvptx_gather(struct nvptx_scalars *out, enum dtype t,
                                const struct ptx_operand *from, const int32_t *e, int count)
{
    int per_word = tile_per_word(t), bytes = WORD_BYTES / per_word, words = 0;
    int32_t word[4], byte[4][4]; /* of each source word, where each element begins in it */
    bool in_place = true;
    for (int i = 0; i < per_word; i++) {
        if (i >= count || e[i] < 0)
            continue;
        int n = 0;
        while (n < words && word[n] != e[i] / per_word)
            n++;
        if (n == words) {
            word[words++] = e[i] / per_word;
            for (int k = 0; k < 4; k++)
                byte[n][k] = -1;
        }
        byte[n][i] = e[i] % per_word * bytes;
        in_place = in_place && byte[n][i] == i * bytes;
    }
    if (words == 0 || (words == 1 && in_place))
        return from[words ? word[0] : 0];
    if (words == 1)
        return permute(out, from[word[0]], from[word[0]], byte[0], per_word, 0, true);
    struct ptx_operand r =
        permute_two(out, from[word[0]], from[word[1]], byte[0], byte[1], per_word);
    for (int n = 2; n < words; n++) {
        unsigned taken = 0;
        for (int i = 0; i < per_word; i++)
            taken |= (unsigned)(byte[n][i] < 0) << i;
        r = permute(out, r, from[word[n]], byte[n], per_word, taken, false);
    }
    return r;
}

/* --- other lanes --- */

static struct ptx_operand shuffle_word(struct nvptx_scalars *out, struct ptx_operand to,
                                       struct ptx_operand x, const struct nvptx_lane *from)
{
    const struct ptx_operand width = ptx_int((WARP_THREADS - from->width) << 8);
    if (from->how == THREAD_SHUFFLE_UP)
        ptx_emit(out->build, "shfl.sync.up.b32", to, ptx_and_also(from->there), x, from->lane,
                 width, ptx_int(-1));
    else if (from->how == THREAD_SHUFFLE_XOR)
        ptx_emit(out->build, "shfl.sync.bfly.b32", to, x, from->lane, ptx_int(31), ptx_int(-1));
    else
        ptx_emit(out->build, "shfl.sync.idx.b32", to, x, from->lane, ptx_int(31), ptx_int(-1));
    return to;
}

static struct ptx_operand shuffle_long(struct nvptx_scalars *out, enum dtype t,
                                       struct ptx_operand x, const struct nvptx_lane *from)
{
    struct ptx_operand half[2], moved[2];
    for (int i = 0; i < 2; i++)
        half[i] = ptx_reg(out->build, PTX_B32);
    ptx_emit(out->build, "mov.b64", ptx_vector(out->build, half, 2), x);
    for (int i = 0; i < 2; i++)
        moved[i] = shuffle_word(out, ptx_reg(out->build, PTX_B32), half[i], from);
    struct ptx_operand r = nvptx_new_register(out, t);
    ptx_emit(out->build, "mov.b64", r, ptx_vector(out->build, moved, 2));
    return r;
}

struct ptx_operand nvptx_shuffle(struct nvptx_scalars *out, enum dtype t, bool word,
                                 struct ptx_operand x, const struct nvptx_lane *from)
{
    struct ptx_operand r = ptx_reg(out->build, PTX_B32), all[4] = {x, x, x, x};
    if (t == DT_BOOL) {
        ptx_emit(out->build, "selp.b32", r, ptx_int(1), ptx_int(0), x);
        shuffle_word(out, r, r, from);
        struct ptx_operand p = ptx_reg(out->build, PTX_PRED);
        ptx_emit(out->build, "setp.ne.s32", p, r, ptx_int(0));
        return p;
    }
    if (dtype_table[t].bits == 64)
        return shuffle_long(out, t, x, from);
    if (word && tile_per_word(t) > 1)
        return shuffle_word(out, r, x, from);
    if (dtype_is_float(t) && tile_per_word(t) > 1) {
        nvptx_unpack(out, t, shuffle_word(out, r, nvptx_pack(out, t, all), from), all);
        return all[0];
    }
    return shuffle_word(out, nvptx_new_register(out, t), x, from);
}
