/* Products of tile-level kernels by multiply-adds of single elements: for each k a column of the left factor times a row of the
 * right one.
 *
 * Sums go in order of increasing k with one rounding a step, as the CPU engine's do. Registers are counted as layout_fma_tile
 * does: of the left factor element i of step k at k * rows + i, of the right one likewise; of the sum a vector_m x vector_n
 * block row by row, then further ones along n, then along m. */
#include "emit/emit_fragment_dot.h"

#include "base/arithmetic.h"

struct block {
    int32_t rows, columns; /* of this thread */
    int vector_m, vector_n;
    int32_t reps_n;
};

static struct block block_of(const struct dot_plan *p)
{
    const struct fma_tiling *t = &p->fma;
    const int32_t reps_m = divide_up(p->m, t->vector_m * t->lanes_m * t->warps_m);
    const int32_t reps_n = divide_up(p->n, t->vector_n * t->lanes_n * t->warps_n);
    return (struct block){t->vector_m * reps_m, t->vector_n * reps_n, t->vector_m, t->vector_n,
                          reps_n};
}

/* Returns the register of the sum that has row i, column j of the thread's. */
static int32_t sum_register(const struct block *b, int32_t i, int32_t j)
{
    const int32_t rep = i / b->vector_m * b->reps_n + j / b->vector_n;
    return (rep * b->vector_m + i % b->vector_m) * b->vector_n + j % b->vector_n;
}

/* Products of one row and one k. */
static void multiply_row(struct emit *m, const struct dot_plan *p, struct emit_factor *a,
                         struct emit_factor *b, struct fragment *sum, int32_t k, int32_t i,
                         bool backwards)
{
    const struct block t = block_of(p);
    for (int32_t c = 0; c < t.columns; c++) {
        const int32_t j = backwards ? t.columns - 1 - c : c, at = sum_register(&t, i, j);
        const struct thread_operand x = emit_factor_element(m, a, k * t.rows + i);
        const struct thread_operand y = emit_factor_element(m, b, k * t.columns + j);
        sum->v[at].o =
            thread_use(THREAD_ADD_OP(&m->b, THREAD_FMA, p->sum, DT_NONE, x, y, sum->v[at].o));
    }
}

/* Pieces that are to be read in a step. */
struct ahead {
    struct emit_factor *f;
    int count;
};

static struct ahead ahead_of(struct emit_factor *f, int32_t end)
{
    return (struct ahead){f, emit_factor_unread(f, end)};
}

static void read_part(struct emit *m, const struct ahead *x, int32_t part, int32_t parts)
{
    emit_factor_read(m, x->f,
                     divide_up(x->count * (part + 1), parts) - divide_up(x->count * part, parts));
}

void emit_dot_fma(struct emit *m, const struct dot_plan *p, struct emit_factor *a,
                  struct emit_factor *b, struct fragment *sum)
{
    const struct block t = block_of(p);
    emit_factor_read(m, b, emit_factor_unread(b, 1));
    emit_factor_read(m, a, emit_factor_unread(a, 1));
    for (int32_t k = 0; k < p->k && !m->failed; k++) {
        const struct ahead next_a = ahead_of(a, k + 2), next_b = ahead_of(b, k + 2);
        for (int32_t i = 0; i < t.rows; i++) {
            multiply_row(m, p, a, b, sum, k, i, i % 2);
            read_part(m, &next_b, i, t.rows);
            read_part(m, &next_a, i, t.rows);
        }
    }
}
