/* dot by matrix instructions: mma.sync (PTX ISA, "Multiply-and-Accumulate Instruction: mma").
 *
 * Registers of a fragment are neighbours: of A those of (row r, step s) begin at (r * steps + s),
 * of B those of (s, column c) at (s * columns + c), of the sum at (r * columns + c), as
 * layout_mma_tile counts. Neighbouring instructions share B's fragment and add to different sums,
 * and the way through the rows turns at each column, so one A fragment stays too.
 */
#include "lower/lower_dot_factor.h"

struct grid {
    int32_t rows, columns, steps;        /* of instructions, of this warp */
    int32_t a_words, b_words, sum_words; /* registers of a fragment */
};

static int32_t words_of(enum dtype t, int32_t elements)
{
    return elements / LAYOUT_LANES / tile_per_word(t);
}

static struct grid grid_of(const struct dot_plan *p)
{
    const struct mma_shape *s = &p->mma.shape;
    int32_t rows = s->m * p->mma.warps_m, columns = s->n * p->mma.warps_n;
    return (struct grid){.rows = divide_up(p->m, rows),
                         .columns = divide_up(p->n, columns),
                         .steps = p->k / s->k,
                         .a_words = words_of(p->a_type, s->m * s->k),
                         .b_words = words_of(p->b_type, s->k * s->n),
                         .sum_words = s->m * s->n / LAYOUT_LANES};
}

static struct ptx_operand fragment(struct lower *l, struct dot_factor *f, int32_t index,
                                   int32_t words)
{
    struct ptx_operand word[8];
    for (int32_t i = 0; i < words; i++)
        word[i] = dot_factor_word(l, f, index * words + i);
    return ptx_vector(&l->b, word, (size_t)words);
}

static struct ptx_operand half_fragment(struct lower *l, struct dot_factor *f, int32_t index,
                                        int32_t words, int which)
{
    struct ptx_operand word[8];
    for (int32_t i = 0; i < words; i++)
        word[i] = dot_factor_half(l, f, index * words + i, which);
    return ptx_vector(&l->b, word, (size_t)words);
}

static struct ptx_operand sum_fragment(struct lower *l, const struct regtile *t, int32_t index,
                                       int32_t words)
{
    return ptx_vector(&l->b, &t->word[index * words], (size_t)words);
}

/* The fragments a and b of one instruction, or of two that take one half of them each: k is in
 * another order then, the same in both factors. */
static void multiply(struct lower *l, const struct dot_plan *p, const struct grid *g,
                     struct dot_factor *a, int32_t a_index, struct dot_factor *b, int32_t b_index,
                     struct ptx_operand to, struct ptx_operand add)
{
    const bool halves = p->unit->how == TARGET_UNIT_HALVES;
    if (!halves) {
        struct ptx_operand left = fragment(l, a, a_index, g->a_words);
        struct ptx_operand right = fragment(l, b, b_index, g->b_words);
        ptx_emit(&l->b, p->instruction, to, left, right, add);
    }
    for (int half = 0; halves && half < 2; half++) {
        struct ptx_operand left = half_fragment(l, a, a_index, g->a_words, half);
        struct ptx_operand right = half_fragment(l, b, b_index, g->b_words, half);
        ptx_emit(&l->b, p->instruction, to, left, right, half ? to : add);
    }
}

void dot_emit_mma(struct lower *l, const struct dot_plan *p, struct dot_factor *a,
                  struct dot_factor *b, const struct regtile *sum, const struct regtile *from)
{
    struct grid g = grid_of(p);
    int32_t depth = p->mma.shape.k;
    dot_factor_read(l, a, depth);
    dot_factor_read(l, b, depth);
    for (int32_t s = 0; s < g.steps; s++) {
        dot_factor_read(l, a, (s + 2) * depth);
        dot_factor_read(l, b, (s + 2) * depth);
        for (int32_t c = 0; c < g.columns; c++)
            for (int32_t i = 0; i < g.rows; i++) {
                int32_t r = c % 2 ? g.rows - 1 - i : i, at = r * g.columns + c;
                struct ptx_operand to = sum_fragment(l, sum, at, g.sum_words);
                struct ptx_operand add =
                    from && s == 0 ? sum_fragment(l, from, at, g.sum_words) : to;
                multiply(l, p, &g, a, r * g.steps + s, b, s * g.columns + c, to, add);
            }
    }
}
