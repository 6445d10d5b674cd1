/* Words of register tiles: made, packed, taken apart, picked, exchanged. */
#include "lower/lower_tile_own.h"

#include "base/arithmetic.h"

#include <assert.h>

enum { WORD_BYTES = 4 };

static bool is_packed(enum dtype t)
{
    return tile_per_word(t) > 1;
}

struct ptx_operand tile_new_word(struct lower *l, enum dtype t)
{
    return is_packed(t) ? ptx_reg(&l->b, PTX_B32) : op_register(l, t);
}

static struct regtile shape_tile(struct lower *l, enum dtype t, const struct layout *layout)
{
    struct regtile tile = {.dtype = t, .layout = layout_keep(l, layout)};
    int per_word = tile_per_word(t);
    tile.elements = layout_registers(tile.layout);
    tile.words = divide_up(tile.elements, per_word);
    tile.word = arena_array(l->arena, struct ptx_operand, tile.words);
    return tile;
}

struct regtile tile_new(struct lower *l, enum dtype t, const struct layout *layout)
{
    struct regtile tile = shape_tile(l, t, layout);
    for (int w = 0; w < tile.words; w++)
        tile.word[w] = tile_new_word(l, t);
    return tile;
}

struct ptx_operand op_in_register(struct lower *l, enum dtype t, struct ptx_operand x)
{
    if (x.kind == PTX_REGISTER && !x.negated)
        return x;
    struct ptx_operand r = op_register(l, t);
    op_move(l, t, r, x);
    return r;
}

struct regtile tile_of_elements(struct lower *l, enum dtype t, const struct layout *layout,
                                const struct ptx_operand *element)
{
    struct regtile tile = shape_tile(l, t, layout);
    int per_word = tile_per_word(t);
    for (int w = 0; w < tile.words; w++) {
        struct ptx_operand part[4];
        for (int i = 0; i < per_word; i++) {
            int r = w * per_word + i;
            part[i] = element[r < tile.elements ? r : tile.elements - 1];
            part[i] = op_in_register(l, t, part[i]);
        }
        tile.word[w] = per_word > 1 ? op_pack(l, t, part) : part[0];
    }
    return tile;
}

struct ptx_operand *tile_elements(struct lower *l, const struct regtile *t)
{
    int per_word = tile_per_word(t->dtype);
    if (per_word == 1)
        return t->word;
    struct ptx_operand *out = arena_array(l->arena, struct ptx_operand, t->words * per_word);
    for (int w = 0; w < t->words; w++)
        op_unpack(l, t->dtype, t->word[w], out + w * per_word);
    return out;
}

struct regtile tile_fill(struct lower *l, enum dtype t, const struct layout *layout,
                         struct ptx_operand value)
{
    struct regtile tile = shape_tile(l, t, layout);
    struct ptx_operand one = op_in_register(l, t, value), all[4] = {one, one, one, one};
    if (is_packed(t))
        one = op_pack(l, t, all);
    for (int w = 0; w < tile.words; w++)
        tile.word[w] = one;
    return tile;
}

/* --- Moves --- */

static void move_word(struct lower *l, enum dtype t, struct ptx_operand to, struct ptx_operand from)
{
    if (to.reg != from.reg)
        op_move(l, is_packed(t) ? DT_U32 : t, to, from);
}

/* A source that some move before would have overwritten is saved first. */
void tile_move(struct lower *l, const struct regtile *to, const struct regtile *from)
{
    struct ptx_operand *word =
        arena_copy(l->arena, from->word, (size_t)from->words * sizeof *from->word);
    assert(to->dtype == from->dtype && to->words == from->words);
    uint32_t least = UINT32_MAX, greatest = 0;
    for (int w = 0; w < to->words; w++) {
        least = to->word[w].reg < least ? to->word[w].reg : least;
        greatest = to->word[w].reg > greatest ? to->word[w].reg : greatest;
    }
    for (int w = 0; w < to->words; w++) {
        bool lost = false;
        for (int e = 0; e < w && word[w].reg >= least && word[w].reg <= greatest; e++)
            lost |= to->word[e].reg == word[w].reg;
        if (!lost)
            continue;
        word[w] = tile_new_word(l, to->dtype);
        move_word(l, to->dtype, word[w], from->word[w]);
    }
    for (int w = 0; w < to->words; w++)
        move_word(l, to->dtype, to->word[w], word[w]);
}

/* --- Words out of words --- */

/* Bytes of `from` moved into the word so far: one prmt. taken: elements that are there already. */
static struct ptx_operand permute(struct lower *l, struct ptx_operand so_far,
                                  struct ptx_operand from, const int32_t *first_byte, int count,
                                  unsigned taken, bool fresh)
{
    int bytes = WORD_BYTES / count;
    uint32_t selector = 0;
    for (int i = 0; i < count; i++)
        for (int b = 0; b < bytes; b++) {
            int at = i * bytes + b; /* what is not wanted stays where it is */
            int source = first_byte[i] >= 0 ? first_byte[i] + b + (fresh ? 0 : WORD_BYTES) : at;
            if (taken >> i & 1)
                source = at;
            selector |= (uint32_t)source << (4 * at);
        }
    struct ptx_operand r = ptx_reg(&l->b, PTX_B32);
    ptx_emit(&l->b, "prmt.b32", r, so_far, from, ptx_int((int64_t)selector));
    return r;
}

/* Two words at once. */
static struct ptx_operand permute_two(struct lower *l, struct ptx_operand a, struct ptx_operand b,
                                      const int32_t *in_a, const int32_t *in_b, int count)
{
    int bytes = WORD_BYTES / count;
    uint32_t selector = 0;
    for (int i = 0; i < count; i++)
        for (int n = 0; n < bytes; n++) {
            int at = i * bytes + n;
            int source = in_a[i] >= 0 ? in_a[i] + n : in_b[i] >= 0 ? WORD_BYTES + in_b[i] + n : at;
            selector |= (uint32_t)source << (4 * at);
        }
    struct ptx_operand r = ptx_reg(&l->b, PTX_B32);
    ptx_emit(&l->b, "prmt.b32", r, a, b, ptx_int((int64_t)selector));
    return r;
}

struct ptx_operand tile_word(struct lower *l, const struct regtile *x, const int32_t *e, int count)
{
    int per_word = tile_per_word(x->dtype), bytes = WORD_BYTES / per_word, words = 0;
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
        return x->word[words ? word[0] : 0];
    if (words == 1)
        return permute(l, x->word[word[0]], x->word[word[0]], byte[0], per_word, 0, true);
    struct ptx_operand r =
        permute_two(l, x->word[word[0]], x->word[word[1]], byte[0], byte[1], per_word);
    for (int n = 2; n < words; n++) {
        unsigned taken = 0;
        for (int i = 0; i < per_word; i++)
            taken |= (unsigned)(byte[n][i] < 0) << i;
        r = permute(l, r, x->word[word[n]], byte[n], per_word, taken, false);
    }
    return r;
}

struct regtile tile_pick(struct lower *l, const struct regtile *x, const struct layout *layout,
                         const int32_t *source)
{
    struct regtile tile = shape_tile(l, x->dtype, layout);
    int per_word = tile_per_word(x->dtype);
    for (int w = 0; w < tile.words; w++) {
        int first = w * per_word, left = tile.elements - first;
        if (per_word == 1)
            tile.word[w] = x->word[source[w] < 0 ? 0 : source[w]];
        else
            tile.word[w] = tile_word(l, x, source + first, left < per_word ? left : per_word);
    }
    return tile;
}

struct ptx_operand tile_select(struct lower *l, enum dtype t, struct ptx_operand p,
                               struct ptx_operand a, struct ptx_operand b)
{
    struct ptx_operand args[3] = {p, a, b};
    if (a.kind == PTX_REGISTER && b.kind == PTX_REGISTER && a.reg == b.reg)
        return a;
    return op_emit(l, OP_WHERE, t, t, args, 3);
}

/* --- Other lanes --- */

static struct ptx_operand shuffle_word(struct lower *l, struct ptx_operand to, struct ptx_operand x,
                                       enum shuffle how, struct ptx_operand lane)
{
    const char *name = how == SHUFFLE_BFLY ? "shfl.sync.bfly.b32" : "shfl.sync.idx.b32";
    ptx_emit(&l->b, name, to, x, lane, ptx_int(31), ptx_int(-1));
    return to;
}

static struct ptx_operand shuffle_long(struct lower *l, enum dtype t, struct ptx_operand x,
                                       enum shuffle how, struct ptx_operand lane)
{
    struct ptx_operand half[2] = {ptx_reg(&l->b, PTX_B32), ptx_reg(&l->b, PTX_B32)}, moved[2];
    ptx_emit(&l->b, "mov.b64", ptx_vector(&l->b, half, 2), x);
    for (int i = 0; i < 2; i++)
        moved[i] = shuffle_word(l, ptx_reg(&l->b, PTX_B32), half[i], how, lane);
    struct ptx_operand r = op_register(l, t);
    ptx_emit(&l->b, "mov.b64", r, ptx_vector(&l->b, moved, 2));
    return r;
}

struct ptx_operand tile_shuffle(struct lower *l, enum dtype t, bool word, struct ptx_operand x,
                                enum shuffle how, struct ptx_operand lane)
{
    struct ptx_operand r = ptx_reg(&l->b, PTX_B32), all[4] = {x, x, x, x};
    if (t == DT_BOOL) {
        ptx_emit(&l->b, "selp.b32", r, ptx_int(1), ptx_int(0), x);
        shuffle_word(l, r, r, how, lane);
        struct ptx_operand p = ptx_reg(&l->b, PTX_PRED);
        ptx_emit(&l->b, "setp.ne.s32", p, r, ptx_int(0));
        return p;
    }
    if (dtype_table[t].bits == 64)
        return shuffle_long(l, t, x, how, lane);
    if (word && is_packed(t))
        return shuffle_word(l, r, x, how, lane);
    if (dtype_is_float(t) && is_packed(t)) {
        op_unpack(l, t, shuffle_word(l, r, op_pack(l, t, all), how, lane), all);
        return all[0];
    }
    return shuffle_word(l, op_register(l, t), x, how, lane);
}

/* --- bool --- */

struct regtile tile_as_bytes(struct lower *l, const struct regtile *x)
{
    struct ptx_operand *e = arena_array(l->arena, struct ptx_operand, x->elements);
    for (int r = 0; r < x->elements; r++)
        e[r] = op_cast(l, DT_U8, DT_BOOL, x->word[r]);
    return tile_of_elements(l, DT_U8, x->layout, e);
}

struct regtile tile_as_bool(struct lower *l, const struct regtile *x)
{
    struct ptx_operand *e = tile_elements(l, x);
    struct ptx_operand *p = arena_array(l->arena, struct ptx_operand, x->elements);
    for (int r = 0; r < x->elements; r++)
        p[r] = op_cast(l, DT_BOOL, x->dtype, e[r]);
    return tile_of_elements(l, DT_BOOL, x->layout, p);
}
