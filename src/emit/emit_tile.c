/* Register tiles. An operation on tiles of one form is an operation on their groups. If a whole tile meets a column or a row,
 * each group is taken apart into four strands, elements 0, 1, 2 and 3 of each four: a strand has a single row, and either the
 * even or the odd columns. */
#include "emit/emit_fragment.h"

#include <math.h>

static const struct tile no_tile = {.form = TILE_UNIFORM, .dtype = DT_F32, .blocks = 1};

/* --- elementwise --- */

static bool is_shift(const struct expr *e)
{
    return e->op == OP_SHL || e->op == OP_SHR;
}

static enum dtype operand_type(const struct expr *e)
{
    bool first_is_bool = e->op == OP_WHERE || e->op == OP_SELECT;
    if (op_table[e->op].class == CLASS_LOGIC)
        return DT_BOOL;
    if (is_shift(e))
        return e->type.dtype;
    enum dtype t = e->args[first_is_bool]->type.dtype;
    for (int i = first_is_bool; i < e->count; i++)
        t = dtype_join(t, e->args[i]->type.dtype);
    return t;
}

static bool is_choice(const struct expr *e)
{
    return e->op == OP_WHERE || e->op == OP_SELECT;
}

/* Applies the operation of e to one part of each operand. */
static struct thread_operand apply(struct emit *m, const struct expr *e, enum dtype t,
                                   const struct thread_operand *args)
{
    struct thread_operand out = thread_integer(0);
    if (is_choice(e)) {
        struct thread_operand all[] = {emit_predicate(m, (struct scalar){args[0], DT_BOOL}),
                                       args[1], args[2]};
        return thread_use(thread_add_counted(&m->b, THREAD_SELECT, t, DT_NONE, 0, all, 3));
    }
    if (!emit_apply(m, e->op, t, args, e->count, &out))
        emit_missing(m, e->loc, arena_printf(m->arena, "`%s` of tiles", op_table[e->op].text),
                     emit_way_out(e->op));
    return out;
}

enum { MOST_ARGS = 3 };

static struct tile as_amounts(struct emit *m, struct tile t)
{
    int elements, parts = emit_parts(t.form, t.blocks, t.columns, &elements);
    for (int i = 0; i < parts; i++)
        t.part[i] = emit_shift_amount(m, (struct scalar){t.part[i], t.dtype}).o;
    t.dtype = DT_U32;
    return t;
}

/* Emits the operation of e on tiles of `columns` columns: those of e's type, or a piece of them. */
static struct tile operate(struct emit *m, const struct expr *e, struct tile *args, int columns)
{
    struct tile out = emit_tile_like(&e->type, 1);
    enum dtype t = operand_type(e), wide = t;
    bool mixed = false;
    out.columns = out.columns > 1 ? columns : 1;
    for (int i = 0; i < e->count; i++) {
        out.blocks = args[i].blocks > out.blocks ? args[i].blocks : out.blocks;
        mixed |= args[i].form != out.form && args[i].form != TILE_UNIFORM;
    }
    if (mixed && is_half(t)) /* strands of 16 bits would share words */
        wide = DT_F32;
    for (int i = is_choice(e); i < e->count; i++) {
        args[i] = is_shift(e) && i == 1 ? as_amounts(m, args[i]) : emit_tile_cast(m, args[i], wide);
        if (wide == DT_BOOL && args[i].form == TILE_UNIFORM)
            args[i].part[0] = emit_predicate(m, (struct scalar){args[i].part[0], DT_BOOL});
    }
    int elements, parts = emit_parts(out.form, out.blocks, out.columns, &elements);
    for (int p = 0; p < parts && !m->failed; p++) {
        struct thread_operand part_of[MOST_ARGS], strands[EMIT_STRANDS];
        for (int s = 0; mixed && s < EMIT_STRANDS; s++) {
            for (int i = 0; i < e->count; i++)
                part_of[i] = emit_strand(m, &args[i], p, s, out.columns);
            strands[s] = apply(m, e, wide, part_of);
        }
        for (int i = 0; i < e->count; i++)
            part_of[i] = args[i].part[args[i].form == TILE_UNIFORM ? 0 : p];
        out.part[p] = mixed ? emit_weave(m, op_table[e->op].class == CLASS_COMPARE ? DT_BOOL : wide,
                                         strands, out.columns)
                            : apply(m, e, wide, part_of);
    }
    out.dtype = op_table[e->op].class == CLASS_COMPARE ? DT_BOOL : wide;
    return emit_tile_cast(m, out, e->type.dtype);
}

/* Returns true if the value of e follows from those of its arguments, element by element. */
static bool is_inner(const struct expr *e)
{
    return e->type.rank > 0 && e->count >= 1 && e->count <= MOST_ARGS &&
           (e->op == OP_CAST || e->op == OP_BROADCAST || op_is_elementwise(e->op) || is_choice(e));
}

/* Returns the number of operations in an expression on tiles of rows and columns. */
static int operations_of(const struct expr *e)
{
    int sum = emit_form(&e->type) == TILE_WHOLE && e->op != OP_CAST && e->op != OP_BROADCAST;
    for (int i = 0; i < e->count && is_inner(e); i++)
        sum += operations_of(e->args[i]);
    return is_inner(e) ? sum : 0;
}

/* A long expression is computed for a few columns at a time, because whole tiles of all intermediate values would not fit into
 * the registers. Its leaves are computed before, once and in order. */
enum { LONG = 6, PIECE_COLUMNS = 16 };

struct pieces {
    VEC(struct tile) leaves;
    size_t next;
    int first; /* column of the piece */
};

static void find_leaves(struct emit *m, struct pieces *p, const struct expr *e)
{
    for (int i = 0; i < e->count && is_inner(e); i++)
        find_leaves(m, p, e->args[i]);
    if (!is_inner(e))
        vec_push(m->arena, &p->leaves, emit_tile(m, e));
}

static struct tile piece_of_leaf(struct emit *m, const struct pieces *p, struct tile t)
{
    bool whole = t.form == TILE_WHOLE;
    if (!whole && t.form != TILE_COLUMNS)
        return t;
    int share = whole ? 2 : 4; /* columns for each element of a thread */
    for (int b = 0; b < (whole ? t.blocks : 1); b++)
        if (t.part[b].kind == THREAD_VALUE && t.part[b].value->type.count > 1)
            t.part[b] =
                emit_part(m, t.dtype, t.part[b], p->first / share, PIECE_COLUMNS / share, 1);
    t.columns = PIECE_COLUMNS;
    return t;
}

static struct tile piece(struct emit *m, struct pieces *p, const struct expr *e)
{
    struct tile args[MOST_ARGS];
    if (!is_inner(e))
        return piece_of_leaf(m, p, p->leaves.data[p->next++]);
    for (int i = 0; i < e->count; i++)
        args[i] = piece(m, p, e->args[i]);
    return m->failed               ? no_tile
           : e->op == OP_BROADCAST ? args[0]
           : e->op == OP_CAST      ? emit_tile_cast(m, args[0], e->type.dtype)
                                   : operate(m, e, args, PIECE_COLUMNS);
}

static struct tile in_pieces(struct emit *m, const struct expr *e)
{
    enum { MOST = EMIT_MOST_COLUMNS / PIECE_COLUMNS };
    struct pieces p = {.first = 0};
    struct thread_operand parts[EMIT_MOST_BLOCKS][MOST];
    struct tile out = no_tile;
    int columns = emit_columns(&e->type), count = columns / PIECE_COLUMNS;
    find_leaves(m, &p, e);
    for (int i = 0; i < count && !m->failed; i++) {
        p.first = i * PIECE_COLUMNS;
        p.next = 0;
        out = piece(m, &p, e);
        for (int b = 0; b < out.blocks; b++)
            parts[b][i] = out.part[b];
    }
    out.columns = columns;
    for (int b = 0; b < out.blocks && !m->failed; b++)
        out.part[b] = emit_join(m, out.dtype, parts[b], count);
    return m->failed ? no_tile : out;
}

static struct tile elementwise(struct emit *m, const struct expr *e)
{
    struct tile args[MOST_ARGS];
    if (e->count < 1 || e->count > MOST_ARGS) {
        emit_missing(m, e->loc, op_table[e->op].text, emit_way_out(e->op));
        return no_tile;
    }
    if (emit_form(&e->type) == TILE_WHOLE && operations_of(e) >= LONG &&
        emit_columns(&e->type) % PIECE_COLUMNS == 0)
        return in_pieces(m, e);
    for (int i = 0; i < e->count; i++)
        args[i] = emit_tile(m, e->args[i]);
    return m->failed ? no_tile : operate(m, e, args, emit_columns(&e->type));
}

struct tile emit_lookup(struct emit *m, const struct expr *e)
{
    struct tile out = emit_tile(m, e->args[1]);
    int elements, parts = emit_parts(out.form, out.blocks, out.columns, &elements);
    struct scalar v = {.dtype = e->args[1]->type.dtype};
    for (int p = 0; p < parts; p++) {
        v.o = out.part[p];
        out.part[p] = emit_lookup_of(m, e, v).o;
    }
    out.form = type_elements(&e->sym->type) == 1 ? TILE_UNIFORM : out.form;
    out.dtype = e->type.dtype;
    return out;
}

/* Emits bits or philox, whose operands have types of their own. */
struct tile emit_typed(struct emit *m, const struct expr *e)
{
    bool random = e->op == OP_PHILOX;
    const enum dtype types[THREAD_TYPES] = {e->type.dtype, random ? DT_U64 : e->args[0]->type.dtype,
                                            DT_NONE};
    struct tile args[MOST_ARGS], out = no_tile;
    for (int i = 0; i < e->count && !m->failed; i++)
        args[i] = emit_tile(m, e->args[i]);
    for (int i = 0; i < e->count && !m->failed; i++)
        out = args[i].form != TILE_UNIFORM ? emit_spread(m, &args[i], &e->type, e->loc) : out;
    int elements, parts = emit_parts(out.form, out.blocks, out.columns, &elements);
    for (int p = 0; p < parts && !m->failed; p++) {
        struct thread_operand o[MOST_ARGS] = {{0}, {0}, thread_integer(0)};
        for (int i = 0; i < e->count; i++) {
            struct tile t =
                args[i].form == TILE_UNIFORM ? args[i] : emit_spread(m, &args[i], &e->type, e->loc);
            o[i] = t.part[t.form == TILE_UNIFORM ? 0 : p];
        }
        out.part[p] = thread_use(thread_add_typed(&m->b, random ? THREAD_PHILOX : THREAD_BITS,
                                                  types, 0, o, random ? MOST_ARGS : 1));
    }
    out.dtype = e->type.dtype;
    return out;
}

/* --- fragments --- */

/* Returns whether all registers have one value. */
static bool is_uniform(const struct fragment *f)
{
    bool same = f->v != NULL && !f->groups;
    for (int32_t r = 1; same && r < f->count; r++)
        same = f->v[r].o.kind == f->v[0].o.kind && f->v[r].o.value == f->v[0].o.value &&
               f->v[r].o.integer == f->v[0].o.integer && f->v[r].o.real == f->v[0].o.real;
    return same;
}

/* Emits a tile whose elements threads exchange. */
static struct tile from_fragment(struct emit *m, const struct expr *e)
{
    struct tile t = emit_tile_like(&e->type, emit_blocks(m, &e->type, e->loc));
    if (m->failed)
        return t;
    struct fragment f = emit_fragment_grouped(m, e, plan_blocked(m->layouts, &e->type, 0));
    if (m->failed)
        return t;
    t.dtype = f.dtype;
    if (is_uniform(&f))
        return emit_uniform(f.v[0]);
    for (int32_t r = 0; !f.groups && f.dtype == DT_BOOL && r < f.count; r++)
        f.v[r].o = emit_predicate(m, f.v[r]);
    int elements, parts = emit_parts(t.form, t.blocks, t.columns, &elements);
    for (int i = 0; i < parts; i++)
        t.part[i] = emit_fragment_part(m, &f, i * elements, elements);
    return t;
}

struct fragment emit_fragment_of_role(struct emit *m, const struct expr *e)
{
    struct fragment f = emit_fragment_new(m, e->type.dtype, plan_blocked(m->layouts, &e->type, 0));
    struct tile t = emit_tile(m, e);
    if (!m->failed && t.form != TILE_UNIFORM)
        t = emit_spread(m, &t, &e->type, e->loc);
    if (m->failed)
        return f;
    f.dtype = t.dtype;
    int elements, parts = emit_parts(t.form, t.blocks, t.columns, &elements);
    if (t.form != TILE_UNIFORM && elements > 1) {
        f.each = elements;
        f.groups = arena_array(m->arena, struct thread_operand, parts);
        for (int i = 0; i < parts; i++)
            f.groups[i] = t.part[i];
        return f;
    }
    for (int32_t r = 0; r < f.count; r++)
        f.v[r] = (struct scalar){t.part[t.form == TILE_UNIFORM ? 0 : r], t.dtype};
    return f;
}

/* --- leaves --- */

static struct tile count(struct emit *m, const struct expr *e)
{
    struct tile t = emit_tile_like(&e->type, emit_blocks(m, &e->type, e->loc));
    struct thread_operand all[EMIT_MOST_COLUMNS / 2];
    int elements, parts = emit_parts(t.form, t.blocks, t.columns, &elements);
    t.dtype = DT_I32;
    for (int p = 0; p < parts; p++) {
        for (int i = 0; i < elements; i++) {
            struct held at = emit_held(m, &t, &e->type, p, i);
            all[i] = emit_as(m, t.form == TILE_ROWS ? at.row : at.column, DT_I32).o;
        }
        t.part[p] = emit_join(m, DT_I32, all, elements);
    }
    return t;
}

static struct tile access(struct emit *m, const struct expr *e)
{
    if (e->sym->storage == ST_SHARED)
        return emit_shared_load(m, e);
    if (e->sym->storage == ST_VIEW)
        return emit_view_load(m, e);
    return from_fragment(m, e);
}

struct tile emit_tile_expr(struct emit *m, const struct expr *e)
{
    const struct variable *v;
    if (m->failed)
        return no_tile;
    if (e->type.rank == 0)
        return emit_uniform(emit_scalar(m, e));
    switch (e->op) {
    case OP_REF:
        v = emit_variable(m, e->sym);
        if (v)
            return emit_tile_of(m, v, e->loc);
        break;
    case OP_ACCESS: return access(m, e);
    case OP_CAST: return emit_tile_cast(m, emit_tile(m, e->args[0]), e->type.dtype);
    case OP_REDUCE_SUM:
    case OP_REDUCE_MAX:
    case OP_REDUCE_MIN:
    case OP_REDUCE_ANY:
    case OP_REDUCE_ALL:
    case OP_SCAN:
    case OP_TRANS:
    case OP_RESHAPE:
    case OP_REPEAT:
    case OP_REPEAT_INTERLEAVE: return from_fragment(m, e);
    case OP_IOTA: return count(m, e);
    case OP_LOOKUP: return emit_lookup(m, e);
    case OP_BITS:
    case OP_PHILOX: return emit_typed(m, e);
    case OP_DOT: return emit_dot(m, e);
    case OP_BROADCAST: return emit_tile(m, e->args[0]);
    default:
        if (op_is_elementwise(e->op) || is_choice(e))
            return elementwise(m, e);
        break;
    }
    emit_missing(m, e->loc,
                 op_table[e->op].text[0]
                     ? arena_printf(m->arena, "`%s` of register tiles", op_table[e->op].text)
                     : "this tile",
                 emit_way_out(e->op));
    return no_tile;
}

/* --- assignments --- */

static bool is_zero(const struct tile *t)
{
    const struct thread_operand *o = &t->part[0];
    return t->form == TILE_UNIFORM &&
           ((o->kind == THREAD_INTEGER && o->integer == 0) ||
            (o->kind == THREAD_FLOAT && o->real == 0 && !signbit(o->real)));
}

void emit_tile_assign(struct emit *m, struct variable *v, const struct expr *value)
{
    struct tile t =
        value ? emit_tile(m, value) : emit_uniform(emit_constant(v->sym->type.dtype, 0));
    int parts = v->count - v->sums;
    if (m->failed)
        return;
    if (v->flight > 0) {
        emit_error(m, value ? value->loc : m->b.where,
                   "`%s` is assigned while a product may still add to it", v->sym->name);
        diag_note(m->diag, value ? value->loc : m->b.where,
                  "wait for the product before: `dot_wait(0)`");
        return;
    }
    bool zero = v->sums && is_zero(&t);
    for (int i = 0; zero && i < parts; i++)
        v->slots[i].o =
            thread_use(thread_add_counted(&m->b, THREAD_UNDEFINED, v->slots[i].type.dtype, DT_NONE,
                                          v->slots[i].type.count, NULL, 0));
    if (!zero)
        t = emit_spread(m, &t, &v->sym->type, m->b.where);
    for (int i = 0; !zero && i < parts; i++)
        v->slots[i].o = t.part[i];
    if (v->sums)
        v->slots[parts].o = thread_integer(!zero);
}
