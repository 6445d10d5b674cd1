/* Fragments from and to memory, and through scratch. */
#include "emit/emit_fragment.h"
#include "plan/plan_layouts.h"

enum { VECTOR_BYTES = 16 };

static struct scalar number(int64_t v)
{
    return emit_constant(DT_I32, v);
}

static struct scalar combine(struct emit *m, enum thread_opcode op, struct scalar a,
                             struct scalar b)
{
    return emit_op2(m, op, DT_I32, a, b);
}

/* --- accesses of the program --- */

static struct piece piece_at(struct emit *m, const struct spots *s, int32_t reg, struct scalar mine)
{
    struct piece p;
    p.mine = emit_op2(m, THREAD_AND, DT_BOOL, mine, emit_spot_inside(m, s, reg, ~0u));
    for (int j = 0; j < s->layout.out_count && j < MAX_RANK; j++)
        p.at[j] = emit_spot(m, s, j, reg);
    return p;
}

/* Returns how many neighbouring registers move together. most: a power of two, the limit. */
static int most_together(const struct spots *s, enum dtype t, int most)
{
    int vector = s->vector;
    while (vector > most || vector * (int)dtype_size(t) > VECTOR_BYTES)
        vector /= 2;
    return vector;
}

/* Registers that are neighbours along the last axis of a view: bit b of an element's number in the vector adds weight[b]. */
struct vector {
    int elements, bits;
    int32_t weight[ACCESS_VECTOR_BITS];
};

static struct vector vector_along(const struct layout *l, enum dtype t)
{
    const int last = l->out_count - 1;
    struct vector v;
    v.elements = layout_vector(l, last, VECTOR_BYTES / (int)dtype_size(t), v.weight, &v.bits);
    while (l->outs[last].extent % v.elements != 0)
        v.elements /= 2;
    return v;
}

static int32_t register_at(const struct vector *v, int32_t first, int element)
{
    for (int b = 0; 1 << b < v->elements; b++)
        first += (element >> b & 1) * v->weight[b];
    return first;
}

/* Returns whether a vector begins with the register. */
static bool begins(const struct vector *v, int32_t reg)
{
    bool first = true;
    for (int b = 0; 1 << b < v->elements; b++)
        first &= reg / v->weight[b] % 2 == 0;
    return first;
}

static struct fragment load(struct emit *m, const struct expr *e, const struct layout *layout,
                            bool once)
{
    struct fragment f = emit_fragment_new(m, e->sym->type.dtype, layout), others = {0};
    if (e->sym->storage == ST_SHARED && emit_planned_load(m, e, &f))
        return f;
    const struct gathers gathers = emit_find_gathers(m, e, layout);
    const struct spots s = emit_spots(m, layout);
    struct vector vector = vector_along(layout, f.dtype);
    struct expr plain = *e;
    vector.elements = emit_access_width(m, e, vector.elements);
    if (e->otherwise && e->otherwise->type.rank > 0) {
        others = emit_fragment(m, e->otherwise, layout);
        plain.otherwise = NULL;
        vector.elements = 1;
    }
    int64_t vectors = 0;
    for (int32_t r = 0; r < f.count && !m->failed; r++) {
        struct scalar index[MAX_RANK], v[VECTOR_BYTES];
        if (!begins(&vector, r))
            continue;
        vectors += !emit_spot_repeats(&s, r);
        const struct piece p = piece_at(m, &s, r, once ? s.first : emit_constant(DT_BOOL, 1));
        struct element x = emit_access_at(m, e, p.at, p.mine, emit_gathered_at(&gathers, r, index));
        if (others.v) {
            const struct scalar o = emit_as(m, others.v[r], f.dtype);
            f.v[r] = emit_load_if(m, &plain, x.index, 1, x.inside, o);
            continue;
        }
        v[0] = emit_access_load(m, e, &x, vector.elements);
        for (int i = 1; i < vector.elements; i++)
            v[i] = v[0]; /* one value for all, if none is inside */
        emit_take_apart(m, v, vector.elements);
        for (int i = 0; i < vector.elements; i++)
            f.v[register_at(&vector, r, i)] = v[i];
    }
    emit_note_vectors(m, e, vector.elements, vectors, false);
    return f;
}

struct fragment emit_fragment_load(struct emit *m, const struct expr *e,
                                   const struct layout *layout, bool once)
{
    const struct loc before = emit_at(m, e->loc);
    const struct fragment f = load(m, e, layout, once);
    emit_note_layout(m, e, layout);
    emit_at(m, before);
    return f;
}

static void store(struct emit *m, const struct expr *target, const struct fragment *f)
{
    if (target->sym->storage == ST_SHARED && emit_planned_store(m, target, f))
        return;
    const struct gathers gathers = emit_find_gathers(m, target, f->layout);
    const struct spots s = emit_spots(m, f->layout);
    struct vector vector = vector_along(f->layout, f->dtype);
    if (gathers.of[target->sym->type.rank - 1])
        vector.elements = 1; /* neighbours of the tile are not neighbours in memory */
    const int each = emit_access_width(m, target, vector.elements);
    int64_t vectors = 0;
    for (int32_t r = 0; r < f->count && !m->failed; r++) {
        struct scalar index[MAX_RANK], v[VECTOR_BYTES];
        if (!begins(&vector, r) || emit_spot_repeats(&s, r))
            continue;
        vectors += vector.elements / each;
        const struct piece p = piece_at(m, &s, r, s.first);
        for (int i = 0; i < vector.elements; i++)
            v[i] = f->v[register_at(&vector, r, i)];
        emit_access_store(m, target, &p, vector.elements, v, emit_gathered_at(&gathers, r, index));
    }
    emit_note_vectors(m, target, each, vectors, true);
}

void emit_fragment_store(struct emit *m, const struct expr *target, const struct fragment *f)
{
    const struct loc before = emit_at(m, target->loc);
    store(m, target, f);
    emit_note_layout(m, target, f->layout);
    emit_at(m, before);
}

/* Returns the layout in which the values of an atomic are computed. */
static const struct layout *layout_of_atomic(struct emit *m, const struct expr *e)
{
    const struct type *t = &e->args[0]->type;
    const struct layout *l = NULL;
    for (int i = 1; i < e->count && !l; i++)
        if (type_same_shape(&e->args[i]->type, t))
            l = plan_natural(m->layouts, e->args[i]);
    if (!l)
        l = plan_blocked(m->layouts, t, 0);
    if (e->args[0]->sym->storage == ST_VIEW) /* values that pass between lanes make wider vectors */
        l = plan_view(m->layouts, e->args[0], l, true);
    return plan_keep(m->layouts, l);
}

/* Returns how many elements one instruction adds, at most. */
static int most_added(struct emit *m, const struct expr *e, enum dtype t)
{
    const struct target *target = m->options->target;
    const bool vectors = target_has(target, TARGET_RED_VECTORS);
    if (e->op != OP_ATOMIC_ADD || e->args[0]->sym->storage != ST_VIEW)
        return 1;
    if (t == DT_F32)
        return vectors ? 4 : 1;
    if (t == DT_F16 || (t == DT_BF16 && target_has(target, TARGET_BF16_ARITHMETIC)))
        return vectors ? 8 : 2;
    return 1;
}

struct fragment emit_fragment_atomic(struct emit *m, const struct expr *e,
                                     const struct layout *wanted)
{
    enum { MOST = 2 };
    const struct expr *target = e->args[0];
    const enum dtype t = target->sym->type.dtype;
    const struct layout *l = layout_of_atomic(m, e);
    struct fragment old = emit_fragment_new(m, t, l), args[MOST];
    for (int i = 1; i < e->count; i++)
        args[i - 1] = emit_fragment(m, e->args[i], l);
    if (m->failed || !emit_has_atomic(m, e))
        return wanted ? emit_fragment_new(m, t, wanted) : old;
    const struct loc before = emit_at(m, e->loc);
    for (int i = 1, waits = 0; i < e->count && !waits; i++) {
        waits = emit_reads_memory(m, e->args[i], target, EMIT_BY_LAYOUT, l);
        if (waits)
            emit_sync(m);
    }
    const struct gathers gathers = emit_find_gathers(m, target, l);
    const struct spots s = emit_spots(m, l);
    struct vector vector = vector_along(l, t);
    const int most = wanted ? 1 : most_added(m, e, t);
    vector.elements = most == 1 ? 1 : emit_access_width(m, target, vector.elements);
    vector.elements = vector.elements < most ? vector.elements : most;
    int64_t count = 0;
    for (int32_t r = 0; r < old.count && !m->failed; r++) {
        struct scalar index[MAX_RANK], values[MOST];
        struct thread_operand added[VECTOR_BYTES];
        if (!begins(&vector, r) || emit_spot_repeats(&s, r))
            continue;
        count++;
        for (int k = 0; k + 1 < e->count; k++)
            values[k] = emit_as(m, args[k].v[r], t);
        for (int i = 0; i < vector.elements; i++)
            added[i] = emit_as(m, args[0].v[register_at(&vector, r, i)], t).o;
        if (vector.elements > 1)
            values[0].o = emit_join(m, t, added, vector.elements);
        const struct piece p = piece_at(m, &s, r, s.first);
        const struct element x =
            emit_access_at(m, target, p.at, p.mine, emit_gathered_at(&gathers, r, index));
        const struct scalar v = emit_atomic_at(m, e, x.index, values, x.inside, wanted != NULL);
        old.v[r] = wanted ? v : old.v[r];
    }
    emit_note_atomics(m, e, vector.elements, count, wanted);
    emit_at(m, before);
    if (!wanted)
        return old;
    struct layout rows;
    plan_rows(&target->type, &rows);
    return emit_fragment_through(m, &old, &rows, &rows, wanted);
}

/* --- through scratch --- */

/* Returns the place of a register in scratch, in elements. */
static struct scalar scratch_index(struct emit *m, const struct spots *places, int32_t reg)
{
    const struct coordinate c = emit_spot(m, places, 0, reg);
    return emit_as(m, combine(m, THREAD_ADD, c.thread, number(c.more)), DT_U32);
}

void emit_fragment_put(struct emit *m, const struct scratch *to, const struct fragment *f,
                       const struct layout *memory)
{
    struct layout composed;
    if (!layout_compose(memory, f->layout, &composed)) {
        emit_missing(m, m->b.where, "an exchange between two layouts", NULL);
        return;
    }
    const struct spots places = emit_spots(m, &composed), s = emit_spots(m, f->layout);
    const int vector = most_together(&places, f->dtype, s.vector);
    for (int32_t r = 0; r < f->count; r += vector) {
        struct thread_operand all[VECTOR_BYTES];
        struct scalar mine =
            emit_op2(m, THREAD_AND, DT_BOOL, s.first, emit_spot_inside(m, &s, r, ~0u));
        if (emit_spot_repeats(&s, r) || (mine.o.kind != THREAD_VALUE && !mine.o.integer))
            continue;
        for (int k = 0; k < vector; k++)
            all[k] = f->v[r + k].o;
        struct thread_region *outer = emit_open_if(m, mine);
        struct scalar at = scratch_index(m, &places, r);
        const struct thread_operand place = emit_scratch_at(m, to, at);
        THREAD_ADD_OP(&m->b, THREAD_STORE_SHARED, f->dtype, DT_NONE, place,
                      emit_join(m, f->dtype, all, vector));
        m->b.region = outer;
    }
}

/* Computes a layout's only result from coordinates. */
static struct scalar value_of(struct emit *m, const struct layout *l, const struct scalar *at)
{
    struct scalar sum = number(0), flipped = number(l->flip[0]);
    for (int d = 0; d < l->digit_count; d++) {
        const struct layout_digit *g = &l->digits[d];
        struct scalar v = emit_as(m, at[g->in], DT_U32);
        v = emit_by(m, THREAD_DIV, v, layout_weight(l, d));
        v = emit_as(m, emit_by(m, THREAD_REM, v, g->extent), DT_I32);
        if (g->add[0])
            sum = combine(m, THREAD_ADD, sum, combine(m, THREAD_MUL, v, number(g->add[0])));
        if (g->xor [0])
            flipped =
                combine(m, THREAD_XOR, flipped, combine(m, THREAD_MUL, v, number(g->xor [0])));
    }
    return combine(m, THREAD_ADD, combine(m, THREAD_ADD, sum, flipped), number(l->offset[0]));
}

static struct scalar load_group(struct emit *m, struct thread_operand from, struct thread_type t)
{
    return (struct scalar){thread_use(thread_add_counted(&m->b, THREAD_LOAD_SHARED, t.dtype,
                                                         DT_NONE, t.count, &from, 1)),
                           t.dtype};
}

/* Loads `count` elements from scratch if `inside` is true. Otherwise they have any value, because the place may lie outside of
 * the scratch. */
static struct scalar from_scratch_if(struct emit *m, const struct scratch *s, struct scalar at,
                                     int count, struct scalar inside)
{
    const struct thread_type t = {.dtype = s->object->dtype, .count = (uint16_t)count};
    const struct thread_operand from = emit_scratch_at(m, s, at);
    if (inside.o.kind != THREAD_VALUE && inside.o.integer)
        return load_group(m, from, t);
    const struct scalar none = {
        thread_use(thread_add_counted(&m->b, THREAD_UNDEFINED, t.dtype, DT_NONE, t.count, NULL, 0)),
        t.dtype};
    if (inside.o.kind != THREAD_VALUE)
        return none;
    struct scalar v;
    const struct choice choice = emit_choice(m, inside);
    emit_choice_arm(m, &choice);
    v = load_group(m, from, t);
    emit_choice_give(m, &v, 1);
    emit_choice_arm(m, &choice);
    emit_choice_give(m, &none, 1);
    emit_choice_end(m, &choice, t, &v, 1);
    return v;
}

/* Loads each element from the place that `places` computes from its coordinates. */
static void get_each(struct emit *m, const struct scratch *from, struct fragment *f,
                     const struct layout *places)
{
    const struct spots s = emit_spots(m, f->layout);
    struct layout l;
    layout_copy(&l, places);
    layout_runs(&l);
    for (int32_t r = 0; r < f->count; r++) {
        const struct scalar inside = emit_spot_inside(m, &s, r, ~0u);
        struct scalar at[LAYOUT_INS];
        for (int in = 0; in < l.in_count; in++) {
            const struct coordinate c =
                emit_spot(m, &s, layout_out_index(&s.layout, l.ins[in].axis), r);
            at[in] = combine(m, THREAD_ADD, c.thread, number(c.more));
        }
        const struct scalar place = emit_as(m, value_of(m, &l, at), DT_U32);
        f->v[r] = from_scratch_if(m, from, place, 1, inside);
    }
}

static void get(struct emit *m, const struct scratch *from, struct fragment *f,
                const struct spots *places)
{
    const struct spots s = emit_spots(m, f->layout);
    const int vector = most_together(places, f->dtype, s.vector);
    for (int32_t r = 0; r < f->count; r += vector) {
        const struct scalar at = scratch_index(m, places, r);
        f->v[r] = from_scratch_if(m, from, at, vector, emit_spot_inside(m, &s, r, ~0u));
        emit_take_apart(m, &f->v[r], vector);
    }
}

/* Loads each register alone. A register without an element keeps the value that it had; if that was a constant, it has any
 * value. */
static void get_alone(struct emit *m, const struct scratch *from, const struct layout *places,
                      struct fragment *f)
{
    struct layout loaded;
    const struct scalar *before = arena_copy(m->arena, f->v, ((size_t)f->count + 1) * sizeof *f->v);
    const struct spots s = emit_spots(m, f->layout);
    if (layout_compose(places, f->layout, &loaded)) {
        const struct spots at = emit_spots(m, &loaded);
        get(m, from, f, &at);
    } else {
        get_each(m, from, f, places);
    }
    for (int32_t r = 0; r < f->count; r++) {
        const struct scalar inside = emit_spot_inside(m, &s, r, ~0u);
        if (inside.o.kind == THREAD_VALUE && before[r].o.kind == THREAD_VALUE)
            f->v[r] = emit_select(m, inside, f->v[r], before[r]);
    }
}

void emit_fragment_pass(struct emit *m, const struct fragment *f, const struct layout *memory,
                        const struct layout *from, struct fragment *out)
{
    const int64_t elements = layout_out_extent(memory, AXIS_AT);
    const struct scratch s = emit_scratch(m, f->dtype, elements);
    struct shared_way w;
    if (emit_way_through(m, &s, memory, f->layout, true, &w)) {
        emit_way_store(m, &w, f);
        emit_note_way(m, LOC_NONE, NULL, &w, true);
    } else {
        emit_fragment_put(m, &s, f, memory);
    }
    emit_sync(m);
    if (emit_way_through(m, &s, from, out->layout, false, &w)) {
        emit_way_fetch(m, &w, out);
        emit_fragment_apart(m, out);
        emit_note_way(m, LOC_NONE, NULL, &w, false);
    } else {
        get_alone(m, &s, from, out);
    }
    emit_was_read(m, &s);
}

struct fragment emit_fragment_through(struct emit *m, const struct fragment *f,
                                      const struct layout *memory, const struct layout *from,
                                      const struct layout *to)
{
    struct fragment out = emit_fragment_new(m, f->dtype, to);
    if (f->dtype == DT_BOOL) {
        const struct fragment bytes = emit_fragment_cast(m, f, DT_U8);
        out = emit_fragment_through(m, &bytes, memory, from, to);
        return emit_fragment_cast(m, &out, DT_BOOL);
    }
    emit_fragment_pass(m, f, memory, from, &out);
    return out;
}
