/* dot by multiply-adds of single elements: for each k a column of A times a row of B.
 *
 * Sums go in order of increasing k with one rounding a step, as the CPU engine's do, so f32
 * products, and those of f64 that no matrix unit takes, are the same bits. Registers are counted as
 * layout_fma_tile does: of A element i of step k at k * rows + i, i within a vector, then further
 * vectors; of B likewise; of the sum a vector_m x vector_n block row by row, then further ones
 * along n, then along m.
 */
#include "lower/lower_dot_factor.h"
#include "lower/lower_flow.h"

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

/* Products of one row and one k. */
static void emit_row(struct lower *l, const struct dot_plan *p, const struct fma_block *t,
                     struct dot_factor *a, struct dot_factor *b, const struct regtile *sum,
                     const struct regtile *from, int32_t k, int32_t i, bool backwards)
{
    const char *op = multiply_add(p->sum);
    for (int32_t c = 0; c < t->columns; c++) {
        int32_t j = backwards ? t->columns - 1 - c : c, at = fma_register(t, i, j);
        struct ptx_operand x = dot_factor_element(l, a, k * t->rows + i);
        struct ptx_operand y = dot_factor_element(l, b, k * t->columns + j);
        struct ptx_operand to = sum->word[at];
        ptx_emit(&l->b, op, to, x, y, from && k == 0 ? from->word[at] : to);
    }
}

/* The pieces of a factor that a step reads. */
struct ahead {
    struct dot_factor *f;
    int count; /* pieces */
};

/* Returns the pieces of the steps below `end` that are not read yet. */
static struct ahead ahead_of(struct dot_factor *f, int32_t end)
{
    return (struct ahead){f, dot_factor_unread(f, end)};
}

static void read_part(struct lower *l, const struct ahead *x, int32_t part, int32_t parts)
{
    dot_factor_read_some(
        l, x->f, divide_up(x->count * (part + 1), parts) - divide_up(x->count * part, parts));
}

/* Products of one k; between its rows what the next step needs is read. The way through the
 * columns turns at each row, so one of B stays. */
static void emit_step(struct lower *l, const struct dot_plan *p, struct dot_factor *a,
                      struct dot_factor *b, const struct regtile *sum, const struct regtile *from,
                      int32_t k, struct ahead next_a, struct ahead next_b)
{
    struct fma_block t = fma_block_of(p);
    for (int32_t i = 0; i < t.rows; i++) {
        emit_row(l, p, &t, a, b, sum, from, k, i, i % 2);
        read_part(l, &next_b, i, t.rows);
        read_part(l, &next_a, i, t.rows);
    }
}

/* How many steps at a time are gone through row by row, with one piece of A for each; 1: none, each
 * step goes by columns. It needs the fragments of B of twice so many steps, but of A no more than
 * two rows, and leaves the assembler an order in which most multiply-adds find their registers in
 * different banks (docs/performance.md). */
static int32_t steps_by_rows(const struct dot_plan *p, const struct dot_factor *a,
                             const struct dot_factor *b)
{
    enum { MOST_REGISTERS = 144 };
    struct fma_block t = fma_block_of(p);
    int32_t depth = a->depth, steps = a->chunk ? p->chunk : p->k;
    bool good = p->sum == DT_F32 && a->in_pieces && b->in_pieces && depth > 1 &&
                steps % depth == 0 && a->reader.count == steps / depth * t.rows &&
                t.rows * t.columns + 2 * depth * (t.columns + 1) <= MOST_REGISTERS;
    return good ? depth : 1;
}

/* Products of `depth` steps, row by row; in front of a row the next one is read, and a part of what
 * the next steps need of B. */
static void emit_rows(struct lower *l, const struct dot_plan *p, struct dot_factor *a,
                      struct dot_factor *b, const struct regtile *sum, const struct regtile *from,
                      int32_t k, struct dot_factor *next_a, struct ahead next_b)
{
    struct fma_block t = fma_block_of(p);
    for (int32_t i = 0; i < t.rows; i++) {
        bool last = i + 1 == t.rows;
        struct dot_factor *f = last ? next_a : a;
        dot_factor_read_some(l, f, 1);
        read_part(l, &next_b, i, t.rows);
        for (int32_t s = 0; s < a->depth; s++)
            emit_row(l, p, &t, a, b, sum, from, k + s, i, false);
    }
}

/* f as it is with the next chunk, of which nothing is read yet. */
static struct dot_factor factor_at(struct lower *l, const struct dot_factor *f,
                                   const struct value *chunk, struct guard when)
{
    struct dot_factor at = *f;
    at.reader = shared_reader_again(l, &f->reader, chunk, when);
    at.read = 0;
    return at;
}

/* The steps of a chunk, and at its end the first reads of the next one. */
static void emit_chunk(struct lower *l, const struct dot_plan *p, struct dot_factor *a,
                       struct dot_factor *b, const struct regtile *sum, const struct value *chunk)
{
    const struct value *next = value_affine(l, chunk, 1, 1);
    const struct value *count = value_int(l, DT_I32, p->k / p->chunk);
    struct guard more = guard_of(l, value_apply2(l, OP_LT, DT_BOOL, next, count));
    struct dot_factor now_a = factor_at(l, a, chunk, guard_always());
    struct dot_factor now_b = factor_at(l, b, chunk, guard_always());
    struct dot_factor then_a = factor_at(l, a, next, more), then_b = factor_at(l, b, next, more);
    int32_t depth = steps_by_rows(p, a, b);
    now_a.read = a->read;
    now_b.read = b->read;
    for (int32_t k = 0; k < p->chunk; k += depth) {
        bool last = k + depth == p->chunk;
        struct ahead next_b = last ? ahead_of(&then_b, depth) : ahead_of(&now_b, k + 2 * depth);
        if (depth > 1)
            emit_rows(l, p, &now_a, &now_b, sum, NULL, k, last ? &then_a : &now_a, next_b);
        else
            emit_step(l, p, &now_a, &now_b, sum, NULL, k,
                      last ? ahead_of(&then_a, 1) : ahead_of(&now_a, k + 2), next_b);
    }
}

/* A loop over chunks; step 0 of the first is read in front of it, of the others at the end of the
 * chunk before. */
static void emit_chunks(struct lower *l, const struct dot_plan *p, struct dot_factor *a,
                        struct dot_factor *b, const struct regtile *sum)
{
    struct frame frame;
    struct ptx_label *head = ptx_new_label(&l->b, "products");
    const struct value *zero = value_int(l, DT_I32, 0), *one = value_int(l, DT_I32, 1);
    int32_t count = p->k / p->chunk;
    struct ptx_operand reg = value_copy(l, zero);
    frame_open(l, &frame);
    ptx_place(&l->b, head);
    const struct value *chunk = frame_counter(l, DT_I32, reg, zero, one, false);
    value_learn(l, chunk, 1, 0, count - 1);
    emit_chunk(l, p, a, b, sum, chunk);
    frame_latch(l);
    const struct value *more =
        value_apply2(l, OP_LT, DT_BOOL, frame_counter_next(l, chunk), value_int(l, DT_I32, count));
    branch_on(l, more, true, &head, "products");
    frame_close(l, &frame);
}

static void start_from(struct lower *l, const struct regtile *sum, const struct regtile *from)
{
    for (int i = 0; from && i < sum->words; i++)
        op_move(l, sum->dtype, sum->word[i], from->word[i]);
}

void dot_emit_fma(struct lower *l, const struct dot_plan *p, struct dot_factor *a,
                  struct dot_factor *b, const struct regtile *sum, const struct regtile *from)
{
    int32_t depth = steps_by_rows(p, a, b);
    dot_factor_read(l, b, depth);
    if (depth > 1)
        dot_factor_read_some(l, a, 1);
    else
        dot_factor_read(l, a, 1);
    if (a->chunk) {
        start_from(l, sum, from);
        emit_chunks(l, p, a, b, sum);
        return;
    }
    for (int32_t k = 0; k < p->k; k += depth)
        if (depth > 1)
            emit_rows(l, p, a, b, sum, from, k, a, ahead_of(b, k + 2 * depth));
        else
            emit_step(l, p, a, b, sum, from, k, ahead_of(a, k + 2), ahead_of(b, k + 2));
}
