/* Products that the program waits for: dot(a, b, c). Factors that are parts of shared tiles are read from there; others go
 * through shared memory first. f16 and bf16 are multiplied by mma.m16n8k16, whose fragments of sums are those of whole
 * tiles (PTX ISA, "Matrix Fragments for mma.m16n8k16"); other types by multiply-adds in the type of the sum. */
#include "emit/emit_own.h"

#include <string.h>

enum { STEP = 16, OF_LEFT = 8, OF_RIGHT = 4, OF_SUM = 4 };

/* A factor in shared memory. */
struct side {
    const struct type *type; /* of the factor, as dot has it */
    bool turned;             /* its rows are the columns of what lies in memory */
    struct shared_place
        at; /* at.e NULL: in scratch, to which bring_side copies `tile`, of type `of` */
    struct tile tile;
    const struct type *of;
    struct scratch scratch;
};

struct dot {
    const struct expr *e;
    struct side left, right;
    enum dtype sum;
    struct tile out; /* its form and its sums */
    bool exchanges;
};

static struct scalar number(int64_t v)
{
    return emit_constant(DT_U32, v);
}

/* Finds where the factor is, or makes its tile. */
static bool find_side(struct emit *m, const struct expr *factor, struct side *out)
{
    const struct expr *e = factor->op == OP_TRANS ? factor->args[0] : factor;
    const struct expr *place = e->op == OP_CAST ? e->args[0] : e;
    *out = (struct side){.type = &factor->type, .turned = factor->op == OP_TRANS};
    if (place->op == OP_ACCESS && place->sym->storage == ST_SHARED && place->type.rank == 2) {
        m->place.touched = true;
        return emit_shared_find(m, place, &out->at);
    }
    out->of = &e->type;
    out->tile = emit_tile(m, e);
    if (!m->failed)
        out->tile = emit_spread(m, &out->tile, &e->type, e->loc);
    return !m->failed;
}

/* Copies the factor to scratch if it is a tile. Both factors are computed before, because that may use scratch, too. */
static void bring_side(struct emit *m, struct dot *d, struct side *s)
{
    if (s->at.e)
        return;
    s->scratch = emit_scratch_rows(m, s->tile.dtype, s->of->extent[0], s->of->extent[1]);
    emit_to_scratch(m, &s->scratch, &s->tile, s->of, NULL);
    d->exchanges = true;
}

/* Loads an element of a factor; 0 if it is not real. */
static struct scalar fetch(struct emit *m, const struct side *s, struct scalar row,
                           struct scalar column, struct scalar real)
{
    enum dtype t = s->type->dtype;
    struct held at = {row, column, real};
    if (s->turned)
        at = (struct held){column, row, real};
    if (s->at.e)
        return emit_as(m, emit_shared_read(m, &s->at, at), t);
    struct scalar index = emit_op2(m, THREAD_ADD, DT_U32, at.column,
                                   emit_by(m, THREAD_MUL, at.row, s->scratch.columns));
    struct thread_operand from[] = {real.o, emit_scratch_at(m, &s->scratch, index),
                                    thread_integer(0)};
    if (real.o.kind != THREAD_VALUE && !real.o.integer)
        return emit_constant(t, 0);
    if (real.o.kind != THREAD_VALUE)
        return (struct scalar){emit_from_scratch(m, &s->scratch, index), t};
    return (struct scalar){
        thread_use(thread_add_counted(&m->b, THREAD_LOAD_SHARED_IF, t, DT_NONE, 1, from, 3)), t};
}

/* Returns whether an index is below the tile's extent. padded: the limit of the indices that threads have. */
static struct scalar below(struct emit *m, struct scalar index, int64_t extent, int64_t padded)
{
    if (padded <= extent)
        return emit_constant(DT_BOOL, 1);
    return emit_by(m, THREAD_LT, index, extent);
}

/* --- the loop over k --- */

/* Sums that a loop carries, after its counter. */
struct k_loop {
    struct open_loop loop;
    struct scalar k;
    struct thread_operand *sums;
    int count;
};

static void begin_k(struct emit *m, struct k_loop *l)
{
    const struct thread_type type = {.dtype = DT_U32, .count = 1};
    l->loop = emit_open_loop(m);
    l->k = (struct scalar){emit_loop_argument(m, &l->loop, thread_integer(0), type), DT_U32};
    for (int i = 0; i < l->count; i++)
        l->sums[i] = emit_loop_argument(m, &l->loop, l->sums[i], l->sums[i].value->type);
}

static void end_k(struct emit *m, struct k_loop *l, int step, int64_t end)
{
    struct scalar next = emit_by(m, THREAD_ADD, l->k, step);
    struct scalar done = emit_by(m, THREAD_GE, next, end);
    struct thread_operation *leave = emit_loop_leave(m, done);
    struct thread_operand *values = arena_array(m->arena, struct thread_operand, l->count + 1);
    values[0] = next.o;
    for (int i = 0; i < l->count; i++) {
        struct thread_value *v = thread_new_value(&m->b, l->sums[i].value->type);
        vec_push(m->arena, &leave->operands, l->sums[i]);
        vec_push(m->arena, &l->loop.operation->results, v);
        values[i + 1] = l->sums[i];
        l->sums[i] = thread_use(v);
    }
    emit_close_loop(m, &l->loop, values, l->count + 1);
}

/* --- by mma --- */

/* The thread's elements of k in a fragment: two neighbours, and two that are 8 further. */
static struct scalar k_of(struct emit *m, struct scalar k, int i)
{
    return emit_by(m, THREAD_ADD, emit_op2(m, THREAD_ADD, DT_U32, k, emit_column(m)),
                   i % 2 + i / 2 * 8);
}

static struct thread_operand left_fragment(struct emit *m, const struct dot *d, struct scalar k,
                                           int block)
{
    struct thread_operand all[OF_LEFT];
    const int64_t *extent = d->left.type->extent;
    bool whole = emit_is_whole(m, &d->e->type, d->out.blocks);
    for (int i = 0; i < OF_LEFT; i++) {
        struct scalar row =
            emit_by(m, THREAD_ADD, emit_row(m, block, d->out.blocks), i / 2 % 2 * 8);
        struct scalar at = k_of(m, k, i % 2 + i / 4 * 2);
        struct scalar real = below(m, at, extent[1], (extent[1] + STEP - 1) / STEP * STEP);
        emit_and(m, &real, below(m, row, extent[0], extent[0] + !whole));
        all[i] = fetch(m, &d->left, row, at, real).o;
    }
    return emit_join(m, d->left.type->dtype, all, OF_LEFT);
}

static struct thread_operand right_fragment(struct emit *m, const struct dot *d, struct scalar k,
                                            int column)
{
    struct thread_operand all[OF_RIGHT];
    const int64_t *extent = d->right.type->extent;
    struct scalar n = emit_by(m, THREAD_ADD, emit_by(m, THREAD_SHR, m->place.lane, 2), column);
    for (int i = 0; i < OF_RIGHT; i++) {
        struct scalar at = k_of(m, k, i);
        struct scalar real = below(m, at, extent[0], (extent[0] + STEP - 1) / STEP * STEP);
        emit_and(m, &real, below(m, n, extent[1], column + 8));
        all[i] = fetch(m, &d->right, at, n, real).o;
    }
    return emit_join(m, d->right.type->dtype, all, OF_RIGHT);
}

static void by_mma(struct emit *m, struct dot *d)
{
    int blocks = d->out.blocks, columns = d->out.columns / 8;
    const enum dtype t = d->left.type->dtype, types[THREAD_TYPES] = {d->sum, t, t};
    struct k_loop l = {.count = blocks * columns};
    l.sums = arena_array(m->arena, struct thread_operand, l.count);
    for (int b = 0; b < blocks; b++)
        for (int c = 0; c < columns; c++)
            l.sums[b * columns + c] = emit_part(m, d->sum, d->out.part[b], OF_SUM * c, OF_SUM, 1);
    begin_k(m, &l);
    struct thread_operand left[EMIT_MOST_BLOCKS];
    for (int b = 0; b < blocks; b++)
        left[b] = left_fragment(m, d, l.k, b);
    for (int c = 0; c < columns; c++) {
        struct thread_operand right = right_fragment(m, d, l.k, c * 8);
        for (int b = 0; b < blocks; b++) {
            struct thread_operand *sum = &l.sums[b * columns + c];
            const struct thread_operand o[] = {*sum, left[b], right};
            *sum = thread_use(thread_add_typed(&m->b, THREAD_MMA, types, 0, o, 3));
        }
    }
    end_k(m, &l, STEP, d->left.type->extent[1]);
    for (int b = 0; b < blocks; b++)
        d->out.part[b] = emit_join(m, d->sum, l.sums + (ptrdiff_t)b * columns, columns);
}

/* --- by multiply-adds --- */

/* Returns the factors for a row of the sums: those of the thread's even columns, or of its odd ones; of a tile of one column,
 * the first. */
static struct thread_operand factors_of(struct emit *m, const struct dot *d, struct scalar k,
                                        int odd)
{
    struct thread_operand all[EMIT_MOST_COLUMNS / 8];
    int count = d->out.columns > 1 ? d->out.columns / 8 : 1;
    int64_t extent = d->right.type->extent[1];
    for (int i = 0; i < count; i++) {
        struct scalar n = number(0);
        if (d->out.columns > 1)
            n = emit_by(m, THREAD_ADD, emit_column(m), 8 * i + odd);
        struct scalar real = below(m, n, extent, d->out.columns > 1 ? 8 * i + 8 : 1);
        all[i] = emit_as(m, fetch(m, &d->right, k, n, real), d->sum).o;
    }
    return emit_join(m, d->sum, all, count);
}

static void by_fma(struct emit *m, struct dot *d)
{
    bool of_rows = d->out.form == TILE_WHOLE || d->out.form == TILE_ROWS;
    bool of_columns = d->out.form == TILE_WHOLE || d->out.form == TILE_COLUMNS;
    bool whole = emit_is_whole(m, &d->e->type, d->out.blocks);
    int rows = of_rows ? 2 * d->out.blocks : 1, each = of_columns ? 2 : 1;
    int64_t extent = d->left.type->extent[0];
    struct k_loop l = {.count = rows * each};
    l.sums = arena_array(m->arena, struct thread_operand, l.count);
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < each; i++)
            l.sums[r * each + i] =
                d->out.form == TILE_WHOLE || d->out.form == TILE_COLUMNS
                    ? emit_strand(m, &d->out, r / 2, r % 2 * 2 + i, d->out.columns)
                    : d->out.part[r];
    for (int i = 0; i < l.count; i++) /* loops carry values */
        if (l.sums[i].kind != THREAD_VALUE)
            l.sums[i] = thread_use(
                THREAD_ADD_OP(&m->b, THREAD_ADD, d->sum, DT_NONE, l.sums[i], thread_integer(0)));
    begin_k(m, &l);
    struct thread_operand right[2];
    for (int i = 0; i < each; i++)
        right[i] = factors_of(m, d, l.k, i);
    for (int r = 0; r < rows; r++) {
        struct scalar row = number(0);
        if (of_rows)
            row = emit_by(m, THREAD_ADD, emit_row(m, r / 2, d->out.blocks), r % 2 * 8);
        struct scalar real = below(m, row, extent, extent + (of_rows && !whole));
        struct thread_operand left = emit_as(m, fetch(m, &d->left, row, l.k, real), d->sum).o;
        for (int i = 0; i < each; i++) {
            struct thread_operand *sum = &l.sums[r * each + i];
            *sum =
                thread_use(THREAD_ADD_OP(&m->b, THREAD_FMA, d->sum, DT_NONE, left, right[i], *sum));
        }
    }
    end_k(m, &l, 1, d->left.type->extent[1]);
    for (int r = 0; r < rows; r++)
        if (d->out.form == TILE_COLUMNS)
            d->out.part[0] =
                thread_use(thread_add_counted(&m->b, THREAD_WEAVE, d->sum, DT_NONE, 0, l.sums, 2));
        else if (d->out.form == TILE_WHOLE)
            d->out.part[r / 2] =
                emit_weave(m, d->sum, l.sums + (ptrdiff_t)(r / 2) * EMIT_STRANDS, d->out.columns);
        else
            d->out.part[r] = l.sums[r];
}

/* --- the whole --- */

static bool is_known(struct emit *m, const struct expr *e, bool has_mma)
{
    bool known = !e->by || strcmp(e->by->name, "fma") == 0 ||
                 (has_mma && strcmp(e->by->name, "mma.m16n8k16") == 0);
    if (known && (!e->by || e->by->count == 0))
        return true;
    emit_error(m, e->by->loc, "`by(%s)` of this product has no code in a kernel with roles",
               e->by->name);
    diag_note(m->diag, e->by->loc,
              has_mma ? "leave it out, or write `by(mma.m16n8k16)` or `by(fma)`"
                      : "leave it out, or write `by(fma)`");
    return false;
}

struct tile emit_dot(struct emit *m, const struct expr *e)
{
    struct dot d = {.e = e, .sum = e->type.dtype};
    const enum dtype t = e->args[0]->type.dtype;
    bool has_mma = dtype_is_half(t) && emit_form(&e->type) == TILE_WHOLE;
    struct tile sums = {.dtype = d.sum, .blocks = 1, .columns = 1, .part = {thread_integer(0)}};
    if (e->count > 2)
        sums = emit_tile_cast(m, emit_tile(m, e->args[2]), d.sum);
    if (m->failed || !is_known(m, e, has_mma) || !find_side(m, e->args[0], &d.left) ||
        !find_side(m, e->args[1], &d.right))
        return sums;
    bring_side(m, &d, &d.left);
    bring_side(m, &d, &d.right);
    d.out = emit_spread(m, &sums, &e->type, e->loc);
    if (d.exchanges)
        emit_sync(m);
    if (m->failed)
        return sums;
    if (has_mma && !(e->by && strcmp(e->by->name, "fma") == 0))
        by_mma(m, &d);
    else
        by_fma(m, &d);
    if (!d.left.at.e)
        emit_was_read(m, &d.left.scratch);
    if (!d.right.at.e)
        emit_was_read(m, &d.right.scratch);
    return d.out;
}
