/* Products of tile-level kernels by multiply-adds of single elements: for each k, a column of the left factor times a row of
 * the right one.
 *
 * Sums are added in order of increasing k, with one rounding a step, as on the CPU engine. layout_fma_tile numbers the
 * registers. Element i of the left factor in step k is register k * rows + i; the right factor likewise. The sum is a vector_m
 * x vector_n block, row by row; further blocks follow along n, then along m. */
#include "emit/emit_fragment_dot.h"

#include "base/arithmetic.h"

#include <string.h>

/* Products of one row and one k. */
static void multiply_row(struct emit *m, const struct dot_plan *p, struct emit_factor *a,
                         struct emit_factor *b, struct thread_operand *sums, int32_t k, int32_t i,
                         bool backwards)
{
    const struct fma_block t = fma_block_of(p);
    const int32_t each = emit_fma_together(p), groups = t.columns / each;
    const struct thread_operand x = emit_factor_fragment(m, a, k * t.rows + i, 1);
    for (int32_t c = 0; c < groups; c++) {
        const int32_t j = backwards ? groups - 1 - c : c;
        struct thread_operand *sum = &sums[fma_register(&t, i, j * each) / each];
        const struct thread_operand y = emit_factor_fragment(m, b, k * groups + j, each);
        *sum = thread_use(THREAD_ADD_OP(&m->b, THREAD_FMA, p->sum, DT_NONE, x, y, *sum));
    }
}

/* The pieces of a factor that a step reads for the next one. */
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

/* Returns how many steps of k are done together, row by row, with one piece of the left factor for each row; 1: each step is
 * done by itself. Several steps need the fragments of the right factor for twice as many steps, but at most two rows of the
 * left one. The assembler then finds an order in which most multiply-adds have their registers in different banks
 * (docs/performance.md). */
static int32_t steps_by_rows(const struct dot_plan *p, const struct emit_factor *a,
                             const struct emit_factor *b)
{
    enum { MOST_REGISTERS = 144 };
    const struct fma_block t = fma_block_of(p);
    const int32_t depth = a->depth, steps = a->chunked ? p->chunk : p->k;
    const bool good = p->sum == DT_F32 && a->count > 0 && b->count > 0 && depth > 1 &&
                      steps % depth == 0 && a->count == steps / depth * t.rows &&
                      t.rows * t.columns + 2 * depth * (t.columns + 1) <= MOST_REGISTERS;
    return good ? depth : 1;
}

/* Steps of k, with their factors. next_a, next_b: the factors of the steps after them, whose first pieces are read here; NULL:
 * there are none. */
struct stretch {
    struct emit_factor *a, *b, *next_a, *next_b;
    int32_t steps, depth;
};

/* Emits the products of one k. Every other row goes through the columns backwards, so that one element of the right factor
 * stays. The pieces of the next step are read between the rows. */
static void one_step(struct emit *m, const struct dot_plan *p, const struct stretch *x,
                     struct thread_operand *sums, int32_t k)
{
    const struct fma_block t = fma_block_of(p);
    const bool last = k + 1 == x->steps && x->next_a;
    const struct ahead next_a = last ? ahead_of(x->next_a, 1) : ahead_of(x->a, k + 2),
                       next_b = last ? ahead_of(x->next_b, 1) : ahead_of(x->b, k + 2);
    for (int32_t i = 0; i < t.rows; i++) {
        multiply_row(m, p, x->a, x->b, sums, k, i, i % 2);
        read_part(m, &next_b, i, t.rows);
        read_part(m, &next_a, i, t.rows);
    }
}

/* Emits the products of `depth` steps, row by row. Before each row, reads the next row of the left factor, and a part of the
 * right factor for the next steps. */
static void steps_of_rows(struct emit *m, const struct dot_plan *p, const struct stretch *x,
                          struct thread_operand *sums, int32_t k)
{
    const struct fma_block t = fma_block_of(p);
    const bool last = k + x->depth == x->steps && x->next_a;
    const struct ahead next_b =
        last ? ahead_of(x->next_b, x->depth) : ahead_of(x->b, k + 2 * x->depth);
    for (int32_t i = 0; i < t.rows; i++) {
        emit_factor_read(m, last && i + 1 == t.rows ? x->next_a : x->a, 1);
        read_part(m, &next_b, i, t.rows);
        for (int32_t s = 0; s < x->depth; s++)
            multiply_row(m, p, x->a, x->b, sums, k + s, i, false);
    }
}

static void go_through(struct emit *m, const struct dot_plan *p, const struct stretch *x,
                       struct thread_operand *sums)
{
    for (int32_t k = 0; k < x->steps && !m->failed; k += x->depth)
        if (x->depth > 1)
            steps_of_rows(m, p, x, sums, k);
        else
            one_step(m, p, x, sums, k);
}

/* --- in chunks of k --- */

/* Returns the factor of one chunk, of which nothing is read yet. */
static struct emit_factor factor_at(struct emit *m, const struct emit_factor *f,
                                    struct scalar chunk, struct scalar when)
{
    struct emit_factor at = *f;
    at.when = when;
    at.way = emit_way_follow(m, &f->way, chunk);
    at.pieces = arena_array(m->arena, struct emit_piece, f->count + 1);
    memcpy(at.pieces, f->pieces, (size_t)f->count * sizeof *f->pieces);
    at.read = 0;
    emit_factor_start(m, &at);
    return at;
}

/* Values that a loop over chunks carries: the sums, and the pieces of the next chunk. */
struct carried {
    struct thread_operand *o;
    int count;
};

static struct carried take(struct emit *m, const struct thread_operand *sums, int32_t count,
                           const struct emit_factor *a, const struct emit_factor *b)
{
    struct carried c = {arena_array(m->arena, struct thread_operand, count + a->read + b->read + 1),
                        0};
    for (int32_t i = 0; i < count; i++)
        c.o[c.count++] = sums[i];
    for (int i = 0; i < a->read; i++)
        c.o[c.count++] = a->pieces[i].group;
    for (int i = 0; i < b->read; i++)
        c.o[c.count++] = b->pieces[i].group;
    return c;
}

/* Gives the sums and the factors the carried values. f: factors of which nothing is read. */
static void give(const struct carried *c, struct thread_operand *sums, int32_t count,
                 struct emit_factor *const f[2], const int read[2])
{
    int at = 0;
    for (int32_t i = 0; i < count; i++)
        sums[i] = c->o[at++];
    for (int side = 0; side < 2; side++)
        for (; f[side]->read < read[side]; f[side]->read++)
            f[side]->pieces[f[side]->read].group = c->o[at++];
}

/* Emits a loop over all chunks of k. At its end, each iteration reads the first pieces of the next chunk, if there is one. */
static void all_chunks(struct emit *m, const struct dot_plan *p, struct emit_factor *a,
                       struct emit_factor *b, struct thread_operand *sums, int32_t depth)
{
    const struct fma_block t = fma_block_of(p);
    const int32_t chunks = p->k / p->chunk, each = emit_fma_together(p),
                  count = t.rows * t.columns / each;
    const int read[2] = {a->read, b->read};
    const struct thread_type counter = {.dtype = DT_U32, .count = 1};
    const struct scalar always = emit_constant(DT_BOOL, 1);
    struct carried c = take(m, sums, count, a, b);
    const struct open_loop loop = emit_open_loop(m);
    const struct scalar chunk = {emit_loop_argument(m, &loop, thread_integer(0), counter), DT_U32};
    for (int i = 0; i < c.count; i++) {
        const bool group = c.o[i].kind == THREAD_VALUE;
        const struct thread_type type = {.dtype = p->sum, .count = 1};
        c.o[i] = emit_loop_argument(m, &loop, c.o[i], group ? c.o[i].value->type : type);
    }
    const struct scalar next = emit_by(m, THREAD_ADD, chunk, 1),
                        more = emit_by(m, THREAD_LT, next, chunks);
    struct emit_factor now_a = factor_at(m, a, chunk, always),
                       now_b = factor_at(m, b, chunk, always);
    struct emit_factor then_a = factor_at(m, a, next, more), then_b = factor_at(m, b, next, more);
    give(&c, sums, count, (struct emit_factor *const[]){&now_a, &now_b}, read);
    const struct stretch x = {&now_a, &now_b, &then_a, &then_b, p->chunk, depth};
    go_through(m, p, &x, sums);
    struct carried after = take(m, sums, count, &then_a, &then_b);
    struct thread_operation *leave = emit_loop_leave(m, emit_by(m, THREAD_GE, next, chunks));
    struct thread_operand *again = arena_array(m->arena, struct thread_operand, after.count + 1);
    again[0] = next.o;
    for (int i = 0; i < after.count; i++) {
        again[i + 1] = after.o[i];
        if (i >= count)
            continue;
        struct thread_value *v = thread_new_value(&m->b, c.o[i].value->type);
        vec_push(m->arena, &leave->operands, after.o[i]);
        vec_push(m->arena, &loop.operation->results, v);
        sums[i] = thread_use(v);
    }
    emit_close_loop(m, &loop, again, after.count + 1);
}

void emit_dot_fma(struct emit *m, const struct dot_plan *p, struct emit_factor *a,
                  struct emit_factor *b, struct thread_operand *sums)
{
    const int32_t depth = steps_by_rows(p, a, b);
    emit_factor_read_below(m, b, depth);
    emit_factor_read(m, a, depth > 1 ? 1 : emit_factor_unread(a, 1));
    if (a->chunked) {
        all_chunks(m, p, a, b, sums, depth);
        return;
    }
    const struct stretch whole = {a, b, NULL, NULL, p->k, depth};
    go_through(m, p, &whole, sums);
}
