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
    struct regtile tile = {.dtype = t, .layout = plan_keep(&l->layouts, layout)};
    int per_word = tile_per_word(t);
    tile.elements = plan_registers(tile.layout);
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

struct ptx_operand tile_word(struct lower *l, const struct regtile *x, const int32_t *e, int count)
{
    struct nvptx_scalars out = lower_scalars(l);
    return nvptx_gather(&out, x->dtype, x->word, e, count);
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

struct ptx_operand tile_shuffle(struct lower *l, enum dtype t, bool word, struct ptx_operand x,
                                enum shuffle how, struct ptx_operand lane)
{
    struct nvptx_scalars out = lower_scalars(l);
    const struct nvptx_lane from = {
        .how = how == SHUFFLE_BFLY ? THREAD_SHUFFLE_XOR : THREAD_SHUFFLE, .lane = lane};
    return nvptx_shuffle(&out, t, word, x, &from);
}

struct ptx_operand tile_shuffle_up(struct lower *l, enum dtype t, struct ptx_operand x, int32_t by,
                                   int32_t width, struct ptx_operand *there)
{
    struct nvptx_scalars out = lower_scalars(l);
    *there = ptx_reg(&l->b, PTX_PRED);
    const struct nvptx_lane from = {
        .how = THREAD_SHUFFLE_UP, .lane = ptx_int(by), .width = width, .there = *there};
    return nvptx_shuffle(&out, t, false, x, &from);
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
