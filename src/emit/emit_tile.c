/* Register tiles. An operation on tiles of one form is an operation on their groups. If a whole tile meets a column or a row,
 * each group is taken apart into four strands, elements 0, 1, 2 and 3 of each four: a strand has a single row, and either the
 * even or the odd columns. */
#include "emit/emit_own.h"

#include <math.h>

static const struct tile no_tile = {.form = TILE_UNIFORM, .dtype = DT_F32, .blocks = 1};

static struct tile uniform(struct scalar v)
{
    struct tile t = {.form = TILE_UNIFORM, .dtype = v.dtype, .blocks = 1};
    t.part[0] = v.o;
    return t;
}

/* --- layout --- */

int emit_tile_slots(struct emit *m, const struct type *t, struct loc loc, struct thread_type *types)
{
    int elements, blocks = emit_blocks(m, t, loc);
    int parts = emit_parts(emit_form(t), blocks, emit_columns(t), &elements);
    for (int i = 0; i < parts; i++)
        types[i] = (struct thread_type){.dtype = t->dtype, .count = (uint16_t)elements};
    return blocks ? parts : 0;
}

static struct tile like(const struct type *t, int blocks)
{
    return (struct tile){
        .form = emit_form(t), .dtype = t->dtype, .blocks = blocks, .columns = emit_columns(t)};
}

/* --- groups --- */

static bool is_half(enum dtype t)
{
    return t == DT_F16 || t == DT_BF16;
}

struct thread_operand emit_part(struct emit *m, enum dtype t, struct thread_operand v, int first,
                                int count, int step)
{
    return thread_use(THREAD_ADD_OP(&m->b, THREAD_PART, t, DT_NONE, v, thread_integer(first),
                                    thread_integer(count), thread_integer(step)));
}

static struct thread_operand join_all(struct emit *m, enum dtype t,
                                      const struct thread_operand *values, int count)
{
    enum { EACH = 4 };
    struct thread_operand joined[EACH];
    int parts = count < EACH ? count : EACH, done = 0;
    if (count == 1)
        return values[0];
    for (int i = 0; i < parts; i++) {
        int next = (int)((int64_t)count * (i + 1) / parts);
        joined[i] = join_all(m, t, values + done, next - done);
        done = next;
    }
    return thread_use(thread_add_counted(&m->b, THREAD_JOIN, t, DT_NONE, 0, joined, (size_t)parts));
}

/* The elements that a region has taken out of a group. */
struct apart {
    const struct thread_region *region;
    size_t at; /* index of the operation that took the first one, unless the region was cut since */
    int count;
    struct thread_operand *elements;
};

/* Returns the operation that took this element out of a group; NULL: it is none. */
static const struct thread_operation *taken_of(const struct emit *m, const struct thread_operand *o)
{
    const struct thread_operation *by = thread_definition(&m->b, o);
    return by && by->op == THREAD_PART && o->value->type.count == 1 ? by : NULL;
}

/* Joins values. Neighbours that were taken out of one group become a part of that group. */
struct thread_operand emit_join(struct emit *m, enum dtype t, const struct thread_operand *values,
                                int count)
{
    struct thread_operand *pieces = arena_room(m->arena, (size_t)count * sizeof *pieces);
    int all = 0;
    for (int i = 0, n; i < count; i += n) {
        const struct thread_operation *first = taken_of(m, &values[i]), *next;
        const struct thread_operand *from = first ? first->operands.data : NULL;
        for (n = 1; first && i + n < count; n++) {
            next = taken_of(m, &values[i + n]);
            if (!next || next->operands.data[0].value != from[0].value ||
                next->operands.data[1].integer != from[1].integer + n)
                break;
        }
        pieces[all] = values[i];
        if (n > 1 && n == from[0].value->type.count)
            pieces[all] = from[0];
        else if (n > 1)
            pieces[all] = emit_part(m, t, from[0], (int)from[1].integer, n, 1);
        all++;
    }
    return join_all(m, t, pieces, all);
}

/* Returns a group of `count` equal elements. */
struct thread_operand emit_splat(struct emit *m, enum dtype t, struct thread_operand v, int count)
{
    enum { MOST = 256 };
    struct thread_operand all[MOST];
    if (is_half(t) && v.kind == THREAD_VALUE)
        return emit_cast(m, t, DT_F32,
                         emit_splat(m, DT_F32, emit_as(m, (struct scalar){v, t}, DT_F32).o, count));
    if (t == DT_BOOL)
        v = emit_predicate(m, (struct scalar){v, t});
    for (int i = 0; i < count; i++)
        all[i] = v;
    return emit_join(m, t, all, count);
}

/* Gives the elements if this region has taken the group apart before. */
static bool is_apart(const struct emit *m, const struct apart *p, struct scalar *v, int count)
{
    const struct thread_region *r = m->b.region;
    if (p->region != r || p->count != count || p->at >= r->operations.count ||
        r->operations.data[p->at]->results.count != 1 ||
        r->operations.data[p->at]->results.data[0] != p->elements[0].value)
        return false;
    const enum dtype t = v[0].dtype;
    for (int i = 0; i < count; i++)
        v[i] = (struct scalar){p->elements[i], t};
    return true;
}

/* Takes apart a group that was joined of values: into these values. */
static void take_joined(struct emit *m, struct scalar *v, const struct thread_operation *join)
{
    const enum dtype t = v->dtype;
    int count = 0;
    for (size_t i = 0; i < join->operands.count; i++) {
        const struct thread_operand *o = &join->operands.data[i];
        const int each = o->kind == THREAD_VALUE ? o->value->type.count : 1;
        v[count] = (struct scalar){*o, t};
        emit_take_apart(m, &v[count], each);
        count += each;
    }
}

void emit_take_apart(struct emit *m, struct scalar *v, int count)
{
    const struct scalar all = v[0];
    const struct thread_operation *by = thread_definition(&m->b, &all.o);
    bool added;
    if (all.o.kind != THREAD_VALUE || all.o.value->type.count == 1)
        return;
    if (by && by->op == THREAD_JOIN) {
        take_joined(m, v, by);
        return;
    }
    struct number_entry *known =
        number_map_entry(m->arena, &m->apart, (uintptr_t)all.o.value, &added);
    if (!added && is_apart(m, (const struct apart *)(uintptr_t)known->value, v, count))
        return;
    struct apart *apart = arena_new(m->arena, struct apart);
    *apart = (struct apart){m->b.region, m->b.region->operations.count, count,
                            arena_room(m->arena, (size_t)count * sizeof *apart->elements)};
    known->value = (uintptr_t)apart;
    for (int i = 0; i < count; i++) {
        apart->elements[i] = emit_part(m, all.dtype, all.o, i, 1, 1);
        v[i] = (struct scalar){apart->elements[i], all.dtype};
    }
}

/* Returns strand i of a block of a tile that is used as a tile of `columns` columns. */
struct thread_operand emit_strand(struct emit *m, const struct tile *t, int block, int i,
                                  int columns)
{
    int count = columns / 8;
    switch (t->form) {
    case TILE_UNIFORM: return t->part[0];
    case TILE_ROWS: return t->part[2 * block + i / 2];
    case TILE_COLUMNS: return emit_part(m, t->dtype, t->part[0], i % 2, count, 2);
    default: return emit_part(m, t->dtype, t->part[block], i, count, EMIT_STRANDS);
    }
}

struct thread_operand emit_weave(struct emit *m, enum dtype t, const struct thread_operand *strands,
                                 int columns)
{
    struct thread_operand all[EMIT_STRANDS];
    for (int i = 0; i < EMIT_STRANDS; i++) {
        bool whole = strands[i].kind == THREAD_VALUE && strands[i].value->type.count == columns / 8;
        all[i] = whole ? strands[i] : emit_splat(m, t, strands[i], columns / 8);
    }
    return thread_use(thread_add_counted(&m->b, THREAD_WEAVE, t, DT_NONE, 0, all, EMIT_STRANDS));
}

struct tile emit_tile_cast(struct emit *m, struct tile t, enum dtype to)
{
    if (t.dtype == to)
        return t;
    int elements, parts = emit_parts(t.form, t.blocks, t.columns, &elements);
    for (int i = 0; i < parts; i++)
        t.part[i] = emit_as(m, (struct scalar){t.part[i], t.dtype}, to).o;
    t.dtype = to;
    return t;
}

/* Repeats the elements of a tile for the form of another one. */
static struct tile spread(struct emit *m, const struct tile *from, enum tile_form form, int blocks,
                          int columns)
{
    struct tile to = {.form = form, .dtype = from->dtype, .blocks = blocks, .columns = columns};
    int elements, parts = emit_parts(form, blocks, columns, &elements);
    if (from->form == form)
        return *from;
    if (from->form == TILE_UNIFORM) {
        struct thread_operand all = emit_splat(m, from->dtype, from->part[0], elements);
        for (int i = 0; i < parts; i++)
            to.part[i] = all;
        return to;
    }
    struct tile wide = is_half(from->dtype) ? emit_tile_cast(m, *from, DT_F32) : *from;
    for (int b = 0; b < blocks; b++) {
        struct thread_operand strands[EMIT_STRANDS];
        for (int i = 0; i < EMIT_STRANDS; i++)
            strands[i] = emit_strand(m, &wide, b, i, columns);
        to.part[b] = emit_weave(m, wide.dtype, strands, columns);
    }
    to.dtype = wide.dtype;
    return emit_tile_cast(m, to, from->dtype);
}

struct tile emit_spread(struct emit *m, const struct tile *from, const struct type *t,
                        struct loc loc)
{
    return spread(m, from, emit_form(t), emit_blocks(m, t, loc), emit_columns(t));
}

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
    struct tile out = like(&e->type, 1);
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

static struct thread_operand constant_of(const struct literal *l)
{
    return l->is_float ? thread_real(l->f) : thread_integer(l->i);
}

static const struct thread_object *table_of(struct emit *m, const struct sym *s)
{
    const uint32_t count = (uint32_t)s->type.extent[0];
    bool added;
    struct number_entry *entry = number_map_entry(m->arena, &m->objects, (uintptr_t)s, &added);
    if (!added)
        return (const struct thread_object *)(uintptr_t)entry->value;
    struct thread_operand *values = arena_array(m->arena, struct thread_operand, count);
    for (uint32_t i = 0; i < count; i++)
        values[i] = constant_of(&s->table[i]);
    const struct thread_object *o = thread_new_table(&m->b, s->name, s->type.dtype, count, values);
    entry->value = (uintptr_t)o;
    return o;
}

/* Loads an element of a table. An index outside becomes the nearest one inside, so that a look-up may also be computed where
 * its value is not used. */
static struct scalar load_from_table(struct emit *m, const struct expr *e, struct scalar index)
{
    const enum dtype t = e->sym->type.dtype;
    const int64_t last = e->sym->type.extent[0] - 1;
    if (dtype_size(index.dtype) < 4)
        index = emit_as(m, index, DT_I32);
    index = emit_op2(m, THREAD_MAX, index.dtype, index, emit_constant(index.dtype, 0));
    index = emit_op2(m, THREAD_MIN, index.dtype, index, emit_constant(index.dtype, last));
    if (index.o.kind == THREAD_INTEGER)
        return (struct scalar){constant_of(&e->sym->table[index.o.integer]), t};
    const struct thread_operand table =
        thread_use(THREAD_ADD_OP(&m->b, THREAD_TABLE, DT_NONE, DT_NONE,
                                 thread_element(table_of(m, e->sym), thread_integer(0), 0)));
    return (struct scalar){
        thread_use(THREAD_ADD_OP(&m->b, THREAD_LOAD_CONST, t, DT_NONE, table,
                                 emit_as(m, index, DT_U32).o, thread_integer(0))),
        t};
}

/* Emits an element of a table. A kernel with roles compares the index with each place, because registers have no indices. */
struct scalar emit_lookup_of(struct emit *m, const struct expr *e, struct scalar index)
{
    enum { MOST = 64 };
    if (m->by_threads)
        return emit_as(m, load_from_table(m, e, index), e->type.dtype);
    const enum dtype t = e->type.dtype == DT_BOOL ? DT_U32 : e->type.dtype; /* bools are values */
    int64_t count = type_elements(&e->sym->type);
    struct scalar v = emit_constant(t, 0);
    if (count > MOST)
        emit_missing(m, e->loc,
                     arena_printf(m->arena, "`lookup` of %s", type_text(m->arena, &e->sym->type)),
                     "tables have at most 64 elements here: pass a larger one as an array");
    for (int64_t i = 0; i < count && !m->failed; i++) {
        const struct thread_operand one = constant_of(&e->sym->table[i]);
        struct thread_operand found = thread_use(
            THREAD_ADD_OP(&m->b, THREAD_EQ, index.dtype, DT_NONE, index.o, thread_integer(i)));
        v.o = i == 0 ? one
                     : thread_use(THREAD_ADD_OP(&m->b, THREAD_SELECT, t, DT_NONE, found, one, v.o));
    }
    return emit_as(m, v, e->type.dtype);
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

/* --- leaves --- */

static struct tile count(struct emit *m, const struct expr *e)
{
    struct tile t = like(&e->type, emit_blocks(m, &e->type, e->loc));
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

struct tile emit_tile_of(struct emit *m, const struct variable *v, struct loc loc)
{
    struct tile t = like(&v->sym->type, 1);
    int parts = v->count - v->sums;
    t.blocks = t.form == TILE_WHOLE ? parts : t.form == TILE_ROWS ? parts / 2 : 1;
    if (v->flight > 0) {
        emit_error(m, loc, "`%s` is used while a product may still add to it", v->sym->name);
        diag_note(m->diag, loc, "wait for the product before: `dot_wait(0)`");
        return no_tile;
    }
    for (int i = 0; i < parts; i++)
        t.part[i] = v->slots[i].o;
    if (!v->sums)
        return t;
    struct thread_operand counts = v->slots[parts].o;
    if (counts.kind != THREAD_VALUE)
        return counts.integer ? t : uniform((struct scalar){thread_integer(0), t.dtype});
    for (int i = 0; i < parts; i++)
        t.part[i] = thread_use(THREAD_ADD_OP(&m->b, THREAD_SELECT, t.dtype, DT_NONE, counts,
                                             t.part[i], thread_integer(0)));
    return t;
}

static struct tile access(struct emit *m, const struct expr *e)
{
    if (e->sym->storage == ST_SHARED)
        return emit_shared_load(m, e);
    if (e->sym->storage == ST_VIEW)
        return emit_view_load(m, e);
    return emit_shape(m, e);
}

struct tile emit_tile(struct emit *m, const struct expr *e)
{
    const struct variable *v;
    if (m->failed)
        return no_tile;
    if (e->type.rank == 0)
        return uniform(emit_scalar(m, e));
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
    case OP_REDUCE_ALL: return emit_reduce(m, e);
    case OP_SCAN: return emit_scan(m, e);
    case OP_IOTA: return count(m, e);
    case OP_LOOKUP: return emit_lookup(m, e);
    case OP_BITS:
    case OP_PHILOX: return emit_typed(m, e);
    case OP_DOT: return emit_dot(m, e);
    case OP_BROADCAST: return emit_tile(m, e->args[0]);
    case OP_TRANS:
    case OP_RESHAPE:
    case OP_REPEAT:
    case OP_REPEAT_INTERLEAVE: return emit_shape(m, e);
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
    struct tile t = value ? emit_tile(m, value) : uniform(emit_constant(v->sym->type.dtype, 0));
    struct tile to = like(&v->sym->type, 1);
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
    to.blocks = to.form == TILE_WHOLE ? parts : to.form == TILE_ROWS ? parts / 2 : 1;
    bool zero = v->sums && is_zero(&t);
    for (int i = 0; zero && i < parts; i++)
        v->slots[i].o =
            thread_use(thread_add_counted(&m->b, THREAD_UNDEFINED, v->slots[i].type.dtype, DT_NONE,
                                          v->slots[i].type.count, NULL, 0));
    if (!zero)
        t = spread(m, &t, to.form, to.blocks, to.columns);
    for (int i = 0; !zero && i < parts; i++)
        v->slots[i].o = t.part[i];
    if (v->sums)
        v->slots[parts].o = thread_integer(!zero);
}
