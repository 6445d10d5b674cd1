/* dot by multiply-adds of single elements: for each k a column of A times a row of B.
 *
 * Sums go in order of increasing k with one rounding a step, as the CPU engine's do, so f32 and f64 products
 * are the same bits. Registers are counted as layout_fma_tile does: of A element i of step k at
 * k * rows + i, i within a vector, then further vectors; of B likewise; of the sum a vector_m x vector_n block row by
 * row, then further ones along n, then along m.
 */
#include "lower/lower_dot_factor.h"

struct block {
    int32_t rows, columns; /* of this thread */
    int vector_m, vector_n;
    int32_t reps_n;
};

static int32_t divide_up(int32_t a, int32_t b)
{
    return (a + b - 1) / b;
}

static struct block block_of(const struct dot_plan *p)
{
    const struct fma_tiling *t = &p->fma;
    int32_t reps_m = divide_up(p->m, t->vector_m * t->lanes_m * t->warps_m);
    int32_t reps_n = divide_up(p->n, t->vector_n * t->lanes_n * t->warps_n);
    return (struct block){t->vector_m * reps_m, t->vector_n * reps_n, t->vector_m, t->vector_n,
                          reps_n};
}

/* Which register of the sum row i, column j of the thread's has. */
static int32_t sum_register(const struct block *b, int32_t i, int32_t j)
{
    int32_t rep = i / b->vector_m * b->reps_n + j / b->vector_n;
    return (rep * b->vector_m + i % b->vector_m) * b->vector_n + j % b->vector_n;
}

static const char *multiply_add(enum dtype t)
{
    switch ((int)t) {
    case DT_F32: return "fma.rn.f32";
    case DT_F64: return "fma.rn.f64";
    case DT_I64:
    case DT_U64: return "mad.lo.s64";
    default: return "mad.lo.s32";
    }
}

/* Products of one k. The way through the columns turns at each row, so one of B stays. */
static void emit_step(struct lower *l, const struct dot_plan *p, struct dot_factor *a,
                      struct dot_factor *b, const struct regtile *sum, const struct regtile *from,
                      int32_t k)
{
    struct block t = block_of(p);
    const char *op = multiply_add(p->sum);
    for (int32_t i = 0; i < t.rows; i++)
        for (int32_t c = 0; c < t.columns; c++) {
            int32_t j = i % 2 ? t.columns - 1 - c : c, at = sum_register(&t, i, j);
            struct ptx_operand x = dot_factor_element(l, a, k * t.rows + i);
            struct ptx_operand y = dot_factor_element(l, b, k * t.columns + j);
            struct ptx_operand to = sum->word[at];
            ptx_emit(&l->b, op, to, x, y, from && k == 0 ? from->word[at] : to);
        }
}

void dot_emit_fma(struct lower *l, const struct dot_plan *p, struct dot_factor *a,
                  struct dot_factor *b, const struct regtile *sum, const struct regtile *from)
{
    dot_factor_read(l, a, 1);
    dot_factor_read(l, b, 1);
    for (int32_t k = 0; k < p->k; k++) {
        dot_factor_read(l, a, k + 2);
        dot_factor_read(l, b, k + 2);
        emit_step(l, p, a, b, sum, from, k);
    }
}
