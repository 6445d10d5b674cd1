#include "lower/lower_element.h"

#include "lower/lower_flow.h"

#include <string.h>

enum space { SPACE_GLOBAL, SPACE_CONSTANT, SPACE_SHARED, SPACE_LOCAL };
enum { MOST_WIDTHS = 3, WORD_BYTES = 4, VECTOR_BYTES = 16 };

static const char *const load_names[][MOST_WIDTHS] = {
    [SPACE_GLOBAL] = {"ld.global.*", "ld.global.v2.*", "ld.global.v4.*"},
    [SPACE_CONSTANT] = {"ld.global.nc.*", "ld.global.nc.v2.*", "ld.global.nc.v4.*"},
    [SPACE_SHARED] = {"ld.shared.*", "ld.shared.v2.*", "ld.shared.v4.*"},
    [SPACE_LOCAL] = {"ld.local.*", "ld.local.v2.*", "ld.local.v4.*"},
};
/* The names of loads that may be joined, without type. */
static const char *const stems[] = {
    [SPACE_GLOBAL] = "ld.global",
    [SPACE_CONSTANT] = "ld.global.nc",
    [SPACE_SHARED] = "ld.shared",
    [SPACE_LOCAL] = "ld.local",
};
static const char *const store_names[][MOST_WIDTHS] = {
    [SPACE_GLOBAL] = {"st.global.*", "st.global.v2.*", "st.global.v4.*"},
    [SPACE_SHARED] = {"st.shared.*", "st.shared.v2.*", "st.shared.v4.*"},
    [SPACE_LOCAL] = {"st.local.*", "st.local.v2.*", "st.local.v4.*"},
};

/* An element in memory: what is narrower than its register is extended by the load. */
static enum ptx_mod memory_type(enum dtype t)
{
    switch (t) {
    case DT_F64: return MOD_F64;
    case DT_TF32:
    case DT_F32: return MOD_F32;
    case DT_F16:
    case DT_BF16: return MOD_B16;
    case DT_I64: return MOD_S64;
    case DT_I32: return MOD_S32;
    case DT_I16: return MOD_S16;
    case DT_I8: return MOD_S8;
    case DT_U64: return MOD_U64;
    case DT_U32: return MOD_U32;
    case DT_U16: return MOD_U16;
    default: return MOD_U8;
    }
}

static enum space space_of(const struct sym *s)
{
    if (s->storage == ST_SHARED)
        return SPACE_SHARED;
    if (s->storage == ST_ARRAY)
        return SPACE_LOCAL;
    return s->is_const ? SPACE_CONSTANT : SPACE_GLOBAL;
}

/* --- guards --- */

struct guard guard_and(struct lower *l, struct guard when, const struct value *condition)
{
    if (!condition || when.never)
        return when;
    struct guard second = guard_of(l, condition);
    if (when.always || second.never)
        return second;
    if (second.always)
        return when;
    struct ptx_operand both = ptx_reg(&l->b, MOD_PRED), a = when.predicate, b = second.predicate;
    if (a.negated) {
        a = ptx_reg(&l->b, MOD_PRED);
        ptx_emit(&l->b, "not.pred", a, ptx_not(when.predicate));
    }
    if (b.negated) {
        b = ptx_reg(&l->b, MOD_PRED);
        ptx_emit(&l->b, "not.pred", b, ptx_not(second.predicate));
    }
    ptx_emit(&l->b, "and.pred", both, a, b);
    return (struct guard){.predicate = both};
}

struct guard guard_of_effect(struct lower *l)
{
    if (kernel_thread_level(l->kernel))
        return guard_always();
    return guard_of(
        l, value_apply2(l, OP_EQ, DT_BOOL, value_thread_linear(l), value_int(l, DT_I32, 0)));
}

struct guard guard_of_lazy(struct lower *l)
{
    return guard_of(l, l->bodies->lazy);
}

/* --- where it is --- */

/* The extent of an axis in i64, and in i32 where it is so. */
static void find_limits(struct lower *l, struct own_axis *axis, const struct sym *s, int number)
{
    if (s->storage != ST_VIEW) {
        axis->limit = value_int(l, DT_I64, s->type.extent[number]);
        axis->narrow_limit = value_int(l, DT_I32, s->type.extent[number]);
        return;
    }
    axis->limit = view_extent(l, s, number);
    const struct value *v = scalar_eval(l, s->dims[number]);
    axis->narrow_limit = value_dtype(v) == DT_I32 ? v : NULL;
}

/* An index as the program has it; what is no i32 in 64 bits. */
static const struct value *index_of(struct lower *l, const struct value *v)
{
    return value_dtype(v) == DT_I32 ? v : value_index(l, v);
}

static void own_axis(struct lower *l, struct own_axis *axis, const struct expr *e, int number)
{
    const struct index *index = number < e->indices ? &e->index[number] : NULL;
    find_limits(l, axis, e->sym, number);
    axis->kind = index ? index->kind : IX_ALL;
    axis->start = value_int(l, DT_I32, 0);
    axis->extent = 1;
    switch (axis->kind) {
    case IX_ELEMENT:
        axis->start = index_of(l, scalar_eval(l, index->value));
        axis->guarded = e->otherwise != NULL;
        return;
    case IX_SLICE:
        axis->start = index_of(l, scalar_eval(l, index->value));
        axis->extent = index->extent;
        axis->guarded = !index->inside;
        return;
    case IX_GATHER: {
        const struct value **rows = array_values(l, index->value);
        axis->extent = index->value->type.extent[0];
        for (int64_t i = 0; i < axis->extent; i++)
            rows[i] = index_of(l, rows[i]);
        axis->rows = rows;
        axis->guarded = true;
        return;
    }
    case IX_ALL:
        if (!value_known(axis->limit, &axis->extent))
            lower_error(l, e->loc, "the extent of axis %d of `%s` is not known", number,
                        e->sym->name);
        return;
    }
}

/* Do neighbours along the last axis lie one behind the other, and are chosen so? */
static bool has_runs(struct lower *l, const struct own_place *p)
{
    const struct sym *s = p->access->sym;
    const struct own_axis *last = &p->axis[p->rank - 1];
    int64_t stride = 1;
    if (last->kind != IX_SLICE && last->kind != IX_ALL)
        return false;
    if (s->storage == ST_ARRAY)
        return array_in_memory(l, s);
    if (s->storage == ST_SHARED)
        return kernel_thread_level(l->kernel); /* as written there; swizzled at tile level */
    return s->storage == ST_VIEW && value_known(view_stride(l, s, p->rank - 1), &stride) &&
           stride == 1;
}

struct own_place own_place_of(struct lower *l, const struct expr *access)
{
    struct own_place p = {.access = access, .rank = access->sym->type.rank, .elements = 1};
    for (int i = 0; i < p.rank; i++)
        own_axis(l, &p.axis[i], access, i);
    for (int i = p.rank - 1; i >= 0; i--) {
        p.axis[i].step = p.elements;
        p.elements *= p.axis[i].extent;
    }
    p.run = p.rank > 0 && has_runs(l, &p) ? p.axis[p.rank - 1].extent : 1;
    return p;
}

/* --- pieces --- */

static const struct value *both(struct lower *l, const struct value *a, const struct value *b)
{
    return a ? value_apply2(l, OP_LAND, DT_BOOL, a, b) : b;
}

static const struct value *less(struct lower *l, enum dtype t, const struct value *a,
                                const struct value *b)
{
    const struct value *greater = scalar_cast(l, b, t);
    return value_apply2(l, OP_LT, DT_BOOL, scalar_cast(l, a, t), greater);
}

/* 0 <= index and index + count <= limit of what is inside or outside as a whole; NULL where that is
 * certain. In one comparison of unsigned numbers where index may be negative: then no start is too
 * far off (Meaning 10). */
static const struct value *inside_axis(struct lower *l, const struct value *index, int count,
                                       const struct own_axis *axis)
{
    int64_t least = value_least(index), greatest = value_greatest(index);
    int64_t room = value_least(axis->limit);
    bool ranged = least >= 0 && greatest != INT64_MAX;
    if (ranged && room != INT64_MIN && greatest <= room - count)
        return NULL;
    if (value_dtype(index) == DT_I32 && axis->narrow_limit)
        return less(l, least >= 0 ? DT_I32 : DT_U32, index, axis->narrow_limit);
    return less(l, ranged ? DT_I64 : DT_U64, value_index(l, index), axis->limit);
}

static const struct value *index_at(struct lower *l, const struct own_axis *axis, int64_t i)
{
    return axis->rows ? axis->rows[i] : value_affine(l, axis->start, 1, i);
}

/* 0 is a multiple of everything: then n is INT64_MAX. */
static bool divides(int64_t d, int64_t n)
{
    return n == INT64_MAX || n % d == 0;
}

/* As many elements as the address, the edge and the rest of the run allow. */
static int piece_length(const struct own_place *p, int64_t along, const struct value *address,
                        int most)
{
    const struct own_axis *last = &p->axis[p->rank - 1];
    size_t size = dtype_size(p->access->sym->type.dtype);
    int count = OWN_VECTOR;
    while (count > 1) {
        bool fits =
            count <= most && (size_t)count * size <= VECTOR_BYTES && along + count <= p->run;
        bool aligned = divides((int64_t)((size_t)count * size), value_divisor(address));
        bool whole = along % count == 0 && divides(count, value_divisor(last->start)) &&
                     divides(count, value_divisor(last->limit));
        if (fits && aligned && (whole || !last->guarded))
            break;
        count /= 2;
    }
    return count;
}

static const struct value *number_at(struct lower *l, const struct own_place *p,
                                     const struct value *const *index)
{
    const struct value *number = p->rank > 0 ? value_index(l, index[0]) : value_int(l, DT_I64, 0);
    for (int i = 1; i < p->rank; i++) {
        const struct value *last = value_index(l, index[i]);
        number = value_add(l, value_affine(l, number, p->access->sym->type.extent[i], 0), last);
    }
    return number;
}

/* The address of an element, NULL of an array in registers. */
static const struct value *address_at(struct lower *l, const struct own_place *p,
                                      const struct value *const *index)
{
    const struct sym *s = p->access->sym;
    const struct value *wide[MAX_RANK];
    if (s->storage == ST_ARRAY)
        return array_address(l, s, number_at(l, p, index));
    for (int i = 0; i < p->rank; i++)
        wide[i] =
            s->storage == ST_SHARED ? scalar_cast(l, index[i], DT_I32) : value_index(l, index[i]);
    return s->storage == ST_SHARED ? shared_address(l, s, wide) : view_address(l, s, wide);
}

struct own_piece own_piece_at(struct lower *l, const struct own_place *p, int64_t first, int most)
{
    const struct sym *s = p->access->sym;
    struct own_piece piece = {.first = first, .count = 1};
    const struct value *index[MAX_RANK];
    for (int i = 0; i < p->rank; i++)
        index[i] = index_at(l, &p->axis[i], first / p->axis[i].step % p->axis[i].extent);
    piece.address = address_at(l, p, index);
    if (s->storage == ST_ARRAY)
        piece.at = number_at(l, p, index);
    if (p->run > 1)
        piece.count = piece_length(p, first % p->run, piece.address, most);
    for (int i = 0; i < p->rank; i++) {
        int count = i == p->rank - 1 ? piece.count : 1;
        const struct value *inside =
            p->axis[i].guarded ? inside_axis(l, index[i], count, &p->axis[i]) : NULL;
        if (inside)
            piece.inside = both(l, piece.inside, inside);
    }
    return piece;
}

/* --- one instruction --- */

/* How a piece moves: as elements, or as words that hold several. */
struct move {
    enum dtype element;
    enum ptx_mod type; /* of the instruction */
    bool packed;
    int registers;
    struct ptx_operand reg[OWN_VECTOR];
};

static struct move move_of(enum dtype t, int count)
{
    size_t bytes = dtype_size(t) * (size_t)count;
    struct move m = {.element = t, .type = memory_type(t), .registers = count};
    if (dtype_size(t) < WORD_BYTES && bytes >= WORD_BYTES) {
        m.packed = true;
        m.type = MOD_B32;
        m.registers = (int)(bytes / WORD_BYTES);
    }
    return m;
}

/* bool moves as u8. */
static enum dtype carried(enum dtype t)
{
    return t == DT_BOOL ? DT_U8 : t;
}

static int log2_of(int n)
{
    int log = 0;
    while (1 << log < n)
        log++;
    return log;
}

static void note(struct lower *l, const struct own_place *p, const char *name, int count,
                 bool store)
{
    const struct sym *s = p->access->sym;
    if (s->storage == ST_ARRAY)
        return;
    struct lower_access access = {.loc = p->access->loc,
                                  .sym = s,
                                  .shared = s->storage == ST_SHARED,
                                  .store = store,
                                  .how = name,
                                  .bytes = (int)dtype_size(s->type.dtype) * count,
                                  .instructions = l->warps};
    memory_note(l, access);
}

static struct ptx_operand registers_of(struct lower *l, const struct move *m)
{
    return m->registers == 1 ? m->reg[0] : ptx_vector(&l->b, m->reg, (size_t)m->registers);
}

static struct ptx_operand word_register(struct lower *l, const struct move *m)
{
    if (m->packed)
        return ptx_reg(&l->b, MOD_B32);
    return ptx_reg(&l->b, lower_register_type(carried(m->element)));
}

/* 0 or 1 in a .b32. */
static struct ptx_operand number_of_bool(struct lower *l, struct ptx_operand predicate)
{
    struct ptx_operand r = ptx_reg(&l->b, MOD_B32);
    ptx_emit(&l->b, "selp.b32", r, ptx_int(1), ptx_int(0), predicate);
    return r;
}

static struct ptx_operand bool_of_number(struct lower *l, struct ptx_operand number)
{
    struct ptx_operand p = ptx_reg(&l->b, MOD_PRED);
    ptx_emit(&l->b, "setp.ne.s32", p, number, ptx_int(0));
    return p;
}

/* Operands of `count` elements put into the registers that the instruction stores. */
static void fill_move(struct lower *l, struct move *m, enum dtype t, const struct value *const *v,
                      int count)
{
    struct ptx_operand element[OWN_VECTOR];
    for (int i = 0; i < count; i++)
        element[i] =
            t == DT_BOOL ? number_of_bool(l, value_operand(l, v[i])) : value_register(l, v[i]);
    int each = m->packed ? count / m->registers : 1;
    for (int i = 0; i < m->registers; i++)
        m->reg[i] = m->packed ? op_pack(l, carried(t), &element[i * each]) : element[i];
}

/* The registers that a guarded load leaves where it does not load. */
static void preset_move(struct lower *l, struct move *m, enum dtype t, const struct value *const *v,
                        int count)
{
    struct move from = *m;
    fill_move(l, &from, t, v, count);
    for (int i = 0; i < m->registers; i++)
        op_move(l, m->packed ? DT_U32 : carried(t), m->reg[i], from.reg[i]);
}

static void take_move(struct lower *l, const struct move *m, enum dtype t, const struct value **to,
                      int count)
{
    struct ptx_operand element[OWN_VECTOR];
    int each = m->packed ? count / m->registers : 1;
    for (int i = 0; i < m->registers; i++)
        if (m->packed)
            op_unpack(l, carried(t), m->reg[i], &element[i * each]);
        else
            element[i] = m->reg[i];
    for (int i = 0; i < count; i++)
        to[i] = value_of_register(l, t, t == DT_BOOL ? bool_of_number(l, element[i]) : element[i]);
}

static struct ptx_instruction *emit_load(struct lower *l, const struct own_place *p,
                                         const struct own_piece *piece, const struct move *m,
                                         struct ptx_operand address, struct guard guard)
{
    const char *name = load_names[space_of(p->access->sym)][log2_of(m->registers)];
    struct ptx_instruction *ins =
        ptx_emit_for(&l->b, PTX_TYPES((uint16_t)m->type), name, registers_of(l, m), address);
    note(l, p, name, piece->count, false);
    return guard_apply(ins, guard);
}

/* Loads a piece; `otherwise`: what its elements are where it is not loaded. */
static void load_piece(struct lower *l, const struct own_place *p, const struct own_piece *piece,
                       struct guard when, const struct value *const *otherwise,
                       const struct value **to)
{
    const struct sym *s = p->access->sym;
    enum dtype t = s->type.dtype;
    struct move m = move_of(carried(t), piece->count);
    struct guard guard = guard_and(l, when, piece->inside);
    if (guard.never) {
        for (int i = 0; i < piece->count; i++)
            to[i] = otherwise ? otherwise[i] : value_literal(l, t, (struct literal){0});
        return;
    }
    bool plain = guard.always && piece->count == 1 && t != DT_BOOL && s->storage != ST_ARRAY;
    if (plain && (to[0] = recent_find(l, stems[space_of(s)], m.type, piece->address)) != NULL)
        return;
    struct ptx_operand address = value_address(l, piece->address);
    for (int i = 0; i < m.registers; i++)
        m.reg[i] = word_register(l, &m);
    if (!guard.always && otherwise)
        preset_move(l, &m, t, otherwise, piece->count);
    struct ptx_instruction *ins = emit_load(l, p, piece, &m, address, guard);
    take_move(l, &m, t, to, piece->count);
    if (plain)
        recent_add(l, stems[space_of(s)], m.type, (int)dtype_size(t), s->is_const, piece->address,
                   address, ins, to[0]);
}

/* A piece of elements that have a register each. */
static void load_into(struct lower *l, const struct own_place *p, const struct own_piece *piece,
                      const struct ptx_operand *reg, struct guard guard)
{
    struct move m = move_of(p->access->sym->type.dtype, piece->count);
    if (guard.never)
        return;
    for (int i = 0; i < m.registers; i++)
        m.reg[i] = reg[i];
    emit_load(l, p, piece, &m, value_address(l, piece->address), guard);
}

static void store_piece(struct lower *l, const struct own_place *p, const struct own_piece *piece,
                        struct guard when, const struct value *const *v)
{
    const struct sym *s = p->access->sym;
    enum dtype t = s->type.dtype;
    struct move m = move_of(carried(t), piece->count);
    struct guard guard = guard_and(l, when, piece->inside);
    if (guard.never)
        return;
    fill_move(l, &m, t, v, piece->count);
    struct ptx_operand address = value_address(l, piece->address);
    const char *name = store_names[space_of(s)][log2_of(m.registers)];
    guard_apply(
        ptx_emit_for(&l->b, PTX_TYPES((uint16_t)m.type), name, address, registers_of(l, &m)),
        guard);
    note(l, p, name, piece->count, true);
}

const struct value *own_load_shared(struct lower *l, enum dtype t, const struct value *address)
{
    const struct value *v;
    struct move m = move_of(carried(t), 1);
    m.reg[0] = word_register(l, &m);
    ptx_emit_for(&l->b, PTX_TYPES((uint16_t)m.type), "ld.shared.*", m.reg[0],
                 value_address(l, address));
    take_move(l, &m, t, &v, 1);
    return v;
}

void own_store_shared(struct lower *l, enum dtype t, const struct value *address,
                      const struct value *v, struct guard when)
{
    struct move m = move_of(carried(t), 1);
    fill_move(l, &m, t, &v, 1);
    guard_apply(ptx_emit_for(&l->b, PTX_TYPES((uint16_t)m.type), "st.shared.*",
                             value_address(l, address), m.reg[0]),
                when);
}

/* --- elements and slices --- */

/* In a warps kernel, what tile operations did with the view in this statement comes first. Of single
 * elements the callers say so. */
static void order_with_tiles(struct lower *l, const struct expr *access, bool write)
{
    if (access->sym->storage == ST_VIEW && !kernel_thread_level(l->kernel))
        sync_view(l, access, NULL, write);
}

/* Returns the values of elements beyond the edge: `else` or zero. */
static const struct value **otherwise_of(struct lower *l, const struct expr *e, int64_t elements)
{
    const struct value **v = arena_array(l->arena, const struct value *, elements);
    if (e->otherwise)
        return array_broadcast(l, array_values(l, e->otherwise), &e->otherwise->type, &e->type);
    for (int64_t i = 0; i < elements; i++)
        v[i] = value_literal(l, e->type.dtype,
                             (struct literal){.is_float = dtype_is_float(e->type.dtype)});
    return v;
}

static const struct value **load_when(struct lower *l, const struct expr *e, struct guard when,
                                      const struct value *const *otherwise)
{
    struct own_place p = own_place_of(l, e);
    const struct value **to = arena_array(l->arena, const struct value *, p.elements);
    lower_line(l, e->loc);
    for (int64_t at = 0; at < p.elements;) {
        struct own_piece piece = own_piece_at(l, &p, at, OWN_VECTOR);
        if (piece.address)
            load_piece(l, &p, &piece, when, otherwise ? otherwise + at : NULL, to + at);
        else
            to[at] = array_get(l, e->sym, piece.at, piece.inside, otherwise ? otherwise[at] : NULL);
        at += piece.count;
    }
    return to;
}

const struct value **own_load(struct lower *l, const struct expr *access)
{
    const struct value **otherwise = otherwise_of(l, access, type_elements(&access->type));
    order_with_tiles(l, access, false);
    return load_when(l, access, guard_of_lazy(l), otherwise);
}

bool own_load_into(struct lower *l, const struct expr *access, const struct ptx_operand *reg,
                   struct guard when)
{
    const struct sym *s = access->sym;
    enum dtype t = s->type.dtype;
    if (dtype_size(t) < WORD_BYTES || (s->storage == ST_ARRAY && !array_in_memory(l, s)))
        return false;
    const struct value **otherwise = otherwise_of(l, access, type_elements(&access->type));
    struct own_place p = own_place_of(l, access);
    order_with_tiles(l, access, false);
    lower_line(l, access->loc);
    for (int64_t at = 0; at < p.elements;) {
        struct own_piece piece = own_piece_at(l, &p, at, OWN_VECTOR);
        for (int i = 0; i < piece.count && piece.inside; i++)
            move_when(l, t, reg[at + i], value_operand(l, otherwise[at + i]), when);
        load_into(l, &p, &piece, reg + at, guard_and(l, when, piece.inside));
        at += piece.count;
    }
    return true;
}

void own_store(struct lower *l, const struct expr *access, const struct value *const *v,
               struct guard when)
{
    struct own_place p = own_place_of(l, access);
    if (access->type.rank > 0)
        order_with_tiles(l, access, true);
    lower_line(l, access->loc);
    for (int64_t at = 0; at < p.elements;) {
        struct own_piece piece = own_piece_at(l, &p, at, OWN_VECTOR);
        if (piece.address)
            store_piece(l, &p, &piece, when, v + at);
        else
            array_put(l, access->sym, piece.at, v[at], guard_and(l, when, piece.inside));
        at += piece.count;
    }
}

const struct value *element_load_if(struct lower *l, const struct expr *access, struct guard when,
                                    const struct value *otherwise)
{
    const struct value *beyond = otherwise;
    if (!beyond && access->otherwise)
        beyond = scalar_eval(l, access->otherwise);
    return load_when(l, access, when, beyond ? &beyond : NULL)[0];
}

const struct value *element_load(struct lower *l, const struct expr *access)
{
    return element_load_if(l, access, guard_of_lazy(l), NULL);
}

void element_store(struct lower *l, const struct expr *access, const struct value *v)
{
    bool memory = access->sym->storage != ST_ARRAY;
    own_store(l, access, &v, memory ? guard_of_effect(l) : guard_always());
}
